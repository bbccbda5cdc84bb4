"""weights.safetensors and weights.json: every tensor once, one at a time, the same bytes every time.

Knows the plan's tensors; reads each from its source just before it is written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from migrate.codegen.plan import PackagePlan, TensorPlan

MAX_SHARD_BYTES = 4 << 30
_PART_BYTES = 16 << 20
_DTYPES = {
    "float64": "F64", "float32": "F32", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8",
    "bool": "BOOL", "complex64": "C64",
}  # fmt: skip


def stored_array(tensor: TensorPlan) -> np.ndarray[Any, np.dtype[Any]]:
    """The tensor as it is stored: contiguous, half precision as float32."""
    array = np.asarray(tensor.weight.array())
    return np.ascontiguousarray(array, dtype=tensor.dtype).reshape(tensor.shape)


def _parts(tensor: TensorPlan) -> Iterator[np.ndarray[Any, np.dtype[Any]]]:
    """The tensor as it is stored, a few rows at a time: a large one that is turned around is never there twice."""
    if not _bytes(tensor):
        return
    array = np.asarray(tensor.weight.array())
    if array.ndim == 0 or array.shape[0] != tensor.shape[0]:
        yield stored_array(tensor)
        return
    rows = max(1, len(array) * _PART_BYTES // _bytes(tensor))
    for start in range(0, len(array), rows):
        yield np.ascontiguousarray(array[start : start + rows], dtype=tensor.dtype)


def _bytes(tensor: TensorPlan) -> int:
    return int(np.prod(tensor.shape, dtype=np.int64)) * np.dtype(tensor.dtype).itemsize


def _shards(tensors: list[TensorPlan], limit: int) -> list[list[TensorPlan]]:
    shards: list[list[TensorPlan]] = [[]]
    size = 0
    for tensor in tensors:
        if shards[-1] and size + _bytes(tensor) > limit:
            shards.append([])
            size = 0
        shards[-1].append(tensor)
        size += _bytes(tensor)
    return shards


def write_weights(plan: PackagePlan, folder: Path, limit: int = MAX_SHARD_BYTES) -> None:
    """Write the tensors; more than `limit` bytes go into numbered files."""
    stored = [tensor for tensor in plan.tensors if tensor.tied_to is None]
    shards = _shards(stored, limit)
    for number, shard in enumerate(shards, 1):
        name = f"weights-{number:05d}-of-{len(shards):05d}" if len(shards) > 1 else "weights"
        _write(shard, folder / f"{name}.safetensors")


def _write(tensors: list[TensorPlan], path: Path) -> None:
    entries: dict[str, Any] = {}
    offset = 0
    for tensor in tensors:
        end = offset + _bytes(tensor)
        entries[tensor.key] = {
            "dtype": _DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    header = json.dumps(entries, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        for tensor in tensors:
            for part in _parts(tensor):
                file.write(part.reshape(-1).view("uint8").data)


def weights_json(plan: PackagePlan) -> str:
    """Where every tensor of the state_dict comes from, and the source nodes, class and line of every module."""
    entries = [_entry(tensor) for tensor in plan.tensors]
    modules = {key: list(nodes) for key, nodes in plan.modules.items()}
    document = {"schema": 1, "tensors": entries, "modules": modules, "places": dict(plan.places)}
    return json.dumps(document, indent=1) + "\n"


def _entry(tensor: TensorPlan) -> dict[str, Any]:
    weight = tensor.weight
    return {
        "target": tensor.key,
        "source": weight.source,
        "shape": list(tensor.shape),
        "dtype": tensor.dtype,
        "role": "parameter" if weight.role == "parameter" else "buffer",
        "kind": weight.kind,
        "trainable": weight.role == "parameter" and weight.trainable,
        "transform": [[step.kind, _plain(step.args)] for step in weight.steps],
        "tied_to": tensor.tied_to,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list | np.ndarray):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value.item() if isinstance(value, np.generic) else value


def manifest(files: dict[str, bytes]) -> str:
    """sha256 of each linked file."""
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in sorted(files.items())}
    return json.dumps({"schema": 1, "files": digests}, indent=1) + "\n"


def runtime_files() -> Iterator[tuple[str, bytes]]:
    """The runtime as it is linked: every file of its source, unmodified."""
    import runtime

    root = Path(runtime.__path__[0])
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        hidden = any(part.startswith((".", "__pycache__")) for part in relative.parts)
        if path.is_file() and not hidden and path.suffix not in (".pyc", ".so", ".o"):
            yield relative.as_posix(), path.read_bytes()
