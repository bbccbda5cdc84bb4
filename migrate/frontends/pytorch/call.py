"""Between the flat tensors of a package and the nested arguments and results of the source's own module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from migrate.frontends.pytorch.program import Program

if TYPE_CHECKING:
    from torch import Tensor


def arguments_of(program: Program, tensors: Sequence[Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, positional and by name, with which the module is called on these inputs.

    Arguments that are no tensors are those of the example with which it was exported.
    """
    from torch.utils import _pytree as pytree

    exported = program.evaluation
    given = dict(zip(program.input_names, tensors, strict=True))
    constants = {
        spec.arg.name: spec.arg.value  # pyright: ignore[reportAttributeAccessIssue]
        for spec in exported.graph_signature.input_specs
        if hasattr(spec.arg, "value")
    }
    names = [spec.arg.name for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]  # pyright: ignore[reportAttributeAccessIssue]
    leaves = [given[name] if name in given else constants.get(name) for name in names]
    args, kwargs = pytree.tree_unflatten(leaves, exported.call_spec.in_spec)  # pyright: ignore[reportArgumentType]
    return tuple(args), dict(kwargs)


def tensors_of(program: Program, result: Any) -> list[Tensor]:
    """The tensors of what the module returns, in the order of the package's outputs."""
    from torch.utils import _pytree as pytree

    leaves = pytree.tree_leaves(result)
    return [leaf for leaf, fact in zip(leaves, program.outputs, strict=True) if fact.is_tensor]
