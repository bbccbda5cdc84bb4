"""What autograd keeps for the backward pass: `python -m benchmarks.memory NAME` measures one source and prints JSON.

Three modules of the same source in training mode: as the exporter wrote it, without the passes that fuse and that join moves;
as it is emitted; and that with its blocks recomputed. Counted are the bytes of all storages that
`saved_tensors_hooks` shows in one forward pass, the weights left out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from benchmarks.models import CASES
from migrate.codegen import to_module
from migrate.graph import Graph
from migrate.graph.passes import default_passes, run_passes
from migrate.options import Options
from migrate.sources import open_source
from runtime.train.recompute import find_blocks, recompute_blocks
from tests.models import model_path
from tests.readability.sources import MODULES

BATCH = 8
LEFT_OUT = {"fuse", "join_moves"}
SIZES = {"ppocr_rec": (3, 48, 320), "nudenet": (3, 160, 160)}
OPSETS = (14, 20)  # the last without LayerNormalization and Gelu, and the exporter's default


def exported(name: str, opset: int) -> Callable[[Path], Path]:
    """What makes the file of a model of torchvision or transformers, in evaluation as most files are."""

    def make(folder: Path) -> Path:
        model, example = MODULES[name]()
        names = {"input_names": ["x"], "output_names": ["y"], "dynamic_axes": {"x": {0: "batch"}}}
        torch.onnx.export(model, example, str(folder / "m.onnx"), dynamo=False, opset_version=opset, **names)
        return folder / "m.onnx"

    return make


FILES: dict[str, Callable[[Path], Path]] = {
    "gpt": lambda _: CASES["gpt"].file(),
    **{f"{name}, opset {opset}": exported(name, opset) for name in ("bert", "gpt2", "vit_b_16") for opset in OPSETS},
    **{name: lambda _, name=name: model_path(name) for name in SIZES},
}


def inputs_of(graph: Graph, name: str) -> tuple[Tensor, ...]:
    """Random inputs at a batch of 8; free sizes beyond it are those of `SIZES`."""
    generator = torch.Generator().manual_seed(0)
    made: list[Tensor] = []
    for value in graph.inputs:
        free = SIZES.get(name, value.shape[1:])
        shape = [BATCH, *(size if isinstance(size, int) else free[axis] for axis, size in enumerate(value.shape[1:]))]
        floats = value.is_float
        made.append(
            torch.randn(shape, generator=generator) if floats else torch.randint(100, shape, generator=generator)
        )
    return tuple(made)


def tensors(outputs: Any) -> list[Tensor]:
    """The floating-point outputs."""
    found: Sequence[Tensor] = (outputs,) if isinstance(outputs, Tensor) else outputs
    return [tensor for tensor in found if tensor.is_floating_point()]


def kept_bytes(module: nn.Module, inputs: tuple[Tensor, ...]) -> int:
    """Bytes kept for backward by one forward pass in training mode."""
    own = {t.untyped_storage().data_ptr() for t in (*module.parameters(), *module.buffers())}
    kept: dict[int, Tensor] = {}

    def note(tensor: Tensor) -> Tensor:
        if tensor.untyped_storage().data_ptr() not in own:
            kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    torch.manual_seed(0)
    with saved_tensors_hooks(note, lambda tensor: tensor):
        total = torch.stack([output.square().mean() for output in tensors(module.train()(*inputs))]).sum()
    found = sum(tensor.untyped_storage().nbytes() for tensor in kept.values())
    del total
    return found


def measured(name: str) -> dict[str, Any]:
    """The three modules of a source."""
    with tempfile.TemporaryDirectory() as folder:
        path = FILES[name](Path(folder))
        found: dict[str, Any] = {"case": name}
        for label, left_out in (("pieces", LEFT_OUT), ("emitted", set[str]())):
            graph = open_source(path, Options()).graph
            run_passes(graph, [each for each in default_passes() if each.name not in left_out])
            inputs = inputs_of(graph, name)
            module = to_module(graph)
            found[label] = kept_bytes(module, inputs)
        found["blocks"] = len(find_blocks(module))
        if found["blocks"]:
            recompute_blocks(module)
            found["recomputed"] = kept_bytes(module, inputs)
    return found


def main() -> None:
    """Measure one source in this process and print JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory")
    parser.add_argument("name", choices=FILES)
    print(json.dumps(measured(parser.parse_args().name)))


if __name__ == "__main__":
    main()
