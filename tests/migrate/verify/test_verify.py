"""Packages that are right pass; each planted fault is caught, and the layer that has it is named."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from migrate.errors import Exit


def replace_in_model(pattern: str, by: str, count: int = 1):
    def edit(package: Path) -> None:
        path = package / "model.py"
        text, done = re.subn(pattern, by, path.read_text(), count=count)
        assert done, f"{pattern!r} is not in the emitted model"
        path.write_text(text)

    return edit


def change_weight(key: str, change):
    def edit(package: Path) -> None:
        path = package / "weights.safetensors"
        tensors = load_file(path)
        tensors[key] = change(tensors[key]).contiguous()
        save_file(tensors, path)

    return edit


def failed(found):
    return [row.check for row in found.rows if row.decides and not row.passed]


def parity(found):
    (diagnostic,) = [d for d in found.errors if d.code == "MIG501"]
    return diagnostic


def test_a_right_package_passes_and_keeps_golden_tensors(converted, tmp_path):
    package, found = converted("resnet").verify(tmp_path)
    assert found.passed, [str(d) for d in found.diagnostics]
    assert found.status is Exit.OK and not found.reason and not failed(found)
    assert not (package / "UNVERIFIED").exists()
    cases = {row.case for row in found.rows if row.case and row.decides}
    assert cases == {"batch2", "batch3", "batch5", "perturbed1", "perturbed5"}
    outputs = [row for row in found.rows if row.case and row.decides]
    assert all(row.error is not None and row.error < 1e-5 and "onnxruntime" in row.engine for row in outputs)
    assert {row.check.split(":")[0] for row in found.rows} >= {"gradient", "inventory", "outputs vary"}
    linked, support = (row for row in found.rows if not row.decides)
    assert linked.check == "runtime as linked" and linked.passed
    assert support.error is not None and support.error < 1e-3
    golden = json.loads((package / "checks" / "golden.json").read_text())
    assert golden["gradients"]["parameters"].keys() >= {"fc.weight", "stem.weight"}
    assert all(case["logits"] for case in golden["cases"])


@pytest.mark.slow
def test_golden_files_are_equal_bytes_each_time(converted, tmp_path):
    packages = [converted("two_inputs").verify(tmp_path / name)[0] for name in ("a", "b")]
    for name in ("golden.json", "golden.safetensors"):
        first, second = ((package / "checks" / name).read_bytes() for package in packages)
        assert first == second


def test_a_wrong_epsilon_is_found_at_its_layer(converted, tmp_path):
    edit = replace_in_model(r"(self\.bn2 = nn\.BatchNorm2d\([\w.]+)(, eps=[^,)]*)?", r"\1, eps=0.01")
    package, found = converted("resnet").verify(tmp_path, edit)
    assert not found.passed and found.status is Exit.PARITY
    assert found.first_difference is not None
    assert found.first_difference.module == "layers.0.bn2"
    assert found.first_difference.nodes == ("/layers/layers.0/bn2/BatchNormalization",)
    assert found.first_difference.error > 1e-3
    assert "layers.0.bn2" in parity(found).where
    assert "MIG501" in (package / "UNVERIFIED").read_text()


def test_a_detached_branch_is_found_by_the_gradient_alone(converted, tmp_path):
    edit = replace_in_model(r"x \+ self\.bn2", "x.detach() + self.bn2")
    _, found = converted("resnet").verify(tmp_path, edit)
    assert failed(found) and all(check.startswith("gradient") for check in failed(found))
    assert found.first_difference is not None
    assert (found.first_difference.module, found.first_difference.what) == ("layers.0.bn2", "gradient")


@pytest.mark.slow
def test_a_wrong_rearrangement_is_found_at_its_layer(converted, tmp_path):
    edit = change_weight("layers.1.conv2.weight", lambda w: w.transpose(2, 3))
    _, found = converted("resnet").verify(tmp_path, edit)
    assert found.first_difference is not None and found.first_difference.module == "layers.1.conv2"


@pytest.mark.slow
def test_swapped_inputs_are_found_where_they_are_joined(converted, tmp_path):
    edit = replace_in_model(r"torch\.cat\(\(x, z\)", "torch.cat((z, x)")
    _, found = converted("two_inputs").verify(tmp_path, edit)
    assert found.first_difference is not None and found.first_difference.module == "first"


@pytest.mark.slow
def test_wrong_code_between_layers_is_named_after_the_last_right_one(converted, tmp_path):
    edit = replace_in_model(r"(return self\.last\(.*\))", r"\1 + 0.1")
    _, found = converted("two_inputs").verify(tmp_path, edit)
    assert found.first_difference is not None
    assert (found.first_difference.module, found.first_difference.what) == ("(model)", "code after last")


@pytest.mark.slow
def test_a_baked_parameter_is_found_by_the_perturbation_alone(converted, tmp_path):
    source = converted("resnet")
    values = load_file(source.package / "resnet" / "weights.safetensors")["fc.bias"].tolist()
    edit = replace_in_model(r"self\.fc\((\w+)\)", rf"self.fc(\1) - self.fc.bias + \1.new_tensor({values})")
    _, found = source.verify(tmp_path, edit)
    assert failed(found) and all("perturbed" in check for check in failed(found) if check.startswith("output"))
    assert not any(row.case.startswith("batch") for row in found.rows if not row.passed)


@pytest.mark.slow
def test_a_parameter_without_gradient_is_named(converted, tmp_path):
    edit = replace_in_model(r"self\.fc\((\w+)\)", r"F.linear(\1, self.fc.weight.detach(), self.fc.bias)")
    _, found = converted("resnet").verify(tmp_path, edit)
    assert "gradient: present" in failed(found)
    assert found.first_difference is not None
    assert (found.first_difference.module, found.first_difference.what) == ("fc", "gradient")


@pytest.mark.slow
def test_the_other_momentum_convention_is_caught(converted, tmp_path):
    edit = replace_in_model(r"momentum=0\.(2|1999\d*)\b", "momentum=0.8")
    _, found = converted("resnet").verify(tmp_path, edit)
    assert failed(found) == ["momentum, eps and dropout are the source's"]
    assert found.first_difference is not None
    assert found.first_difference.module == "layers.0.bn1" and "momentum" in parity(found).where


@pytest.mark.slow
def test_a_parameter_that_became_a_buffer_is_caught(converted, tmp_path):
    edit = replace_in_model(
        r"(        self\.stem = .*\n)",
        r'\1        w = self.stem.weight.data\n        del self.stem.weight\n        self.stem.register_buffer("weight", w)\n',
    )
    _, found = converted("resnet").verify(tmp_path, edit)
    assert "inventory" in failed(found)


@pytest.mark.slow
def test_a_package_that_does_not_run_is_a_diagnostic(converted, tmp_path):
    package, found = converted("resnet").verify(tmp_path, replace_in_model(r"self\.stem\(x\)", "self.stem(y)"))
    (diagnostic,) = found.errors
    assert diagnostic.code == "MIG507" and "name 'y' is not defined" in diagnostic.why
    assert "model.py" in diagnostic.where and str(tmp_path) not in diagnostic.where
    assert not found.passed and (package / "UNVERIFIED").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tied", "tagger", "two_inputs"])
def test_other_right_packages_pass(converted, tmp_path, name):
    _, found = converted(name).verify(tmp_path)
    assert found.passed, [str(d) for d in found.diagnostics]
