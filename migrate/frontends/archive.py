"""Opens a zip archive of unknown origin: everything that its directory claims is checked before a member is read.

Knows zip, and nothing of what PyTorch puts into it. Reads no member by itself and writes nothing to disk.
"""

from __future__ import annotations

import re
import stat
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from migrate.errors import Exit, MigrateError, error

MAX_DIRECTORY = 16 << 20  # bytes of the central directory: 250 000 members, read in two seconds
MAX_RATIO = 200  # PyTorch stores tensors as they are and compresses source text only, seen at ratios below 30
MAX_COMPRESSED = 256 << 20  # bytes that all compressed members may become together
_END = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_ENCRYPTED = 0x1
_LOCAL_HEADER = 30  # bytes before a member's name and its data
_UNSAFE_NAME = re.compile(r"^[/\\]|^[A-Za-z]:|\\|(^|/)\.\.(/|$)|[\x00-\x1f]")


def open_archive(file: BinaryIO, name: str) -> zipfile.ZipFile:
    """The archive, once its names, kinds and sizes are safe to read.

    Args:
        file: seekable; it is closed by its owner, not here.
        name: of the file, as the user knows it.

    Raises:
        MigrateError: exit status 3; MIG120 broken or cut off, MIG121 unsafe to read.
    """
    size = file.seek(0, 2)
    try:
        claimed = _directory_size(file, size)
        if claimed > MAX_DIRECTORY:
            raise unsafe(name, f"its directory takes {claimed} bytes")
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, struct.error, ValueError, OSError, NotImplementedError) as fault:
        raise broken(name, str(fault)) from fault
    for member, why in _faults(archive, size):
        raise unsafe(name, why, member)
    return archive


def read_member(archive: zipfile.ZipFile, member: str, name: str) -> bytes:
    """The bytes of a member, its checksum compared.

    Raises:
        MigrateError: exit status 3, MIG120.
    """
    try:
        return archive.read(member)
    except KeyError as fault:
        raise broken(name, f"it has no member {member!r}") from fault
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, ValueError) as fault:
        raise broken(name, str(fault), member) from fault
    except Exception as fault:  # zlib.error, whose module need not exist
        raise broken(name, f"{type(fault).__name__}: {fault}", member) from fault


def roots(archive: zipfile.ZipFile) -> set[str]:
    """The names of the archive's outermost folders and files."""
    return {member.split("/", 1)[0] for member in archive.namelist()}


def broken(name: str, why: str, member: str = "") -> MigrateError:
    """MIG120, exit status 3."""
    what = error(
        "MIG120",
        "the archive is broken or cut off",
        where=_place(name, member),
        why=why,
        todo="copy or download the file again",
    )
    return MigrateError([what], Exit.INPUT)


def unsafe(name: str, why: str, member: str = "") -> MigrateError:
    """MIG121, exit status 3."""
    what = error(
        "MIG121",
        "the archive is not safe to read",
        where=_place(name, member),
        why=why,
        todo="take the file from a source that you trust; torch.save and torch.export.save write no such archive",
    )
    return MigrateError([what], Exit.INPUT)


def open_file(path: Path) -> BinaryIO:
    """The file for reading.

    Raises:
        MigrateError: exit status 3, MIG101.
    """
    try:
        return path.open("rb")
    except OSError as fault:
        why = fault.strerror or str(fault)
        raise MigrateError([error("MIG101", "cannot read the file", where=path.name, why=why)], Exit.INPUT) from fault


def _place(name: str, member: str) -> str:
    return f"{name}, member {member!r}" if member else name


def _directory_size(file: BinaryIO, size: int) -> int:
    """What the end record says of the directory, before zipfile reads that much."""
    tail_size = min(size, (1 << 16) + _END.size + _LOCATOR.size)
    file.seek(size - tail_size)
    tail = file.read(tail_size)
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or len(tail) - end < _END.size or end + _END.size + _END.unpack_from(tail, end)[7] != len(tail):
        raise zipfile.BadZipFile("the directory at its end is missing")  # another may lie in a member
    claimed = _END.unpack_from(tail, end)[5]
    locator = end - _LOCATOR.size
    if locator >= 0 and tail[locator:].startswith(b"PK\x06\x07"):
        file.seek(_LOCATOR.unpack_from(tail, locator)[2])
        claimed = max(claimed if claimed != 0xFFFFFFFF else 0, _END64.unpack(file.read(_END64.size))[8])
    return claimed


def _faults(archive: zipfile.ZipFile, size: int) -> Iterator[tuple[str, str]]:
    """Members with why each must not be read."""
    members = archive.infolist()
    seen: set[str] = set()
    compressed = 0
    for member in members:
        name = member.filename
        if _UNSAFE_NAME.search(member.orig_filename) or not name:
            yield name, "its name leads out of the archive"
        if name in seen:
            yield name, "two members have this name"
        seen.add(name)
        yield from ((name, why) for why in _faults_of(member))
        if member.compress_type != zipfile.ZIP_STORED:
            compressed += member.file_size
    if compressed > MAX_COMPRESSED:
        yield "", f"its compressed members claim {compressed} bytes"
    ordered = sorted(members, key=lambda member: member.header_offset)
    if ordered and ordered[0].header_offset != 0:
        yield ordered[0].filename, "the file does not begin with its first member"
    ends = [member.header_offset for member in ordered[1:]] + [size]
    for member, end in zip(ordered, ends, strict=True):
        if member.header_offset + _LOCAL_HEADER + member.compress_size > end:
            yield member.filename, "its data overlaps another member's, or runs past the end of the file"


def _faults_of(member: zipfile.ZipInfo) -> Iterator[str]:
    if stat.S_ISLNK(member.external_attr >> 16):
        yield "it is a symbolic link"
    if member.flag_bits & _ENCRYPTED:
        yield "it is encrypted"
    if member.compress_type == zipfile.ZIP_STORED:
        if member.file_size != member.compress_size:
            yield f"it is not compressed, and claims {member.file_size} bytes of {member.compress_size}"
    elif member.compress_type != zipfile.ZIP_DEFLATED:
        yield f"it is compressed by method {member.compress_type}"
    elif member.file_size > MAX_RATIO * max(member.compress_size, 1):
        yield f"it claims to become {member.file_size} bytes of {member.compress_size}"
