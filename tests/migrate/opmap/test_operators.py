from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.opmap import OperatorTable, load_target, operator_sets, resolve


def table(tmp_path: Path, *names: str, **changes: tuple[str, ...]) -> OperatorTable:
    path = tmp_path / "table.tsv"
    path.write_text("# comment\n" + "".join(f"{name}\n" for name in names))
    return OperatorTable(table=path, **changes)


def test_a_kernel_covers_what_delegates_to_it(tmp_path: Path):
    sets = operator_sets(table(tmp_path, "add.out"))
    assert sets.native == {"add.out", "add.Tensor", "add_.Tensor"}


def test_views_need_no_kernel_even_where_one_is_listed(tmp_path: Path):
    sets = operator_sets(table(tmp_path, "view", "add.out"))
    assert {"view", "detach", "t", "expand", "split.Tensor", "_unsafe_view"} <= sets.metadata
    assert not sets.metadata & sets.native


def test_a_listed_composite_is_native_and_the_others_are_composite(tmp_path: Path):
    sets = operator_sets(table(tmp_path, "zeros_like"))
    assert "zeros_like" in sets.native and "zeros_like" not in sets.composite
    assert {"empty_like", "embedding", "select_backward"} <= sets.composite
    assert not sets.composite & sets.native


def test_without_and_plus_change_a_table(tmp_path: Path):
    sets = operator_sets(table(tmp_path, "add.out", "relu", without=("add_.Tensor",), plus=("gelu.out", "mine::op")))
    assert sets.native == {"add.out", "add.Tensor", "relu", "gelu.out", "gelu", "gelu_", "mine::op"}


def test_a_name_that_torch_does_not_know_is_refused(tmp_path: Path):
    with pytest.raises(MigrateError, match=r"MIG417.*no_such_operator"):
        operator_sets(table(tmp_path, "add.out", without=("no_such_operator",)))


def test_a_table_that_vanished_is_refused(tmp_path: Path):
    with pytest.raises(MigrateError, match=r"MIG416.*gone"):
        operator_sets(OperatorTable(table=tmp_path / "gone.tsv"))


def test_vendor_a_has_what_all_three_lists_cover_by_family():
    sets = operator_sets(load_target("vendor_a").operators)
    # One vendor lists _convolution, another convolution_overrideable; attention is listed under three names.
    assert {"convolution", "convolution_backward", "_safe_softmax", "_thnn_fused_lstm_cell", "copy_"} <= sets.native
    assert {"native_batch_norm", "native_layer_norm_backward", "addmm", "upsample_nearest2d"} <= sets.native
    # Only two of three lists have these.
    assert not {"isneginf", "_fused_adamw_", "mish", "grid_sampler_3d"} & sets.native


def test_vendor_b_is_cuda_less_its_list():
    target = load_target("vendor_b")
    sets = operator_sets(target.operators)
    cuda = operator_sets(replace(target.operators, without=()))
    assert cuda.native - sets.native == set(target.operators.without)
    assert {"_fused_adamw_", "add.Tensor", "copy_", "_foreach_addcdiv_.ScalarList"} <= sets.native


def test_the_resolved_profile_is_the_document_of_the_architecture():
    document = resolve(load_target("vendor_a"))
    assert document["device"] == {"type": "vendora", "module": None, "process_group": "gloo"}
    assert document["dtypes"]["float32"] == {"peak_flops": 88.5e12}
    assert document["memory"] == {"bytes": 64 * 2**30, "bandwidth": 1.6e12}
    assert document["links"]["host"] == {"bandwidth": 31e9, "latency_seconds": 10e-6}
    operators = document["operators"]
    assert set(operators) == {"native", "metadata", "composite"}
    assert all(names == sorted(set(names)) for names in operators.values())
