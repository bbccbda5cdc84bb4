"""Operators that take graphs: `torch.cond`, `while_loop`, `scan` and `map` as branches and loops.

A graph comes as a callable that adds its nodes where it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from migrate.frontends.pytorch.registry import Unsupported, aten_op
from migrate.graph import Builder, Value, control

Subgraph = Callable[..., tuple[Any, ...]]


def _tensors(values: Sequence[Any]) -> list[Value]:
    """The values, where all are tensors.

    Raises:
        Unsupported: one is a number or nothing.
    """
    if not all(isinstance(value, Value) for value in values):
        raise Unsupported("control flow that passes on something other than tensors")
    return list(values)


def _known(pred: Any) -> bool | None:
    if isinstance(pred, Value):
        return None if pred.static is None else bool(pred.static.item())
    return bool(pred)


@aten_op("higher_order.cond")
def hop_cond(b: Builder, pred: Any, true_fn: Subgraph, false_fn: Subgraph, operands: Any = ()) -> Any:
    """The branch itself where the condition is known."""
    known = _known(pred)
    if known is not None:
        return (true_fn if known else false_fn)(*operands)
    with b.block() as on_true:
        on_true.outputs = _tensors(true_fn(*operands))
    with b.block() as on_false:
        on_false.outputs = _tensors(false_fn(*operands))
    return control.if_(b, pred, on_true, on_false)


@aten_op("higher_order.while_loop")
def hop_while_loop(b: Builder, cond_fn: Subgraph, body_fn: Subgraph, carried: Any, additional: Any = ()) -> Any:
    """The condition is computed before the loop, and at the end of each iteration."""
    given = _tensors(carried)
    (going,) = cond_fn(*given, *additional)
    known = _known(going)
    if known is False:
        return tuple(given)
    with control.loop_body(b, given) as block:
        made = _tensors(body_fn(*block.inputs[1:], *additional))
        block.outputs = _tensors([*cond_fn(*made, *additional), *made])
    return control.loop(b, block, trip_count=None, condition=True if known else going, carried=given)


@aten_op("higher_order.scan")
def hop_scan(b: Builder, combine_fn: Subgraph, init: Any, xs: Any, additional: Any = ()) -> Any:
    """Along the first axis; export has moved it there."""
    carried, scanned = _tensors(init), [b.tensor(value) for value in _tensors(xs)]
    dims = (0,) * len(scanned)
    with control.loop_body(b, carried, scanned, dims) as block:
        block.outputs = _tensors(combine_fn(*block.inputs[1:], *additional))
    out_dims = (0,) * (len(block.outputs) - len(carried))
    return control.loop(
        b, block, trip_count=None, condition=None, carried=carried, scanned=scanned, dims=dims, out_dims=out_dims
    )


@aten_op("higher_order.map_impl")
def hop_map(b: Builder, f: Subgraph, xs: Any, args: Any = ()) -> Any:
    """A loop that carries nothing."""
    return hop_scan(b, f, (), xs, args)
