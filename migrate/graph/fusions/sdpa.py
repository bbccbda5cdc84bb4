"""Attention by scaled dot products.

    %t = permute(%k, (0, 1, 3, 2))              ->      %y = sdpa(%q, %k, %v, attn_mask=%mask)
    %a = matmul(%q, %t)
    %s = div(%a, 4.0)
    %m = add(%s, %mask)
    %p = softmax(%m, dim=-1)
    %y = matmul(%p, %v)

The scale may be a product or a quotient, on the scores or on what they are made from; a mask is added, or chosen by a
condition. It is causal only where a constant mask is, element by element. A dropout of the weights joins it. Exporters of
the function itself also write what it does for a query without keys: a weight that is no number is 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.interpret import content_of
from migrate.graph.ir import ByMode, Value
from migrate.graph.pattern import RELATIVE, Number, Pattern, Rest, Tensor, call, either
from migrate.graph.scalars import is_learned_number, number_of, shortest
from migrate.graph.sizes import Dim, equal
from migrate.graph.weights import Array

MASKED = -1e4  # the exponential of this is 0 in a float32, whatever the other scores
MASK_DEPTH = 6  # steps from a tensor of the model to the mask that it becomes
add, mul, div, matmul, where, softmax, dropout = map(
    call, ("add", "mul", "div", "matmul", "where", "softmax", "dropout")
)
mask, keep, drop, fill = Tensor("mask"), Tensor("keep"), Tensor("drop"), Number("fill")


def scaled(what: Pattern, name: str) -> Pattern:
    """With a factor or a divisor, or without."""
    return either(mul(what, Number(f"{name}_factor")), div(what, Number(f"{name}_divisor")), what)


products = matmul(scaled(Tensor("q"), "q"), scaled(Tensor("kt"), "k"))
plain_scores = scaled(products, "scores")
scores = either(
    add(plain_scores, mask),
    where(keep, plain_scores, fill),
    where(drop, fill, plain_scores),
    call("masked_fill")(plain_scores, drop, fill),
    plain_scores,
)
plain_weights = softmax(scores, dim=Rest("softmax_axis"))
weights = either(where(call("isnan")(plain_weights), 0.0, plain_weights), plain_weights)


def scale_of(m: Match) -> float:
    """What the scores are multiplied with in all."""
    scale = 1.0
    for name in ("q", "k", "scores"):
        scale *= number_of(m.get(f"{name}_factor")) or 1.0
        scale /= number_of(m.get(f"{name}_divisor")) or 1.0
    return scale


def is_default(scale: float, q: Value) -> bool:
    """Whether torch scales so of itself."""
    width = q.shape[-1]
    return not isinstance(width, Dim) and math.isclose(scale, 1 / math.sqrt(width), rel_tol=2 * RELATIVE)


def why_not(m: Match) -> str | None:
    """The softmax is over the keys, the batches are equal, and scale and mask are what torch's function takes."""
    q, kt, v = m["q"], m["kt"], m["v"]
    if m["softmax_axis"] not in (-1, q.rank - 1):
        return f"the softmax is over axis {m['softmax_axis']}, not over the keys"
    if not q.rank == kt.rank == v.rank or q.rank < 3:
        return f"queries, keys and values have {q.rank}, {kt.rank} and {v.rank} axes"
    if not all(equal(a, b) and equal(a, c) for a, b, c in zip(q.shape[:-2], kt.shape[:-2], v.shape[:-2], strict=True)):
        return "queries, keys and values are not of one batch"
    numbers = [arg for name, arg in m.bound.names.items() if name.endswith(("_factor", "_divisor"))]
    if any(map(is_learned_number, numbers)) and not is_default(scale_of(m), q):
        return "the scale would be trained"
    return why_not_mask(m)


def why_not_mask(m: Match) -> str | None:
    """A mask is of the scores' type and spans queries and keys; one that is chosen by leaves each query a key."""
    q, added, chosen = m["q"], m.get("mask"), m.get("keep") or m.get("drop")
    if added is not None and added.dtype != q.dtype:
        return f"the mask is {added.dtype}, the scores {q.dtype}"
    given = added if added is not None else chosen
    if given is not None and not 2 <= given.rank <= q.rank:
        return f"the mask has {given.rank} axes"
    if chosen is None or number_of(m["fill"]) == -math.inf:
        return None
    if (number_of(m["fill"]) or 0.0) > MASKED:
        return "what is masked keeps a weight"
    content = constant_of(chosen)
    if content is None:
        return "a query whose keys are all masked would attend to none, where the source attends to all"
    kept = content.astype(bool) if m.get("keep") is not None else ~content.astype(bool)
    return None if kept.any(axis=-1).all() else "a query has all its keys masked"


