"""Spectra."""

from migrate.graph.ops import declare

for _name in ("dft", "stft"):
    declare(_name, f"runtime.functional.signal:{_name}")
for _name in ("fft", "ifft", "rfft", "irfft", "fftn", "ifftn"):
    declare(_name, f"torch.fft:{_name}")
for _name in ("real", "imag", "view_as_real", "view_as_complex"):
    declare(_name, f"torch:{_name}")
