"""The facts of one run as plain frozen data: what was read, changed, mapped, compared, predicted, left unverified.

Knows no renderer, no graph and no target table. Holds no clock and no absolute path: equal runs give equal reports.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from migrate.errors import Diagnostic

Command = Literal["convert", "check", "verify"]
State = Literal["missing", "fallback", "composed", "fused", "native", "metadata"]
Role = Literal["parameter", "buffer"]
Outcome = Literal["verified", "unverified", "parity_failed", "trains", "degraded", "cannot_train", "refused"]

REFERENCE_NOTE = "reference target, no product"


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorFacts:
    """An input or output of the source model; a string in `shape` is a free size."""

    name: str
    shape: tuple[int | str, ...]
    dtype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """The model as it came. `name` is a file name or `package.module:factory`, never a path."""

    name: str
    format: str
    sha256: str = ""
    producer: str = ""
    opsets: Mapping[str, int] = field(default_factory=dict[str, int])
    inputs: tuple[TensorFacts, ...] = ()
    outputs: tuple[TensorFacts, ...] = ()
    operators: Mapping[str, int] = field(default_factory=dict[str, int])
    oddities: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if "/" in self.name or "\\" in self.name:
            raise ValueError(f"a report names the source without its folder, so that it is reproducible: {self.name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """The accelerator that the package is for. `kind` is that of the target profile: `reference`, `product`, ...

    `device` is what the package's `--device` takes.
    """

    name: str
    kind: str
    device: str
    note: str = ""
    precision: str = "fp32"

    @property
    def description(self) -> str:
        """The note; a reference target says in any case that it is no product."""
        return self.note or (REFERENCE_NOTE if self.kind == "reference" else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """One tensor of the emitted `state_dict`; `source` is its name in the source model."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    role: Role
    trainable: bool = True
    source: str = ""
    tied_to: str | None = None

    @property
    def num_elements(self) -> int:
        """Number of elements; 1 for a scalar."""
        return math.prod(self.shape)

    @property
    def num_bytes(self) -> int:
        """Bytes in memory, from the width that the dtype's name carries (`bfloat16` -> 2, `float8_e4m3fn` -> 1)."""
        bits = re.search(r"\d+", self.dtype)
        return self.num_elements * (int(bits.group()) // 8 if bits else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """Every parameter and buffer. All totals count a tie once."""

    weights: tuple[Weight, ...] = ()

    def of_role(self, role: Role) -> tuple[Weight, ...]:
        """The tensors of a role that have a storage of their own."""
        return tuple(w for w in self.weights if w.role == role and w.tied_to is None)

    @property
    def trainable(self) -> tuple[Weight, ...]:
        """The parameters that the optimizer updates."""
        return tuple(w for w in self.of_role("parameter") if w.trainable)

    @property
    def ties(self) -> tuple[Weight, ...]:
        """The tensors that are another one under a second name."""
        return tuple(w for w in self.weights if w.tied_to is not None)

    @property
    def num_trainable(self) -> int:
        """Elements that are trained."""
        return sum(w.num_elements for w in self.trainable)

    @property
    def num_bytes(self) -> int:
        """Bytes of all parameters and buffers."""
        return sum(w.num_bytes for w in self.weights if w.tied_to is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What was rewritten and why."""

    what: str
    why: str
    code: str = ""
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingRow:
    """One operator of the training step on the target; `seconds` is predicted, for all `count` calls of one step.

    `why` says what it is composed of, what the target lacks, or which fused kernel takes it.
    """

    operator: str
    state: State
    count: int = 1
    dtypes: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    seconds: float | None = None
    why: str = ""
    todo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityRow:
    """One comparison with the source's own engine; `error` is None for a check that yields no number.

    One that does not `decide` is supporting evidence: it is shown, and cannot fail a conversion.
    """

    check: str
    passed: bool
    case: str = ""
    metric: str = ""
    error: float | None = None
    tolerance: float | None = None
    engine: str = ""
    decides: bool = True

    @property
    def accepted(self) -> bool:
        """Whether it stands in nobody's way."""
        return self.passed or not self.decides

    @property
    def result(self) -> str:
        """In a word: `passed`, `failed`, or `evidence only` for a difference that decides nothing."""
        return "passed" if self.passed else "failed" if self.decides else "evidence only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """An operator's part of the predicted step; `bound` says what limits it: compute, memory, launch, host."""

    operator: str
    seconds: float
    bound: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recomputation:
    """The step with activation checkpointing: bytes saved for backward, peak, and what it takes longer (None: not known)."""

    blocks: int
    saved_bytes: int
    peak_bytes: int
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Step time and memory from the target's figures. `memory` splits the peak by use; `basis` is what it rests on.

    Times are None where the target's profile does not know a figure that they need.
    """

    step_seconds: float | None
    samples_per_second: float | None
    peak_bytes: int
    basis: str
    batch_size: int = 1
    capacity_bytes: int | None = None
    memory: Mapping[str, int] = field(default_factory=dict[str, int])
    shares: tuple[Share, ...] = ()
    recomputed: Recomputation | None = None
    label: Literal["predicted"] = "predicted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unverified:
    """Something the run could not establish, and why."""

    what: str
    why: str
    todo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How the run ended; `exit_status` is what the command line returns."""

    outcome: Outcome
    exit_status: int
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All facts of one run; `package` is the name of the emitted package, None where nothing was written."""

    command: Command
    tool_version: str
    source: SourceFacts
    target: TargetFacts
    verdict: Verdict
    package: str | None = None
    inventory: Inventory = field(default_factory=Inventory)
    changes: tuple[Change, ...] = ()
    mapping: tuple[MappingRow, ...] = ()
    parity: tuple[ParityRow, ...] = ()
    prediction: Prediction | None = None
    unverified: tuple[Unverified, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
