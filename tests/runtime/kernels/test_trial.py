"""The trial finds the mistakes that kernels make."""

import pytest
import torch

from runtime.kernels import trial
from runtime.kernels.reference.adamw import adamw
from runtime.kernels.reference.rms_norm import rms_norm
from runtime.kernels.request import Call


def call(dtype=torch.float32, rows=16):
    return Call.of("rms_norm", torch.zeros(rows, 8, dtype=dtype, requires_grad=True), torch.ones(8, dtype=dtype), 1e-6)


def backward_off_by_a_tenth(x, weight, eps):
    out = rms_norm(x, weight, eps)
    out.register_hook(lambda grad: grad * 1.1)
    return out


def ignores_strides(x, weight, eps):
    dense = torch.as_strided(x, x.shape, (x.shape[1], 1), x.storage_offset())
    return rms_norm(dense, weight, eps)


def forgets_the_last_odd_row(x, weight, eps):
    out = rms_norm(x, weight, eps)
    return torch.cat((out[:-1], out[-1:] * (1 - x.shape[0] % 2)))


def writes_to_its_input(x, weight, eps):
    out = rms_norm(x, weight, eps)
    x.data[0] += 1
    return out


WRONG = {
    "value": lambda x, w, eps: rms_norm(x, w, eps) * 1.0001,
    "gradient": backward_off_by_a_tenth,
    "no gradient": lambda x, w, eps: rms_norm(x, w, eps).detach().requires_grad_(),
    "nan": lambda x, w, eps: rms_norm(x, w, eps) / 0,
    "shape": lambda x, w, eps: rms_norm(x, w, eps)[:1],
    "dtype": lambda x, w, eps: rms_norm(x, w, eps).double(),
    "strides": ignores_strides,
    "odd size": forgets_the_last_odd_row,
    "mutation": writes_to_its_input,
}


@pytest.mark.parametrize("run", WRONG.values(), ids=WRONG.keys())
def test_wrong(run):
    assert "wrong" in (trial.errors(call(), rms_norm, run)[2] or "")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_right(dtype):
    def other_order(x, weight, eps):
        exact = x.double()
        return (exact * torch.rsqrt(exact.square().mean(-1, keepdim=True) + eps) * weight).to(x.dtype)

    error, own, wrong = trial.errors(call(dtype), rms_norm, other_order)
    assert wrong is None and error <= 4 * max(own, torch.finfo(dtype).eps)
    assert (own > 0) == (dtype != torch.float64)


def test_right_under_autocast():
    weight, x = torch.ones(8), torch.zeros(4, 8, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        sample = Call.of("rms_norm", x, weight, 1e-6)
    assert trial.errors(sample, rms_norm, rms_norm)[2] is None


def test_mutating_kernels():
    lists = [[torch.zeros(3, 4), torch.zeros(5)] for _ in range(4)]
    steps = [torch.zeros(()), torch.zeros(())]
    sample = Call.of("adamw", *lists, steps, 1e-2, 0.9, 0.9, 1e-8, 0.1)

    def forgets_the_step(*args):
        adamw(*args)
        args[4][1].sub_(1)

    assert trial.errors(sample, adamw, adamw)[2] is None
    assert "wrong" in (trial.errors(sample, adamw, forgets_the_step)[2] or "")


def test_samples_are_the_same_each_time():
    torch.testing.assert_close(trial.draw(call()), trial.draw(call()), rtol=0, atol=0)


def test_ratio_of_a_slow_implementation():
    def twice(x, weight, eps):
        for _ in range(4):
            rms_norm(x, weight, eps)
        return rms_norm(x, weight, eps)

    found = trial.ratios(call(rows=512), rms_norm, twice, 5)
    assert found == sorted(found) and len(found) == 5 and found[2] < 0.8
