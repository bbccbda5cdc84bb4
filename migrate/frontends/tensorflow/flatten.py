"""A graph with its function calls inlined: the nodes that lead to some outputs, in order, with names of their own.

    x -> StatefulPartitionedCall(f)        f(a): b = Relu(a), returns b          ->          x -> model/act/Relu

A node is a `NodeDef` whose inputs are all written as `name:number`. What the functions of branches and loops do stays in
them. Knows messages and names; must not know an operator but those that call and pass on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from migrate.frontends.tensorflow.messages import damaged, message

CALLS = ("PartitionedCall", "StatefulPartitionedCall")
ARGUMENT, AGAIN = "_Arg", "NextIteration"  # a loop of TensorFlow 1 goes back there
MAX_NODES = 500_000
MAX_DEPTH = 200
_CALL_NAME = re.compile(r"(Stateful)?PartitionedCall(_\d+)?$")
# Where the file does not list its operators: those of several outputs, by name.
OUTPUTS = {
    "FusedBatchNorm": ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"),
    "FusedBatchNormV2": ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"),
    "FusedBatchNormV3": ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"),
    "TopKV2": ("values", "indices"),
}  # fmt: skip


@dataclass(eq=False, slots=True)
class Frame:
    """A function that is being called, or the graph itself: its nodes, what its arguments are in the caller, its results."""

    nodes: dict[str, Any]
    prefix: str = ""
    caller: Frame | None = None
    arguments: dict[str, str] = field(default_factory=dict[str, str])
    results: list[str] = field(default_factory=list[str])
    depth: int = 0
    is_function: bool = False


Place = tuple[Frame, Any, int]
"""A node of a frame, and the number of one of its outputs."""


class Flattener:
    """Inlines calls; frames and names are shared by everything that it flattens."""

    def __init__(self, graph: Any, operators: Sequence[Any], name: str) -> None:
        self.where = name
        self.library = {f.signature.name: f for f in graph.library.function}
        self.operators = {op.name: op for op in operators}
        self.top = Frame({node.name: node for node in graph.node})
        self._frames: dict[tuple[Frame, str], Frame] = {}
        self._names: dict[tuple[Frame, str], str] = {}
        self._taken: set[str] = set()

    # ---- where a value comes from

    def place(self, frame: Frame, text: str) -> Place:
        """The node that makes what a frame calls `text`, behind arguments and calls."""
        for _ in range(MAX_NODES):
            name, _, rest = text.partition(":")
            if name in frame.arguments and frame.caller is not None:
                frame, text = frame.caller, frame.arguments[name]
                continue
            node = frame.nodes.get(name)
            if node is None:
                raise damaged(self.where, f"nothing makes {text!r}")
            index = self._index(frame, node, rest)
            if self.callee(node) is None:
                return frame, node, index
            inner = self.enter(frame, node)
            if index >= len(inner.results):
                raise damaged(self.where, f"{name!r} has no output {index}")
            frame, text = inner, inner.results[index]
        raise damaged(self.where, "its functions call one another for ever")

    def callee(self, node: Any) -> Any:
        """The function that a node calls, None where it is no call."""
        name = node.attr["f"].func.name if node.op in CALLS else node.op
        return self.library.get(name)

    def enter(self, frame: Frame, node: Any) -> Frame:
        """The frame of a call."""
        key = (frame, node.name)
        if key not in self._frames:
            function = self.callee(node)
            if frame.depth >= MAX_DEPTH:
                raise damaged(self.where, "its functions call one another too deeply")
            given = [text for text in node.input if not text.startswith("^")]
            names = [arg.name for arg in function.signature.input_arg]
            if len(given) != len(names):
                raise damaged(self.where, f"{node.name!r} gives {len(given)} of {len(names)} arguments")
            made = self.frame_of(function, frame.prefix + _scope(node.name))
            made.caller, made.depth, made.arguments = frame, frame.depth + 1, dict(zip(names, given, strict=True))
            self._frames[key] = made
        return self._frames[key]

    def frame_of(self, function: Any, prefix: str) -> Frame:
        """A function's nodes and results; its arguments are nodes of the kind `_Arg` where nobody calls it."""
        nodes = {node.name: node for node in function.node_def}
        for arg in function.signature.input_arg:
            nodes.setdefault(arg.name, message("NodeDef")).name = arg.name
            nodes[arg.name].op = ARGUMENT
        try:
            results = [function.ret[arg.name] for arg in function.signature.output_arg]
        except KeyError as fault:
            raise damaged(self.where, f"a function does not return {fault}") from fault
        return Frame(nodes, prefix, results=results, is_function=True)

    def _index(self, frame: Frame, node: Any, rest: str) -> int:
        """Which output is meant by what follows a node's name: a number, or in a function an output's name and number."""
        label, _, number = rest.rpartition(":")
        if not (number or "0").isdigit():
            label, number = number, "0"
        if not frame.is_function or not label or label == "output":
            return int(number or 0)
        callee = self.callee(node)
        if callee is not None:
            return [arg.name for arg in callee.signature.output_arg].index(label) + int(number)
        return self._first(node, label) + int(number)

    def _first(self, node: Any, label: str) -> int:
        operator = self.operators.get(node.op)
        if operator is None:
            names = OUTPUTS.get(node.op, (label,))
            return names.index(label) if label in names else 0
        first = 0
        for arg in operator.output_arg:
            if arg.name == label:
                return first
            lists = len(node.attr[arg.type_list_attr].list.type) if arg.type_list_attr else 1
            first += node.attr[arg.number_attr].i if arg.number_attr else lists
        raise damaged(self.where, f"{node.op} has no output {label!r}")

    # ---- flat nodes

    def name(self, frame: Frame, node: Any) -> str:
        """The flat name of a frame's node; one that is taken is numbered."""
        key = (frame, node.name)
        if key not in self._names:
            wanted = base = frame.prefix + node.name
            count = 0
            while wanted in self._taken:
                count += 1
                wanted = f"{base}_{count}"
            self._taken.add(wanted)
            self._names[key] = wanted
        return self._names[key]

    def flatten(self, frame: Frame, texts: Sequence[str], stops: Sequence[str] = ()) -> tuple[list[Any], list[str]]:
        """The nodes that lead to these values, each after what it takes; and the values by their flat names.

        Args:
            frame: in which they are named.
            texts: as the frame writes them.
            stops: nodes of the frame whose inputs do not count.

        Raises:
            MigrateError: exit status 3, MIG151.
        """
        ends = [self.place(frame, text) for text in texts]
        halted = {(frame, name) for name in stops}
        order: list[Any] = []
        state: dict[tuple[Frame, str], bool] = {}
        for owner, node, _ in ends:
            self._visit(owner, node, halted, state, order)
        return order, [f"{self.name(owner, node)}:{index}" for owner, node, index in ends]

    def _visit(self, owner: Frame, node: Any, halted: set[Any], state: dict[Any, bool], order: list[Any]) -> None:
        """Add a node after what it takes, depth first and without recursion; `state` holds False while a node waits."""
        stack: list[tuple[Frame, Any, Iterator[Place]]] = []

        def push(owner: Frame, node: Any) -> None:
            key = (owner, node.name)
            if state.get(key) is False:
                raise damaged(self.where, f"{node.name!r} takes what it makes")
            if key not in state:
                state[key] = False
                taken = (
                    []
                    if key in halted or node.op == AGAIN
                    else [self.place(owner, t) for t in node.input if not t.startswith("^")]
                )
                stack.append((owner, node, iter(taken)))

        push(owner, node)
        while stack:
            owner, node, rest = stack[-1]
            following = next(rest, None)
            if following is not None:
                push(following[0], following[1])
                continue
            stack.pop()
            state[owner, node.name] = True
            order.append(self._flat(owner, node, (owner, node.name) in halted))
            if len(order) > MAX_NODES:
                raise damaged(self.where, "its functions make too many nodes")

    def _flat(self, owner: Frame, node: Any, is_halted: bool) -> Any:
        flat = message("NodeDef")
        flat.CopyFrom(node)
        flat.name = self.name(owner, node)
        del flat.input[:]
        for text in () if is_halted else node.input:
            if not text.startswith("^"):
                frame, maker, index = self.place(owner, text)
                flat.input.append(f"{self.name(frame, maker)}:{index}")
        return flat

    def function(self, name: str, prefix: str) -> tuple[list[Any], list[str], list[str]]:
        """The body of a branch or a loop: its nodes, the flat names of its arguments, and of its results."""
        if name not in self.library:
            raise damaged(self.where, f"there is no function {name!r}")
        function = self.library[name]
        frame = self.frame_of(function, prefix)
        nodes, results = self.flatten(frame, frame.results)
        arguments = [f"{self.name(frame, frame.nodes[arg.name])}:0" for arg in function.signature.input_arg]
        return nodes, arguments, results


def _scope(name: str) -> str:
    """What a call puts before the names of the function's nodes."""
    scope = _CALL_NAME.sub("", name)
    return scope if not scope or scope.endswith("/") else f"{scope}/"
