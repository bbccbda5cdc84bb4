"""A user's optimizer, scheduler and loss become settings that give the same numbers, or are said to be lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler as schedulers

from migrate.frontends.pytorch.factory_setup import read_setup
from migrate.training_setup import Carried, carry
from runtime.train.optimizer import build_optimizer
from runtime.train.schedule import lr_factor
from runtime.train.settings import from_tables

STEPS = 60


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.norm, self.head = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.body(x)).relu())


def set_up(**parts: Callable[[Any], Any]) -> tuple[nn.Module, Carried]:
    """The set-up of a module; the scheduler is made of the optimizer, all else of the module."""
    torch.manual_seed(0)
    module = Net()
    made = {name: make(module) for name, make in parts.items() if name != "scheduler"}
    if "scheduler" in parts:
        made["scheduler"] = parts["scheduler"](made["optimizer"])
    setup, notes = read_setup(module, made)
    assert notes == ()
    return module, carry(setup)


def adamw(module: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(module.parameters(), lr=0.2, weight_decay=0.3)


SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "constant for a while": lambda o: schedulers.ConstantLR(o, 0.5, 4),
    "cosine": lambda o: schedulers.CosineAnnealingLR(o, STEPS, eta_min=0.01),
    "exponential": lambda o: schedulers.ExponentialLR(o, 0.9),
    "line upwards": lambda o: schedulers.LinearLR(o, 0.25, total_iters=7),
    "line downwards": lambda o: schedulers.LinearLR(o, 1.0, 0.1, total_iters=30),
    "milestones": lambda o: schedulers.MultiStepLR(o, [3, 4, 20], 0.5),
    "steps": lambda o: schedulers.StepLR(o, 7, 0.3),
    "a closure that warms up": lambda o: schedulers.LambdaLR(o, lambda s: min(1.0, s / 10)),
    "a closure as in transformers": lambda o: schedulers.LambdaLR(
        o, lambda s: s / 8 if s < 8 else max(0.0, (50 - s) / 42)
    ),
    "warm-up, then cosine": lambda o: schedulers.SequentialLR(
        o, [schedulers.LinearLR(o, 0.1, total_iters=5), schedulers.CosineAnnealingLR(o, STEPS)], [5]
    ),
}


@pytest.mark.parametrize("make", SCHEDULES.values(), ids=SCHEDULES)
def test_the_rate_of_each_step_is_the_scheduler_s(make: Callable[[Any], Any]) -> None:
    found: list[Any] = []
    _, carried = set_up(optimizer=adamw, scheduler=lambda optimizer: found.append(make(optimizer)) or found[0])
    assert carried.notes == []
    settings = from_tables(carried.tables)
    horizon = settings.schedule.decay_steps or settings.train.steps
    for step in range(STEPS):
        rate = settings.optimizer.lr * lr_factor(step, settings.schedule, horizon)
        assert rate == pytest.approx(found[0].optimizer.param_groups[0]["lr"], abs=1e-7), step
        found[0].optimizer.step()
        found[0].step()


def test_groups_keep_their_ratio_under_a_warm_up_from_nothing() -> None:
    def groups(module: Any) -> torch.optim.Optimizer:
        rest = [*module.body.parameters(), *module.norm.parameters()]
        return torch.optim.AdamW([{"params": rest}, {"params": module.head.parameters(), "lr": 0.05}], lr=0.01)

    _, carried = set_up(
        optimizer=groups, scheduler=lambda optimizer: schedulers.LambdaLR(optimizer, lambda s: min(1.0, s / 5))
    )
    assert carried.notes == []
    (group,) = carried.tables["optimizer"]["groups"]
    assert (carried.tables["optimizer"]["lr"], group["lr_ratio"]) == (0.01, pytest.approx(5.0))


def test_a_name_is_no_pattern() -> None:
    module = nn.ModuleDict({"a[0]": nn.Linear(2, 2), "a0": nn.Linear(2, 2)})
    groups = [{"params": module["a0"].parameters()}, {"params": module["a[0]"].parameters(), "lr": 0.2}]
    setup, _ = read_setup(module, {"optimizer": torch.optim.SGD(groups, lr=0.1)})
    optimizer = build_optimizer(module, from_tables(carry(setup).tables).optimizer)
    assert optimizer.param_groups[0]["param_names"] == ["a[0].weight", "a[0].bias"]


def test_a_schedule_for_each_group_is_said_to_be_lost() -> None:
    def groups(module: Any) -> torch.optim.Optimizer:
        return torch.optim.AdamW([{"params": module.body.parameters()}, {"params": module.head.parameters()}], lr=0.01)

    _, carried = set_up(
        optimizer=groups, scheduler=lambda o: schedulers.LambdaLR(o, [lambda s: min(1.0, s / 5), lambda s: 1.0])
    )
    assert [note.code for note in carried.notes] == ["MIG325"]


LOST: dict[str, Callable[[Any], Any]] = {
    "asks for a metric": schedulers.ReduceLROnPlateau,
    "moves the momentum too": lambda o: schedulers.OneCycleLR(o, 0.5, 100),
    "is of no known shape": lambda o: schedulers.LambdaLR(o, lambda s: 1 / (1 + s)),
    "rises again": lambda o: schedulers.CyclicLR(o, 0.1, 0.3, step_size_up=3, cycle_momentum=False),
}


@pytest.mark.parametrize("make", LOST.values(), ids=LOST)
def test_a_scheduler_that_cannot_come_along_is_said_and_left_as_it_was(make: Callable[[Any], Any]) -> None:
    found: list[Any] = []

    def scheduler(optimizer: Any) -> Any:
        found.append(make(optimizer))
        found.append([dict(group) for group in optimizer.param_groups])
        return found[0]

    _, carried = set_up(optimizer=adamw, scheduler=scheduler)
    assert {note.code for note in carried.notes} == {"MIG325"} and not carried.whole
    assert carried.tables["schedule"] == {"name": "constant"}
    assert found[0].optimizer.param_groups == found[1]


def no_decay_for_vectors(module: Any) -> torch.optim.Optimizer:
    vectors = [p for p in module.parameters() if p.dim() == 1]
    return torch.optim.AdamW([{"params": [module.body.weight, module.head.weight], "weight_decay": 0.1},
                              {"params": vectors, "weight_decay": 0.0, "lr": 0.5}], lr=0.1)  # fmt: skip


def decay_in_the_second(module: Any) -> torch.optim.Optimizer:
    groups = [{"params": module.body.parameters()}, {"params": module.head.parameters(), "weight_decay": 0.3}]
    return torch.optim.Adam(groups, lr=0.1)


OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "AdamW": adamw,
    "Adam": lambda m: torch.optim.Adam(m.parameters(), lr=0.1, betas=(0.8, 0.9), eps=1e-6),
    "Adam with decay": lambda m: torch.optim.Adam(m.parameters(), lr=0.1, weight_decay=0.2),
    "Adam, decoupled": lambda m: torch.optim.Adam(
        m.parameters(), lr=0.1, weight_decay=0.2, decoupled_weight_decay=True
    ),
    "SGD": lambda m: torch.optim.SGD(m.parameters(), lr=0.1),
    "SGD with all": lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.7, weight_decay=0.1, nesterov=True),
    "SGD, dampened": lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.7, dampening=0.5),
    "groups": no_decay_for_vectors,
    "Adam, decay in the second group": decay_in_the_second,
    "the head alone": lambda m: torch.optim.AdamW(m.head.parameters(), lr=0.1),
}


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_steps_of_the_package_are_those_of_the_optimizer(make: Callable[[Any], torch.optim.Optimizer]) -> None:
    module, carried = set_up(optimizer=make)
    assert carried.notes == []
    torch.manual_seed(0)
    ours = Net()
    rule = build_optimizer(ours, from_tables(carried.tables).optimizer)
    x = torch.randn(5, 4)
    for model, optimizer in ((module, make(module)), (ours, rule)):
        for _ in range(4):
            optimizer.zero_grad()
            model.zero_grad()
            model(x).square().sum().backward()
            optimizer.step()
    for (name, a), b in zip(ours.named_parameters(), module.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-7, msg=name)


def momentum_of_its_own(module: Any) -> torch.optim.Optimizer:
    groups = [{"params": module.body.parameters(), "momentum": 0.5}, {"params": module.head.parameters()}]
    return torch.optim.SGD(groups, lr=0.1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda m: torch.optim.RMSprop(m.parameters()), "torch.optim.rmsprop.RMSprop"),
        (lambda m: torch.optim.AdamW(m.parameters(), amsgrad=True), "amsgrad"),
        (momentum_of_its_own, "momentum"),
    ],
)
def test_an_optimizer_that_cannot_come_along_is_said(make: Callable[[Any], Any], words: str) -> None:
    _, carried = set_up(optimizer=make)
    (note,) = carried.notes
    assert note.code == "MIG325" and words in note.why and not carried.whole


LOSSES: list[tuple[Any, tuple[str, dict[str, Any]] | None]] = [
    (nn.CrossEntropyLoss(), ("cross_entropy", {})),
    (nn.CrossEntropyLoss(label_smoothing=0.1, ignore_index=2), ("cross_entropy", {"ignore_index": 2, "label_smoothing": 0.1})),
    (nn.CrossEntropyLoss(torch.tensor([1.0, 0.5, 2.0])), ("cross_entropy", {"weight": (1.0, 0.5, 2.0)})),
    (nn.BCEWithLogitsLoss(pos_weight=torch.tensor([2.0])), ("binary_cross_entropy_with_logits", {"pos_weight": (2.0,)})),
    (nn.SmoothL1Loss(reduction="sum", beta=0.5), ("smooth_l1_loss", {"beta": 0.5, "reduction": "sum"})),
    (nn.functional.mse_loss, ("mse_loss", {})),
    (nn.MSELoss(reduction="none"), None),
    (nn.CrossEntropyLoss(torch.ones(1000)), None),
    (lambda output, target: (output - target).abs().mean(), None),
]  # fmt: skip


@pytest.mark.parametrize(("loss", "expected"), LOSSES)
def test_a_loss_is_a_call_of_torch_s_function_or_said_to_be_lost(loss: Any, expected: Any) -> None:
    _, carried = set_up(loss=lambda module: loss)
    if expected is None:
        assert carried.loss is None and [note.code for note in carried.notes] == ["MIG325"]
    else:
        assert carried.loss is not None and carried.notes == []
        assert (carried.loss.function, dict(carried.loss.options)) == expected
