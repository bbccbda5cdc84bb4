"""The flow, one way: source -> graph -> passes -> plan -> package -> audit -> verification -> report.

The command line and the Python API both call this. Each step is another package's work.
"""

from __future__ import annotations

import json as _json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import migrate
from migrate.errors import Exit, MigrateError, error, printable
from migrate.folders import install, package_in, refuse_taken, stage_beside
from migrate.options import Options, with_examples
from migrate.training import choose_trainable, rule_of, train_settings

if TYPE_CHECKING:
    from torch import nn

    from migrate.codegen import PackagePlan
    from migrate.graph import Graph
    from migrate.opmap import Audit, Target
    from migrate.sources import Opened
    from reports import Report


DEFAULTS = Options()


def load(source: Any, options: Options = DEFAULTS, *, example_inputs: Any = None) -> Graph:
    """The common graph of a source, passes applied; a module needs example inputs, as a tuple or by name.

    Raises:
        MigrateError: the source cannot be read, is not supported, or would have nothing to train.
    """
    return _prepare(_open(source, with_examples(options, example_inputs)), options).graph


def plan(source: Any, options: Options = DEFAULTS) -> PackagePlan:
    """The plan of the package that `convert` would write; nothing is written."""
    return _plan(_prepare(_open(source, options), options), _package_name(source, options), options)


def to_module(source: Any, options: Options = DEFAULTS, *, example_inputs: Any = None) -> nn.Module:
    """The emitted model, the same text as on disk, compiled and loaded in memory with the source's weights."""
    from migrate.codegen import to_module as load_in_memory

    return load_in_memory(load(source, options, example_inputs=example_inputs))


def check(source: Any, target: str, options: Options = DEFAULTS, *, example_inputs: Any = None) -> Audit:
    """What a training step of the source meets on a target."""
    return _checked(source, [target], with_examples(options, example_inputs))[2][0][1]


def compare(source: Any, targets: Sequence[str], options: Options = DEFAULTS) -> list[Report]:
    """`check` on targets, as one report each in the order given; the source is read once."""
    from migrate.facts import build_report

    opened, plan, found = _checked(source, targets, options)
    return [
        build_report("check", opened=opened, plan=plan, target=chosen, audit=audit, options=options)
        for chosen, audit in found
    ]


def convert(
    source: Any,
    target: str,
    out: Path | str | None = None,
    options: Options = DEFAULTS,
    *,
    example_inputs: Any = None,
) -> Report:
    """Write a training package for a target and prove it against the source's own engine.

    Nothing is left where it fails; a package whose parity failed is kept, and marked in its report.

    Raises:
        MigrateError: as `load`, or the target or the folder is refused.
    """
    from migrate.codegen import write_package
    from migrate.facts import build_report
    from migrate.opmap import load_target, resolve

    options = with_examples(options, example_inputs)
    chosen = load_target(target)
    name = _package_name(source, options)
    folder = Path(out) if out is not None else Path(name)
    refuse_taken(folder, options.overwrite)
    opened = _prepare(_open(source, options), options)
    plan = _plan(opened, name, options)
    with stage_beside(folder) as stage:
        options.progress("writing the package")
        staged = write_package(plan, stage / "package", target=resolve(chosen))
        audit = _audit(staged, plan, chosen, options)
        verification = _verify(staged, plan, opened, options) if options.verify else None
        report = build_report(
            "convert",
            opened=opened,
            plan=plan,
            target=chosen,
            audit=audit,
            options=options,
            verification=verification,
        )
        _write_reports(staged, report)
        install(staged, folder, overwrite=options.overwrite)
    return report


def verify_package(directory: Path, *, device: str = "cpu", json: bool = False) -> int:
    """Run a package's stored checks in a process of its own and return its exit status.

    Raises:
        MigrateError: exit status 3, the folder is no package.
    """
    name = package_in(directory)
    if name is None:
        what = error("MIG108", "not a package that migrate wrote", where=directory.name)
        raise MigrateError([what], Exit.INPUT)
    command = [sys.executable, "-m", name, "verify", "--device", device, *(["--json"] if json else [])]
    return subprocess.run(command, cwd=directory, check=False).returncode


def inspect(source: Any, options: Options = DEFAULTS, *, json: bool = False) -> str:
    """The graph, its parameters and what is odd about the source, as text or JSON."""
    from migrate.graph.passes import run_passes
    from migrate.graph.text import print_graph

    opened = _open(source, options)
    run_passes(opened.graph)
    facts = opened.description
    weights = [(value, value.weight) for value in opened.graph.weights() if value.weight]
    if json:
        document = {
            "source": opened.name,
            "sha256": opened.sha256,
            "format": facts.format,
            "producer": facts.producer,
            "opsets": dict(facts.opsets),
            "operators": dict(facts.operators),
            "oddities": list(facts.oddities),
            "weights": [{"name": w.source, "shape": list(v.shape), "role": w.role} for v, w in weights],
            "graph": print_graph(opened.graph),
            "notes": [str(note) for note in opened.graph.notes],
        }
        return _json.dumps(document, indent=1)
    head = [f"{opened.name}: {facts.format}, {facts.producer or 'unknown producer'}"]
    head += [f"  odd: {oddity}" for oddity in facts.oddities]
    head += [f"  {note}" for note in opened.graph.notes]
    head += [f"  {w.role} {w.source!r}: {w.source_shape} in the source" for _, w in weights]
    return "\n".join(map(printable, [*head, "", *print_graph(opened.graph).splitlines()]))


