"""Roles follow from declarations: what a callable itself calls a weight must be declared as learned."""

import inspect

import pytest

from migrate.graph.ops import Op, all_ops

TRAINED = {"weight", "weights"}


def parameters_of(op: Op) -> list[str]:
    """The positional parameters of the callable; none where it is built in and does not tell."""
    try:
        found = inspect.signature(op.callable()).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


@pytest.mark.parametrize(
    "op", [op for op in all_ops() if TRAINED & set(parameters_of(op)) and op.family != "loss"], ids=lambda op: op.name
)
def test_an_argument_that_is_called_a_weight_is_learned(op: Op) -> None:
    """Else the package would keep it as a constant."""
    names = parameters_of(op)
    assert TRAINED & set(names) <= {names[i] for i in op.learns if i < len(names)}
