"""Reads a target profile from TOML and checks it against the schema of `docs/targets.md`.

Every fault of a profile becomes a diagnostic, and all are reported at once. Must not know torch or what an operator
table holds.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from migrate.errors import Diagnostic, Exit, MigrateError, error
from migrate.opmap.target import Device, Dtype, Figure, FusedKernel, Kind, Link, OperatorTable, Target

TARGETS = Path(__file__).parent / "targets"
TABLES = Path(__file__).parent / "tables"
SCHEMA = 1
UNKNOWN = "unknown"
KINDS = ("host", "reference", "product")
LINKS = ("host", "node", "cluster")
KEYS = {
    "": (
        "schema name title kind device dtypes memory matrix_unit launch_seconds links power_watts price operators "
        "host_fallback fused environment"
    ),
    "device": "type module process_group",
    "memory": "bytes bandwidth",
    "matrix_unit": "tile source",
    "operators": "table without plus",
    "figure": "value source verified",
    "dtype": "peak_flops",
    "link": "bandwidth latency_seconds",
    "fused": "kernel operators call backward source",
}
KNOWN_DTYPES = frozenset(
    (
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "float8_e4m3fn",
        "float8_e5m2",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
        "complex64",
        "complex128",
    )
)

Table = Mapping[str, Any]


class Reader:
    """Takes typed values out of a parsed profile and gathers what is wrong with it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.faults: list[Diagnostic] = []

    def fault(self, code: str, what: str, where: str, todo: str = "see docs/targets.md") -> None:
        """Remembers one fault of the profile."""
        self.faults.append(error(code, what, where=f"{self.path.name}: {where}", todo=todo))

    def value(self, table: Table, key: str, kind: type, where: str, default: Any = None, *, needed: bool = True) -> Any:
        """`table[key]` if it is of `kind`; else a fault (or silence where it is not `needed`), and `default`."""
        place = f"{where}.{key}".lstrip(".")
        if key not in table:
            if needed:
                self.fault("MIG412", f"key {key!r} is missing", place)
            return default
        found = table[key]
        if not isinstance(found, kind) or (kind is not bool and isinstance(found, bool)):
            self.fault("MIG413", f"{found!r} is not a {kind.__name__}", place)
            return default
        return found

    def keys(self, table: Table, schema: str, where: str) -> None:
        """Faults for keys the schema does not know: a misspelt key must not be ignored."""
        for key in table.keys() - set(KEYS[schema].split()):
            self.fault("MIG415", f"key {key!r} is not known here", where or "top level", f"known: {KEYS[schema]}")

    def table(self, table: Table, key: str, schema: str | None, where: str = "") -> Table:
        """A sub-table, checked for unknown keys where it has a schema."""
        found = cast(Table, self.value(table, key, dict, where, {}))
        if schema:
            self.keys(found, schema, f"{where}.{key}".lstrip("."))
        return found

    def strings(self, table: Table, key: str, where: str) -> tuple[str, ...]:
        """An optional list of strings."""
        found = cast("list[Any]", self.value(table, key, list, where, [], needed=False))
        if any(not isinstance(item, str) for item in found):
            self.fault("MIG413", f"{found!r} is not a list of strings", f"{where}.{key}".lstrip("."))
            return ()
        return tuple(found)

    def figure(self, table: Table, key: str, where: str) -> Figure:
        """A positive number, or "unknown", with `source` and `verified`."""
        place = f"{where}.{key}".lstrip(".")
        entry = self.table(table, key, "figure", where)
        if not entry:
            return Figure(value=1.0, source="", verified=False)
        value = entry.get("value")
        known = value != UNKNOWN
        if not known:
            value = 0.0 if key.endswith("seconds") else math.inf
        elif isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            self.fault("MIG414", f'value {value!r} is not a positive number or "{UNKNOWN}"', place)
            value = 1.0
        source = self.value(entry, "source", str, place, "")
        if not source:
            self.fault("MIG414", "a figure without a source", place, "say where the number comes from")
        verified = self.value(entry, "verified", bool, place, False)
        return Figure(value=float(value), source=source, verified=verified, known=known)

    def optional_figure(self, table: Table, key: str) -> Figure | None:
        """A figure that a profile may leave out."""
        return self.figure(table, key, "") if key in table else None


def read_device(reader: Reader, document: Table) -> Device:
    """The `[device]` table."""
    table = reader.table(document, "device", "device")
    kind = reader.value(table, "type", str, "device", "invalid")
    if not kind.isalpha():
        reader.fault("MIG414", f"{kind!r} has other characters than letters", "device.type", "DeviceMesh needs letters")
    module = reader.value(table, "module", str, "device", needed=False)
    return Device(type=kind, module=module, process_group=reader.value(table, "process_group", str, "device", ""))


def read_dtypes(reader: Reader, document: Table) -> dict[str, Dtype]:
    """The `[dtypes.*]` tables; float32 must be there, since weights and optimizer state are kept in it."""
    found: dict[str, Dtype] = {}
    for name in reader.table(document, "dtypes", None):
        entry = reader.table(document["dtypes"], name, "dtype", "dtypes")
        if name not in KNOWN_DTYPES:
            reader.fault("MIG414", f"{name!r} is not a dtype of torch", f"dtypes.{name}")
        found[name] = Dtype(name=name, peak_flops=reader.figure(entry, "peak_flops", f"dtypes.{name}"))
    if "float32" not in found:
        reader.fault("MIG412", "float32 is missing", "dtypes", "training keeps weights in float32")
    return found


