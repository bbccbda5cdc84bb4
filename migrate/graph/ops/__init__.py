"""Op declarations: an op is a name and the public callable that is its meaning; its file is its family.

The callable is named, not imported, so reading the declarations loads no tensor library. From it come the reference
execution, the inference of shapes and dtypes, and the printed call.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

__all__ = ["Loss", "Op", "all_ops", "declare", "get_op"]

Loss = Literal["cross_entropy", "bce"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """A declaration.

    `target` is the dotted name of the callable; `fold` computes it on object arrays of numbers and sizes; `scalars` says
    that constants of rank 0 are passed as Python numbers; `random` ops are never merged or folded. `learns` names the
    positional arguments in which a tensor of the model is a trained parameter, `statistics` those that hold running
    statistics; in the arguments of `learns_attributes` only what the author made a module's attribute is trained. An op
    that `moves` elements and changes none passes the use of its output on to its first argument.

    An op that `makes` a tensor from sizes and numbers takes the device to make it on; one that returns `many` tensors
    returns a tuple even of one; one that `compares` returns booleans whatever it takes. `loss` is the loss that is
    computed on what the op takes, where it is the last of a model.

    Where the callable's work grows with a size, `shapes` is called in its place to infer, with the callable first.

    Control flow has that many `blocks`, which its callable takes as callables after the arguments. An op with an `effect`
    changes what the model holds, so it stays where nothing uses its output.
    """

    name: str
    family: str
    target: str
    fold: Callable[..., Any] | None = None
    scalars: bool = False
    random: bool = False
    learns: tuple[int, ...] = ()
    statistics: tuple[tuple[int, str], ...] = ()
    learns_attributes: tuple[int, ...] = ()
    moves: bool = False
    makes: bool = False
    many: bool = False
    compares: bool = False
    loss: Loss | None = None
    blocks: int = 0
    shapes: Callable[..., Any] | None = None
    effect: bool = False

    def callable(self) -> Callable[..., Any]:
        """The meaning, imported on first use."""
        return _import(self.target)

    def outline(self) -> Callable[..., Any]:
        """What is called to infer shapes and dtypes."""
        return self.callable() if self.shapes is None else partial(self.shapes, self.callable())

    def __repr__(self) -> str:
        return f"Op({self.name})"


_OPS: dict[str, tuple[Op, str]] = {}


def declare(
    name: str,
    target: str,
    *,
    fold: Callable[..., Any] | None = None,
    scalars: bool = False,
    random: bool = False,
    learns: tuple[int, ...] = (),
    statistics: tuple[tuple[int, str], ...] = (),
    learns_attributes: tuple[int, ...] = (),
    moves: bool = False,
    makes: bool = False,
    many: bool = False,
    compares: bool = False,
    loss: Loss | None = None,
    blocks: int = 0,
    shapes: Callable[..., Any] | None = None,
    effect: bool = False,
) -> Op:
    """Register an op; its family is the file that declares it.

    Raises:
        ValueError: the name is taken; both places are shown.
    """
    frame = sys._getframe(1)  # inspect.stack() reads source files and takes a second for all declarations
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    if name in _OPS:
        raise ValueError(f"op {name!r} is declared twice: {_OPS[name][1]} and {place}")
    family = Path(frame.f_code.co_filename).stem
    op = Op(
        name=name, family=family, target=target, fold=fold, scalars=scalars, random=random, learns=learns,
        statistics=statistics, learns_attributes=learns_attributes, moves=moves, makes=makes, many=many,
        compares=compares, loss=loss, blocks=blocks, shapes=shapes, effect=effect,
    )  # fmt: skip
    _OPS[name] = (op, place)
    return op


@cache
def _import(target: str) -> Callable[..., Any]:
    module, _, path = target.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


@cache
def _discover() -> None:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


def get_op(name: str) -> Op:
    """The declaration of that name.

    Raises:
        KeyError: there is none.
    """
    _discover()
    return _OPS[name][0]


def all_ops() -> list[Op]:
    """Every declaration, by family and name."""
    _discover()
    return sorted((op for op, _ in _OPS.values()), key=lambda op: (op.family, op.name))
