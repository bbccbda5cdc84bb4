"""Target profiles for the tests of the emulated device: permissive by default, less what a test takes away."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from runtime.hal import Device, open_device

NAME = "vendor_a"
VIEWS = (
    "view detach alias as_strided t transpose.int permute expand slice.Tensor select.int unsqueeze squeeze squeeze.dim "
    "squeeze.dims unbind.int split.Tensor split_with_sizes lift_fresh _unsafe_view _reshape_alias diagonal unfold"
)
DTYPES = {"float32": 1e14, "float16": 4e14, "bfloat16": 4e14, "int64": 1e13, "int32": 1e13, "uint8": 1e13, "bool": 1e13}


@cache
def has(func: Any, key: str) -> bool:
    return torch._C._dispatch_has_kernel_for_dispatch_key(func, key)


@cache
def aten_names() -> list[str]:
    return [n.removeprefix("aten::") for n in torch._C._dispatch_get_all_op_names() if n.startswith("aten::")]


def is_composite(name: str) -> bool:
    """PyTorch has a composite kernel below autograd that works, and the CPU none of its own."""
    composite = has(f"aten::{name}", "CompositeExplicitAutograd") and not has(f"aten::{name}", "CPU")
    return composite and not name.endswith("_overrideable")


def operators(without: Iterable[str] = ()) -> dict[str, list[str]]:
    names, gone, views = aten_names(), set(without), set(VIEWS.split())
    implicit = {n for n in names if has(f"aten::{n}", "CompositeImplicitAutograd")}
    composite = {n for n in names if is_composite(n)} - views
    native = set(names) - views - composite - implicit
    return {
        "native": sorted(native - gone),
        "metadata": sorted(views),
        "composite": sorted(composite - gone),
    }


def write_profile(
    folder: Path,
    *,
    name: str = NAME,
    without: Iterable[str] = (),
    without_dtypes: Iterable[str] = (),
    memory_bytes: int = 2**33,
    **changes: Any,
) -> Path:
    """Write a `target.json` into `folder` and return its path."""
    facts: dict[str, Any] = {
        "schema": 1,
        "name": name,
        "kind": "reference",
        "device": {"type": name.replace("_", ""), "module": None, "process_group": "gloo"},
        "dtypes": {k: {"peak_flops": v} for k, v in DTYPES.items() if k not in set(without_dtypes)},
        "memory": {"bytes": memory_bytes, "bandwidth": 1e12},
        "launch_seconds": 5e-6,
        "links": {"host": {"bandwidth": 2e10, "latency_seconds": 1e-5}},
        "power_watts": 350,
        "operators": operators(without),
    }
    path = folder / "target.json"
    path.write_text(json.dumps(facts | changes))
    return path


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a profile: `write(without=["tanh"], memory_bytes=1000)`."""
    return lambda **changes: write_profile(tmp_path, **changes)


@pytest.fixture
def open_vendor_a(write: Callable[..., Path]) -> Callable[..., Device]:
    """Opens the emulated device with a profile that differs from the permissive one as asked."""
    gc.collect()  # exceptions of the test before may hold tensors in their frames
    return lambda **changes: open_device(NAME, write(**changes))


@pytest.fixture
def vendor_a(open_vendor_a: Callable[..., Device]) -> Device:
    """The emulated device with every operator that PyTorch has."""
    return open_vendor_a()
