"""Where a node of an exported program comes from: its module, and the user's line. No absolute path leaves this module."""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path, PurePath
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


@cache
def relative_file(name: str) -> str:
    """A source file from its package on, as `torchvision/models/resnet.py`; of one that is in no package its name."""
    path = Path(name)
    for parent in path.parents:
        if parent.name in ("site-packages", "dist-packages"):
            return path.relative_to(parent).as_posix()
    root = path.parent
    while (root / "__init__.py").is_file() and root != root.parent:
        root = root.parent
    return path.relative_to(root).as_posix()


@cache
def place_of(kind: type) -> str:
    """The file and line at which a class begins; "" where it has no source."""
    try:
        file = inspect.getsourcefile(kind)
        line = inspect.findsource(kind)[1] + 1
    except (OSError, TypeError):
        return ""
    return f"{relative_file(file)}:{line}" if file else ""


def source_line(node: Any) -> str:
    """The user's file and line: the innermost that is not torch's own; "" where the program has none."""
    frames: list[tuple[str, str]] = _FRAME.findall(node.meta.get("stack_trace") or "")
    own = [frame for frame in frames if "torch" not in PurePath(frame[0]).parts] or frames
    return f"{relative_file(own[-1][0])}:{own[-1][1]}" if own else ""


def line_of(node: Any) -> str:
    """The user's line and the module, for a message."""
    line, module = source_line(node) or str(node), module_of(node)
    return f"{line} in {module}" if module else line
