"""Spectra: as layers of spectral models use them, held against the source."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from tests.migrate.frontends.pytorch.parity import check

CASES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "fft": lambda x, f: torch.fft.fft(x).abs(),
    "ifft": lambda x, f: torch.fft.ifft(x, dim=1).imag,
    "rfft-irfft": lambda x, f: torch.fft.irfft(torch.fft.rfft(x, norm="ortho") * f, n=8, norm="ortho"),
    "fftn": lambda x, f: torch.fft.fftn(torch.fft.fftn(x, dim=2), dim=1).real,
    "fft2-ifft2": lambda x, f: torch.fft.ifft2(torch.fft.fft2(x) * 2).real,
    "fftn-lengths": lambda x, f: torch.view_as_real(
        torch.fft.ifftn(torch.fft.fftn(x, s=(4, 6), dim=(1, 2)), dim=(1, 2))
    ),
}


class Spectral(nn.Module):
    """A linear layer and a transform, with a filter of complex numbers."""

    def __init__(self, transform: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.fc, self.filter, self.transform = nn.Linear(8, 8), nn.Parameter(torch.randn(5, 2)), transform

    def forward(self, x: Tensor) -> Tensor:
        return self.transform(self.fc(x), torch.view_as_complex(self.filter))


@pytest.mark.parametrize("name", CASES)
def test_a_transform_is_the_same(name: str) -> None:
    check(Spectral(CASES[name]), (torch.randn(3, 7, 8),), (torch.randn(5, 7, 8),))
