"""Deep files, to see how the time of a conversion grows with the number of nodes: made node by node, small weights.

`transformer` is what the TorchScript exporter writes at opset 14 of blocks of attention and a perceptron, LayerNorm and GELU in
pieces; `residual` is a residual network with BatchNorm. `python -m benchmarks.deep KIND --nodes N` measures one.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, TOKENS = 16, 2, 8


class Writer:
    """The nodes and weights of a file so far; each node is named for its place, as exporters do."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.scope = ""
        self.random = np.random.default_rng(0)

    def weight(self, name: str, *shape: int, around: float = 0.0) -> str:
        """A random float32 weight below the scope."""
        content = self.random.normal(around, 0.1, shape).astype(np.float32)
        return self.constant(name, np.abs(content) if around else content)

    def constant(self, name: str, content: object, kind: type = np.float32) -> str:
        """A stored tensor below the scope."""
        name = f"{self.scope}{name}"
        self.weights.append(numpy_helper.from_array(np.asarray(content, kind), name))
        return name

    def __call__(self, op: str, *inputs: str, at: str = "", **attributes: object) -> str:
        """A node; returns the name of its output."""
        place = "/" + (self.scope + at).replace(".", "/").strip("/")
        output = f"{place}/{op}_{len(self.nodes)}_output_0"
        node = helper.make_node(op, inputs, [output], name=f"{place}/{op}_{len(self.nodes)}", **attributes)
        self.nodes.append(node)
        return output

    def save(
        self, path: Path, opset: int, given: onnx.ValueInfoProto, result: str, shape: tuple[int | str, ...]
    ) -> None:
        """Write the file."""
        out = helper.make_tensor_value_info(result, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "deep", [given], [out], self.weights)
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)


def _layer_norm(w: Writer, x: str, at: str) -> str:
    centred = w("Sub", x, w("ReduceMean", x, axes=[-1], at=at), at=at)
    spread = w("ReduceMean", w("Pow", centred, w.constant(f"{at}.two", 2.0), at=at), axes=[-1], at=at)
    deviation = w("Sqrt", w("Add", spread, w.constant(f"{at}.eps", 1e-5), at=at), at=at)
    scaled = w("Mul", w("Div", centred, deviation, at=at), w.weight(f"{at}.weight", WIDTH, around=1.0), at=at)
    return w("Add", scaled, w.weight(f"{at}.bias", WIDTH), at=at)


def _linear(w: Writer, x: str, at: str, inputs: int, outputs: int) -> str:
    y = w("MatMul", x, w.weight(f"{at}.weight", inputs, outputs), at=at)
    return w("Add", w.weight(f"{at}.bias", outputs), y, at=at)


def _attention(w: Writer, x: str) -> str:
    split = w.constant("attn.split", [0, 0, HEADS, WIDTH // HEADS], np.int64)
    joined = w.constant("attn.joined", [0, 0, WIDTH], np.int64)

    def heads(name: str, order: list[int]) -> str:
        y = _linear(w, x, f"attn.{name}", WIDTH, WIDTH)
        return w("Transpose", w("Reshape", y, split, at="attn"), perm=order, at="attn")

    q, k, v = heads("q_proj", [0, 2, 1, 3]), heads("k_proj", [0, 2, 3, 1]), heads("v_proj", [0, 2, 1, 3])
    scores = w("Div", w("MatMul", q, k, at="attn"), w.constant("attn.root", np.sqrt(WIDTH / HEADS)), at="attn")
    y = w("MatMul", w("Softmax", scores, axis=-1, at="attn"), v, at="attn")
    y = w("Reshape", w("Transpose", y, perm=[0, 2, 1, 3], at="attn"), joined, at="attn")
    return _linear(w, y, "attn.out_proj", WIDTH, WIDTH)


def _perceptron(w: Writer, x: str) -> str:
    h = _linear(w, x, "mlp.fc1", WIDTH, 4 * WIDTH)
    e = w("Erf", w("Div", h, w.constant("mlp.root", np.sqrt(2.0)), at="mlp/act"), at="mlp/act")
    h = w("Mul", h, w("Add", e, w.constant("mlp.one", 1.0), at="mlp/act"), at="mlp/act")
    h = w("Mul", h, w.constant("mlp.half", 0.5), at="mlp/act")
    return _linear(w, h, "mlp.fc2", 4 * WIDTH, WIDTH)


def transformer(path: Path, layers: int) -> Path:
    """Blocks of 49 nodes."""
    w = Writer()
    x = "input"
    for index in range(layers):
        w.scope = f"layers.{index}."
        x = w("Add", x, _attention(w, _layer_norm(w, x, "norm1")))
        x = w("Add", x, _perceptron(w, _layer_norm(w, x, "norm2")))
    given = helper.make_tensor_value_info("input", TensorProto.FLOAT, ("batch", TOKENS, WIDTH))
    w.save(path, 14, given, x, ("batch", TOKENS, WIDTH))
    return path


def _conv_norm(w: Writer, x: str, at: str) -> str:
    y = w("Conv", x, w.weight(f"{at}.weight", 8, 8, 3, 3), kernel_shape=[3, 3], pads=[1, 1, 1, 1], at=at)
    at = at.replace("conv", "bn")
    parts = [w.weight(f"{at}.{name}", 8, around=around) for name, around in
             (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0))]  # fmt: skip
    return w("BatchNormalization", y, *parts, at=at)


def residual(path: Path, blocks: int) -> Path:
    """Blocks of 7 nodes."""
    w = Writer()
    x = "input"
    for index in range(blocks):
        w.scope = f"layers.{index}."
        y = _conv_norm(w, w("Relu", _conv_norm(w, x, "conv1")), "conv2")
        x = w("Relu", w("Add", y, x))
    given = helper.make_tensor_value_info("input", TensorProto.FLOAT, ("batch", 8, 8, 8))
    w.save(path, 14, given, x, ("batch", 8, 8, 8))
    return path


KINDS = {"transformer": (transformer, 49), "residual": (residual, 7)}


def measured(kind: str, nodes: int, rounds: int) -> dict[str, Any]:
    """Seconds of each stage from the path to a module, the least of the rounds; what is imported once is not counted."""
    import migrate
    from benchmarks.stages import breakdown

    write, each = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder:
        migrate.to_module(write(Path(folder) / "small.onnx", 2))
        path = write(Path(folder) / "deep.onnx", round(nodes / each))
        count = len(onnx.load(str(path)).graph.node)
        runs = [breakdown(lambda: migrate.to_module(path)) for _ in range(rounds)]
    return {"case": f"{kind}, {count:,} nodes", "stages": min(runs, key=lambda run: sum(run.values()))}


def main() -> None:
    """Measure one file in this process and print JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.deep")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(json.dumps(measured(options.kind, options.nodes, options.rounds)))


if __name__ == "__main__":
    main()