def is_constant(value: Value, depth: int = MASK_DEPTH) -> bool:
    """Whether it is a tensor of the model that nobody trains, or computed from such in a few steps."""
    if value.weight is not None:
        return value.weight.role != "parameter" and not value.weight.homes
    if value.node is None or value.node.blocks or depth == 0:
        return False
    return all(is_constant(taken, depth - 1) for taken in value.node.inputs)


def constant_of(value: Value) -> Array | None:
    """The content of a constant, or of the one of which a slice is the beginning; None for what is computed."""
    if is_constant(value):
        return content_of(value) if value.weight is None else value.weight.array()
    node = value.node
    if node is None or node.op.name != "getitem" or not isinstance(node.args[1], tuple):
        return None
    index: tuple[Any, ...] = node.args[1]
    if not all(isinstance(part, slice) and part.start in (None, 0) and part.step in (None, 1) for part in index):
        return None
    return constant_of(node.args[0])


def is_causal(m: Match) -> bool:
    """Whether each query sees the keys up to its own place, by the content of a constant mask."""
    q, kt = m["q"], m["kt"]
    given = next((m[name] for name in ("mask", "keep", "drop") if m.get(name) is not None), None)
    if given is None or not equal(q.shape[-2], kt.shape[-1]) or any(s != 1 for s in given.shape[:-2]):
        return False
    content = constant_of(given)
    if content is None or content.shape[-1] != content.shape[-2] or content.ndim < 2 or content.shape[-1] < 2:
        return False
    if not (equal(given.shape[-2], q.shape[-2]) and equal(given.shape[-1], kt.shape[-1])):
        return False
    square = content.reshape(content.shape[-2:])
    if m.get("mask") is not None:
        seen, hidden = square == 0, square <= MASKED
    else:
        seen = square.astype(bool) if m.get("keep") is not None else ~square.astype(bool)
        hidden = ~seen
    below = np.tri(len(square), dtype=bool)
    return bool(seen[below].all() and hidden[~below].all())


def keys_of(b: Builder, kt: Value) -> Value:
    """The keys whose transpose this is: what it was permuted from, in the order in which it would have been."""
    node, rank = kt.node, kt.rank
    last = (*range(rank - 2), rank - 1, rank - 2)
    if node is None or node.op.name not in ("permute", "transpose"):
        return b.permute(kt, last)
    source: Value = node.args[0]
    if node.op.name == "permute":
        order = [axis % rank for axis in node.args[1]]
    else:
        order = list(range(rank))
        first, second = (axis % rank for axis in node.args[1:])
        order[first], order[second] = order[second], order[first]
    wanted = tuple(order[axis] for axis in last)
    if wanted == tuple(range(rank)):
        return source
    made: Value = b.permute(source, wanted)
    assert made.node is not None
    made.node.scope, made.node.origin = node.scope, node.origin
    return made


def mask_of(b: Builder, m: Match) -> dict[str, Any]:
    """The arguments that say which keys a query sees."""
    if is_causal(m):
        return {"is_causal": True}
    if m.get("mask") is not None:
        return {"attn_mask": m["mask"]}
    if m.get("drop") is not None:
        return {"attn_mask": b.logical_not(m["drop"])}
    return {} if m.get("keep") is None else {"attn_mask": m["keep"]}


@fusion(
    matmul(either(dropout(weights, Number("rate"), training=Rest("training")), weights), Tensor("v")),
    check=why_not,
)
def sdpa(b: Builder, m: Match) -> Value:
    """Each query's mean of the values, weighted by how its key fits."""
    named = mask_of(b, m)
    if m.get("rate"):
        named["dropout_p"] = ByMode(m["rate"], 0.0)
    scale = scale_of(m)
    if not is_default(scale, m["q"]):
        named["scale"] = shortest(scale)
    return b.sdpa(m["q"], keys_of(b, m["kt"]), m["v"], **named)
