"""The original module is the judge: a right package passes in every way that it learns, a planted fault is named."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import migrate
from migrate.errors import MigrateError
from migrate.frontends.pytorch import export_module
from migrate.frontends.pytorch.oracle import PytorchOracle
from migrate.frontends.pytorch.worker_open import Examples, OpenedProgram, open_program
from migrate.options import Options
from migrate.verify import verify


class Net(nn.Module):
    """A convolution with statistics, dropout, a tie, a buffer that is in no checkpoint, and a softmax at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, momentum=0.3)
        self.drop, self.first, self.second = nn.Dropout(0.4), nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.register_buffer("order", torch.tensor([3, 2, 1, 0]), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.conv(x)).relu().mean((2, 3))[:, self.order]
        return self.second(self.drop(self.first(x)).tanh()).softmax(-1)


X = (torch.randn(3, 3, 8, 8, generator=torch.Generator().manual_seed(0)),)
CHECKS = (
    "state_dict keys, shapes and dtypes are the source's",
    "gradient of every parameter",
    "gradient of every parameter in training mode, dropout zero",
    "outputs in training mode, dropout zero",
    "buffers after a training step",
    "losses of three steps of SGD",
)


def written(tmp_path: Path, module: nn.Module) -> Path:
    torch.manual_seed(0)
    out = tmp_path / "out"
    migrate.convert(module, "cpu", out, Options(name="m", verify=False), example_inputs=X)
    return out


def judged(out: Path, module: nn.Module):
    from migrate import pipeline

    options = Options(example_inputs=X)
    opened = pipeline._prepare(pipeline._open(module, options), options)
    return verify(out, "m", opened.graph, opened.oracle(), pipeline._plan(opened, "m", options))


def test_a_right_package_learns_as_its_source(tmp_path: Path) -> None:
    torch.manual_seed(0)
    report = migrate.convert(Net(), "cpu", tmp_path / "out", Options(name="m"), example_inputs=X)
    found = {row.check: row for row in report.parity}
    assert not [row for row in report.parity if not row.passed and row.decides]
    assert report.verdict.outcome == "verified" and all(found[check].passed for check in CHECKS)
    assert not any(each.what == "outputs in training mode" for each in report.unverified)


