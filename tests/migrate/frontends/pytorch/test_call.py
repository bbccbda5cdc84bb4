"""Arguments and results that are no plain tensors, where their structure does not change from call to call."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from tests.migrate.frontends.pytorch.parity import check


class Found(NamedTuple):
    logits: Tensor
    loss: Tensor | None


@dataclass
class Result:
    """What a module of transformers returns: a dataclass that torch knows how to take apart."""

    logits: Tensor
    hidden: Tensor | None = None


class Output(OrderedDict[str, Tensor]):
    """A dict that is also read by attribute, registered as transformers registers its own."""

    def __getattr__(self, name: str) -> Tensor:
        return self[name]


def with_keys(output: Any) -> tuple[list[tuple[Any, Any]], Any]:
    return [(pytree.MappingKey(key), value) for key, value in output.items()], list(output.keys())


pytree.register_dataclass(Result)
pytree.register_pytree_node(
    Output,
    lambda o: (list(o.values()), list(o.keys())),
    lambda values, keys: Output(zip(keys, values, strict=True)),
    flatten_with_keys_fn=with_keys,
    serialized_type_name="tests.test_call.Output",
)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 6)


class TakesDict(Layer):
    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return self.fc(batch["x"]) * batch["scale"]


class TakesTuple(Layer):
    def forward(self, pair: tuple[Tensor, Tensor], factor: float = 2.0) -> Tensor:
        return self.fc(pair[0]) + pair[1] * factor


class TakesNone(Layer):
    def forward(self, x: Tensor, mask: Tensor | None = None, *, double: bool = False) -> Tensor:
        x = self.fc(x)
        x = x if mask is None else x * mask
        return x * 2 if double else x


class GivesDict(Layer):
    def forward(self, x: Tensor) -> dict[str, Any]:
        return {"logits": self.fc(x), "nothing": None, "parts": [x + self.fc.bias, {"twice": x * self.fc.bias}]}


class GivesTuple(Layer):
    def forward(self, x: Tensor) -> Found:
        return Found(self.fc(x), None)


class GivesDataclass(Layer):
    def forward(self, x: Tensor) -> Result:
        return Result(logits=self.fc(x))


class GivesOutput(Layer):
    def forward(self, x: Tensor) -> Output:
        return Output(logits=self.fc(x), hidden=x * self.fc.bias)


class GivesNumber(Layer):
    def forward(self, x: Tensor) -> tuple[Tensor, int, str]:
        return self.fc(x), 3, "name"


def rows(count: int) -> Tensor:
    return torch.randn(count, 6)


CASES: dict[str, tuple[type[nn.Module], Any]] = {
    "dict in": (TakesDict, lambda n: ({"x": rows(n), "scale": rows(n)},)),
    "tuple and number in": (TakesTuple, lambda n: ((rows(n), rows(n)), 3.0)),
    "default number": (TakesTuple, lambda n: ((rows(n), rows(n)),)),
    "optional left out": (TakesNone, lambda n: (rows(n),)),
    "optional None": (TakesNone, lambda n: (rows(n), None)),
    "optional given": (TakesNone, lambda n: (rows(n), rows(n))),
    "by name": (TakesNone, lambda n: {"x": rows(n), "double": True}),
    "dict out": (GivesDict, lambda n: (rows(n),)),
    "NamedTuple with None out": (GivesTuple, lambda n: (rows(n),)),
    "dataclass out": (GivesDataclass, lambda n: (rows(n),)),
    "ModelOutput out": (GivesOutput, lambda n: (rows(n),)),
    "number and text out": (GivesNumber, lambda n: (rows(n),)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_structure_that_stays(case: str) -> None:
    make, draw = CASES[case]
    torch.manual_seed(0)
    check(make(), draw(4), draw(5))
