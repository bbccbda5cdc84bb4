"""Archives for the tests: a real program of `torch.export.save`, and copies of it with one part exchanged."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn


class Small(nn.Module):
    """A parameter, a buffer, a constant, a free batch and arithmetic on it, a dict as result."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.register_buffer("shift", torch.ones(3))
        self.table = torch.arange(2.0)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        y = self.linear(x) + self.shift
        return {"flat": y.reshape(x.shape[0] * 3), "twice": self.table * 2}


@cache
def program_bytes() -> bytes:
    """`torch.export.save` of `Small` with a free batch."""
    exported = torch.export.export(Small(), (torch.randn(3, 4),), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    file = io.BytesIO()
    torch.export.save(exported, file)
    return file.getvalue()


def members(data: bytes) -> dict[str, bytes]:
    """The members of an archive, without its outermost folder."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name.split("/", 1)[1]: archive.read(name) for name in archive.namelist()}


def program_with(path: Path, exchange: Mapping[str, bytes | Callable[[Any], Any] | None]) -> Path:
    """The program with members exchanged: by bytes, by a function of their JSON, or (None) left out."""
    parts: dict[str, Any] = {**members(program_bytes()), **{k: v for k, v in exchange.items() if isinstance(v, bytes)}}
    for name, change in exchange.items():
        if change is None:
            del parts[name]
        elif callable(change):
            document = json.loads(parts[name])
            parts[name] = json.dumps(change(document) or document).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(f"archive/{name}", content)
    return path


def text_exchanged(old: str, new: str) -> Callable[[Any], Any]:
    """Every occurrence of a text in the JSON exchanged."""

    def change(document: Any) -> Any:
        text = json.dumps(document)
        assert old in text
        return json.loads(text.replace(old, new))

    return change


def saved(value: Any, *, zipped: bool = True) -> bytes:
    """`torch.save` of a value."""
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=zipped)
    return file.getvalue()
