"""Runs the user's own training loop on the user's batch: module, optimizer, scheduler and loss as the factory returned them.

All of them are as before afterwards. Runs in the worker process.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from migrate.frontends.pytorch.factory_setup import batch_of
from migrate.frontends.pytorch.worker import Session

if TYPE_CHECKING:
    from torch import Tensor


def task_loop(session: Session, folder: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    """Task: the losses of the first steps, the batch by place, and whether it ran in float64; or the user's own `fault`."""
    import torch

    from migrate.frontends.pytorch.worker_program import write_tensors

    try:
        losses, wide = losses_of(session, arguments["steps"], float64=True), True
    except Exception:  # the user's code may ask for float32 in as many ways as there are modules
        try:
            losses, wide = losses_of(session, arguments["steps"], float64=False), False
        except Exception as fault:  # the batch does not fit the module or the loss, say
            return {"fault": f"{type(fault).__name__}: {str(fault).strip().partition(chr(10))[0][:300]}"}
    batch = {name: tensor.detach() for name, tensor in batch_of(session.training["batch"], [])}
    found = {"losses": torch.tensor(losses, dtype=torch.float64), "float64": torch.tensor(int(wide))}
    write_tensors(batch | found, folder / "answer.safetensors")
    return {}


def losses_of(session: Session, steps: int, *, float64: bool) -> list[float]:
    """The loss before each step of the user's loop, dropout left out."""
    import torch

    from runtime.verify.learning import as_found, in_float64
    from runtime.verify.without_dropout import WithoutDropout

    module, training = session.module, session.training
    optimizer, scheduler = training["optimizer"], training.get("scheduler")
    inputs, targets = (_widened(part) if float64 else part for part in training["batch"])
    stateful = [each for each in (optimizer, scheduler) if each is not None]
    before = [copy.deepcopy(each.state_dict()) for each in stateful]
    found: list[float] = []
    try:
        with torch.random.fork_rng(devices=[]), in_float64(module) if float64 else nullcontext(), as_found(module):
            module.train()
            for _ in range(steps):
                with WithoutDropout():
                    loss = training["loss"](_called(module, inputs), *_listed(targets))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if scheduler is not None:
                    scheduler.step()
                found.append(float(loss.detach()))
    finally:
        optimizer.state.clear()
        for each, state in zip(stateful, before, strict=True):
            each.load_state_dict(state)
    return found


def _called(module: Any, inputs: Any) -> Any:
    if isinstance(inputs, Mapping):
        return module(**inputs)
    return module(*_listed(inputs))


def _listed(given: Any) -> Sequence[Tensor]:
    return list(given) if isinstance(given, tuple | list) else [given]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _widened(part: Any) -> Any:
    from torch import Tensor
    from torch.utils import _pytree as pytree

    from runtime.verify.double import double

    return pytree.tree_map_only(Tensor, double, part)
