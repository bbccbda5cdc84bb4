"""Runs a package in a fresh process, as a user would, with its threads pinned. Knows nothing of what is compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from migrate.errors import Exit, MigrateError, error

_SCRIPT = Path(__file__).with_name("_in_package.py")
_HOST = "cpu"
_VERDICTS = (Exit.OK, Exit.PARITY)


def num_threads() -> int:
    """Threads of every process that verification starts: two processes with as many threads as cores run 50 times slower."""
    return int(os.environ.get("OMP_NUM_THREADS") or min(2, os.cpu_count() or 1))


def verify_package(package_dir: Path, name: str, *, trace: Path | None = None, case: str | None = None) -> Any:
    """The document of `python -m NAME verify --json`.

    Raises:
        MigrateError: MIG507, exit status 5: the package does not run.
    """
    arguments = ["-m", name, "verify", "--json", "--device", _HOST]
    if trace is not None:
        arguments += ["--trace", str(trace)]
    if case is not None:
        arguments += ["--case", case]
    return _run(package_dir, arguments)


def ask_package(package_dir: Path, name: str, task: str, case: str, seed: int, out: Path) -> Any:
    """The answer of `_in_package.py` to a task."""
    return _run(package_dir, [str(_SCRIPT), name, task, case, str(seed), str(out)])


def _run(package_dir: Path, arguments: Sequence[str]) -> Any:
    threads = str(num_threads())
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=package_dir, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode in _VERDICTS:
        try:
            return json.loads(done.stdout)
        except json.JSONDecodeError:
            pass
    lines = [line for line in done.stderr.strip().splitlines() if line.strip()]
    why = lines[-1][:300] if lines else f"it ended with status {done.returncode} and said nothing"
    place = next((line.strip() for line in reversed(lines) if line.strip().startswith("File ")), "")
    found = error("MIG507", "the emitted package does not run", where=place.replace(str(package_dir), ""), why=why)
    raise MigrateError([found], Exit.PARITY)
