"""How the user trains a model, as facts: what a factory returns beside the module. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFact:
    """A parameter group: the keys of its parameters, and its hyperparameters (`lr`, `betas`, ...)."""

    parameters: tuple[str, ...]
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerFact:
    """An optimizer by its qualified class name, such as `torch.optim.adamw.AdamW`.

    `untrained` are parameters of the module that it was not given.
    """

    cls: str
    groups: tuple[GroupFact, ...]
    untrained: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerFact:
    """A learning-rate scheduler by its qualified class name, and what it does.

    `rates` are those of the first group at each of the first steps, where it is asked after every step of the optimizer;
    empty where it wants more than that (a metric), or changes more than the rate.
    """

    cls: str
    rates: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LossFact:
    """A loss by the qualified name of its class or function, with the numbers and flags of a class (`label_smoothing`, ...)."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSetup:
    """What the factory returned beside the module; each part is None or empty where it returned none.

    `batch` holds tensors by place: `inputs.0`, `inputs.1`, ... are what the module takes, `targets.0`, ... what the loss takes
    after the module's output.
    """

    optimizer: OptimizerFact | None = None
    scheduler: SchedulerFact | None = None
    loss: LossFact | None = None
    batch: Mapping[str, Tensor] = field(default_factory=dict[str, "Tensor"])


def setup_from_dict(document: Mapping[str, Any], batch: Mapping[str, Tensor]) -> TrainingSetup:
    """The facts of `dataclasses.asdict`, back from JSON."""
    optimizer, scheduler, loss = (document.get(part) for part in ("optimizer", "scheduler", "loss"))
    groups = [
        GroupFact(parameters=tuple(g["parameters"]), settings=g["settings"])
        for g in (optimizer or {}).get("groups", ())
    ]
    return TrainingSetup(
        optimizer=OptimizerFact(cls=optimizer["cls"], groups=tuple(groups), untrained=tuple(optimizer["untrained"]))
        if optimizer
        else None,
        scheduler=SchedulerFact(cls=scheduler["cls"], rates=tuple(scheduler["rates"])) if scheduler else None,
        loss=LossFact(**loss) if loss else None,
        batch=batch,
    )
