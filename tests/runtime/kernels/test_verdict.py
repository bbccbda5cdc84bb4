"""Verdicts survive the file, and their text says what matters."""

import json

import pytest
import torch

from runtime.kernels import verdict
from runtime.kernels.request import requested
from runtime.kernels.verdict import Verdict

ARGS = ([torch.zeros(3, 4)], torch.zeros(5, 8, requires_grad=True), None, True, 1e-3)
FULL = Verdict(
    request=requested("adamw", ARGS),
    implementation="cpu/adamw",
    chosen=True,
    reason="right and faster",
    error=1e-7,
    reference_error=2e-7,
    speedup=3.25,
    slowest=3.0,
    fastest=3.5,
    machine="here",
    source="abc",
)
UNTRIED = Verdict(request=requested("gelu", ARGS), implementation="triton/gelu", chosen=False, reason="not importable")


def test_round_trip(tmp_path):
    path = tmp_path / "deep/kernels.json"
    verdict.write(path, [FULL, UNTRIED])
    assert verdict.read(path) == [FULL, UNTRIED]
    assert [p.name for p in path.parent.iterdir()] == ["kernels.json"]


def test_other_schema_is_refused(tmp_path):
    path = tmp_path / "kernels.json"
    path.write_text(json.dumps({"schema": 99, "verdicts": []}))
    with pytest.raises(ValueError, match="99"):
        verdict.read(path)


def test_table():
    head, full, untried = verdict.table([FULL, UNTRIED]).splitlines()
    assert head.split() == ["kernel", "implementation", "use", "speed-up", "error/reference", "calls", "reason"]
    assert all(part in full for part in ("adamw", "chosen", "3.25x (3.00-3.50)", "1.0e-07/2.0e-07", "8x8"))
    assert full.index("right and faster") == untried.index("not importable")
