"""Implementations in plain PyTorch: the chunked cross entropy and PyTorch's fused AdamW, against their references."""

import pytest
import torch
from torch.library import opcheck

from runtime.kernels.portable import linear_cross_entropy as portable
from runtime.kernels.portable.adamw import adamw as fused_adamw
from runtime.kernels.reference.adamw import adamw
from runtime.kernels.reference.linear_cross_entropy import linear_cross_entropy as reference

CHUNKED = portable.linear_cross_entropy


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Chunks of four rows, so that small inputs have several and an unequal last one."""
    monkeypatch.setattr(portable, "chunk_rows", lambda classes: 4)


def problem(rows=11, features=5, classes=7, dtype=torch.float64, ignored=0, lead=()):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(*lead, rows, features, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
    weight = torch.randn(classes, features, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
    bias = torch.randn(classes, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
    target = torch.randint(0, classes, (*lead, rows), generator=generator)
    target.view(-1)[:ignored] = -100
    return x, weight, target, bias


def both(x, weight, target, bias, reduction="mean", by=1.0):
    def run(function):
        loss = function(x, weight, target, bias, -100, reduction)
        wanted = [t for t in (x, weight, bias) if t is not None and t.requires_grad]
        return loss, *torch.autograd.grad(loss * by, wanted)

    return run(CHUNKED), run(reference)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("ignored", [0, 3, 8])
def test_equals_reference(reduction, ignored):
    torch.testing.assert_close(*both(*problem(ignored=ignored), reduction, by=-2.5), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 4e-2)])
def test_lower_precision(dtype, tolerance):
    found, expected = both(*problem(dtype=dtype, ignored=2))
    assert [t.dtype for t in found] == [t.dtype for t in expected]
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (4, 3, 2), (5, 8, 1000)])
def test_odd_sizes(sizes):
    torch.testing.assert_close(*both(*problem(*sizes)))


def test_leading_dimensions():
    torch.testing.assert_close(*both(*problem(rows=3, lead=(2, 2))))


def test_without_bias_and_with_a_frozen_classifier():
    x, weight, target, _ = problem()
    torch.testing.assert_close(*both(x, weight.detach(), target, None))


def test_no_rows():
    x, weight, target, bias = problem(rows=0)
    torch.testing.assert_close(*both(x, weight, target, bias, "sum"))
    assert CHUNKED(x, weight, target, bias, -100, "mean").isnan()


def test_all_rows_ignored():
    torch.testing.assert_close(*both(*problem(rows=5, ignored=5)), equal_nan=True)


def test_strided_inputs():
    x, weight, target, bias = problem()
    strided = [torch.stack((t.detach(), t.detach()), -1)[..., 0].requires_grad_() for t in (x, weight, bias)]
    assert not strided[0].is_contiguous()
    torch.testing.assert_close(both(strided[0], strided[1], target, strided[2])[0], both(x, weight, target, bias)[1])


def test_large_logits_do_not_overflow():
    x, weight, target, bias = problem(dtype=torch.float32)
    found, expected = both((x * 1e4).detach().requires_grad_(), weight, target, bias)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e4 * 1e-7)  # sums of values of 1e4 round at that scale


def test_gradcheck_and_second_derivative():
    x, weight, target, bias = problem(rows=6, ignored=1)

    def loss(x, weight, bias):
        return CHUNKED(x, weight, target, bias, -100, "mean")

    assert torch.autograd.gradcheck(loss, (x, weight, bias))
    assert torch.autograd.gradgradcheck(loss, (x, weight, bias))


def test_second_backward_over_a_retained_graph():
    x, weight, target, bias = problem()
    loss = CHUNKED(x, weight, target, bias, -100, "mean")
    first = torch.autograd.grad(loss, (x, weight), torch.tensor(3.0).double(), retain_graph=True)
    second = torch.autograd.grad(loss, (x, weight), torch.tensor(3.0).double())
    torch.testing.assert_close(first, second, rtol=0, atol=0)


def test_gradients_are_let_go():
    x, weight, target, bias = problem()
    loss = CHUNKED(x, weight, target, bias, -100, "mean")
    node = loss.grad_fn
    loss.backward()
    assert node.grads is None


def test_autocast_casts_as_linear_does():
    x, weight, target, bias = problem(dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        found, expected = both(x, weight, target, bias)
    assert [t.dtype for t in found] == [t.dtype for t in expected]
    torch.testing.assert_close(found, expected, rtol=3e-2, atol=3e-2)


@pytest.mark.parametrize("wanted", [[True, True, True], [False, True, False]])
def test_opcheck(wanted):
    x, weight, target, bias = problem(dtype=torch.float32, ignored=2)
    args = [t.requires_grad_(w) for t, w in zip((x, weight, bias), wanted, strict=True)]
    opcheck(portable.chunked, (args[0], args[1], target, args[2], -100, "mean", wanted))


def test_chunks_fill_the_cache_and_no_more(monkeypatch):
    monkeypatch.undo()
    assert [portable.chunk_rows(classes) for classes in (1, 1000, 32000, 1 << 20)] == [512, 512, 131, 128]


def adamw_state(dtype=torch.float32, spread=False):
    generator = torch.Generator().manual_seed(2)
    shapes = [(3, 5), (), (0, 4), (9000,)]

    def draw(shape):
        tensor = torch.rand(shape, generator=generator).to(dtype)
        return torch.stack((tensor, tensor), -1)[..., 0] if spread else tensor

    steps = [torch.tensor(float(i)) for i in range(len(shapes))]
    return [[draw(s) for s in shapes] for _ in range(4)] + [steps, 1e-2, 0.9, 0.95, 1e-8, 0.1]


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_fused_adamw_equals_reference(dtype, spread):
    found, expected = adamw_state(dtype, spread), adamw_state(dtype, spread)
    fused_adamw(*found)
    adamw(*expected)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)
