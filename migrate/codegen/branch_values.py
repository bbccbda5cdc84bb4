"""Values of an integer input that lead a model into each of its branches, read off what the input is compared with."""

from __future__ import annotations

from migrate.graph.ir import Node, Value

KEEPS_VALUES = {"cast", "reshape", "unsqueeze", "squeeze", "expand", "permute", "transpose", "flatten"}
_PARTS = {"select", "getitem", "index_select"}
_COMPARES = {"eq", "ne", "lt", "le", "gt", "ge"}
_COMBINES = {"logical_not", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_not"}


def branch_values(value: Value, users: dict[Value, list[Node]]) -> tuple[int, ...]:
    """The numbers that the value is compared with on the way to a condition, and one more: the next after the largest.

    Empty where no branch and no loop depends on such a comparison, or the value holds no integers.
    """
    if "int" not in value.dtype:
        return ()
    found = sorted(set(_numbers(value, users)))
    return (*found, found[-1] + 1) if found else ()


def _numbers(value: Value, users: dict[Value, list[Node]]) -> list[int]:
    numbers: list[int] = []
    for node in users.get(value, []):
        if node.op.name in KEEPS_VALUES | _PARTS and node.args[0] is value:
            numbers += _numbers(node.outputs[0], users)
        elif node.op.name in _COMPARES and _decides(node.outputs[0], users):
            numbers += [int(arg) for arg in node.args if isinstance(arg, int | float)]
    return numbers


def _decides(value: Value, users: dict[Value, list[Node]]) -> bool:
    """Whether a branch or a loop has it for a condition."""
    for node in users.get(value, []):
        if node.op.name == "if_" and node.args[0] is value:
            return True
        if node.op.name in KEEPS_VALUES | _PARTS | _COMBINES and _decides(node.outputs[0], users):
            return True
    return False
