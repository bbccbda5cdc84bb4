"""Names of local variables, by what a value is for; a name is used again once its value is dead. Knows no text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from migrate.codegen.names import identifier, variables
from migrate.codegen.tree import BlockCall, ChainCall, FunctionCall, Item
from migrate.graph.ir import Value

FLOW = ("x", "h", "y", "z", "u", "v", "w")
_MORE = ("a", "b", "c", "d", "e", "f", "g", "p", "q", "r", "s")
_ROLES = {
    "softmax": "weights", "log_softmax": "log_probs", "matmul": "scores", "sigmoid": "gate", "mean": "mean",
    "var": "variance", "std": "deviation", "amax": "peak", "amin": "lowest", "sum": "total", "argmax": "best",
    "argmin": "best", "arange": "positions", "exp": "powers", "rsqrt": "inverse", "reciprocal": "inverse",
    "vector_norm": "length", "full": "filled", "size_tensor": "sizes", "cat": "joined", "stack": "stacked",
    "new_zeros": "zeros", "tril": "lower", "triu": "upper", "cumsum": "sums", "one_hot": "one_hot",
    "randn": "noise", "rand": "noise",
}  # fmt: skip
_KEEPS_MEANING = {"elementwise", "shape", "activation"}
_PAIRS = {
    "topk": ("values", "indices"), "sort": ("values", "indices"), "lstm": ("x", "hidden", "cell"), "gru": ("x", "hidden"),
    "rnn_tanh": ("x", "hidden"), "rnn_relu": ("x", "hidden"),
}  # fmt: skip
_PARTS = {2: ("left", "right"), 3: ("first", "second", "third")}


def _kind(value: Value) -> str:
    return "float" if value.is_float or "complex" in value.dtype else "bool" if value.dtype == "bool" else "int"


def input_names(values: Sequence[Value], wanted: dict[Value, str]) -> dict[Value, str]:
    """Names of a forward's tensors; `wanted` gives the source's."""
    names: dict[Value, str] = {}
    for value in values:
        names[value] = free_name(
            wanted.get(value) or _borrowed(value) or _plain(value), names.values(), _kind(value) == "float"
        )
    return names


def _borrowed(value: Value) -> str:
    """The attribute that a tensor is of the module that holds it."""
    return identifier(value.weight.source.rpartition(".")[2], "weight") if value.weight is not None else ""


def _plain(value: Value) -> str:
    return {"float": "x", "bool": "mask", "int": "ids"}[_kind(value)]


def free_name(wanted: str, alive: Iterable[str], is_flow: bool = True) -> str:
    """`wanted`, or where a live value has it another name."""
    taken = {*alive, *variables()}
    pool = (wanted, *FLOW, *_MORE) if is_flow else (wanted, f"{wanted}_b", f"{wanted}_c", f"{wanted}_d")
    found = next((name for name in pool if name not in taken), None)
    number = 2
    while found is None:
        found = f"{wanted}{number}" if f"{wanted}{number}" not in taken else None
        number += 1
    return found


def output_names(
    item: Item,
    values: Sequence[Value],
    dying: dict[str, Value],
    alive: Iterable[str],
    used: set[Value],
    roles: Mapping[Value, str],
) -> list[str]:
    """Names of what an item makes. `dying` are variables that nothing reads any more; values not `used` are `_`.

    `roles` are what some values are for.
    """
    while isinstance(item, ChainCall):
        item = item.calls[-1]
    node = None if isinstance(item, BlockCall) else item.node
    op = node.op.name if node else ""
    taken = set(alive)
    names: list[str] = []
    parts = _PAIRS.get(op) or (_PARTS.get(len(values), ()) if node and node.op.many else ())
    for place, value in enumerate(values):
        if value not in used:
            names.append("_")
            continue
        if value in roles:
            wanted = roles[value]
        elif len(values) > 1:
            wanted = parts[place] if place < len(parts) else _plain(value)
        else:
            meaning = isinstance(item, FunctionCall) and node is not None and node.op.family in _KEEPS_MEANING
            wanted = _again(value, {n: v for n, v in dying.items() if v not in roles}, meaning) or _fresh(op, value)
        name = free_name(wanted, taken, wanted in FLOW or len(values) > 3)
        taken.add(name)
        names.append(name)
    return names


def _again(value: Value, dying: dict[str, Value], keeps_meaning: bool) -> str:
    """The variable that the statement uses up, where the new value goes on from it."""
    same = [name for name, old in dying.items() if _kind(old) == _kind(value)]
    flow = [name for name in same if name in FLOW]
    if flow:
        return "x" if "x" in flow else flow[0]
    return same[0] if same and keeps_meaning else ""


def _fresh(op: str, value: Value) -> str:
    kind = _kind(value)
    if kind == "bool":
        return "mask"
    role = _ROLES.get(op)
    return role or ("ids" if kind == "int" else "h")
