"""The verification of one conversion, from golden tensors to the verdict. Knows no source framework and emits no code."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from migrate.errors import Diagnostic, MigrateError
from migrate.graph import Graph
from migrate.verify.cases import COSTLY, operations_per_sample, plan_cases
from migrate.verify.contract import Oracle, Plan
from migrate.verify.differences import source_differences
from migrate.verify.facts import METRIC, Layer, Row, Verification
from migrate.verify.golden import (
    Goldens,
    compute_goldens,
    expected_inventory,
    logits_names,
    uncovered_weights,
    untrained_weights,
)
from migrate.verify.learning import TRAINED, learning_rows, state_rows
from migrate.verify.locate import first_difference, module_of
from migrate.verify.notes import no_differences, not_located, parity
from migrate.verify.overrides import conflicts, perturbed_overrides
from migrate.verify.process import ask_package, verify_package
from migrate.verify.user_loop import user_loop_rows

if TYPE_CHECKING:
    from runtime.verify.golden import GoldenCase

MARK = "UNVERIFIED"
"""A file of this name in a package's root says why its parity failed."""
_PACKAGE = "the package, float64"


@dataclass(slots=True, kw_only=True)
class _Run:
    """What one verification works on, and what it has found so far."""

    package_dir: Path
    name: str
    graph: Graph
    oracle: Oracle
    plan: Plan
    seed: int
    rows: list[Row] = field(default_factory=list[Row])
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    layer: Layer | None = None
    learned: bool = False

    def ask(self, task: str, case: str, out: Path) -> Any:
        """The answer of the package itself to a task."""
        return ask_package(self.package_dir, self.name, task, case, self.seed, out)

    @property
    def is_right(self) -> bool:
        """Whether nothing that decides has failed so far."""
        return all(row.passed for row in self.rows if row.decides)

    def store(self, goldens: Goldens, gradients: dict[str, Any] | None = None) -> None:
        """Write the golden files into the package."""
        from runtime.verify.golden import GoldenGradients, GradientMark, write_golden

        marks = None
        if gradients is not None:
            parameters = {name: GradientMark(**mark) for name, mark in gradients["parameters"].items()}
            facts: dict[str, Any] = {**gradients, "parameters": parameters}
            marks = GoldenGradients(**facts)
        folder, inventory = self.package_dir / "checks", expected_inventory(self.plan, self.graph)
        write_golden(
            folder,
            cases=goldens.cases,
            inventory=inventory,
            gradients=marks,
            gradients_are_the_sources=self.learned and self.is_right,
        )


def verify(
    package_dir: Path,
    name: str,
    graph: Graph,
    oracle: Oracle,
    plan: Plan,
    *,
    seed: int = 0,
    batches: Sequence[int] = (2, 3, 5),
) -> Verification:
    """Hold an emitted package against its source, and store in it what `python -m NAME verify` needs to repeat this.

    Writes `checks/golden.*`; where parity fails, a file `UNVERIFIED` that says why.

    Args:
        package_dir: the root of the package.
        name: of the package.
        graph: that the package was made from, after all passes.
        oracle: the source's own engine.
        plan: of the package.
        seed: of all inputs and perturbations.
        batches: that are tried where the model has a batch.
    """
    oracle.follow(graph)
    run = _Run(package_dir=package_dir, name=name, graph=graph, oracle=oracle, plan=plan, seed=seed)
    try:
        _verify(run, batches)
    except MigrateError as fault:
        run.diagnostics += fault.diagnostics
    found = Verification(
        rows=tuple(run.rows),
        diagnostics=(*oracle.notes, *run.diagnostics),
        engine=oracle.engine,
        first_difference=run.layer,
        trained=any(row.check == TRAINED for row in run.rows),
    )
    mark = package_dir / MARK
    mark.unlink(missing_ok=True)
    if not found.passed:
        mark.write_text("".join(f"{line}\n" for line in found.errors or (found.reason,)), encoding="utf-8")
    return found


def _verify(run: _Run, batches: Sequence[int]) -> None:
    cases, notes = plan_cases(run.plan, run.graph, batches, run.seed)
    run.diagnostics += notes
    goldens = compute_goldens(run.plan, run.graph, run.oracle, cases)
    run.diagnostics += goldens.notes
    run.store(goldens)
    run.rows += [*_source_rows(run), *state_rows(run.plan, run.graph, run.oracle)]
    run.rows += list(_rows_of(verify_package(run.package_dir, run.name), goldens, run.oracle.engine))
    if all(row.passed or _is_difference(row) for row in run.rows if row.decides):
        _learning(run, _largest(run, goldens))
    if run.plan.carried and run.is_right:
        run.rows += user_loop_rows(run.oracle, run.ask)
    if run.is_right:
        _accept(run, goldens)
    if not run.is_right:
        run.layer = run.layer or _locate(run, goldens)
        run.diagnostics.append(parity(run.rows, run.layer))


def _source_rows(run: _Run) -> Iterator[Row]:
    """That no weight of the source is lost, and none is two parameters of the package."""
    lost = uncovered_weights(run.plan, run.graph)
    yield Row(check="every weight of the source is in the state", passed=not lost, detail=_listed(lost))
    fixed = untrained_weights(run.plan, run.oracle)
    yield Row(check="every weight of the source's layers is a parameter", passed=not fixed, detail=_listed(fixed))
    split = conflicts(run.plan)
    yield Row(check="no weight of the source is two parameters", passed=not split, detail=_listed(split))


