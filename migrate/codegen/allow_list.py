"""What emitted Python may contain, read off its syntax tree: no import, call or attribute beyond what the templates need.

The second of two locks; the first is that a model's strings become code only through `names.py` or `repr`. Knows no plan.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_MODULES = frozenset({
    "__future__", "collections.abc", "dataclasses", "json", "math", "pathlib", "safetensors.torch", "torch",
    "torch.nn", "torch.nn.functional", "typing",
})  # fmt: skip
_IN_CHECKS = frozenset({"subprocess", "sys"})
_REFUSED_NAMES = frozenset({
    "__builtins__", "__import__", "__loader__", "breakpoint", "compile", "delattr", "eval", "exec", "getattr", "globals",
    "input", "locals", "open", "setattr", "vars",
})  # fmt: skip
_ALLOWED_DUNDER = frozenset({"__init__"})
_DUNDER_NAMES = frozenset({"__all__", "__file__", "__name__"})
REFUSED_ATTRIBUTES = frozenset({"system", "popen", "load", "save", "hub", "ops", "classes", "jit", "modules_from"})
_REFUSED_NODES = (
    ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await, ast.Global, ast.Nonlocal, ast.Lambda, ast.Delete,
    ast.Try, ast.With, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Match,
)  # fmt: skip


def check_source(text: str, path: str, package: str) -> list[str]:
    """Why a file may not be written; empty where it may.

    Args:
        text: the Python source.
        path: where it goes in the package; tests under `checks/` may start a process.
        package: the name of the package itself.
    """
    try:
        tree = ast.parse(text, path)
        compile(tree, path, "exec")
    except (SyntaxError, ValueError) as fault:
        return [f"does not compile: {fault}"]
    allowed = _MODULES | (_IN_CHECKS if path.startswith("checks/") else set[str]())
    return [
        f"line {getattr(node, 'lineno', 0)}: {why}"
        for node in ast.walk(tree)
        for why in _refuse(node, allowed, package)
    ]


def _refuse(node: ast.AST, modules: frozenset[str] | set[str], package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (f"imports {alias.name}" for alias in node.names if alias.name not in modules)
    elif isinstance(node, ast.ImportFrom):
        own = node.level == 1 or (node.level == 0 and (node.module or "").split(".")[0] == package)
        if not own and (node.level > 1 or node.module not in modules):
            yield f"imports from {'.' * node.level}{node.module or ''}"
    elif isinstance(node, ast.Name):
        dunder = node.id.startswith("__") and node.id not in _DUNDER_NAMES
        if node.id in _REFUSED_NAMES or dunder:
            yield f"names {node.id}"
    elif isinstance(node, ast.Attribute):
        if (node.attr.startswith("__") and node.attr not in _ALLOWED_DUNDER) or node.attr in REFUSED_ATTRIBUTES:
            yield f"takes the attribute {node.attr}"
    elif isinstance(node, _REFUSED_NODES):
        yield f"holds a {type(node).__name__}"
