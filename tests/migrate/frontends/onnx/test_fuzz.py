"""Hostile files and names end in a package or in a diagnostic: never in a fault of ours, a hang, or code that a name wrote."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import migrate
from migrate.errors import Exit, MigrateError
from migrate.options import Options
from tests.onnx_files import build, node, weight

ROOT = Path(__file__).resolve().parents[4]
GIB = 1 << 30
# The peak of a process is printed by itself: that of all children is what the largest of any test was.
MEASURED = """
import resource, sys
from tests.migrate.frontends.onnx.fuzz import mutations
mutations.main(int(sys.argv[1]), int(sys.argv[2]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
HOSTILE = (
    ("a.b", "a_b"), ("A", "a"), ("weight", "Weight"), ("class", "class_"), ("self", "forward"), ("print", "torch"),
    ("9", "9lives"), ("n" * 300, "n" * 299 + "m"), ("\u0394", "\u4e2d\u6587"), ("__init__", "__class__"),
    ("../up", "/etc/passwd"), ('"); import os #', "'''"), ("a/b.c", "a.b/c"), ("nn", "Tensor"), ("x", "y"),
    ("\n", "\\"), ("{x}", "{{x}}"), ("state_dict", "parameters"), ("None", "True"), (" ", "  "),
)  # fmt: skip


def mutated(first: int, count: int, limit_s: float) -> dict[str, int]:
    """How many mutations ended in which exit status; the process is killed where one hangs."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MEASURED, str(first), str(count)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=limit_s, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    found, peak_kib = run.stdout.strip().splitlines()[-2:]
    assert int(peak_kib) * 1024 < 2 * GIB
    counts = json.loads(found)
    assert counts["wrong"] == {}
    return counts["ends"]


def test_mutated_models_end_in_a_model_or_a_diagnostic() -> None:
    assert sum(mutated(0, 200, 300).values()) == 200


@pytest.mark.slow
def test_many_mutated_models_end_in_a_model_or_a_diagnostic() -> None:
    ends = mutated(200, 2000, 1800)
    assert sum(ends.values()) == 2000 and min(ends.values()) > 100  # the mutations are neither harmless nor all fatal


def named(first: str, second: str) -> onnx.ModelProto:
    """Two layers whose weights and nodes have these names, which are those of the values between them too."""
    nodes = [
        node("MatMul", ["in", f"{first}.w"], [f"{first}.h"], name=first),
        node("Add", [f"{first}.h", second], [f"{second}.h"], name=second),
        node("Relu", [f"{second}.h"], [f"{first}.r"], name=f"{first}/{second}"),
        node("MatMul", [f"{first}.r", first], ["out"], name=first),
    ]
    weights = {f"{first}.w": weight(8, 6), second: weight(6, seed=1), first: weight(6, 3, seed=2)}
    return build(nodes, weights, inputs=("in", ("batch", 8)), outputs=("out",), name=first)


def hold(first: str, second: str) -> None:
    """The module of such names computes what the layers do."""
    module = migrate.to_module(named(first, second))
    x = torch.randn(2, 8)
    hidden = torch.relu(x @ torch.from_numpy(weight(8, 6)) + torch.from_numpy(weight(6, seed=1)))
    torch.testing.assert_close(module(x), hidden @ torch.from_numpy(weight(6, 3, seed=2)))


@pytest.mark.parametrize(("first", "second"), HOSTILE)
def test_hostile_names_change_nothing_that_is_computed(first: str, second: str) -> None:
    hold(first, second)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.tuples(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40)).filter(lambda p: p[0] != p[1]))
def test_any_names_change_nothing_that_is_computed(names: tuple[str, str]) -> None:
    try:
        hold(*names)
    except MigrateError as fault:  # names that the file itself uses for something else
        assert fault.status == Exit.INPUT


def test_names_write_no_file_outside_the_package_and_no_code(tmp_path: Path) -> None:
    folder = tmp_path / "inside" / "package"
    folder.parent.mkdir()
    bad = "../../up"
    model = tmp_path / "inside" / "m.onnx"
    model.write_bytes(named(bad, '"); open("stolen", "w") #').SerializeToString())
    migrate.convert(model, "cpu", folder, Options(verify=False))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["inside"]
    assert sorted(path.name for path in folder.parent.iterdir()) == ["m.onnx", "package"]
    for text in folder.rglob("model.py"):
        called = [n.func for n in ast.walk(ast.parse(text.read_text())) if isinstance(n, ast.Call)]
        assert "open" not in {getattr(func, "id", "") for func in called}


def test_an_empty_name_of_a_weight_is_no_weight() -> None:
    model = named("a", "b")
    model.graph.initializer.add(name="", dims=[1], data_type=1, raw_data=np.zeros(1, "float32").tobytes())
    assert migrate.to_module(model)(torch.zeros(2, 8)).shape == (2, 3)
