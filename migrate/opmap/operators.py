"""Operator tables: what a device registers, joined with what PyTorch itself knows of every ATen operator.

Tables are lists on disk, made by `regenerate.py`; nothing here loads torch or parses `native_functions.yaml`. An
operator is named as in ATen, without `aten::` and without `.default`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from migrate.errors import Exit, MigrateError, error
from migrate.opmap.profile import TABLES
from migrate.opmap.target import OperatorTable, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class AtenOperator:
    """One row of `tables/aten.tsv`: `kind` is kernel, metadata, composite or implicit."""

    name: str
    kind: str
    delegate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSets:
    """What a device does with an operator; one in none of the sets is missing."""

    native: frozenset[str]
    metadata: frozenset[str]
    composite: frozenset[str]


def read_rows(path: Path) -> list[list[str]]:
    """The rows of a table: tab-separated, `#` opens a comment line.

    Raises:
        MigrateError: MIG416 where the file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as fault:
        found = error("MIG416", "operator table cannot be read", where=str(path), why=str(fault))
        raise MigrateError([found], Exit.INPUT) from fault
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


@cache
def aten_operators() -> dict[str, AtenOperator]:
    """Every ATen operator that PyTorch's own declarations list."""
    rows = read_rows(TABLES / "aten.tsv")
    return {name: AtenOperator(name=name, kind=kind, delegate=delegate) for name, kind, delegate in rows}


@cache
def operator_sets(table: OperatorTable) -> OperatorSets:
    """The sets of a table: a kernel also covers the operators that delegate to it."""
    aten = aten_operators()
    without = frozenset(table.without)
    listed = ({row[0] for row in read_rows(table.table)} | set(table.plus)) - without
    unknown = sorted(name for name in (*table.without, *table.plus) if name not in aten and "::" not in name)
    if unknown:
        found = error(
            "MIG417", f"no such ATen operators: {', '.join(unknown)}", where=f"a profile of {table.table.name}"
        )
        raise MigrateError([found], Exit.INPUT)
    delegating = {op.name for op in aten.values() if op.delegate in listed} - without
    metadata = frozenset(op.name for op in aten.values() if op.kind == "metadata")
    native = frozenset(listed | delegating) - metadata
    composite = frozenset(op.name for op in aten.values() if op.kind == "composite") - native
    return OperatorSets(native=native, metadata=metadata, composite=composite)


def resolve(target: Target) -> dict[str, Any]:
    """The document `target.json` of docs/architecture.md: figures without sources (null where unknown), operators
    resolved and sorted."""
    sets = operator_sets(target.operators)
    links = {
        link.name: {"bandwidth": link.bandwidth.stated, "latency_seconds": link.latency_seconds.stated}
        for link in target.links.values()
    }
    device, memory = target.device, target.memory_bytes.stated
    return {
        "schema": 1,
        "name": target.name,
        "title": target.title,
        "kind": target.kind,
        "device": {"type": device.type, "module": device.module, "process_group": device.process_group},
        "dtypes": {dtype.name: {"peak_flops": dtype.peak_flops.stated} for dtype in target.dtypes.values()},
        "memory": {"bytes": None if memory is None else int(memory), "bandwidth": target.memory_bandwidth.stated},
        "matrix_tile": list(target.matrix_tile) if target.matrix_tile else None,
        "launch_seconds": target.launch_seconds.stated,
        "links": links,
        "power_watts": target.power_watts.value if target.power_watts else None,
        "host_fallback": target.host_fallback,
        "fused": [
            {"kernel": f.kernel, "operators": list(f.operators), "call": f.call, "backward": f.backward}
            for f in target.fused
        ],
        "environment": list(target.environment),
        "operators": {
            "native": sorted(sets.native),
            "metadata": sorted(sets.metadata),
            "composite": sorted(sets.composite),
        },
    }
