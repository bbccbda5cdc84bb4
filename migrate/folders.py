"""The place on disk where a package goes: whether it is free, and a folder beside it to work in that leaves nothing behind.

Knows nothing of what is written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from migrate.errors import Exit, MigrateError, error


def refuse_taken(folder: Path, overwrite: bool) -> None:
    """Refuse a place that is taken; what is no package is never replaced.

    Raises:
        MigrateError: exit status 2, MIG107.
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
        found = error("MIG107", "the place is taken", where=str(folder), why=why, todo="choose another with --out")
    raise MigrateError([found], Exit.USAGE)


def package_in(folder: Path) -> str | None:
    """The name of the package that a folder holds, None where it holds none."""
    names = [path.parent.name for path in sorted(folder.glob("*/weights.json")) if path.parent.name != "local"]
    return names[0] if len(names) == 1 else None


@contextmanager
def stage_beside(folder: Path) -> Generator[Path]:
    """A folder that is gone afterwards, on the file system of `folder`; so are the parents made for it where it fails.

    Raises:
        MigrateError: exit status 2, MIG107: nothing can be written there.
    """
    parent = folder.absolute().parent
    made = [place for place in (parent, *parent.parents) if not place.exists()]
    try:
        parent.mkdir(parents=True, exist_ok=True)
        stage = tempfile.TemporaryDirectory(prefix=".migrate-", dir=parent)
    except OSError as fault:
        _remove_empty(made)
        what = error("MIG107", "cannot write there", where=str(folder), why=fault.strerror or str(fault))
        raise MigrateError([what], Exit.USAGE) from fault
    try:
        with stage as place:
            yield Path(place)
    except BaseException:
        _remove_empty(made)
        raise


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
