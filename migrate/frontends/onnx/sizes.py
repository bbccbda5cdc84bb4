"""Free sizes of an ONNX model's inputs: their names, and sampled values at which the model is legal.

A symbol is sampled three times. Some models are legal only at certain sizes (a height that must shrink to 1, a stride
that must divide), and say so nowhere; then further candidates are tried, from free to fixed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import onnx_ir as ir

from migrate.errors import Diagnostic, Exit, MigrateError, error
from migrate.graph.sampling import BATCH, FIXED, FREE, LARGE, SMALL, UNEVEN, Sample

Plan = dict[str, int | Sample]
_BATCH_NAMES = ("batch", "batch_size", "batchsize", "batch_dim", "bs", "b", "n")
_TIME_NAMES = ("time", "t", "sequence", "sequence_length", "seq", "seq_len", "seq_length", "length", "tokens")
_RECURRENT = ("LSTM", "GRU", "RNN")
_SPATIAL = {3: ("length",), 4: ("height", "width"), 5: ("depth", "height", "width")}


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSizes:
    """One input's shape: numbers and names of free sizes; `batch_axis` is where its batch is, if it has one."""

    name: str
    shape: tuple[int | str, ...]
    declared: tuple[int | str | None, ...]
    batch_axis: int = 0

    @property
    def first(self) -> int | str | None:
        """The size of its batch, None where it has no such axis."""
        return self.shape[self.batch_axis] if self.shape else None


def input_sizes(model: ir.Model, given: dict[str, tuple[int, ...]]) -> list[InputSizes]:
    """Each true input (no initializers) with a readable name for each free size; `given` shapes are fixed.

    Raises:
        MigrateError: exit status 2, MIG111: a given shape is of no input, MIG112: it contradicts what the input declares; exit
            status 4, MIG109: an input declares no shape, and none is given.
    """
    names: dict[str, str] = {}
    found: list[InputSizes] = []
    inputs = [value for value in model.graph.inputs if value.name not in model.graph.initializers]
    _check_given(inputs, given)
    for value in inputs:
        declared = tuple(_declared(d) for d in value.shape) if value.shape is not None else ()
        if (value.name or "") in given:
            shape: tuple[int | str, ...] = given[value.name or ""]
        else:
            shape = tuple(
                d if isinstance(d, int) else _name(d, value.name or "", axis, len(declared), names)
                for axis, d in enumerate(declared)
            )
        axis = 1 if len(shape) == 3 and _is_time_first(value) else 0
        found.append(InputSizes(name=value.name or "", shape=shape, declared=declared, batch_axis=axis))
    return found


def _is_time_first(value: ir.Value) -> bool:
    """Whether a recurrent layer reads it as it is, as a sequence or a state, without a batch that comes first."""
    return any(
        node.op_type in _RECURRENT
        and place in (0, 5, 6)
        and not ((layout := node.attributes.get("layout")) and layout.value)
        for node, place in value.uses()
    )


def _check_given(inputs: list[ir.Value], given: dict[str, tuple[int, ...]]) -> None:
    declared = {value.name or "": value.shape for value in inputs}
    wrong = [
        error("MIG111", f"the model has no input {name!r}", todo=f"its inputs are: {', '.join(map(repr, declared))}")
        for name in given
        if name not in declared
    ]
    for name, shape in given.items():
        if (known := declared.get(name)) is not None and not _agrees(shape, known):
            what = f"--input {name}:{','.join(map(str, shape))} contradicts the model"
            wrong.append(error("MIG112", what, why=f"it declares {name!r} as {list(known)}"))
    if wrong:
        raise MigrateError(wrong, Exit.USAGE)
    todo = "give it with --input NAME:SIZES"
    unknown = [n for n, shape in declared.items() if shape is None and n not in given]
    if unknown:
        what = [error("MIG109", f"the shape of input {name!r} is not declared", todo=todo) for name in unknown]
        raise MigrateError(what, Exit.UNSUPPORTED)


