"""Files whose weights lie beside them, to see that converting one needs little more than its largest tensor.

Nine square matrices with ReLU between. `migrate convert --no-verify` runs in a fresh process; what the same graph with small
matrices takes is the fixed cost. `python -m benchmarks.large --rows N` measures both and prints JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from benchmarks.launch import launch

COUNT, SMALL = 9, 64


def write(path: Path, rows: int) -> Path:
    """The file, and `weights.bin` beside it: `COUNT` matrices of float32, `rows` by `rows`."""
    path.parent.mkdir(parents=True)
    random, nodes, stored, value = np.random.default_rng(0), list[Any](), list[Any](), "x"
    with (path.parent / "weights.bin").open("wb") as file:
        for k in range(COUNT):
            tensor = TensorProto(name=f"W{k}", data_type=TensorProto.FLOAT, dims=[rows, rows])
            tensor.data_location = TensorProto.EXTERNAL
            place = {"location": "weights.bin", "offset": str(file.tell()), "length": str(4 * rows * rows)}
            for key, text in place.items():
                tensor.external_data.add(key=key, value=text)
            file.write(random.standard_normal((rows, rows), dtype=np.float32).tobytes())
            stored.append(tensor)
            nodes.append(helper.make_node("MatMul", [value, f"W{k}"], [f"h{k}"], name=f"m{k}"))
            nodes.append(helper.make_node("Relu", [f"h{k}"], [f"r{k}"], name=f"r{k}"))
            value = f"r{k}"
    given, result = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ("batch", rows)) for name in ("x", f"h{COUNT - 1}")
    )
    graph = helper.make_graph(nodes[:-1], "large", [given], [result], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def converted(rows: int) -> dict[str, float]:
    """Seconds, and the peak of the largest process in MiB.

    Raises:
        RuntimeError: the conversion failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "source" / "large.onnx", rows)
        program = str(Path(sys.executable).with_name("migrate"))
        found = launch(
            [program, "convert", str(path), "--target", "cpu", "--no-verify", "-o", str(Path(folder) / "out")]
        )
        if found.status:
            raise RuntimeError(found.output)
    return {"seconds": found.seconds, "peak_mib": found.peak_mib}


def measured(rows: int) -> dict[str, Any]:
    """The large file beside the small one; `of_largest` is what it takes beyond the fixed cost, by its largest tensor."""
    fixed, found, largest = converted(SMALL), converted(rows), 4 * rows * rows / 2**20
    return {
        "file_mib": COUNT * largest,
        "largest_mib": largest,
        "fixed_mib": fixed["peak_mib"],
        **found,
        "of_largest": (found["peak_mib"] - fixed["peak_mib"]) / largest,
    }


def main() -> None:
    """Measure one size and print JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large")
    parser.add_argument("--rows", type=int, default=8000)
    print(json.dumps(measured(parser.parse_args().rows)))


if __name__ == "__main__":
    main()
