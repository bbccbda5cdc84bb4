"""Reads off the source which diagnostic codes there are, how severe they are and what they say. Runs nothing of it.

A code is a string such as `MIG101` in a call, beside the words that the user reads: `what=`, or the first words that follow
the code. A helper that is given a code and finds the words itself keeps them in a dict by code. What is filled in at run time
shows as `...`.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

CODE = re.compile(r"MIG\d{3}")
GROUPS = {"1": "Input and usage", "2": "Operators", "3": "Training semantics", "4": "Target", "5": "Verification"}


@dataclass(slots=True)
class Code:
    """One code: the severities it is given, the words it is printed with, and the modules that raise it."""

    severities: set[str] = field(default_factory=set[str])
    words: dict[str, None] = field(default_factory=dict[str, None])
    modules: set[str] = field(default_factory=set[str])


def find_codes(root: Path, packages: tuple[str, ...]) -> dict[str, Code]:
    """Every code of the packages below `root`, by its name."""
    found: defaultdict[str, Code] = defaultdict(Code)
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            _read(ast.parse(path.read_text(encoding="utf-8")), module, found)
    return dict(sorted(found.items()))


def _read(tree: ast.Module, module: str, found: dict[str, Code]) -> None:
    for scope in [tree, *(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))]:
        assigned = sorted((n for n in _own(scope) if _names_one(n)), key=lambda n: n.lineno)
        for node in _own(scope):
            line = getattr(node, "lineno", 0)
            names = {
                ast.unparse(n.targets[0]): n.value for n in assigned if n.lineno < line
            }  # the last before the call holds
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    _add(found, _code(key), [value], "", module, names)
            elif isinstance(node, ast.Call):
                named = {k.arg: k.value for k in node.keywords}
                place = next((i for i, a in enumerate(node.args) if _code(a)), -1)
                code = _code(node.args[place]) if place >= 0 else _code(named.get("code"))
                words = [named[k] for k in ("what",) if k in named] or node.args[place + 1 :]
                _add(found, code, words, _severity(named.get("severity")), module, names)


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module or function, without those of functions inside it."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, ast.FunctionDef):
            yield child
            yield from _own(child)


def _names_one(node: ast.AST) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)


def _code(node: ast.AST | None) -> str:
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    return text if CODE.fullmatch(text) else ""


def _severity(node: ast.AST | None) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else "error"


def _add(
    found: dict[str, Code], code: str, words: list[ast.expr], severity: str, module: str, names: dict[str, ast.expr]
) -> None:
    if not code:
        return
    entry = found[code]
    entry.modules.add(module)
    if severity:
        entry.severities.add(severity)
    for text in (_words(node, names) for node in words):
        if any(c.isalpha() for c in text):
            entry.words[text] = None
            return


def _words(node: ast.AST, names: dict[str, ast.expr]) -> str:
    if isinstance(node, ast.Name) and node.id in names:
        return _words(names[node.id], {})
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        text = "".join(str(v.value) if isinstance(v, ast.Constant) else "..." for v in node.values)
        return re.sub(r"(\.\.\.)+", "...", text)
    return ""
