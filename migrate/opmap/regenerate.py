"""Makes the operator tables: `python -m migrate.opmap.regenerate --ascend FILE --musa FILE --mlu FILE --xpu FILE`.

Reads PyTorch's packaged `native_functions.yaml` and the operator lists that vendors publish, and writes
`tables/{aten,cpu,cuda,mps,ascend,musa,mlu,xpu,vendor_a}.tsv`. Only this file parses either; the rest of the tool reads
the tables.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from migrate.opmap.operators import read_rows
from migrate.opmap.profile import TABLES

EXPLICIT = frozenset(("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"))
VIEW = re.compile(r"\([a-z](\s*->\s*\*)?\)")
# What no kernel is needed for although the schema does not say that it is a view.
METADATA = frozenset(
    (
        "_unsafe_view",
        "_reshape_alias",
        "lift",
        "lift_fresh",
        "detach_",
        "is_same_size",
        "is_pinned",
        "squeeze_",
        "squeeze_.dim",
        "squeeze_.dims",
        "t_",
        "transpose_",
        "unsqueeze_",
        "sym_constrain_range",
        "sym_constrain_range_for_size",
    )
)
# Operators that in-tree devices have without naming a dispatch key: the copy is a C++ stub behind a composite kernel.
IN_TREE = frozenset({"copy_"})
# Vendors whose plugin registers the operators that its list names.
LISTS = ("ascend", "musa", "mlu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One entry of `native_functions.yaml`: its dispatch keys, and the operator it delegates to ('' for none)."""

    name: str
    keys: frozenset[str]
    delegate: str
    ufunc: bool
    view: bool
    autogen: tuple[str, ...]

    @property
    def kind(self) -> str:
        """`kernel`, or how PyTorch does without one: metadata, composite (explicit) or implicit."""
        implicit = "CompositeImplicitAutograd" in self.keys or not (self.keys or self.delegate)
        if self.name in METADATA or (self.view and not implicit):
            return "metadata"
        if self.keys & EXPLICIT:
            return "composite"
        return "implicit" if implicit else "kernel"


def declared(entry: dict[str, Any]) -> Declared:
    """What one entry of the YAML file declares."""
    schema: str = entry["func"]
    keys = {key.strip() for keys in entry.get("dispatch") or {} for key in keys.split(",")}
    return Declared(
        name=schema.split("(", 1)[0],
        keys=frozenset(keys),
        delegate=entry.get("structured_delegate") or "",
        ufunc="ufunc_inner_loop" in entry,
        view="!" not in schema and bool(VIEW.search(schema)),
        autogen=tuple(name.strip() for name in (entry.get("autogen") or "").split(",") if name.strip()),
    )


def read_declarations() -> dict[str, Declared]:
    """Every ATen operator that the installed PyTorch declares."""
    import yaml

    spec = find_spec("torchgen")
    if spec is None or spec.origin is None:
        raise RuntimeError("torchgen is not installed: it comes with torch")
    path = Path(spec.origin).parent / "packaged" / "ATen" / "native" / "native_functions.yaml"
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries = [declared(entry) for entry in yaml.load(path.read_text(encoding="utf-8"), Loader=loader)]
    return {entry.name: entry for entry in entries}


def lists_version(versions: str, torch_version: tuple[int, int]) -> bool:
    """Whether a version column (`*`, `v2.1-`, `v2.1-v2.12`, `v2.1, v2.2`) includes a PyTorch version."""
    if versions == "*":
        return True
    for part in versions.split(","):
        first, dash, last = part.strip().partition("-")
        low = parse_version(first)
        high = parse_version(last) if last else ((99, 0) if dash else low)
        if low <= torch_version <= high:
            return True
    return False


def parse_version(text: str) -> tuple[int, int]:
    """`v2.12` as (2, 12)."""
    major, minor = text.strip().lstrip("v").split(".")[:2]
    return int(major), int(minor)


def read_vendor(path: Path, torch_version: tuple[int, int]) -> frozenset[str]:
    """The operators that a vendor's list has for a PyTorch version; those of its own are `namespace::name`."""
    rows = [row for row in read_rows(path) if lists_version(row[2], torch_version)]
    return frozenset(name if namespace == "aten" else f"{namespace}::{name}" for name, namespace, _ in rows)


