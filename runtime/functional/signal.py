"""Spectra of signals as real tensors, whose last axis holds real and imaginary parts.

Knows nothing of the source a model came from.
"""

from __future__ import annotations

import torch
from torch import Tensor


def dft(x: Tensor, length: int, dim: int, inverse: bool = False, onesided: bool = False) -> Tensor:
    """The discrete Fourier transform along `dim` of a signal cut or padded with zeros to `length`.

    Args:
        x: (..., 1) real or (..., 2) complex.
        length: of the transform.
        dim: the axis, counted from the front.
        inverse: from frequencies to places, divided by the length.
        onesided: the half of the spectrum that a real signal has; with `inverse` that half is given, and the result
            is (..., 1).
    """
    signal = torch.view_as_complex(x.contiguous()) if x.shape[-1] == 2 else x.squeeze(-1)
    if inverse and onesided:
        return torch.fft.irfft(signal, length, dim).unsqueeze(-1)
    if inverse:
        return torch.view_as_real(torch.fft.ifft(signal, length, dim))
    if onesided and not signal.is_complex():
        return torch.view_as_real(torch.fft.rfft(signal, length, dim))
    spectrum = torch.view_as_real(torch.fft.fft(signal, length, dim))
    return spectrum.narrow(dim, 0, length // 2 + 1) if onesided else spectrum


def stft(x: Tensor, step: int, window: Tensor | None, length: int, onesided: bool = True) -> Tensor:
    """The spectra of frames of `length`, one every `step` places, each times the window; nothing is padded.

    Args:
        x: (B, T, 1) real or (B, T, 2) complex.
        step: between the begins of two frames.
        window: (length).
        length: of a frame.
        onesided: the half of the spectrum that a real signal has.

    Returns:
        (B, frames, frequencies, 2).
    """
    frames = x.unfold(1, length, step).transpose(2, 3)
    frames = frames if window is None else frames * window.unsqueeze(1)
    return dft(frames, length, 2, onesided=onesided)
