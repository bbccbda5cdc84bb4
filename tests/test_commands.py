"""The commands that the README and the pages show: each is one that the program takes, and those of the README run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import typer

from migrate.cli import app
from runtime.cli import _parser
from runtime.package import Package

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PLACEHOLDER = re.compile(r"[\[\]|]|\.\.\.")


def shown() -> list[str]:
    """The commands at the start of a line, without their comments and without forms that are no commands."""
    lines = (line for page in PAGES for line in page.read_text(encoding="utf-8").splitlines())
    texts = dict.fromkeys(line.partition("#")[0].strip() for line in lines)
    return [text for text in texts if text.startswith(("migrate ", "python -m net ")) and not PLACEHOLDER.search(text)]


def test_there_are_commands_to_hold() -> None:
    assert len(shown()) >= 10


@pytest.mark.parametrize("text", shown())
def test_the_program_takes_what_is_shown(text: str) -> None:
    program, *words = shlex.split(text)
    if program == "python":
        package = Package(
            name="net",
            directory=ROOT,
            load_model=lambda: None,
            compute_loss=lambda: None,
            inputs=(),
            outputs=(),
            targets=(),
        )  # pyright: ignore[reportArgumentType]
        _parser(package).parse_args(words[2:])
        return
    group: Any = typer.main.get_command(app)
    command = group.commands[words[0]]
    command.make_context(words[0], words[1:])


@pytest.mark.slow
def test_the_readmes_commands_run_in_a_users_folder(tmp_path: Path) -> None:
    (tmp_path / "mypkg").mkdir()
    (tmp_path / "mypkg" / "__init__.py").write_text(
        textwrap.dedent("""
            import torch
            from torch import nn

            class GPT(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.embed = nn.Embedding(19, 16)
                    self.block = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
                    self.head = nn.Linear(16, 19)

                def forward(self, ids):
                    return self.head(self.block(self.embed(ids)))

            def build_gpt():
                return GPT(), torch.zeros(2, 6, dtype=torch.long)
        """)
    )
    program = str(Path(sys.executable).with_name("migrate"))
    readme = (ROOT / "README.md").read_text()
    (convert,) = re.findall(r"^(migrate convert mypkg:build_gpt .*?) +#", readme, re.MULTILINE)
    environment = os.environ | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    ran = subprocess.run(
        [program, *shlex.split(convert)[1:]], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for words in ("verify --device cpu", "train --steps 3 --batch-size 4", "export back.onnx"):
        own = [sys.executable, "-m", "gpt", *words.split()]
        ran = subprocess.run(own, cwd=tmp_path / "out", capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr
