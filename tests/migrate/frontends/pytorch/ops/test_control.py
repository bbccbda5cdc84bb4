"""Operators that take graphs: outputs, gradients and names of the state against the source module."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

from migrate.codegen import to_module
from migrate.frontends.pytorch import export_module, load_pytorch
from migrate.graph.passes import run_passes


class Cond(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4, bias=False)

    def forward(self, x: Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: self.left(x).relu(), lambda x: self.right(x), (x,))


class Scan(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Any:
        def step(h: Tensor, part: Tensor) -> tuple[Tensor, Tensor]:
            h = torch.tanh(self.cell(h) + part)
            return h, h.clone()

        return scan(step, x[:, 0].clone(), x, dim=1)


class While(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Any:
        def go(i: Tensor, x: Tensor) -> Tensor:
            return i < 3

        def body(i: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
            return i + 1, self.layer(x)

        return while_loop(go, body, (torch.tensor(0), x))[1]


class Map(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Any:
        return torch_map(lambda part: self.layer(part), x) + x


def results(module: nn.Module, x: Tensor) -> tuple[list[Tensor], dict[str, Tensor]]:
    """Outputs, and the gradient of their sum by each parameter that takes part."""
    made = module(x)
    outputs = list(made) if isinstance(made, tuple) else [made]
    sum(o.square().sum() for o in outputs).backward()  # pyright: ignore[reportAttributeAccessIssue]
    found = {name: p.grad for name, p in module.named_parameters() if p.grad is not None}
    module.zero_grad(set_to_none=True)
    return [o.detach() for o in outputs], found


@pytest.mark.parametrize(("kind", "shape"), [(Cond, (3, 4)), (Scan, (3, 5, 4)), (While, (3, 4)), (Map, (3, 4))])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_control_flow_computes_and_learns_as_the_source(kind: Any, shape: tuple[int, ...], sign: float) -> None:
    torch.manual_seed(0)
    source, x = kind().eval(), torch.rand(shape) * sign
    graph = load_pytorch(export_module(source, (x,)))
    run_passes(graph)
    emitted = to_module(graph)
    assert list(emitted.state_dict()) and emitted.state_dict().keys() == source.state_dict().keys()
    source.load_state_dict(emitted.state_dict(), strict=True)
    (outputs, gradients), (wanted, expected) = results(emitted, x), results(source, x)
    for got, want in zip(outputs, wanted, strict=True):
        torch.testing.assert_close(got, want)
    if kind is While:  # torch's own loop gives no gradient
        assert gradients.keys() == dict(source.named_parameters()).keys()
        return
    for name, want in expected.items():  # torch gives zeros where we give nothing: in the branch that is not taken
        torch.testing.assert_close(gradients.get(name, torch.zeros_like(want)), want)
