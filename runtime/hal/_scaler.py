"""A gradient scaler whose own arithmetic is float32. Knows no device."""

from __future__ import annotations

import torch
from torch.amp.grad_scaler import OptState


class Fp32GradScaler(torch.amp.GradScaler):
    """`torch.amp.GradScaler`, which divides by the scale in float64, for devices that have no float64.

    Scales are powers of two unless a user chooses odd factors, so the float32 reciprocal is exact.
    """

    def unscale_(self, optimizer: torch.optim.Optimizer) -> None:
        """Divide the gradients of `optimizer` by the scale; once per optimizer and step."""
        if not self._enabled:
            return
        self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is not OptState.READY:
            raise RuntimeError(f"unscale_() after {state['stage'].name.lower()} and before update()")
        assert self._scale is not None
        inverse = self._scale.reciprocal()
        found_inf = torch.full((), 0.0, dtype=torch.float32, device=self._scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, found_inf, False)
        state["stage"] = OptState.UNSCALED
