"""Arithmetic, comparison and logic whose ATen form differs from Python's operators."""

from __future__ import annotations

from typing import Any

from migrate.frontends.pytorch.registry import Unsupported, aten_op
from migrate.graph import Builder, Value

HALF = ("torch.float16", "torch.bfloat16")


def cast(b: Builder, x: Any, dtype: str | None) -> Any:
    """`x` in another type; half precision is trained in float32, so that is what it becomes."""
    dtype = "torch.float32" if dtype in HALF else dtype
    if dtype is None or not isinstance(x, Value) or x.dtype == dtype.removeprefix("torch."):
        return x
    return b.cast(x, dtype)


@aten_op("aten.add")
def aten_add(b: Builder, self: Any, other: Any, *, alpha: Any = 1) -> Value:
    """`self + alpha * other`."""
    return b.add(self, other if alpha == 1 else _times(b, other, alpha))


@aten_op("aten.sub", "aten.subtract")
def aten_sub(b: Builder, self: Any, other: Any, *, alpha: Any = 1) -> Value:
    """`self - alpha * other`."""
    return b.sub(self, other if alpha == 1 else _times(b, other, alpha))


@aten_op("aten.rsub")
def aten_rsub(b: Builder, self: Any, other: Any, alpha: Any = 1) -> Value:
    """`other - alpha * self`."""
    return b.sub(other, self if alpha == 1 else _times(b, self, alpha))


def _times(b: Builder, value: Any, alpha: Any) -> Any:
    return b.mul(value, alpha) if isinstance(value, Value) else value * alpha


@aten_op("aten.mul", "aten.multiply")
def aten_mul(b: Builder, self: Any, other: Any) -> Value:
    """`self * other`."""
    return b.mul(self, other)


@aten_op("aten.div", "aten.divide", "aten.true_divide")
def aten_div(b: Builder, self: Any, other: Any, *, rounding_mode: str | None = None) -> Value:
    """`self / other`, rounded where a mode says so."""
    whole = not any(isinstance(x, float) or (isinstance(x, Value) and x.is_float) for x in (self, other))
    if rounding_mode == "floor" and whole:  # of floats `//` has no derivative, and this one has
        return b.floor_div(self, other)
    if rounding_mode is not None:
        return b.trunc_div(self, other, rounding_mode=rounding_mode)
    return b.div(self, other)


@aten_op("aten.floor_divide")
def aten_floor_divide(b: Builder, self: Any, other: Any) -> Value:
    """`self // other`."""
    return b.floor_div(self, other)


@aten_op("aten.pow")
def aten_pow(b: Builder, self: Any, exponent: Any) -> Value:
    """`self ** exponent`."""
    return b.pow(self, exponent)


@aten_op("aten.neg", "aten.negative")
def aten_neg(b: Builder, self: Value) -> Value:
    """`-self`."""
    return b.neg(self)


@aten_op("aten.lt", "aten.less")
def aten_lt(b: Builder, self: Any, other: Any) -> Value:
    """`self < other`."""
    return b.lt(self, other)


@aten_op("aten.le", "aten.less_equal")
def aten_le(b: Builder, self: Any, other: Any) -> Value:
    """`self <= other`."""
    return b.le(self, other)


@aten_op("aten.gt", "aten.greater")
def aten_gt(b: Builder, self: Any, other: Any) -> Value:
    """`self > other`."""
    return b.gt(self, other)


@aten_op("aten.ge", "aten.greater_equal")
def aten_ge(b: Builder, self: Any, other: Any) -> Value:
    """`self >= other`."""
    return b.ge(self, other)


@aten_op("aten.bitwise_and", "aten.__and__")
def aten_bitwise_and(b: Builder, self: Any, other: Any) -> Value:
    """`self & other`."""
    return b.bitwise_and(self, other)


@aten_op("aten.bitwise_or", "aten.__or__")
def aten_bitwise_or(b: Builder, self: Any, other: Any) -> Value:
    """`self | other`."""
    return b.bitwise_or(self, other)


@aten_op("aten.bitwise_xor", "aten.__xor__")
def aten_bitwise_xor(b: Builder, self: Any, other: Any) -> Value:
    """`self ^ other`."""
    return b.bitwise_xor(self, other)


