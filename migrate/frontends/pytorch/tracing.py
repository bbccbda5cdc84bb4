"""What torch.export does not do by itself: see buffers that are assigned, and write what gives nothing so that it reads it."""

from __future__ import annotations

import operator
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from migrate.frontends.pytorch.nodes import has_effect

if TYPE_CHECKING:
    from torch import nn


@contextmanager
def assigned_in_place() -> Generator[None]:
    """Let `self.mean = ...` write into the buffer: export does not see that a module below the first takes another tensor."""
    import torch

    assign = torch.nn.Module.__setattr__

    def write(module: nn.Module, name: str, value: Any) -> None:
        held = vars(module).get("_buffers", {}).get(name)
        tensors = isinstance(held, torch.Tensor) and isinstance(value, torch.Tensor) and held is not value
        if tensors and (held.shape, held.dtype) == (value.shape, value.dtype):
            held.copy_(value)
        else:
            assign(module, name, value)

    torch.nn.Module.__setattr__ = write  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        torch.nn.Module.__setattr__ = assign


def give_something(node: Any, inner: Any) -> None:
    """Let a part that only changes tensors return one: torch writes one that returns nothing, and cannot read it."""
    (end,) = (n for n in inner.graph.nodes if n.op == "output")
    given = next(n for n in inner.graph.nodes if n.op == "call_function" and has_effect(n))
    end.args = ((given,),)
    end.meta["val"] = node.meta["val"] = (given.meta["val"],)
    with node.graph.inserting_after(node):
        first = node.graph.call_function(operator.getitem, (node, 0))
    first.meta = {**node.meta, "val": given.meta["val"]}
    inner.recompile()
