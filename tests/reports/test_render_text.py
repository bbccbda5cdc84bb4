"""The terminal rendering: what it says, its width, and that a model's names never steer the terminal."""

import dataclasses
import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from reports import ParityRow, print_report

STYLE = re.compile(r"\x1b\[[0-9;]*m")


def printed(report, *, width=100, terminal=False, every=False):
    console = Console(
        file=io.StringIO(), width=width, force_terminal=terminal, color_system="standard" if terminal else None
    )
    print_report(report, console, every=every)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 100, 240])
@pytest.mark.parametrize("kind", ["example", "check_example", "bare"])
def test_lines_fit(kind, width, request):
    lines = printed(request.getfixturevalue(kind), width=width).splitlines()
    assert max(cell_len(line) for line in lines) <= min(width, 100)


def test_convert_says_verdict_changes_comparison_and_next_steps(example):
    text = printed(example)
    assert text.startswith("digits.onnx -> vendor_a  Verified against the source\n")
    for told in (
        "vendor_a: reference target, no product",
        "weights    5 parameters, 4 of them trained (992 elements), 2 buffers, 1 tie, 4.14 KiB",
        "predicted  412 us a step",
        "not verified: speed on the device (no such device is attached)",
        "MIG303 warning: normalisation was folded away before export at /layer3/conv/Conv",
        "python -m digits verify --device vendor_a",
    ):
        assert told in text


def test_check_lists_what_needs_attention_first_and_counts_the_rest(check_example):
    lines = printed(check_example).splitlines()
    listed = [
        line.split()[1]
        for line in lines
        if line.split()[:1] and line.split()[0] in ("missing", "fallback", "composed", "native")
    ]
    assert listed == ["_linalg_svd", "unique_dim"]
    assert any("2 missing, 1 fallback, 2 composed, 1 fused, 8 native, 6 metadata" in line for line in lines)
    assert "parity" not in "".join(lines)


def test_comparisons_that_passed_are_listed_on_request(example):
    row = "gradient, joint direction     float64  passed  1.9e-09    1.0e-05"
    assert row not in printed(example)
    assert row in printed(example, every=True)


def test_supporting_evidence_fails_nothing(example):
    evidence = ParityRow(check="float32 differences", passed=False, error=2e-3, tolerance=1e-3, decides=False)
    text = printed(dataclasses.replace(example, parity=(*example.parity, evidence)))
    assert "evidence only" in text
    assert "failed" not in text


def test_every_operator_is_listed_on_request(check_example):
    assert "native_batch_norm" not in printed(check_example)
    assert "native_batch_norm" in printed(check_example, every=True)


def test_hostile_names_do_not_steer_the_terminal(hostile):
    text = STYLE.sub("", printed(hostile, terminal=True))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e\u2066\ud800]", text)
    assert max(cell_len(line) for line in text.splitlines()) <= 100


def test_rich_markup_in_a_name_is_shown_as_it_is(make_hostile):
    text = printed(make_hostile("[red]x[/red][/]"), terminal=True)
    assert "[red]x[/red][/]" in STYLE.sub("", text)
    assert printed(make_hostile("[xyz]")).count("[xyz]") == printed(make_hostile("[red]")).count("[red]")
