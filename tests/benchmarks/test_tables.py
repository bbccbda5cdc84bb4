"""The tables of the benchmarks, on numbers that were made up."""

from typing import Any

import pytest

from benchmarks.conversion import summary
from benchmarks.stages import OTHER, Clock
from benchmarks.tables import command_table, conversion_table, large_table, milliseconds, stage_table, training_table

TIMES = {"min_s": 0.1, "median_s": 0.25}


def training_result(**peers: dict[str, Any]) -> dict[str, Any]:
    return {"case": "net", "batch": 8, "peers": peers, "refused": {}}


def test_summary_compares_rounds_pairwise() -> None:
    found = summary([1.0, 2.0, 4.0], base=[2.0, 2.0, 2.0])
    assert found == {"min_s": 1.0, "median_s": 2.0, "base_by_min": 2.0, "base_by_median": 1.0}


@pytest.mark.parametrize(("seconds", "text"), [(1.2344, "1234"), (0.0999, "99.9"), (0.00256, "2.56"), (0.1, "100")])
def test_milliseconds(seconds: float, text: str) -> None:
    assert milliseconds(seconds) == text


def test_conversion_shows_ratios_only_beside_other_converters() -> None:
    peer = {**TIMES, "base_by_min": 2.5, "base_by_median": 2.25}
    result = {
        "case": "net",
        "peers": {"other": peer},
        "whole": {"convert": peer},
        "refused": {"third": "KeyError: 'w'"},
    }
    assert conversion_table([result]).rows == (
        ("net", "other", "100", "250", "2.50", "2.25", ""),
        ("net", "convert", "100", "250", "", "", ""),
        ("net", "third", "", "", "", "", "KeyError: 'w'"),
    )


def test_stages_have_a_column_for_each_file_and_a_sum() -> None:
    results = [
        {"case": "a", "stages": {"read": 0.5, "plan": 0.25}},
        {"case": "b", "stages": {"read": 1.0, "plan": 1.0}},
    ]
    table = stage_table(results)
    assert table.columns == ("stage", "a", "b")
    assert table.rows == (("read", "500", "1000"), ("plan", "250", "1000"), ("sum", "750", "2000"))


def test_commands() -> None:
    table = command_table({"net": {"migrate convert": {"min_s": 1.0, "median_s": 1.5, "peak_mib": 300.4}}})
    assert table.rows == (("net", "migrate convert", "1.00", "1.50", "300"),)


def test_training_marks_wrong_numbers_and_shows_throughput() -> None:
    ratios = {"base_by_min": 0.5, "base_by_median": 0.6, "base_by_cpu": 0.7}
    wrong = {**TIMES, **ratios, "error": 0.5, "right": False, "trainable": 1200}
    (row,) = training_table([training_result(other=wrong)], "t").rows
    assert row == ("net", "other", "5.0e-01", "1,200", "100", "250", "80.0", "0.50", "0.60", "0.70", "WRONG NUMBERS")


def test_training_tells_who_cannot_take_a_step_and_who_did_not_convert() -> None:
    result = training_result(other={"error": 0.0, "right": True, "trainable": 0})
    result["refused"] = {"other": "nothing is trainable", "third": "KeyError"}
    converted, refused = training_table([result], "t").rows
    assert converted[-1] == "no step: nothing is trainable"
    assert refused[:2] == ("net", "third")
    assert refused[-1] == "fails: KeyError"


def test_a_table_in_markdown_and_text_has_all_its_cells() -> None:
    table = command_table(
        {"net": {"a": {"min_s": 1.0, "median_s": 1.5, "peak_mib": 3}, "long name": {**TIMES, "peak_mib": 4}}}
    )
    lines = table.markdown().splitlines()
    assert lines[4:] == [
        "| file | command | min s | median s | peak MiB |",
        "|---|---|---|---|---|",
        "| net | a | 1.00 | 1.50 | 3 |",
        "| net | long name | 0.10 | 0.25 | 4 |",
    ]
    text = table.text().splitlines()[3:]
    assert len({line.index(cell) for line, cell in zip(text, ("min s", "1.00", "0.10"), strict=True)}) == 1


def test_a_stage_counts_its_own_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 1.0, 11.0, 111.0, 1111.0, 11111.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(ticks))
    clock = Clock()
    with (
        clock.stage(OTHER),
        clock.stage("render"),
        clock.stage("ruff"),
    ):  # entered at 0, 1, 11; left at 111, 1111, 11111
        pass
    assert clock.seconds["ruff"] == 100
    assert clock.seconds["render"] == 10 + 1000
    assert clock.seconds[OTHER] == 1 + 10000


def test_large_files_are_told_beside_their_largest_tensor() -> None:
    result = {
        "file_mib": 2304.0,
        "largest_mib": 256.0,
        "fixed_mib": 345.0,
        "peak_mib": 620.0,
        "of_largest": 1.07,
        "seconds": 22.0,
    }
    assert large_table([result]).rows == (("2,304", "256", "345", "620", "1.07", "22"),)
