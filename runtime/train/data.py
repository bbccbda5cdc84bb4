"""Where samples come from: synthetic ones, shards of NumPy arrays, or the user's dataset. Knows no device and no rank.

A sample is one tuple of tensors, inputs then targets, each without its batch axis.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import torch
from torch import Tensor

from ..package import Package, PackageError, TensorSpec
from .settings import DataSettings

Sample = tuple[Tensor, ...]


class Samples(Protocol):
    """What training reads: random access, and a length."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Sample: ...


class SyntheticSamples:
    """A fixed set of samples drawn from the specification: sample i depends on the seed and i alone."""

    def __init__(self, specs: Sequence[TensorSpec], sizes: Mapping[str, int], count: int, seed: int) -> None:
        self.specs, self.sizes, self.count, self.seed = specs, dict(sizes), count, seed
        self.drawn: dict[int, Sample] = {}

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int, /) -> Sample:
        if index not in self.drawn:
            generator = torch.Generator().manual_seed(self.seed * 1_000_003 + index)
            self.drawn[index] = tuple(self._draw(spec, generator) for spec in self.specs)
        return self.drawn[index]

    def _draw(self, spec: TensorSpec, generator: torch.Generator) -> Tensor:
        drawn = spec.draw(self.sizes, 1, generator)
        return drawn if spec.batch_axis is None or spec.rows > 1 else drawn.squeeze(spec.batch_axis)


class CheckedSamples:
    """The user's dataset, with every item brought into the order, dtype and shape of the specification.

    Args:
        open_dataset: makes the dataset; called again in every worker process, so that the dataset need not be pickled.
        inputs, targets: what a sample must hold.
    """

    def __init__(
        self, open_dataset: Callable[[], Any], inputs: Sequence[TensorSpec], targets: Sequence[TensorSpec]
    ) -> None:
        dataset = open_dataset()
        if not (hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")):
            raise PackageError(
                f"the dataset {type(dataset).__name__} has no length or no item access; "
                "a run that can be resumed needs a map-style torch Dataset"
            )
        self.open_dataset = open_dataset
        self.dataset, self.inputs, self.targets = dataset, inputs, targets

    def __reduce__(self) -> tuple[Any, ...]:
        return CheckedSamples, (self.open_dataset, self.inputs, self.targets)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int, /) -> Sample:
        specs = (*self.inputs, *self.targets)
        parts = self._parts(self.dataset[index], specs)
        if len(parts) != len(specs):
            wanted = ", ".join(spec.name for spec in specs)
            raise PackageError(f"sample {index} of the dataset has {len(parts)} tensors; needed are: {wanted}")
        return tuple(_checked(part, spec, index) for part, spec in zip(parts, specs, strict=True))

    def _parts(self, item: Any, specs: Sequence[TensorSpec]) -> list[Any]:
        if isinstance(item, Mapping):
            named = cast("Mapping[str, Any]", item)
            missing = [spec.name for spec in specs if spec.name not in named]
            if missing:
                raise PackageError(f"a sample of the dataset lacks {', '.join(missing)}; it has {', '.join(named)}")
            return [named[spec.name] for spec in specs]
        if not isinstance(item, tuple | list):
            return [item]
        # ((x, y), (label,)) and (x, y, label) mean the same; a list of numbers is one tensor
        parts = cast("Sequence[Any]", item)
        return [leaf for part in parts for leaf in (part if _holds_tensors(part) else (part,))]


def _holds_tensors(part: Any) -> bool:
    several = cast("Sequence[Any]", part) if isinstance(part, tuple | list) else ()
    return any(isinstance(leaf, Tensor | np.ndarray) for leaf in several)


def _checked(value: Any, spec: TensorSpec, index: int) -> Tensor:
    dtype = getattr(torch, spec.dtype)
    tensor = value if isinstance(value, Tensor) else torch.as_tensor(value)
    if tensor.is_floating_point() != dtype.is_floating_point:
        raise PackageError(f"{spec.name} of sample {index} is {tensor.dtype}, and {spec.dtype} is needed")
    shape = [spec.rows if axis == spec.batch_axis else s for axis, s in enumerate(spec.shape)]
    if spec.batch_axis is not None and spec.rows == 1:
        del shape[spec.batch_axis]
    fits = len(shape) == tensor.ndim and all(
        isinstance(s, str) or s == n for s, n in zip(shape, tensor.shape, strict=True)
    )
    if not fits:
        raise PackageError(
            f"{spec.name} of sample {index} has shape {list(tensor.shape)}, and {shape} is needed (without the batch)"
        )
    return tensor.to(dtype)


