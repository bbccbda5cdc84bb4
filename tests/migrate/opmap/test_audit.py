from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from migrate.opmap import Audit, Target, Trace, audit_package, audit_trace, load_target
from migrate.opmap.profile import TABLES, TARGETS

Traced = Callable[..., Trace]

GAPS = """
import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 16)
        self.mish = nn.Mish()
        self.head = nn.Linear(16, 8)

    def forward(self, tokens):
        x = self.mish(self.embed(tokens))
        while bool(x.mean() > 3):
            x = x * 0.5
        for _ in range(int(tokens.max())):
            x = x + torch.tensor([1.0] * 16, device=x.device)
        return self.head(torch.lgamma(x.abs()) + x[tokens > 3].sum())
"""


@pytest.fixture(scope="module")
def gaps(package: Callable[..., Path]) -> Audit:
    return audit_package(package("gaps", GAPS), "gaps", load_target("vendor_a"), batch=3)


def without(tmp_path: Path, *operators: str) -> Target:
    """vendor_a less some operators, as a user would write it."""
    names = ", ".join(f'"{name}"' for name in operators)
    text = (TARGETS / "vendor_a.toml").read_text()
    text = text.replace('name = "vendor_a"', 'name = "lesser"').replace(
        'table = "vendor_a.tsv"', f'table = "vendor_a.tsv"\nwithout = [{names}]'
    )
    (tmp_path / "lesser.toml").write_text(text)
    (tmp_path / "vendor_a.tsv").write_text((TABLES / "vendor_a.tsv").read_text())
    return load_target(tmp_path / "lesser.toml")


@pytest.mark.parametrize("name", ["cnn", "gpt", "lstm"])
def test_ordinary_models_train_on_vendor_a(traced: Traced, name: str):
    audit = audit_trace(traced(name), load_target("vendor_a"))
    assert (audit.trains, audit.degraded, audit.diagnostics) == (True, False, ())
    assert audit.verdict == "trains on vendor_a"
    assert audit.totals.keys() <= {"native", "fused", "composed", "metadata"}
    assert 0 < audit.cost.seconds < 1


def test_a_fused_operator_is_told_from_a_native_one(traced: Traced):
    states = {row.operator: row.state for row in audit_trace(traced("gpt"), load_target("vendor_a")).rows}
    assert states["native_layer_norm"] == "fused"
    assert states["addmm"] == "native"
    assert states["embedding"] == "composed"
    assert states["view"] == "metadata"


def test_double_precision_is_refused_with_its_modules(traced: Traced):
    audit = audit_trace(traced("cnn64"), load_target("vendor_a"))
    assert not audit.trains
    (found,) = audit.diagnostics
    assert (found.code, found.severity) == ("MIG402", "error")
    assert "float64" in found.what and "blocks.0.conv" in found.where
    assert audit.verdict == "does not train on vendor_a: dtypes are not supported: float64"
    assert audit_trace(traced("cnn64"), load_target("vendor_b")).trains


def test_an_operator_the_table_lacks_is_reported_with_module_and_source(package: Callable[..., Path], tmp_path: Path):
    target = without(tmp_path, "convolution", "_thnn_fused_lstm_cell", "_thnn_fused_lstm_cell_backward_impl")
    audit = audit_package(package("lstm"), "lstm", target, batch=3)
    row = next(row for row in audit.rows if row.operator == "_thnn_fused_lstm_cell")
    assert (row.state, row.modules, row.sources, row.count) == ("missing", ("lstm",), ("/lstm/LSTM",), 24)
    found = next(d for d in audit.diagnostics if d.what.endswith("_thnn_fused_lstm_cell"))
    assert (found.code, found.where) == ("MIG401", "lstm (source: /lstm/LSTM)")
    assert not audit.trains and audit.degraded
    assert "2 operators are missing" in audit.verdict


def test_a_missing_leaf_of_a_composite_is_named(package: Callable[..., Path], tmp_path: Path):
    audit = audit_package(package("cnn"), "cnn", without(tmp_path, "convolution"), batch=3)
    missing = {row.operator: row.modules for row in audit.rows if row.state == "missing"}
    assert missing == {"convolution_overrideable": ("stem", "blocks.0.conv", "blocks.1.conv")}
    assert any(d.what == "convolution needs convolution_overrideable" for d in audit.diagnostics)


def test_a_host_fallback_is_priced_and_degrades(traced: Traced, gaps: Audit, package: Callable[..., Path]):
    target = replace(load_target("vendor_a"), host_fallback=True)
    audit = audit_package(package("gaps"), "gaps", target, batch=3)
    row = next(row for row in audit.rows if row.operator == "lgamma")
    assert (row.state, row.bytes) == ("fallback", 2 * 4 * 3 * 6 * 16)
    assert row.seconds > 2 * target.links["host"].latency_seconds.value
    assert (audit.trains, audit.degraded) == (True, True)
    assert any(d.code == "MIG403" and "bytes over the link" in d.why for d in audit.diagnostics)


def test_missing_operators_decompositions_and_values_are_told_apart(gaps: Audit):
    states = {row.operator: row for row in gaps.rows}
    assert states["lgamma"].state == states["digamma"].state == "missing"
    assert states["lgamma"].phases == ("forward",) and states["digamma"].phases == ("backward",)
    assert (states["mish"].state, states["mish"].needs_registration) == ("composed", True)
    assert states["mish"].modules == ("mish",)
    assert not states["embedding"].needs_registration
    codes = {d.code for d in gaps.diagnostics}
    assert codes == {"MIG401", "MIG405", "MIG407"}


def test_a_step_that_does_not_fit_is_a_warning(traced: Traced):
    target = load_target("vendor_a")
    small = replace(target, memory_bytes=replace(target.memory_bytes, value=1000))
    audit = audit_trace(traced("cnn"), small)
    (found,) = audit.diagnostics
    assert (found.code, found.severity, audit.trains) == ("MIG406", "warning", True)
    assert audit.degraded and "degraded" in audit.verdict


def test_the_audit_is_plain_json(gaps: Audit):
    document = json.loads(json.dumps(gaps.to_dict()))
    assert (document["trains"], document["degraded"]) == (False, True)
    assert document["cost"]["label"] == "predicted"
    assert {row["operator"] for row in document["rows"]} == {row.operator for row in gaps.rows}