def _agrees(shape: tuple[int, ...], declared: ir.Shape) -> bool:
    if len(shape) != len(declared):
        return False
    return all(
        size == known or not isinstance(_declared(known), int) for size, known in zip(shape, declared, strict=True)
    )


def _declared(dim: int | ir.SymbolicDim) -> int | str | None:
    if isinstance(dim, int):
        return dim if dim > 0 else None
    text = str(dim.value) if dim.value else ""
    return text if text not in ("", "?", "-1", "None") else None


def _name(declared: int | str | None, tensor: str, axis: int, rank: int, names: dict[str, str]) -> str:
    if isinstance(declared, str) and declared in names:
        return names[declared]
    readable = (
        isinstance(declared, str) and re.fullmatch(r"[A-Za-z_]\w*", declared) and not declared.startswith("unk__")
    )
    if readable:
        name = str(declared)
    elif axis == 0:
        name = "batch"
    else:
        spatial = _SPATIAL.get(rank, ())
        place = axis - (rank - len(spatial))
        name = spatial[place] if 0 <= place < len(spatial) else f"{tensor}_{axis}"
    taken = set(names.values())
    if not readable and name in taken and name != "batch":
        name = f"{tensor}_{axis}"
    names[str(declared) if declared is not None else f"{tensor}/{axis}"] = name
    return name


def batch_symbol(inputs: list[InputSizes]) -> tuple[str | None, int]:
    """The free size that is the batch, and the number that the source has for it (1 where it is free).

    It is the one that is called so, on whatever axis (recurrent models have the time first), else the first axis, and of
    what a recurrent layer reads with the time first, the second. Where none is free and all agree in it, that axis is taken
    to be a batch that was fixed at export.
    """
    for item in inputs:
        if named := [size for size in item.shape if isinstance(size, str) and size.lower() in _BATCH_NAMES]:
            return named[0], 1
    for item in inputs:
        if isinstance(item.first, str):
            return item.first, 1
    first = [item.first for item in inputs if len(item.shape) > 1]
    if first and len(set(first)) == 1 and isinstance(first[0], int):
        return "batch", first[0]
    return None, 1


def guessed_batch(inputs: list[InputSizes]) -> list[Diagnostic]:
    """A warning where the first axis is taken for the batch, the second is free as well, and no name tells the two apart.

    A second axis that is called after the time says that the first is none.
    """
    names = {d.lower() for item in inputs for d in item.declared if isinstance(d, str)}
    if not names.isdisjoint(_BATCH_NAMES):
        return []
    for item in inputs:
        if item.batch_axis:
            continue
        first, second = (*item.shape[:2], 0, 0)[:2]
        if isinstance(first, str) and isinstance(second, str) and second.lower() not in _TIME_NAMES:
            return [
                Diagnostic(
                    code="MIG306",
                    severity="warning",
                    what=f"the first axis of input {item.name!r} is taken for the batch",
                    where=item.name,
                    why="its second axis is free as well, and no name says which of them is the batch",
                    todo="where the time comes first, call the second axis `batch` when the model is exported",
                )
            ]
    return []


def candidates(symbols: list[str], batch: str | None) -> Iterator[Plan]:
    """Assignments to try in turn: all free, from any size to even, large and small ones, then one symbol after the other
    the batch, then one fixed.

    Where sizes are always even, half of one rounded up or down is the same: what is legal at any size must be read there.
    """
    free = [s for s in symbols if s != batch]
    base: Plan = {batch: BATCH} if batch else {}
    for table in (UNEVEN, FREE, LARGE, SMALL):
        yield base | {s: table[i % len(table)] for i, s in enumerate(free)}
        if not free:
            return
    for table in (UNEVEN, FREE, LARGE, SMALL) if batch else ():
        for same in free:  # an axis without a name may be the batch as well
            others = [s for s in free if s != same]
            yield base | {same: BATCH} | {s: table[i % len(table)] for i, s in enumerate(others)}
    for size in FIXED:
        for fixed in free:
            yield base | {s: size if s == fixed else FREE[i % len(FREE)] for i, s in enumerate(free)}
    for size in FIXED:
        yield base | dict.fromkeys(free, size)
