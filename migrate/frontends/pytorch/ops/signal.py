"""Spectra whose ATen form differs from the public one."""

from __future__ import annotations

from migrate.frontends.pytorch.registry import aten_op
from migrate.graph import Builder, Value


@aten_op("aten.stft.default")
def aten_stft(
    b: Builder, self: Value, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Value | None = None, normalized: bool = False, onesided: bool | None = None, return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Value:  # fmt: skip
    """Of a signal that is padded already."""
    given = {
        "hop_length": hop_length, "win_length": win_length, "window": window, "normalized": normalized or None,
        "onesided": onesided, "align_to_window": align_to_window,
    }  # fmt: skip
    named = {name: value for name, value in given.items() if value is not None}
    return b.spectrogram(self, n_fft, **named, center=False, return_complex=bool(return_complex))
