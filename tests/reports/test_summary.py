"""What is derived from the facts: order, counts and next steps."""

import math
from dataclasses import replace

import pytest

from reports import MappingRow, ParityRow, Unverified, summary


def test_mapping_puts_what_needs_attention_first_and_the_slow_before_the_fast(check_example):
    rows = summary.mapping_rows(check_example)
    assert [r.operator for r in rows][:4] == ["_linalg_svd", "unique_dim", "gelu_backward", "_fused_adamw_"]
    assert [r.operator for r in rows if r.state == "native"] == [
        "convolution_backward",
        "convolution",
        "native_batch_norm",
    ]


def test_mapping_order_does_not_depend_on_the_order_given(check_example):
    turned = replace(check_example, mapping=check_example.mapping[::-1])
    assert summary.mapping_rows(turned) == summary.mapping_rows(check_example)


def test_state_counts_are_of_calls(check_example):
    assert summary.state_counts(check_example) == {
        "missing": 2,
        "fallback": 1,
        "composed": 2,
        "fused": 1,
        "native": 8,
        "metadata": 6,
    }


@pytest.mark.parametrize(
    ("error", "tolerance", "passed", "expected"),
    [(1e-6, 1e-4, True, 1e-2), (2.0, 1.0, False, 2.0), (math.nan, 1.0, False, math.inf), (None, None, True, 0.0),
     (None, None, False, math.inf), (0.0, 0.0, True, 0.0), (1e-9, 0.0, False, math.inf)],
)  # fmt: skip
def test_severity(error, tolerance, passed, expected):
    row = ParityRow(check="c", error=error, tolerance=tolerance, passed=passed)
    assert summary.severity(row) == pytest.approx(expected)


def test_the_worst_check_is_a_failed_one_even_where_another_is_nearer_to_its_tolerance(example):
    failed = ParityRow(check="inventory", passed=False)
    near = ParityRow(check="near", passed=True, error=0.99, tolerance=1.0)
    assert summary.worst_parity(replace(example, parity=(near, failed))) == failed
    assert summary.worst_parity(replace(example, parity=())) is None


def test_parity_line(example, bare):
    assert summary.parity_line(example) == (
        "7 of 7 checks passed; closest to its tolerance: 4.4e-07 of 1.0e-04 (parameters perturbed by 1 %)"
    )
    assert summary.parity_line(bare) == "not compared with the source"


def test_a_failed_comparison_comes_first_in_line_table_and_steps(example):
    failed = ParityRow(check="loss", passed=False, error=math.nan, tolerance=1e-4)
    report = replace(example, parity=(*example.parity, failed, failed))
    assert summary.parity_line(report) == "7 of 9 checks passed; worst: nan of 1.0e-04 (loss)"
    assert summary.parity_rows(report) == [failed, failed, *example.parity]
    assert summary.next_steps(report)[0].text == "Find out why this differs from the source before you train: loss"


def test_next_steps_start_with_what_blocks_and_say_each_thing_once(check_example):
    twice = Unverified(what="speed", why="no device", todo="time it")
    rows = (
        MappingRow(operator="slow", state="fallback", todo="replace it"),
        MappingRow(operator="svd", state="missing", todo="drop it"),
    )
    rows += (MappingRow(operator="lu", state="missing", todo="drop it"),)
    steps = summary.next_steps(replace(check_example, mapping=rows, unverified=(twice, twice), diagnostics=()))
    assert [s.text for s in steps] == ["lu, svd (missing): drop it", "slow (fallback): replace it", "speed: time it"]


def test_commands_name_package_and_target_and_only_where_a_package_was_written(example, check_example):
    commands = [s.command for s in summary.next_steps(example) if s.command]
    assert commands[0] == "python -m digits verify --device vendor_a"
    assert not [s for s in summary.next_steps(check_example) if s.command]


def test_nothing_is_to_be_repeated_that_was_never_compared(example):
    commands = [s.command for s in summary.next_steps(replace(example, parity=())) if s.command]
    assert commands and not any(" verify " in command for command in commands)
