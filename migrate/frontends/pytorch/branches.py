"""Choices on the mode as branches of the graph: `if self.training:` with a block for each form. Compares no programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from migrate.frontends.pytorch.choices import Choice, Chosen
from migrate.frontends.pytorch.nodes import is_same, origin_of
from migrate.frontends.pytorch.places import scope_of
from migrate.frontends.pytorch.registry import Unsupported
from migrate.graph import ByMode, Value, control

if TYPE_CHECKING:
    from migrate.frontends.pytorch.importer import Importer

Form = tuple[list[Value], dict[Any, Value]]
"""What the ends are in one form, and what it makes of the values from around it that it changes."""


def chosen(importer: Importer, arg: Chosen) -> Value:
    """The value at an end of a choice, which is made where it is first asked for."""
    make(importer, arg.choice)
    return importer.chosen[arg.choice][arg.choice.ends.index(arg.end)]


def make(importer: Importer, choice: Choice) -> None:
    """Add the branch of a choice, once; what its forms change is changed after it."""
    if choice in importer.chosen:
        return
    b, inside = importer.builder, [*choice.training, *choice.evaluation]
    named = (inside or [end[0] for end in choice.ends])[-1]
    with b.at(_common([scope_of(node) for node in inside]), named.name):
        partner = importer.comparison.partner
        with b.block() as on_true:
            ends, changed = _run(importer, choice.training, [partner.get(t, t) for _, t in choice.ends])
            on_true.outputs = [*ends, *changed.values()]
        with b.block() as on_false:
            others, more = _run(importer, choice.evaluation, [e for e, _ in choice.ends])
            on_false.outputs = [*others, *(importer.tensor_of(node) for node in changed)]
        if more:
            raise Unsupported("a tensor is changed in place in evaluation, and not or otherwise in training")
        results = control.if_(b, ByMode(True, False), on_true, on_false)
    importer.chosen[choice] = results[: len(ends)]
    for node, value in zip(changed, results[len(ends) :], strict=True):
        importer.mutations.assign(importer, node, value, store=False)


def _run(importer: Importer, nodes: Sequence[Any], ends: Sequence[Any]) -> Form:
    """Add one form's nodes to the block that is open; the values around it are left as they were."""
    before, state = dict(importer.env), importer.mutations.copied()
    for node in nodes:
        _bind_arguments(importer, node, set(nodes))
        importer.node(node)
    values = [importer.tensor_of(end) for end in ends]
    changed = {
        node: importer.env[node]
        for node, value in before.items()
        if importer.env[node] is not value and node not in importer.mutations.views
    }
    importer.env, importer.mutations = before, state
    return values, changed


def _bind_arguments(importer: Importer, node: Any, inside: set[Any]) -> None:
    """Let the arguments of a node that one form alone has be the nodes that stand for what both have."""
    from torch.fx.node import map_arg

    partner, met = importer.comparison.partner, importer.comparison.chosen

    def known(arg: Any) -> Any:
        if arg in partner:
            return partner[arg]
        if arg in met and arg not in inside:
            return met[arg]
        passed = origin_of(arg)
        if is_same(arg) and arg not in inside and passed in partner:
            return partner[passed]
        importer.add_leaf(arg)
        return arg

    importer.comparison.arguments[node] = (map_arg(node.args, known), dict(map_arg(node.kwargs, known)))


def _common(scopes: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The innermost module around all."""
    if not scopes:
        return ()
    low, high = min(scopes), max(scopes)
    length = next((k for k, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    return low[:length]
