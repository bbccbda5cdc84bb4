"""The place on disk where a package goes: whether it is free, and a folder beside it to work in that leaves
nothing behind, and the finished package put there.

Knows nothing of what is written.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from migrate.errors import Exit, MigrateError, error

KEPT = "local"  # the user's own


def refuse_taken(folder: Path, overwrite: bool) -> None:
    """Refuse a place that is taken; what is no package is never replaced.

    Raises:
        MigrateError: exit status 2; MIG107: the folder exists, MIG117: it holds what is no package.
    """
    if not folder.exists() and not folder.is_symlink():
        return
    empty = folder.is_dir() and not any(folder.iterdir())
    if not overwrite:
        todo = "--overwrite replaces all but its local/"
        found = error("MIG107", "the folder exists", where=str(folder), todo=todo)
    elif empty or package_in(folder):
        return
    else:
        why = "it is not a package that migrate wrote, so --overwrite does not replace it"
        found = error("MIG117", "the place is taken", where=str(folder), why=why, todo="choose another with --out")
    raise MigrateError([found], Exit.USAGE)


def package_in(folder: Path) -> str | None:
    """The name of the package that a folder holds, None where it holds none."""
    names = [path.parent.name for path in sorted(folder.glob("*/weights.json")) if path.parent.name != KEPT]
    return names[0] if len(names) == 1 else None


@contextmanager
def stage_beside(folder: Path) -> Generator[Path]:
    """A folder that is gone afterwards, on the file system of `folder`; so are the parents made for it where it fails.

    Raises:
        MigrateError: exit status 2, MIG118: nothing can be written there.
    """
    parent = folder.absolute().parent
    made = [place for place in (parent, *parent.parents) if not place.exists()]
    try:
        parent.mkdir(parents=True, exist_ok=True)
        stage = tempfile.TemporaryDirectory(prefix=".migrate-", dir=parent)
    except OSError as fault:
        _remove_empty(made)
        what = error("MIG118", "cannot write there", where=str(folder), why=fault.strerror or str(fault))
        raise MigrateError([what], Exit.USAGE) from fault
    try:
        with stage as place:
            yield Path(place)
    except BaseException:
        _remove_empty(made)
        raise


def install(staged: Path, folder: Path, *, overwrite: bool) -> None:
    """Put a finished package in its place by renaming; both must be on one file system. A replaced one's `local/` stays.

    Raises:
        MigrateError: the place has been taken since it was looked at, as `refuse_taken`.
    """
    refuse_taken(folder, overwrite)
    staged.chmod(0o755)
    if not folder.exists():
        staged.rename(folder)
        return
    with tempfile.TemporaryDirectory(prefix=".migrate-old-", dir=folder.parent) as aside:
        old = Path(aside) / "old"
        _keep_local(folder, staged)
        folder.rename(old)
        try:
            staged.rename(folder)
        except OSError:
            old.rename(folder)
            raise


def _keep_local(folder: Path, staged: Path) -> None:
    kept = folder / KEPT
    if kept.is_dir():
        shutil.rmtree(staged / KEPT, ignore_errors=True)
        shutil.copytree(kept, staged / KEPT, symlinks=True)


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
