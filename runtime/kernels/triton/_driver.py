"""Where Triton kernels can run. Knows no kernel."""

from __future__ import annotations

import os

import torch


def interpreted() -> bool:
    """Triton's own interpreter on host tensors (`TRITON_INTERPRET=1`): for checking numbers, never for speed."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def unavailable(device: torch.device) -> str | None:
    """Why Triton has no kernels for `device`, from its active driver; None if it has."""
    if interpreted():
        return None
    from triton.runtime import driver  # pyright: ignore[reportMissingImports]

    try:
        active = driver.active.get_active_torch_device()
    except (RuntimeError, AttributeError) as error:
        return f"Triton has no driver here: {error}"
    return None if active.type == device.type else f"Triton's driver is for {active.type}, not {device.type}"
