"""Example inputs for the user's module: from the factory, an .npz file, or --input. Runs in the worker process."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from migrate.errors import Exit, MigrateError, error
from migrate.frontends.archive import open_archive, open_file
from migrate.frontends.pytorch.sizes import numbers

if TYPE_CHECKING:
    from torch import Tensor, nn

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
Call = tuple[Any, ...] | dict[str, Any]


def example_call(module: nn.Module, inputs: Any, shapes: Mapping[str, Sequence[Any]], file: str | None) -> Call:
    """The arguments to export with: those of the factory, those of the file over them, those of --input over all.

    Args:
        module: whose `forward` names the arguments.
        inputs: what the factory gave: None, a tensor, a tuple of arguments, or a dict by name.
        shapes: (sizes, dtype or None) by name; a free size is its name, or its name and number (`H=64`).
        file: an .npz, its arrays by name, or `arr_0`, `arr_1` in order.

    Raises:
        MigrateError: exit status 2; MIG129 no inputs, MIG130 a name or dtype that does not fit; 3, MIG131: the file.
    """
    positional, named = _as_call(inputs)
    parameters = inspect.signature(module.forward).parameters
    order = [
        p.name for p in parameters.values() if p.kind not in _VARIADIC and p.kind != inspect.Parameter.KEYWORD_ONLY
    ]
    given = {**dict(zip(order, positional, strict=False)), **named}
    if not (shapes or file):
        if inputs is None:
            raise _usage("MIG129", "the module's inputs are not known", _takes(parameters))
        return tuple(positional) if not named else given if len(positional) <= len(order) else tuple(positional)
    if file:
        given |= _from_file(Path(file), order)
    taken: dict[str, int] = {}
    for name, (sizes, dtype) in shapes.items():
        like = given.get(name)
        found = numbers(sizes, like, taken)
        if dtype is None and list(found) != list(sizes) and found == tuple(getattr(like, "shape", ())):
            continue  # the sizes of the example, some of them with a name
        given[name] = make_tensor(found, dtype or (_dtype_name(like) if like is not None else "float32"), name)
    _check_names(given, parameters)
    lead = order[: len(given)]
    return tuple(given[name] for name in lead) if set(lead) == set(given) else given


def make_tensor(sizes: Sequence[int], dtype: str, name: str) -> Tensor:
    """A tensor to export with: normal numbers, or 0 and 1 for integers and flags, which every table has.

    Raises:
        MigrateError: exit status 2, MIG130: there is no such dtype.
    """
    import torch

    kind: Any = getattr(torch, dtype, None)
    if not isinstance(kind, torch.dtype):
        todo = f"write it as --input {name}:2,16:int64"
        raise MigrateError([error("MIG130", f"there is no dtype {dtype!r}", where=name, todo=todo)], Exit.USAGE)
    if kind.is_floating_point or kind.is_complex:
        return torch.randn(tuple(sizes)).to(kind)
    return torch.randint(0, 2, tuple(sizes)).to(kind)


def _as_call(inputs: Any) -> tuple[list[Any], dict[str, Any]]:
    if inputs is None:
        return [], {}
    if isinstance(inputs, Mapping):
        return [], {str(name): value for name, value in inputs.items()}
    return (list(inputs), {}) if isinstance(inputs, tuple | list) else ([inputs], {})


def _from_file(path: Path, order: Sequence[str]) -> dict[str, Tensor]:
    import numpy as np
    import torch

    with open_file(path) as file:
        if file.read(2) != b"PK":
            raise _unreadable(path, "it is no .npz file")
        with open_archive(file, path.name):
            file.seek(0)
            try:
                with np.load(file, allow_pickle=False) as arrays:
                    found = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
            except (ValueError, OSError, EOFError, TypeError, KeyError) as fault:
                raise _unreadable(path, str(fault).splitlines()[0]) from fault
    numbered: dict[str, str] = {f"arr_{place}": name for place, name in enumerate(order)}
    return {numbered.get(str(name), str(name)): tensor for name, tensor in found.items()}


def _check_names(given: Mapping[str, Any], parameters: Mapping[str, inspect.Parameter]) -> None:
    if any(p.kind == inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return
    for name in given:
        if name not in parameters or parameters[name].kind in _VARIADIC:
            raise _usage("MIG130", f"the module has no input {name!r}", _takes(parameters))
    missing = [n for n, p in parameters.items() if p.default is p.empty and p.kind not in _VARIADIC and n not in given]
    if missing:
        raise _usage("MIG129", f"the inputs {', '.join(missing)} are not given", _takes(parameters))


def _takes(parameters: Mapping[str, inspect.Parameter]) -> str:
    names = [p.name if p.default is p.empty else f"{p.name} (optional)" for p in parameters.values()]
    return f"its forward takes {', '.join(names)}"


def _usage(code: str, what: str, why: str) -> MigrateError:
    todo = "give --input NAME:2,3,64,64 or NAME:2,16:int64, or --example FILE.npz, or let the factory return (module, inputs)"
    return MigrateError([error(code, what, why=why, todo=todo)], Exit.USAGE)


def _unreadable(path: Path, why: str) -> MigrateError:
    what = error("MIG131", "cannot read the example inputs", where=path.name, why=why, todo="write it with numpy.savez")
    return MigrateError([what], Exit.INPUT)


def _dtype_name(like: Any) -> str:
    return str(getattr(like, "dtype", "float32")).removeprefix("torch.")
