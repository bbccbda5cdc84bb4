"""Running commands as a user does, and looking at what they leave on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

COMMAND = str(Path(sys.executable).with_name("migrate"))
Done = subprocess.CompletedProcess[str]


def environment(scratch: Path | None = None) -> dict[str, str]:
    """One thread, and temporary files where a test can look."""
    return os.environ | {"OMP_NUM_THREADS": "1"} | ({} if scratch is None else {"TMPDIR": str(scratch)})


def migrate(*arguments: Any, cwd: Path, scratch: Path | None = None) -> Done:
    """`migrate ARGUMENTS` in a process of its own."""
    command = [COMMAND, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment(scratch), capture_output=True, text=True, timeout=300)


def package(folder: Path, name: str, *arguments: Any) -> Done:
    """`python -m NAME ARGUMENTS` in a package's folder."""
    command = [sys.executable, "-m", name, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=300)


def tree(folder: Path) -> dict[str, bytes]:
    """Every file under a folder, hidden ones too, but for compiled Python."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
