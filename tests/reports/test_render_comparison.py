from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rich.console import Console

from reports import Report, TargetFacts, Verdict, print_comparison


def printed(*reports: Report, width: int = 80) -> list[str]:
    console = Console(width=width, force_terminal=False)
    with console.capture() as capture:
        print_comparison(reports, console)
    return capture.get().splitlines()


def on(report: Report, name: str, outcome: str, reason: str = "") -> Report:
    verdict = Verdict(outcome=outcome, exit_status=0, reason=reason)  # pyright: ignore[reportArgumentType]
    return replace(report, target=TargetFacts(name=name, kind="product", device="npu"), verdict=verdict)


def test_each_target_has_its_row_and_its_obstacles_below(check_example: Report):
    good = on(replace(check_example, mapping=()), "ascend_910b", "trains")
    bad = on(check_example, "cambricon_mlu370", "cannot_train", "1 operator is missing: _linalg_svd")
    lines = printed(good, bad)
    assert lines[3].split()[:4] == ["ascend_910b", "trains", "0", "0"]
    assert lines[4].split()[:4] == ["cambricon_mlu370", "no", "2", "1"]
    assert lines[5:] == ["cambricon_mlu370: 1 operator is missing: _linalg_svd"]
    assert all(len(line.rstrip()) <= 80 for line in lines[:5])


def test_what_the_profile_does_not_know_is_called_unknown(check_example: Report):
    assert check_example.prediction is not None
    unknown = replace(check_example.prediction, step_seconds=None, samples_per_second=None, capacity_bytes=None)
    (row,) = (line for line in printed(on(replace(check_example, prediction=unknown), "x", "trains")) if line[0] == "x")
    assert row.split().count("unknown") == 3
    (row,) = (line for line in printed(on(replace(check_example, prediction=None), "x", "trains")) if line[0] == "x")
    assert row.split()[-4:] == ["-", "-", "-", "-"]


def test_strings_of_a_model_are_not_markup(make_hostile: Callable[[str], Report]):
    report = make_hostile("[red]x[/red]\x1b[31m")
    assert "[red]x[red]" in printed(report, report)[0]
    assert not any("\x1b" in line for line in printed(report, report))
