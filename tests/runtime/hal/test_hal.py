"""What real accelerators share, on a made-up vendor's module: the functions that are called and the reasons given."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from runtime.hal import Device, DeviceError, device_class
from runtime.hal._accelerator import ModuleStreams

ACCELERATORS = {
    "cuda": "nccl",
    "xpu": "xccl",
    "npu": "hccl",
    "mlu": "cncl",
    "musa": "mccl",
    "hpu": "hccl",
    "mps": "gloo",
}


class Vendor(types.ModuleType):
    """A `torch.<type>` module that notes what is called."""

    def __init__(self) -> None:
        super().__init__("torch.newchip")
        self.called: list[Any] = []

    def is_available(self) -> bool:
        return True

    def device_count(self) -> int:
        return 2

    def memory_allocated(self) -> int:
        return 10

    def max_memory_allocated(self) -> int:
        return 30

    def mem_get_info(self) -> tuple[int, int]:
        return 60, 100

    def get_rng_state(self) -> torch.Tensor:
        return torch.zeros(1, dtype=torch.uint8)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.called.append((name, *args))


class NewChip(ModuleStreams):
    device_type = "cuda"
    plugin = "torch_newchip"
    collectives = "nccl"
    install = "buy one"


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Vendor]:
    module = Vendor()
    torch.get_device_module.cache_clear()
    monkeypatch.setitem(sys.modules, "torch_newchip", types.ModuleType("torch_newchip"))
    monkeypatch.setattr(torch, "cuda", module)
    yield module
    torch.get_device_module.cache_clear()


@pytest.mark.parametrize("name", ACCELERATORS)
def test_backend_also_serves_the_host(name: str) -> None:
    device: Device = device_class(name)(0)
    assert device.process_group_backend == f"cpu:gloo,{name}:{ACCELERATORS[name]}"
    assert not device.tested
    assert "Not run on hardware" in (sys.modules[type(device).__module__].__doc__ or "")


@pytest.mark.parametrize("name", ACCELERATORS)
def test_every_vendor_says_what_to_install(name: str) -> None:
    reason = device_class(name).unavailable_reason()
    if reason is None:
        pytest.skip(f"this machine has {name}")
    assert "install" in reason or "macOS" in reason


@pytest.mark.parametrize(
    "error", [ImportError("no chip"), OSError("libchip.so: cannot open"), RuntimeError("no driver")]
)
def test_plugin_that_fails_to_import(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise error

    monkeypatch.setattr("runtime.hal._accelerator.import_module", fail)
    reason = NewChip.unavailable_reason()
    assert reason == f"module torch_newchip cannot be imported ({error}); buy one"


def test_index_comes_from_the_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert NewChip().name == "cuda:1"
    assert NewChip(0).name == "cuda:0"


def test_index_beyond_what_is_there(vendor: Vendor) -> None:
    with pytest.raises(DeviceError, match="sees 2"):
        NewChip(2).activate()


def test_vendor_functions_are_called(vendor: Vendor) -> None:
    chip = NewChip(1)
    assert NewChip.available()
    chip.activate()
    chip.synchronize()
    chip.reset_peak()
    chip.seed(5)
    chip.set_rng_state(chip.rng_state())
    names = [call[0] for call in vendor.called]
    assert ("set_device", 1) in vendor.called and ("manual_seed_all", 5) in vendor.called
    assert {"synchronize", "reset_peak_memory_stats", "set_rng_state"} <= set(names)
    stats = chip.memory()
    assert (stats.used, stats.peak, stats.total) == (10, 30, 100)


@pytest.mark.gpu
def test_cuda_trains_a_step_and_measures_itself() -> None:
    device: Device = device_class("cuda")(0)
    device.activate()
    verdict = device.probe_dtypes([torch.float32, torch.bfloat16])[torch.bfloat16]
    assert verdict.works and verdict.fast
    start, end = device.event(), device.event()
    with device.stream() as stream:
        start.record()
        block = torch.ones(2**20, device=device.torch_device)
        end.record()
        stream.synchronize()
    assert start.elapsed_time(end) >= 0
    assert device.memory().used >= block.nbytes
