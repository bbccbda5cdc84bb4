"""What an emitted package tells the runtime about itself. Knows no device and no training loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn


class PackageError(Exception):
    """A fault that the user can put right: printed as one line that says what to do. `status` is the exit status."""

    def __init__(self, message: str, *, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSpec:
    """One input, output or target.

    A string in `shape` is a free size, `high` the exclusive bound of an integer tensor. Where the model branches on an
    integer tensor, `choices` are values that lead to all branches. `mean` and `deviation` tell where the features of a float
    tensor, its last axis, lie: by default around 0, by 1. An output that is a `probability` has the rounding
    error of numbers around 1, however small it is. On its batch axis a tensor has one or several `rows` of each sample,
    side by side.
    """

    name: str
    shape: tuple[int | str, ...]
    dtype: str = "float32"
    high: int | None = None
    batch_axis: int | None = 0
    choices: tuple[int, ...] = ()
    mean: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()
    probability: bool = False
    rows: int = 1

    def sizes(self, free: dict[str, int], batch: int) -> tuple[int, ...]:
        """The concrete shape for `batch` samples; a free size that `free` lacks raises `KeyError`."""
        concrete = [free[s] if isinstance(s, str) and i != self.batch_axis else s for i, s in enumerate(self.shape)]
        return tuple(batch * self.rows if i == self.batch_axis else int(s) for i, s in enumerate(concrete))

    def draw(self, free: dict[str, int], batch: int, generator: torch.Generator) -> Tensor:
        """A synthetic CPU tensor: normal, or uniform integers among `choices` or below `high` (2 for booleans)."""
        shape, dtype = self.sizes(free, batch), getattr(torch, self.dtype)
        if dtype.is_floating_point:
            drawn = torch.randn(shape, generator=generator)
            drawn = torch.tensor(self.mean) + torch.tensor(self.deviation) * drawn if self.mean else drawn
            return drawn.to(dtype)
        if self.choices:
            places = torch.randint(0, len(self.choices), shape, generator=generator)
            return torch.tensor(self.choices, dtype=dtype)[places]
        return torch.randint(0, 2 if dtype == torch.bool else (self.high or 2), shape, generator=generator).to(dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """Everything `python -m NAME` needs; `directory` is the folder of the package's own code."""

    name: str
    directory: Path
    load_model: Callable[..., nn.Module]
    compute_loss: Callable[[nn.Module, tuple[Tensor, ...], tuple[Tensor, ...]], Tensor]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    targets: tuple[TensorSpec, ...]
    sizes: dict[str, int] = field(default_factory=dict)
    dataset: Callable[[dict[str, Any]], Any] | None = None

    @property
    def root(self) -> Path:
        """The folder that holds `checks/`, `local/` and `report/`."""
        return self.directory.parent

    @property
    def profile(self) -> Path | None:
        """The resolved target profile, where the package has one."""
        path = self.directory / "target.json"
        return path if path.is_file() else None
