"""The parent's side of `worker.py`: starts the process, asks it, and ends it. Knows no task and loads no torch."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from migrate.errors import Diagnostic, Exit, MigrateError, error

REPOSITORY = Path(__file__).resolve().parents[3]


class WorkerProcess:
    """A process that holds the user's module for as long as this object lives.

    Tensors are exchanged as files in `folder`, whose names go with the question or the answer.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="migrate-worker-"))
        path = os.pathsep.join(p for p in (str(REPOSITORY), os.environ.get("PYTHONPATH", "")) if p)
        # -P: the user's folder is searched for the user's modules only, never for ours or torch's while we start
        command = [sys.executable, "-P", "-m", "migrate.frontends.pytorch.worker", str(self.folder)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=os.environ | {"PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is ours; with the group, what the user's code has started ends as well
        )
        self.close = weakref.finalize(self, _end, self._process, self.folder)

    def ask(self, task: str, **arguments: Any) -> dict[str, Any]:
        """The answer to a question.

        Args:
            task: `module:function` of this package.
            arguments: JSON-able.

        Raises:
            MigrateError: as the task raises, or MIG127, exit status 3: the user's code has ended the process.
        """
        assert self._process.stdin and self._process.stdout
        try:
            print(json.dumps({"task": task, "arguments": arguments}), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        except BaseException:
            self.close()
            raise
        return _result(json.loads(line) if line.strip() else None, self._process)


def _result(document: dict[str, Any] | None, process: subprocess.Popen[str]) -> dict[str, Any]:
    if document is None:
        why = f"status {process.wait()}"
        todo = "run the code by itself; it must build the module and return"
        raise MigrateError([error("MIG127", "the code has ended its process", why=why, todo=todo)], Exit.INPUT)
    if "bug" in document:
        raise RuntimeError(document["bug"])
    if "error" in document:
        raise MigrateError([Diagnostic(**item) for item in document["error"]], Exit(document["status"]))
    return document["result"]


def _end(process: subprocess.Popen[str], folder: Path) -> None:
    """Kill the process with all that it has started, and remove its folder."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream:
            with suppress(OSError):  # what was left in the buffer has no reader
                stream.close()
    shutil.rmtree(folder, ignore_errors=True)


def start(folders: Sequence[Path | str], seed: int) -> WorkerProcess:
    """A process that finds the user's modules in `folders` and the current folder, and draws from `seed`."""
    process = WorkerProcess()
    process.ask("factory:prepare", folders=[str(Path(f).resolve()) for f in folders], seed=seed)
    return process
