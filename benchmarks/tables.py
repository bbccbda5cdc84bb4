"""Results as tables: rows of what was measured become text for a terminal and Markdown. Measures nothing, reads no file.

A ratio is migrate's time by the other converter's, in the same run: below 1, migrate is the faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

BASE = "migrate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A title, a sentence on how to read it, and cells that are texts already."""

    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """The table in Markdown."""
        lines = [f"## {self.title}", "", self.about, ""]
        lines += ["| " + " | ".join(self.columns) + " |", "|" + "---|" * len(self.columns)]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join(lines) + "\n"

    def text(self) -> str:
        """The table in columns of equal width."""
        widths = [max(map(len, cells)) for cells in zip(self.columns, *self.rows, strict=True)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in (self.columns, *self.rows)]
        return "\n".join([f"\n{self.title}", self.about, *(line.rstrip() for line in lines)])


def milliseconds(seconds: float) -> str:
    """Three digits that mean something."""
    value = seconds * 1e3
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio(value: float | None) -> str:
    """A ratio to two places; nothing where there is none."""
    return "" if value is None else f"{value:.2f}"


def large_table(results: Iterable[Mapping[str, Any]]) -> Table:
    """Peak memory by the size of a file."""
    rows = tuple(
        (
            *(f"{result[key]:,.0f}" for key in ("file_mib", "largest_mib", "fixed_mib", "peak_mib")),
            ratio(result["of_largest"]),
            f"{result['seconds']:.0f}",
        )
        for result in results
    )
    return Table(
        title="Conversion of large files",
        about="MiB of the largest process; fixed: with small matrices. The ratio is what is beyond it, by the largest tensor.",
        columns=("file", "largest tensor", "fixed", "peak", "beyond, by the largest", "s"),
        rows=rows,
    )


def conversion_table(results: Iterable[Mapping[str, Any]]) -> Table:
    """From a path to a module, in process."""
    rows: list[tuple[str, ...]] = []
    for result in results:
        for peer, found in {**result["peers"], **result["whole"]}.items():
            times = (milliseconds(found["min_s"]), milliseconds(found["median_s"]))
            ratios = (
                (ratio(found["base_by_min"]), ratio(found["base_by_median"])) if peer in result["peers"] else ("", "")
            )
            rows.append((result["case"], peer, *times, *ratios, ""))
        for peer, why in result["refused"].items():
            rows.append((result["case"], peer, "", "", "", "", why))
    return Table(
        title="Conversion in process",
        about="From a path to a usable module, without verification; `convert` is migrate's whole flow with a package on disk.",
        columns=("file", "converter", "min ms", "median ms", "migrate / this, min", "median", "not converted"),
        rows=tuple(rows),
    )


def memory_table(results: Iterable[Mapping[str, Any]]) -> Table:
    """What autograd keeps, in pieces, as emitted, and with blocks recomputed."""
    rows: list[tuple[str, ...]] = []
    for found in results:
        sizes = [found[name] for name in ("pieces", "emitted", "recomputed") if name in found]
        shown = [f"{size / 2**20:.2f}" for size in sizes]
        parts = [f"{100 * size / sizes[0] - 100:+.0f} %" for size in sizes[1:]]
        rows.append((found["case"], *shown[:2], parts[0], str(found["blocks"]), *(*shown[2:], *parts[1:], "", "")[:2]))
    return Table(
        title="Kept for the backward pass",
        about="MiB of a forward pass in training mode at a batch of 8, weights left out; on the CPU, in float32.",
        columns=("file", "in pieces", "as emitted", "change", "blocks", "blocks recomputed", "change"),
        rows=tuple(rows),
    )


def stage_table(results: Iterable[Mapping[str, Any]]) -> Table:
    """Where migrate's time goes, a column for each file."""
    results = list(results)
    stages = list(results[0]["stages"]) if results else []
    rows = [(stage, *(milliseconds(result["stages"][stage]) for result in results)) for stage in stages]
    rows.append(("sum", *(milliseconds(sum(result["stages"].values())) for result in results)))
    return Table(
        title="Where migrate's time goes",
        about="Milliseconds of each stage of `to_module`, its own only; medians over rounds.",
        columns=("stage", *(result["case"] for result in results)),
        rows=tuple(rows),
    )


def command_table(results: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Table:
    """Fresh processes."""
    rows = [
        (case, label, f"{found['min_s']:.2f}", f"{found['median_s']:.2f}", f"{found['peak_mib']:.0f}")
        for case, commands in results.items()
        for label, found in commands.items()
    ]
    return Table(
        title="Conversion as a command",
        about="Fresh processes, imports included; peak memory of the largest process. Only migrate writes anything.",
        columns=("file", "command", "min s", "median s", "peak MiB"),
        rows=tuple(rows),
    )


def training_table(results: Iterable[Mapping[str, Any]], title: str, judge: str = "ONNX Runtime") -> Table:
    """Training steps of the modules that the converters made."""
    rows = [row for result in results for row in _training_rows(result)]
    return Table(
        title=title,
        about=f"Forward, mean of squares, backward, SGD; `error`: of the outputs, against {judge}, by the largest output.",
        columns=(
            "file", "converter", "error", "trainable", "min ms", "median ms", "samples/s",
            "migrate / this, min", "median", "processor time", "remark",
        ),
        rows=tuple(rows),
    )  # fmt: skip


def _training_rows(result: Mapping[str, Any]) -> Iterable[tuple[str, ...]]:
    for peer, found in result["peers"].items():
        remark = result["refused"].get(peer, "" if found["right"] else "WRONG NUMBERS")
        head = (result["case"], peer, f"{found['error']:.1e}", f"{found['trainable']:,}")
        if "min_s" not in found:
            yield (*head, "", "", "", "", "", "", f"no step: {remark}")
            continue
        times = (
            milliseconds(found["min_s"]),
            milliseconds(found["median_s"]),
            f"{result['batch'] / found['min_s']:.1f}",
        )
        ratios = (ratio(found.get(f"base_by_{kind}")) for kind in ("min", "median", "cpu"))
        yield (*head, *times, *ratios, remark)
    for peer, why in result["refused"].items():
        if peer not in result["peers"]:
            yield (result["case"], peer, *[""] * 8, f"fails: {why}")
