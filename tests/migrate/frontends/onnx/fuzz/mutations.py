"""Broken variants of small models, each read and written in this process: how it ended is counted, what may not be is printed.

Run as a program, `python -m tests.migrate.frontends.onnx.fuzz.mutations FIRST COUNT`, so that the memory and the time of
all of it can be measured from outside. A mutation is its seed.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import onnx

import migrate
from migrate.errors import Exit, MigrateError
from tests.onnx_files import SMALL

LIMIT_S = 30
NUMBERS = (0, 1, -1, 2, 3, 7, -(2**31), 2**31 - 1, 2**40, -(2**63), 2**63 - 1)
NAMES = (
    "",
    "x",
    "class",
    "print",
    "a.b",
    "a_b",
    "../up",
    "/abs/path",
    'q"); import os #',
    "\u0394\u4e2d",
    "9lives",
    "n" * 300,
)
Mutation = Callable[[random.Random, onnx.ModelProto], None]


def one(chance: random.Random, items: Any) -> Any:
    """One of the items; None of none."""
    return chance.choice(items) if len(items) else None


def rewire(chance: random.Random, model: onnx.ModelProto) -> None:
    """A node takes or makes something else."""
    node = one(chance, model.graph.node)
    names = [name for other in model.graph.node for name in (*other.input, *other.output)]
    field = chance.choice([node.input, node.output])
    if len(field):
        field[chance.randrange(len(field))] = chance.choice([*names, *NAMES])


def change_inputs(chance: random.Random, model: onnx.ModelProto) -> None:
    """A node has one input or output more or less."""
    field = chance.choice([(node := one(chance, model.graph.node)).input, node.output])
    if len(field) and chance.random() < 0.5:
        del field[chance.randrange(len(field))]
    else:
        field.append(chance.choice([*field, *NAMES]))


def change_operator(chance: random.Random, model: onnx.ModelProto) -> None:
    """A node is of another operator or domain."""
    node = one(chance, model.graph.node)
    others = ["Conv", "Loop", "Reshape", "Slice", "Resize", "Gather", "LSTM", "Einsum", "Split", "Pad", "NoSuch", ""]
    node.op_type = chance.choice([*others, *(other.op_type for other in model.graph.node)])
    if chance.random() < 0.1:
        node.domain = chance.choice(["com.microsoft", "ai.onnx.ml", "evil.domain"])


def change_attribute(chance: random.Random, model: onnx.ModelProto) -> None:
    """An attribute has another value, name or type, or is gone."""
    node = one(chance, [n for n in model.graph.node if len(n.attribute)])
    if node is None:
        return
    attribute = one(chance, node.attribute)
    kind = chance.randrange(5)
    if kind == 0:
        node.attribute.remove(attribute)
    elif kind == 1:
        attribute.name = chance.choice([*NAMES, "axis", "perm", "kernel_shape"])
    elif kind == 2:
        attribute.type = chance.randrange(15)
    elif len(attribute.ints) and kind == 3:
        attribute.ints[chance.randrange(len(attribute.ints))] = chance.choice(NUMBERS)
    else:
        attribute.i = chance.choice(NUMBERS)


def change_tensor(chance: random.Random, model: onnx.ModelProto) -> None:
    """An initializer has other sizes, another type, fewer bytes or lies elsewhere."""
    tensor = one(chance, model.graph.initializer)
    if tensor is None:
        return
    kind = chance.randrange(5)
    if kind == 0 and len(tensor.dims):
        tensor.dims[chance.randrange(len(tensor.dims))] = chance.choice(NUMBERS)
    elif kind == 1:
        tensor.data_type = chance.randrange(30)
    elif kind == 2:
        tensor.raw_data = tensor.raw_data[: chance.randrange(len(tensor.raw_data) + 1)]
    elif kind == 3:
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=chance.choice(["../x", "/etc/hostname", "w.bin", ""]))
    else:
        tensor.name = chance.choice(NAMES)


def change_sizes(chance: random.Random, model: onnx.ModelProto) -> None:
    """An input has other sizes or another type."""
    value = one(chance, model.graph.input)
    if value is None:
        return
    dims = value.type.tensor_type.shape.dim
    if len(dims) and chance.random() < 0.7:
        dims[chance.randrange(len(dims))].dim_value = chance.choice(NUMBERS)
    else:
        value.type.tensor_type.elem_type = chance.randrange(30)


def change_nodes(chance: random.Random, model: onnx.ModelProto) -> None:
    """A node is gone, comes twice, or comes last."""
    node = onnx.NodeProto()
    place = chance.randrange(len(model.graph.node))
    node.CopyFrom(model.graph.node[place])
    if chance.random() < 0.6:
        del model.graph.node[place]
    if chance.random() < 0.6:
        model.graph.node.append(node)


def rename(chance: random.Random, model: onnx.ModelProto) -> None:
    """A name throughout, or that of the graph, an input's size or a node, is another one."""
    new = chance.choice(NAMES)
    old = one(chance, [name for node in model.graph.node for name in (*node.input, *node.output)])
    for node in model.graph.node:
        for field in (node.input, node.output):
            field[:] = [new if name == old else name for name in field]
    for value in (*model.graph.initializer, *model.graph.input, *model.graph.output):
        value.name = new if value.name == old else value.name
    one(chance, model.graph.node).name = model.graph.name = new


def change_opset(chance: random.Random, model: onnx.ModelProto) -> None:
    """Another opset, or none."""
    if len(model.opset_import):
        one(chance, model.opset_import).version = chance.choice([*NUMBERS, 6, 9, 12, 18, 25])


MUTATIONS: tuple[Mutation, ...] = (
    rewire, change_inputs, change_operator, change_attribute, change_tensor, change_sizes, change_nodes, rename,
    change_opset,
)  # fmt: skip


def broken(seed: int, models: list[onnx.ModelProto]) -> onnx.ModelProto:
    """A copy of a model with one to three faults."""
    chance = random.Random(seed)
    model = onnx.ModelProto()
    model.CopyFrom(models[seed % len(models)])
    for _ in range(chance.choice([1, 1, 2, 3])):
        if len(model.graph.node):
            chance.choice(MUTATIONS)(chance, model)
    return model


def end_of(model: onnx.ModelProto) -> str:
    """How reading and writing it ends: an exit status, or the place of a fault of ours."""
    signal.alarm(LIMIT_S)
    try:
        migrate.to_module(model)
    except MigrateError as fault:
        return str(int(fault.status)) if fault.status in (Exit.INPUT, Exit.UNSUPPORTED) else f"exit {fault.status}"
    except Exception as fault:
        last = traceback.extract_tb(fault.__traceback__)[-1]
        return f"{type(fault).__name__}: {fault} ({last.filename}:{last.lineno})"[:400]
    finally:
        signal.alarm(0)
    return "0"


def main(first: int, count: int) -> None:
    """Run the mutations and print, as JSON, the counts of the ends and the seeds of those that may not be."""
    warnings.simplefilter("ignore")
    models = [make() for make in SMALL.values()]
    ends = {seed: end_of(broken(seed, models)) for seed in range(first, first + count)}
    wrong = {str(seed): end for seed, end in ends.items() if end not in ("0", "3", "4")}
    print(json.dumps({"ends": Counter(end for end in ends.values() if end in ("0", "3", "4")), "wrong": wrong}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
