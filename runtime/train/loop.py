"""The training loop: step after step compute, report, save.

Knows no device by name.
"""

from __future__ import annotations

import math
from dataclasses import asdict

import torch
from torch import Tensor

from ..comm import start
from ..hal import open_device
from ..package import Package, PackageError
from . import checkpoint
from .kernel_choice import choose_kernels
from .metrics import StepMetrics, Stopwatch
from .run import Request, Run, build_run, open_batches, resume
from .settings import Settings
from .signals import StopRequest
from .step import forward_backward, gradient_norm, update

FAILED = 1
"""Exit status of a run that cannot go on."""


def check_finite(run: Run, step: int, loss: float, norm: float) -> None:
    """Stop before an update that would ruin the weights. An overflow that the scaler handles is none.

    Raises:
        PackageError: the loss, or without a scaler the gradient, is not finite.
    """
    scaled = run.precision.scaler.is_enabled()
    if math.isfinite(loss) and (math.isfinite(norm) or scaled):
        return
    what = f"the gradient norm is {norm}" if math.isfinite(loss) else f"the loss is {loss}"
    raise PackageError(
        f"{what} at step {step}; lower optimizer.lr, set optimizer.clip_norm, or look at the data; "
        f"the last checkpoint in {run.root} is from before it",
        status=FAILED,
    )


def save(run: Run, step: int, position: int) -> None:
    """Write a checkpoint of all processes."""
    values = run.state.values() | {"position": position, "settings": asdict(run.settings)}
    checkpoint.save(run.root, step, run.state.tensors(), values, run.world, run.settings.checkpoint.keep)


def agree(run: Run, loss: Tensor, stop_wanted: bool) -> tuple[float, bool]:
    """The loss averaged over all processes, and whether any of them was asked to stop."""
    shared = torch.tensor([loss.item(), float(stop_wanted)], dtype=torch.float64)
    total_loss, wishes = run.world.sum(shared).tolist()
    return total_loss / run.world.size, wishes > 0


def report(run: Run, step: int, loss: float, norm: float, stopwatch: Stopwatch) -> None:
    """Say how the step went."""
    metrics = StepMetrics(
        step=step,
        loss=loss,
        samples_per_s=stopwatch.rate(),
        device=run.device.name,
        lr=run.lr(step),
        grad_norm=norm if math.isfinite(norm) else None,
    )
    run.console.step(metrics)


def run_steps(run: Run, first_step: int, position: int, stop_request: StopRequest) -> int:
    """Train from `first_step` to the last one or to a signal; returns the last step done."""
    data, stopwatch = open_batches(run, position), Stopwatch(run.device)
    for step in range(first_step, run.last_step + 1):
        loss = forward_backward(run, next(data))
        norm = gradient_norm(run)
        position += run.global_batch
        stopwatch.count(run.global_batch)
        stop_wanted = stop_request.wanted
        if not (run.saves_at(step) or run.logs_at(step) or (stop_wanted and not run.world.is_distributed)):
            update(run, step)
            continue
        # only here are values read and wishes exchanged: each makes the host wait for the device
        mean_loss, stopping = agree(run, loss, stop_wanted)
        check_finite(run, step, mean_loss, norm.item())
        update(run, step)
        report(run, step, mean_loss, norm.item(), stopwatch)
        if run.saves_at(step) or stopping:
            save(run, step, position)
            stopwatch.start()
        if stopping:
            return step
    return run.last_step


def train(package: Package, settings: Settings, request: Request) -> None:
    """Run `python -m NAME train` in this process, one of several where torchrun started it.

    Raises:
        PackageError, DeviceError: what the user can put right.
    """
    device = open_device(request.device, package.profile)
    world = start(device)
    with StopRequest() as stop_request:
        run = build_run(package, settings, request, device, world)
        done, position = resume(run, request.resume)
        if done >= run.last_step:
            run.console.remark(f"step {done} is done already; nothing to do up to step {run.last_step}")
            return
        choose_kernels(run, request.resume if done else None)
        done = run_steps(run, done + 1, position, stop_request)
        if world.is_main:
            weights = checkpoint.save_weights(run.root, run.state.weights())
            ended = f"stopped by {stop_request.name}" if done < run.last_step else "finished"
            run.console.remark(f"{ended} at step {done}; weights in {weights}")
            if done < run.last_step:
                run.console.remark("go on with --resume auto")
    # nobody leaves before all are done
    world.barrier()
