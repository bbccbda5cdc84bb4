"""Products of matrices."""

from typing import Any

from migrate.graph.ops import declare

declare("linear", "torch.nn.functional:linear", learns=(1, 2))
declare("bilinear", "torch.nn.functional:bilinear", learns=(2, 3))
declare("vdot", "torch:vdot")
declare("matmul", "operator:matmul", learns=(0, 1))
declare("einsum", "torch:einsum", learns=tuple(range(1, 53)))  # any operand; 52 letters name the axes


def _grouped(_function: Any, x: Any, weight: Any, ends: Any) -> Any:
    return x.new_empty((x.shape[0], weight.shape[2]))


declare("grouped_mm", "runtime.functional.grouped:grouped_mm", learns=(1,), shapes=_grouped)
