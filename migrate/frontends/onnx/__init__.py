"""The ONNX frontend: a file or a `ModelProto` becomes the common graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from migrate.errors import Diagnostic, Exit, MigrateError
from migrate.graph import Graph

if TYPE_CHECKING:
    from migrate.frontends.onnx.description import describe
    from migrate.frontends.onnx.oracle import OnnxOracle

__all__ = ["OnnxOracle", "describe", "load_onnx", "open_onnx"]


def __getattr__(name: str) -> Any:
    if name == "OnnxOracle":
        from migrate.frontends.onnx.oracle import OnnxOracle

        return OnnxOracle
    if name == "describe":
        from migrate.frontends.onnx.description import describe

        return describe
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def open_onnx(source: Path | Any) -> Any:
    """The onnx-ir model of a path or a `ModelProto`, checked, with local functions inlined."""
    from migrate.frontends.onnx.labels import numbers_only
    from migrate.frontends.onnx.reader import check_model, inline_functions, parsed, read_model

    if isinstance(source, Path):
        return numbers_only(inline_functions(read_model(source), source))
    path = Path("model.onnx")
    return numbers_only(inline_functions(check_model(parsed(source, path), path, external=False), path))


def load_onnx(
    source: Path | Any, input_shapes: dict[str, tuple[int, ...]] | None = None, *, fake: bool = False
) -> Graph:
    """Read an ONNX model into the common graph.

    Args:
        source: a path, an `onnx.ModelProto`, or what `open_onnx` gave.
        input_shapes: fixed shapes by input name; all other free sizes stay free.
        fake: whether weights that the source stores in few bits are rounded to its steps before they are used.

    Raises:
        MigrateError: exit status 3 for an input that cannot be read, 4 for constructs that are not supported.
    """
    from migrate.frontends.onnx.importer import attempt
    from migrate.frontends.onnx.labels import NOTES
    from migrate.frontends.onnx.sizes import batch_symbol, candidates, guessed_batch, input_sizes
    from migrate.frontends.onnx.unsupported import unsupported_nodes
    from migrate.graph.batch import check_batch

    model: Any = source if hasattr(source, "opset_imports") else open_onnx(source)
    missing = unsupported_nodes(model)
    if missing:
        raise MigrateError(missing, Exit.UNSUPPORTED)
    given = input_shapes or {}
    inputs = input_sizes(model, given)
    batch, declared = (None, 1) if given and len(given) == len(inputs) else batch_symbol(inputs)
    symbols = list(dict.fromkeys(s for item in inputs for s in item.shape if isinstance(s, str)))
    first: MigrateError | None = None
    baked = batch is not None and batch not in symbols
    plans = [(plan, again) for again in (False, True)[: 1 + baked] for plan in candidates(symbols, batch)]
    for count, (plan, again) in enumerate(plans):
        try:
            graph = attempt(model, inputs, plan, batch, declared, again, fake=fake)
        except MigrateError as fault:
            # at uneven sizes, which are tried first where any is free, much may fail that is well
            first = fault if count == 0 or (count == 1 and not again) else first
            if fault.diagnostics[0].code not in ("MIG304", "MIG305") and (count or len(plans) == 1):
                raise
            continue
        for name, size in plan.items():
            if isinstance(size, int):
                graph.notes.append(_fixed(name, size, first))
        graph.notes.extend(guessed_batch(inputs) if batch in symbols else ())
        graph.notes.extend(model.meta.get(NOTES, ()))
        return check_batch(graph)
    assert first is not None
    raise first


def _fixed(name: str, size: int, reason: MigrateError | None) -> Diagnostic:
    fault = reason.diagnostics[0] if reason else None
    return Diagnostic(
        code="MIG303",
        severity="warning",
        what=f"the size {name!r} is fixed at {size}",
        where=fault.where if fault else "",
        why=f"the model is not legal at every size: {fault.why}" if fault else "",
        todo=f"give another with --input if the model was made for one, e.g. {name} = 2 x {size}",
    )
