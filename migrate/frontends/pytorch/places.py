"""Where a node of an exported program comes from: its module, and the user's line."""

from __future__ import annotations

import re
from typing import Any

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_CALL = re.compile(r"@\d+")


def module_of(node: Any) -> str:
    """The path of the node's module as in `named_modules`; later calls of one module have its path."""
    stack = node.meta.get("nn_module_stack") or {}
    paths = [path for path, _ in stack.values() if "_empty_nn_module_stack" not in path]
    return _CALL.sub("", paths[-1]) if paths else ""


def called_in(node: Any) -> list[tuple[str, ...]]:
    """The paths of the modules in whose calls a node is, outer ones first."""
    stack = node.meta.get("nn_module_stack") or {}
    return [tuple(part for part in _CALL.sub("", path).split(".") if part) for path, _ in stack.values()]


def scope_of(node: Any) -> tuple[str, ...]:
    """The same, in parts."""
    return tuple(part for part in module_of(node).split(".") if part)


def line_of(node: Any) -> str:
    """The user's file and line, and the module: the innermost line that is not torch's own."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    own = [frame for frame in frames if "/torch/" not in frame[0]] or frames
    line = f"{own[-1][0]}:{own[-1][1]}" if own else str(node)
    module = module_of(node)
    return f"{line} in {module}" if module else line
