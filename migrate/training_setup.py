"""The user's own training set-up as settings of the package: optimizer, schedule and loss, or what of them is lost.

A schedule is recognised by the rates it gives, not by its class: a closure over a step number is as good as torch's own.
Must not know how settings are stored.
"""

from __future__ import annotations

import glob
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from migrate.codegen.plan import CarriedLoss
from migrate.errors import Diagnostic
from runtime.train.schedule import lr_factor
from runtime.train.settings import ScheduleSettings

if TYPE_CHECKING:
    from migrate.frontends.pytorch.setup import GroupFact, LossFact, OptimizerFact, SchedulerFact, TrainingSetup

OPTIMIZERS = {"torch.optim.adamw.AdamW": "adamw", "torch.optim.adam.Adam": "adam", "torch.optim.sgd.SGD": "sgd"}
KEYS = {
    "adamw": ("lr", "weight_decay", "betas", "eps"),
    "adam": ("lr", "weight_decay", "betas", "eps"),
    "sgd": ("lr", "weight_decay", "momentum", "dampening", "nesterov"),
}
IDLE = ("foreach", "fused", "capturable", "differentiable", "initial_lr")
"""Keys of a parameter group that change no number."""
LOSSES = {
    "CrossEntropyLoss": ("cross_entropy", {"ignore_index": -100, "label_smoothing": 0.0, "reduction": "mean"}),
    "NLLLoss": ("nll_loss", {"ignore_index": -100, "reduction": "mean"}),
    "BCEWithLogitsLoss": ("binary_cross_entropy_with_logits", {"reduction": "mean"}),
    "BCELoss": ("binary_cross_entropy", {"reduction": "mean"}),
    "MSELoss": ("mse_loss", {"reduction": "mean"}),
    "L1Loss": ("l1_loss", {"reduction": "mean"}),
    "SmoothL1Loss": ("smooth_l1_loss", {"beta": 1.0, "reduction": "mean"}),
    "HuberLoss": ("huber_loss", {"delta": 1.0, "reduction": "mean"}),
    "SoftMarginLoss": ("soft_margin_loss", {"reduction": "mean"}),
    "KLDivLoss": ("kl_div", {"log_target": False, "reduction": "mean"}),
}
WEIGHTS = ("weight", "pos_weight")
MOST_WEIGHTS = 64  # a longer list is data and no setting
MOST_MILESTONES = 32
EXACT = 1e-6
"""By what part of the peak a rate may differ: torch multiplies step by step, the package computes each rate anew."""


@dataclass(slots=True, kw_only=True)
class Carried:
    """Tables of train.toml and the loss that follow from the set-up, and what of it could not come along."""

    tables: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    loss: CarriedLoss | None = None
    notes: list[Diagnostic] = field(default_factory=list[Diagnostic])

    @property
    def whole(self) -> bool:
        """Whether the package's loop is the user's."""
        return not self.notes and self.loss is not None and "optimizer" in self.tables


def carry(setup: TrainingSetup) -> Carried:
    """What the package can take over of a user's set-up."""
    made = Carried()
    if setup.optimizer is not None:
        _optimizer(made, setup.optimizer)
        if "optimizer" in made.tables:
            _schedule(made, setup.scheduler, setup.optimizer.groups[0].settings)
    if setup.loss is not None:
        _loss(made, setup.loss, setup)
    return made


def _lost(made: Carried, what: str, why: str, todo: str) -> None:
    made.notes.append(Diagnostic(code="MIG325", severity="warning", what=what, why=why, todo=todo))


# ---- the optimizer


def _optimizer(made: Carried, fact: OptimizerFact) -> None:
    name = OPTIMIZERS.get(fact.cls)
    if name is None:
        todo = "the package begins with AdamW; put your optimizer's rule into runtime/train/optimizer.py"
        _lost(made, "the factory's optimizer is not carried over", f"{fact.cls} is none of AdamW, Adam and SGD", todo)
        return
    first = fact.groups[0].settings
    # Without decay, or with a decoupled one, Adam is AdamW.
    decays = any(group.settings.get("weight_decay") for group in fact.groups)
    if name == "adam" and (first.get("decoupled_weight_decay") or not decays):
        name = "adamw"
    odd = sorted({key for group in fact.groups for key in _left_out(group, first, name)})
    if odd:
        why = f"{', '.join(odd)} differ between groups, or are settings that the package does not have"
        _lost(made, "a part of the factory's optimizer is not carried over", why, "set the group's rate in train.toml")
    table = {key: first[key] for key in KEYS[name] if key in first}
    table = {k: list(v) if isinstance(v, tuple | list) else v for k, v in table.items()}
    made.tables["optimizer"] = {"name": name, **table, "decayed": "all", "clip_norm": 0.0}
    groups = [_group(group, _base(first)) for group in fact.groups[1:] if group.parameters]
    if fact.untrained:
        groups.append(
            {"parameters": [glob.escape(key) for key in fact.untrained], "lr_ratio": 0.0, "weight_decay": 0.0}
        )
    if groups:
        made.tables["optimizer"]["groups"] = groups


def _base(settings: Mapping[str, Any]) -> float:
    """The rate before a scheduler touched it."""
    return settings.get("initial_lr", settings["lr"])


