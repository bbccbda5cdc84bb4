"""The tables of the page on readability, from the records that `python -m tests.readability` measures."""

from __future__ import annotations

from tests.readability.measure import LIMITS, MAX_LINES_PER_NODE
from tests.readability.record import Record, read

_COLUMNS = {
    "op_number_names": "op + number",
    "repeated_runs": "repeated runs",
    "longest_forward": "longest forward",
    "median_forward": "median",
    "statements": "statements a class",
    "longest_line": "longest line",
    "integers": "integers",
}


def readability() -> list[str]:
    """A row for each source; what is over its limit is in bold."""
    lines = [f"| source | kind | classes | {' | '.join(_COLUMNS.values())} | lines / nodes |"]
    lines.append("|---" * (len(_COLUMNS) + 4) + "|")
    lines.append(f"| *limit* | | | {' | '.join(f'{LIMITS[name]}' for name in _COLUMNS)} | {MAX_LINES_PER_NODE} |")
    return lines + [_row(record) for record in read()]


def _row(record: Record) -> str:
    over = record.misses()
    cells = [_cell(f"{getattr(record, name):g}", name in over) for name in _COLUMNS]
    ratio = _cell(f"{record.lines_per_node:.2f}", "lines_per_node" in over)
    return f"| {record.name} | {record.kind} | {record.classes} | {' | '.join(cells)} | {ratio} |"


def _cell(text: str, is_over: bool) -> str:
    return f"**{text}**" if is_over else text
