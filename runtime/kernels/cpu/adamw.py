"""AdamW in C for float32: all tensors in one pass and one parallel region, one division less than PyTorch's own."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.autograd.graph import increment_version

from ..registry import REFERENCE
from ..wiring import define_mutating
from ._compile import library

C_SOURCE = Path(__file__).with_suffix(".c")
SOURCES = (C_SOURCE, Path(__file__).with_name("_compile.py"))

TENSOR = np.dtype(
    [
        ("param", np.uint64),
        ("grad", np.uint64),
        ("exp_avg", np.uint64),
        ("exp_avg_sq", np.uint64),
        ("size", np.int64),
        ("first_block", np.int64),
        ("keep", np.float32),
        ("step_size", np.float32),
        ("root_scale", np.float32),
    ],
    align=True,
)


def unavailable(device: torch.device) -> str | None:
    """Why C code cannot run: no compiler, or a structure laid out otherwise than `TENSOR`."""
    try:
        size = library(C_SOURCE).adamw_tensor_bytes()
    except OSError as error:
        return str(error)
    return None if size == TENSOR.itemsize else f"tensor_t has {size} bytes, expected {TENSOR.itemsize}"


def _suits(*lists: list[Tensor]) -> bool:
    return all(t.dtype == torch.float32 and t.is_contiguous() for ts in lists for t in ts)


def _table(
    lists: tuple[list[Tensor], ...], steps: list[Tensor], lr: float, beta1: float, beta2: float, decay: float
) -> tuple[np.ndarray, int]:
    """The tensors as C sees them, and the number of blocks."""
    block = library(C_SOURCE).adamw_block()
    table = np.zeros(len(steps), TENSOR)
    for name, tensors in zip(("param", "grad", "exp_avg", "exp_avg_sq"), lists, strict=True):
        table[name] = [t.data_ptr() for t in tensors]
    table["size"] = [t.numel() for t in lists[0]]
    blocks = -(-table["size"] // block)
    table["first_block"] = np.cumsum(blocks) - blocks
    done = np.array([t.item() for t in steps], np.float64)
    table["keep"] = 1 - lr * decay
    table["step_size"] = lr / (1 - beta1**done)
    table["root_scale"] = 1 / np.sqrt(1 - beta2**done)
    return table, int(blocks.sum())


def _step(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    steps: list[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
) -> None:
    """The step in C; contiguous float32 only."""
    torch._foreach_add_(steps, 1)
    lists = (params, grads, exp_avgs, exp_avg_sqs)
    table, blocks = _table(lists, steps, lr, beta1, beta2, weight_decay)
    library(C_SOURCE).adamw_step(
        ctypes.c_void_p(table.ctypes.data),
        ctypes.c_int64(len(steps)),
        ctypes.c_int64(blocks),
        ctypes.c_float(beta1),
        ctypes.c_float(beta2),
        ctypes.c_float(eps),
        ctypes.c_int(torch.get_num_threads()),
    )
    increment_version((*params, *exp_avgs, *exp_avg_sqs))


adamw_step = define_mutating(
    "adamw",
    "(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] exp_avgs, Tensor(c!)[] exp_avg_sqs, Tensor(d!)[] steps,"
    " float lr, float beta1, float beta2, float eps, float weight_decay)",
    _step,
)


def adamw(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    steps: list[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
) -> None:
    """See `kernels.adamw`; other dtypes and strided tensors go to the reference."""
    lists = (params, grads, exp_avgs, exp_avg_sqs)
    run = adamw_step if _suits(*lists) else REFERENCE["adamw"]
    run(*lists, steps, lr, beta1, beta2, eps, weight_decay)
