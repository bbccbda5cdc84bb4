"""Devices are found by name; what is not there is explained; nothing else in the runtime names a device."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.hal import DeviceError, device_class, device_types, open_device

RUNTIME = Path(__file__).parents[3] / "runtime"
FILES = {"cpu", "cuda", "xpu", "npu", "mlu", "musa", "hpu", "mps"}


def test_every_file_is_a_device() -> None:
    assert set(device_types()) == FILES
    for name in FILES:
        assert device_class(name).device_type == name
        assert importlib.import_module(f"runtime.hal.{name}").TESTED is device_class(name).tested


def test_only_the_cpu_of_the_real_devices_claims_to_be_tested() -> None:
    assert [name for name in device_types() if device_class(name).tested] == ["cpu"]


def test_unknown_name_lists_what_exists() -> None:
    with pytest.raises(DeviceError) as caught:
        open_device("tpu:0")
    message = str(caught.value)
    assert "'tpu:0'" in message
    assert "cpu: available" in message
    assert "npu: module torch_npu cannot be imported" in message and "install torch-npu" in message


def test_bad_index() -> None:
    with pytest.raises(DeviceError, match="must be a number"):
        open_device("cpu:first")


def test_name_without_its_profile(write: Callable[..., Path]) -> None:
    with pytest.raises(DeviceError, match="no device 'vendor_a'"):
        open_device("vendor_a")
    with pytest.raises(DeviceError, match="not a target of that name"):
        open_device("vendor_x", write())
    with pytest.raises(DeviceError, match="not a target of that name"):
        open_device("vendor_a", write(kind="host"))


def test_profile_does_not_change_a_real_name(write: Callable[..., Path]) -> None:
    assert open_device("cpu", write()).name == "cpu"


def _strings(source: Path) -> set[str]:
    tree = ast.parse(source.read_text())
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_no_device_literal_outside_hal() -> None:
    """`cpu` is allowed: it is the host, where data and checkpoints are, whatever the device is."""
    names = FILES - {"cpu"} | {"vendora", "vendorb", "privateuseone", "nccl", "hccl", "cncl", "mccl", "xccl"}
    faults: list[str] = []
    for source in sorted(RUNTIME.rglob("*.py")):
        parts = source.relative_to(RUNTIME).parts
        if parts[0] == "hal" or "vendor" in parts:
            continue
        found = {text for text in _strings(source) if text.partition(":")[0] in names}
        faults += [f"{source.relative_to(RUNTIME)}: {text!r}" for text in sorted(found)]
    assert faults == []
