"""GroupNorm.

    %r = reshape(%x, (%x.shape[0], 2, -1))      ->      %y = group_norm(%x, 2, $w, $b, 1e-05)
    %n = instance_norm(%r, eps=1e-05)
    %u = reshape(%n, (%x.shape[0], 8, 16, 16))
    %g = mul(%u, $w)
    %y = add(%g, $b)

So the TorchScript exporter writes it. A scale and a shift per channel join it, one after the other.
"""

from __future__ import annotations

from migrate.graph.affine import channels_of, vector_of, why_not_pair, why_not_vector
from migrate.graph.builder import Builder
from migrate.graph.fusions import Match, fusion
from migrate.graph.ir import Value
from migrate.graph.pattern import Rest, Tensor, call

x, groups, scale, eps = Tensor("x"), Rest("groups"), Rest("scale"), Rest("eps")
add, mul, reshape, group_norm = map(call, ("add", "mul", "reshape", "group_norm"))
by_instance, by_layer = call("instance_norm"), call("layer_norm")
grouped = reshape(x, Rest("grouped"))


def why_not(m: Match) -> str | None:
    """The first reshape splits the channels into groups, the last one takes that back."""
    value: Value = m["x"]
    parts = next(node.args[0] for node in m.bound.nodes if node.op.name in ("instance_norm", "layer_norm"))
    channels = channels_of(value) if value.rank > 1 else ()
    if m.output.shape != value.shape or not channels:
        return "what comes out has not the shape of what goes in"
    if parts.rank != 3 or parts.shape[0] != value.shape[0]:
        return f"the groups are {list(parts.shape)}: not the samples, the groups and all the rest"
    number = parts.shape[1]
    if not isinstance(number, int) or channels[0] % number:
        return f"{channels[0]} channels are not {number} equal groups"
    if m.get("shape") is not None and tuple(m["shape"]) != tuple(parts.shape[2:]):
        return "the mean is over more than one group"
    return None


@fusion(
    reshape(by_instance(grouped, eps=eps), Rest("back")),
    reshape(by_layer(grouped, Rest("shape"), None, None, eps), Rest("back")),
    check=why_not,
)
def plain(b: Builder, m: Match) -> Value:
    """Normalised group by group."""
    parts = next(node.args[0] for node in m.bound.nodes if node.op.name in ("instance_norm", "layer_norm"))
    return b.group_norm(m["x"], parts.shape[1], None, None, 1e-5 if m["eps"] is None else m["eps"])


def why_not_scale(m: Match) -> str | None:
    """The scale has to be a number per channel."""
    value: Value = m["x"]
    return why_not_vector(m, m["weight"], channels_of(value), m.node_of("group_norm"), value.rank - 2)


@fusion(mul(group_norm(x, groups, None, None, eps), Tensor("weight")), check=why_not_scale)
def with_scale(b: Builder, m: Match) -> Value:
    """A scale after it."""
    return b.group_norm(m["x"], m["groups"], vector_of(b, m["weight"], channels_of(m["x"])), None, m["eps"])


def why_not_shift(m: Match) -> str | None:
    """The shift has to be a number per channel, and not the scale's own."""
    value: Value = m["x"]
    wrong = why_not_vector(m, m["bias"], channels_of(value), m.node_of("group_norm"), value.rank - 2)
    return wrong or why_not_pair(m["scale"], m["bias"])


@fusion(add(group_norm(x, groups, scale, None, eps), Tensor("bias")), check=why_not_shift)
def with_shift(b: Builder, m: Match) -> Value:
    """A shift after it."""
    return b.group_norm(m["x"], m["groups"], m["scale"], vector_of(b, m["bias"], channels_of(m["x"])), m["eps"])
