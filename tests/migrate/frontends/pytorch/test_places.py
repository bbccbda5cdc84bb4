"""What the emitted text and the messages say of the user's files and lines."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from migrate.codegen import plan_package
from migrate.codegen.weights_file import weights_json
from migrate.frontends.pytorch import load_pytorch, program_of
from migrate.frontends.pytorch.places import place_of, relative_file
from migrate.graph.passes import run_passes
from tests.migrate.frontends.pytorch.models import CASES, GPT, GPTBlock
from tests.migrate.frontends.pytorch.parity import plan_of, text_of


def line_of_class(name: str) -> int:
    source = Path(sys.modules[GPT.__module__].__file__ or "").read_text(encoding="utf-8")
    return next(k for k, line in enumerate(source.splitlines(), 1) if line.startswith(f"class {name}("))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for folder in ("mine", "mine/parts"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "mine" / "parts" / "net.py").touch()
    return tmp_path


def test_files_are_told_from_their_package_on(package: Path) -> None:
    assert relative_file(str(package / "mine" / "parts" / "net.py")) == "mine/parts/net.py"
    assert relative_file(str(package / "alone.py")) == "alone.py"
    assert relative_file("/elsewhere/lib/site-packages/timm/models/vit.py") == "timm/models/vit.py"
    assert place_of(nn.Linear).startswith("torch/nn/modules/linear.py:")
    assert place_of(type("Made", (nn.Module,), {"__module__": "nowhere"})) == ""


def test_each_class_says_whose_it_is() -> None:
    plan = plan_of(GPT(), CASES["gpt"][1])
    sources = {one.name: one.source for one in plan.classes}
    file = relative_file(sys.modules[GPT.__module__].__file__ or "")
    assert sources["GPTBlock"] == f"GPTBlock, {file}:{line_of_class('GPTBlock')}"
    assert sources["Model"] == f"GPT, {file}:{line_of_class('GPT')}"
    text = text_of(plan)
    assert f"# from GPTBlock, {file}:" in text and str(Path.home()) not in text
    places = json.loads(weights_json(plan))["places"]
    assert places["transformer.h.1"] == sources["GPTBlock"]


def test_a_lone_program_knows_the_first_line_that_a_module_runs() -> None:
    exported = torch.export.export(GPT().eval(), CASES["gpt"][1])
    graph = load_pytorch(program_of(exported))
    run_passes(graph)
    text = text_of(plan_package(graph, name="m"))
    found = re.search(r"# from GPTBlock, \S*models\.py:(\d+)", text)
    assert found and int(found[1]) > line_of_class(GPTBlock.__name__)
