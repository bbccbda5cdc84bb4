"""What verification asks of the source's engine and of a package plan, whatever the frontend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from migrate.errors import Diagnostic
from migrate.graph import Graph, Value, Weight

if TYPE_CHECKING:
    from torch import Tensor

Array = np.ndarray[Any, np.dtype[Any]]
Target = str | tuple[str, int]
"""A weight of the source by its name, or one use of it: the name of a node and the index of its input."""


class Oracle(Protocol):
    """The source, run by its own engine."""

    notes: list[Diagnostic]
    engine: str

    @property
    def output_names(self) -> list[str]:
        """The source's outputs, in order."""
        ...

    def follow(self, graph: Graph) -> None:
        """Take from the graph which axes of inputs and outputs are the batch."""
        ...

    def run(self, inputs: Sequence[Array], overrides: Mapping[Target, Array] | None = None) -> list[Array]:
        """The outputs, with weights replaced."""
        ...

    def intermediates(
        self, inputs: Sequence[Array], names: Sequence[str], overrides: Mapping[Target, Array] | None = None
    ) -> dict[str, Array]:
        """Named values of the source."""
        ...

    def outputs_of(self) -> dict[str, tuple[str, ...]]:
        """For each node the names of the values that it makes."""
        ...

    def logits_of(self, output: int) -> str | None:
        """The value from which a final softmax or sigmoid makes an output; None where it ends in neither."""
        ...

    def weight(self, name: str) -> Array | None:
        """The content of a named weight, None where there is none of that name."""
        ...

    def uses(self, source: str, nodes: Sequence[str], op: str, position: int) -> list[Target]:
        """The uses of a weight by these nodes, as argument `position` of the graph's op `op`."""
        ...

    def weights_into(self, node: str) -> list[str]:
        """The weights that a node takes, by name."""
        ...

    def learned_weights(self) -> list[str]:
        """The weights that the source's own operators learn, whatever the graph made of them."""
        ...

    def state(self) -> dict[str, tuple[tuple[int, ...], str]] | None:
        """Key -> shape and dtype of the source's state, where the package must have the same keys; else None."""
        ...

    def learning(self, inputs: Sequence[Array], seed: int) -> dict[str, Tensor] | None:
        """What the source itself does when it learns, as `runtime.verify.learning` measures it; None where it cannot."""
        ...

    def losses(self, steps: int) -> dict[str, Tensor] | None:
        """The `losses` of the user's own loop, its batch (`inputs.0`, `targets.0`, ...), and whether it ran in `float64`.

        None where the source says nothing of it.
        """
        ...

    def settings(self) -> dict[str, dict[str, float]]:
        """For each node what it fixes about training, in torch's terms: `momentum`, `eps`, `p`."""
        ...


class Spec(Protocol):
    """An input or output as the package describes it."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def shape(self) -> tuple[int | str, ...]:
        """Numbers, and names of free sizes."""
        ...

    @property
    def dtype(self) -> str:
        """Torch's name of the element type."""
        ...

    @property
    def high(self) -> int | None:
        """The exclusive bound of an integer tensor."""
        ...

    @property
    def batch_axis(self) -> int | None:
        """The axis of the batch."""
        ...

    @property
    def rows(self) -> int:
        """How many places of the batch axis belong to one sample."""
        ...

    @property
    def mean(self) -> tuple[float, ...]:
        """Around what the features of a float tensor lie; empty where around 0."""
        ...

    @property
    def deviation(self) -> tuple[float, ...]:
        """By how much they vary; empty where by 1."""
        ...


class StateTensor(Protocol):
    """An entry of the package's state and the weight of the source that fills it."""

    @property
    def key(self) -> str:
        """Its name in the state."""
        ...

    @property
    def value(self) -> Value:
        """The graph value that it is."""
        ...

    @property
    def weight(self) -> Weight:
        """Where it comes from."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape in the package."""
        ...

    @property
    def dtype(self) -> str:
        """Torch's name of the element type."""
        ...

    @property
    def tied_to(self) -> str | None:
        """The key whose storage it shares."""
        ...


class Plan(Protocol):
    """What verification reads from a package plan."""

    @property
    def inputs(self) -> Sequence[Spec]:
        """The inputs in order."""
        ...

    @property
    def outputs(self) -> Sequence[Spec]:
        """The outputs in order."""
        ...

    @property
    def sizes(self) -> Mapping[str, int]:
        """The defaults of the free sizes."""
        ...

    @property
    def carried(self) -> bool:
        """Whether the package trains as the source's user does, nothing left out."""
        ...

    @property
    def has_logits(self) -> bool:
        """Whether the package's model has a `logits` method."""
        ...

    @property
    def tensors(self) -> Sequence[StateTensor]:
        """Every entry of the state that comes from the source."""
        ...

    @property
    def modules(self) -> Mapping[str, tuple[str, ...]]:
        """Module path -> names of source nodes."""
        ...

    @property
    def outputs_of(self) -> Mapping[str, str]:
        """Name of a graph value -> path of the module that returns exactly it, in call order."""
        ...
