"""Measures sources and keeps what was found in `docs/readability.jsonl`, from which the page's table is made."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tests.readability.measure import LIMITS, MAX_LINES_PER_NODE, Metrics, measure
from tests.readability.sources import Source

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "readability.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Metrics):
    """The numbers of one source; `nodes` are those of its file, or of the graph that a module becomes."""

    name: str
    kind: str
    repeated: bool
    nodes: int

    @property
    def lines_per_node(self) -> float:
        """Lines of code for each node of the source."""
        return self.code_lines / self.nodes

    def misses(self) -> list[str]:
        """The metrics that are over their limit."""
        over = [name for name, limit in LIMITS.items() if getattr(self, name) > limit]
        return over + ["lines_per_node"] * (self.repeated and self.lines_per_node > MAX_LINES_PER_NODE)


def examine(source: Source) -> Record:
    """Emit a source's package and measure it."""
    import onnx

    from migrate.codegen import render_package
    from migrate.pipeline import plan

    with tempfile.TemporaryDirectory(prefix="migrate-") as folder:
        opened, options = source.open(Path(folder))
        planned = plan(opened, options)
        is_file = isinstance(opened, Path) and opened.suffix == ".onnx"
        nodes = len(onnx.load(opened, load_external_data=False).graph.node) if is_file else len(planned.graph.nodes)
    kept = frozenset(part for t in planned.tensors if t.weight.maker == "module" for part in t.key.split("."))
    found = measure(render_package(planned), kept)
    return Record(name=source.name, kind=source.kind, repeated=source.repeated, nodes=nodes, **asdict(found))


def read(path: Path = RESULTS) -> list[Record]:
    """The records of a file, in its order."""
    known = {field.name for field in fields(Record)}
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines()) if path.exists() else ()
    return [Record(**{name: value for name, value in line.items() if name in known}) for line in lines]


def write(records: Iterable[Record], order: Iterable[tuple[str, str]], path: Path = RESULTS) -> None:
    """Write records in the place of older ones of the same sources; sources that are not in `order` are left out."""
    kept = {(r.kind, r.name): r for r in (*read(path), *records)}
    rows = [kept[key] for key in order if key in kept]
    path.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows), encoding="utf-8")
