"""A run that is interrupted leaves nothing half-written, whoever is told to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.migrate.commands import COMMAND, environment, tree


def alive(group: int) -> list[str]:
    """The processes of a group that still run; those that ended and were not yet waited for do not."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [row[2] for row in rows if int(row[0]) == group and not row[1].startswith("Z")]


def interrupted(folder: Path, model: Path, when: str, how: signal.Signals, whole_group: bool) -> tuple[int, str]:
    """Start a conversion, send a signal when a line of progress is there, and wait until all its processes are gone."""
    command = [COMMAND, "convert", str(model), "--target", "cpu", "-o", "out"]
    scratch = folder / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        command, cwd=folder, env=environment(scratch), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(when):
            break
    time.sleep(0.5)
    (os.killpg if whole_group else os.kill)(process.pid, how)
    _, err = process.communicate(timeout=60)
    assert alive(process.pid) == []
    return process.returncode, err


@pytest.mark.parametrize(
    ("when", "how", "group"),
    [
        ("verifying", signal.SIGTERM, False),
        pytest.param("verifying", signal.SIGINT, True, marks=pytest.mark.slow),
        pytest.param("verifying", signal.SIGINT, False, marks=pytest.mark.slow),
        pytest.param("auditing", signal.SIGTERM, True, marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_run_leaves_nothing(
    when: str, how: signal.Signals, group: bool, small: Path, tmp_path: Path
) -> None:
    before = tree(tmp_path)
    status, err = interrupted(tmp_path, small, when, how, group)
    assert status == 130 and "Traceback" not in err
    assert tree(tmp_path) == before and sorted(p.name for p in tmp_path.iterdir()) == ["models", "scratch"]
    left = [path.name for path in (tmp_path / "scratch").iterdir()]
    assert [name for name in left if not name.startswith("torchinductor_")] == [], "torch keeps a cache there"
