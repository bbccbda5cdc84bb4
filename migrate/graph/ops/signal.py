"""Spectra."""

from migrate.graph.ops import declare

for _name in ("dft", "stft"):
    declare(_name, f"runtime.functional.signal:{_name}")
