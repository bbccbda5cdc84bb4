"""The configuration of layers that Keras 2 keeps beside the graph: in its objects, or in a file of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from migrate.frontends.tensorflow.messages import parse

FILE = "keras_metadata.pb"
MEANS = ("moving_mean",)


def keras_layers(folder: Path, objects: Any) -> list[tuple[str, dict[str, Any]]]:
    """Each layer's class and configuration, with the name of its moving mean where it has one."""
    return [(_owner(objects, number), layer) for number, text in _texts(folder, objects) if (layer := _json(text))]


def _texts(folder: Path, objects: Any) -> Iterator[tuple[int, str]]:
    path = folder / FILE
    if path.is_file():
        for item in parse("SavedMetadata", path.read_bytes(), FILE).nodes:
            yield item.node_id, item.metadata
        return
    for number, item in enumerate(objects.nodes):
        if item.user_object.metadata:
            yield number, item.user_object.metadata


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _owner(objects: Any, number: int) -> str:
    if not 0 <= number < len(objects.nodes):
        return ""
    means = [child.node_id for child in objects.nodes[number].children if child.local_name in MEANS]
    return objects.nodes[means[0]].variable.name.partition(":")[0] if means else ""
