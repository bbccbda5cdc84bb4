"""Reads TensorFlow's checkpoints: an index, which is a sorted table of names, and files of plain bytes beside it.

The table is LevelDB's: blocks of entries whose names share their beginning with the one before, an index of blocks, and at
the very end where that index is (https://github.com/google/leveldb/blob/main/doc/table_format.md). TensorFlow writes it
without compression. Knows no model.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from migrate.frontends.tensorflow.messages import damaged, parse
from migrate.frontends.tensorflow.tensors import Array, dims_of, is_numeric, raw_array, type_name

FOOTER, MAGIC = 48, 0xDB4775248B80FB57
BUNDLE = re.compile(r"(.+)\.index$")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def _block(data: bytes, handle: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The names and contents of a block."""
    offset, at = _varint(handle, 0)
    size, _ = _varint(handle, at)
    block = data[offset : offset + size]
    if len(block) != size or data[offset + size] != 0:
        raise ValueError("a block is compressed or lies outside of the file")
    end = size - 4 - 4 * struct.unpack_from("<I", block, size - 4)[0]
    at, name = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        length, at = _varint(block, at)
        name = name[:shared] + block[at : at + own]
        yield name, block[at + own : at + own + length]
        at += own + length


def _table(data: bytes) -> dict[str, bytes]:
    if len(data) < FOOTER or struct.unpack_from("<Q", data, len(data) - 8)[0] != MAGIC:
        raise ValueError("it is no table")
    footer = data[-FOOTER:]
    at = 0
    for _ in range(2):  # where the index of what else there is lies
        _, at = _varint(footer, at)
    blocks = [handle for _, handle in _block(data, footer[at:])]
    return {name.decode(): content for handle in blocks for name, content in _block(data, handle)}


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor of a checkpoint: where its bytes are."""

    path: Path
    offset: int
    dtype: str
    shape: tuple[int, ...]

    def read(self) -> Array:
        """Its elements, mapped from the file."""
        count = int(np.prod(self.shape))
        width = 2 if self.dtype == "bfloat16" else np.dtype(self.dtype).itemsize
        if not count:
            return raw_array(b"", self.dtype, self.shape)
        data: Any = np.memmap(self.path, np.uint8, "r", self.offset, (count * width,))
        return raw_array(data, self.dtype, self.shape)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Every tensor by its key, and the graph of objects that were saved, where there is one."""

    tensors: dict[str, Stored]
    objects: Any


def read_checkpoint(prefix: Path) -> Checkpoint:
    """The checkpoint of which `prefix`.index is the index.

    Raises:
        MigrateError: exit status 3, MIG151: it is damaged, or part of it is missing.
    """
    index = prefix.with_name(prefix.name + ".index")
    try:
        table = _table(index.read_bytes())
        header = parse("BundleHeaderProto", table.pop(""), index.name)
        entries = {key: parse("BundleEntryProto", data, index.name) for key, data in table.items()}
        if header.endianness:
            raise ValueError("its numbers are big-endian")
        objects = entries.pop("_CHECKPOINTABLE_OBJECT_GRAPH", None)
        tensors = {
            key: _stored(prefix, header.num_shards, entry, key)
            for key, entry in entries.items()
            if is_numeric(type_name(entry.dtype))
        }
        return Checkpoint(tensors, _objects(prefix, header.num_shards, objects) if objects is not None else None)
    except (OSError, ValueError, KeyError, IndexError, struct.error) as fault:
        raise damaged(index.name, f"{type(fault).__name__}: {fault}") from fault


def _shard(prefix: Path, shards: int, entry: Any) -> Path:
    path = prefix.with_name(f"{prefix.name}.data-{entry.shard_id:05d}-of-{shards:05d}")
    if entry.offset < 0 or entry.size < 0 or path.stat().st_size < entry.offset + entry.size:
        raise ValueError(f"{path.name} is cut off")
    return path


def _stored(prefix: Path, shards: int, entry: Any, key: str) -> Stored:
    shape = dims_of(entry.shape) or ()
    dtype = type_name(entry.dtype)
    if entry.slices:
        raise ValueError(f"{key!r} is saved in several parts")
    width = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
    if min(shape, default=0) < 0 or int(np.prod(shape, dtype=object)) * width != entry.size:
        raise ValueError(f"{key!r} has {entry.size} bytes, and the shape {shape}")
    return Stored(_shard(prefix, shards, entry), entry.offset, dtype, shape)


def _objects(prefix: Path, shards: int, entry: Any) -> Any:
    """The graph of objects is a string: its length, four bytes of check sum, its bytes."""
    path = _shard(prefix, shards, entry)
    with path.open("rb") as file:
        file.seek(entry.offset)
        data = file.read(entry.size)
    length, at = _varint(data, 0)
    return parse("TrackableObjectGraph", data[at + 4 : at + 4 + length], path.name)
