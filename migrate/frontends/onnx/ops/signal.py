"""Spectra, windows and filter banks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.ops.elementwise import named_type
from migrate.frontends.onnx.registry import Unsupported, onnx_op
from migrate.graph import Value

FLOAT = 1  # the code of float32


def spectrum(b: OnnxBuilder, x: Value, length: Any, axis: int, inverse: int, onesided: int) -> Value:
    """Of the given length, or of the signal's own; a half spectrum is of an even length where none is given."""
    dim = axis % x.rank
    size: Any = x.shape[dim]
    if length is None:
        length = 2 * (size - 1) if inverse and onesided else size
    return b.dft(x, length, dim, bool(inverse), bool(onesided))


@onnx_op("DFT", since=20)
def onnx_dft(
    b: OnnxBuilder,
    input: Value,
    dft_length: Value | None = None,
    axis: Value | None = None,
    *,
    inverse: int = 0,
    onesided: int = 0,
) -> Value:
    """The axis is an input."""
    return spectrum(b, input, b.number(dft_length), int(b.number(axis, -2)), inverse, onesided)


@onnx_op("DFT", since=17)
def onnx_dft_17(
    b: OnnxBuilder, input: Value, dft_length: Value | None = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0
) -> Value:
    """The axis is an attribute."""
    return spectrum(b, input, b.number(dft_length), axis, inverse, onesided)


@onnx_op("STFT", since=17)
def onnx_stft(
    b: OnnxBuilder,
    signal: Value,
    frame_step: Value,
    window: Value | None = None,
    frame_length: Value | None = None,
    *,
    onesided: int = 1,
) -> Value:
    """A frame is as long as the window where its length is not given."""
    if window is None and frame_length is None:
        raise Unsupported("an STFT without a window and without the length of a frame")
    length = b.number(frame_length) if window is None else window.shape[0]
    x = signal if signal.rank == 3 else b.unsqueeze(signal, 2)
    return b.stft(x, b.number(frame_step), window, length, bool(onesided))


def window(name: str, cosines: tuple[float, ...]) -> None:
    """Register a window that is a sum of cosines, of a known size."""

    @onnx_op(name, since=17)
    def onnx_window(b: OnnxBuilder, size: Value, *, output_datatype: int = FLOAT, periodic: int = 1) -> Value:
        count = int(b.number(size))
        angles = np.arange(count) * (2 * math.pi / (count if periodic else count - 1))
        made = sum(c * np.cos(i * angles) for i, c in enumerate(cosines))
        return table(b, np.asarray(made), named_type(output_datatype))


def table(b: OnnxBuilder, array: Any, dtype: str) -> Value:
    """A tensor that the operator computes from numbers: a buffer of the model, wherever it is used."""
    return b.tensor(b.static(array.astype(dtype), dtype))


window("HannWindow", (0.5, -0.5))
window("HammingWindow", (25 / 46, -21 / 46))
window("BlackmanWindow", (0.42, -0.5, 0.08))


@onnx_op("MelWeightMatrix", since=17)
def onnx_mel_weight_matrix(
    b: OnnxBuilder,
    num_mel_bins: Value,
    dft_length: Value,
    sample_rate: Value,
    lower_edge_hertz: Value,
    upper_edge_hertz: Value,
    *,
    output_datatype: int = FLOAT,
) -> Value:
    """A table of triangles that are equally wide in mel."""
    numbers = [b.number(v) for v in (num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz)]
    return table(b, mel_weights(*numbers), named_type(output_datatype))


def mel_weights(bins: int, length: int, rate: int, low: float, high: float) -> np.ndarray[Any, Any]:
    """As the specification has it: the edges of the triangles are rounded down to whole frequencies.

    Returns:
        (length // 2 + 1, bins).
    """
    count = length // 2 + 1
    first, last = (2595 * np.log1p(hertz / 700) / np.log(10) for hertz in (low, high))
    mels = first + np.arange(bins + 2) * ((last - first) / (bins + 2))
    edges = ((length + 1) * (700 * np.expm1(mels / 2595 * np.log(10))) // rate).astype(np.int64)
    weights = np.zeros((count, bins))
    for i in range(bins):
        left, centre, right = edges[i : i + 3]
        weights[left:centre, i] = (np.arange(left, centre) - left) / max(centre - left, 1)
        weights[centre:right, i] = (right - np.arange(centre, right)) / max(right - centre, 1)
        weights[centre, i] = 1
    return weights