def read_links(reader: Reader, document: Table) -> dict[str, Link]:
    """The `[links.*]` tables: to the host, inside a node, between nodes."""
    found: dict[str, Link] = {}
    for name in reader.table(document, "links", None):
        where = f"links.{name}"
        entry = reader.table(document["links"], name, "link", "links")
        if name not in LINKS:
            reader.fault("MIG414", f"{name!r} is not one of {', '.join(LINKS)}", where)
        latency = reader.figure(entry, "latency_seconds", where)
        found[name] = Link(name=name, bandwidth=reader.figure(entry, "bandwidth", where), latency_seconds=latency)
    if "host" not in found:
        reader.fault("MIG412", "the link to the host is missing", "links", "data and fallbacks cross it")
    return found


def read_tile(reader: Reader, document: Table) -> tuple[int, int, int] | None:
    """The optional `[matrix_unit]` table: rows, columns and depth of one step of the matrix unit."""
    if "matrix_unit" not in document:
        return None
    table = reader.table(document, "matrix_unit", "matrix_unit")
    tile = cast("list[Any]", reader.value(table, "tile", list, "matrix_unit", []))
    if len(tile) != 3 or any(not isinstance(n, int) or n <= 0 for n in tile):
        reader.fault("MIG414", f"tile {tile!r} is not three positive whole numbers", "matrix_unit.tile")
        return None
    return (tile[0], tile[1], tile[2])


def read_fused(reader: Reader, document: Table) -> tuple[FusedKernel, ...]:
    """The optional `[[fused]]` tables."""
    found: list[FusedKernel] = []
    for index, entry in enumerate(cast("list[Table]", reader.value(document, "fused", list, "", [], needed=False))):
        where = f"fused[{index}]"
        reader.keys(entry, "fused", where)
        found.append(
            FusedKernel(
                kernel=reader.value(entry, "kernel", str, where, ""),
                operators=reader.strings(entry, "operators", where),
                call=reader.value(entry, "call", str, where, ""),
                backward=reader.value(entry, "backward", bool, where, False),
                source=reader.value(entry, "source", str, where, ""),
            )
        )
    return tuple(found)


def read_operators(reader: Reader, document: Table) -> OperatorTable:
    """The `[operators]` table: a list beside the profile, or one of the tool's own."""
    table = reader.table(document, "operators", "operators")
    name = reader.value(table, "table", str, "operators", "")
    places = (reader.path.parent / name, TABLES / name)
    found = next((place for place in places if name and place.is_file()), None)
    if name and found is None:
        tried = ", ".join(str(place) for place in places)
        reader.fault("MIG418", f"operator table {name!r} does not exist", "operators.table", f"looked for {tried}")
    return OperatorTable(
        table=found or TABLES / "missing",
        without=reader.strings(table, "without", "operators"),
        plus=reader.strings(table, "plus", "operators"),
    )


def parse(path: Path, text: str) -> Table:
    """The profile as plain values.

    Raises:
        MigrateError: MIG411 where it is not TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise MigrateError([error("MIG411", "not a TOML file", where=path.name, why=str(fault))], Exit.INPUT) from fault


def read_target(path: Path, text: str) -> Target:
    """The target that `text`, read from `path`, describes.

    Raises:
        MigrateError: with every fault of the profile (MIG411 to MIG418), status `Exit.INPUT`.
    """
    document = parse(path, text)
    reader = Reader(path)
    reader.keys(document, "", "")
    if document.get("schema") != SCHEMA:
        reader.fault("MIG414", f"schema {document.get('schema')!r} is not {SCHEMA}", "schema")
    kind = reader.value(document, "kind", str, "", "product")
    if kind not in KINDS:
        reader.fault("MIG414", f"{kind!r} is not one of {', '.join(KINDS)}", "kind")
    memory = reader.table(document, "memory", "memory")
    target = Target(
        name=reader.value(document, "name", str, "", path.stem),
        title=reader.value(document, "title", str, "", path.stem),
        kind=cast(Kind, kind),
        path=path,
        device=read_device(reader, document),
        dtypes=read_dtypes(reader, document),
        memory_bytes=reader.figure(memory, "bytes", "memory"),
        memory_bandwidth=reader.figure(memory, "bandwidth", "memory"),
        matrix_tile=read_tile(reader, document),
        launch_seconds=reader.figure(document, "launch_seconds", ""),
        links=read_links(reader, document),
        power_watts=reader.optional_figure(document, "power_watts"),
        price=reader.optional_figure(document, "price"),
        operators=read_operators(reader, document),
        host_fallback=reader.value(document, "host_fallback", bool, "", False),
        fused=read_fused(reader, document),
        environment=reader.strings(document, "environment", ""),
    )
    if target.name != path.stem:
        reader.fault("MIG414", f"name {target.name!r} differs from the file's name", "name")
    if reader.faults:
        raise MigrateError(reader.faults, Exit.INPUT)
    return target


def list_targets() -> tuple[str, ...]:
    """Names of the targets that come with the tool: one file each."""
    return tuple(sorted(path.stem for path in TARGETS.glob("*.toml")))


def load_target(name_or_path: str | Path) -> Target:
    """A target by name, or a profile of the user's own by path (`*.toml`).

    Raises:
        MigrateError: MIG410 for a target that does not exist (`Exit.USAGE`), MIG411 to MIG418 for a faulty profile.
    """
    given = str(name_or_path)
    path = Path(given) if given.endswith(".toml") else TARGETS / f"{given}.toml"
    if not path.is_file():
        known = f"use one of {', '.join(list_targets())}, or the path of a .toml file"
        raise MigrateError([error("MIG410", f"target {given!r} does not exist", todo=known)], Exit.USAGE)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise MigrateError([error("MIG411", "not a TOML file", where=path.name, why=str(fault))], Exit.INPUT) from fault
    return read_target(path, text)
