"""Results in the user's own classes: with and without names for their fields, in this process and in another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from migrate.frontends.pytorch import export_module
from migrate.frontends.pytorch.structure import forget_classes, output_paths


class Named:
    def __init__(self, logits: Any, hidden: Any) -> None:
        self.logits, self.hidden = logits, hidden


class Nameless(Named):
    pass


def _fields(value: Any) -> tuple[list[Any], None]:
    return [value.logits, value.hidden], None


def _named_fields(value: Any) -> tuple[list[Any], None]:
    return [(pytree.GetAttrKey("logits"), value.logits), (pytree.GetAttrKey("hidden"), value.hidden)], None


pytree.register_pytree_node(Named, _fields, lambda items, _: Named(*items), flatten_with_keys_fn=_named_fields)
pytree.register_pytree_node(Nameless, _fields, lambda items, _: Nameless(*items))


class Net(nn.Module):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.first, self.second, self.kind = nn.Linear(4, 8), nn.Linear(8, 2), kind

    def forward(self, x: Tensor) -> Any:
        h = self.first(x).relu()
        return self.kind(self.second(h), h)


KINDS: dict[str, tuple[Any, list[tuple[str, ...]]]] = {
    "named": (Named, [("logits",), ("hidden",)]),
    "nameless": (Nameless, [("0",), ("1",)]),
    "nested": (lambda a, b: {"out": [a, Nameless(b, a)]}, [("out", "0"), ("out", "1", "0"), ("out", "1", "1")]),
    "one": (lambda a, b: a, [()]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_results_have_names_and_need_no_class_to_be_read(kind: str, tmp_path: Path) -> None:
    made, paths = KINDS[kind]
    program = export_module(Net(made), (torch.randn(3, 4),)).evaluation
    assert output_paths(program) == paths
    forget_classes(program)
    torch.export.save(program, tmp_path / "program.pt2")
    read = torch.export.load(tmp_path / "program.pt2")
    assert output_paths(read) == paths