@aten_op("aten.bitwise_not")
def aten_bitwise_not(b: Builder, self: Value) -> Value:
    """`~self`."""
    return b.bitwise_not(self)


@aten_op("aten.clamp_min", "aten.clamp_min.Tensor")
def aten_clamp_min(b: Builder, self: Value, min: Any) -> Value:
    """No less than `min`."""
    return b.maximum(self, min) if isinstance(min, Value) else b.clamp(self, min=min)


@aten_op("aten.clamp_max")
def aten_clamp_max(b: Builder, self: Value, max: Any) -> Value:
    """No more than `max`."""
    return b.minimum(self, max) if isinstance(max, Value) else b.clamp(self, max=max)


@aten_op("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def aten_where(b: Builder, condition: Value, self: Any, other: Any) -> Value:
    """A choice, element by element."""
    return b.where(condition, self, other)


@aten_op("aten.lerp")
def aten_lerp(b: Builder, self: Value, end: Value, weight: Any) -> Value:
    """Between two tensors."""
    return b.add(self, b.mul(b.sub(end, self), weight))


@aten_op("aten.addcmul")
def aten_addcmul(b: Builder, self: Value, tensor1: Value, tensor2: Value, *, value: Any = 1) -> Value:
    """`self + value * tensor1 * tensor2`."""
    product = b.mul(tensor1, tensor2)
    return b.add(self, product if value == 1 else b.mul(product, value))


@aten_op("aten.addcdiv")
def aten_addcdiv(b: Builder, self: Value, tensor1: Value, tensor2: Value, *, value: Any = 1) -> Value:
    """`self + value * tensor1 / tensor2`."""
    quotient = b.div(tensor1, tensor2)
    return b.add(self, quotient if value == 1 else b.mul(quotient, value))


# ---- types


@aten_op("aten.to.dtype", "aten._to_copy", "aten.to.dtype_layout", "aten.to.device", "aten.to.prim_Device")
def aten_to(b: Builder, self: Value, *args: Any, dtype: str | None = None, **ignored: Any) -> Value:
    """Another type; another device is none of the model's business."""
    named = [a for a in args if isinstance(a, str) and a.startswith("torch.")]
    return cast(b, self, named[0] if named else dtype)


@aten_op("aten.to.other", "aten.type_as")
def aten_type_as(b: Builder, self: Value, other: Value, *ignored: Any, **named: Any) -> Value:
    """The type of another tensor."""
    return cast(b, self, f"torch.{other.dtype}")


@aten_op("aten.clone", "aten.contiguous", "aten.alias", "aten.lift_fresh_copy", "aten.lift_fresh", "aten.lift", "aten.positive",
         "aten.resolve_neg", "aten.requires_grad")  # fmt: skip
def aten_same(b: Builder, self: Value, *ignored: Any, **named: Any) -> Value:
    """Values are never changed in place here, so a copy is the value itself."""
    return self


@aten_op("aten.detach")
def aten_detach(b: Builder, self: Value) -> Value:
    """No gradient flows through it; a tensor that has none is itself."""
    if not self.is_float or (self.weight is not None and self.weight.role == "buffer"):
        return self
    return b.detach(self)


@aten_op("aten.copy")
def aten_copy(b: Builder, self: Value, src: Any, non_blocking: bool = False) -> Value:
    """`src` in the shape and type of `self`."""
    source = cast(b, src, f"torch.{self.dtype}")
    return source if source.shape == self.shape else b.expand(source, tuple(self.shape))


@aten_op("aten.fill")
def aten_fill(b: Builder, self: Value, value: Any) -> Value:
    """One number everywhere."""
    if not isinstance(value, Value):
        return b.full_like(self, value)
    return b.expand(cast(b, value, f"torch.{self.dtype}"), tuple(self.shape))


@aten_op("aten.zero")
def aten_zero(b: Builder, self: Value) -> Value:
    """Zeros."""
    return b.zeros_like(self)


@aten_op("aten.item", "aten._local_scalar_dense")
def aten_item(b: Builder, self: Value) -> Any:
    """A number that is known; one that is computed has no place in a graph."""
    if self.static is not None and self.static.size == 1:
        return self.static.item()
    raise Unsupported("a number is taken out of a tensor", "keep it a tensor")
