"""Spectra, whose ATen form differs from the public one by name alone."""

from __future__ import annotations

from typing import Any

from migrate.frontends.pytorch.registry import aten_op
from migrate.graph import Builder, Value


def _transform(b: Builder, name: str, x: Value, *given: Any) -> Value:
    named = dict(zip(("s" if name.endswith("n") else "n", "dim", "norm"), given, strict=True))
    return getattr(b, name)(x, **{k: tuple(v) if isinstance(v, list) else v for k, v in named.items() if v is not None})


@aten_op("aten.fft_fft")
def aten_fft_fft(b: Builder, self: Value, n: Any = None, dim: int = -1, norm: str | None = None) -> Value:
    """Along one axis."""
    return _transform(b, "fft", self, n, dim, norm)


@aten_op("aten.fft_ifft")
def aten_fft_ifft(b: Builder, self: Value, n: Any = None, dim: int = -1, norm: str | None = None) -> Value:
    """Back, along one axis."""
    return _transform(b, "ifft", self, n, dim, norm)


@aten_op("aten.fft_rfft")
def aten_fft_rfft(b: Builder, self: Value, n: Any = None, dim: int = -1, norm: str | None = None) -> Value:
    """Half of the spectrum of real numbers."""
    return _transform(b, "rfft", self, n, dim, norm)


@aten_op("aten.fft_irfft")
def aten_fft_irfft(b: Builder, self: Value, n: Any = None, dim: int = -1, norm: str | None = None) -> Value:
    """Real numbers from half of a spectrum."""
    return _transform(b, "irfft", self, n, dim, norm)


@aten_op("aten.fft_fftn")
def aten_fft_fftn(b: Builder, self: Value, s: Any = None, dim: Any = None, norm: str | None = None) -> Value:
    """Along several axes."""
    return _transform(b, "fftn", self, s, dim, norm)


@aten_op("aten.fft_ifftn")
def aten_fft_ifftn(b: Builder, self: Value, s: Any = None, dim: Any = None, norm: str | None = None) -> Value:
    """Back, along several axes."""
    return _transform(b, "ifftn", self, s, dim, norm)


@aten_op("aten.fft_fft2")
def aten_fft_fft2(b: Builder, self: Value, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Value:
    """Along the last two axes, or others."""
    return _transform(b, "fftn", self, s, dim, norm)


@aten_op("aten.fft_ifft2")
def aten_fft_ifft2(b: Builder, self: Value, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Value:
    """Back, along the last two axes, or others."""
    return _transform(b, "ifftn", self, s, dim, norm)
