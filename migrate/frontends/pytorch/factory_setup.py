"""Reads how the user trains from live objects: optimizer, scheduler, loss and batch as facts. Runs in the worker process."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from migrate.errors import Diagnostic
from migrate.frontends.pytorch.setup import GroupFact, LossFact, OptimizerFact, SchedulerFact, TrainingSetup

if TYPE_CHECKING:
    from torch import Tensor, nn


RATES = 20_000
"""At how many steps a scheduler is asked for its rate."""


def read_setup(module: nn.Module, parts: Mapping[str, Any]) -> tuple[TrainingSetup, tuple[Diagnostic, ...]]:
    """The facts, and a warning for each part that is not what its name says."""
    import torch

    notes: list[Diagnostic] = []
    optimizer, scheduler, loss = parts.get("optimizer"), parts.get("scheduler"), parts.get("loss")
    if optimizer is not None and not isinstance(optimizer, torch.optim.Optimizer):
        notes.append(_left_out("optimizer", optimizer, "return a torch.optim.Optimizer"))
        optimizer = None
    if scheduler is not None and not isinstance(scheduler, torch.optim.lr_scheduler.LRScheduler):
        notes.append(_left_out("scheduler", scheduler, "return a torch.optim.lr_scheduler.LRScheduler"))
        scheduler = None
    if loss is not None and not callable(loss):
        notes.append(_left_out("loss", loss, "return a loss module or function"))
        loss = None
    found = TrainingSetup(
        optimizer=None if optimizer is None else _optimizer(module, optimizer),
        scheduler=None if scheduler is None else _scheduler(scheduler),
        loss=None if loss is None else _loss(loss),
        batch=dict(batch_of(parts.get("batch"), notes)),
    )
    return found, tuple(notes)


def _optimizer(module: nn.Module, optimizer: Any) -> OptimizerFact:
    keys = {id(parameter): key for key, parameter in module.named_parameters()}
    groups = [
        GroupFact(
            parameters=tuple(keys[id(p)] for p in group["params"] if id(p) in keys),
            settings={name: _plain(value) for name, value in group.items() if name != "params" and _is_plain(value)},
        )
        for group in optimizer.param_groups
    ]
    given = {key for group in groups for key in group.parameters}
    untrained = tuple(key for key, p in module.named_parameters() if p.requires_grad and key not in given)
    return OptimizerFact(cls=_name(type(optimizer)), groups=tuple(groups), untrained=untrained)


def _scheduler(scheduler: Any) -> SchedulerFact:
    """The scheduler asked for its rates; it and its optimizer are as before."""
    optimizer = scheduler.optimizer
    before, groups = copy.deepcopy(scheduler.state_dict()), [dict(group) for group in optimizer.param_groups]
    rates: list[list[float]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of steps that the optimizer did not take
        try:
            for _ in range(RATES):
                rates.append([float(group["lr"]) for group in optimizer.param_groups])
                scheduler.step()
        except Exception:  # one that is given a metric, or ends
            rates = []
    after = [{k: v for k, v in group.items() if k not in ("params", "lr")} for group in optimizer.param_groups]
    if after != [{k: v for k, v in group.items() if k not in ("params", "lr")} for group in groups]:
        rates = []
    for group, old in zip(optimizer.param_groups, groups, strict=True):
        group.update(old)
    scheduler.load_state_dict(before)
    if not _in_step(rates, [float(group.get("initial_lr", group["lr"])) for group in groups]):
        rates = []
    return SchedulerFact(cls=_name(type(scheduler)), rates=tuple(each[0] for each in rates))


def _in_step(rates: list[list[float]], bases: list[float]) -> bool:
    """Whether all groups follow one schedule, each from its own base."""
    return all(
        math.isclose(rate * bases[0], each[0] * base, rel_tol=1e-9, abs_tol=1e-30)
        for each in rates
        for rate, base in zip(each, bases, strict=True)
    )


def _loss(loss: Any) -> LossFact:
    from torch import nn

    if isinstance(loss, nn.Module):
        return LossFact(name=_name(type(loss)), settings=_settings(loss))
    return LossFact(name=_name(loss))


def batch_of(batch: Any, notes: list[Diagnostic]) -> Iterator[tuple[str, Tensor]]:
    """A batch is (inputs, targets), each a tensor or a sequence of tensors."""
    if batch is None:
        return
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        notes.append(_left_out("batch", batch, "return (inputs, targets)"))
        return
    for part, given in zip(("inputs", "targets"), batch, strict=True):
        tensors = list(given.values()) if isinstance(given, Mapping) else given
        tensors = list(tensors) if isinstance(tensors, tuple | list) else [tensors]
        for place, tensor in enumerate(tensors):
            if _is_tensor(tensor):
                yield f"{part}.{place}", tensor
            else:
                notes.append(_left_out(f"batch: {part} {place}", tensor, "return tensors"))


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _settings(owner: Any) -> dict[str, Any]:
    """Numbers, flags and short sequences of them that an object holds under public names; a tensor by its values."""
    found = {
        name: _plain(value) for name, value in vars(owner).items() if not name.startswith("_") and _is_plain(value)
    }
    buffers = vars(owner).get("_buffers") or {}
    found |= {name: value.tolist() for name, value in buffers.items() if value is not None}
    return {name: value for name, value in found.items() if name != "training"}


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(isinstance(item, bool | int | float | str) for item in value)
    return value is None or isinstance(value, bool | int | float | str) or (_is_tensor(value) and value.numel() == 1)


def _plain(value: Any) -> Any:
    return value.item() if _is_tensor(value) else value


def _name(kind: Any) -> str:
    return f"{getattr(kind, '__module__', '')}.{getattr(kind, '__qualname__', type(kind).__name__)}"


def _left_out(part: str, value: Any, todo: str) -> Diagnostic:
    return Diagnostic(
        code="MIG132",
        severity="warning",
        what=f"the factory's {part} is a {type(value).__name__} and is not carried over",
        todo=todo,
    )
