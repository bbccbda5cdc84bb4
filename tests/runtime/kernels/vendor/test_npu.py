"""The vendors' kernels with their library replaced by its documented meaning: arguments, order and fallbacks."""

import sys
import types

import pytest
import torch
import torch.nn.functional as F

from runtime.kernels import registry


@pytest.fixture
def torch_npu(monkeypatch):
    def npu_rms_norm(self, gamma, epsilon=1e-6):
        assert self.is_contiguous() and gamma.is_contiguous() and self.dtype == gamma.dtype
        return F.rms_norm(self, gamma.shape, gamma, epsilon), None

    def npu_swiglu(self, dim=-1):
        gate, up = self.chunk(2, dim)
        return F.silu(gate) * up

    fake = types.ModuleType("torch_npu")
    fake.npu_rms_norm, fake.npu_swiglu = npu_rms_norm, npu_swiglu
    monkeypatch.setitem(sys.modules, "torch_npu", fake)
    yield
    for name in [n for n in sys.modules if n.startswith("runtime.kernels.vendor.npu.")]:
        del sys.modules[name]


def npu(kernel):
    return registry.load(f"vendor/npu/{kernel}", torch.device("cpu"))


@pytest.mark.parametrize("x", [torch.randn(4, 6), torch.randn(6, 4).t(), torch.randn(0, 6), torch.randn(6)])
def test_npu_rms_norm(torch_npu, x):
    weight = torch.randn(6)
    torch.testing.assert_close(npu("rms_norm").run(x, weight, 1e-5), F.rms_norm(x, (6,), weight, 1e-5))


@pytest.mark.parametrize("shape", [(4, 6), (0, 6)])
def test_npu_swiglu(torch_npu, shape):
    gate, up = torch.randn(shape), torch.randn(shape)
    torch.testing.assert_close(npu("swiglu").run(gate, up), F.silu(gate) * up)


def test_missing_library_is_a_reason():
    assert "torch_npu" in (npu("rms_norm").problem or "")
