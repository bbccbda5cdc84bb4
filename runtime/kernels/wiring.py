"""Names and definitions of operators in `torch.library`. Knows no kernel."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch

_alive: list[torch.library.Library] = []


def op_name(kernel: str) -> str:
    """A name that no operator has yet: several packages, each with its own runtime, may live in one process."""
    namespace = (__package__ or "kernels").replace(".", "_")
    taken = getattr(torch.ops, namespace)
    names = (f"{kernel}_{number}" if number else kernel for number in itertools.count())
    return f"{namespace}::{next(name for name in names if not hasattr(taken, name))}"


def define_mutating(kernel: str, arguments: str, run: Callable[..., None]) -> Callable[..., None]:
    """An operator that changes arguments and returns nothing, e.g. `(Tensor(a!)[] params, Tensor[] grads)`.

    `torch.library.custom_op` would do, but its Python layers cost as much as the step itself for lists of hundreds of
    tensors (1.3 ms for 5 lists of 200). `run` must raise the version counters itself
    (`torch.autograd.graph.increment_version`).
    """
    namespace, name = op_name(kernel).split("::")
    library = torch.library.Library(namespace, "FRAGMENT")
    library.define(f"{name}{arguments} -> ()")
    library.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{namespace}::{name}", lambda *_: None, lib=library)
    _alive.append(library)
    return getattr(getattr(torch.ops, namespace), name).default
