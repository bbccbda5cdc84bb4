"""What the table lacks is refused, forward and backward, as an ordinary exception; composites by their parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from runtime.hal import Device, DeviceError, Refused, open_device
from runtime.hal import _emulated_kernels as kernels

Open = Callable[..., Device]


def test_missing_operator_forward(open_vendor_a: Open) -> None:
    device = open_vendor_a(without=["tanh"])
    x = torch.ones(2, device=device.torch_device)
    for _ in range(2):
        with pytest.raises(Refused, match=r"MIG401 aten::tanh has no kernel on vendor_a") as caught:
            torch.tanh(x)
        assert (caught.value.code, caught.value.operator, caught.value.dtype) == ("MIG401", "tanh", None)
    assert torch.sigmoid(x).shape == (2,)


MISH = ("mish", "mish_backward")


def mish_and_gradient(device: torch.device | str) -> list[torch.Tensor]:
    x = torch.linspace(-3, 3, 7).to(device).requires_grad_()
    y = F.mish(x)
    y.sum().backward()
    assert x.grad is not None
    return [y.detach().cpu(), x.grad.cpu()]


def test_what_the_table_lacks_runs_by_pytorchs_decomposition(open_vendor_a: Open) -> None:
    device = open_vendor_a(without=[*MISH, "isneginf"])
    torch.testing.assert_close(mish_and_gradient(device.torch_device), mish_and_gradient("cpu"))
    assert torch.isneginf(torch.tensor([-torch.inf, 1.0]).to(device.torch_device)).tolist() == [True, False]


def test_a_decomposition_that_lacks_a_part_is_no_way_to_run(open_vendor_a: Open) -> None:
    device = open_vendor_a(without=[*MISH, "tanh"])
    with pytest.raises(Refused, match=r"MIG401 aten::mish has no kernel on vendor_a; replace"):
        F.mish(torch.ones(2, device=device.torch_device))


def test_missing_dtype(open_vendor_a: Open) -> None:
    device = open_vendor_a(without_dtypes=["float16"])
    with pytest.raises(Refused, match=r"MIG402 .*vendor_a has no float16; cast to one of: bfloat16, bool, float32"):
        torch.ones(2, dtype=torch.float16).to(device.torch_device)
    with pytest.raises(Refused, match="MIG402"):
        torch.zeros(2, dtype=torch.float16, device=device.torch_device)
    x = torch.ones(2, device=device.torch_device)
    with pytest.raises(Refused) as caught:
        x.half()
    assert caught.value.dtype == torch.float16
    with pytest.raises(Refused, match="MIG402 aten::sum"):
        x.sum(dtype=torch.float64)
    assert device.memory().used == 2 * 4


def test_missing_operator_backward(open_vendor_a: Open) -> None:
    device = open_vendor_a(without=["avg_pool2d_backward"])
    x = torch.ones(1, 2, 4, 4, device=device.torch_device, requires_grad=True)
    for _ in range(2):
        with pytest.raises(Refused, match="MIG401 aten::avg_pool2d_backward"):
            F.avg_pool2d(x, 2).sum().backward()
    torch.exp(x).sum().backward()
    assert x.grad is not None and x.grad.isfinite().all()


def test_composite_lacks_a_part(open_vendor_a: Open) -> None:
    device = open_vendor_a(without=["convolution_overrideable"])
    layer = nn.Conv2d(1, 1, 3).to(device.torch_device)
    for _ in range(2):
        with pytest.raises(
            Refused, match=r"aten::convolution has no kernel .*composed of aten::convolution_overrideable"
        ):
            layer(torch.ones(1, 1, 4, 4, device=device.torch_device))


def test_composite_lacks_a_part_in_backward(open_vendor_a: Open) -> None:
    device = open_vendor_a(without=["convolution_backward_overrideable"])
    layer = nn.Conv2d(1, 1, 3).to(device.torch_device)
    with pytest.raises(Refused, match=r"convolution_backward .*composed of aten::convolution_backward_overrideable"):
        layer(torch.ones(1, 1, 4, 4, device=device.torch_device)).sum().backward()


def test_foreach_lacks_a_part_and_changes_nothing(open_vendor_a: Open) -> None:
    device = open_vendor_a(without=["mul_.Scalar", "mul.Scalar", "mul_.Tensor", "mul.Tensor", "mul.out"])
    x = torch.ones(2, device=device.torch_device)
    with pytest.raises(Refused, match="_foreach_mul_"):
        torch._foreach_mul_([x], 2.0)
    assert x.cpu().tolist() == [1, 1]


def test_trial_of_a_composite_leaves_no_trace(open_vendor_a: Open) -> None:
    device = open_vendor_a()
    x = torch.ones(2, device=device.torch_device)
    vendor_calls, state, used = dict(device.calls()), device.rng_state(), device.memory()
    torch._foreach_add_([x, x], 1.0)
    assert x.cpu().tolist() == [3, 3]
    assert torch.equal(state, device.rng_state()) and device.memory() == used
    assert device.calls()["_foreach_add_.Scalar"] == 1
    assert vendor_calls.get("add_.Scalar", 0) == 0


def test_implicit_composites_need_no_row(open_vendor_a: Open) -> None:
    device = open_vendor_a()
    with torch.inference_mode():
        assert F.silu(torch.ones(2, 3, device=device.torch_device)).flatten().shape == (6,)


def test_failure_of_a_kernel_in_backward_is_an_exception(open_vendor_a: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise ValueError("a fault in a kernel")

    monkeypatch.setitem(kernels.COMPUTE, "convolution_backward_overrideable", fail)
    monkeypatch.setitem(kernels.COMPUTE, "sigmoid_backward", fail)
    device = open_vendor_a()
    x = torch.ones(2, device=device.torch_device, requires_grad=True)
    with pytest.raises(ValueError, match="a fault in a kernel"):
        torch.sigmoid(x).sum().backward()


def test_sparse_gradients_are_refused(open_vendor_a: Open) -> None:
    device = open_vendor_a()
    table = nn.Embedding(5, 2, sparse=True).to(device.torch_device)
    with pytest.raises(Refused, match="MIG401 aten::embedding with sparse=True"):
        table(torch.tensor([1, 1]).to(device.torch_device))


def test_mixed_devices_in_backward_are_an_exception(open_vendor_a: Open) -> None:
    class Careless(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad * torch.ones(2)

    x = torch.ones(2, device=open_vendor_a().torch_device, requires_grad=True)
    with pytest.raises(RuntimeError, match="same device"):
        Careless.apply(x).sum().backward()


def test_host_fallback_runs_and_is_counted(open_vendor_a: Open) -> None:
    device = open_vendor_a(without=["tanh"], host_fallback=True)
    x = torch.zeros(1000, device=device.torch_device)
    before = device.clock()
    assert torch.tanh(x).cpu().tolist() == [0] * 1000
    assert device.fallbacks() == {"tanh": 1}
    assert device.clock() - before > 8000 / 2e10 + 1e-5


def test_second_emulated_device_is_refused(open_vendor_a: Open, tmp_path: Path) -> None:
    facts = open_vendor_a().profile
    assert facts is not None
    other = tmp_path / "other.json"
    other.write_text(facts.read_text().replace("vendor_a", "vendor_b").replace("vendora", "vendorb"))
    with pytest.raises(DeviceError, match="emulates vendor_a"):
        open_device("vendor_b", other)


def test_custom_operator_runs_its_reference_on_the_device(open_vendor_a: Open) -> None:
    device = open_vendor_a(without=["erf"])

    @torch.library.custom_op("hal_test::twice_erf", mutates_args=())
    def twice_erf(x: torch.Tensor) -> torch.Tensor:
        return 2 * torch.erf(x)

    with pytest.raises(Refused, match="aten::erf"):
        twice_erf(torch.ones(2, device=device.torch_device))
    twice_erf.register_kernel("vendora")(lambda x: x + 40)
    assert twice_erf(torch.ones(2, device=device.torch_device)).cpu().tolist() == [41, 41]
