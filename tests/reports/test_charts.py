"""Geometry of the charts."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports import ParityRow, Share, charts


def test_bars_are_in_proportion_to_the_slowest(example):
    chart = charts.step_time(example)
    assert [bar.label for bar in chart.bars][:2] == ["unique_dim", "convolution_backward"]
    assert chart.bars[0].width == 100.0
    assert chart.bars[1].width == pytest.approx(100 * 43.9 / 212, abs=0.01)
    assert chart.bars[0].value == "212 us  64 %  host"
    assert chart.bars[0].tone == "host"


def test_bars_beyond_the_limit_are_summed(example):
    shares = tuple(Share(operator=f"op{i:02}", seconds=1e-6) for i in range(charts.MAX_BARS + 5))
    chart = charts.step_time(replace(example, prediction=replace(example.prediction, shares=shares)))
    assert len(chart.bars) == charts.MAX_BARS + 1
    assert chart.bars[-1].label == "5 other operators"
    assert chart.bars[-1].value.startswith("5.00 us")
    assert max(bar.width for bar in chart.bars) == 100.0


def test_step_time_falls_back_on_the_priced_mapping(example):
    chart = charts.step_time(replace(example, prediction=replace(example.prediction, shares=())))
    assert [bar.label for bar in chart.bars] == [
        "unique_dim", "convolution_backward", "gelu_backward", "convolution", "native_batch_norm", "_fused_adamw_",
    ]  # fmt: skip


def test_what_costs_nothing_has_no_bar(example):
    shares = (Share(operator="view", seconds=0.0), Share(operator="add", seconds=1e-6))
    chart = charts.step_time(replace(example, prediction=replace(example.prediction, shares=shares)))
    assert [bar.label for bar in chart.bars] == ["add"]


def test_a_bound_without_a_colour_gets_the_plain_one(example):
    shares = (Share(operator="x", seconds=1.0, bound="x y"),)
    assert (
        charts.step_time(replace(example, prediction=replace(example.prediction, shares=shares))).bars[0].tone
        == "plain"
    )


def test_states_fill_the_whole_line(check_example):
    parts = charts.mapping_states(check_example).parts
    assert [p.label for p in parts] == ["native", "fused", "composed", "fallback", "missing", "metadata"]
    assert sum(p.width for p in parts) == pytest.approx(100, abs=0.05)
    for before, after in pairwise(parts):
        assert after.start == pytest.approx(before.start + before.width, abs=0.02)


def test_memory_is_drawn_within_the_capacity_and_told_within_the_peak(example):
    parts = charts.memory(example.prediction).parts
    assert parts[0].label == "activations"
    assert parts[0].width == pytest.approx(100 * 25_165_824 / 67_108_864, abs=0.01)
    assert parts[0].value == "24.0 MiB  60 %"


def test_memory_not_accounted_for_is_shown_as_other(example):
    parts = charts.memory(replace(example.prediction, memory={"weights": 40_000_000})).parts
    assert [(p.label, p.value) for p in parts] == [("weights", "38.1 MiB  95 %"), ("other", "1.85 MiB  5 %")]


def test_memory_parts_that_are_not_alive_at_once_are_said_so(example):
    chart = charts.memory(
        replace(example.prediction, memory={"weights": 30_000_000, "gradients": 30_000_000}, capacity_bytes=None)
    )
    assert chart.description == "40.0 MiB at batch size 32, predicted. The parts are not all alive at once."
    assert sum(p.width for p in chart.parts) == pytest.approx(100, abs=0.05)


def test_memory_beyond_the_capacity_still_fits_the_drawing(example):
    parts = charts.memory(replace(example.prediction, capacity_bytes=1024)).parts
    assert sum(p.width for p in parts) == pytest.approx(100, abs=0.05)


POSITIVE = st.floats(min_value=1e-300, max_value=1e300)


@settings(deadline=None)
@given(values=st.lists(POSITIVE, min_size=1, max_size=8))
def test_axis_holds_every_value_in_order(values):
    axis = charts.LogAxis.around(values)
    places = [axis.at(v) for v in sorted(values)]
    assert places == sorted(places)
    assert all(charts.INSET <= place <= 100 - charts.INSET for place in places)
    assert 1 <= len(axis.ticks()) <= charts.MAX_TICKS


def test_axis_takes_what_has_no_logarithm():
    axis = charts.LogAxis.around([0.0, math.inf, math.nan, 1e-6, 1e-4])
    assert (axis.low, axis.high) == (-6, -4)
    assert axis.at(0.0) == charts.INSET
    assert axis.at(math.inf) == 100 - charts.INSET
    assert charts.LogAxis.around([]).ticks()


def test_a_number_that_is_none_is_drawn_as_the_worst(example):
    row = ParityRow(check="outputs", passed=False, error=math.nan, tolerance=1e-4)
    chart = charts.parity(replace(example, parity=(*example.parity, row)))
    assert chart.dots[0].label == "outputs"
    assert chart.dots[0].at == 100 - charts.INSET
    assert not chart.dots[0].passed
    assert chart.description == "Logarithmic axis; all 7 measured. 1 failed."


def test_a_passed_error_is_left_of_its_tolerance(example):
    for dot in charts.parity(example).dots:
        assert dot.limit is not None
        assert dot.at < dot.limit


def test_many_comparisons_show_the_nearest(example):
    rows = tuple(ParityRow(check=f"c{i}", passed=True, error=10.0**-i, tolerance=1.0) for i in range(1, 40))
    chart = charts.parity(replace(example, parity=rows))
    assert [d.label for d in chart.dots] == [f"c{i}" for i in range(1, charts.MAX_DOTS + 1)]
    assert "the 16 nearest to their tolerance, of 39" in chart.description
