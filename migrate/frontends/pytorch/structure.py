"""The nesting of arguments and results without the user's classes: tuples, and dicts by the names of fields."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.utils._pytree import TreeSpec


def plain(spec: TreeSpec, leaves: Iterator[Any]) -> Any:
    """The nesting, filled with these leaves; a class that does not name its fields is a tuple."""
    from torch.utils import _pytree as pytree

    if spec.is_leaf():
        return next(leaves)
    children = [plain(child, leaves) for child in spec.children()]
    known = pytree.SUPPORTED_NODES.get(spec.type)
    if spec.type in (tuple, list) or known is None or known.flatten_with_keys_fn is None:
        return tuple(children)
    pairs, _ = known.flatten_with_keys_fn(known.unflatten_fn(children, spec.context))
    return {name_of(key): child for (key, _), child in zip(pairs, children, strict=True)}


def name_of(key: Any) -> str:
    """What a step into a nesting is called: a key, an attribute or a place."""
    return str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", ""))))


def output_paths(exported: ExportedProgram) -> list[tuple[str, ...]]:
    """Where each output stands in what the module returns: `("logits",)`, `("0", "1")`; empty for a lone tensor."""
    from torch.utils import _pytree as pytree

    tree = plain(exported.call_spec.out_spec, count())  # pyright: ignore[reportArgumentType]
    return [tuple(map(name_of, path)) for path, _ in pytree.tree_flatten_with_path(tree)[0]]


def forget_classes(exported: ExportedProgram) -> None:
    """Make the nesting plain, so that another process can read the program without the user's code."""
    from torch.utils import _pytree as pytree

    for entry in exported.module_call_graph:
        if (signature := entry.signature) is not None:
            args, kwargs = plain(signature.in_spec, count())
            signature.in_spec = pytree.tree_structure((args, kwargs))
            signature.out_spec = pytree.tree_structure(plain(signature.out_spec, count()))
