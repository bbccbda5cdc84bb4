"""Cambricon MLUs through torch_mlu. Not run on hardware by the project's tests.

float64 is computed in float32 there, silently, so `probe_dtypes` compares it at float32's accuracy.
"""

from __future__ import annotations

from ._accelerator import ModuleStreams

TESTED = False


class Mlu(ModuleStreams):
    """One MLU."""

    device_type = "mlu"
    tested = TESTED
    plugin = "torch_mlu"
    collectives = "cncl"
    install = "install torch_mlu and Cambricon's Neuware (CNToolkit, CNNL, CNCL), and set NEUWARE_HOME"


DEVICE = Mlu
