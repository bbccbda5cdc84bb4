from __future__ import annotations

import torch

from migrate.opmap.values import AssumedValues, whole_indices

aten = torch.ops.aten


def test_a_branch_is_taken_first_and_then_alternates():
    assumed, flag = AssumedValues(), torch.empty((), dtype=torch.bool, device="meta")
    answers = [assumed.result(aten._local_scalar_dense.default, [flag], "block") for _ in range(3)]
    assert answers == [True, False, True]
    assert assumed.result(aten._local_scalar_dense.default, [flag], "other") is True


def test_numbers_are_one():
    assumed = AssumedValues()
    whole, real = (torch.empty((), dtype=dtype, device="meta") for dtype in (torch.int64, torch.float32))
    assert repr(assumed.result(aten._local_scalar_dense.default, [whole], "")) == "1"
    assert repr(assumed.result(aten._local_scalar_dense.default, [real], "")) == "1.0"


def test_results_of_unknown_size_have_their_largest():
    assumed, x = AssumedValues(), torch.empty(2, 3, device="meta")
    assert assumed.result(aten.nonzero.default, [x], "").shape == (6, 2)
    assert assumed.result(aten.masked_select.default, [x, x.bool()], "").shape == (6,)
    assert assumed.result(aten.index.Tensor, [x, [torch.empty(2, 3, dtype=torch.bool, device="meta")]], "").shape == (
        6,
    )


def test_other_operators_are_not_guessed():
    assert AssumedValues().result(aten.unique_dim.default, [torch.empty(2, device="meta")], "") is NotImplemented


def test_indices_that_are_no_masks_stay():
    index = torch.empty(4, dtype=torch.int64, device="meta")
    assert whole_indices(None) == [None]
    assert whole_indices(index)[0] is index
