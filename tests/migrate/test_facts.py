"""The verdict of a run and what its report says was not established."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from migrate.errors import Diagnostic
from migrate.facts import change, parity, reasons, unverified, verdict
from migrate.options import Options


def audit(*, trains: bool = True, degraded: bool = False) -> Any:
    return SimpleNamespace(trains=trains, degraded=degraded, verdict="words")


def checked(passed: bool, trained: bool = False) -> Any:
    return SimpleNamespace(passed=passed, trained=trained, reason="the first check", notes=("a batch was left out",))


@pytest.mark.parametrize(
    ("command", "found", "strict", "verification", "outcome", "status"),
    [
        ("convert", audit(), False, checked(True), "verified", 0),
        ("convert", audit(), False, None, "unverified", 0),
        ("convert", audit(), False, checked(False), "parity_failed", 5),
        ("convert", audit(degraded=True), False, checked(True), "verified", 0),
        ("convert", audit(degraded=True), True, checked(True), "verified", 6),
        ("convert", audit(degraded=True), True, checked(False), "parity_failed", 5),
        ("convert", audit(trains=False, degraded=True), True, checked(True), "cannot_train", 6),
        ("check", audit(), True, None, "trains", 0),
        ("check", audit(degraded=True), False, None, "degraded", 0),
        ("check", audit(degraded=True), True, None, "degraded", 6),
        ("check", audit(trains=False, degraded=True), True, None, "cannot_train", 6),
    ],
)
def test_verdict(command: str, found: Any, strict: bool, verification: Any, outcome: str, status: int) -> None:
    got = verdict(command, found, Options(strict=strict), verification)
    assert (got.outcome, got.exit_status) == (outcome, status)


SPEED = "speed and memory on t"


@pytest.mark.parametrize(
    ("command", "precision", "verification", "words"),
    [
        ("convert", "fp32", None, ["parity with the source", SPEED]),
        ("convert", "fp32", checked(True), ["part of the verification", "outputs in training mode", SPEED]),
        ("convert", "fp32", checked(True, trained=True), ["part of the verification", SPEED]),
        ("convert", "bf16", None, ["parity with the source", "numbers in bf16", SPEED]),
        ("check", "fp32", None, [SPEED]),
    ],
)
def test_what_is_not_established(command: str, precision: str, verification: Any, words: list[str]) -> None:
    target: Any = SimpleNamespace(name="t", kind="reference", device_name="t")
    assert [row.what for row in unverified(command, target, precision, verification)] == words


def test_a_note_becomes_a_change() -> None:
    note = Diagnostic(code="MIG301", severity="note", what="freed", where="Reshape_1", why="fixed at export")
    assert (change(note).code, change(note).nodes, change(note).why) == ("MIG301", ("Reshape_1",), "fixed at export")


def test_comparisons_are_copied() -> None:
    row = SimpleNamespace(
        check="output y", passed=False, case="batch2", metric="max", error=0.1, tolerance=0.01, engine="e", decides=True
    )
    (copied,) = parity([row])
    assert all(getattr(copied, name) == value for name, value in vars(row).items())


def test_a_row_says_why_it_is_as_it_is() -> None:
    row: Any = SimpleNamespace(
        operator="gelu", state="fallback", parts=("erf", "mul.Tensor"), refused_dtypes=("float64",), bytes=4096
    )
    kernel: Any = SimpleNamespace(kernel="gelu", provider="runtime", note="measured", operators=("gelu",))
    other: Any = SimpleNamespace(kernel="adamw", provider="target", note="one operator", operators=("addcdiv_",))
    assert list(reasons(row, (kernel, other))) == [
        "the target does not compute in float64",
        "as erf, mul.Tensor",
        "4,096 bytes of a step cross the link to the host",
        "gelu (runtime): measured",
    ]
    plain: Any = SimpleNamespace(operator="add.Tensor", state="native", parts=(), refused_dtypes=(), bytes=4096)
    assert list(reasons(plain, (kernel, other))) == []
