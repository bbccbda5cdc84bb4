"""The package plan: frozen objects whose names and texts are final. Templates print them; nothing computes after this.

Expressions are text in which numbers that may become constructor arguments are still `Hole`s; `classes.py` fills them, so a
plan has none. Knows no template and no file system.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from migrate.graph.ir import Graph, Value
from migrate.graph.weights import Weight


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One line of a `forward`; `comment` is a shape or a source."""

    text: str
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a constructor or of a `forward`; a constructor's is named where it is given, unless `positional`."""

    name: str
    annotation: str
    default: str = ""
    positional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """An attribute set in a constructor: `self.attr = text`, or a statement of its own where `attr` is empty."""

    attr: str
    text: str
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A method that takes and returns tensors; `runtime` names the modules of the runtime that it calls."""

    name: str
    doc: str
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]
    result: str
    returns: str
    runtime: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassPlan:
    """A module class. `level` is 0 where it holds no other emitted class; `source` names one of its source nodes.

    `version` is that of its state.
    """

    name: str
    doc: str
    source: str
    level: int
    annotations: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]
    members: tuple[Member, ...]
    resets: tuple[str, ...]
    functions: tuple[Function, ...]
    uses: tuple[str, ...]
    count: int = 1
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorPlan:
    """An entry of the state_dict and the tensor of the source that fills it."""

    key: str
    value: Value
    weight: Weight
    shape: tuple[int, ...]
    dtype: str
    tied_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecPlan:
    """An input, output or target, as `runtime.package.TensorSpec` has it."""

    name: str
    shape: tuple[int | str, ...]
    dtype: str
    high: int | None = None
    batch_axis: int | None = 0
    rows: int = 1
    choices: tuple[int, ...] = ()
    mean: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()
    probability: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigField:
    """A field of `ModelConfig` and where its default comes from."""

    name: str
    annotation: str
    default: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LossTerm:
    """The loss of one output: `text` is the expression, `target` the tensor it is held against.

    `on_logits` says that it may be computed on what `logits()` returns for the output.
    """

    output: int
    kind: str
    text: str
    target: SpecPlan
    on_logits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedLoss:
    """The user's own loss: a function of torch.nn.functional, options that are not its defaults, and what its target is.

    `shape` is that of a batch, its first axis the batch; it and `dtype` are None where no target is known.
    """

    function: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    dtype: str | None = None
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the user chose: the loss, and tables of train.toml that differ from the defaults.

    `carried` says that both are the source's own, nothing left out.
    """

    loss: str | CarriedLoss = "auto"
    train: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    carried: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What the package was made from: a file or factory name without folders, its hash, its framework, the tool's version."""

    name: str = "a graph"
    sha256: str = ""
    framework: str = ""
    tool_version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagePlan:
    """Everything that the templates print and the writer stores; see the package's docstring for what others read."""

    name: str
    graph: Graph
    settings: Settings
    source: Source
    classes: tuple[ClassPlan, ...]
    inputs: tuple[SpecPlan, ...]
    outputs: tuple[SpecPlan, ...]
    sizes: Mapping[str, int]
    config: tuple[ConfigField, ...]
    losses: tuple[LossTerm, ...]
    has_logits: bool
    legend: tuple[str, ...]
    frozen: tuple[str, ...]
    tensors: tuple[TensorPlan, ...]
    modules: Mapping[str, tuple[str, ...]]
    places: Mapping[str, str]
    outputs_of: Mapping[str, str]

    @property
    def carried(self) -> bool:
        """Whether the package trains as the source's user does, nothing left out."""
        return self.settings.carried
