"""The models that ONNX keeps as files: `simple`, `pytorch-operator`, `pytorch-converted`. What becomes of each.

A model that trains is converted, the package's own code run and held against the stored outputs, and verified against its
engine. One without a parameter is no package; its graph is held against the outputs all the same. `python -m
tests.migrate.frontends.onnx.data_folders --write` keeps the results in `docs/onnx_data_folders.jsonl`.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
import torch

import migrate
from migrate.errors import MigrateError
from migrate.frontends.onnx import load_onnx
from migrate.graph import interpret
from migrate.options import Options

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
FOLDERS = ("simple", "pytorch-operator", "pytorch-converted")
RECORD = Path(__file__).resolve().parents[4] / "docs" / "onnx_data_folders.jsonl"
RIGHT = ("trains", "trains, sizes given", "right, nothing to train", "right, nothing to train, sizes given")


@dataclass(frozen=True)
class Result:
    """What became of a model: one of `RIGHT`, refused, wrong or crashed; `verdict` is that of its verification."""

    folder: str
    case: str
    status: str
    why: str = ""
    verdict: str = ""


def folders() -> Iterator[Path]:
    """Each folder with a model and its data."""
    for name in FOLDERS:
        yield from sorted(path.parent for path in (DATA / name).glob("*/model.onnx"))


def stored(folder: Path, kind: str) -> list[Any]:
    """The tensors of the first set of data, in order; None for what is no tensor."""
    files = sorted(folder.glob(f"test_data_set_0/{kind}_*.pb"), key=lambda p: int(p.stem.rpartition("_")[2]))
    found: list[Any] = []
    for path in files:
        tensor = onnx.TensorProto.FromString(path.read_bytes())
        found.append(onnx.numpy_helper.to_array(tensor) if tensor.data_type else None)
    return found


def difference(made: Any, wanted: list[Any]) -> str:
    """How outputs differ from those that are stored; empty where they agree."""
    for got, want in zip(made if isinstance(made, tuple) else (made,), wanted, strict=True):
        array = got.detach().numpy()
        if array.shape != want.shape:
            return f"shape {array.shape} instead of {want.shape}"
        if not np.allclose(array, want, rtol=1e-3, atol=1e-5, equal_nan=True):
            return f"numbers: {array.reshape(-1)[:4]} instead of {want.reshape(-1)[:4]}"
    return ""


def reason_of(fault: MigrateError) -> str:
    """Code, what and why of the first diagnostic, without the place."""
    first = fault.diagnostics[0]
    return f"{first.code} {first.what}" + (f" ({first.why})" if first.why else "")


def attempt(folder: Path, shapes: dict[str, tuple[int, ...]]) -> Result:
    """Read it, run it and compare, with the sizes of the data where `shapes` has them."""
    model, more = folder / "model.onnx", ", sizes given" if shapes else ""
    inputs, wanted = stored(folder, "input"), stored(folder, "output")

    def result(status: str, why: str = "") -> Result:
        return Result(folder.parent.name, folder.name, status, why)

    try:
        graph = load_onnx(model, shapes)
        tensors = [torch.from_numpy(v.copy()) for v in inputs]
        if fault := difference(interpret(graph, *tensors), wanted):
            return result("wrong", fault)
        try:
            module = migrate.to_module(model, options=Options(input_shapes=shapes))
        except MigrateError as fault:
            if fault.diagnostics[0].code != "MIG313":
                raise
            return result(f"right, nothing to train{more}")
        fault = difference(module.eval()(*tensors), wanted)
        return result("wrong" if fault else f"trains{more}", fault)
    except MigrateError as fault:
        return result("refused", reason_of(fault))
    except Exception as fault:
        return result("crashed", f"{type(fault).__name__}: {fault}".split("\n")[0])


def run(folder: Path) -> Result:
    """As it is; and where that is refused, with the sizes of its data."""
    first = attempt(folder, {})
    inputs = stored(folder, "input")
    if first.status != "refused" or any(v is None for v in inputs):
        return first
    names = [value.name for value in onnx.load(folder / "model.onnx").graph.input]
    second = attempt(folder, {name: v.shape for name, v in zip(names, inputs, strict=False)})
    return first if second.status == "refused" else second


def verified(folder: Path, result: Result) -> Result:
    """The result with the verdict of a conversion's verification, where it trains."""
    if not result.status.startswith("trains"):
        return result
    inputs = stored(folder, "input")
    names = [value.name for value in onnx.load(folder / "model.onnx").graph.input]
    given = {name: v.shape for name, v in zip(names, inputs, strict=False)} if "given" in result.status else {}
    with tempfile.TemporaryDirectory() as place:
        report = migrate.convert(folder / "model.onnx", "cpu", Path(place) / "out", Options(input_shapes=given))
    return Result(result.folder, result.case, result.status, result.why, report.verdict.outcome)


def recorded() -> dict[tuple[str, str], Result]:
    """The results that are kept."""
    rows = [Result(**json.loads(line)) for line in RECORD.read_text().splitlines()]
    return {(row.folder, row.case): row for row in rows}


def main(arguments: list[str]) -> None:
    """Print what became of each, or of those named; `--write` verifies those that train and keeps the results."""
    names = [name for name in arguments if name != "--write"]
    results: dict[tuple[str, str], Result] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for folder in folders():
            if names and folder.name not in names:
                continue
            result = run(folder)
            result = verified(folder, result) if "--write" in arguments else result
            print(result, flush=True)
            results[result.folder, result.case] = result
    if "--write" in arguments:
        kept = (recorded() if names else {}) | results
        RECORD.write_text("".join(json.dumps(asdict(result)) + "\n" for result in kept.values()))
    print(Counter((r.folder, r.status, r.verdict) for r in results.values()))


if __name__ == "__main__":
    main(sys.argv[1:])
