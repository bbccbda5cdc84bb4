"""The reference execution of a graph: each op's callable, on real tensors. For tests and small constants, not for speed."""

from __future__ import annotations

from typing import Any

from migrate.graph.infer import torch_dtype
from migrate.graph.ir import Arg, ByMode, Graph, Node, Value, sizes_in, tensors_in
from migrate.graph.sizes import Dim, SizeOf, apply


def interpret(graph: Graph, *inputs: Any) -> tuple[Any, ...]:
    """Run the graph on torch tensors and return its outputs in order."""
    import torch

    env: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))

    def get(arg: Arg) -> Any:
        if isinstance(arg, Value):
            if arg not in env:
                if arg.weight is None:
                    raise KeyError(f"{arg} is used before it is computed")
                env[arg] = torch.from_numpy(arg.weight.array().copy()).to(torch_dtype(arg.dtype))
            return env[arg]
        if isinstance(arg, Dim):
            return _size(arg, get)
        if isinstance(arg, tuple | list):
            return tuple(get(item) for item in arg)  # pyright: ignore[reportUnknownVariableType]
        if isinstance(arg, slice):
            return slice(get(arg.start), get(arg.stop), get(arg.step))
        if isinstance(arg, ByMode):
            return arg.evaluation
        if isinstance(arg, str) and arg.startswith("torch."):
            return torch_dtype(arg.removeprefix("torch."))
        return arg

    for node in graph.nodes:
        out = node.op.callable()(*(get(a) for a in node.args), **{k: get(a) for k, a in node.kwargs.items()})
        outs = out if isinstance(out, tuple | list) else (out,)
        env.update(zip(node.outputs, outs, strict=True))  # pyright: ignore[reportUnknownArgumentType]
    return tuple(get(value) for value in graph.outputs)


def content_of(value: Value) -> Any:
    """The content, as a numpy array, of a value that is computed from tensors of the model alone; None for others."""
    nodes: dict[Node, None] = {}
    if value.node is None or not _gather(value.node, nodes):
        return None
    (result,) = interpret(Graph(nodes=[*nodes], outputs=[value]))
    return result.numpy()


def _gather(node: Node, found: dict[Node, None]) -> bool:
    """Add the nodes that lead to this one, in order; whether no input and no free size is among what they take."""
    if node in found:
        return True
    if node.op.random or next(sizes_in((node.args, node.kwargs)), None) is not None:
        return False
    for value in tensors_in((node.args, node.kwargs)):
        if value.weight is None and (value.node is None or not _gather(value.node, found)):
            return False
    found[node] = None
    return True


def _size(dim: Dim, get: Any) -> Any:
    if isinstance(dim.expr, SizeOf):
        return get(dim.expr.value).shape[dim.expr.axis]
    return apply(dim.expr.op, *(get(a) if isinstance(a, Dim) else a for a in dim.expr.args))
