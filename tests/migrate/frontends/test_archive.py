"""A zip archive is refused before a member is read, wherever its directory claims what is not safe."""

from __future__ import annotations

import io
import stat
import struct
import time
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable

import pytest

from migrate.errors import Exit, MigrateError
from migrate.frontends.archive import open_archive, read_member, roots


def written(fill: Callable[[zipfile.ZipFile], object]) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of duplicate names
        with zipfile.ZipFile(file, "w") as archive:
            fill(archive)
    return file.getvalue()


def named(*names: str) -> bytes:
    return written(lambda archive: [archive.writestr(zipfile.ZipInfo(name), b"x") for name in names])


def link(archive: zipfile.ZipFile) -> None:
    member = zipfile.ZipInfo("a/weights")
    member.create_system, member.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    archive.writestr(member, "/etc/passwd")


def bomb(archive: zipfile.ZipFile) -> None:
    archive.writestr("a/data.pkl", bytes(50 << 20), zipfile.ZIP_DEFLATED)


def patched(data: bytes, mark: bytes, offset: int, value: bytes) -> bytes:
    """The bytes behind the last occurrence of a record's mark exchanged."""
    place = data.rindex(mark) + offset
    return data[:place] + value + data[place + len(value) :]


def claims(size: int) -> bytes:
    """A stored member that claims another size than it has."""
    return patched(named("a/data/0"), b"PK\x01\x02", 24, struct.pack("<L", size))


def overlapping() -> bytes:
    """Two members of the directory with one place in the file."""
    return patched(named("a/0", "a/1"), b"PK\x01\x02", 42, struct.pack("<L", 0))


def encrypted() -> bytes:
    return patched(named("a/0"), b"PK\x01\x02", 8, struct.pack("<H", 1))


def directory_of(size: int) -> bytes:
    return patched(named("a/0"), b"PK\x05\x06", 12, struct.pack("<L", size))


HOSTILE = {
    "parent": (named("a/../../b"), "MIG121", "leads out"),
    "parent at the end": (named("a/.."), "MIG121", "leads out"),
    "absolute": (named("/etc/cron.d/x"), "MIG121", "leads out"),
    "drive": (named("C:/x"), "MIG121", "leads out"),
    "backslash": (named("a\\..\\b"), "MIG121", "leads out"),
    "line break": (named("a/x\ny"), "MIG121", "leads out"),
    "duplicate": (named("a/x", "a/y", "a/x"), "MIG121", "two members"),
    "symbolic link": (written(link), "MIG121", "symbolic link"),
    "bomb": (written(bomb), "MIG121", "claims to become 52428800 bytes"),
    "lying size": (claims(1 << 31), "MIG121", "claims 2147483648 bytes of 1"),
    "overlap": (overlapping(), "MIG121", "overlaps"),
    "encrypted": (encrypted(), "MIG121", "encrypted"),
    "other method": (
        written(lambda archive: archive.writestr("a/x", b"x" * 9, zipfile.ZIP_BZIP2)),
        "MIG121",
        "method 12",
    ),
    "large directory": (directory_of(1 << 30), "MIG121", "its directory takes"),
    "cut off": (named("a/x", "a/y")[:-30], "MIG120", "directory"),
    "cut off behind an archive in it": (
        written(lambda a: a.writestr("a/x", named("b/x")))[:-20],
        "MIG120",
        "directory",
    ),
    "head alone": (b"PK\x03\x04", "MIG120", "directory"),
    "empty": (b"", "MIG120", "directory"),
    "directory elsewhere": (
        patched(named("a/x"), b"PK\x05\x06", 16, struct.pack("<L", 1 << 30)),
        "MIG121",
        "does not begin",
    ),
    "prefix": (b"MZ" + named("a/x"), "MIG121", "does not begin"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_archives(case: str) -> None:
    data, code, why = HOSTILE[case]
    start = time.monotonic()
    tracemalloc.start()
    try:
        with pytest.raises(MigrateError) as caught:
            open_archive(io.BytesIO(data), "model.pt")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    found = caught.value.diagnostics[0]
    assert (found.code, caught.value.status) == (code, Exit.INPUT)
    assert why in found.why and "model.pt" in found.where and found.todo
    assert time.monotonic() - start < 1 and peak < 4 << 20


def test_many_compressed_members_are_bounded_together() -> None:
    def fill(archive: zipfile.ZipFile) -> None:
        content = b"".join(n.to_bytes(4, "little") * 32 for n in range(1 << 17))  # compresses about 60-fold
        for name in range(17):
            archive.writestr(f"a/{name}", content, zipfile.ZIP_DEFLATED, compresslevel=1)

    with pytest.raises(MigrateError, match="its compressed members claim"):
        open_archive(io.BytesIO(written(fill)), "model.pt")


def test_a_sound_archive_is_read() -> None:
    archive = open_archive(io.BytesIO(named("a/x", "a/data/0")), "model.pt")
    assert roots(archive) == {"a"}
    assert read_member(archive, "a/x", "model.pt") == b"x"
    with pytest.raises(MigrateError, match="no member 'a/y'"):
        read_member(archive, "a/y", "model.pt")


def test_a_changed_member_is_told_by_its_checksum() -> None:
    data = named("a/x").replace(b"a/xx", b"a/xy", 1)
    archive = open_archive(io.BytesIO(data), "model.pt")
    with pytest.raises(MigrateError, match=r"MIG120.*Bad CRC"):
        read_member(archive, "a/x", "model.pt")
