"""`verify` as a command: passes a sound package, and fails one with a planted fault, by name."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from runtime.verify import Golden, GoldenCase, read_trace
from runtime.verify.run import _gradient


def failed(ran):
    document = json.loads(ran.out)
    return [check["name"] for check in document["checks"] if not check["passed"]]


def test_a_sound_package_passes(tiny):
    ran = tiny.run("verify", "--json", "--trace", "trace.safetensors", "--case", "batch3")
    document = json.loads(ran.out)
    assert ran.status == 0 and failed(ran) == [] and document["passed"] and document["schema"] == 1
    assert document["checks"][0].keys() == {"name", "passed", "error", "tolerance", "detail", "informative"}
    trace = read_trace(tiny.root / "trace.safetensors")
    assert next(iter(trace)) == "stem#0" and trace["block.conv#0"].shape == (3, 8, 4, 4)


def test_an_edited_runtime_is_told_and_verified(tiny):
    runtime = tiny.directory / "runtime"
    source = runtime.resolve()
    runtime.unlink()
    shutil.copytree(source, runtime, ignore=shutil.ignore_patterns("__pycache__"))
    (runtime / "manifest.json").write_text(json.dumps({"schema": 1, "files": {"cli.py": "0" * 64}}))
    ran = tiny.run("verify")
    assert ran.status == 0 and "note  runtime as linked  changed: cli.py" in ran.out


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("torch.relu(self.norm(self.conv(x)))", "torch.relu(self.norm(self.conv(x))).detach()", "gradient: present"),
        (
            "return x + torch.relu(self.norm(self.conv(x)))",
            "y = torch.relu(self.norm(self.conv(x)))\n        return x + 0.9 * y + 0.1 * y.detach()",
            "gradient: random 1",
        ),
    ],
)
def test_a_lost_gradient_fails(tiny, old, new, names):
    tiny.edit("model.py", old, new)
    ran = tiny.run("verify", "--json")
    assert ran.status == 5 and names in failed(ran) and "gradient: stored marks" in failed(ran)
    assert not [name for name in failed(ran) if "scores" in name]


def test_a_wrong_weight_fails(tiny):
    path = tiny.directory / "weights.safetensors"
    weights = load_file(path)
    weights["block.conv.weight"] = torch.flip(weights["block.conv.weight"], (-1,))
    save_file(weights, path)
    ran = tiny.run("verify")
    assert ran.status == 5 and "FAIL  batch2: logits" in ran.out


def test_a_parameter_baked_into_the_code_fails(tiny):
    tiny.edit("model.py", "torch.relu(self.stem(image))", "torch.relu(torch.conv2d(image, STEM, None, 2, 1))")
    weights = load_file(tiny.directory / "weights.safetensors")
    weights["stem.bias"].zero_()
    save_file(weights, tiny.directory / "weights.safetensors")
    text = f"\nSTEM = torch.tensor({weights['stem.weight'].tolist()})\n"
    tiny.edit("model.py", "from torch import nn\n", "from torch import nn\n" + text)
    ran = tiny.run("verify", "--json")
    assert ran.status == 5 and "gradient: present" in failed(ran) and "moved5: logits 0" in failed(ran)


@pytest.mark.parametrize(("sigmas", "remark"), [((0.0,), ""), ((0.0, 1.0), "at redrawn weights")])
def test_gradients_are_checked_at_redrawn_weights_where_a_case_has_them(sigmas, remark):
    module, image = torch.nn.Linear(4, 2).eval(), torch.randn(2, 4)
    cases = [GoldenCase(name=f"c{s}", inputs=(image,), outputs=(module(image),), sigma=s) for s in sigmas]
    before = [p.clone() for p in module.parameters()]
    found = _gradient(module, Golden(cases=tuple(cases)))
    assert {c.detail for c in found if "random" in c.name} == {remark}
    assert all(c.passed for c in found)
    assert all(torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True))
