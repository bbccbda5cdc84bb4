from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import torch

from migrate.graph import Builder, Weight
from migrate.verify.cases import (
    COSTLY,
    VERY_COSTLY,
    CasePlan,
    draw_inputs,
    operations_per_sample,
    other_sizes,
    plan_cases,
)


@dataclass
class Spec:
    name: str
    shape: tuple
    dtype: str = "float32"
    high: int | None = None
    batch_axis: int | None = 0
    rows: int = 1
    mean: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()
    choices: tuple[int, ...] = ()


@dataclass
class Plan:
    inputs: list[Spec]
    sizes: dict[str, int] = field(default_factory=dict)


def linear_graph(width: int):
    import numpy as np

    b = Builder()
    x = b.input("x", "float32", [("batch", (2, 3, 5)), width])
    b.graph.batch = x.shape[0]
    weight = Weight(source="w", read=lambda: np.zeros((width, width), "float32"), source_shape=(width, width))
    b.graph.outputs = [b.linear(x, b.weight("w", "float32", weight, (width, width)))]
    return b.graph


def test_cost_is_two_operations_per_weight_and_sample():
    assert operations_per_sample(linear_graph(64)) == 2 * 64 * 64


@pytest.mark.parametrize(
    ("cost", "names"),
    [
        (0.0, ["batch2", "batch3", "batch5", "perturbed1", "perturbed5"]),
        (COSTLY, ["batch1", "batch2", "batch3", "batch5", "perturbed1", "perturbed5"]),
        (VERY_COSTLY, ["batch1", "batch2", "perturbed1", "perturbed5"]),
    ],
)
def test_costly_models_get_fewer_cases_and_a_note(monkeypatch, cost, names):
    monkeypatch.setattr("migrate.verify.cases.operations_per_sample", lambda graph: cost)
    cases, notes = plan_cases(Plan([Spec("x", ("batch", 8))]), linear_graph(8), (2, 3, 5), 0)
    assert [case.name for case in cases] == names
    assert [note.code for note in notes] == ["MIG506"] * (len(names) != 5) + ["MIG506"] * (cost >= VERY_COSTLY)


def test_free_sizes_are_tried_at_values_that_the_graph_was_not_built_with():
    plan = Plan([Spec("x", ("batch", 3, "height", "width"))], {"height": 64, "width": 96, "other": 7})
    assert other_sizes(plan) == {"height": 96, "width": 192, "other": 7}
    assert other_sizes(Plan([Spec("x", ("batch", "length"))], {"length": 7})) == {"length": 8}
    cases, _ = plan_cases(plan, linear_graph(8), (2, 3), 0)
    (case,) = [case for case in cases if case.optional]
    assert draw_inputs(plan, case)[0].shape == (2, 3, 96, 192)


def test_a_model_without_a_batch_gets_two_samples():
    plan = Plan([Spec("x", (4, 8), batch_axis=None)])
    cases, notes = plan_cases(plan, linear_graph(8), (2, 3, 5), 0)
    assert [case.name for case in cases] == ["sample1", "sample2", "perturbed1", "perturbed5"] and not notes
    first, second = (draw_inputs(plan, case)[0] for case in cases[:2])
    assert first.shape == second.shape == (4, 8) and not torch.equal(first, second)


def test_integers_stay_below_their_bound_and_inputs_repeat():
    plan = Plan([Spec("x", ("batch", 50), "int64", high=3)])
    cases, _ = plan_cases(plan, linear_graph(8), (2,), 0)
    tensor = draw_inputs(plan, cases[0])[0]
    assert tensor.dtype == torch.int64 and set(tensor.unique().tolist()) == {0, 1, 2}
    assert torch.equal(tensor, draw_inputs(plan, cases[0])[0])


def test_values_that_a_branch_depends_on_come_in_turn() -> None:
    plan = Plan([Spec("mode", (), "int64", batch_axis=None, choices=(7, 8))])
    drawn = {int(draw_inputs(plan, CasePlan(name="c", batch=None, seed=seed))[0]) for seed in (2, 3)}
    assert drawn == {7, 8}
