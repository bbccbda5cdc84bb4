"""The parts of one run: built from settings, and put back to where a checkpoint left them.

Knows no device by name, and the model through the package's loss alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from ..comm import World, convert_sync_batch_norm, data_parallel
from ..hal import Device
from ..package import Package
from . import checkpoint
from .data import Samples, open_samples
from .metrics import Console
from .modes import set_training_mode
from .optimizer import build_optimizer
from .order import Batch, BatchOrder, batches, group_sizes
from .precision import Precision
from .recompute import recompute_blocks
from .schedule import lr_factor
from .settings import Settings
from .state import RunState


class LossModule(nn.Module):
    """The model and its loss as one module, so that what wraps it sees the whole forward pass."""

    def __init__(self, model: nn.Module, compute_loss: Callable[..., Tensor]) -> None:
        super().__init__()
        self.model, self.compute_loss = model, compute_loss

    def forward(self, inputs: Batch, targets: Batch) -> Tensor:
        """The scalar loss of one batch."""
        return self.compute_loss(self.model, inputs, targets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the command line asks of one run. `steps` is where it ends; None takes `train.steps`."""

    device: str
    steps: int | None = None
    resume: str | None = None
    as_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The parts of a run; `state` has those that change."""

    package: Package
    settings: Settings
    loss_module: nn.Module
    samples: Samples
    precision: Precision
    state: RunState
    last_step: int
    console: Console

    @property
    def device(self) -> Device:
        """The device of this process."""
        return self.state.device

    @property
    def world(self) -> World:
        """The processes of this run."""
        return self.state.world

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer."""
        return self.state.optimizer

    @property
    def global_batch(self) -> int:
        """Samples a step, over all processes."""
        return self.settings.train.batch_size * self.world.size

    @property
    def root(self) -> Path:
        """Where checkpoints go."""
        return Path(self.settings.checkpoint.directory)

    def saves_at(self, step: int) -> bool:
        """Whether a checkpoint is due after `step`."""
        every = self.settings.checkpoint.every
        return step == self.last_step or (every > 0 and step % every == 0)

    def logs_at(self, step: int) -> bool:
        """Whether `step` is reported."""
        return step % self.settings.train.log_every == 0

    def lr(self, step: int) -> float:
        """The learning rate of `step`, counted from 1."""
        horizon = self.settings.schedule.decay_steps or self.settings.train.steps
        return self.settings.optimizer.lr * lr_factor(step - 1, self.settings.schedule, horizon)


def build_run(package: Package, settings: Settings, request: Request, device: Device, world: World) -> Run:
    """Load the model, move it to the device and build what trains it."""
    # one seed for all while they build, so that all draw the same weights and split the same data the same way
    device.seed(settings.train.seed)
    precision = Precision(settings.precision, device)
    samples = open_samples(package, settings.data, settings.train.seed)
    model = package.load_model(pretrained=settings.train.pretrained)
    set_training_mode(model, settings.train)
    if settings.distributed.sync_batch_norm and world.is_distributed:
        model = convert_sync_batch_norm(model)
    if settings.train.activation_checkpointing == "blocks":
        recompute_blocks(model)
    model.to(device.torch_device)
    optimizer = build_optimizer(model, settings.optimizer)
    loss_module = data_parallel(
        LossModule(model, package.compute_loss),
        world,
        bucket_mb=settings.distributed.bucket_mb,
        find_unused_parameters=settings.distributed.find_unused_parameters,
    )
    device.seed(settings.train.seed + world.rank)
    last_step = request.steps or settings.train.steps
    return Run(
        package=package,
        settings=settings,
        loss_module=loss_module,
        samples=samples,
        precision=precision,
        state=RunState(model=model, optimizer=optimizer, scaler=precision.scaler, device=device, world=world),
        last_step=last_step,
        console=Console(world, as_json=request.as_json, steps=last_step),
    )


def resume(run: Run, wish: str | None) -> tuple[int, int]:
    """Put the run where the wished checkpoint left it; returns the steps done and the samples used so far."""
    found = checkpoint.find(run.root, wish) if wish is not None else None
    if found is None:
        run.world.barrier()
        aside = checkpoint.set_aside(run.root) if run.world.is_main and wish is None else None
        if aside is not None:
            run.console.remark(f"starting afresh; the earlier run's checkpoints are now in {aside}")
        return 0, 0
    tensors, values = checkpoint.load(found)
    for remark in run.state.restore(tensors, values):
        run.console.remark(f"note: {remark}")
    before, now = values["settings"], asdict(run.settings)
    for table in ("train", "optimizer", "schedule", "precision", "data", "kernels"):
        # a checkpoint may be older than a table
        stored = before.get(table, now[table])
        changed = [key for key, value in now[table].items() if stored.get(key) != _plain(value)]
        if changed:
            run.console.remark(f"note: changed since the checkpoint: {', '.join(f'{table}.{key}' for key in changed)}")
    run.console.remark(f"resumed from {found} at step {values['step']}")
    return values["step"], values["position"]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def open_batches(run: Run, position: int) -> Iterator[Batch]:
    """This process's batches, from the global sample `position` on."""
    settings = run.settings
    order = BatchOrder(
        group_sizes(run.samples),
        batch_size=settings.train.batch_size,
        rank=run.world.rank,
        world_size=run.world.size,
        seed=settings.train.seed,
        shuffle=settings.data.shuffle,
        position=position,
    )
    return batches(run.samples, (*run.package.inputs, *run.package.targets), order, settings.data)
