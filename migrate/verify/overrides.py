"""Tensors of the package written back into the layout of the source, so that both sides compute with the same values.

Knows how targets come from sources (`Weight.steps`), which targets are copies of one source, and which sources are one tied
target. Knows no engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from migrate.graph import Graph, Node, Step, Value
from migrate.graph.ir import tensors_in
from migrate.graph.weights import scatter
from migrate.verify.contract import Array, Oracle, Plan, StateTensor, Target


def perturbable(plan: Plan) -> Iterator[tuple[StateTensor, str]]:
    """The tensors that `runtime.verify.perturb` changes, and how: parameters and running statistics, tied ones once."""
    from runtime.verify.perturb import kind_of

    for tensor in plan.tensors:
        if tensor.tied_to is not None or "float" not in tensor.dtype:
            continue
        kind = "additive" if tensor.weight.role == "parameter" else kind_of(tensor.key)
        if kind is not None:
            yield tensor, kind


def perturbed_overrides(plan: Plan, graph: Graph, oracle: Oracle, seed: int, sigma: float) -> dict[Target, Array]:
    """The source's weights as they are when the package perturbs its own state by (seed, sigma)."""
    import torch

    from runtime.verify.perturb import perturbed

    writer = Writer(plan=plan, graph=graph, oracle=oracle)
    changed: dict[Value, Array] = {}
    for tensor, kind in perturbable(plan):
        plain = torch.from_numpy(np.array(tensor.weight.array()))
        made = perturbed(tensor.key, plain, seed, sigma, "positive" if kind == "positive" else "additive")
        changed[tensor.value] = made.numpy()
    fold_statistics(graph, changed)
    for tensor, _ in perturbable(plan):
        if tensor.weight.source:
            writer.write(tensor, changed[tensor.value])
    return writer.overrides


def fold_statistics(graph: Graph, changed: dict[Value, Array]) -> None:
    """Let scale and shift stand for running statistics that the source does not have, as its exporter folded them."""
    for node in graph.all_nodes:
        if node.op.name != "batch_norm" or node.args[1].weight is None or node.args[1].weight.source:
            continue
        mean, variance, weight, bias = node.args[1:5]
        changed[weight] = changed[weight] / np.sqrt(changed[variance] + np.float32(node.kwargs["eps"]))
        changed[bias] = changed[bias] - changed[mean] * changed[weight]


def conflicts(plan: Plan) -> list[str]:
    """Keys of tensors that are separate in the package although the source has one tensor for them: a lost tie."""
    taken: dict[tuple[str, int], list[StateTensor]] = {}
    for tensor, _ in perturbable(plan):
        if not tensor.weight.source:
            continue
        taken.setdefault((tensor.weight.source, tensor.weight.copy), []).append(tensor)
    found: list[str] = []
    for group in taken.values():
        elements = sum(int(np.prod(t.shape)) for t in group)
        if elements > int(np.prod(group[0].weight.source_shape)):
            found += [t.key for t in group]
    return found


def restore(array: Array, source_shape: tuple[int, ...], steps: tuple[Step, ...]) -> Array | None:
    """The inverse of steps that keep every element, without an index array; None where a step does not."""
    shapes = [source_shape]
    for step in steps:
        if step.kind == "permute":
            shapes.append(tuple(shapes[-1][axis] for axis in step.args))
        elif step.kind == "reshape":
            size = int(np.prod(source_shape))
            known = -int(np.prod(step.args)) if -1 in step.args else 1
            shapes.append(tuple(size // known if s == -1 else s for s in step.args))
        else:
            return None
    for step, shape in zip(reversed(steps), reversed(shapes[:-1]), strict=True):
        array = array.transpose(np.argsort(step.args)) if step.kind == "permute" else array.reshape(shape)
    return array


@dataclass(slots=True, kw_only=True)
class Writer:
    """Gathers overrides of source weights from tensors of the package."""

    plan: Plan
    graph: Graph
    oracle: Oracle
    overrides: dict[Target, Array] = field(default_factory=dict[Target, Array])
    _users: dict[Value, list[Node]] = field(default_factory=dict[Value, list[Node]])
    _copied: set[str] = field(default_factory=set[str])
    _covered: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self._users = self.graph.users()
        self._copied = {t.weight.source for t in self.plan.tensors if t.weight.copy}
        self._covered = {t.weight.source for t in self.plan.tensors}

    def write_all(self, tensors: Mapping[str, Array]) -> dict[Target, Array]:
        """Write tensors by their keys, and return all overrides."""
        for tensor in self.plan.tensors:
            if tensor.key in tensors:
                self.write(tensor, tensors[tensor.key])
        return self.overrides

    def write(self, tensor: StateTensor, array: Array) -> None:
        """Let the source have `array` where it has `tensor`."""
        for target in self._targets(tensor):
            self._put(tensor, target, array)
        for name, twin in self._twins(tensor, array):
            self.overrides[name] = twin

    def _targets(self, tensor: StateTensor) -> Iterable[Target]:
        source = tensor.weight.source
        if source not in self._copied:
            return [source]
        found: list[Target] = []
        for node in self._users.get(tensor.value, []):
            for position, arg in enumerate(node.args):
                if any(leaf is tensor.value for leaf in tensors_in(arg)):
                    found += self.oracle.uses(source, node.origin, node.op.name, position)
        return dict.fromkeys(found)

    def _put(self, tensor: StateTensor, target: Target, array: Array) -> None:
        weight = tensor.weight
        whole = restore(array, weight.source_shape, weight.steps)
        if whole is not None:
            self.overrides[target] = np.ascontiguousarray(whole)
            return
        if target not in self.overrides:
            self.overrides[target] = np.array(weight.read())
        scatter(self.overrides[target], array, weight.steps)

    def _twins(self, tensor: StateTensor, array: Array) -> Iterator[tuple[str, Array]]:
        """Weights that the source stores once more, perhaps transposed, and that are tied in the package."""
        nodes = dict.fromkeys(place for node in self._users.get(tensor.value, []) for place in node.origin)
        for name in dict.fromkeys(name for node in nodes for name in self.oracle.weights_into(node)):
            if name in self._covered:
                continue
            other = self.oracle.weight(name)
            if other is None or other.size != array.size or other.ndim != array.ndim:
                continue
            plain = tensor.weight.array()
            if other.shape == plain.shape and np.array_equal(other, plain):
                yield name, array
            elif other.shape == plain.T.shape and np.array_equal(other, plain.T):
                yield name, np.ascontiguousarray(array.T)
