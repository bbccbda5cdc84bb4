from __future__ import annotations

from dataclasses import replace

import pytest

from migrate.opmap import TraceRow, call_cost, load_target, predict_step

ROW = TraceRow(
    phase="forward",
    operator="mm",
    state="native",
    module="fc",
    dtype="float16",
    dtypes=("float16",),
    shapes="8x8 8x8",
    count=3,
    bytes=16_000_000,
    flops=0,
    parts=(),
)
TARGET = load_target("vendor_a")


def test_a_call_takes_its_launch_and_the_longer_of_memory_and_compute():
    memory = call_cost(ROW, TARGET)
    assert memory.seconds == pytest.approx(5e-6 + 16e6 / 1.6e12)
    assert memory.bound == "memory"
    compute = call_cost(replace(ROW, flops=10**12), TARGET)
    assert compute.seconds == pytest.approx(5e-6 + 1e12 / 353.9e12)
    assert compute.bound == "compute"


def test_the_rate_is_that_of_the_dtype():
    half, single = (call_cost(replace(ROW, flops=10**12, dtype=dtype), TARGET) for dtype in ("float16", "float32"))
    assert single.compute / half.compute == pytest.approx(353.9 / 88.5)


@pytest.mark.parametrize("state", ["metadata", "composed", "registered"])
def test_what_has_no_kernel_of_its_own_costs_nothing(state: str):
    assert call_cost(replace(ROW, state=state), TARGET).seconds == 0


def test_a_fallback_pays_for_the_way_to_the_host():
    missing = replace(ROW, state="missing")
    assert call_cost(missing, TARGET).host == 0
    priced = call_cost(missing, replace(TARGET, host_fallback=True))
    assert priced.host == pytest.approx(2 * 10e-6 + 16e6 / 31e9)
    assert priced.bound == "host"


def test_a_step_sums_calls_and_leaves_the_first_optimizer_step_out():
    rows = [ROW, replace(ROW, phase="backward", count=1), replace(ROW, phase="setup")]
    cost = predict_step(rows, TARGET, batch=4)
    assert cost.label == "predicted"
    assert cost.seconds == pytest.approx(4 * 15e-6)
    assert cost.phases == pytest.approx({"forward": 45e-6, "backward": 15e-6})
    assert cost.samples_per_second == pytest.approx(4 / 60e-6)
    assert cost.joules_per_sample == pytest.approx(350 * 60e-6 / 4)
    assert cost.bytes == 4 * ROW.bytes


def test_a_step_that_rests_on_unknown_figures_names_them_and_predicts_no_energy():
    target = load_target("cambricon_mlu590")
    cost = predict_step([replace(ROW, flops=10**9)], target, batch=1)
    assert cost.unknown == ("dtypes.float16.peak_flops", "memory.bandwidth")
    assert cost.joules_per_sample is None
    # Integers that only move have no rate to be known.
    moved = predict_step([replace(ROW, dtype="int64")], load_target("ascend_910b"), batch=1)
    assert moved.unknown == ()


def test_the_way_to_the_host_must_be_known_only_where_it_is_taken():
    target = load_target("ascend_910b")
    assert predict_step([ROW], target, batch=1).unknown == ()
    missing = predict_step([replace(ROW, state="missing")], target, batch=1)
    assert missing.unknown == ("links.host.bandwidth", "links.host.latency_seconds")
