"""The numbers of one emitted package, read off the syntax trees of its model files. Knows no graph and no source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median

RUN = 4  # statements
PLAIN = frozenset({0, 1, 2, -1, -2})
AXIS_CALLS = frozenset({"permute", "transpose", "squeeze", "unsqueeze", "flatten", "unbind", "select"})
COMPUTES = ("forward", "logits")
_NOT_MODEL = {"__init__", "__main__", "config", "data", "loss"}
_OPS = (
    "conv|bn|norm|linear|fc|matmul|gemm|add|mul|sub|div|relu|act|pool|concat|cat|reshape|permute|transpose|gather|slice|"
    "softmax|sigmoid|node|op|onnx|tensor|value|var|layer|tmp|temp|t|v|x|h|out|output"
)
_OP_AND_NUMBER = re.compile(rf"(?:{_OPS})(?:_\d+|\d\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """The numbers of a package; `LIMITS` has what they are held to."""

    op_number_names: int
    repeated_runs: int
    longest_forward: int
    median_forward: float
    statements: int
    longest_line: int
    integers: int
    code_lines: int
    classes: int


LIMITS = {
    "op_number_names": 0,
    "repeated_runs": 0,
    "longest_forward": 30,
    "median_forward": 10,
    "statements": 25,
    "longest_line": 100,
    "integers": 0,
}
MAX_LINES_PER_NODE = 0.5


def model_files(texts: Mapping[str, str]) -> list[str]:
    """The texts of the files that hold the model's classes."""
    return [
        text
        for path, text in sorted(texts.items())
        if path.count("/") == 1 and path.endswith(".py") and path.split("/")[1][:-3] not in _NOT_MODEL
        and not path.startswith(("checks/", "local/"))
    ]  # fmt: skip


def measure(texts: Mapping[str, str], kept: frozenset[str] = frozenset()) -> Metrics:
    """The numbers of a package's texts; names in `kept` are the source's own and not ours to choose."""
    files = model_files(texts)
    trees = [ast.parse(text) for text in files]
    classes = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    functions = [f for one in classes for f in one.body if isinstance(f, ast.FunctionDef)]
    computing = [f for f in functions if f.name in COMPUTES]
    lengths = [_length(f) for f in computing]
    return Metrics(
        op_number_names=len({n for tree in trees for n in _names(tree) if _OP_AND_NUMBER.fullmatch(n)} - kept),
        repeated_runs=repeated_runs(computing),
        longest_forward=max(lengths),
        median_forward=median(lengths),
        statements=max(sum(len(_body(f)) for f in one.body if isinstance(f, ast.FunctionDef)) for one in classes),
        longest_line=max(len(line) for text in files for line in text.splitlines()),
        integers=sum(1 for f in computing for _ in _integers(f)),
        code_lines=sum(1 for text in files for line in text.splitlines() if line.strip() and line.strip()[0] != "#"),
        classes=len(classes),
    )


def _names(tree: ast.AST) -> Iterator[str]:
    """Names that code gives: of classes, parameters, variables, and attributes of `self`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def _body(function: ast.FunctionDef) -> list[ast.stmt]:
    """The statements, without docstring and the call of the base class."""
    first = function.body[0]
    body = function.body[1:] if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else function.body
    return [s for s in body if ast.unparse(s) != "super().__init__()"]


def _length(function: ast.FunctionDef) -> int:
    body = _body(function)
    return (body[-1].end_lineno or body[-1].lineno) - body[0].lineno + 1


def _integers(function: ast.FunctionDef) -> Iterator[int]:
    """The numbers that should have a name; an axis is called by its number, and so is a member of a list of modules."""
    axes = {id(number) for node in ast.walk(function) for axis in _axes(node) for number in ast.walk(axis)}
    for node in ast.walk(function):
        if id(node) in axes:
            continue
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value not in PLAIN:
            yield node.value


def _axes(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Subscript) and re.fullmatch(r"self[\w.\[\]]+", ast.unparse(node.value)):
        return [node.slice]
    if not isinstance(node, ast.Call):
        return []
    named = [keyword.value for keyword in node.keywords if keyword.arg == "dim"]
    moves = isinstance(node.func, ast.Attribute) and node.func.attr in AXIS_CALLS
    return [*named, *node.args] if moves else named


def repeated_runs(functions: list[ast.FunctionDef]) -> int:
    """How many runs of statements are there before, with other names and numbers."""
    seen: dict[str, tuple[int, int]] = {}
    count = 0
    for which, function in enumerate(functions):
        body = _body(function)
        at = 0
        while at + RUN <= len(body):
            text = _renamed(body[at : at + RUN])
            first = seen.setdefault(text, (which, at))
            apart = first[0] != which or first[1] + RUN <= at
            count += apart
            at += RUN if apart else 1
    return count


def _renamed(run: list[ast.stmt]) -> str:
    """The run with names in the order in which they come, and without its numbers."""
    names: dict[str, str] = {}
    parts: list[str] = []
    for node in (node for statement in run for node in ast.walk(statement)):
        if isinstance(node, ast.Name) and node.id not in ("self", "torch", "F"):
            parts.append(names.setdefault(node.id, str(len(names))))
        elif isinstance(node, ast.Attribute):
            own = isinstance(node.value, ast.Name) and node.value.id == "self"
            parts.append(names.setdefault(f"self.{node.attr}", str(len(names))) if own else node.attr)
        else:
            parts.append(type(node).__name__)
    return " ".join(parts)
