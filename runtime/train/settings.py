"""The settings of a training run: one frozen dataclass per table of train.toml. Knows no model and no device.

Every key that a table does not have is an error, wherever it comes from.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from ..package import PackageError


def _choice(default: str, *choices: str) -> Any:
    return field(default=default, metadata={"choices": choices})


def _least(default: float, least: float) -> Any:
    return field(default=default, metadata={"least": least})


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSettings:
    """`[train]`. `batch_size` is per process; without `pretrained` a fresh run begins with weights drawn from `seed`.

    The two switches at the end make runs comparable across processes.
    """

    steps: int = _least(100, 1)
    batch_size: int = _least(4, 1)
    seed: int = _least(0, 0)
    log_every: int = _least(1, 1)
    pretrained: bool = True
    freeze_statistics: bool = False
    """Normalise with the stored running statistics and leave them as they are."""
    dropout: bool = True
    activation_checkpointing: str = _choice("none", "none", "blocks")
    """Repeated blocks keep their inputs only and run again in backward: less memory, one more forward pass of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """`[[optimizer.groups]]`: parameters by patterns of their names, the ratio of their rate to `optimizer.lr`, their decay."""

    parameters: tuple[str, ...] = ()
    lr_ratio: float = _least(1.0, 0.0)
    weight_decay: float = _least(0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerSettings:
    """`[optimizer]`. `betas` and `eps` are Adam's and AdamW's, the last three keys before the groups SGD's.

    `clip_norm = 0` does not clip. `decayed` says which parameters are decayed that no group names: "weights" leaves out
    norms, biases and scales.
    """

    name: str = _choice("adamw", "adamw", "adam", "sgd")
    lr: float = _least(1e-3, 0.0)
    weight_decay: float = _least(0.01, 0.0)
    decayed: str = _choice("weights", "weights", "all")
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = _least(1e-8, 0.0)
    clip_norm: float = _least(1.0, 0.0)
    momentum: float = _least(0.9, 0.0)
    dampening: float = _least(0.0, 0.0)
    nesterov: bool = False
    groups: tuple[GroupSettings, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSettings:
    """`[schedule]`. Cosine and linear decay end at step `decay_steps`; 0 takes `train.steps`.

    `step_size` and `gamma` are those of "step", `milestones` and `gamma` of "multistep", counted from the end of the warm-up.
    """

    name: str = _choice("cosine", "cosine", "linear", "constant", "step", "multistep")
    warmup_steps: int = _least(0, 0)
    warmup_from: float = _least(0.0, 0.0)
    min_lr_ratio: float = _least(0.1, 0.0)
    decay_steps: int = _least(0, 0)
    step_size: int = _least(1, 1)
    milestones: tuple[int, ...] = ()
    gamma: float = _least(0.1, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionSettings:
    """`[precision]`. `force` uses a precision that the device was seen to compute wrongly or far too slowly."""

    mode: str = _choice("fp32", "fp32", "bf16", "fp16")
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSettings:
    """`[data]`. `samples` is the size of the fixed synthetic set, small enough to be learnt by heart in a few steps."""

    kind: str = _choice("synthetic", "synthetic", "npz", "local")
    path: str = ""
    samples: int = _least(4, 1)
    shuffle: bool = True
    workers: int = _least(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSettings:
    """`[checkpoint]`. `every = 0` saves at the end of the run only; the newest `keep` are kept."""

    directory: str = "local/checkpoints"
    every: int = _least(0, 0)
    keep: int = _least(2, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributedSettings:
    """`[distributed]`. Gradients are reduced in buckets of `bucket_mb` while backward runs."""

    bucket_mb: float = _least(25.0, 0.001)
    sync_batch_norm: bool = False
    find_unused_parameters: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSettings:
    """`[kernels]`. Without `prove` every kernel runs its reference."""

    prove: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All tables of train.toml."""

    train: TrainSettings = TrainSettings()
    optimizer: OptimizerSettings = OptimizerSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    precision: PrecisionSettings = PrecisionSettings()
    data: DataSettings = DataSettings()
    checkpoint: CheckpointSettings = CheckpointSettings()
    distributed: DistributedSettings = DistributedSettings()
    kernels: KernelSettings = KernelSettings()


def _unknown(what: str, name: str, known: Sequence[str]) -> PackageError:
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
    return PackageError(f"unknown {what} {name!r}; {hint}")


def _listed(key: str, value: Any, item: type) -> tuple[Any, ...]:
    """A list whose items are all of one kind; one of tables has a dataclass for each."""
    if not isinstance(value, list | tuple):
        raise PackageError(f"{key} = {value!r} must be a list")
    items: Sequence[Any] = value
    if is_dataclass(item):
        if not all(isinstance(each, Mapping) for each in items):
            raise PackageError(f"{key} must be a list of tables, as in [[{key}]]")
        return tuple(_table(key, item, each) for each in items)
    return tuple(_converted(key, each, item) for each in items)


def _converted(key: str, value: Any, kind: Any) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    if kind in (bool, int, float, str) and type(value) is kind:
        return value
    if kind == tuple[float, float]:
        if isinstance(value, list | tuple) and len(value) == 2 and all(type(v) in (int, float) for v in value):
            return float(value[0]), float(value[1])
        raise PackageError(f"{key} = {value!r} must be two numbers, as in {key}=[0.9, 0.999]")
    if get_origin(kind) is tuple:
        return _listed(key, value, get_args(kind)[0])
    raise PackageError(f"{key} = {value!r} must be of type {kind.__name__}")


def _table(name: str, cls: Any, values: Mapping[str, Any]) -> Any:
    """One table as its dataclass, every value checked for type, choice and range."""
    kinds, known = get_type_hints(cls), {f.name: f for f in fields(cls)}
    converted: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known:
            raise _unknown("setting", f"{name}.{key}", [f"{name}.{k}" for k in known])
        checks, where = known[key].metadata, f"{name}.{key}"
        converted[key] = result = _converted(where, value, kinds[key])
        if "choices" in checks and result not in checks["choices"]:
            raise PackageError(f"{where} = {value!r} must be one of {', '.join(checks['choices'])}")
        if "least" in checks and not result >= checks["least"]:
            raise PackageError(f"{where} = {value!r} must be at least {checks['least']:g}")
    return cls(**converted)


def from_tables(tables: Mapping[str, Any]) -> Settings:
    """Build settings from nested tables; what is absent keeps its default.

    Raises:
        PackageError: an unknown table or key, a wrong type, or a value out of range.
    """
    known: dict[str, Any] = get_type_hints(Settings)
    for name, values in tables.items():
        if name not in known:
            raise _unknown("table", name, list(known))
        if not isinstance(values, Mapping):
            raise PackageError(f"{name!r} must be a table, as in [{name}]")
    return Settings(**{name: _table(name, known[name], values) for name, values in tables.items()})


def parse_override(text: str) -> tuple[str, str, Any]:
    """Split `table.key=value`; the value is read as TOML, and as plain text where it is none.

    Raises:
        PackageError: the text has another form.
    """
    path, equals, value = text.partition("=")
    table, dot, key = path.strip().partition(".")
    if not (equals and dot and table and key):
        raise PackageError(f"--set {text!r} must have the form table.key=value, as in optimizer.lr=1e-4")
    try:
        return table, key, tomllib.loads(f"value = {value.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        return table, key, value.strip()


def load_settings(path: Path, overrides: Sequence[str] = ()) -> Settings:
    """Read train.toml (all defaults where it does not exist) and apply `table.key=value` overrides in their order.

    Raises:
        PackageError: the file is no TOML, or holds or is given anything that `from_tables` refuses.
    """
    try:
        tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PackageError(f"{path} is not valid TOML: {error}") from error
    from_tables(tables)
    for override in overrides:
        table, key, value = parse_override(override)
        tables.setdefault(table, {})[key] = value
    return from_tables(tables)