def _group(group: GroupFact, lr: float) -> dict[str, Any]:
    ratio = _base(group.settings) / lr if lr else 1.0
    decay = group.settings.get("weight_decay", 0.0)
    return {"parameters": [glob.escape(key) for key in group.parameters], "lr_ratio": ratio, "weight_decay": decay}


def _left_out(group: GroupFact, first: Mapping[str, Any], name: str) -> Iterator[str]:
    """Settings of a group that the package has no place for."""
    for key, value in group.settings.items():
        if key in (*IDLE, "lr", "weight_decay"):
            continue
        if key == "decoupled_weight_decay" and value == first.get(key):
            continue
        if (key in KEYS[name] and value != first.get(key)) or (key not in KEYS[name] and value):
            yield key


# ---- the schedule


def _schedule(made: Carried, fact: SchedulerFact | None, settings: Mapping[str, Any]) -> None:
    optimizer = made.tables["optimizer"]
    if fact is None:
        made.tables["schedule"] = {"name": "constant"}
        return
    found = recognise(fact.rates)
    if found is None:
        todo = "the package keeps the rate constant; choose a schedule in train.toml"
        why = f"the rates of {fact.cls} are no warm-up, cosine, line or steps, or need more than the step to be known"
        _lost(made, "the factory's scheduler is not carried over", why, todo)
        made.tables["schedule"] = {"name": "constant"}
        optimizer["lr"] = settings.get("initial_lr", optimizer["lr"])
        return
    optimizer["lr"], schedule = found
    usual = asdict(ScheduleSettings())
    made.tables["schedule"] = {k: v for k, v in asdict(schedule).items() if k == "name" or v != usual[k]}


def recognise(rates: Sequence[float]) -> tuple[float, ScheduleSettings] | None:
    """The peak and the schedule whose rates these are; None where there is none."""
    warmup = _turn(rates, 1)
    if not rates or rates[warmup] <= 0:
        return None
    peak = rates[warmup]
    factors = [rate / peak for rate in rates]
    for shape in _shapes(factors[warmup:]):
        decay_steps = shape.decay_steps and warmup + shape.decay_steps
        found = replace(shape, warmup_steps=warmup, warmup_from=factors[0] if warmup else 0.0, decay_steps=decay_steps)
        # CosineAnnealingLR rises again after T_max, where training is meant to end.
        seen = factors[: decay_steps if shape.name == "cosine" else None]
        if all(abs(lr_factor(step, found, decay_steps) - factor) <= EXACT for step, factor in enumerate(seen)):
            return peak, found
    return None


def _turn(rates: Sequence[float], way: int) -> int:
    """The first place after which they no longer go up (1) or down (-1)."""
    places = range(len(rates) - 1)
    return next((k for k in places if (rates[k + 1] - rates[k]) * way <= 1e-12 * abs(rates[k])), max(0, len(rates) - 1))


def _shapes(factors: Sequence[float]) -> Iterator[ScheduleSettings]:
    """What could follow a warm-up and look like this, the simplest first."""
    changes = [k for k in range(1, len(factors)) if not math.isclose(factors[k], factors[k - 1], rel_tol=1e-9)]
    if not changes:
        yield ScheduleSettings(name="constant")
        return
    gamma = factors[changes[0]]
    if gamma > 0:
        yield ScheduleSettings(name="step", step_size=changes[0], gamma=gamma)
    if len(changes) <= MOST_MILESTONES:
        yield ScheduleSettings(name="multistep", milestones=tuple(changes), gamma=gamma)
    end = _turn(factors, -1)
    for name in ("cosine", "linear"):
        yield ScheduleSettings(name=name, min_lr_ratio=max(0.0, factors[end]), decay_steps=end + 1)


# ---- the loss


def _loss(made: Carried, fact: LossFact, setup: TrainingSetup) -> None:
    known = _known_loss(fact)
    if known is None:
        todo = "write it into the package's loss.py, which is yours"
        _lost(made, "the factory's loss is not carried over", f"{fact.name} is none that the package can call", todo)
        return
    function, options = known
    targets = [tensor for place, tensor in setup.batch.items() if place.startswith("targets.")]
    if len(targets) > 1:
        why = f"{function} takes one target and the batch has {len(targets)}"
        _lost(made, "the factory's loss is not carried over", why, "write it into the package's loss.py")
        return
    target = targets[0] if targets else None
    made.loss = CarriedLoss(
        function=function,
        options=options,
        dtype=None if target is None else str(target.dtype).removeprefix("torch."),
        shape=None if target is None else tuple(target.shape),
    )


def _known_loss(fact: LossFact) -> tuple[str, dict[str, Any]] | None:
    """The function of torch.nn.functional and the options that are not its defaults."""
    module, _, name = fact.name.rpartition(".")
    functions = {function: {} for function, _ in LOSSES.values()}
    if module == "torch.nn.functional" and name in functions:
        return name, {}
    if module != "torch.nn.modules.loss" or name not in LOSSES:
        return None
    function, defaults = LOSSES[name]
    options = {
        key: fact.settings[key] for key, default in defaults.items() if fact.settings.get(key, default) != default
    }
    for key in WEIGHTS:
        weights = fact.settings.get(key)
        if weights is not None:
            if not isinstance(weights, list) or len(weights) > MOST_WEIGHTS:  # pyright: ignore[reportUnknownArgumentType]
                return None
            options[key] = tuple(weights)  # pyright: ignore[reportUnknownArgumentType]
    return None if options.get("reduction", "mean") == "none" else (function, options)
