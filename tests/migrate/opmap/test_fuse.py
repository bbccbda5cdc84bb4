from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from migrate.opmap import Trace, load_target, map_fused


def test_operators_of_the_target_and_kernels_of_the_runtime(traced: Callable[..., Trace]):
    found = {mapping.kernel: mapping for mapping in map_fused(traced("gpt").rows, load_target("vendor_a"))}
    assert found["layer_norm"].provider == "target"
    assert found["layer_norm"].modules == ("blocks.0.norm1", "blocks.0.norm2", "blocks.1.norm1", "blocks.1.norm2")
    assert (found["sdpa"].provider, found["sdpa"].modules) == ("runtime", ("blocks.0", "blocks.1"))
    assert found["linear_cross_entropy"].modules == ("",)
    assert not {"swiglu", "rms_norm", "lstm_cell"} & found.keys()


def test_a_pattern_needs_all_its_operators_in_one_module(traced: Callable[..., Trace]):
    rows = [row for row in traced("gpt").rows if row.operator != "bmm" or row.module != "blocks.0"]
    found = {mapping.kernel: mapping for mapping in map_fused(rows, load_target("vendor_a"))}
    assert found["sdpa"].modules == ("blocks.1",)


def test_a_forward_only_operator_is_shown_and_not_used(traced: Callable[..., Trace]):
    target = load_target("vendor_a")
    forward_only = replace(target, fused=tuple(replace(kernel, backward=False) for kernel in target.fused))
    found = [mapping for mapping in map_fused(traced("gpt").rows, forward_only) if mapping.kernel == "layer_norm"]
    assert [(mapping.provider, mapping.backward) for mapping in found] == [("target", False), ("runtime", True)]
    assert found[0].note == "forward only: not used"
