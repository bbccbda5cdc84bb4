"""Products of matrices whose ATen form differs from the public one."""

from __future__ import annotations

from typing import Any

from migrate.frontends.pytorch.ops.elementwise import cast
from migrate.frontends.pytorch.registry import Unsupported, aten_op
from migrate.graph import Builder, Value


@aten_op("aten.matmul", "aten.bmm", "aten.mv", "aten.dot", "aten.linalg_matmul")
def aten_matmul(b: Builder, self: Value, other: Value) -> Value:
    """`self @ other`."""
    return b.matmul(self, other)


@aten_op("aten.mm")
def aten_mm(b: Builder, self: Value, mat2: Value) -> Value:
    """`self @ mat2`; a linear layer where that is a weight turned around, as decomposed programs write one."""
    weight = _turned_weight(mat2)
    return b.matmul(self, mat2) if weight is None else b.linear(self, weight)


def _turned_weight(matrix: Value) -> Value | None:
    node = matrix.node
    if node is None or node.op.name not in ("transpose", "permute") or matrix.rank != 2:
        return None
    weight = node.args[0]
    return weight if weight.weight is not None and weight.weight.role == "parameter" else None


@aten_op("aten.addmm", "aten.baddbmm", "aten.addmv")
def aten_addmm(b: Builder, self: Value, mat1: Value, mat2: Value, *, beta: Any = 1, alpha: Any = 1) -> Value:
    """`beta * self + alpha * (mat1 @ mat2)`; a linear layer where that is one."""
    weight = _turned_weight(mat2) if self.rank == 1 and beta == alpha == 1 else None
    if weight is not None and self.weight is not None and self.shape[0] == weight.shape[0]:
        return b.linear(mat1, weight, self)
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


@aten_op("aten.tensordot")
def aten_tensordot(b: Builder, self: Value, other: Value, dims_self: Any, dims_other: Any) -> Value:
    """Products summed over axes of both."""
    return b.tensordot(self, other, dims=(tuple(dims_self), tuple(dims_other)))


@aten_op("aten.chain_matmul", "aten.linalg_multi_dot")
def aten_multi_dot(b: Builder, matrices: Any) -> Value:
    """A product of many matrices, in the cheapest order."""
    return b.linalg_multi_dot(list(matrices))


@aten_op("aten.cdist")
def aten_cdist(b: Builder, x1: Value, x2: Value, p: float = 2.0, compute_mode: int | None = None) -> Value:
    """Distances between the rows of two matrices; ATen numbers the ways to compute them."""
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    return b.cdist(x1, x2, p, **({"compute_mode": modes[compute_mode]} if compute_mode else {}))


@aten_op("aten._grouped_mm", "transformers.grouped_mm_fallback")
def aten_grouped_mm(
    b: Builder, self: Value, mat2: Value, offs: Value | None = None, bias: Value | None = None, out_dtype: Any = None
) -> Value:
    """Groups of rows with a matrix each; transformers has an operator of its own for what torch does in few precisions."""
    if offs is None or bias is not None or self.rank != 2 or mat2.rank != 3:
        raise Unsupported("grouped products other than of rows with one matrix for each group")
    return cast(b, b.grouped_mm(self, mat2, offs), out_dtype)
