"""The numeric precision of a run: autocast and loss scaling, and the refusal of what the device is bad at.

Knows no device by name.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch

from ..hal import Device
from ..package import PackageError
from .settings import PrecisionSettings

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Precision:
    """Parameters and optimizer state are float32 in every mode; `scaler` does something in fp16 only."""

    def __init__(self, settings: PrecisionSettings, device: Device) -> None:
        self.dtype = _DTYPES[settings.mode]
        self.device = device
        if self.dtype != torch.float32 and not settings.force:
            self._refuse_bad(settings.mode)
        self.scaler = device.grad_scaler(enabled=settings.mode == "fp16")

    def _refuse_bad(self, mode: str) -> None:
        verdict = self.device.probe_dtypes([self.dtype])[self.dtype]
        if not (verdict.works and verdict.fast):
            fault = "slow" if verdict.works else "not usable"
            raise PackageError(
                f"{mode} is {fault} on {self.device.name}: {verdict.reason}; use --set precision.mode=fp32 or another, "
                "or --set precision.force=true to use it all the same"
            )

    def autocast(self) -> AbstractContextManager[Any]:
        """The context of the forward pass and the loss."""
        return self.device.autocast(self.dtype)
