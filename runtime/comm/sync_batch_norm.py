"""Batch normalisation over the batches of all processes, in plain operators, so that it runs on any device.

torch's own `SyncBatchNorm` refuses the CPU. Knows no device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm


class _SumOverProcesses(torch.autograd.Function):
    """All-reduce whose gradient is the all-reduce of the gradients."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        total = values.contiguous().clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Tensor:
        total = grad_outputs[0].contiguous().clone()
        dist.all_reduce(total)
        return total


_sum_over_processes = cast("Callable[[Tensor], Tensor]", _SumOverProcesses.apply)


class SyncBatchNorm(_BatchNorm):
    """`nn.BatchNorm*d` whose batch statistics in training are those of the whole global batch."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2 axes, got {input.dim()}")

    def forward(self, input: Tensor) -> Tensor:
        """Normalise `input` [batch, channel, ...] per channel."""
        self._check_input_dim(input)
        if not (self.training and dist.is_initialized()):
            return super().forward(input)
        axes = [axis for axis in range(input.dim()) if axis != 1]
        shape = [1, -1] + [1] * (input.dim() - 2)
        # statistics are float32 at least, also under autocast
        x = input if input.dtype == torch.float64 else input.float()
        count = _sum_over_processes(x.new_full((1,), x.numel() / x.shape[1]))
        mean = _sum_over_processes(x.sum(axes)) / count
        centered = x - mean.reshape(shape)
        # a second pass over the data: the difference of two large sums would lose the small variances
        variance = _sum_over_processes(centered.square().sum(axes)) / count
        self._update(mean.detach(), variance.detach(), count)
        normalized = centered * torch.rsqrt(variance + self.eps).reshape(shape)
        if self.affine:
            normalized = normalized * self.weight.reshape(shape) + self.bias.reshape(shape)
        return normalized.to(input.dtype)

    @torch.no_grad()
    def _update(self, mean: Tensor, variance: Tensor, count: Tensor) -> None:
        if self.running_mean is None or self.running_var is None or self.num_batches_tracked is None:
            return
        self.num_batches_tracked.add_(1)
        momentum = self.momentum if self.momentum is not None else 1.0 / float(self.num_batches_tracked)
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), momentum)
        unbiased = variance * count / (count - 1)
        self.running_var.lerp_(unbiased.to(self.running_var.dtype), momentum)


def _synchronized(norm: _BatchNorm) -> SyncBatchNorm:
    """A `SyncBatchNorm` that shares the parameters and buffers of `norm`."""
    made = SyncBatchNorm(
        norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats, device="meta"
    )
    for name, parameter in norm._parameters.items():
        made._parameters[name] = parameter
    for name, buffer in norm._buffers.items():
        made._buffers[name] = buffer
    return made.train(norm.training)


def convert_sync_batch_norm(module: nn.Module) -> nn.Module:
    """Replace every batch normalisation inside `module`, in place; a module that is one itself is returned replaced."""
    if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
        return _synchronized(module)
    for name, child in module.named_children():
        setattr(module, name, convert_sync_batch_norm(child))
    return module
