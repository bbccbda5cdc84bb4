"""What a pickle would do, read from its instructions: nothing is unpickled here, and torch is not loaded.

A pickle is a program that calls what it names. One that names only tensors and containers is a checkpoint; one that names
more, as a whole module does, runs that code when it is loaded, and must be trusted first.
"""

from __future__ import annotations

import pickletools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

MAX_INSTRUCTIONS = 2_000_000  # some 60 000 tensors; read in about three seconds
_LEGACY_PARTS = 4  # a file of torch.save without zip: magic number, protocol, system facts, the object
_DATA = re.compile(
    r"torch(\._utils)? _rebuild_\w+|torch\._tensor _rebuild_from_type_v2|torch\.nn\.parameter Parameter"
    r"|torch(\.storage)? \w*Storage|torch (Size|Tensor|device|u?int\d+|b?float\d+\w*|complex\d+|bool|q\w+)"
    r"|torch\.serialization _get_layout|collections (OrderedDict|defaultdict|Counter)|_codecs encode"
    r"|(builtins|__builtin__) (bytearray|set|complex|dict|list|int|float|bool|str)"
    r"|numpy(\._?core\.multiarray)? (scalar|_reconstruct|dtype|ndarray)"
)
_STRINGS = frozenset(
    ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE", "SHORT_BINSTRING", "BINSTRING", "STRING")
)
_SKIPPED = frozenset(("PROTO", "FRAME"))
_RECALLED = frozenset(("GET", "BINGET", "LONG_BINGET"))
_MEMO = frozenset(("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"))


class PickleFault(ValueError):
    """The bytes are no pickle, or one too long to be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PickleFacts:
    """What a pickle names: `calls` are the `module.name` beyond tensors and containers."""

    calls: tuple[str, ...]

    @property
    def is_data(self) -> bool:
        """Whether it holds tensors, containers and numbers only."""
        return not self.calls


def read_pickle(file: BinaryIO) -> PickleFacts:
    """The facts of a pickle, from where the file stands.

    Raises:
        PickleFault: it ends early, or its instructions are unknown or too many.
    """
    names = dict.fromkeys(_names(file))
    return PickleFacts(calls=tuple(name.replace(" ", ".") for name in names if not _DATA.fullmatch(name)))


def read_legacy(file: BinaryIO) -> PickleFacts:
    """The facts of a file that `torch.save` wrote before version 1.6, or of a plain pickle.

    Raises:
        PickleFault: as `read_pickle`.
    """
    start = file.tell()
    first = next((argument for opcode, argument in _instructions(file) if opcode not in _SKIPPED), None)
    file.seek(start)
    if first != 0x1950A86A20F9469CFC6C:  # the magic number of torch.save
        return read_pickle(file)
    parts = [read_pickle(file) for _ in range(_LEGACY_PARTS)]
    calls = tuple(dict.fromkeys(call for part in parts for call in part.calls))
    return PickleFacts(calls=calls)


def _instructions(file: BinaryIO) -> Iterator[tuple[str, object]]:
    try:
        for opcode, argument, _ in islice(pickletools.genops(file), MAX_INSTRUCTIONS + 1):
            yield opcode.name, argument
    except Exception as fault:  # genops raises many kinds for broken bytes
        raise PickleFault(str(fault) or type(fault).__name__) from fault


def _names(file: BinaryIO) -> Iterator[str]:
    """Each `module name` that is looked up.

    STACK_GLOBAL takes both from the stack, where they may come from the memo: the strings pushed last are followed there.
    """
    pushed: list[str] = []
    memo: dict[int, str] = {}
    last = ""  # the string on top of the stack, where one is
    for count, (opcode, argument) in enumerate(_instructions(file)):
        if count == MAX_INSTRUCTIONS:
            raise PickleFault(f"it has more than {MAX_INSTRUCTIONS} instructions")
        if opcode in _MEMO:
            memo[len(memo) if opcode == "MEMOIZE" else int(str(argument))] = last
        elif opcode in _STRINGS or opcode in _RECALLED:
            last = str(argument) if opcode in _STRINGS else memo.get(int(str(argument)), "")
            pushed.append(last)
        elif opcode not in _SKIPPED:
            last = ""
        if opcode in ("GLOBAL", "INST"):
            yield str(argument)
        elif opcode == "STACK_GLOBAL":
            yield " ".join(pushed[-2:])
        elif opcode.startswith("EXT"):
            yield f"copyreg extension_{argument}"
