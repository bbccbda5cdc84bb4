"""Branches and loops: what is known while the model is read is decided, the rest becomes Python's `if` and `while`.

A function is named, and adds its nodes where it is called. Variables go into it as they are; a list of tensors, which
TensorFlow makes where a loop gives one part in each iteration, has as many parts as the import can count, so such a loop is
unrolled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from migrate.frontends.tensorflow.builder import Laid, Parts, Series, TensorflowBuilder, needs
from migrate.frontends.tensorflow.registry import Unsupported, tf_op
from migrate.frontends.tensorflow.series import along_series, unchanged
from migrate.graph import Value, control

MAX_UNROLLED = 256
MAX_REPEATED = 8  # of a loop that needs no list: as many copies of its body are easier to read than a loop
_NO_COUNT = "a loop whose number of iterations depends on the data, or is large, with a list of tensors in it"


def _known(b: TensorflowBuilder, condition: Laid) -> bool | None:
    try:
        return bool(b.number(condition))
    except Unsupported:
        return None


def _tensors(b: TensorflowBuilder, items: Sequence[Any]) -> list[Value]:
    if not all(isinstance(item, Laid) for item in items):
        raise Unsupported("a branch or a loop that gives a list or a resource")
    return [b.tensor(b.to_source(item).value) for item in items]


@tf_op("If", "StatelessIf", layout="laid")
def tf_if(b: TensorflowBuilder, cond: Laid, *input: Any, then_branch: str, else_branch: str) -> Any:
    """The branch itself where the condition is known."""
    known = _known(b, cond)
    if known is not None:
        return b.inline(then_branch if known else else_branch, input)
    given = [b.to_source(item) if isinstance(item, Laid) else item for item in input]
    with b.block() as on_true:
        on_true.outputs = _tensors(b, b.inline(then_branch, given))
    with b.block() as on_false:
        on_false.outputs = _tensors(b, b.inline(else_branch, given))
    return [Laid(value) for value in control.if_(b, cond.value, on_true, on_false)]


@tf_op("While", "StatelessWhile", layout="laid")
def tf_while(b: TensorflowBuilder, *input: Any, cond: str, body: str) -> Any:
    """Unrolled where that is known to be short, or where it carries a list; else a loop that a condition ends."""
    if any(isinstance(item, Series) for item in input):
        return along_series(b, list(input), cond, body)
    unrolled = _unrolled(b, list(input), cond, body)
    if unrolled is not None:
        return unrolled
    needs(not any(isinstance(item, Parts) for item in input), _NO_COUNT)
    same = unchanged(b, body)
    places = [k for k, item in enumerate(input) if isinstance(item, Laid) and k not in same]
    carried = [b.tensor(b.to_source(input[k]).value) for k in places]
    going = b.inline(cond, [Laid(carried[places.index(k)]) if k in places else item for k, item in enumerate(input)])[0]
    if _known(b, going) is False:
        return list(input)
    with control.loop_body(b, carried) as block:
        state = dict(zip(places, block.inputs[1:], strict=True))
        given = [Laid(state[k]) if k in state else item for k, item in enumerate(input)]
        made = [b.to_source(item) if isinstance(item, Laid) else item for item in b.inline(body, given)]
        again = b.inline(cond, made)[0]
        block.outputs = [b.tensor(again.value), *_tensors(b, [made[k] for k in places])]
    start = True if _known(b, going) else going.value
    results = control.loop(b, block, trip_count=None, condition=start, carried=carried)
    found = dict(zip(places, results, strict=True))
    return [Laid(found[k]) if k in found else item for k, item in enumerate(input)]


def _unrolled(b: TensorflowBuilder, values: list[Any], cond: str, body: str) -> list[Any] | None:
    """The values after the last iteration; None where the condition depends on the data, or comes true too often."""
    has_parts = any(isinstance(item, Parts) for item in values)
    limit = MAX_UNROLLED if has_parts else MAX_REPEATED
    count = _length(b, values, cond, body, limit)
    if count is None:
        return None
    for _ in range(count):
        values = b.inline(body, values)
    return values


def _length(b: TensorflowBuilder, values: list[Any], cond: str, body: str, limit: int) -> int | None:
    """How often the loop runs, where its counters tell and that is not too often; the trial leaves no node."""
    with b.block():
        for count in range(limit + 1):
            known = _known(b, b.inline(cond, values)[0])
            if known is not True:
                return count if known is False else None
            values = b.inline(body, values)
    return None
