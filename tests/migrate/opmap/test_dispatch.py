from __future__ import annotations

import torch

from migrate.opmap.dispatch import compute_dtype, has_shape_rule, operator_name, touched_bytes

aten = torch.ops.aten


def test_operators_are_named_as_in_the_architecture():
    assert operator_name(aten.relu.default) == "relu"
    assert operator_name(aten.add.Tensor) == "add.Tensor"
    assert operator_name(torch.ops.prims.sin.default) == "prims::sin"


def test_an_expanded_dimension_is_read_once():
    assert touched_bytes(torch.empty(3, 4)) == 48
    assert touched_bytes(torch.empty(3, 1).expand(3, 4)) == 12
    assert touched_bytes(torch.empty(0, 4)) == 0
    assert touched_bytes(torch.empty(())) == 4


def test_a_kernel_computes_in_the_dtype_of_its_first_floating_input():
    index, half, single = torch.empty(2, dtype=torch.int64), torch.empty(2, dtype=torch.float16), torch.empty(2)
    assert compute_dtype([index, half], [single]) == "float16"
    assert compute_dtype([index], []) == "int64"
    assert compute_dtype([], []) == ""


def test_operators_without_a_shape_rule_are_known():
    assert has_shape_rule(aten.mm.default)
    assert has_shape_rule(aten.nonzero.default)
    assert not has_shape_rule(aten.batch_norm_stats.default)
