"""Inputs and outputs as `runtime.package.TensorSpec` has them, and the default of each free size."""

from __future__ import annotations

from migrate.codegen.branch_values import KEEPS_VALUES, branch_values
from migrate.codegen.feature_values import feature_values
from migrate.codegen.names import Namespace, identifier
from migrate.codegen.plan import SpecPlan
from migrate.codegen.symbols import Symbols
from migrate.errors import Exit, MigrateError, error
from migrate.graph.final import final_activation, is_probability
from migrate.graph.ir import Graph, Value
from migrate.graph.sizes import NUM_SAMPLES, Dim, Size, at


def _check_rows(value: Value, name: str, batch: Size) -> None:
    """Refuse an output that has a free number of rows for each sample: no target could be cut into samples."""
    for axis, size in enumerate(value.shape):
        if (
            isinstance(size, Dim)
            and not rows_of(size, batch)
            and all(at(size, k) % at(batch, k) == 0 for k in range(NUM_SAMPLES))
        ):
            what = f"axis {axis} of the output {name} joins the batch with a free size"
            todo = "give that size a number with --input, or let the model return them as two axes"
            raise MigrateError([error("MIG331", what, why=f"it is {size}", todo=todo)], Exit.UNSUPPORTED)


def rows_of(size: Size, batch: Size) -> int:
    """How many places for each sample a size has; 0 where that is no fixed number."""
    if isinstance(size, int):
        return 0
    ratios = {divmod(at(size, k), at(batch, k)) for k in range(NUM_SAMPLES)}
    (whole, rest), *others = ratios
    return int(whole) if not others and rest == 0 else 0


class SpecBuilder:
    """Specs of one graph; `sizes` gathers the defaults as they are met."""

    def __init__(self, graph: Graph, symbols: Symbols) -> None:
        self.graph, self.symbols = graph, symbols
        self.sizes: dict[str, int] = {}
        self._unnamed: dict[Dim, str] = {}
        self._users = graph.users()

    def inputs(self) -> tuple[SpecPlan, ...]:
        """One for each input, in order."""
        space = Namespace(())
        return tuple(
            self._spec(value, space.claim(identifier(value.name, "input")), self.graph.batch_axes.get(value.name), True)
            for value in self.graph.inputs
        )

    def outputs(self, names: list[str]) -> tuple[SpecPlan, ...]:
        """One for each output, in order."""
        space = Namespace(())
        if self.graph.batch is not None:
            for value, name in zip(self.graph.outputs, names, strict=True):
                _check_rows(value, name, self.graph.batch)
        return tuple(
            self._spec(value, space.claim(identifier(name, "output")), None, False)
            for value, name in zip(self.graph.outputs, names, strict=True)
        )

    def _spec(self, value: Value, name: str, axis: int | None, is_input: bool) -> SpecPlan:
        rows = 1
        if axis is None and self.graph.batch is not None:
            found = ((k, rows_of(size, self.graph.batch)) for k, size in enumerate(value.shape))
            axis, rows = min(((k, n) for k, n in found if n), key=lambda one: (one[1] != 1, one[0]), default=(None, 1))
        shape: list[int | str] = []
        for at_axis, size in enumerate(value.shape):
            token = self.symbols.token(size)
            if isinstance(size, Dim):
                token = self._unnamed.setdefault(size, f"size_{len(self._unnamed) + 1}") if token == "?" else token
                if at_axis != axis:
                    self.sizes[str(token)] = int(at(size, 0))
            shape.append(token)
        high = self._high(value) if is_input and not value.is_float and value.dtype != "bool" else None
        dtype = "float32" if value.dtype in ("float16", "bfloat16") and not is_input else value.dtype
        choices = branch_values(value, self._users) if is_input else ()
        mean, deviation = feature_values(value, self.graph.nodes) if is_input and value.is_float else ((), ())
        return SpecPlan(
            name=name,
            shape=tuple(shape),
            dtype=dtype,
            high=high,
            batch_axis=axis,
            rows=rows,
            choices=choices,
            mean=mean,
            deviation=deviation,
            probability=not is_input and final_activation(value, self._users) is None and is_probability(value),
        )

    def _high(self, value: Value) -> int | None:
        """The exclusive bound of indices: the length of the shortest table they look things up in."""
        bounds: list[int] = []
        for node in self._users.get(value, []):
            if node.op.name == "embedding" and node.args[0] is value:
                size = node.args[1].shape[0]
                bounds += [size] if isinstance(size, int) else []
            elif (
                node.op.name in ("index_select", "gather")
                and node.args[-1] is value
                and isinstance(node.args[0], Value)
            ):
                size = node.args[0].shape[node.args[1]]
                bounds += [size] if isinstance(size, int) else []
            elif node.op.name in KEEPS_VALUES:
                inner = self._high(node.outputs[0])
                bounds += [inner] if inner is not None else []
        return min(bounds, default=None)
