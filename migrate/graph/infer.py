"""Shapes and dtypes by running each op's callable on meta tensors at the sampled sizes. No hand-written shape rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from migrate.graph.ir import Arg, ByMode, Value, sizes_in, tensors_in
from migrate.graph.sizes import NUM_SAMPLES, Dim, Size, at

if TYPE_CHECKING:
    import torch


class InferenceError(Exception):
    """The callable refused its arguments: the source is inconsistent at these sizes, or was read wrongly."""


def torch_dtype(name: str) -> torch.dtype:
    """The torch dtype of that name, such as `float32`."""
    import torch

    return getattr(torch, name)


def samples_of(value: Value) -> list[Any]:
    """The value's meta tensors, one per assignment; a shape without free sizes has one tensor for all."""
    if not value.samples:
        import torch

        dtype = torch_dtype(value.dtype)
        free = any(isinstance(size, Dim) for size in value.shape)
        shapes = [[at(size, k) for size in value.shape] for k in range(NUM_SAMPLES if free else 1)]
        made = [torch.empty(shape, dtype=dtype, device="meta") for shape in shapes]
        value.samples = made if free else made * NUM_SAMPLES
    return value.samples


def concrete(arg: Arg, sample: int) -> Any:
    """An argument as the callable takes it at one assignment; dtypes are named by strings that start with `torch.`."""
    if isinstance(arg, Value):
        return samples_of(arg)[sample]
    if isinstance(arg, Dim):
        return at(arg, sample)
    if isinstance(arg, tuple | list):
        return tuple(concrete(item, sample) for item in arg)  # pyright: ignore[reportUnknownVariableType]
    if isinstance(arg, slice):
        return slice(concrete(arg.start, sample), concrete(arg.stop, sample), concrete(arg.step, sample))
    if isinstance(arg, ByMode):
        return arg.evaluation
    if isinstance(arg, str) and arg.startswith("torch."):
        return torch_dtype(arg.removeprefix("torch."))
    return arg


def signature(arg: Arg) -> Any:
    """What of an argument decides the shapes and dtypes of the outputs, as a key."""
    if isinstance(arg, Value):
        return (arg.dtype, arg.shape)
    if isinstance(arg, tuple | list):
        return tuple([signature(item) for item in arg])  # pyright: ignore[reportUnknownVariableType]
    if isinstance(arg, dict):
        return tuple([(key, signature(item)) for key, item in arg.items()])  # pyright: ignore[reportUnknownVariableType]
    if isinstance(arg, slice):
        return ("slice", signature(arg.start), signature(arg.stop), signature(arg.step))
    return (type(arg), arg)


def depends_on_sizes(args: Arg) -> bool:
    """Whether running the op once would not tell its shape at every assignment."""
    if next(sizes_in(args), None) is not None:
        return True
    return any(isinstance(size, Dim) for value in tensors_in(args) for size in value.shape)


def run_samples(function: Any, args: tuple[Arg, ...], kwargs: dict[str, Arg], makes_tensor: bool) -> list[list[Any]]:
    """The callable's outputs at each assignment.

    Raises:
        InferenceError: it raised; the message is its own.
    """
    import torch

    extra = {"device": "meta"} if makes_tensor else {}
    count = NUM_SAMPLES if depends_on_sizes((args, kwargs)) else 1
    results: list[list[Any]] = []
    for k in range(count):
        named = {name: concrete(arg, k) for name, arg in kwargs.items()}
        try:
            with torch.no_grad():
                out = function(*(concrete(arg, k) for arg in args), **named, **extra)
        except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError) as fault:
            raise InferenceError(str(fault).split("\n")[0]) from fault
        results.append(list(out) if isinstance(out, tuple | list) else [out])  # pyright: ignore[reportUnknownArgumentType]
    return results * (NUM_SAMPLES // count)


def shape_of(tensors: list[Any]) -> list[Size | tuple[int, ...]]:
    """For each axis the size, or its values at the assignments where they differ."""
    axes = [tuple(int(t.shape[i]) for t in tensors) for i in range(tensors[0].dim())]
    return [values[0] if len(set(values)) == 1 else values for values in axes]
