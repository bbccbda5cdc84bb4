"""What each mode computes in its own way: which nodes of either form, from what both have to what differs. Builds no graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from migrate.frontends.pytorch.nodes import written


@dataclass(eq=False, slots=True, kw_only=True)
class Choice:
    """A branch on the mode. `ends` are the values that follow: for each the evaluation's and the training's node.

    `training` and `evaluation` are the nodes that only that form has. Without ends, training changes a buffer.
    """

    training: list[Any] = field(default_factory=list[Any])
    evaluation: list[Any] = field(default_factory=list[Any])
    ends: list[tuple[Any, Any]] = field(default_factory=list[tuple[Any, Any]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A value that follows a choice."""

    choice: Choice
    end: tuple[Any, Any]


def leads_to(ends: Iterable[Any], known: Mapping[Any, Any] | set[Any]) -> list[Any]:
    """The nodes that lead to some ends from what is known, ends included, and those that change what they use."""
    found: set[Any] = set()
    stack = [end for end in ends if end not in known]
    while stack:
        node = stack.pop()
        if node in found or node in known or node.op != "call_function":
            continue
        found.add(node)
        stack += node.all_input_nodes
        changing = (user for used in (node, *node.all_input_nodes) for user in used.users if written(user) is used)
        stack += [user for user in changing if user < node]
    return sorted(found)


def join(choices: list[Choice], new: Choice) -> Choice:
    """The new choice, or an earlier one that has nodes in common with it, made to include it."""
    own = {*new.training, *new.evaluation}
    other = next((c for c in choices if own & {*c.training, *c.evaluation}), None)
    if other is None:
        choices.append(new)
        return new
    other.training = sorted({*other.training, *new.training})
    other.evaluation = sorted({*other.evaluation, *new.evaluation})
    other.ends += [end for end in new.ends if end not in other.ends]
    return other
