"""Diagnostics and exit statuses."""

from __future__ import annotations

import pytest

from migrate.errors import Exit, MigrateError, error


def test_the_statuses_are_those_that_scripts_know() -> None:
    found = {status.name: int(status) for status in Exit}
    assert found == {
        "OK": 0, "BUG": 1, "USAGE": 2, "INPUT": 3, "UNSUPPORTED": 4, "PARITY": 5, "DEGRADED": 6, "INTERRUPTED": 130,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({}, "MIG101 error: cannot read"),
        ({"where": "a.onnx"}, "MIG101 error: cannot read at a.onnx"),
        ({"why": "gone", "todo": "look"}, "MIG101 error: cannot read (gone) -> look"),
    ],
)
def test_a_diagnostic_in_one_line(parts: dict[str, str], text: str) -> None:
    assert str(error("MIG101", "cannot read", **parts)) == text


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31mred", "a\x00b", "\u202eab", "x\r"])
def test_a_model_cannot_write_to_the_terminal(name: str) -> None:
    """Names come from model files: control characters are shown, never sent."""
    text = str(error("MIG201", f"operator {name} is not supported", where=name))
    assert text.isprintable()


def test_an_error_carries_all_diagnostics() -> None:
    fault = MigrateError((error(f"MIG20{i}", "no") for i in (1, 2)), Exit.UNSUPPORTED)
    assert [d.code for d in fault.diagnostics] == ["MIG201", "MIG202"]
    assert str(fault) == "MIG201 error: no\nMIG202 error: no" and fault.status == 4
