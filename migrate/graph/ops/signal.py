"""Spectra."""

from migrate.graph.ops import declare

for _name in ("dft", "stft"):
    declare(_name, f"runtime.functional.signal:{_name}")
for _name in (
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2",
    "fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn", "fftshift", "ifftshift",
):  # fmt: skip
    declare(_name, f"torch.fft:{_name}")
for _name in ("real", "imag", "view_as_real", "view_as_complex", "resolve_conj"):
    declare(_name, f"torch:{_name}")
declare("spectrogram", "torch:stft")
declare("istft", "torch:istft")
for _name in ("bartlett", "blackman", "hamming", "hann", "kaiser"):
    declare(f"{_name}_window", f"torch:{_name}_window", makes=True)
