"""A loop along an axis of free size, as recurrent layers are written: one part in, one part out in each iteration.

    while time < steps:                                    for x_t in x:
        x_t = inputs[time]                      ->             ...
        outputs[time] = ...;  time = time + 1                  collect what is made

The loop must count from 0 by 1, and read and write at that very place. Knows the nodes that count, and lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from migrate.frontends.tensorflow.builder import AtStep, Laid, Parts, Series, TensorflowBuilder, needs
from migrate.frontends.tensorflow.registry import Unsupported
from migrate.frontends.tensorflow.tensors import array_of
from migrate.graph import Value, control
from migrate.graph.sizes import equal

_ODD = "a loop along an axis of free size that does not count its steps from 0 by 1"


@dataclass(frozen=True, slots=True)
class _Body:
    """The nodes of a function by name, and its arguments and results."""

    nodes: dict[str, Any]
    arguments: list[str]
    results: list[str]

    def behind(self, text: str) -> str:
        """Where a value comes from, through nodes that pass it on."""
        node = self.nodes.get(text.partition(":")[0])
        while node is not None and node.op == "Identity":
            text = node.input[0]
            node = self.nodes.get(text.partition(":")[0])
        return text

    def maker(self, text: str) -> Any:
        """The node that makes it."""
        return self.nodes.get(self.behind(text).partition(":")[0])

    def constant(self, text: str) -> Any:
        """The number that it is; None where it is computed."""
        node = self.maker(text)
        return (
            array_of(node.attr["value"].tensor, node.name).item() if node is not None and node.op == "Const" else None
        )

    def argument(self, text: str) -> int:
        """Which argument it is.

        Raises:
            Unsupported: it is none.
        """
        found = self.behind(text)
        if found not in self.arguments:
            raise Unsupported(_ODD)
        return self.arguments.index(found)


def _body(b: TensorflowBuilder, function: str) -> _Body:
    nodes, arguments, results = b.bodies(function, f"{b.name}/")
    return _Body({node.name: node for node in nodes}, arguments, results)


def unchanged(b: TensorflowBuilder, body: str) -> set[int]:
    """Which of a loop's values every iteration gives as it was given them."""
    inside = _body(b, body)
    pairs = zip(inside.results, inside.arguments, strict=True)
    return {k for k, (result, argument) in enumerate(pairs) if inside.behind(result) == argument}


def _limits(condition: _Body, text: str) -> list[tuple[int, str]]:
    """The counters that the condition compares, and with what."""
    node = condition.maker(text)
    if node is not None and node.op == "LogicalAnd":
        return [pair for part in node.input for pair in _limits(condition, part)]
    if node is None or node.op != "Less":
        raise Unsupported(_ODD)
    return [(condition.argument(node.input[0]), condition.behind(node.input[1]))]


def _count(b: TensorflowBuilder, inputs: Sequence[Any], cond: str, body: str) -> tuple[Any, list[int]]:
    """How often the loop runs, and which of its values count."""
    condition, inside = _body(b, cond), _body(b, body)
    counts: list[Any] = []
    counters: list[int] = []
    for place, limit in _limits(condition, condition.results[0]):
        step = inside.maker(inside.results[place])
        if step is None or step.op not in ("AddV2", "Add") or inside.argument(step.input[0]) != place:
            raise Unsupported(_ODD)
        needs(inside.constant(step.input[1]) == 1 and b.number(inputs[place]) == 0, _ODD)
        counters.append(place)
        known = condition.constant(limit)
        counts.append(b.number(inputs[condition.argument(limit)]) if known is None else known)
    needs(all(equal(count, counts[0]) for count in counts), _ODD)
    return counts[0], counters


def along_series(b: TensorflowBuilder, inputs: list[Any], cond: str, body: str) -> list[Any]:
    """The values after the loop; lists that it has filled are tensors along the axis."""
    count, counters = _count(b, inputs, cond, body)
    lists = {k: item for k, item in enumerate(inputs) if isinstance(item, Series)}
    read = {k: item.value for k, item in lists.items() if item.value is not None}
    needs(all(equal(item.length, count) for item in lists.values()), _ODD)
    once = [k for k, item in enumerate(inputs) if isinstance(item, Parts) and item.items == (None,)]
    needs(
        all(k in once for k, item in enumerate(inputs) if isinstance(item, Parts)),
        "a list of several parts in such a loop",
    )
    passive = {*counters, *unchanged(b, body)}
    moving = [k for k, item in enumerate(inputs) if isinstance(item, Laid) and k not in passive]
    carried = {k: b.tensor(b.to_source(inputs[k]).value) for k in moving}
    scanned = list(read.values())
    with control.loop_body(b, list(carried.values()), scanned, (0,) * len(read)) as block:
        index = b.cast(block.inputs[0], "torch.int32")
        given = dict(zip([*carried, *read], block.inputs[1:], strict=True))
        made = b.inline(body, [_inside(item, index, k in counters, given.get(k)) for k, item in enumerate(inputs)])
        written = {k: made[k].part for k in lists if k not in read} | {k: made[k].items[0] for k in once}
        needs(all(isinstance(part, Laid) for part in written.values()), "a list of which a loop makes no part")
        results = [made[k] for k in carried] + list(written.values())
        block.outputs = [b.tensor(b.to_source(item).value) for item in results]
    found = control.loop(
        b, block, trip_count=None if read else count, condition=None, carried=list(carried.values()), scanned=scanned,
        dims=(0,) * len(read), out_dims=(0,) * len(written),
    )  # fmt: skip
    after = dict(zip([*carried, *written], found, strict=True))
    return [_outside(b, item, k in counters, count, after.get(k)) for k, item in enumerate(inputs)]


def _inside(item: Any, index: Value, counts: bool, given: Value | None) -> Any:
    if counts:
        return Laid(index)
    if isinstance(item, Series):
        return AtStep(index, Laid(given) if given is not None else None)
    return Laid(given) if given is not None else item


def _outside(b: TensorflowBuilder, item: Any, counts: bool, count: Any, found: Value | None) -> Any:
    if counts:
        return Laid(b.static(count, "int32"))
    if isinstance(item, Parts) and found is not None:  # one place, written anew each time
        return Parts((Laid(b.select(found, 0, -1)),), item.dtype)
    if isinstance(item, Series):
        return Series(found if found is not None else item.value, item.length, item.dtype)
    return Laid(found) if found is not None else item
