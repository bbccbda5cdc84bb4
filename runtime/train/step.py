"""What one training step computes: forward, backward, clipped gradients, update. Knows no device by name."""

from __future__ import annotations

import math

from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from .order import Batch
from .run import Run
from .schedule import set_lr


def forward_backward(run: Run, batch: Batch) -> Tensor:
    """Gradients of one batch into the parameters; returns the loss."""
    tensors = tuple(tensor.to(run.device.torch_device) for tensor in batch)
    count = len(run.package.inputs)
    run.optimizer.zero_grad(set_to_none=True)
    with run.precision.autocast():
        loss: Tensor = run.loss_module(tensors[:count], tensors[count:])
    run.precision.scaler.scale(loss).backward()
    return loss.detach()


def gradient_norm(run: Run) -> Tensor:
    """Unscale and, where wished, clip the gradients; returns their global norm before clipping."""
    run.precision.scaler.unscale_(run.optimizer)
    trainable = [p for group in run.optimizer.param_groups for p in group["params"]]
    return clip_grad_norm_(trainable, run.settings.optimizer.clip_norm or math.inf)


def update(run: Run, step: int) -> None:
    """One optimizer step at this step's learning rate, left out where fp16 gradients overflowed."""
    set_lr(run.optimizer, run.lr(step))
    run.precision.scaler.step(run.optimizer)
    run.precision.scaler.update()
