"""A layer and the bias that is added after it become one layer, as a person would have written it.

    %a = linear(%x, $w, None)      ->      %b = linear(%x, $w, $bias)
    %b = add(%a, $bias)

Cases: the layer is a `linear` or a convolution without a bias; the sum has the layer's output, used nowhere else, and a weight
with one element per output channel, on the channel's axis, on either side. Both are in one block. They differ by rounding
only.
"""

from __future__ import annotations

from migrate.graph.ir import Block, Graph, Node, Value, replace_values
from migrate.graph.passes import Pass
from migrate.graph.weights import Step

CHANNEL_FROM_END = {"linear": 1, "conv1d": 2, "conv2d": 3, "conv3d": 4}


def join_bias(graph: Graph) -> int:
    """Join them and return how many."""
    users = graph.users()
    blocks = [block for node in graph.all_nodes for block in node.blocks]
    total = 0
    for holder in (graph, *blocks):
        here, gone = set(holder.nodes), set[Node]()
        stands: dict[Value, Value] = {}
        for node in holder.nodes:
            if node.op.name != "add" or len(node.args) != 2:
                continue
            for result, bias in (node.args, node.args[::-1]):
                if _joins(result, bias, users, holder) and result.node in here:
                    _join(node, result, bias)
                    gone.add(node)
                    stands[node.output] = result
                    break
        holder.nodes = [node for node in holder.nodes if node not in gone]
        replace_values(holder.nodes, stands)
        holder.outputs = [stands.get(value, value) for value in holder.outputs]
        total += len(gone)
    return total


def _joins(result: object, bias: object, users: dict[Value, list[Node]], graph: Graph | Block) -> bool:
    if not isinstance(result, Value) or not isinstance(bias, Value) or bias.weight is None or result.node is None:
        return False
    if bias.weight.homes:  # its module adds it
        return False
    layer = result.node
    axis = CHANNEL_FROM_END.get(layer.op.name)
    if axis is None or _has_bias(layer) or len(users[result]) != 1 or result in graph.outputs:
        return False
    if bias.rank > 1 and len(users[bias]) != 1:
        return False
    channels = result.shape[-axis]
    return bias.rank <= result.rank and bias.shape == (1,) * (bias.rank - axis) + (channels,) + (1,) * (axis - 1)


def _has_bias(layer: Node) -> bool:
    return layer.kwargs.get("bias") is not None or (len(layer.args) > 2 and layer.args[2] is not None)


def _join(total: Node, result: Value, bias: Value) -> None:
    """Give the layer its bias; its output takes the name of the sum, for which it will stand."""
    layer = result.node
    assert layer is not None and bias.weight is not None
    if bias.rank > 1:
        (channels,) = (size for size in bias.shape if size != 1) if bias.shape != (1,) * bias.rank else (1,)
        bias.weight = bias.weight.then(Step("reshape", (channels,)))
        bias.shape, bias.samples = (channels,), []
    layer.args = (*layer.args[:2], bias, *layer.args[3:])
    layer.kwargs = {name: arg for name, arg in layer.kwargs.items() if name != "bias"}
    layer.origin = (*layer.origin, *total.origin)
    result.name = total.output.name


JOIN_BIAS = Pass(name="join_bias", run=join_bias, requires=("ties",))
