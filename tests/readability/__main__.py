"""`python -m tests.readability [NAME ...]`: measure the sources with these names, or all, and record the numbers."""

from __future__ import annotations

import sys

from tests.readability.record import Record, examine, write
from tests.readability.sources import ALL


def main(names: list[str]) -> None:
    """Measure, tell, record."""
    found: list[Record] = []
    for source in ALL:
        if names and source.name not in names and source.kind not in names:
            continue
        record = examine(source)
        found.append(record)
        print(f"{record.kind:14} {record.name:20} {record.lines_per_node:.2f} lines a node", *_told(record), flush=True)
    write(found, [(s.kind, s.name) for s in ALL])


def _told(record: Record) -> list[str]:
    return [f"{name}={getattr(record, name):.4g}" for name in record.misses()]


if __name__ == "__main__":
    main(sys.argv[1:])
