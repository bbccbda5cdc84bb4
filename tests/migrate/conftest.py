"""A model converted once by the command line for all tests that look at the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from migrate.cli import app, guarded
from tests.migrate.commands import Done, migrate
from tests.onnx_files import conv_net, mlp, save


@dataclass(frozen=True)
class Flow:
    """What `migrate convert` was given, said, and wrote."""

    model: Path
    folder: Path
    done: Done


@pytest.fixture(scope="session")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Flow:
    root = tmp_path_factory.mktemp("flow")
    model, folder = save(conv_net(), root / "net.onnx"), root / "package"
    done = migrate("convert", model, "--target", "vendor_a", "-o", folder, "--json", cwd=root)
    return Flow(model=model, folder=folder, done=done)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A file that converts fast."""
    return save(mlp(), tmp_path / "models" / "small.onnx")


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command line in this process: exit status, stdout, stderr."""

    def run(*arguments: Any) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            guarded(lambda: app([str(a) for a in arguments], prog_name="migrate"))
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return run


@pytest.fixture
def lacking(tmp_path: Path) -> Path:
    """A target like vendor_a without kernels for ReLU: its decomposition must be registered first."""
    import migrate.opmap

    folder = Path(migrate.opmap.__file__).parent
    text = (folder / "targets" / "vendor_a.toml").read_text()
    table = folder / "tables" / "vendor_a.tsv"
    text = text.replace('name = "vendor_a"', 'name = "lacking"')
    text = text.replace('table = "vendor_a.tsv"', f'table = "{table}"\nwithout = ["relu", "threshold_backward"]')
    profile = tmp_path / "profiles" / "lacking.toml"
    profile.parent.mkdir()
    profile.write_text(text)
    return profile
