"""Operator names do not collide, and a mutating operator passes PyTorch's checks."""

import torch
from torch.autograd.graph import increment_version
from torch.library import opcheck

from runtime.kernels.wiring import define_mutating, op_name


def run(values, by):
    for value in values:
        value.data.mul_(by)
    increment_version(values)


def test_two_copies_have_two_operators():
    first = define_mutating("wiring_test", "(Tensor(a!)[] values, float by)", run)
    assert op_name("wiring_test") == "runtime_kernels::wiring_test_1"
    second = define_mutating("wiring_test", "(Tensor(a!)[] values, float by)", run)
    assert first.name() != second.name()
    opcheck(second, ([torch.ones(2), torch.ones(3)], 2.0))
