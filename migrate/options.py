"""What a user may choose of a run. Knows nothing of how it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from migrate.errors import Exit, MigrateError, error

Loss = Literal["auto", "cross_entropy", "bce", "mse"]
Optimizer = Literal["auto", "adamw", "adam", "sgd"]
Precision = Literal["fp32", "bf16", "fp16"]
Quantized = Literal["float", "fake"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a user may choose; the defaults are those of the command line."""

    name: str | None = None
    input_shapes: dict[str, tuple[int | str, ...]] = field(default_factory=dict[str, tuple[int | str, ...]])
    input_dtypes: dict[str, str] = field(default_factory=dict[str, str])
    example: Path | None = None
    example_inputs: Any = None
    pythonpath: tuple[Path, ...] = ()
    seed: int = 0
    trust_pickle: bool = False
    loss: Loss = "auto"
    optimizer: Optimizer = "auto"
    precision: Precision = "fp32"
    quantized: Quantized = "float"
    inferred: bool = False
    freeze: tuple[str, ...] = ()
    trainable: tuple[str, ...] = ()
    batch_size: int = 8
    verify: bool = True
    strict: bool = False
    overwrite: bool = False
    progress: Callable[[str], None] = lambda text: None

    def __post_init__(self) -> None:
        choices = {"loss": Loss, "optimizer": Optimizer, "precision": Precision, "quantized": Quantized}
        for name, allowed in choices.items():
            check_choice(name, getattr(self, name), allowed)
        if self.batch_size < 1:
            what = error("MIG114", f"a batch of {self.batch_size} samples", todo="give --batch-size 1 or more")
            raise MigrateError([what], Exit.USAGE)


def with_examples(options: Options, example_inputs: Any) -> Options:
    """The options with example inputs, where any are given."""
    return options if example_inputs is None else replace(options, example_inputs=example_inputs)


def check_choice(name: str, given: str, allowed: Any) -> None:
    """Refuse a value that is none of the allowed ones.

    Raises:
        MigrateError: exit status 2, MIG113.
    """
    if given not in get_args(allowed):
        what = error(
            "MIG113", f"{given!r} is not a choice of --{name}", todo=f"choose from {', '.join(get_args(allowed))}"
        )
        raise MigrateError([what], Exit.USAGE)
