"""What the audit says of a training step and what the emulated device does in a real one agree, operator by operator."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from migrate import pipeline
from migrate.codegen import write_package
from migrate.opmap import Audit, audit_package, load_target, resolve
from migrate.opmap.profile import TARGETS
from runtime.hal._emulated_table import INHERENT

BATCH = 4
STEP = """
import json, sys, torch
from pathlib import Path
import net, net.config, net.loss
from net.runtime.hal import open_device

device = open_device(sys.argv[1], Path("net/target.json"))

def draw(specs):
    for spec in specs:
        shape = spec.sizes(net.config.SIZES, int(sys.argv[2]))
        drawn = torch.randint(0, spec.high or 2, shape) if "int" in spec.dtype else torch.rand(shape)
        yield drawn.to(getattr(torch, spec.dtype)).to(device.torch_device)

found = {"fault": ""}
try:
    model = net.load_model(pretrained=False).to(device.torch_device).train()
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, foreach=True)
    inputs, targets = tuple(draw(net.config.INPUTS)), tuple(draw(net.loss.TARGETS))
    before = dict(device.calls())
    net.loss.compute_loss(model, inputs, targets).backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
    optimizer.step()
    found["calls"] = sorted(name for name, count in device.calls().items() if count > before.get(name, 0))
    found["fallbacks"] = sorted(device.fallbacks())
    found["unchecked"] = dict(device.unchecked())
except (NotImplementedError, torch.OutOfMemoryError) as fault:
    found["fault"] = str(fault)
print(json.dumps(found))
"""


class Tagger(nn.Module):
    def __init__(self, layer: Callable[..., nn.RNNBase]) -> None:
        super().__init__()
        self.embed, self.rnn = nn.Embedding(20, 8), layer(8, 8, batch_first=True, bidirectional=True)
        self.head = nn.Linear(16, 3)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.rnn(self.embed(ids))[0])


def cnn() -> nn.Module:
    first = (nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
    return nn.Sequential(*first, nn.Conv2d(8, 8, 3, groups=8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))


def decoder() -> nn.Module:
    up = (nn.ConvTranspose2d(8, 8, 2, 2), nn.Upsample(scale_factor=2, mode="bilinear"), nn.InstanceNorm2d(8))
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(), *up, nn.Conv2d(8, 3, 1), nn.Sigmoid())


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(6, 8), nn.LayerNorm(8), nn.Mish(), nn.Dropout(0.1), nn.Linear(8, 3), nn.LogSoftmax(-1)
    )


def encoder() -> nn.Module:
    return nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu")


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Tensor]]] = {
    "cnn": (cnn, lambda: torch.randn(2, 3, 16, 16)),
    "decoder": (decoder, lambda: torch.randn(2, 3, 8, 8)),
    "encoder": (encoder, lambda: torch.randn(2, 5, 16)),
    "gru": (lambda: Tagger(nn.GRU), lambda: torch.randint(0, 20, (2, 7))),
    "lstm": (lambda: Tagger(nn.LSTM), lambda: torch.randint(0, 20, (2, 7))),
    "mlp": (mlp, lambda: torch.randn(2, 6)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One model on one target: what was said, and what happened."""

    audit: Audit
    emulated: dict[str, Any]

    def states(self, *states: str) -> set[str]:
        return {row.operator for row in self.audit.rows if row.state in states}


