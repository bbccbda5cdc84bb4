"""Which dataset of a file is which variable of which layer. Knows how Keras numbers and names what it stores, and no ops.

A `.keras` archive has a group for each layer, named after its class and counted in the model's order, and numbers for its
variables. A whole-model `.h5` has a flat list for each outermost layer: what is trained comes first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from migrate.frontends.keras.config import LayerConfig, ModelConfig, Path
from migrate.frontends.keras.files import KerasFile, damaged

FLAGS = {"bias": "use_bias", "gamma": "scale", "beta": "center"}
"""Variables that a layer has where a flag of its configuration is set."""
STATISTICS = ("moving_mean", "moving_variance", "mean", "variance", "count")
Names = Callable[[LayerConfig], tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A variable in the file: `read` gives its content."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    read: Callable[[], Any]
    trainable: bool


def present(names: tuple[str, ...], config: Mapping[str, Any]) -> tuple[str, ...]:
    """Of the variables that a kind of layer may have, those that this one has."""
    return tuple(n for n in names if config.get(FLAGS.get(n.rpartition("/")[2], ""), True) is not False)


def find_variables(file: KerasFile, model: ModelConfig, names: Names) -> dict[str, Stored]:
    """Every variable by its path, `block/conv/kernel`.

    Raises:
        MigrateError: exit status 3, MIG141: one is missing.
    """
    found = _of_archive(file, model, names) if file.is_archive else _of_h5(file, model, names)
    stored: dict[str, Stored] = {}
    for path, layer, variable, dataset in found:
        name = "/".join((*path, variable))
        trainable = bool(layer.config.get("trainable", True)) and variable.rpartition("/")[2] not in STATISTICS
        stored[name] = Stored(
            name=name, shape=tuple(dataset.shape), dtype=str(dataset.dtype), read=_reader(dataset), trainable=trainable
        )
    return stored


def _reader(dataset: Any) -> Callable[[], Any]:
    return lambda: dataset[()]


def snake_case(name: str) -> str:
    """A class's name as Keras writes it: `Conv2DTranspose` -> `conv2d_transpose`."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


Found = Iterator[tuple[Path, LayerConfig, str, Any]]


def _of_archive(file: KerasFile, model: ModelConfig, names: Names) -> Found:
    yield from _group(file, model, "layers", (), names)


def _group(file: KerasFile, model: ModelConfig, group: str, path: Path, names: Names) -> Found:
    used: dict[str, int] = {}
    for layer in model.layers:
        if layer.is_operation:
            continue
        base = snake_case("Functional" if layer.cls == "Model" else layer.cls)
        count = used.get(base, 0)
        used[base] = count + 1
        place = f"{group}/{base}_{count}" if count else f"{group}/{base}"
        here = (*path, layer.name)
        if layer.model is not None:
            yield from _group(file, layer.model, f"{place}/layers", here, names)
            continue
        indices: dict[str, int] = {}
        for name in present(names(layer), layer.config):
            owner = name.rpartition("/")[0]
            index = indices.get(owner, 0)
            indices[owner] = index + 1
            dataset = "/".join(part for part in (place, owner, "vars", str(index)) if part)
            if dataset not in file.store:
                raise damaged(file.name, f"{'/'.join((*here, name))} is missing: there is no {dataset}")
            yield here, layer, name, file.store[dataset]


def _of_h5(file: KerasFile, model: ModelConfig, names: Names) -> Found:
    root = file.store["model_weights"]
    for layer in model.layers:
        wanted = list(_flat((layer.name,), layer, names, True))
        ordered = [w for w in wanted if w[3]] + [w for w in wanted if not w[3]]
        if not ordered:
            continue
        listed = list(_listed(root[layer.name], file.name)) if layer.name in root else []
        if len(listed) != len(ordered):
            raise damaged(file.name, f"{layer.name} has {len(listed)} tensors and needs {len(ordered)}")
        for (path, each, name, _), dataset in zip(ordered, listed, strict=True):
            yield path, each, name, dataset


def _flat(path: Path, layer: LayerConfig, names: Names, trained: bool) -> Iterator[tuple[Path, LayerConfig, str, bool]]:
    """The variables of a layer or of all layers of a model, with whether each is trained."""
    trained = trained and bool(layer.config.get("trainable", True))
    if layer.model is not None:
        for inner in layer.model.layers:
            yield from _flat((*path, inner.name), inner, names, trained)
    elif not layer.is_operation:
        for name in present(names(layer), layer.config):
            yield path, layer, name, trained and name.rpartition("/")[2] not in STATISTICS


def _listed(group: Any, file: str) -> Iterator[Any]:
    """The datasets of a group in the order of its attribute, which is cut into parts where it is long."""
    names = list(group.attrs.get("weight_names", ()))
    part = 0
    while (not names and f"weight_names{part}" in group.attrs) or part:
        chunk = group.attrs.get(f"weight_names{part}")
        if chunk is None:
            break
        names += list(chunk)
        part += 1
    for name in names:
        text = name.decode() if isinstance(name, bytes) else str(name)
        if text not in group:
            raise damaged(file, f"there is no {text}")
        yield group[text]
