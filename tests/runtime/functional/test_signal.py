"""Spectra, held against torch's own where it has the same."""

import torch

from runtime.functional.signal import dft, stft


def test_inverse_gives_the_signal_back() -> None:
    x = torch.randn(2, 7, 2)
    torch.testing.assert_close(dft(dft(x, 7, 1), 7, 1, inverse=True), x)
    real = x[..., :1]
    torch.testing.assert_close(dft(dft(real, 7, 1, onesided=True), 7, 1, inverse=True, onesided=True), real)


def test_frames_are_torchs() -> None:
    x, window = torch.randn(2, 30), torch.rand(8)
    wanted = torch.stft(x, 8, 3, window=window, center=False, return_complex=True)
    made = stft(x.unsqueeze(2), 3, window, 8)
    torch.testing.assert_close(made, torch.view_as_real(wanted).transpose(1, 2))
