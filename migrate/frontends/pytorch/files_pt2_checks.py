"""What the JSON of a `.pt2` may hold. `torch.export.load` evaluates parts of it: size expressions go through `sympify`,
guards through `exec`, enumerations and default factories through `import_module`, targets through `getattr`, and the names
of values, arguments and tensors become the text of a Python function.

Each of those parts is held against a grammar here and refused, or replaced by what cannot run. Knows no archive and no torch.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

MAX_EXPRESSION = 20_000  # characters
MAX_EXPONENT = 64
MAX_INTEGER = 2**64
_FUNCTION = re.compile(
    "Symbol|Integer|Float|Rational|NegativeOne|One|Zero|Half|Add|Mul|Pow|Mod|PythonMod|FloorDiv|CleanDiv|CeilDiv|CeilToInt"
    "|FloorToInt|TruncToInt|TruncToFloat|RoundToInt|RoundDecimal|ToFloat|IntTrueDiv|FloatTrueDiv|FloatPow|PowByNatural"
    "|ModularIndexing|Where|Max|Min|Abs|LShift|RShift|IsNonOverlappingAndDenseIndicator|Identity|Eq|Ne|Lt|Le|Gt|Ge"
    "|Equality|Unequality|StrictLessThan|LessThan|StrictGreaterThan|GreaterThan|And|Or|Not|floor|ceiling|sqrt"
    "|OpaqueUnaryFn_sqrt"
)
_NAMES = frozenset(("true", "false", "oo", "int_oo", "positive", "integer"))
_POWERS = frozenset(("Pow", "PowByNatural", "FloatPow", "LShift", "sqrt"))
_SYMBOL = re.compile(r"[A-Za-z_]{1,24}\d{0,6}")
_ALLOWED = (
    ast.Expression, ast.Call, ast.Name, ast.Load, ast.Constant, ast.keyword, ast.BinOp, ast.UnaryOp, ast.Compare,
    ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip
_TARGET = re.compile(
    r"torch\.ops\.(?!load_library\b|import_module\b)[A-Za-z]\w*\.(?!__)\w+(\.(?!_)\w+)?"
    r"|torch\.ops\.aten\.__i?(and|or|xor|lshift|rshift)__\.\w+"
    r"|torch\.ops\.higher_order\.\w+|torch\._?sym_\w+|math\.(trunc|floor|ceil|sqrt)"
    r"|_operator\.(eq|ne|le|ge|lt|gt|neg|pos|mul|add|sub|floordiv|mod|pow|truediv|and_|or_|xor|not_|getitem|trunc|abs"
    r"|lshift|rshift|index|invert)"
)
_REACHES_OUT = re.compile(r"torch\.ops\.aten\.(from_file|_from_file)\b.*")
_KEPT_METADATA = ("stack_trace", "nn_module_stack")
_SEQUENCES = ("builtins.tuple", "builtins.list")
_MAPPINGS = ("builtins.dict", "collections.OrderedDict")


_IDENTIFIER = re.compile(r"([A-Za-z_]\w*)?", re.ASCII)
QUOTING = re.compile(r"[\"'\\\x00-\x1f]")
_VALUES = ("name", "as_name")
_ENTRIES = ("parameter_name", "buffer_name", "tensor_constant_name", "fqn")


class NotAllowed(ValueError):
    """The document asks for what would run code, or is none that `torch.export.save` writes."""


def clean(document: Any) -> Any:
    """The document of a program without what could run: guards and metadata dropped, devices set to the CPU.

    Raises:
        NotAllowed: with the part and the reason.
    """
    if not isinstance(document, dict) or "graph_module" not in document:
        raise NotAllowed("it has no graph")
    cleaned: Any = _clean(document)
    cleaned["guards_code"] = []
    for name in cleaned.get("range_constraints") or {}:
        check_symbol(name)
    return cleaned


def check_expression(text: Any) -> None:
    """Hold a size expression against the grammar that torch prints.

    Raises:
        NotAllowed: it is another kind of Python expression, or one that would take for ever.
    """
    if not isinstance(text, str) or len(text) > MAX_EXPRESSION:
        raise NotAllowed("a size expression is no text, or too long")
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
        raise NotAllowed(f"{text[:80]!r} is no size expression") from fault
    for node in ast.walk(tree):
        if not _legal(node):
            raise NotAllowed(f"{text[:80]!r} is no size expression")


def check_symbol(text: Any) -> None:
    """Refuse what is no name of a size, or one whose number torch would count up to.

    Raises:
        NotAllowed: so.
    """
    if not isinstance(text, str) or not _SYMBOL.fullmatch(text):
        raise NotAllowed(f"{str(text)[:40]!r} is no name of a size")


def check_entry(name: Any) -> None:
    """Refuse a name of a tensor or module that could end a quoted text.

    Raises:
        NotAllowed: so.
    """
    if not isinstance(name, str) or QUOTING.search(name):
        raise NotAllowed(f"{str(name)[:60]!r} is no name of a tensor or module")


def clean_treespec(text: Any, *, arguments: bool = False) -> str:
    """The structure of arguments or results in tuples, lists and dicts: a class of the user becomes a dict of its fields.

    Args:
        text: as torch has written it.
        arguments: whether it is of a call, whose keywords become parameters of a function.

    Raises:
        NotAllowed: it is no such structure.
    """
    try:
        version, spec = json.loads(text)
        cleaned = _treespec(spec)
        for name in json.loads(cleaned["children_spec"][1]["context"]) if arguments else ():
            _check_identifier(name)
        return json.dumps([version, cleaned])
    except NotAllowed:
        raise
    except (ValueError, TypeError, LookupError, RecursionError, AttributeError) as fault:
        raise NotAllowed("the structure of its arguments or results cannot be read") from fault


def _legal(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return (
            isinstance(node.func, ast.Name)
            and _FUNCTION.fullmatch(node.func.id) is not None
            and _bounded(node.func.id, node.args)
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift):
        return _bounded("Pow", [node.left, node.right])
    if isinstance(node, ast.Name):
        known = _FUNCTION.fullmatch(node.id) or node.id in _NAMES
        return bool(known) or (node.id[-1].isdigit() and _SYMBOL.fullmatch(node.id) is not None)
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            return _SYMBOL.fullmatch(node.value) is not None
        return isinstance(node.value, int | float) and abs(node.value) < MAX_INTEGER
    return isinstance(node, _ALLOWED)


def _bounded(function: str, arguments: list[ast.expr]) -> bool:
    """Whether a power is of a small exponent, and not of another power: the number would be too long to compute."""
    if function not in _POWERS:
        return True
    inner = [node for argument in arguments for node in ast.walk(argument)]
    powers = [n for n in inner if (isinstance(n, ast.Name) and n.id in _POWERS) or isinstance(n, ast.Pow | ast.LShift)]
    exponent = [node.value for node in ast.walk(arguments[-1]) if isinstance(node, ast.Constant)] if arguments else []
    small = all(abs(number) <= MAX_EXPONENT for number in exponent if isinstance(number, int | float))
    return not powers and (small or function == "sqrt")


def _treespec(spec: Any) -> Any:
    kind, children = spec["type"], [_treespec(child) for child in spec["children_spec"]]
    if kind is None:
        return {"type": None, "context": None, "children_spec": []}
    if kind in _SEQUENCES:
        return {"type": kind, "context": "null", "children_spec": children}
    names = _field_names(spec["context"], len(children))
    if names is None:
        return {"type": "builtins.tuple", "context": "null", "children_spec": children}
    kind = kind if kind in _MAPPINGS else "builtins.dict"
    return {"type": kind, "context": json.dumps(names), "children_spec": children}


def _field_names(context: Any, count: int) -> list[Any] | None:
    """The keys of a mapping or the fields of a class, as its type has written them."""
    found: Any = json.loads(context) if isinstance(context, str) else context
    found = found.get("dict_context") if isinstance(found, dict) else found
    for names in (found, found[0] if isinstance(found, list) and found else None):
        if isinstance(names, list) and len(names) == count and all(isinstance(n, str | int) for n in names):
            return names
    return None


def _clean(value: Any) -> Any:
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"type", "index"}:  # a device
        return {"type": "cpu", "index": None}
    return {key: _clean_field(key, item, value) for key, item in value.items()}


def _clean_field(key: str, item: Any, owner: dict[str, Any]) -> Any:
    if key == "expr_str":
        check_expression(item)
    elif key in ("target", "as_operator"):
        _check_target(item)
    elif key in ("in_spec", "out_spec"):
        return clean_treespec(item, arguments=key == "in_spec")
    elif key in _VALUES and isinstance(item, str):
        _check_identifier(item)
    elif key == "forward_arg_names":
        for name in item or ():
            _check_identifier(name)
    elif key in _ENTRIES:
        check_entry(item)
    elif key in ("as_custom_obj", "custom_obj") or (key == "custom_obj_values" and item):
        raise NotAllowed("it holds a custom object, which is a pickle")
    elif key == "metadata":
        known = item.items() if isinstance(item, dict) and "target" in owner else ()
        return {name: text for name, text in known if name in _KEPT_METADATA and isinstance(text, str)}
    return _clean(item)


def _check_identifier(name: Any) -> None:
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
        raise NotAllowed(f"{str(name)[:60]!r} is no name of a value")


def _check_target(target: Any) -> None:
    if not isinstance(target, str) or not _TARGET.fullmatch(target) or _REACHES_OUT.fullmatch(target):
        raise NotAllowed(f"it calls {str(target)[:80]!r}, which is no operator")
