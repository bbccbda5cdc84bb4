"""What is rendered passes ruff and the allow-list, and the allow-list refuses what it must."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from migrate.codegen import render_package
from migrate.codegen.allow_list import check_source
from migrate.codegen.render import RenderError, _ruff, doctext

REFUSED = [
    "import os",
    "import torch.utils.cpp_extension",
    "from os import path",
    "from .. import other",
    "from subprocess import run",
    "eval('1')",
    "exec('1')",
    "x = __import__('os')",
    "x = ().__class__.__bases__",
    "getattr(x, 'y')",
    "open('f')",
    "x = lambda: 1",
    "torch.load('f')",
    "torch.ops.load_library('f')",
    "with x:\n    pass",
    "def f(:",
    "x = '\0'",
]


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    assert check_source(text, "net/model.py", "net")


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nfrom torch import nn",
        "from .runtime import kernels",
        "super().__init__()",
        "x = torch.zeros(3)[1:]",
    ],
)
def test_allowed(text: str) -> None:
    assert check_source(text, "net/model.py", "net") == []


def test_only_checks_may_start_a_process() -> None:
    assert check_source("import subprocess", "checks/test_parity.py", "net") == []
    assert check_source("import subprocess", "net/model.py", "net")


def test_a_refused_file_is_not_rendered(net: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = net.plan(net.dense(net.batch(4), 2))
    monkeypatch.setattr("migrate.codegen.render.check_source", lambda *_: ["line 1: imports os"])
    with pytest.raises(RenderError, match="imports os"):
        render_package(plan)


def test_rendered_files_are_clean(net: Any, tmp_path: Path) -> None:
    x = net.batch(3, 8, 8)
    for _ in range(30):
        x = net.conv_norm(x, 4)
    texts = render_package(net.plan(net.sigmoid(net.dense(net.mean(x, (2, 3)), 3)), net.mul(x, net.tensor_of(4, 1, 1))))
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
        lines = text.splitlines()
        assert text.endswith("\n")
        if path.endswith(".py"):
            assert max(map(len, lines)) <= 100 and len(lines) <= 300, path
    for command in (["check", "--no-cache"], ["format", "--check", "--no-cache"]):
        done = subprocess.run([_ruff(), *command, "."], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    assert texts["net/model.py"].splitlines()[3] == "# Edit freely; regeneration keeps local/."


def test_rendering_twice_gives_equal_texts(net: Any) -> None:
    plan = net.plan(net.dense(net.batch(4), 2))
    assert render_package(plan) == render_package(plan)


@pytest.mark.parametrize("text", ['a"""b', "a\nb", "a\\", "a\rb", "é", "`x`"])
def test_doctext_ends_no_comment_and_no_docstring(text: str) -> None:
    made = doctext(text)
    assert made.isascii() and '"""' not in made and "\n" not in made and "\r" not in made and not made.endswith("\\")
