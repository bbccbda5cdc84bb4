"""Declarations of ops: their callables exist, nothing is declared twice, and a layer's weights are among what it learns."""

import inspect

import pytest

from migrate.graph.ops import Op, all_ops, declare, get_op

TRAINED = ("weight", "weights")


def parameters_of(op: Op) -> list[str]:
    """The positional parameters of the callable; none where it is built in and does not tell."""
    try:
        found = inspect.signature(op.callable()).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


@pytest.mark.parametrize("op", all_ops(), ids=lambda op: op.name)
def test_a_declaration_names_a_callable(op: Op) -> None:
    assert callable(op.callable())
    assert get_op(op.name) is op


@pytest.mark.parametrize("op", [op for op in all_ops() if parameters_of(op)], ids=lambda op: op.name)
def test_weights_by_name_are_learned(op: Op) -> None:
    """An argument that is called a weight is a trained parameter, or the package would keep it as a constant."""
    names = parameters_of(op)
    learned = {names[i] for i in op.learns if i < len(names)}
    assert {name for name in names if name in TRAINED} <= learned


def test_declaring_twice_raises_and_shows_both_places() -> None:
    with pytest.raises(ValueError, match=r"'relu' is declared twice: .*activation\.py:\d+ and .*test_ops\.py:\d+"):
        declare("relu", "torch:relu")


def test_an_unknown_op_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        get_op("no_such_op")
