"""Example inputs: where they come from, which is stronger, and what is said where they do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from migrate.errors import Exit, MigrateError
from migrate.frontends.pytorch.example import example_call, make_tensor
from tests.migrate.frontends.pytorch.archives import saved


class Two(nn.Module):
    def forward(self, x: Tensor, mask: Tensor | None = None, *, scale: Tensor | None = None) -> Tensor:
        return x


class Any_(nn.Module):
    def forward(self, **inputs: Tensor) -> Tensor:
        return inputs["x"]


def shapes_of(call: Any) -> Any:
    if isinstance(call, dict):
        return {name: (tuple(t.shape), str(t.dtype)[6:]) for name, t in call.items()}
    return tuple((tuple(t.shape), str(t.dtype)[6:]) for t in call)


X, MASK = ((2, 3), "float32"), ((2,), "int64")


@pytest.mark.parametrize(
    ("inputs", "shapes", "expected"),
    [
        (torch.zeros(2, 3), {}, (X,)),
        ((torch.zeros(2, 3), torch.zeros(2).long()), {}, (X, MASK)),
        ([torch.zeros(2, 3)], {}, (X,)),
        ({"x": torch.zeros(2, 3)}, {}, {"x": X}),
        (None, {"x": ((2, 3), None)}, (X,)),
        (None, {"mask": ((2,), "int64"), "x": ((2, 3), None)}, (X, MASK)),
        (None, {"x": ((2, 3), None), "scale": ((1,), "float64")}, {"x": X, "scale": ((1,), "float64")}),
        ((torch.zeros(2, 3), torch.zeros(2).long()), {"mask": ((5,), None)}, (X, ((5,), "int64"))),
        (torch.zeros(2, 3), {"x": ((4, 6), "float16")}, (((4, 6), "float16"),)),
    ],
)
def test_sources_of_inputs(inputs: Any, shapes: Any, expected: Any) -> None:
    found = example_call(Two(), inputs, shapes, None)
    found = {name: found[name] for name in expected} if isinstance(found, dict) else found
    assert shapes_of(found) == expected


def test_a_file_by_name_and_by_place(tmp_path: Path) -> None:
    np.savez(tmp_path / "named.npz", x=np.zeros((2, 3), np.float32), mask=np.zeros(2, np.int64))
    np.savez(tmp_path / "placed.npz", np.zeros((2, 3), np.float32), np.zeros(2, np.int64))
    for name in ("named.npz", "placed.npz"):
        assert shapes_of(example_call(Two(), None, {}, str(tmp_path / name))) == (X, MASK)
    stronger = example_call(Two(), torch.zeros(9, 9), {"mask": ((7,), None)}, str(tmp_path / "named.npz"))
    assert shapes_of(stronger) == (X, ((7,), "int64"))


def test_a_module_that_takes_any_name() -> None:
    assert shapes_of(example_call(Any_(), None, {"x": ((2, 3), None)}, None)) == {"x": X}


@pytest.mark.parametrize(
    ("shapes", "code", "words"),
    [
        ({}, "MIG129", "forward takes x, mask (optional), scale (optional)"),
        ({"y": ((2,), None)}, "MIG130", "no input 'y'"),
        ({"mask": ((2,), None)}, "MIG129", "inputs x are not given"),
        ({"x": ((2,), "float23")}, "MIG130", "no dtype 'float23'"),
        ({"x": ((2,), "load")}, "MIG130", "no dtype 'load'"),
    ],
)
def test_what_does_not_fit(shapes: Any, code: str, words: str) -> None:
    with pytest.raises(MigrateError) as caught:
        example_call(Two(), None, shapes, None)
    found = caught.value.diagnostics[0]
    assert (found.code, caught.value.status) == (code, Exit.USAGE)
    assert words in str(found) and found.todo


def test_files_that_are_no_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "pickled.npz", x=np.array([{"a": 1}], dtype=object))
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "other.npz").write_bytes(saved({"x": 1}))
    for name, code in (("pickled", "MIG131"), ("text", "MIG131"), ("missing", "MIG101")):
        with pytest.raises(MigrateError) as caught:
            example_call(Two(), None, {}, str(tmp_path / f"{name}.npz"))
        assert (caught.value.diagnostics[0].code, caught.value.status) == (code, Exit.INPUT)


def test_made_tensors() -> None:
    torch.manual_seed(0)
    assert set(make_tensor((200,), "int64", "x").tolist()) == {0, 1}, "legal in every table"
    assert make_tensor((4,), "bool", "x").dtype == torch.bool
    assert 0.5 < float(make_tensor((400,), "bfloat16", "x").float().std()) < 1.5
