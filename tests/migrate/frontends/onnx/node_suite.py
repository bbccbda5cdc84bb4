"""ONNX's own node cases through the emitted code: each passes, or is refused with a diagnostic; none may give other numbers.

Run it as a program for the counts and the list: `python -m tests.migrate.frontends.onnx.node_suite [NAME ...]`; with
`--write` it keeps the results of all cases in `docs/onnx_node_suite.jsonl`, from which the documentation is made.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnx_ir as ir
import torch

from migrate.errors import MigrateError
from migrate.frontends.onnx.narrow import CARRIERS, HALF
from tests.migrate.frontends.onnx.emitted import Emitted
from tests.migrate.frontends.onnx.sequences import of_tensors

RECORD = Path(__file__).resolve().parents[4] / "docs" / "onnx_node_suite.jsonl"
Status = Literal["passed", "refused", "wrong", "crashed"]
# Their expected outputs come from float64, and what is zero there is 1e-6 of the signal in any float32 transform.
SPECTRA = ("test_dft_inverse",)
# Their expected outputs were drawn at random.
RANDOM = ("test_bernoulli", "test_training_dropout")
NOT_RANDOM = ("test_training_dropout_zero",)


@dataclass(frozen=True)
class Result:
    """What became of a case, and why."""

    name: str
    status: Status
    why: str = ""

    @property
    def reason(self) -> str:
        """Why, without the place, which is the case's own."""
        found = re.sub(r" at \S+ ->.*?(?= \(|$)", "", self.why)
        return re.sub(r"(%|\b)[\w/]*_function_\w+", "...", found).split(" -> ")[0]


def cases() -> Iterator[Any]:
    """The node cases; making them warns about overflow in numpy."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from collect_testcases(None)


def array(data: Any) -> Any:
    """A tensor of the case as numpy, in the type in which the graph carries it."""
    if isinstance(data, list):
        return [array(item) for item in data]
    found = onnx.numpy_helper.to_array(data) if isinstance(data, onnx.TensorProto) else data
    if not isinstance(found, np.ndarray | np.generic) or found.dtype.kind in "OUS":
        return found
    kind = ir.DataType.from_numpy(found.dtype).name.lower()
    carrier = CARRIERS.get(kind) or HALF.get(kind)
    return found.astype(carrier) if carrier else found


def run(case: Any) -> Result:
    """As it is; and where that is refused, with what would have to be known written into the model."""
    if case.name.startswith(RANDOM) and not case.name.startswith(NOT_RANDOM):
        return Result(case.name, "refused", "the expected outputs are random")
    feeds, outputs = ([array(v) for v in values] for values in case.data_sets[0])
    model, feeds, outputs = of_tensors(case.model, feeds, outputs)
    first = attempt(case, model, feeds, outputs)
    if first.status != "refused":
        return first
    second = attempt(case, *with_constants(model, feeds), outputs)
    return second if second.status != "refused" or "must be a constant" in first.why else first


def with_constants(model: onnx.ModelProto, given: list[Any]) -> tuple[onnx.ModelProto, list[Any]]:
    """The model with its inputs as initializers, all but the first vector of floats and matrices of floats."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    kept, feeds = [], []
    for value, found in zip(model.graph.input, given, strict=True):
        if np.asarray(found).dtype.kind in "fOUS" and np.ndim(found) > bool(kept):
            kept.append(value)
            feeds.append(found)
        else:
            kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            made.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(found).astype(kind), value.name))
    del made.graph.input[:]
    made.graph.input.extend(kept)
    return made, feeds


def attempt(case: Any, model: onnx.ModelProto, feeds: list[Any], outputs: list[Any]) -> Result:
    """Import, write, run what was written, compare."""
    names = [value.name for value in model.graph.input]
    shapes = {name: tuple(np.shape(data)) for name, data in zip(names, feeds, strict=True)}
    strings = [name for name, data in zip(names, feeds, strict=True) if np.asarray(data).dtype.kind in "OUS"]
    try:
        emitted = Emitted(model, shapes)
        assert not strings, f"imported with strings: {strings}"
        got = emitted(*(torch.from_numpy(np.asarray(v).copy()) for v in feeds))
    except MigrateError as fault:
        return Result(case.name, "refused", str(fault.diagnostics[0]))
    except Exception as fault:
        return Result(case.name, "crashed", f"{type(fault).__name__}: {fault}".split("\n")[0])
    for value, want in zip(got, outputs, strict=True):
        if fault := difference(value.detach(), np.asarray(want), case, half(case)):
            return Result(case.name, "wrong", fault)
    return Result(case.name, "passed")


def half(case: Any) -> bool:
    """Whether the case computes in 16-bit floats, whose rounding the expected outputs have and ours do not."""
    types = (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
    return any(v.type.tensor_type.elem_type in types for v in (*case.model.graph.input, *case.model.graph.output))


def difference(got: torch.Tensor, want: np.ndarray, case: Any, half: bool) -> str:
    """How the two differ, empty where they agree."""
    array = got.numpy()
    if array.shape != want.shape:
        return f"shape {array.shape} instead of {want.shape}"
    if array.dtype != want.dtype:
        return f"dtype {array.dtype} instead of {want.dtype}"
    rtol, atol = (1e-2, 1e-3) if half else (case.rtol, case.atol)
    atol = 1e-7 * float(np.abs(want).max()) if case.name.startswith(SPECTRA) else atol
    if want.dtype.kind in "fc":
        close = np.allclose(array, want, rtol=rtol, atol=atol, equal_nan=True)
    else:
        close = np.array_equal(array, want)
    return "" if close else f"numbers: {array.reshape(-1)[:4]} instead of {want.reshape(-1)[:4]}"


def operator_of(name: str, first: dict[str, str]) -> str:
    """The operator that a case is about: of one that is written out in simpler ones, that of the case it belongs to."""
    return first.get(name.split("_expanded")[0], first[name])


def recorded() -> dict[str, dict[str, str]]:
    """The results that are kept, by case."""
    return {row["case"]: row for row in map(json.loads, RECORD.read_text().splitlines())}


def write() -> None:
    """Run all cases and keep what became of them."""
    results: dict[str, Result] = {}
    first: dict[str, str] = {}
    for case in cases():
        results[case.name] = run(case)
        node = case.model.graph.node[0]
        first[case.name] = f"{node.domain}::{node.op_type}".removeprefix("::")
    rows = [
        {"case": name, "operator": operator_of(name, first), "status": result.status, "why": result.reason}
        for name, result in sorted(results.items())
    ]
    RECORD.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(dict(Counter(result.status for result in results.values())))


def main(names: list[str]) -> None:
    """Print the counts, and every case that did not pass."""
    if names == ["--write"]:
        write()
        return
    results = [run(case) for case in cases() if not names or any(name in case.name for name in names)]
    for result in sorted(results, key=lambda r: (r.status, r.why)):
        if result.status != "passed":
            print(result.status, result.name, result.why[:200])
    print(dict(Counter(result.status for result in results)))


if __name__ == "__main__":
    main(sys.argv[1:])
