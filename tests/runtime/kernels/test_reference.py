"""Every reference against its formula in float64, its gradients, and odd, empty and strided inputs."""

import math

import pytest
import torch
from torch import Tensor

from runtime import kernels


def normal(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)), dtype=torch.float64).to(dtype)


def rms_norm(x, w):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w


def layer_norm(x, w, b):
    centred = x - x.mean(-1, keepdim=True)
    return centred / torch.sqrt((centred * centred).mean(-1, keepdim=True) + 1e-5) * w + b


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def swiglu(a, b):
    return a / (1 + torch.exp(-a)) * b


def rotated(x, cos, sin, pairs):
    out = torch.empty_like(x)
    for column, (i, j) in enumerate(pairs):
        out[..., i] = x[..., i] * cos[:, column] - x[..., j] * sin[:, column]
        out[..., j] = x[..., j] * cos[:, column] + x[..., i] * sin[:, column]
    return out


def attention(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), -1) @ v


CASES = {
    "rms_norm": (kernels.rms_norm, rms_norm, [(2, 3, 7), (7,)]),
    "layer_norm": (kernels.layer_norm, layer_norm, [(2, 3, 7), (7,), (7,)]),
    "layer_norm_residual": (
        lambda x, w, b, r: kernels.layer_norm(x, w, b, residual=r),
        lambda x, w, b, r: (layer_norm(x + r, w, b), x + r),
        [(2, 3, 7), (7,), (7,), (2, 3, 7)],
    ),
    "gelu": (kernels.gelu, gelu, [(3, 5)]),
    "gelu_tanh": (lambda x: kernels.gelu(x, "tanh"), gelu_tanh, [(3, 5)]),
    "swiglu": (kernels.swiglu, swiglu, [(3, 5), (3, 5)]),
    "rope_half": (
        kernels.rope,
        lambda x, c, s: rotated(x, c, s, [(0, 3), (1, 4), (2, 5)]),
        [(2, 5, 6), (5, 3), (5, 3)],
    ),
    "rope_interleaved": (
        lambda x, c, s: kernels.rope(x, c, s, interleaved=True),
        lambda x, c, s: rotated(x, c, s, [(0, 1), (2, 3), (4, 5)]),
        [(2, 5, 6), (5, 3), (5, 3)],
    ),
    "sdpa": (kernels.sdpa, attention, [(2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4)]),
}
EACH = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def inputs(shapes, dtype=torch.float64):
    return [normal(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]


@EACH
def test_formula(case):
    kernel, formula, shapes = case
    torch.testing.assert_close(kernel(*inputs(shapes)), formula(*inputs(shapes)), rtol=1e-12, atol=1e-12)


@EACH
def test_gradients(case):
    kernel, _, shapes = case
    assert torch.autograd.gradcheck(kernel, [t.requires_grad_() for t in inputs(shapes)])


@EACH
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 3e-2)])
def test_lower_precision(case, dtype, tolerance):
    kernel, formula, shapes = case
    args = inputs(shapes, dtype)
    expected = formula(*(t.double() for t in args))
    torch.testing.assert_close(kernel(*args), expected, rtol=tolerance, atol=tolerance, check_dtype=False)


@EACH
def test_strided_inputs(case):
    kernel, _, shapes = case
    args = inputs(shapes)
    spread = [torch.stack((t, -t), -1)[..., 0] for t in args]
    assert not spread[0].is_contiguous()
    torch.testing.assert_close(kernel(*spread), kernel(*args))


@EACH
def test_empty_batch(case):
    kernel, _, shapes = case
    batch = shapes[0][0]
    empty = [torch.zeros(0, *s[1:]) if len(s) == len(shapes[0]) and s[0] == batch else torch.zeros(s) for s in shapes]
    out = kernel(*empty)
    assert (out[0] if isinstance(out, tuple) else out).numel() == 0


def test_half_precision_keeps_its_dtype_with_a_float_weight():
    x, weight = normal(4, 8, dtype=torch.bfloat16), normal(8, dtype=torch.float32)
    assert kernels.rms_norm(x, weight).dtype == torch.bfloat16


def test_sdpa_masks_and_groups():
    q, k = normal(1, 4, 5, 8), normal(1, 2, 5, 8)
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    wide = k.repeat_interleave(2, 1)
    expected = kernels.sdpa(q, wide, wide, mask)
    torch.testing.assert_close(kernels.sdpa(q, k, k, causal=True, enable_gqa=True), expected)


def test_linear_cross_entropy_formula():
    x, weight, bias = normal(2, 3, 4), normal(6, 4), normal(6)
    target = torch.tensor([[0, 5, -100], [2, -100, 1]])
    logits = x @ weight.t() + bias
    lost = [torch.logsumexp(logits[i, j], 0) - logits[i, j, target[i, j]] for i, j in (target >= 0).nonzero()]
    total = torch.stack(lost).sum()
    torch.testing.assert_close(kernels.linear_cross_entropy(x, weight, target, bias, reduction="sum"), total)
    torch.testing.assert_close(kernels.linear_cross_entropy(x, weight, target, bias), total / 4)


def test_linear_cross_entropy_refuses_another_reduction():
    with pytest.raises(ValueError, match="'none'"):
        kernels.linear_cross_entropy(normal(2, 4), normal(6, 4), torch.zeros(2).long(), reduction="none")


def test_adamw_formula():
    param, grad, m, v = normal(5), normal(5, seed=1), normal(5, seed=2), normal(5, seed=3).abs()
    lr, beta1, beta2, eps, decay = 1e-2, 0.8, 0.9, 1e-6, 0.1
    new_m, new_v = beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad**2
    update = (new_m / (1 - beta1**3)) / (torch.sqrt(new_v / (1 - beta2**3)) + eps)
    expected = param * (1 - lr * decay) - lr * update
    step = torch.tensor(2.0)
    kernels.adamw([param], [grad], [m], [v], [step], lr=lr, beta1=beta1, beta2=beta2, eps=eps, weight_decay=decay)
    torch.testing.assert_close([param, m, v, step], [expected, new_m, new_v, torch.tensor(3.0)])