class ShardSamples:
    """Samples in `.npz` files that hold one array per tensor name, samples along the first axis.

    A folder of `.npy` files is one shard: `NAME.npy` for each tensor, mapped into memory. `groups` has the number of
    samples of each shard, so that the order can go through one shard after the other.
    """

    def __init__(self, folder: Path, specs: Sequence[TensorSpec]) -> None:
        if not folder.is_dir():
            raise PackageError(
                f"data.path = {str(folder)!r} is not a folder; set data.path to one with .npz or .npy files"
            )
        self.specs = specs
        self.files = sorted(folder.glob("*.npz"))
        self.loaded: dict[int, dict[str, Any]] = {}
        if not self.files:
            self.loaded[0] = self._memory_mapped(folder)
            self.groups = [self._length(self.loaded[0], folder)]
        else:
            self.groups = [self._length(self._shard(i), file) for i, file in enumerate(self.files)]
        self.starts = np.cumsum([0, *self.groups])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, index: int, /) -> Sample:
        shard = int(np.searchsorted(self.starts, index, side="right")) - 1
        arrays, row = self._shard(shard), index - int(self.starts[shard])
        return tuple(_checked(np.array(arrays[spec.name][row]), spec, index) for spec in self.specs)

    def _memory_mapped(self, folder: Path) -> dict[str, Any]:
        missing = [spec.name for spec in self.specs if not (folder / f"{spec.name}.npy").is_file()]
        if missing:
            raise PackageError(f"{folder} has no .npz file, and no {', '.join(f'{name}.npy' for name in missing)}")
        return {spec.name: np.load(folder / f"{spec.name}.npy", mmap_mode="r") for spec in self.specs}

    def _shard(self, shard: int) -> dict[str, Any]:
        if shard not in self.loaded:
            with np.load(self.files[shard], allow_pickle=False) as arrays:
                missing = [spec.name for spec in self.specs if spec.name not in arrays]
                if missing:
                    raise PackageError(
                        f"{self.files[shard]} lacks {', '.join(missing)}; it has {', '.join(arrays.files)}"
                    )
                # one shard is held at a time: the order never leaves a shard before it is used up
                self.loaded = {shard: {spec.name: arrays[spec.name] for spec in self.specs}}
        return self.loaded[shard]

    def _length(self, arrays: Mapping[str, Any], source: Path) -> int:
        lengths = {spec.name: len(arrays[spec.name]) for spec in self.specs}
        if len(set(lengths.values())) != 1:
            raise PackageError(f"the arrays of {source} differ in their number of samples: {lengths}")
        return next(iter(lengths.values()))


def _load_local(root: Path) -> Callable[[dict[str, Any]], Any]:
    """The function `dataset` of the user's own `local/data.py`."""
    path = root / "local" / "data.py"
    if not path.is_file():
        raise PackageError(f"data.kind = 'local' needs {path} with a function dataset(settings) that returns a Dataset")
    spec = importlib.util.spec_from_file_location("local_data", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "dataset"):
        raise PackageError(f"{path} has no function dataset(settings)")
    return module.dataset


def _local_dataset(hook: Callable[[dict[str, Any]], Any] | None, root: Path, settings: DataSettings) -> Any:
    """What the package's own `dataset` gives, or that of `local/data.py` where it gives nothing."""
    arguments = asdict(settings)
    dataset = hook(arguments) if hook is not None else None
    if dataset is None:
        dataset = _load_local(root)(arguments)
    if dataset is None:
        raise PackageError("data.kind = 'local', and dataset(settings) returned None; return a torch Dataset")
    return dataset


def open_samples(package: Package, settings: DataSettings, seed: int) -> Samples:
    """The samples that `[data]` names.

    Raises:
        PackageError: the source is missing, empty, or has other tensors than the package needs.
    """
    specs = (*package.inputs, *package.targets)
    if settings.kind == "synthetic":
        return SyntheticSamples(specs, package.sizes, settings.samples, seed)
    if settings.kind == "npz":
        samples: Samples = ShardSamples(Path(settings.path), specs)
    else:
        open_dataset = partial(_local_dataset, package.dataset, package.root, settings)
        samples = CheckedSamples(open_dataset, package.inputs, package.targets)
    if len(samples) == 0:
        raise PackageError(f"the {settings.kind} data has no samples")
    return samples
