"""Whole models: outputs, gradients and running statistics in both modes, and a state with equal keys."""

from __future__ import annotations

import pytest
import torch

from tests.migrate.frontends.pytorch.models import CASES
from tests.migrate.frontends.pytorch.parity import check


@pytest.mark.parametrize("name", CASES)
def test_a_model_is_the_same_in_both_modes(name: str) -> None:
    make, example, other = CASES[name]
    torch.manual_seed(0)
    check(make(), example, other)
