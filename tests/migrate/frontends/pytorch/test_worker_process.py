"""The process of the user's code: what it answers, what it prints, how it ends, and what it leaves behind."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from migrate.errors import Exit, MigrateError
from migrate.frontends.pytorch.worker_process import REPOSITORY, start
from tests.migrate.frontends.pytorch.users import write_project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(write_project(tmp_path / "project"))
    return tmp_path / "project"


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_process_answers_and_goes_with_its_object(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    process = start([], 0)
    assert process.ask("factory:open_factory", reference="mine:full") == {
        "class": "Net",
        "training": ["batch", "loss", "optimizer", "scheduler"],
    }
    with pytest.raises(MigrateError, match="KeyError: 'missing'") as caught:
        process.ask("factory:open_factory", reference="mine:raises")
    assert caught.value.status == Exit.INPUT
    with pytest.raises(MigrateError, match="EOFError"):
        process.ask("factory:open_factory", reference="mine:reads")
    with pytest.raises(RuntimeError, match="no_such_task"):
        process.ask("factory:no_such_task")
    printed = capfd.readouterr()
    assert printed.out == "" and "imported" in printed.err and "from a process of its own" in printed.err
    folder, pid = process.folder, process._process.pid
    assert folder.is_dir() and alive(pid)
    del process, caught
    gc.collect()
    assert not folder.exists() and not alive(pid)


def test_code_that_ends_its_process(project: Path) -> None:
    process = start([], 0)
    with pytest.raises(MigrateError, match="status 7") as caught:
        process.ask("factory:open_factory", reference="mine:dies")
    assert (caught.value.diagnostics[0].code, caught.value.status) == ("MIG127", Exit.INPUT)
    with pytest.raises(MigrateError, match="MIG127"):
        process.ask("factory:open_factory", reference="mine:build")
    process.close()
    assert not process.folder.exists()


def interrupted(process: subprocess.Popen[str]) -> str:
    """What a process prints that is interrupted; again where the signal fell into a moment in which Python drops it."""
    try:
        for _ in range(6):
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                return process.communicate(timeout=20)[1]
        raise AssertionError("it does not end")
    finally:
        process.kill()
        process.communicate()


def test_an_interrupted_import_leaves_nothing(project: Path, tmp_path: Path) -> None:
    code = "import sys; sys.argv = ['migrate', 'inspect', 'hangs:f']; from migrate.cli import main; main()"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "TMPDIR": str(temporary)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 30
    while time.monotonic() < end and not (project / "hangs").exists():
        time.sleep(0.05)
    (worker,) = temporary.glob("migrate-worker-*")
    printed = interrupted(process)
    assert process.returncode == Exit.INTERRUPTED and "Traceback" not in printed
    assert not worker.exists()
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(worker) not in listed, "no process is left"
