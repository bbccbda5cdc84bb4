"""Products of matrices: a product with a weight is a `linear`, whose weight is stored as torch stores it."""

from __future__ import annotations

from migrate.frontends.onnx.importer import OnnxBuilder
from migrate.frontends.onnx.registry import onnx_op
from migrate.graph import Value


@onnx_op("MatMul", learns=("A", "B"))
def onnx_matmul(b: OnnxBuilder, A: Value, B: Value) -> Value:
    """MatMul(x, W) is linear(x, W transposed)."""
    if B.weight is not None and B.rank == 2 and A.weight is None and A.rank:
        return b.linear(A, b.permute(B, (1, 0)))
    return b.matmul(A, B)


@onnx_op("Gemm", since=7, learns=("A", "B", "C"))
def onnx_gemm(
    b: OnnxBuilder,
    A: Value,
    B: Value,
    C: Value | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Value:
    """alpha * A B + beta * C, each transposed where its flag says so."""
    left = b.permute(A, (1, 0)) if transA else A
    if B.weight is not None and alpha == beta == 1:
        weight = B if transB else b.permute(B, (1, 0))
        width = weight.shape[0]
        if C is None:
            return b.linear(left, weight)
        if C.weight is not None and C.rank in (1, 2) and C.shape == (1,) * (C.rank - 1) + (width,):
            return b.linear(left, weight, C if C.rank == 1 else b.reshape(C, (width,)))
    product = b.matmul(left, b.permute(B, (1, 0)) if transB else B)
    product = product if alpha == 1 else b.mul(product, alpha)
    if C is None:
        return product
    return b.add(product, C if beta == 1 else b.mul(C, beta))


@onnx_op("Gemm", since=1, learns=("A", "B", "C"))
def onnx_gemm_1(
    b: OnnxBuilder,
    A: Value,
    B: Value,
    C: Value,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    broadcast: int = 0,
    transA: int = 0,
    transB: int = 0,
) -> Value:
    """C was broadcast on request only; without, it has the size of the result."""
    del broadcast
    return onnx_gemm(b, A, B, C, alpha=alpha, beta=beta, transA=transA, transB=transB)


@onnx_op("Det", since=11)
def onnx_det(b: OnnxBuilder, X: Value) -> Value:
    """The determinants of the last two axes."""
    return b.det(X)


@onnx_op("Einsum", since=12, learns=("Inputs",))
def onnx_einsum(b: OnnxBuilder, *Inputs: Value, equation: str) -> Value:
    """Torch has the same equations."""
    return b.einsum(equation, *Inputs)
