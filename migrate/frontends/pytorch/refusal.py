"""Why torch refuses to export a module, in the user's terms. Exports nothing itself."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from migrate.errors import Diagnostic, error
from migrate.frontends.pytorch.places import relative_file

if TYPE_CHECKING:
    from torch import nn

_HERE = str(Path(__file__).parent / "_")[:-1]


def refused(module: nn.Module, fault: Exception, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Diagnostic:
    """MIG204 for what an export has raised.

    A module that does not run on its example inputs either has the wrong inputs; one that reads the content of a tensor in
    Python is to be rewritten at that line.
    """
    own = _fault_of_call(module, args, kwargs)
    name = type(module).__name__
    if own is not None:
        return error(
            "MIG204",
            f"{name} does not run on its example inputs",
            where=users_line(own),
            why=_first_line(own),
            todo="give inputs that its forward takes: --input NAME:2,3,64,64, --example FILE.npz, or from the factory",
        )
    return error(
        "MIG204",
        f"torch.export refuses {name}",
        where=users_line(fault),
        why=_first_line(fault),
        todo=_todo(fault),
    )


def users_line(fault: BaseException) -> str:
    """The innermost line at which it was raised that is neither torch's nor ours; "" where there is none."""
    import torch

    others = (torch.__path__[0], "<", _HERE, inspect.__file__)
    found = ""
    trace = fault.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith(others):
            found = f"{relative_file(name)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def _fault_of_call(module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Exception | None:
    import torch

    try:
        with torch.no_grad():
            module(*args, **kwargs)
    except Exception as fault:  # whatever the user's code raises
        return fault
    return None


def _first_line(fault: Exception) -> str:
    lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
    return f"{type(fault).__name__}: {lines[0]}" if lines else type(fault).__name__


def _todo(fault: Exception) -> str:
    if "flatten_with_keys_fn" in str(fault):
        return "give register_pytree_node a flatten_with_keys_fn, so that the fields of the class have names"
    if type(fault).__name__ != "GuardOnDataDependentSymNode":
        return "rewrite the line in operators of torch, which can be followed without numbers"
    if not getattr(getattr(fault, "cond", None), "is_Relational", False):  # a number is asked for, no truth
        return "no size may depend on the content of a tensor: keep the whole tensor, and mask what does not count"
    return (
        "an `if` on the content of a tensor: write torch.where(condition, a, b), or torch.cond(condition, on_true, on_false, "
        "(x,)) where only one may run"
    )