def _learning(run: _Run, case: GoldenCase) -> None:
    """Hold how the package learns against the source, where that can be trained itself.

    Gradients that are the source's own need no further proof: what differences say of them is evidence only.
    """
    found = list(learning_rows(case, run.oracle, run.ask, run.seed, run.plan))
    run.learned = bool(found)
    if run.learned and all(row.passed for row, _ in found):
        run.rows = [replace(row, decides=False) if _is_difference(row) else row for row in run.rows]
    for row, key in found:
        run.rows.append(row)
        if not row.passed and run.layer is None:
            layer = module_of(key, run.plan)
            run.layer = Layer(module=layer.module, nodes=layer.nodes, error=row.error, what=row.check)


def _is_difference(row: Row) -> bool:
    """Whether it compares a gradient with differences of the package itself."""
    return row.engine == _PACKAGE and row.tolerance is not None


def _rows_of(document: Any, goldens: Goldens, engine: str) -> Iterator[Row]:
    """The package's own checks as rows; those of a golden case were computed by the source's engine."""
    for check in document["checks"]:
        case, _, what = check["name"].partition(": ")
        plan = goldens.plans.get(case)
        yield Row(
            check=check["name"] if plan is None else _described(plan.sigma, what),
            passed=check["passed"],
            case="" if plan is None else case,
            batch=None if plan is None else plan.batch,
            error=check["error"],
            tolerance=check["tolerance"],
            metric=METRIC if plan is not None else "",
            engine=engine if plan is not None else _PACKAGE if case == "gradient" else "",
            detail=check["detail"],
            decides=not check["informative"],
        )


def _described(sigma: float, what: str) -> str:
    if sigma >= 1:
        return f"output {what}, parameters redrawn"
    return f"output {what}, parameters perturbed by {sigma:.0%}" if sigma else f"output {what}"


# ---- a package that is right


def _accept(run: _Run, goldens: Goldens) -> None:
    """Store gradient marks, and add what needs a right package: training settings and differences of the source."""
    case = _smallest(goldens)
    costly = operations_per_sample(run.graph) >= COSTLY
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "direction.safetensors"
        answer = run.ask("mark" if costly or run.learned else "accept", case.name, out)
        run.store(goldens, answer["gradients"])
        settings = _settings_row(run, answer["settings"])
        if settings is not None:
            run.rows.append(settings)
        if costly and not run.learned:
            run.diagnostics.append(no_differences())
        if costly or run.learned:  # the source's own gradients are better evidence
            return
        row = _differences(run, case, answer, out)
        if row is not None:
            run.rows.append(row)


def _smallest(goldens: Goldens) -> GoldenCase:
    plain = [case for case in goldens.cases if not case.sigma]
    return min(plain, key=lambda case: sum(tensor.numel() for tensor in case.inputs))


def _largest(run: _Run, goldens: Goldens) -> GoldenCase:
    """The plain case with the largest batch, so that statistics over it say something; the smallest if costly."""
    plain = [case for case in goldens.cases if not case.sigma and (goldens.plans[case.name].batch or 2) > 1]
    costly = operations_per_sample(run.graph) >= COSTLY
    return (min if costly else max)(plain, key=lambda case: sum(tensor.numel() for tensor in case.inputs))


def _differences(run: _Run, case: GoldenCase, answer: Any, out: Path) -> Row | None:
    from safetensors.torch import load_file

    floats = [n for n, t in zip(run.oracle.output_names, case.outputs, strict=True) if t.is_floating_point()]
    names = logits_names(run.plan, run.graph, run.oracle) or floats
    if len(names) != answer["num_outputs"]:
        return None
    return source_differences(case, names, load_file(out), answer["slope"], run.plan, run.graph, run.oracle)


def _settings_row(run: _Run, actual: dict[str, dict[str, float]]) -> Row | None:
    """Momentum, eps and dropout of each module against the source's node; None where the source has none of them."""
    expected = run.oracle.settings()
    compared, faults = 0, list[str]()
    for path, nodes in run.plan.modules.items():
        for node in nodes:
            for name, wanted in expected.get(node, {}).items():
                found = actual.get(path, {}).get(name)
                if found is None:
                    continue
                compared += 1
                if not math.isclose(found, wanted, rel_tol=1e-4, abs_tol=1e-9):
                    faults.append(f"{path} has {name} {found:g}, the source {wanted:g}")
                    run.layer = run.layer or Layer(module=path, nodes=(node,), what=name)
    if not compared:
        return None
    detail = _listed(faults) or f"{compared} values of {len(expected)} nodes"
    return Row(check="momentum, eps and dropout are the source's", passed=not faults, detail=detail)


# ---- a package that is wrong


def _locate(run: _Run, goldens: Goldens) -> Layer | None:
    """The first layer whose output differs; where none does, the parameter whose gradient is wrong."""
    failed = [row for row in run.rows if row.decides and not row.passed]
    names = [row.case for row in failed if row.case]
    with tempfile.TemporaryDirectory() as folder:
        if names:
            return _trace(run, goldens, names[0], Path(folder))
        if any(row.check.startswith("gradient: ") for row in failed):
            if operations_per_sample(run.graph) >= COSTLY:
                run.diagnostics.append(not_located())
                return None
            answer = run.ask("locate", _smallest(goldens).name, Path(folder) / "unused")
            if answer:
                layer = module_of(answer["parameter"], run.plan)
                return Layer(module=layer.module, nodes=layer.nodes, error=answer["error"], what="gradient")
    return None


def _trace(run: _Run, goldens: Goldens, name: str, folder: Path) -> Layer:
    from runtime.verify.trace import read_trace

    case = next(case for case in goldens.cases if case.name == name)
    file = folder / "trace.safetensors"
    verify_package(run.package_dir, run.name, trace=file, case=name)
    overrides = perturbed_overrides(run.plan, run.graph, run.oracle, case.seed, case.sigma) if case.sigma else {}
    return first_difference(read_trace(file), case, run.plan, run.graph, run.oracle, overrides)


def _listed(names: list[str]) -> str:
    return "; ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
