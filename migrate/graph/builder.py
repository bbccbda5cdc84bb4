"""Building a graph call by call, with shapes, dtypes and known values at hand from the start.

What can be decided is decided here: arithmetic on sizes folds to sizes, rearranging a weight changes the weight and leaves
no node, and constants of rank 0 become numbers. So the graph never holds what a later pass would have to clean away.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from migrate.errors import Diagnostic
from migrate.graph.infer import run_samples, shape_of, signature
from migrate.graph.ir import Arg, Block, Graph, Node, Shape, Value, map_arg, tensors_in
from migrate.graph.ops import Op, get_op
from migrate.graph.sizes import Dim, Size, SizeOf
from migrate.graph.weights import Step, Weight

MAX_STATIC = 1024  # elements; longer integer constants are tables, not sizes
_SIZES = {"reshape", "permute", "squeeze", "unsqueeze", "transpose", "getitem"}


def objects(values: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """An object array of numbers and sizes."""
    return values.astype(object) if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)


class Builder:
    """Adds nodes to a graph: `b.relu(x)` calls the op `relu` and returns its output, or a tuple of outputs."""

    def __init__(self, name: str = "model") -> None:
        self.graph = Graph(name=name)
        self.scope: tuple[str, ...] = ()
        self.origin: tuple[str, ...] = ()
        self.declared_batch = 1
        self.frees_repeats = False
        self._dims: dict[tuple[float, ...], Dim] = {}
        self._names: dict[str, int] = {}
        self._inferred: dict[Any, list[list[Any]]] = {}
        self._nodes = self.graph.nodes
        self._depth = 0

    def __getattr__(self, op: str) -> Callable[..., Any]:
        if op.startswith("_"):
            raise AttributeError(op)
        try:
            declaration = get_op(op)
        except KeyError:
            raise AttributeError(f"no op is declared as {op!r}") from None
        return lambda *args, **kwargs: self.call(declaration, args, kwargs)

    @contextmanager
    def at(self, scope: tuple[str, ...], origin: str) -> Generator[None]:
        """Nodes made inside are marked with this place in the module tree and this source node."""
        before = self.scope, self.origin
        self.scope, self.origin = scope, (origin,)
        yield
        self.scope, self.origin = before

    @contextmanager
    def block(self, *inputs: tuple[str, str, Shape]) -> Generator[Block]:
        """Nodes made inside go into a block of their own; its outputs are to be set before its end.

        Sizes that are first seen inside are read there only.

        Args:
            inputs: the name, dtype and shape of each value that the block is given.
        """
        block = Block(inputs=[Value(self._unique(name), dtype, shape) for name, dtype, shape in inputs])
        before, dims = self._nodes, dict(self._dims)
        self._nodes, self._depth = block.nodes, self._depth + 1
        try:
            for value in block.inputs:
                self._see_sizes(value)
            yield block
            block.outputs = [self.tensor(value) for value in block.outputs]
        finally:
            self._nodes, self._dims, self._depth = before, dims, self._depth - 1

    def note(self, diagnostic: Diagnostic) -> None:
        """Keep something that the user should know; the same thing is kept once."""
        if diagnostic not in self.graph.notes:
            self.graph.notes.append(diagnostic)

    # ---- values

    def size(self, name: str, values: tuple[int, ...]) -> Callable[[Value, int], Dim]:
        """A free size: the same values give the same `Dim`, whose expression is the first axis that has it."""

        def make(value: Value, axis: int) -> Dim:
            return self._dims.setdefault(values, Dim(values, SizeOf(value, axis, name)))

        return make

    def input(self, name: str, dtype: str, shape: list[int | tuple[str, tuple[int, ...]]]) -> Value:
        """A graph input; a free size is given as its name and its values at the assignments."""
        value = Value(self._unique(name), dtype, ())
        sizes = [s if isinstance(s, int) else self.size(*s)(value, axis) for axis, s in enumerate(shape)]
        value.shape = tuple(sizes)
        self.graph.inputs.append(value)
        return value

    def weight(self, name: str, dtype: str, weight: Weight, shape: tuple[int, ...]) -> Value:
        """A tensor of the source. Integers, booleans and scalars, where short and no module's own, are known values as well."""
        value = Value(self._unique(name), dtype, shape, weight=weight)
        count = int(np.prod(shape))
        if weight.homes:
            return value
        if (not shape) or (not value.is_float and count <= MAX_STATIC):
            value.static = objects(weight.array())
        return value

    def static(self, values: Any, dtype: str, name: str = "sizes") -> Value:
        """A value known now: numbers and sizes."""
        array = objects(values)
        return Value(self._unique(name), dtype, array.shape, static=array)

    def rename(self, value: Value, name: str) -> None:
        """Give a value the name that the source has for it, or one like it where that is taken."""
        value.name = self._unique(name)

    # ---- calls

    def call(self, op: Op, args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> Any:
        """Fold, absorb, or add a node; see the module's docstring for which."""
        tensors = list(tensors_in((args, kwargs)))
        if op.fold and tensors and all(t.static is not None for t in tensors):
            folded = self._fold(op, args, kwargs, tensors)
            if folded is not None:
                return folded
        if op.name in _SIZES and args[0].weight is not None and not args[0].weight.homes:
            absorbed = self._absorb(op, args, kwargs)
            if absorbed is not None:
                return absorbed
        args = map_arg(args, lambda a: self._argument(op, a))
        kwargs = map_arg(kwargs, lambda a: self._argument(op, a))
        outputs = self.add_node(op, args, kwargs, self._infer(op, args, kwargs))
        return outputs[0] if len(outputs) == 1 and not op.many else outputs

    def add_node(
        self,
        op: Op,
        args: tuple[Arg, ...],
        kwargs: dict[str, Arg],
        results: list[list[Any]],
        blocks: tuple[Block, ...] = (),
    ) -> tuple[Value, ...]:
        """Add a node; `results` are its outputs as meta tensors, at each assignment of the free sizes."""
        node = Node(op, args, kwargs, scope=self.scope, origin=self.origin, blocks=blocks)
        node.outputs = tuple(self._output(op, node, list(group)) for group in zip(*results, strict=True))
        self._nodes.append(node)
        return node.outputs

    def tensor(self, value: Value) -> Value:
        """The value as a tensor: known sizes become a tensor made at run time, known numbers a constant."""
        if value.static is None or value.weight is not None or value.node is not None:
            return value
        flat = value.static.reshape(-1).tolist()
        if any(isinstance(item, Dim) for item in flat):
            nested: Any = map_arg(value.static.tolist(), lambda a: a)
            made: Value = self.call(get_op("size_tensor"), (nested,), {"dtype": f"torch.{value.dtype}"})
            if self._depth:  # the value may be used outside of the block as well
                return made
            value.node, value.samples, value.name = made.node, made.samples, made.name
            assert made.node is not None
            made.node.outputs = (value,)
            return value
        array = np.array(value.static.tolist(), dtype=value.dtype)
        value.weight = Weight(
            source="", read=lambda: array, source_shape=array.shape, role="buffer", trainable=False,
            persistent=not self.graph.classes,
        )  # fmt: skip
        return value

    def take_back(self, node: Node) -> None:
        """Remove a node of the graph or block that is being built, whose outputs nothing uses."""
        if node in self._nodes:
            self._nodes.remove(node)

    # ---- helpers

    def _unique(self, name: str) -> str:
        name = name or "v"
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        return name if count == 0 else self._unique(f"{name}_{count}")

    def _fold(self, op: Op, args: tuple[Arg, ...], kwargs: dict[str, Arg], tensors: list[Value]) -> Any:
        known = [map_arg(a, lambda v: v.static if isinstance(v, Value) else v) for a in (args, kwargs)]
        assert op.fold is not None
        try:
            result = op.fold(*known[0], **known[1])
        except (TypeError, ValueError, ArithmeticError, LookupError):
            return None  # inference says what is wrong, at the node
        if isinstance(result, tuple):
            return tuple(self.static(part, tensors[0].dtype) for part in result)
        dtype = "bool" if op.compares else tensors[-1 if op.name == "where" else 0].dtype
        if dtype.startswith(("int", "uint")) and any(isinstance(number, float) for number in np.ravel(result)):
            return None  # a quotient or a root of whole numbers: which float it is, inference knows
        return self.static(result, dtype)

    def _absorb(self, op: Op, args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> Value | None:
        """Rearranging a weight gives another weight: permute, reshape and their kin leave no node."""
        value: Value = args[0]
        weight = value.weight
        assert weight is not None
        if op.name == "getitem" or kwargs or any(isinstance(a, Value) for a in args[1:]):
            return None
        results = run_samples(op.callable(), args, {}, makes_tensor=False)
        shape = tuple(int(s) for s in results[0][0].shape)
        if op.name in ("permute", "transpose"):
            order = list(range(value.rank))
            if op.name == "permute":
                order = [axis % value.rank for axis in args[1]]
            else:
                order[args[1]], order[args[2]] = order[args[2]], order[args[1]]
            step = Step("permute", tuple(order))
        else:
            step = Step("reshape", shape)
        made = Value(self._unique(value.name), value.dtype, shape, weight=weight.then(step))
        if value.static is not None:
            made.static = step(value.static)
        return made

    def _infer(self, op: Op, args: tuple[Arg, ...], kwargs: dict[str, Arg]) -> list[list[Any]]:
        """The op's outputs at each assignment; a call like an earlier one is not run again."""
        key = (op.name, signature(args), signature(kwargs))
        if key not in self._inferred:
            self._inferred[key] = run_samples(op.outline(), args, kwargs, makes_tensor=op.makes)
        return self._inferred[key]

    def _argument(self, op: Op, arg: Arg) -> Arg:
        if not isinstance(arg, Value) or arg.static is None:
            return arg
        if arg.static.ndim == 0 and op.scalars:
            item = arg.static.item()
            return item if isinstance(item, Dim | bool) else float(item) if arg.is_float else int(item)
        return self.tensor(arg)

    def _see_sizes(self, value: Value) -> None:
        """Read a size from this value where no value before it has it."""
        for axis, size in enumerate(value.shape):
            if isinstance(size, Dim):
                self._dims.setdefault(size.values, Dim(size.values, SizeOf(value, axis)))  # pyright: ignore[reportArgumentType]

    def _output(self, op: Op, node: Node, tensors: list[Any]) -> Value:
        value = Value(self._unique(op.name), str(tensors[0].dtype).removeprefix("torch."), (), node, samples=tensors)
        sizes: list[Size] = []
        for axis, size in enumerate(shape_of(tensors)):
            if isinstance(size, tuple):
                size = self._dims.setdefault(size, Dim(size, SizeOf(value, axis)))
            sizes.append(size)
        value.shape = tuple(sizes)
        return value
