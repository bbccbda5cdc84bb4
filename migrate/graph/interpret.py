"""The reference execution of a graph: each op's callable, on real tensors. For tests and small constants, not for speed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from migrate.graph.infer import InferenceError, torch_dtype
from migrate.graph.ir import Arg, Block, ByMode, Graph, Node, Value, sizes_in, tensors_in
from migrate.graph.sizes import Dim, SizeOf, apply

Run = Callable[..., tuple[Any, ...]]


class _Run:
    """One execution: `env` has what is known so far."""

    def __init__(self, env: dict[Value, Any]) -> None:
        self.env = env

    def get(self, arg: Arg) -> Any:
        """What an argument is at run time."""
        import torch

        if isinstance(arg, Value):
            if arg not in self.env:
                if arg.weight is None:
                    raise KeyError(f"{arg} is used before it is computed")
                self.env[arg] = torch.from_numpy(arg.weight.array().copy()).to(torch_dtype(arg.dtype))
            return self.env[arg]
        if isinstance(arg, Dim):
            return _size(arg, self.get)
        if isinstance(arg, tuple | list):
            return tuple(self.get(item) for item in arg)  # pyright: ignore[reportUnknownVariableType]
        if isinstance(arg, slice):
            return slice(self.get(arg.start), self.get(arg.stop), self.get(arg.step))
        if isinstance(arg, ByMode):
            return arg.evaluation
        if isinstance(arg, str) and arg.startswith("torch."):
            return torch_dtype(arg.removeprefix("torch."))
        return arg

    def execute(self, nodes: list[Node]) -> None:
        """Run the nodes in order."""
        for node in nodes:
            blocks = [self.block(block) for block in node.blocks]
            named = {k: self.get(a) for k, a in node.kwargs.items()}
            out = node.op.callable()(*(self.get(a) for a in node.args), *blocks, **named)
            outs = out if isinstance(out, tuple | list) else (out,)
            self.env.update(zip(node.outputs, outs, strict=True))  # pyright: ignore[reportUnknownArgumentType]

    def block(self, block: Block) -> Run:
        """A block as a callable."""

        def run(*given: Any) -> tuple[Any, ...]:
            self.env.update(zip(block.inputs, given, strict=True))
            self.execute(block.nodes)
            return tuple(self.get(value) for value in block.outputs)

        return run


def interpret(graph: Graph, *inputs: Any) -> tuple[Any, ...]:
    """Run the graph on torch tensors and return its outputs in order."""
    run = _Run(dict(zip(graph.inputs, inputs, strict=True)))
    run.execute(graph.nodes)
    return tuple(run.get(value) for value in graph.outputs)


def run_if(condition: Any, on_true: Run, on_false: Run) -> tuple[Any, ...]:
    """What `if_` means."""
    return on_true() if condition else on_false()


def run_loop(
    trip_count: Any,
    condition: Any,
    carried: Sequence[Any],
    scanned: Sequence[Any],
    body: Run,
    *,
    dims: Sequence[int],
    out_dims: Sequence[int],
) -> tuple[Any, ...]:
    """What `loop` means."""
    import torch

    parts = [x.unbind(dim) for x, dim in zip(scanned, dims, strict=True)]
    limit = len(parts[0]) if parts else trip_count
    stacked: list[list[Any]] = [[] for _ in out_dims]
    going, index, values = condition is None or condition, 0, tuple(carried)
    while going and (limit is None or index < int(limit)):
        given = body(torch.tensor(index), *values, *(part[index] for part in parts))
        if condition is not None:
            going, *given = given
        values = tuple(given[: len(values)])
        for found, part in zip(stacked, given[len(values) :], strict=True):
            found.append(part)
        index += 1
    return (*values, *(torch.stack(found, dim) for found, dim in zip(stacked, out_dims, strict=True)))


def content_of(value: Value) -> Any:
    """The content, as a numpy array, of a value that is computed from tensors of the model alone; None for others."""
    nodes: dict[Node, None] = {}
    if value.node is None or not _gather(value.node, nodes):
        return None
    (result,) = interpret(Graph(nodes=[*nodes], outputs=[value]))
    return result.numpy()


def elements_of(value: Value) -> tuple[list[Value], Any] | None:
    """Where each element of a value is that only moves elements of the model's float tensors; None for others.

    Returns:
        The tensors, and a numpy array like the value: an element's place among all of theirs, one after the other.
    """
    nodes: dict[Node, None] = {}
    if value.weight is None and (value.node is None or not _gather(value.node, nodes)):
        return None
    if not all(node.op.moves for node in nodes):
        return None
    taken = [value] if value.weight else [v for node in nodes for v in tensors_in((node.args, node.kwargs))]
    weights = [v for v in dict.fromkeys(taken) if v.weight is not None and v.is_float]
    import torch

    env: dict[Value, Any] = {}
    start = 0
    for weight in weights:
        shape = [int(size) for size in weight.shape if isinstance(size, int)]
        env[weight] = torch.arange(start, start + math.prod(shape)).reshape(shape)
        start += math.prod(shape)
    run = _Run(env)
    try:
        run.execute([*nodes])
    except RuntimeError as fault:  # a slice with an impossible step, say
        raise InferenceError(str(fault)) from fault
    return weights, run.get(value).numpy()


def _gather(node: Node, found: dict[Node, None]) -> bool:
    """Add the nodes that lead to this one, in order; whether no input and no free size is among what they take."""
    if node in found:
        return True
    if node.op.random or node.blocks or next(sizes_in((node.args, node.kwargs)), None) is not None:
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
