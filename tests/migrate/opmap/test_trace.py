from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from migrate.errors import Exit, MigrateError
from migrate.opmap import Trace, load_target, trace_package
from migrate.opmap.audit import audit_trace, recomputed_rows

Traced = Callable[..., Trace]

CNN_PARAMETERS = 4 * (16 * 3 * 9 + 16 + 2 * (16 * 16 * 9 + 2 * 16) + 16 * 10 + 10)

FAILS = """
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 16)
        self.head = nn.Linear(8, 8)

    def forward(self, tokens):
        return self.head(self.embed(tokens))
"""

BLOCKS = """
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 16))

    def forward(self, x):
        return x + self.mlp(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(64, 16), nn.Linear(16, 8)
        self.blocks = nn.ModuleList(Block() for _ in range(4))

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)
"""


def calls(trace: Trace, operator: str, **fields: str) -> dict[str, int]:
    """Calls of an operator by module."""
    found: dict[str, int] = {}
    for row in trace.rows:
        if row.operator == operator and all(getattr(row, name) == value for name, value in fields.items()):
            found[row.module] = found.get(row.module, 0) + row.count
    return found


def test_a_cnn_runs_convolutions_and_norms_natively_in_their_modules(traced: Traced):
    trace = traced("cnn")
    convs = {"stem": 1, "blocks.0.conv": 1, "blocks.1.conv": 1}
    assert calls(trace, "convolution", state="native", phase="forward") == convs
    assert calls(trace, "convolution_backward", state="native", phase="backward") == convs
    norms = {"blocks.0.norm": 1, "blocks.1.norm": 1}
    assert calls(trace, "native_batch_norm", state="native", phase="forward") == norms
    assert calls(trace, "native_batch_norm_backward", phase="backward") == norms
    assert calls(trace, "native_dropout", phase="forward") == {"dropout": 1}
    assert calls(trace, "nll_loss_forward", phase="loss") == {"": 1}


def test_flops_and_bytes_of_a_convolution(traced: Traced):
    row = next(row for row in traced("cnn").rows if row.operator == "convolution" and row.module == "stem")
    out = 3 * 16 * 14 * 14
    assert row.flops == 2 * out * 3 * 9
    assert row.bytes == 4 * (3 * 3 * 16 * 16 + 16 * 3 * 9 + 16 + out)
    assert (row.dtype, row.shapes) == ("float32", "3x3x16x16 16x3x3x3 16")


def test_memory_of_a_step(traced: Traced):
    memory = traced("cnn").memory
    assert memory.parameters == memory.gradients == CNN_PARAMETERS
    assert memory.optimizer_state == 2 * CNN_PARAMETERS
    assert memory.buffers == 2 * (2 * 16 * 4 + 8)
    # Saved at least: the input of every convolution and norm.
    assert memory.saved_activations >= 4 * 3 * (3 * 16 * 16 + 4 * 16 * 14 * 14)
    assert memory.peak >= memory.parameters + memory.gradients + memory.saved_activations // 2


def test_a_transformer_is_traced_as_an_accelerator_gets_it(traced: Traced):
    trace = traced("gpt")
    assert calls(trace, "_safe_softmax", state="native") == {"blocks.0": 1, "blocks.1": 1}
    assert set(calls(trace, "native_layer_norm_backward")) == {
        f"blocks.{i}.{norm}" for i in (0, 1) for norm in ("norm1", "norm2")
    }
    assert calls(trace, "embedding", state="composed") == {"embed": 1}
    assert calls(trace, "index_select", state="native") == {"embed": 1}
    # CPU kernels must not show: fakes on the CPU would give them.
    assert not any("for_cpu" in row.operator or "mkldnn" in row.operator for row in trace.rows)


def test_an_lstm_runs_the_fused_cell(traced: Traced):
    trace = traced("lstm")
    steps, layers, directions = 6, 2, 2
    cells = {"lstm": steps * layers * directions}
    assert calls(trace, "_thnn_fused_lstm_cell", state="native", phase="forward") == cells
    assert calls(trace, "_thnn_fused_lstm_cell_backward_impl", state="native", phase="backward") == cells


def test_foreach_operators_are_expanded_where_the_table_lacks_them(traced: Traced):
    composed = next(row for row in traced("cnn").rows if row.operator == "_foreach_addcdiv_.ScalarList")
    assert (composed.state, composed.parts) == ("composed", ("addcdiv_",))
    assert sum(calls(traced("cnn"), "addcdiv_", phase="optimizer").values()) == 10


def test_a_step_that_fails_names_the_module(package: Callable[..., Path]):
    with pytest.raises(
        MigrateError, match=r"MIG404.*in forward: RuntimeError at head .*\[18, 16\] X \[8, 8\]"
    ) as caught:
        trace_package(package("fails", FAILS), "fails", load_target("vendor_a"), batch=3, precision="fp32")
    assert caught.value.status == Exit.UNSUPPORTED


def test_a_package_that_is_not_there_is_a_diagnostic(tmp_path: Path):
    with pytest.raises(MigrateError, match=r"MIG404.*construction: ModuleNotFoundError"):
        trace_package(tmp_path, "nothing", load_target("cpu"), batch=1, precision="fp32")


def test_a_trace_that_takes_too_long_is_a_diagnostic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("migrate.opmap.trace.TIMEOUT_SECONDS", 0.01)
    with pytest.raises(MigrateError, match=r"took more than 0\.01 seconds"):
        trace_package(tmp_path, "nothing", load_target("cpu"), batch=1, precision="fp32")


def test_the_step_is_traced_with_recomputed_blocks_as_well(package: Callable[..., Path]):
    folder = package("blocks", BLOCKS)
    (folder / "blocks" / "runtime").symlink_to(Path(__file__).parents[3] / "runtime")
    target = load_target("vendor_a")
    trace = trace_package(folder, "blocks", target, batch=32, precision="fp32")
    again = trace.recomputed
    assert again is not None
    assert again.blocks == tuple(f"blocks.{number}" for number in range(4))
    hidden = 32 * 6 * 64 * 4
    # beside its input a block saves the hidden layer, that layer dropped out, and a byte for each number that dropout kept
    inside = 4 * (2 * hidden + hidden // 4)
    assert trace.memory.saved_activations - again.saved_activations == inside
    assert inside / 3 < trace.memory.peak - again.peak < inside  # one block of four is there while it runs again
    assert sum(calls(trace, "addmm", phase="forward").values()) == 2 * 4 + 1
    twice = sum(row.count for row in recomputed_rows(trace) if row.operator == "addmm")
    assert twice == 2 * 4
    audit = audit_trace(trace, target)
    assert 0 < audit.recompute_seconds < audit.cost.phases["forward"]


REPEATS = """
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.norm = nn.Embedding(64, 8), nn.InstanceNorm1d(8, affine=True)

    def forward(self, tokens):
        return self.norm(self.embed(tokens).mT).mT
"""


def test_a_kernel_that_reads_memory_is_the_devices_own_at_every_call(package: Callable[..., Path]):
    """InstanceNorm repeats its scale and its bias, by a kernel that fakes cannot run and every device has."""
    trace = trace_package(package("repeats", REPEATS), "repeats", load_target("cpu"), batch=3, precision="fp32")
    assert {row.state for row in trace.rows if row.operator == "repeat"} == {"composed"}
    assert calls(trace, "repeat", phase="forward") == {"norm": 2}
    assert audit_trace(trace, load_target("cpu")).trains


def test_without_repeated_blocks_nothing_is_recomputed(traced: Traced):
    assert traced("lstm").recomputed is None