def run(model: str, target: str, folder: Path) -> Run:
    make, example = MODELS[model]
    torch.manual_seed(0)
    options = pipeline.Options(name="net", verify=False)
    chosen = load_target(target)
    graph = pipeline.load(make(), options, example_inputs=(example(),))
    package = write_package(plan_of(graph), folder / "package", target=resolve(chosen))
    audit = audit_package(package, "net", chosen, batch=BATCH)
    command = [sys.executable, "-c", STEP, chosen.name, str(BATCH)]
    done = subprocess.run(command, cwd=package, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Run(audit=audit, emulated=json.loads(done.stdout.splitlines()[-1]))


def plan_of(graph: Any) -> Any:
    from migrate.codegen import plan_package

    return plan_package(graph, name="net")


def takes_a_tensor(operator: str) -> bool:
    """Of a factory torch runs its own composite kernel, which the emulator sees as the allocation alone."""
    packet, _, overload = operator.partition(".")
    schema = getattr(getattr(torch.ops.aten, packet), overload or "default")._schema
    return any("Tensor" in str(argument.type) for argument in schema.arguments)


def altered(folder: Path, name: str, *changes: tuple[str, str]) -> str:
    """A profile of the user's own: one of the tool's with changes, under a name of its own."""
    text = (TARGETS / f"{name}.toml").read_text().replace(f'name = "{name}"', 'name = "altered"', 1)
    for old, new in changes:
        text, count = re.subn(old, new, text, count=1, flags=re.MULTILINE)
        assert count == 1, old
    path = folder / "altered.toml"
    path.write_text(text)
    return str(path)


FAST = [("encoder", "cambricon_mlu370")]
SLOW = [(model, target) for model in MODELS for target in ("ascend_910b", "cambricon_mlu370", "apple_m", "nvidia_a100")]


@pytest.mark.parametrize(
    ("model", "target"), [*FAST, *(pytest.param(*c, marks=pytest.mark.slow) for c in SLOW if c not in FAST)]
)
def test_the_operators_that_were_said_are_those_that_run(model: str, target: str, tmp_path: Path) -> None:
    found = run(model, target, tmp_path)
    assert found.emulated["fault"] == "" and found.audit.trains
    assert set(found.emulated["fallbacks"]) == found.states("fallback")
    said = found.states("native", "fused", "composed", "metadata", "fallback")
    calls = set(found.emulated["calls"])
    assert calls - said - INHERENT == set()
    # The emulator counts a composed operator as itself; the audit lists its parts beside it.
    parts = {part for row in found.audit.rows for part in row.parts}
    silent = found.states("native", "fused", "fallback") - calls - parts - INHERENT
    assert {name for name in silent if takes_a_tensor(name)} == set()


CONV = ("convolution_backward", "convolution_backward_overrideable")


@pytest.mark.parametrize(("without", "missing"), [(CONV, CONV[1]), pytest.param(("mm",), "mm", marks=pytest.mark.slow)])
def test_a_planted_missing_operator_is_found_by_both(without: tuple[str, ...], missing: str, tmp_path: Path) -> None:
    table = ('^table = "ascend.tsv"', f'table = "ascend.tsv"\nwithout = {json.dumps(without)}')
    profile = altered(tmp_path, "ascend_910b", table, ("^host_fallback = true", "host_fallback = false"))
    found = run("cnn", profile, tmp_path)
    assert found.states("missing") == {missing} and not found.audit.trains
    assert "MIG401" in found.emulated["fault"] and f"aten::{missing}" in found.emulated["fault"]


@pytest.mark.slow
def test_a_planted_fallback_is_found_by_both(tmp_path: Path) -> None:
    without = ('^table = "ascend.tsv"', 'table = "ascend.tsv"\nwithout = ["mm"]')
    found = run("cnn", altered(tmp_path, "ascend_910b", without), tmp_path)
    assert found.states("fallback") == {"mm"} == set(found.emulated["fallbacks"])


@pytest.mark.slow
def test_a_planted_dtype_is_found_by_both(tmp_path: Path) -> None:
    found = run("lstm", altered(tmp_path, "ascend_910b", ("^int64.peak_flops.*\n", "")), tmp_path)
    assert [d.code for d in found.audit.diagnostics if d.severity == "error"] == ["MIG402"]
    assert "MIG402" in found.emulated["fault"] and "int64" in found.emulated["fault"]


@pytest.mark.slow
def test_a_planted_memory_limit_is_found_by_both(tmp_path: Path) -> None:
    fits = run("cnn", "ascend_910b", tmp_path / "fits").audit.memory.peak
    limit = (r"^bytes = \{ value = \d+", f"bytes = {{ value = {fits - 1024}")
    found = run("cnn", altered(tmp_path, "ascend_910b", limit), tmp_path / "tight")
    assert "MIG406" in {d.code for d in found.audit.diagnostics}
    assert "out of memory" in found.emulated["fault"]