def read_families() -> dict[str, tuple[str, ...]]:
    """Operators that a list covers when it names another level of the same family."""
    return {name: tuple(alternatives.split()) for name, alternatives, _ in read_rows(TABLES / "families.tsv")}


def covered(listed: frozenset[str], operators: Iterable[Declared]) -> frozenset[str]:
    """Operators that a device has which registers `listed`: those, what delegates to them, and their families."""
    families = read_families()
    found = {op.name for op in operators if op.name in listed or op.delegate in listed}
    found |= {name for name, alternatives in families.items() if listed.intersection(alternatives)}
    return frozenset(found)


def in_tree(operators: dict[str, Declared], key: str) -> frozenset[str]:
    """Operators that PyTorch itself has for a dispatch key, CPU or CUDA."""
    listed = {op.name for op in operators.values() if key in op.keys or op.ufunc}
    return covered(frozenset(listed | IN_TREE), operators.values())


def write(name: str, header: Sequence[str], rows: Iterable[str]) -> None:
    """Writes a table with its header of origin."""
    lines = [*(f"# {line}" for line in header), *rows]
    (TABLES / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def origin(path: Path) -> list[str]:
    """The lines in which a vendor's list says where it comes from."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("# ") for line in lines if line.startswith("# source:")]


def write_aten(operators: dict[str, Declared], source: str) -> None:
    """`aten.tsv`: every operator, how PyTorch does without a kernel, and what it delegates to."""
    rows = {op.name: f"{op.name}\t{op.kind}\t{op.delegate}" for op in operators.values()}
    for op in operators.values():
        # PyTorch generates these on top of the operator; a structured one has no generated forms.
        rows |= {name: f"{name}\tcomposite\t" for name in op.autogen if name not in rows}
    write("aten.tsv", [source, "operator\tkind\tdelegate"], [rows[name] for name in sorted(rows)])


def write_vendors(lists: dict[str, Path], operators: dict[str, Declared], source: str, release: str) -> None:
    """One table for each vendor's list, and what all of them cover for `vendor_a`."""
    torch_version = parse_version(release)
    sets = {name: covered(read_vendor(path, torch_version), operators.values()) for name, path in lists.items()}
    for name, found in sets.items():
        note = f"operators that the list covers for PyTorch {release}, families.tsv applied"
        write(f"{name}.tsv", [*origin(lists[name]), source, note, "operator"], sorted(found))
    if len(sets) == len(LISTS):
        note = f"operators that all of these lists cover for PyTorch {release}, families.tsv applied"
        header = [line for path in lists.values() for line in origin(path)]
        write("vendor_a.tsv", [*header, source, note, "operator"], sorted(frozenset.intersection(*sets.values())))


def write_xpu(path: Path, operators: dict[str, Declared], source: str, release: str) -> None:
    """`xpu.tsv`: Intel publishes what runs on the host; every other operator that CUDA has is taken as native."""
    host = read_vendor(path, parse_version(release))
    host |= {op.name for op in operators.values() if op.delegate in host}
    note = "operators with a CUDA kernel, less those of the list"
    write("xpu.tsv", [*origin(path), source, note, "operator"], sorted(in_tree(operators, "CUDA") - host))


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes every table; without vendor lists only those that come from PyTorch."""
    parser = argparse.ArgumentParser(prog="python -m migrate.opmap.regenerate", description=__doc__)
    for vendor in LISTS:
        parser.add_argument(f"--{vendor}", type=Path, help="operator list (TSV: operator, namespace, versions)")
    parser.add_argument("--xpu", type=Path, help="list of the operators that run on the host (TSV, as the others)")
    given = parser.parse_args(arguments)
    release = version("torch").split("+")[0]
    source = f"source: PyTorch {release}, torchgen/packaged/ATen/native/native_functions.yaml"
    operators = read_declarations()
    write_aten(operators, source)
    for key in ("CPU", "CUDA", "MPS"):
        note = f"operators with a {key} kernel, what delegates to them, and families.tsv"
        write(f"{key.lower()}.tsv", [source, note, "operator"], sorted(in_tree(operators, key)))
    lists = {name: path for name in LISTS if (path := getattr(given, name)) is not None}
    write_vendors(lists, operators, source, release)
    if given.xpu is not None:
        write_xpu(given.xpu, operators, source, release)


if __name__ == "__main__":
    main()