def why(source: Any, fusion: str, options: Options = DEFAULTS) -> str:
    """Where a fusion fitted the source and was left alone, and what spoke against it: a line each.

    Raises:
        MigrateError: exit status 2, MIG119: there is no such fusion; or as `load`.
    """
    from migrate.graph.passes.fuse import is_written, near_misses

    graph = _open(source, options).graph
    try:
        found = near_misses(graph, fusion)
    except KeyError as fault:
        what = error("MIG119", f"there is no fusion {fusion!r}", todo=str(fault.args[0]))
        raise MigrateError([what], Exit.USAGE) from fault
    fired = [
        note.what for note in graph.notes if note.code in ("MIG315", "MIG319") and note.what.startswith(f"{fusion}:")
    ]
    head = fired or [f"{fusion}: it fused nothing"]
    if is_written(graph):
        head.insert(0, "the source is PyTorch and stays as its author wrote it; this is what would fuse")
    lines = [*head, *map(str, found)] if found else [*head, f"{fusion}: no near miss"]
    return "\n".join(map(printable, lines))


def refuse_unwritable(path: Path) -> None:
    """Refuse, before the work, a file that could not be written after it.

    Raises:
        MigrateError: exit status 2, MIG118.
    """
    if path.is_dir() or not path.absolute().parent.is_dir() or not os.access(path.absolute().parent, os.W_OK):
        raise MigrateError([error("MIG118", "cannot write there", where=str(path))], Exit.USAGE)


def write_html(report: Report, path: Path) -> None:
    """The report as one page."""
    from reports import render_html

    path.write_text(render_html(report), encoding="utf-8")


# ---- the steps


def _open(source: Any, options: Options) -> Opened:
    from migrate.sources import open_source

    options.progress("reading the model")
    return open_source(source, options)


def _prepare(opened: Opened, options: Options) -> Opened:
    """Run the passes and apply the user's choice of what is trained."""
    from migrate.graph.passes import default_passes, run_passes

    run_passes(opened.graph, default_passes(inferred=options.inferred))
    choose_trainable(opened.graph, options, opened.name)
    return opened


def _plan(opened: Opened, name: str, options: Options) -> PackagePlan:
    from migrate.codegen import Source, plan_package

    settings = train_settings(opened.graph, options, opened.setup)
    source = Source(
        name=opened.name,
        sha256=opened.sha256,
        framework=opened.description.format,
        tool_version=migrate.__version__,
    )
    options.progress("planning the package")
    return plan_package(opened.graph, name=name, settings=settings, source=source)


def _checked(
    source: Any, targets: Sequence[str], options: Options
) -> tuple[Opened, PackagePlan, list[tuple[Target, Audit]]]:
    from migrate.codegen import write_package
    from migrate.opmap import load_target, resolve

    chosen = [load_target(target) for target in targets]
    found: list[tuple[Target, Audit]] = []
    name = _package_name(source, options)
    opened = _prepare(_open(source, options), options)
    plan = _plan(opened, name, options)
    with tempfile.TemporaryDirectory(prefix="migrate-") as stage:
        staged = write_package(plan, Path(stage) / "package", target=resolve(chosen[0]), weights=False)
        for target in chosen:
            found.append((target, _audit(staged, plan, target, options)))
    return opened, plan, found


def _audit(staged: Path, plan: PackagePlan, target: Target, options: Options) -> Audit:
    from migrate.opmap import audit_package

    options.progress(f"auditing a training step on {target.name}")
    batch, precision, rule = options.batch_size, options.precision, rule_of(plan.settings)
    return audit_package(staged, plan.name, target, batch=batch, precision=precision, optimizer=rule)


def _verify(staged: Path, plan: PackagePlan, opened: Opened, options: Options) -> Any:
    from migrate.verify import verify

    options.progress("verifying against the source's own engine")
    return verify(staged, plan.name, opened.graph, opened.oracle(), plan)


def _write_reports(directory: Path, report: Report) -> None:
    import reports

    (directory / "report").mkdir(exist_ok=True)
    (directory / "report" / "report.json").write_text(reports.render_json(report), encoding="utf-8")
    (directory / "report" / "report.html").write_text(reports.render_html(report), encoding="utf-8")
    (directory / "MIGRATION.md").write_text(reports.render_markdown(report), encoding="utf-8")


def _package_name(source: Any, options: Options) -> str:
    from migrate.codegen import package_name
    from migrate.sources import name_of

    if options.name is None:
        return package_name(name_of(source))
    if package_name(options.name) != options.name:
        todo = f"for example {package_name(options.name)!r}"
        what = error("MIG106", f"{options.name!r} cannot be a package's name", todo=todo)
        raise MigrateError([what], Exit.USAGE)
    return options.name


__all__ = ["Options", "check", "compare", "convert", "inspect", "load", "plan", "to_module", "verify_package", "why"]
