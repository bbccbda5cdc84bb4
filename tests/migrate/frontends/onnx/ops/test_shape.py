"""Shapes: moving, joining, cutting and padding, at fixed and free sizes; and what is folded away."""

import numpy as np
import onnx
import onnx.numpy_helper
import pytest
from onnx import helper

from migrate.errors import MigrateError
from migrate.frontends.onnx import load_onnx
from tests.migrate.frontends.onnx.ops.cases import Case, check, graph_of, ints, x

X = x(2, 3, 4, 5)
END = 2**63 - 1


def cut(*ranges: tuple[int, int, int, int], **more: object) -> Case:
    """Slice with (axis, start, stop, step)."""
    axes, starts, ends, steps = (ints(*column) for column in zip(*ranges, strict=True))
    return Case(op="Slice", inputs=(X, starts, ends, axes, steps), constants=(1, 2, 3, 4), note=str(ranges), **more)


def padded(mode: str, *pads: int, shape: tuple[int, ...] = (2, 3, 4, 5), **more: object) -> Case:
    return Case(
        op="Pad",
        inputs=(x(*shape), ints(*pads)),
        constants=(1,),
        attributes={"mode": mode},
        note=f"{mode}_{pads}_{shape}",
        **{"opset": 19, **more},
    )


CASES = [
    Case(op="Identity", inputs=(X,)),
    Case(op="Shape", inputs=(X,), gradient=False),
    Case(op="Shape", inputs=(X,), attributes={"start": 1, "end": -1}, gradient=False),
    Case(op="Size", inputs=(X,), gradient=False),
    Case(op="Reshape", inputs=(X, ints(0, -1, 5)), constants=(1,), free=(0, 2)),
    Case(op="Reshape", inputs=(x(0, 3), ints(0, 1, 3)), constants=(1,), attributes={"allowzero": 1}, gradient=False),
    *(Case(op="Flatten", inputs=(X,), attributes={"axis": axis}, free=(0,)) for axis in (0, 1, 2, 4, -1)),
    Case(op="Transpose", inputs=(X,)),
    Case(op="Transpose", inputs=(X,), attributes={"perm": [0, 2, 3, 1]}),
    Case(op="Squeeze", inputs=(x(1, 3, 1, 2), ints(0, -2)), constants=(1,)),
    Case(op="Squeeze", inputs=(x(1, 3, 1, 2),)),
    Case(op="Squeeze", inputs=(x(1, 3, 1, 2),), opset=11, attributes={"axes": [2]}),
    Case(op="Unsqueeze", inputs=(x(3, 2), ints(0, -1)), constants=(1,)),
    Case(op="Unsqueeze", inputs=(x(3, 2),), opset=11, attributes={"axes": [3, 1]}),
    *(Case(op="Concat", inputs=(X, X * 2), attributes={"axis": axis}) for axis in (0, 1, -1)),
    cut((0, 0, 1, 1)),
    cut((1, -2, END, 1), (3, 1, -1, 2)),
    cut((2, -1, -END, -1), (3, 3, 0, -2)),
    cut((2, -1, -END, -1), free=(0, 2)),
    cut((2, END, -END, -3), free=(2,)),
    cut((2, 1, END, 2), (3, 0, -1, 1), free=(0, 2, 3)),
    cut((1, 5, 1, 1), gradient=False),
    Case(op="Slice", inputs=(X,), opset=9, attributes={"starts": [1, 0], "ends": [3, -1], "axes": [1, 3]}),
    Case(op="Split", inputs=(X,), opset=11, attributes={"axis": 3, "split": [2, 3]}, num_outputs=2),
    Case(op="Split", inputs=(X, ints(1, 2)), constants=(1,), attributes={"axis": 1}, num_outputs=2),
    Case(op="Split", inputs=(X,), attributes={"axis": 2}, num_outputs=2),
    Case(op="Split", inputs=(X,), opset=18, attributes={"axis": 3, "num_outputs": 2}, num_outputs=2),
    Case(op="Expand", inputs=(x(3, 1), ints(2, 1, 4)), constants=(1,)),
    Case(op="Expand", inputs=(x(3, 4), ints(1, 1)), constants=(1,)),
    Case(op="Tile", inputs=(X, ints(1, 2, 1, 3)), constants=(1,)),
    *(Case(op="DepthToSpace", inputs=(x(2, 8, 2, 3),), attributes={"blocksize": 2, "mode": m}) for m in ("DCR", "CRD")),
    Case(op="SpaceToDepth", inputs=(x(2, 3, 4, 6),), attributes={"blocksize": 2}, free=(0,)),
    padded("constant", 0, 1, 0, 2, 1, 0, 2, 0),
    padded("constant", 0, 0, -1, 0, 0, 0, 0, -2),
    *(padded(mode, 0, 0, 1, 2, 0, 0, 2, 1) for mode in ("reflect", "edge", "wrap")),
    *(padded(mode, 1, 2, 0, 0, 1, 1, 0, 0) for mode in ("reflect", "edge", "wrap")),
    *(padded(mode, 0, 0, 2, 0, 0, 2, shape=(2, 3, 5), free=(0, 2)) for mode in ("reflect", "edge")),
    *(padded(mode, 0, 6, 0, 7, shape=(2, 3), engine="reference") for mode in ("reflect", "edge", "wrap")),
    Case(
        op="Col2Im",
        inputs=(x(2, 18, 4), ints(5, 5), ints(3, 3)),
        constants=(1, 2),
        opset=18,
        attributes={"strides": [2, 2]},
    ),
    Case(
        op="Col2Im",
        inputs=(x(1, 8, 12), ints(3, 4), ints(2, 2)),
        constants=(1, 2),
        opset=18,
        attributes={"pads": [1, 0, 0, 1]},
        engine="reference",
        note="pads that differ",
        gradcheck=True,
    ),
    Case(
        op="Col2Im",
        inputs=(x(1, 10, 12), ints(3, 4, 5), ints(1, 1, 5)),
        constants=(1, 2),
        opset=18,
        engine="reference",
        note="three axes",
        gradcheck=True,
    ),
    Case(op="Pad", inputs=(x(3), ints(1, 2), np.float32(3)), constants=(1, 2), note="value"),
    Case(op="Pad", inputs=(X, ints(1, 2), None, ints(-1)), constants=(1, 3), opset=18, note="axes"),
    Case(op="Pad", inputs=(x(3, 2),), opset=2, attributes={"pads": [0, 1, 0, 2], "value": 1.5}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_numbers_and_gradients(case: Case) -> None:
    check(case)


def test_squeezing_an_axis_that_is_not_1_is_refused() -> None:
    with pytest.raises(MigrateError, match="cannot be squeezed"):
        graph_of(Case(op="Squeeze", inputs=(X, ints(1)), constants=(1,)))


def chain() -> onnx.ModelProto:
    """The flattening that exporters write with Shape, Gather, Unsqueeze and Concat."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"], axis=0),
        helper.make_node("Unsqueeze", ["n", "zero_1d"], ["n1"]),
        helper.make_node("Concat", ["n1", "minus"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    constants = {"zero": np.int64(0), "zero_1d": ints(0), "minus": ints(-1)}
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", 1, ["batch", 3, "width"])],
        [helper.make_empty_tensor_value_info("y")],
        [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_chain_of_size_arithmetic_leaves_one_node() -> None:
    graph = load_onnx(chain())
    assert [node.op.name for node in graph.nodes] == ["flatten"]


def test_a_baked_row_is_repeated_for_the_batch_in_a_concatenation() -> None:
    token = np.ones((1, 1, 4), dtype=np.float32)
    node = helper.make_node("Concat", ["token", "x"], ["y"], axis=1)
    graph = helper.make_graph(
        [node],
        "tokens",
        [helper.make_tensor_value_info("x", 1, [1, 3, 4])],
        [helper.make_empty_tensor_value_info("y")],
        [onnx.numpy_helper.from_array(token, "token")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    found = load_onnx(model)
    assert found.batch is not None
    assert found.outputs[0].shape == (found.batch, 4, 4)
