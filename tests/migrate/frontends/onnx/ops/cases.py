"""A case of an operator: a small model, run by the source's engine and as an imported graph, with gradients."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime
import torch
from onnx import helper
from onnx.reference import ReferenceEvaluator

from migrate.frontends.onnx import load_onnx
from migrate.graph import Graph, interpret

TOLERANCE = 1e-5
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One call of an operator.

    `inputs` holds arrays, in order, None where one is absent. `constants` are the places of those that are initializers, `free`
    the axes of the first input whose size is not known to the import. `engine` is the oracle, for what one of them lacks.
    `version` is that of the domain. `gradcheck` holds the gradients against differences in float64.
    """

    op: str
    inputs: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    opset: int = 17
    domain: str = ""
    version: int = 1
    constants: tuple[int, ...] = ()
    free: tuple[int, ...] = ()
    num_outputs: int = 1
    engine: str = "onnxruntime"
    gradient: bool = True
    gradcheck: bool = False
    note: str = ""

    @property
    def id(self) -> str:
        """The operator, its version and what is special."""
        told = self.note or "_".join(f"{k}={v}" for k, v in self.attributes.items())
        return f"{self.op}-{self.opset}-{told}"[:80].replace(" ", "")


def x(*shape: int, seed: int = 0) -> Array:
    """Floats from a normal distribution."""
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def ints(*values: int) -> Array:
    """A vector of int64."""
    return np.array(values, dtype=np.int64)


def f32(*values: float) -> Array:
    """A vector of float32."""
    return np.array(values, dtype=np.float32)


def model_of(case: Case) -> onnx.ModelProto:
    """The model with one node."""
    names = ["" if v is None else f"i{i}" for i, v in enumerate(case.inputs)]
    outputs = [f"o{i}" for i in range(case.num_outputs)]
    node = helper.make_node(case.op, names, outputs, name="node", domain=case.domain, **case.attributes)
    inputs: list[onnx.ValueInfoProto] = []
    initializers: list[onnx.TensorProto] = []
    for i, value in enumerate(case.inputs):
        if value is None:
            continue
        if i in case.constants:
            initializers.append(onnx.numpy_helper.from_array(np.asarray(value), names[i]))
            continue
        shape = [f"d{a}" if i == 0 and a in case.free else s for a, s in enumerate(value.shape)]
        inputs.append(helper.make_tensor_value_info(names[i], helper.np_dtype_to_tensor_dtype(value.dtype), shape))
    found = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([node], "case", inputs, found, initializers)
    opsets = [helper.make_opsetid("", case.opset)] + [helper.make_opsetid(case.domain, case.version)] * bool(
        case.domain
    )
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def feeds_of(case: Case) -> dict[str, Array]:
    """The inputs that are not initializers, by name."""
    given = enumerate(case.inputs)
    return {f"i{i}": np.asarray(v) for i, v in given if v is not None and i not in case.constants}


def expected(case: Case, model: onnx.ModelProto) -> list[Array]:
    """What the source's own engine gives."""
    if case.engine == "reference":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ReferenceEvaluator(model).run(None, feeds_of(case))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1  # a DynamicQuantizeLSTM rounds its rows in as many parts as there are threads
    shaped = onnx.shape_inference.infer_shapes(model)
    session = onnxruntime.InferenceSession(shaped.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds_of(case))


def graph_of(case: Case) -> Graph:
    """The imported graph, all sizes fixed but the free ones."""
    feeds = feeds_of(case)
    shapes = {name: v.shape for name, v in feeds.items() if not (case.free and name == "i0")}
    return load_onnx(model_of(case), input_shapes=shapes)


def check(case: Case) -> None:
    """Equal shapes, types and numbers; finite gradients at every float input that the output depends on."""
    wanted = expected(case, model_of(case))
    graph = graph_of(case)
    tensors = [torch.from_numpy(v.copy()) for v in feeds_of(case).values()]
    floats = [t.requires_grad_() for t in tensors if t.is_floating_point()]
    outputs = interpret(graph, *tensors)
    for got, want in zip(outputs, wanted, strict=True):
        array = got.detach().numpy()
        assert (array.shape, array.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(array, want, rtol=TOLERANCE, atol=TOLERANCE)
    if not case.gradient or not floats:
        return
    total = sum(o.sum() for o in outputs if o.requires_grad)
    assert isinstance(total, torch.Tensor), "no output depends on a float input"
    gradients = torch.autograd.grad(total, floats, allow_unused=True)
    assert gradients[0] is not None
    assert all(torch.isfinite(g).all() for g in gradients if g is not None)
    if case.gradcheck:
        for weight in (v for v in graph.weights() if v.is_float):
            weight.dtype = "float64"
        doubles = [t.detach().double().requires_grad_() if t.is_floating_point() else t for t in tensors]
        assert torch.autograd.gradcheck(
            lambda *given: [o for o in interpret(graph, *given) if o.requires_grad], doubles, fast_mode=True
        )
