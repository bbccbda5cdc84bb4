"""Which kernels a run computes with: proved before its first step, recalled where it is resumed, else the references.

Knows when to prove and where verdicts are kept; how an implementation is judged is the business of `kernels`.
"""

from __future__ import annotations

import copy
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
import torch.distributed as dist

from .. import kernels
from ..comm import World
from ..kernels.dispatch import SWITCH
from ..kernels.verdict import read
from ..package import PackageError
from . import checkpoint
from .optimizer import build_optimizer
from .precision import Precision
from .run import LossModule, Run, open_batches
from .state import undisturbed_generators
from .step import forward_backward


def _why_not(run: Run) -> str | None:
    """Why the references run although the settings ask for a proof."""
    if run.device.clock() is not None:
        return f"the time of {run.device.name} is virtual, so nothing can be shown to be faster"
    if os.environ.get(SWITCH) == "reference":
        return f"{SWITCH}=reference"
    return None


def _twin(run: Run) -> Run:
    """The same run on copies of all that a step changes, and without what joins the processes' gradients."""
    model = copy.deepcopy(run.state.model)
    optimizer = build_optimizer(model, run.settings.optimizer)
    precision = Precision(run.settings.precision, run.device)
    return replace(
        run,
        loss_module=LossModule(model, run.package.compute_loss),
        precision=precision,
        state=replace(run.state, model=model, optimizer=optimizer, scaler=precision.scaler),
    )


def observed_calls(run: Run) -> Mapping[kernels.Request, kernels.Call]:
    """The kinds of kernel calls of the first step. The step is done on copies, by every process: synchronised statistics
    need all of them.
    """
    twin = _twin(run)
    batch = next(open_batches(run, position=0))
    with kernels.observe() as seen:
        forward_backward(twin, batch)
        # not through the scaler, which leaves out the update of a step that overflows
        twin.optimizer.step()
    return seen


def _from_main(world: World, verdicts: list[kernels.Verdict]) -> list[kernels.Verdict]:
    """The first process's verdicts, in every process."""
    box = [verdicts]
    if world.is_distributed:
        dist.broadcast_object_list(box)
    return box[0]


def _use(run: Run, verdicts: list[kernels.Verdict]) -> None:
    """Use what was chosen in all processes, or in none: weights that different kernels update would drift apart."""
    stale = kernels.activate(verdicts, run.device.torch_device)
    anywhere = int(run.world.sum(torch.tensor([len(stale)], dtype=torch.int64)).item())
    if not anywhere:
        run.console.remark(kernels.table(verdicts))
        return
    kernels.reset()
    run.console.remark(
        "note: kernels: the references run; a recorded choice does not hold for every process "
        "(other machine, PyTorch version or text of the kernel)"
    )


def _prove(run: Run) -> None:
    with undisturbed_generators(run.device):
        seen = observed_calls(run)
        found = kernels.prove(seen) if run.world.is_main else []
    _use(run, _from_main(run.world, found))
    if run.world.is_main:
        kernels.save(run.root / checkpoint.KERNELS)


def _recorded(store: Path) -> list[kernels.Verdict]:
    try:
        return read(store) if store.is_file() else []
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise PackageError(f"{store} cannot be read: {error}; remove it to run the references", status=3) from error


def _recall(run: Run, wish: str) -> None:
    found = checkpoint.find(run.root, wish)
    assert found is not None, "only a run that was resumed recalls"
    store, own = found.parent / checkpoint.KERNELS, run.root / checkpoint.KERNELS
    verdicts = _from_main(run.world, _recorded(store) if run.world.is_main else [])
    if not verdicts:
        run.console.remark(f"kernels: the references run; there is no {store}, and a resumed run proves nothing")
        return
    _use(run, verdicts)
    if run.world.is_main and store.resolve() != own.resolve():
        run.root.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(store, own)


def choose_kernels(run: Run, resumed: str | None) -> None:
    """Settle which kernels this process computes with, before its first step; what it chose before is forgotten.

    Args:
        run: built, and where it is resumed put back to its checkpoint.
        resumed: the wish of `--resume` that was fulfilled; None for a run that begins.

    Raises:
        PackageError: the recorded verdicts cannot be read.
    """
    kernels.reset()
    if not run.settings.kernels.prove:
        return
    reason = _why_not(run)
    if reason is not None:
        run.console.remark(f"kernels: the references run; {reason}")
    elif resumed is None:
        _prove(run)
    else:
        _recall(run, resumed)
