"""Outputs of a model: which end in a softmax or sigmoid that `logits()` leaves out, and the loss each gets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from migrate.codegen.plan import CarriedLoss, LossTerm, SpecPlan
from migrate.errors import Exit, MigrateError, error
from migrate.graph.final import final_activation
from migrate.graph.ir import Graph, Node, Value

LOSSES = ("auto", "cross_entropy", "bce", "mse")
_TODO = "what is computed of two samples belongs into the loss: let the model return what it compares"
OF_CLASSES = ("cross_entropy", "nll_loss")  # whose target is the number of a class, axis 1 of the output


@dataclass(frozen=True, slots=True)
class Output:
    """An output: its value, and the final activation with the value before it, where it has one."""

    value: Value
    activation: Node | None = None

    @property
    def raw(self) -> Value:
        """What `logits()` returns for it."""
        return self.activation.args[0] if self.activation is not None else self.value


def find_outputs(graph: Graph) -> list[Output]:
    """The outputs; an activation counts as final where nothing else uses its result."""
    users = graph.users()
    return [Output(value, final_activation(value, users)) for value in graph.outputs]


def class_axis(output: Output) -> int:
    """The axis of the classes: the softmax's, else the last."""
    rank = output.value.rank
    node = output.activation
    if node is None or node.op.loss == "bce":
        return rank - 1
    axis = node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else -1)
    return axis % rank


def loss_terms(outputs: list[Output], specs: tuple[SpecPlan, ...], loss: str | CarriedLoss) -> tuple[LossTerm, ...]:
    """The loss of each floating-point output.

    Where one is computed on logits, so are all, since a model runs once for a batch: the others activate theirs first.

    Raises:
        MigrateError: no output can be trained, or the loss is unknown.
    """
    if isinstance(loss, CarriedLoss):
        return (_carried(outputs, specs, loss),)
    if loss not in LOSSES:
        problem = error("MIG110", f"unknown loss {loss!r}", todo=f"choose one of {', '.join(LOSSES)}")
        raise MigrateError([problem], Exit.USAGE)
    terms: list[LossTerm] = []
    seen: set[Value] = set()
    for index, (output, spec) in enumerate(zip(outputs, specs, strict=True)):
        if not output.value.is_float or output.value in seen or (output.value.node is None) or _is_of_pairs(spec):
            continue
        seen.add(output.value)
        terms.append(_term(index, output, spec, loss if loss != "auto" else _auto(output), len(outputs)))
    pairs = any(map(_is_of_pairs, specs))
    if not terms:
        raise MigrateError(
            [error("MIG310", "no output is a floating-point tensor that a loss could use", todo=_TODO * pairs)],
            Exit.UNSUPPORTED,
        )
    if any(term.kind != "mse" for term in terms):
        terms = [term if term.on_logits else _activating(term, outputs[term.output]) for term in terms]
    return tuple(terms)


def _is_of_pairs(spec: SpecPlan) -> bool:
    """Whether an output has a place for each two samples of a batch, so that no sample has a target of its own."""
    return spec.batch_axis is not None and spec.shape.count(spec.shape[spec.batch_axis]) > 1


def _carried(outputs: list[Output], specs: tuple[SpecPlan, ...], loss: CarriedLoss) -> LossTerm:
    """The user's loss, on the first output as the module returns it."""
    spec, rank = specs[0], outputs[0].value.rank
    of_classes = loss.function in OF_CLASSES and loss.dtype in (None, "int64") and rank > 1
    shape = (*spec.shape[:1], *spec.shape[2:]) if of_classes else spec.shape
    if loss.shape is not None:
        shape = (*spec.shape[:1], *loss.shape[1:]) if spec.batch_axis == 0 else loss.shape
    classes = spec.shape[1] if of_classes else None
    target = SpecPlan(
        name="target",
        shape=shape,
        dtype=loss.dtype or ("int64" if of_classes else "float32"),
        high=classes if isinstance(classes, int) else None,
        batch_axis=spec.batch_axis,
        rows=spec.rows,
    )
    given = "output" if len(outputs) == 1 else "outputs[0]"
    options = "".join(f", {name}={_option(value, given)}" for name, value in loss.options.items())
    text = f"F.{loss.function}({given}, {{}}{options})"
    return LossTerm(output=0, kind=loss.function, text=text, target=target, on_logits=outputs[0].activation is None)


def _option(value: Any, given: str) -> str:
    return f"{given}.new_tensor({list(value)!r})" if isinstance(value, tuple) else repr(value)


def _activating(term: LossTerm, output: Output) -> LossTerm:
    """The same loss, computed from the output's logits."""
    assert output.activation is not None
    op = output.activation.op
    dim = "" if op.loss == "bce" else class_axis(output)
    given = f"outputs[{term.output}]"  # a term that is alone is never mixed with others
    return replace(term, text=term.text.replace(given, f"{given}.{op.name}({dim})", 1), on_logits=True)


def _auto(output: Output) -> str:
    loss = output.activation.op.loss if output.activation is not None else None
    return loss or "mse"


def _term(index: int, output: Output, spec: SpecPlan, kind: str, count: int) -> LossTerm:
    name = "target" if count == 1 else f"{spec.name}_target"
    given = "output" if count == 1 else f"outputs[{index}]"
    if kind == "cross_entropy" and output.value.rank < 2:
        kind = "mse"
    if kind != "cross_entropy":
        function = "F.binary_cross_entropy_with_logits" if kind == "bce" else "F.mse_loss"
        target = SpecPlan(name=name, shape=spec.shape, dtype="float32", batch_axis=spec.batch_axis, rows=spec.rows)
        text = f"{function}({given}, {{}})"
        on_logits = kind == "bce" or output.activation is None
        return LossTerm(output=index, kind=kind, text=text, target=target, on_logits=on_logits)
    axis = class_axis(output)
    classes = spec.shape[axis]
    shape = tuple(s for at, s in enumerate(spec.shape) if at != axis)
    batch = spec.batch_axis
    batch = batch - 1 if batch is not None and batch > axis else batch
    high = classes if isinstance(classes, int) else None
    target = SpecPlan(name=name, shape=shape, dtype="int64", high=high, batch_axis=batch, rows=spec.rows)
    if axis == output.value.rank - 1 and axis > 1:
        text = f"F.cross_entropy({given}.flatten(0, -2), {{}}.flatten())"
    else:
        text = f"F.cross_entropy({given if axis == 1 else f'{given}.movedim({axis}, 1)'}, {{}})"
    return LossTerm(output=index, kind=kind, text=text, target=target, on_logits=True)
