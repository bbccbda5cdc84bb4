"""Layers that move, cut, join and pad."""

from __future__ import annotations

from typing import Any

from migrate.frontends.keras.builder import KerasBuilder, Laid
from migrate.frontends.keras.registry import Unsupported, keras_layer
from migrate.graph import Value


@keras_layer("Flatten", layout="any")
def keras_flatten(b: KerasBuilder, x: Value) -> Laid:
    """Of an image, in the order that it has here; a Dense layer behind it turns its kernel."""
    if not b.first:
        return Laid(b.flatten(x, 1) if x.rank > 2 else x if x.rank == 2 else b.unsqueeze(x, 1), flat=b.flat)
    sizes = [*x.shape[2:], x.shape[1]]
    if not all(isinstance(size, int) for size in sizes):
        raise Unsupported("a Flatten of an image of any size", "give its sizes with --input")
    made, spatial = b.flatten(x, 1), [int(s) for s in sizes[:-1]]  # pyright: ignore[reportArgumentType]
    return Laid(made) if set(spatial) == {1} or sizes[-1] == 1 else Laid(made, flat=(*spatial, int(sizes[-1])))  # pyright: ignore[reportArgumentType]


@keras_layer("Reshape")
def keras_reshape(b: KerasBuilder, x: Value, *, target_shape: Any) -> Laid:
    """A vector that becomes an image of one place keeps its channels after the batch."""
    target = [-1 if size is None else int(size) for size in target_shape]
    if x.rank == 2 and len(target) > 1 and all(size == 1 for size in target[:-1]):
        return Laid(b.reshape(x, (x.shape[0], x.shape[1], *target[:-1])), first=True)
    return Laid(b.reshape(x, (x.shape[0], *target)))


@keras_layer("Permute")
def keras_permute(b: KerasBuilder, x: Value, *, dims: Any) -> Value:
    """Of all axes but the batch, which are counted from 1."""
    return b.permute(x, (0, *dims))


@keras_layer("RepeatVector")
def keras_repeat_vector(b: KerasBuilder, x: Value, *, n: int) -> Value:
    """A vector once for each step."""
    return b.expand(b.unsqueeze(x, 1), (-1, n, -1))


@keras_layer("Concatenate", layout="any")
def keras_concatenate(b: KerasBuilder, xs: list[Value], *, axis: int = -1) -> Value:
    """Along one axis; flattened tensors are joined as Keras has them."""
    if b.flat is not None:
        raise Unsupported("flattened images that are joined")
    return b.cat(tuple(xs), b.axis(axis, xs[0].rank))


def _pairs(value: Any, rank: int) -> list[tuple[int, int]]:
    if isinstance(value, int):
        return [(value, value)] * rank
    if rank == 1 and all(isinstance(part, int) for part in value):
        return [(value[0], value[1])]
    return [(part, part) if isinstance(part, int) else (part[0], part[1]) for part in value]


@keras_layer("ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D", layout="first")
def keras_zero_padding(b: KerasBuilder, x: Value, *, padding: Any) -> Value:
    """Zeros around."""
    return b.pad(x, tuple(size for pair in _pairs(padding, x.rank - 2)[::-1] for size in pair))


@keras_layer("Cropping1D", "Cropping2D", "Cropping3D", layout="first")
def keras_cropping(b: KerasBuilder, x: Value, *, cropping: Any) -> Value:
    """Without its edges."""
    cuts = [slice(begin, -end if end else None) for begin, end in _pairs(cropping, x.rank - 2)]
    return b.getitem(x, (slice(None), slice(None), *cuts))
