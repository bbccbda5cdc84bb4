"""Products of matrices whose ATen form differs from the public one."""

from __future__ import annotations

from typing import Any

from migrate.frontends.pytorch.registry import aten_op
from migrate.graph import Builder, Value


@aten_op("aten.matmul", "aten.mm", "aten.bmm", "aten.mv", "aten.dot", "aten.linalg_matmul")
def aten_matmul(b: Builder, self: Value, other: Value) -> Value:
    """`self @ other`."""
    return b.matmul(self, other)


@aten_op("aten.addmm", "aten.baddbmm", "aten.addmv")
def aten_addmm(b: Builder, self: Value, mat1: Value, mat2: Value, *, beta: Any = 1, alpha: Any = 1) -> Value:
    """`beta * self + alpha * (mat1 @ mat2)`."""
    product = b.matmul(mat1, mat2)
    product = product if alpha == 1 else b.mul(product, alpha)
    if beta == 0:
        return product
    return b.add(self if beta == 1 else b.mul(self, beta), product)


@aten_op("aten.einsum")
def aten_einsum(b: Builder, equation: str, tensors: Any, *, path: Any = None) -> Value:
    """The operands come as a list."""
    del path
    return b.einsum(equation, *tensors)


@aten_op("aten.outer")
def aten_outer(b: Builder, self: Value, vec2: Value) -> Value:
    """Every element of one vector times every one of the other."""
    return b.mul(b.unsqueeze(self, 1), vec2)
