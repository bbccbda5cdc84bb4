"""Small graphs made by hand, and the comparison that most tests of the code generator make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from migrate.codegen import PackagePlan, plan_package, render_package, to_module
from migrate.graph import Builder, Value, Weight, interpret

BATCH = ("batch", (2, 3, 5))


class Net(Builder):
    """A builder with tensors at hand and a seeded source of numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.rng = np.random.default_rng(0)

    def batch(self, *sizes: Any, name: str = "x", dtype: str = "float32") -> Value:
        """An input whose first axis is the batch."""
        value = self.input(name, dtype, [BATCH, *sizes])
        self.graph.batch = value.shape[0]
        self.graph.batch_axes[name] = 0
        return value

    def tensor_of(self, *shape: int, name: str = "w", role: str = "parameter", kind: str = "", **more: Any) -> Value:
        """A float tensor of the source."""
        array = (self.rng.standard_normal(shape) * 0.3).astype("float32")
        array = np.abs(array) + 1 if kind == "running_var" else array
        weight = Weight(source=name, read=lambda: array, source_shape=shape, role=role, kind=kind, **more)  # type: ignore[arg-type]
        return self.weight(name, "float32", weight, shape)

    def table(self, values: Any, name: str = "table") -> Value:
        """An integer tensor of the source."""
        array = np.array(values, dtype=np.int64)
        weight = Weight(source=name, read=lambda: array, source_shape=array.shape, role="buffer", trainable=False)
        value = self.weight(name, "int64", weight, array.shape)
        value.static = None
        return value

    def dense(self, x: Value, width: int, name: str = "fc") -> Value:
        """A linear layer."""
        return self.linear(x, self.tensor_of(width, x.shape[-1], name=name), self.tensor_of(width, name=f"{name}_b"))

    def conv_norm(self, x: Value, width: int, act: bool = True) -> Value:
        """A 3x3 convolution, batch normalisation and ReLU."""
        x = self.conv2d(x, self.tensor_of(width, x.shape[1], 3, 3), None, 1, 1)
        mean = self.tensor_of(width, role="buffer", kind="running_mean")
        var = self.tensor_of(width, role="buffer", kind="running_var")
        x = self.batch_norm(x, mean, var, self.tensor_of(width), self.tensor_of(width), False, 0.1, 1e-5)
        return self.relu(x) if act else x

    def plan(self, *outputs: Value, **settings: Any) -> PackagePlan:
        """The plan of the graph with these outputs."""
        self.graph.outputs = list(outputs)
        return plan_package(self.graph, name="net", **settings)


@pytest.fixture
def net() -> Net:
    """A fresh builder."""
    return Net()


@pytest.fixture
def agrees() -> Callable[..., Any]:
    """Check that the emitted module computes exactly what the graph means; returns the module."""

    def check(plan: PackagePlan, *inputs: torch.Tensor, ulps: int = 0) -> torch.nn.Module:
        module = to_module(plan)
        with torch.no_grad():
            made: Any = module(*inputs)
            meant = interpret(plan.graph, *inputs)
        made = made if isinstance(made, tuple) else (made,)
        assert len(made) == len(meant)
        for got, want in zip(made, meant, strict=True):
            torch.testing.assert_close(got, want, rtol=ulps * 2**-23, atol=ulps * 2**-24)
        return module

    return check


@pytest.fixture
def model_text() -> Callable[[PackagePlan], str]:
    """The text of all model files."""

    def text(plan: PackagePlan) -> str:
        files = render_package(plan)
        skipped = ("__init__", "__main__", "config", "data", "loss")
        return "\n".join(
            v for k, v in files.items() if k.startswith("net/") and k[4:-3] not in skipped and k.endswith(".py")
        )

    return text
