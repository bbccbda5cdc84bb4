"""Mixed precision as the device would run it: which operators compute in which dtype, and the scaler."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from migrate.opmap import Trace

Traced = Callable[..., Trace]


def test_mixed_precision_casts_by_operator(traced: Traced):
    trace = traced("gpt", "vendor_b", "bf16")
    dtypes = {row.operator: row.dtype for row in trace.rows if row.phase in ("forward", "loss")}
    assert {dtypes[name] for name in ("addmm", "mm")} == {"bfloat16"}
    # Attention in parts computes in float32 also in mixed precision: a device without a kernel of its own gets that.
    assert {dtypes[name] for name in ("_log_softmax", "native_layer_norm", "bmm")} == {"float32"}
    assert trace.memory.parameters == traced("gpt").memory.parameters
    # The weights of two linear layers of two blocks, each cast once.
    weights = [row for row in trace.rows if row.operator == "_to_copy" and row.shapes in ("96x32", "32x128")]
    assert sum(row.count for row in weights if row.phase == "forward") == 4


@pytest.mark.slow
def test_half_precision_includes_the_scaler(traced: Traced):
    operators = {row.operator: row for row in traced("cnn", "vendor_a", "fp16").rows}
    assert operators["_amp_foreach_non_finite_check_and_unscale_"].state == "native"
    assert operators["_amp_update_scale_"].phase == "clip"
    assert operators["convolution"].dtype == "float16"
