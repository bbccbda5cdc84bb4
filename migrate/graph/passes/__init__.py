"""Graph passes, in the order in which they run. A pass says what it requires and ensures; `check` runs after each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from migrate.graph.check import check
from migrate.graph.ir import Graph

__all__ = ["Pass", "default_passes", "run_passes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """A named change of the graph. `run` changes it in place and returns how many places it changed."""

    name: str
    run: Callable[[Graph], int]
    requires: tuple[str, ...] = ()
    ensures: tuple[str, ...] = ()


def default_passes(*, inferred: bool = False) -> list[Pass]:
    """What every conversion runs, in order; `inferred` adds the fusions that guess at what the author meant."""
    from migrate.graph.passes.assign_roles import ASSIGN_ROLES
    from migrate.graph.passes.fuse import FUSE, FUSE_INFERRED
    from migrate.graph.passes.join_bias import JOIN_BIAS
    from migrate.graph.passes.join_moves import JOIN_MOVES
    from migrate.graph.passes.remove_dead import REMOVE_DEAD
    from migrate.graph.passes.separate_weights import SEPARATE_WEIGHTS
    from migrate.graph.passes.tie_weights import TIE_WEIGHTS

    return [
        REMOVE_DEAD,
        SEPARATE_WEIGHTS,
        ASSIGN_ROLES,
        TIE_WEIGHTS,
        JOIN_BIAS,
        FUSE_INFERRED if inferred else FUSE,
        JOIN_MOVES,
    ]


def run_passes(graph: Graph, passes: list[Pass] | None = None) -> dict[str, int]:
    """Run the passes and return how many places each changed.

    Raises:
        ValueError: a pass requires what none before it ensures.
        GraphError: a pass left the graph inconsistent.
    """
    done: set[str] = set()
    counts: dict[str, int] = {}
    check(graph)
    for each in default_passes() if passes is None else passes:
        missing = set(each.requires) - done
        if missing:
            raise ValueError(f"pass {each.name!r} requires {sorted(missing)}, which no pass before it ensures")
        counts[each.name] = each.run(graph)
        check(graph)
        done |= set(each.ensures)
    return counts
