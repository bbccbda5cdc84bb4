"""Stands in for values that a tensor without memory does not have, so that a step whose Python asks for one goes on.

A branch is taken at the first question and then alternately, a number is 1, and a result whose size depends on data has
its largest size. Every use is a remark for the user. Must not know targets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


class AssumedValues:
    """The answers given in one step; `asked` counts them by module and operator."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()

    def result(self, func: Any, args: Sequence[Any], module: str) -> Any:
        """The assumed result of an operator whose result depends on data; NotImplemented where none is sensible."""
        key = (module, str(func))
        self.asked[key] += 1
        tensor: Tensor = args[0]
        if func is aten._local_scalar_dense.default:
            # Alternating ends a `while` that asks a tensor; taking the branch first sees its operators.
            return (
                self.asked[key] % 2 == 1 if tensor.dtype == torch.bool else (1.0 if tensor.is_floating_point() else 1)
            )
        if func is aten.equal.default:
            return True
        if func is aten.nonzero.default:
            return tensor.new_empty((tensor.numel(), tensor.dim()), dtype=torch.int64)
        if func is aten.masked_select.default:
            return tensor.new_empty((tensor.numel(),))
        if func is aten.index.Tensor:
            return func(tensor, [i for index in args[1] for i in whole_indices(index)])
        return NotImplemented


def whole_indices(index: Tensor | None) -> list[Tensor | None]:
    """Index tensors for a mask that holds everywhere; other indices unchanged."""
    if index is None or index.dtype not in (torch.bool, torch.uint8):
        return [index]
    return [index.new_empty((index.numel(),), dtype=torch.int64) for _ in range(index.dim())]
