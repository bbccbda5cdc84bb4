"""Op declarations: each names a callable that exists, and a fold agrees with it."""

import importlib.util
import inspect
from typing import Any

import numpy as np
import pytest
import torch

from migrate.graph.ops import Op, all_ops, declare, get_op

FOLDS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("add", ([1, 2], 3), {}),
    ("floor_div", ([7, 9], 2), {}),
    ("mod", ([7, 9], 4), {}),
    ("eq", ([1, 2], [1, 3]), {}),
    ("ne", ([1, 2], [1, 3]), {}),
    ("logical_not", ([True, False],), {}),
    ("minimum", ([1, 5], [3, 2]), {}),
    ("maximum", ([1, 5], [3, 2]), {}),
    ("where", ([True, False], [1, 2], [3, 4]), {}),
    ("reshape", ([1, 2, 3, 4], (2, 2)), {}),
    ("permute", ([[1, 2], [3, 4]], (1, 0)), {}),
    ("squeeze", ([[1, 2]], 0), {}),
    ("unsqueeze", ([1, 2], 0), {}),
    ("expand", ([[1], [2]], (2, 3)), {}),
    ("cat", (([1, 2], [3]),), {"dim": 0}),
    ("index_select", ([5, 6, 7], 0, [2, 0]), {}),
    ("select", ([5, 6, 7], 0, 1), {}),
    ("getitem", ([5, 6, 7], slice(0, 2)), {}),
    ("flip", ([5, 6, 7], (0,)), {}),
    ("prod", ([2, 3, 4],), {"dim": 0}),
]


@pytest.mark.parametrize("op", all_ops(), ids=lambda op: op.name)
def test_the_callable_exists_and_the_family_is_the_file(op: Op) -> None:
    assert callable(op.callable())
    assert importlib.util.find_spec(f"migrate.graph.ops.{op.family}")


@pytest.mark.parametrize(("name", "args", "kwargs"), FOLDS, ids=lambda v: v if isinstance(v, str) else "")
def test_a_fold_computes_what_the_callable_does(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    op = get_op(name)
    known = [np.asarray(a, dtype=object) if isinstance(a, list) else a for a in args]
    real = [torch.tensor(a) if isinstance(a, list) else a for a in args]
    if name == "cat":
        known = [tuple(np.asarray(a, dtype=object) for a in args[0])]
        real = [tuple(torch.tensor(a) for a in args[0])]
    assert op.fold is not None
    folded = np.asarray(op.fold(*known, **kwargs))
    assert folded.tolist() == op.callable()(*real, **kwargs).tolist()


def parameters_of(op: Op) -> list[str]:
    """The positional parameters of the callable; none where it is built in and does not tell."""
    try:
        found = inspect.signature(op.callable()).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


@pytest.mark.parametrize(
    "op", [o for o in all_ops() if parameters_of(o) and o.family != "loss"], ids=lambda op: op.name
)
def test_weights_by_name_are_learned(op: Op) -> None:
    """An argument that is called a weight is trained, or the package would keep it as a constant; a loss weighs classes."""
    names = parameters_of(op)
    learned = {names[i] for i in op.learns if i < len(names)}
    assert {name for name in names if name in ("weight", "weights")} <= learned


def test_einsum_learns_every_operand() -> None:
    assert set(range(1, 5)) <= set(get_op("einsum").learns)


def test_an_unknown_op_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        get_op("no_such_op")


def test_declaring_a_name_twice_shows_both_places() -> None:
    with pytest.raises(ValueError, match=r"'relu' is declared twice: .*activation\.py:\d+ and .*test_ops\.py:\d+"):
        declare("relu", "torch:relu")


MADE: dict[str, tuple[Any, ...]] = {
    "arange": (3,), "full": ((2,), 1.0), "eye": (2,), "size_tensor": ([1, 2],), "randn": (2,), "rand": (2,),
    "linspace": (0, 1, 3), "logspace": (0, 1, 3), "randint": (3, (2,)), "randperm": (4,), "tril_indices": (3, 3),
    "triu_indices": (3, 3), **{f"{name}_window": (5,) for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")},
}  # fmt: skip
Q, W = torch.zeros(3, 1, 2), torch.zeros(2, 2)
ONE: dict[str, tuple[Any, ...]] = {
    "unbind": (torch.zeros(1, 2),), "dsplit": (torch.zeros(1, 2, 3), 1), "gradient": (torch.zeros(3),),
    "multihead_attention": (
        Q, Q, Q, None, None, torch.zeros(6, 2), None, None, None, None, None, None, W, None, 1, 0.0, False, False, False,
    ),
}  # fmt: skip
"""Arguments of which there is one result."""


@pytest.mark.parametrize("op", [op for op in all_ops() if op.makes], ids=lambda op: op.name)
def test_what_makes_a_tensor_takes_its_device(op: Op) -> None:
    assert op.callable()(*MADE[op.name], device="meta").is_meta


@pytest.mark.parametrize("op", [op for op in all_ops() if op.many], ids=lambda op: op.name)
def test_what_returns_many_returns_a_tuple_of_one(op: Op) -> None:
    results = op.callable()(*ONE.get(op.name, (torch.zeros(1, 2), 1)))
    assert isinstance(results, tuple) and len(results) == 1


@pytest.mark.parametrize("op", [op for op in all_ops() if op.family == "elementwise"], ids=lambda op: op.name)
def test_what_compares_returns_booleans(op: Op) -> None:
    """Tried with one operand and with two; an op that takes neither compares nothing."""
    dtypes = set[torch.dtype]()
    for count in (1, 2):
        try:
            dtypes.add(op.callable()(*[torch.ones(2)] * count).dtype)
        except (AttributeError, TypeError, RuntimeError):  # `where` of one operand gives indices
            continue
    assert (dtypes == {torch.bool}) is op.compares
