from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from migrate.opmap import audit_package, load_target
from migrate.opmap.shapes import convolution, convolution_backward, gru_cell, gru_cell_backward

GRU = """
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 16)
        self.gru = nn.GRU(16, 24, batch_first=True)
        self.head = nn.Linear(24, 8)

    def forward(self, tokens):
        x = self.gru(self.embed(tokens))[0]
        return self.head(x.cummax(1).values)
"""


def test_the_gradients_of_a_gru_cell_have_the_shapes_of_its_arguments():
    gates, hx = torch.empty(2, 12, device="meta"), torch.empty(2, 4, device="meta")
    hy, workspace = gru_cell(gates, gates, hx)
    assert (hy.shape, workspace.shape) == (hx.shape, (2, 20))
    shapes = [grad.shape if grad is not None else None for grad in gru_cell_backward(hy, workspace, True)]
    assert shapes == [gates.shape, gates.shape, hx.shape, (12,), (12,)]
    assert gru_cell_backward(hy, workspace, False)[3:] == (None, None)


@pytest.mark.parametrize("transposed", [False, True])
def test_the_gradients_of_a_convolution_have_the_shapes_of_its_arguments(transposed: bool):
    x, weight = torch.empty(2, 4, 6, 6, device="meta"), torch.empty(4, 2, 3, 3, device="meta")
    rest: Any = ([1, 1], [1, 1], [1, 1], transposed, [0, 0], 2)
    y = convolution(x, weight, None, *rest)
    grads = convolution_backward(y, x, weight, *rest, [True, True, True])
    assert [grad.shape if grad is not None else None for grad in grads] == [x.shape, weight.shape, (y.shape[1],)]


def test_a_gru_is_traced_with_its_fused_cell(package: Callable[..., Path]):
    audit = audit_package(package("gru", GRU), "gru", load_target("vendor_a"), batch=3)
    counts = {row.operator: (row.state, row.count, row.modules) for row in audit.rows}
    assert counts["_thnn_fused_gru_cell"] == ("native", 6, ("gru",))
    assert counts["_thnn_fused_gru_cell_backward"] == ("native", 6, ("gru",))
    assert counts["_cummax_helper"][0] == "native"
    assert audit.trains
