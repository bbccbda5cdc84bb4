"""Control flow: what is known while the model is read is decided, the rest becomes branches and loops.

A sequence has as many items as the import can count, so a loop that carries one is unrolled.
"""

from __future__ import annotations

from typing import Any

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.frontends.onnx.values import Nothing, Sequence, known_truth
from migrate.graph import Dim, Value, control

MAX_UNROLLED = 64
_UNLIMITED = 1 << 31  # exporters write the largest integer for a loop that its condition ends
_NO_COUNT = "a loop whose number of iterations, or a sequence in it, depends on the data"


@onnx_op("If")
def onnx_if(b: OnnxBuilder, cond: Value, *, then_branch: Any, else_branch: Any) -> Any:
    """The branch itself where the condition is known."""
    known = known_truth(b, cond)
    if known is not None:
        return b.inline(then_branch if known else else_branch)
    with b.block() as on_true:
        on_true.outputs = tensors_only(b.inline(then_branch))
    with b.block() as on_false:
        on_false.outputs = tensors_only(b.inline(else_branch))
    return control.if_(b, cond, on_true, on_false)


@onnx_op("Loop")
def onnx_loop(b: OnnxBuilder, M: Value | None = None, cond: Value | None = None, *v_initial: Any, body: Any) -> Any:
    """A `for` where the number of iterations is known beforehand, else one that a condition ends."""
    going = True if cond is None else known_truth(b, cond)
    trip_count = _trip_count(b, M)
    num_stacked = len(body.outputs) - 1 - len(v_initial)
    if (going is False or trip_count == 0) and not num_stacked:
        return v_initial
    if any(not isinstance(value, Value) for value in v_initial) or (isinstance(trip_count, int) and trip_count < 1):
        return _unrolled(b, trip_count if going else None, v_initial, body)
    with control.loop_body(b, v_initial) as block:
        again, *given = b.inline(body, block.inputs[0], b.static(True, "bool"), *block.inputs[1:])
        endless = going is True and known_truth(b, again) is True
        block.outputs = tensors_only(given if endless else [again, *given])
    if endless and trip_count is None:
        raise Unsupported("a loop that never ends")
    return control.loop(
        b,
        block,
        trip_count=trip_count,
        condition=None if endless else True if cond is None or going else cond,
        carried=v_initial,
        out_dims=(0,) * num_stacked,
    )


@onnx_op("Scan", since=9)
def onnx_scan(
    b: OnnxBuilder,
    *initial_state_and_scan_inputs: Value,
    body: Any,
    num_scan_inputs: int,
    scan_input_axes: Any = None,
    scan_input_directions: Any = None,
    scan_output_axes: Any = None,
    scan_output_directions: Any = None,
) -> Any:
    """A loop along an axis; what goes backwards is turned round before it or after it."""
    place = len(initial_state_and_scan_inputs) - num_scan_inputs
    carried, given = initial_state_and_scan_inputs[:place], initial_state_and_scan_inputs[place:]
    num_stacked = len(body.outputs) - len(carried)
    dims = tuple(axis % v.rank for v, axis in zip(given, scan_input_axes or (0,) * num_scan_inputs, strict=True))
    ways = zip(given, dims, scan_input_directions or (0,) * num_scan_inputs, strict=True)
    scanned = [b.flip(b.tensor(v), (dim,)) if back else b.tensor(v) for v, dim, back in ways]
    with control.loop_body(b, carried, scanned, dims) as block:
        block.outputs = tensors_only(b.inline(body, *block.inputs[1:]))
    parts = block.outputs[len(carried) :]
    out_dims = [axis % (v.rank + 1) for v, axis in zip(parts, scan_output_axes or (0,) * num_stacked, strict=True)]
    results = control.loop(
        b, block, trip_count=None, condition=None, carried=carried, scanned=scanned, dims=dims, out_dims=out_dims
    )
    stacked = zip(results[len(carried) :], out_dims, scan_output_directions or (0,) * num_stacked, strict=True)
    return (*results[: len(carried)], *(b.flip(v, (dim,)) if back else v for v, dim, back in stacked))


@onnx_op("Scan", since=8)
def onnx_scan_8(
    b: OnnxBuilder,
    sequence_lens: Value | None = None,
    *initial_state_and_scan_inputs: Value,
    body: Any,
    num_scan_inputs: int,
    directions: Any = None,
) -> Any:
    """Each sample of the batch is scanned by itself: a loop over the samples around the one along their axis."""
    if sequence_lens is not None:
        raise Unsupported("a Scan of sequences whose lengths differ")
    samples = [b.tensor(value) for value in initial_state_and_scan_inputs]
    with control.loop_body(b, (), samples, (0,) * len(samples)) as block:
        inside = block.inputs[1:]
        block.outputs = list(
            onnx_scan(b, *inside, body=body, num_scan_inputs=num_scan_inputs, scan_input_directions=directions)
        )
    dims = (0,) * len(block.outputs)
    return control.loop(
        b, block, trip_count=None, condition=None, carried=(), scanned=samples, dims=(0,) * len(samples), out_dims=dims
    )


def _trip_count(b: OnnxBuilder, M: Value | None) -> Any:
    if M is None:
        return None
    try:
        (count,) = b.numbers(M)
    except Unsupported:
        return M
    return None if not isinstance(count, Dim) and count >= _UNLIMITED else count


def _unrolled(b: OnnxBuilder, trip_count: Any, initial: tuple[Any, ...], body: Any) -> Any:
    """As many copies of the body as there are iterations; what is stacked must have at least one part."""
    num_stacked = len(body.outputs) - 1 - len(initial)
    if not isinstance(trip_count, int) or trip_count > MAX_UNROLLED or (num_stacked and trip_count < 1):
        raise Unsupported(_NO_COUNT)
    values, stacked = initial, [[] for _ in range(num_stacked)]
    for index in range(trip_count):
        again, *given = b.inline(body, b.static(index, "int64"), b.static(True, "bool"), *values)
        values = tuple(given[: len(initial)])
        for parts, part in zip(stacked, given[len(initial) :], strict=True):
            parts.append(b.tensor(part))
        going = known_truth(b, again)
        if going is None:
            raise Unsupported(_NO_COUNT)
        if not going:
            break
    return (*values, *(b.stack(tuple(parts), 0) for parts in stacked))


def tensors_only(values: Any) -> list[Value]:
    """The values, where all are tensors.

    Raises:
        Unsupported: a sequence or an optional leaves a block that runs or does not.
    """
    if any(isinstance(value, Sequence | Nothing) for value in values):
        raise Unsupported("a sequence or an optional that a branch or a loop makes")
    return list(values)