# what is done to the emitted model -> the check that fails, and the module that is named
CALL = "self.norm(self.conv(x))"
FAULTS = {
    "a lost gradient": (CALL, f"(0.9 * {CALL} + 0.1 * {CALL}.detach())", "gradient of every parameter", "conv"),
    "the other momentum": ("momentum=0.3", "momentum=0.7", CHECKS[4], "norm"),
    "frozen statistics": (CALL, "self.norm.eval()(self.conv(x))", CHECKS[3], None),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_named(name: str, tmp_path: Path) -> None:
    old, new, check, module = FAULTS[name]
    torch.manual_seed(0)
    source = Net()
    out = written(tmp_path, source)
    model = out / "m" / "model.py"
    text = model.read_text()
    assert old in text, text
    model.write_text(text.replace(old, new))
    found = judged(out, source)
    failed = [row.check for row in found.rows if row.decides and not row.passed]
    assert not found.passed and check in failed
    assert module is None or (found.first_difference is not None and found.first_difference.module == module)


class Rounded(nn.Module):
    """A straight-through estimator, whose gradient is no derivative on purpose."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x)
        return self.second(h + ((4 * h).floor() / 4 - h).detach())


def test_the_sources_own_gradients_decide_over_differences(tmp_path: Path) -> None:
    torch.manual_seed(0)
    report = migrate.convert(Rounded(), "cpu", tmp_path / "out", Options(name="m"), example_inputs=(torch.randn(3, 4),))
    apart = [row.check for row in report.parity if not row.passed]
    assert report.verdict.outcome == "verified" and apart
    assert all(check.startswith("gradient: ") for check in apart)
    ran = subprocess.run([sys.executable, "-m", "m", "verify"], cwd=tmp_path / "out", capture_output=True, text=True)
    assert ran.returncode == 0 and "note  gradient: " in ran.stdout


def test_a_factory_is_judged_in_its_own_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users_net.py").write_text(
        textwrap.dedent("""
            import torch
            from torch import nn

            def build():
                return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
        """)
    )
    monkeypatch.chdir(tmp_path)
    report = migrate.convert("users_net:build", "cpu", "out", Options(name="m", input_shapes={"input": (3, 4)}))
    assert "users_net" not in sys.modules
    assert report.verdict.outcome == "verified" and {row.check for row in report.parity} >= set(CHECKS)
    stored = json.loads((tmp_path / "out" / "report" / "report.json").read_text())
    assert stored["verdict"]["exit_status"] == 0


def test_half_precision_is_judged_as_float32(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).bfloat16()
    example = (torch.randn(3, 4, dtype=torch.bfloat16),)
    report = migrate.convert(module, "cpu", tmp_path / "out", Options(name="m"), example_inputs=example)
    assert report.verdict.outcome == "verified" and module[0].weight.dtype == torch.bfloat16


def test_an_exported_program_is_its_own_judge() -> None:
    torch.manual_seed(0)
    exported = torch.export.export(Net().eval(), X)
    from migrate.frontends.pytorch import program_of

    oracle = PytorchOracle(OpenedProgram(program=program_of(exported)))
    (y,) = oracle.run([X[0].numpy()])
    assert y.shape == (3, 4) and "program" in oracle.engine
    learned = oracle.learning([X[0].numpy()], 0)
    assert learned is not None and {name.split("/")[0] for name in learned} == {"evaluation", "float64"}


def test_values_inside_and_replaced_weights() -> None:
    torch.manual_seed(0)
    module = Net().eval()
    oracle = PytorchOracle(OpenedProgram(program=export_module(module, X), module=module))
    logits = oracle.logits_of(0)
    assert logits is not None
    zero = {"first.weight": torch.zeros(4, 4).numpy()}
    found = oracle.intermediates([X[0].numpy()], [*oracle.output_names, logits], zero)
    bias = module.second.bias.detach()
    torch.testing.assert_close(torch.from_numpy(found[logits]), bias.expand(3, 4))
    torch.testing.assert_close(torch.from_numpy(found[oracle.output_names[0]]), bias.softmax(0).expand(3, 4))


def test_inputs_on_which_the_module_fails_are_said() -> None:
    module = nn.Linear(4, 2)
    oracle = PytorchOracle(OpenedProgram(program=export_module(module, (torch.randn(3, 4),)), module=module))
    with pytest.raises(MigrateError) as caught:
        oracle.run([torch.randn(3, 5).numpy()])
    assert [d.code for d in caught.value.diagnostics] == ["MIG503"]


def test_a_worker_that_is_asked_gives_what_the_module_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users_line.py").write_text("from torch import nn\nimport torch\nline = nn.Linear(4, 2)\n")
    opened = open_program(
        "users_line:line", "factory", examples=Examples(shapes={"input": (3, 4)}), pythonpath=[tmp_path]
    )
    oracle = PytorchOracle(opened)
    weight = {key: oracle.weight(key) for key in ("weight", "bias")}
    x = torch.randn(2, 4)
    expected = nn.functional.linear(x, *(torch.from_numpy(w) for w in weight.values()))
    torch.testing.assert_close(torch.from_numpy(oracle.run([x.numpy()])[0]), expected)


def test_a_script_is_judged_in_evaluation_alone(tmp_path: Path) -> None:
    class Scripted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.line, self.drop = nn.Linear(4, 4), nn.Dropout(0.5)

        def forward(self, x: Tensor) -> Tensor:
            return self.drop(self.line(x))

    path = tmp_path / "scripted.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(Scripted()), path)
    options = Options(name="m", trust_pickle=True, input_shapes={"x": (3, 4)})
    report = migrate.convert(path, "cpu", tmp_path / "out", options)
    assert report.verdict.outcome == "verified"
    assert CHECKS[1] in {row.check for row in report.parity}
    assert any(each.what == "outputs in training mode" for each in report.unverified)
