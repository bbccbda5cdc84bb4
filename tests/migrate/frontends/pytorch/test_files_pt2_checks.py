"""The grammar of what a `.pt2` may say: what torch prints passes, other Python does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from migrate.frontends.pytorch.files_pt2_checks import (
    NotAllowed,
    check_entry,
    check_expression,
    check_symbol,
    clean,
    clean_treespec,
)

LEAF = {"type": None, "context": None, "children_spec": []}
NAMES = json.dumps(["a", "b"])


@pytest.mark.parametrize(
    "text",
    [
        "Symbol('s77', positive=True, integer=True)",
        "Mul(Integer(3), Symbol('s77', positive=True, integer=True))",
        "Add(Symbol('u0', integer=True), Integer(-1))",
        "Pow(Symbol('s0', integer=True), Integer(2))",
        "FloorDiv(s0 + 1, 2)",
        "2*s0*(s1 - 1)",
        "Max(Integer(1), s0)",
        "Ne(s0, 4)",
        "s0**2",
        "(s0 > 2) & (s1 < 3)",
        "Rational(1, 2)",
        "true",
    ],
)
def test_size_expressions(text: str) -> None:
    check_expression(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "Integer(3).__class__",
        "Integer(3)[0]",
        "(lambda: 3)()",
        "[1 for _ in range(3)]",
        "print(3)",
        "eval('3')",
        "lambdify(s0, 3)",
        "Symbol('__import__')('os')",
        "Symbol('s0; import os')",
        "open",
        "f'{3}'",
        "Integer(3) if s0 else 2",
        "10**1000",
        "Pow(10, 1000)",
        "Pow(Pow(10, 64), 64)",
        "(10**64)**64",
        "1 << 1000",
        "LShift(1, 1000)",
        str(1 << 70),
        "x" * 30_000,
        "((",
        "",
        "\0",
        None,
        3,
    ],
)
def test_other_expressions(text: Any) -> None:
    with pytest.raises(NotAllowed):
        check_expression(text)


@pytest.mark.parametrize(
    ("name", "legal"), [("s77", True), ("u0", True), ("batch", True), ("u99999999", False), ("s-1", False)]
)
def test_symbols(name: str, legal: bool) -> None:
    if legal:
        check_symbol(name)
    else:
        with pytest.raises(NotAllowed):
            check_symbol(name)


def test_names_of_tensors() -> None:
    for name in ("layers.0.weight", "blocks.a-b.weight", "table", "weight#1"):
        check_entry(name)
    for name in ('a")', "a'", "a\\", "a\nb", None):
        with pytest.raises(NotAllowed):
            check_entry(name)


@pytest.mark.parametrize(
    ("kind", "context", "found", "names"),
    [
        ("builtins.tuple", "null", "builtins.tuple", None),
        ("builtins.list", "null", "builtins.list", None),
        ("builtins.dict", NAMES, "builtins.dict", ["a", "b"]),
        ("collections.OrderedDict", NAMES, "collections.OrderedDict", ["a", "b"]),
        ("collections.namedtuple", json.dumps("mine.Point"), "builtins.tuple", None),
        ("transformers.modeling_outputs.Output", NAMES, "builtins.dict", ["a", "b"]),
        ("mine.Data", json.dumps([["a", "b"], []]), "builtins.dict", ["a", "b"]),
        (
            "collections.defaultdict",
            json.dumps({"default_factory_module": "os", "default_factory_name": "x", "dict_context": ["a", "b"]}),
            "builtins.dict",
            ["a", "b"],
        ),
        ("builtins.dict", json.dumps([{"__enum__": True, "fqn": "this:x", "name": "x"}, "b"]), "builtins.tuple", None),
    ],
)
def test_structures(kind: str, context: str, found: str, names: Any) -> None:
    spec = {"type": kind, "context": context, "children_spec": [LEAF, LEAF]}
    cleaned = json.loads(clean_treespec(json.dumps([1, spec])))[1]
    assert cleaned["type"] == found and cleaned["children_spec"] == [LEAF, LEAF]
    assert json.loads(cleaned["context"]) == names


def test_keywords_of_a_call_are_names() -> None:
    def call(name: str) -> str:
        keywords = {"type": "builtins.dict", "context": json.dumps([name]), "children_spec": [LEAF]}
        positional = {"type": "builtins.tuple", "context": "null", "children_spec": [LEAF]}
        return json.dumps([1, {"type": "builtins.tuple", "context": "null", "children_spec": [positional, keywords]}])

    clean_treespec(call("mask"), arguments=True)
    with pytest.raises(NotAllowed):
        clean_treespec(call("mask=print(3)"), arguments=True)
    for text in ("", "[", "3", json.dumps([1, 2]), json.dumps([1, {"type": "builtins.list"}])):
        with pytest.raises(NotAllowed):
            clean_treespec(text)


@pytest.mark.parametrize(
    ("target", "legal"),
    [
        ("torch.ops.aten.add.Tensor", True),
        ("torch.ops.aten._to_copy.default", True),
        ("torch.ops.aten.__and__.Tensor", True),
        ("torch.ops.torchvision.nms.default", True),
        ("torch.ops.higher_order.cond", True),
        ("torch.sym_max", True),
        ("_operator.floordiv", True),
        ("math.trunc", True),
        ("torch.os.system", False),
        ("torch.ops.aten.__class__", False),
        ("torch.ops.aten.add.__call__", False),
        ("torch.ops.load_library", False),
        ("torch.ops.import_module.x", False),
        ("torch.ops.aten.from_file.default", False),
        ("torch.hub.load", False),
        ("_operator.methodcaller", False),
        ("math.__loader__", False),
        ("#custom:op", False),
        ("builtins.eval", False),
    ],
)
def test_targets(target: str, legal: bool) -> None:
    document = {"graph_module": {"nodes": [{"target": target, "metadata": {"stack_trace": "s", "custom": "c"}}]}}
    if legal:
        assert clean(document)["graph_module"]["nodes"][0] == {"target": target, "metadata": {"stack_trace": "s"}}
    else:
        with pytest.raises(NotAllowed):
            clean(document)
