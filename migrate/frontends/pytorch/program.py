"""A PyTorch model as it was exported: its programs and the facts of its state and modules. Data only; no work is done here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from migrate.errors import Diagnostic

if TYPE_CHECKING:
    from torch.export import ExportedProgram

Kind = Literal["parameter", "buffer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFact:
    """A parameter or buffer of the module. `key` is its name as in `named_parameters` and `named_buffers`.

    `persistent` entries are in the state_dict. `tied_to` is the first key of the same tensor, where this is a further one.
    """

    key: str
    shape: tuple[int, ...]
    dtype: str
    kind: Kind
    requires_grad: bool = True
    persistent: bool = True
    tied_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleFact:
    """A module: its path as in `named_modules`, its qualified class name, and how torch's class makes it, where that is known.

    `version` is that of its state, which loading a state asks for; `place` is the file and line of its class, where known.
    """

    path: str
    cls: str
    arguments: Mapping[str, Any] | None = None
    version: int = 1
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFact:
    """A leaf of what the module returns, in order: a tensor, or a constant that `value` gives (None, a flag, a number)."""

    name: str
    is_tensor: bool = True
    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeFact:
    """A free size other than the batch: its name, the input and axis that have it, its range (`high` None: no end).

    `default` is the example's, `samples` are triples at which it may be sampled, the preferred ones first.
    """

    name: str
    input: str
    axis: int
    default: int
    low: int = 2
    high: int | None = None
    samples: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What the frontend reads. `training` is None where only one form is known, as for a lone `.pt2`.

    `input_names` are the tensors that the module takes, in order, flattened from nested arguments; `outputs` all leaves of
    its result. `declared_batch` is the batch of the example where export has fixed it, 1 where it is free or there is none.
    """

    evaluation: ExportedProgram
    training: ExportedProgram | None
    state: tuple[StateFact, ...]
    modules: tuple[ModuleFact, ...]
    input_names: tuple[str, ...]
    outputs: tuple[OutputFact, ...]
    declared_batch: int = 1
    notes: tuple[Diagnostic, ...] = ()
    sizes: tuple[SizeFact, ...] = ()

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the tensors among the outputs."""
        return tuple(fact.name for fact in self.outputs if fact.is_tensor)
