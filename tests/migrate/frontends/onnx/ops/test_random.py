"""Dropout stays a module's, with the rate of every form that a source may give it in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from migrate.errors import MigrateError
from migrate.frontends.onnx import load_onnx
from tests.onnx_files import build, node

FORMS: list[tuple[int, tuple[float, ...], dict[str, Any], float]] = [
    (7, (), {"ratio": 0.3}, 0.3),
    (10, (), {}, 0.5),
    (12, (0.25,), {}, 0.25),
    (17, (), {"seed": 3}, 0.5),
]


@pytest.mark.parametrize(
    ("opset", "inputs", "attributes", "rate"), FORMS, ids=lambda v: str(v) if isinstance(v, int) else ""
)
def test_the_rate_is_kept(opset: int, inputs: tuple[float, ...], attributes: dict[str, Any], rate: float) -> None:
    weights = {f"i{k}": np.array(value, dtype=np.float32) for k, value in enumerate(inputs)}
    graph = load_onnx(build([node("Dropout", ["x", *weights], ["y"], **attributes)], weights, opset=opset))
    (made,) = graph.nodes
    assert (made.op.name, made.op.random) == ("dropout", True)
    assert made.kwargs == {"p": pytest.approx(rate), "training": False}


def test_a_mask_that_is_used_is_refused() -> None:
    with pytest.raises(MigrateError, match="mask"):
        load_onnx(build([node("Dropout", ["x"], ["y", "mask"])], {}, outputs=("y", "mask")))
