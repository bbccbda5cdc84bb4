"""What runs widened is rounded nowhere."""

from __future__ import annotations

import torch
from torch import nn

from runtime.verify.double import double, double_copy, widened


def test_inside_everything_is_float64_and_outside_nothing_changed() -> None:
    before = torch.get_default_dtype()
    with widened():
        assert torch.ones(2).dtype == torch.float64
        assert torch.ones(2, dtype=torch.float16).dtype == torch.float64
        assert (torch.ones(2, dtype=torch.float64).float() * (1 + 1e-12) != 1).all()
    assert torch.get_default_dtype() == before and torch.ones(2).dtype == before


def test_a_copy_leaves_the_module_alone() -> None:
    module = nn.BatchNorm1d(2).train()
    copied = double_copy(module)
    assert copied.weight.dtype == torch.float64 and not copied.training
    assert module.weight.dtype == torch.float32 and module.training
    assert copied.num_batches_tracked.dtype == torch.int64


def test_whole_numbers_stay() -> None:
    assert (
        double(torch.ones(1)).dtype == torch.float64 and double(torch.ones(1, dtype=torch.int32)).dtype == torch.int32
    )
