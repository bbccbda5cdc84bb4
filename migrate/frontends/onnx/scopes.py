"""Where in the module tree an ONNX node belongs, read from what exporters leave in names and metadata."""

from __future__ import annotations

import ast
import re
from typing import Any, cast

import onnx_ir as ir

from migrate.graph.weights import Maker

_ATTRIBUTE = re.compile(r"(?!(val|scalar_tensor|lift_fresh|arange|const)_?\w*$)[A-Za-z_]\w*(\.\w+)*")
_SCOPES = "pkg.torch.onnx.name_scopes"


def scope_of(node: ir.Node) -> tuple[str, ...]:
    """The attribute path of the node's module, in printable characters; empty where the source has none.

    Three sources: torch's exporter metadata, the TorchScript exporter's names (`/layer1/layer1.0/conv1/Conv`), and the
    names of tf2onnx (`model/block/conv;model/...`), of which the last part is taken.
    """
    return tuple("".join(c if c.isprintable() else "_" for c in part) for part in _path(node))


def _path(node: ir.Node) -> tuple[str, ...]:
    if _SCOPES in node.metadata_props:
        return _from_metadata(node.metadata_props[_SCOPES])
    name = node.name or ""
    if name.startswith("/"):
        return _relative([part for part in name.split("/")[1:-1] if part])
    if "/" in name:
        return tuple(_split(";".join(name.split(";")[-1:])))
    return ()


def maker_of(name: str, producer: str) -> Maker:
    """Who made a tensor of that name, where the file's producer is PyTorch; the names of others tell nothing."""
    if producer != "pytorch":
        return "unknown"
    if name.startswith("onnx::") or name.endswith("_output_0"):
        return "exporter"
    return "module" if _ATTRIBUTE.fullmatch(name) else "unknown"


def _from_metadata(text: str) -> tuple[str, ...]:
    try:
        written = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # all that its parser raises
        return ()
    if not isinstance(written, list):
        return ()
    scopes = [str(scope) for scope in cast(list[Any], written)]
    return _relative([s for s in scopes[1:-1] if s])


def _relative(parts: list[str]) -> tuple[str, ...]:
    """`layer1`, `layer1.0` -> `layer1`, `0`: a part repeats its parent as a prefix."""
    path: list[str] = []
    previous = ""
    for part in parts:
        relative = part[len(previous) + 1 :] if previous and part.startswith(previous + ".") else part
        path += [p for p in relative.split(".") if p]
        previous = part
    return tuple(path)


def _split(name: str) -> list[str]:
    return [re.sub(r"\W", "_", part) for part in name.split("/")[:-1] if part]
