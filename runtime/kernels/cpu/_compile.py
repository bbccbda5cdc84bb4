"""Builds a C file with the system's compiler into a cache of the user's, and loads it. Knows no kernel."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-fopenmp", "-shared", "-fPIC")
TIMEOUT = 60  # seconds; a compiler that takes longer is as good as none


class CompilerError(OSError):
    """No compiler, or it failed; an `OSError`, as a library that cannot be loaded is."""


def cache_folder() -> Path:
    """`$MIGRATE_CACHE`, or the user's cache folder; made private to the user."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get("MIGRATE_CACHE") or Path(base) / "modelmigrate") / "kernels"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
        raise CompilerError(f"{folder} belongs to another user: nothing is loaded from it")
    return folder


def compiler() -> str:
    """`$CC`, or the first of cc, gcc and clang."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and (found := shutil.which(name)):
            return found
    raise CompilerError("no C compiler found (set CC)")


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompilerError(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        raise CompilerError(f"{command[0]} failed: {done.stderr.strip()[:500]}")
    return done.stdout


def _identity(source: Path, program: str) -> str:
    """What the binary depends on: the text, the flags, the compiler and what `native` means on this processor."""
    native = _run([program, *FLAGS[:2], "-dM", "-E", "-x", "c", os.devnull])
    parts = (source.read_text(), " ".join(FLAGS), _run([program, "--version"]), native, platform.machine())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


@cache
def library(source: Path) -> ctypes.CDLL:
    """The compiled `source`; raises `CompilerError` (or another `OSError`) where that is impossible."""
    program, folder = compiler(), cache_folder()
    built = folder / f"{source.stem}-{_identity(source, program)}.so"
    if not built.is_file():
        with tempfile.TemporaryDirectory(dir=folder) as partial:
            fresh = Path(partial) / built.name
            _run([program, *FLAGS, str(source), "-o", str(fresh), "-lm"])
            fresh.replace(built)  # at once, so that another process never loads half a file
    return ctypes.CDLL(str(built))
