"""What of a graph is refused before it is read, and which attributes a handler need not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from migrate.errors import Diagnostic, Exit, MigrateError, error
from migrate.frontends.tensorflow.registry import Entry, Unsupported, find
from migrate.frontends.tensorflow.tensors import HALF, dims_of, type_name

# Numbers of inputs, hints to the engine, and what matters only where a gradient is taken in TensorFlow.
PASSIVE = frozenset({
    "N", "num", "n", "container", "shared_name", "debug_name", "allowed_devices", "use_cudnn_on_gpu", "grad_a", "grad_b",
    "parallel_iterations", "swap_memory", "validate_indices", "incompatible_shape_error", "Tin", "Tout", "config",
    "config_proto", "executor_type", "message", "seed", "seed2", "validate_shape", "use_locking", "output_shapes", "shape",
    "is_stateless", "dtypes",
})  # fmt: skip
# Fields of operators that no package can have, with what may be done instead.
REFUSED = {
    "a lookup table": ("HashTable", "LookupTable", "MutableHashTable", "MutableDenseHashTable", "InitializeTable"),
    "text": ("String", "Regex", "Unicode", "Substr", "AsString", "DecodeBase64", "Tokenize", "StaticRegex", "SentencepieceOp",
             "WordpieceTokenize", "ParseExample", "DecodeCSV", "DecodeJSON"),
    "reading files": ("ReadFile", "DecodeJpeg", "DecodePng", "DecodeImage", "DecodeWav", "DecodeRaw", "Iterator", "Dataset"),
    "Python code": ("PyFunc", "EagerPyFunc"),
    "a loop of TensorFlow 1": ("NextIteration", "Enter", "Exit", "LoopCond"),
    "a tree": ("DecisionForest", "SimpleMLInference", "BoostedTrees"),
}  # fmt: skip
TODO = "export the part of the model behind it: a function of tensors of numbers"


def refused_for(op: str) -> str:
    """Why no package can have an operator; empty where it is only not read."""
    for what, words in REFUSED.items():
        if any(word in op for word in words):
            return what
    return ""


def unsupported_ops(nodes: Sequence[Any]) -> None:
    """Refuse operators that nothing reads, all at once.

    Raises:
        MigrateError: exit status 4, MIG201.
    """
    places: dict[str, list[str]] = {}
    for node in nodes:
        if find(node.op) is None:
            places.setdefault(node.op, []).append(node.name)
    if places:
        raise MigrateError([_refused(op, names) for op, names in sorted(places.items())], Exit.UNSUPPORTED)


def _refused(op: str, names: list[str]) -> Diagnostic:
    what = refused_for(op)
    where = f"{names[0]}" + (f" and {len(names) - 1} more" if len(names) > 1 else "")
    why = f"{what} has no gradient and no place in a package" if what else ""
    return error("MIG201", f"the operator {op} is not supported", where=where, why=why, todo=TODO if what else "")


def plain(attribute: Any) -> Any:
    """An attribute as a plain Python value: types by name, strings decoded, functions by name."""
    kind = attribute.WhichOneof("value")
    found: Any = getattr(attribute, kind) if kind else None
    match kind:
        case "s":
            return found.decode("utf-8", "replace")
        case "f":
            import numpy as np

            return float(str(np.float32(found)))
        case "type":
            return HALF.get(type_name(found), type_name(found))
        case "shape":
            return dims_of(found)
        case "func":
            return found.name
        case "list":
            return _plain_list(found)
        case _:
            return found


def _plain_list(found: Any) -> tuple[Any, ...]:
    if found.s:
        return tuple(item.decode("utf-8", "replace") for item in found.s)
    if found.type:
        return tuple(type_name(item) for item in found.type)
    return tuple(found.i) or tuple(found.f) or tuple(found.b) or tuple(dims_of(item) for item in found.shape)


def bind(entry: Entry, node: Any) -> dict[str, Any]:
    """The attributes of a node that the handler takes.

    Raises:
        Unsupported: one is set that the handler does not know.
    """
    taken: dict[str, Any] = {}
    for name, attribute in node.attr.items():
        if name in entry.options:
            taken[name] = plain(attribute)
        elif not name.startswith("_") and name not in PASSIVE and not _is_type(attribute):
            value = plain(attribute)
            if value not in (None, False, 0, "", (), "NHWC", "NDHWC"):
                raise Unsupported(f"{name} = {value!r}")
    return taken


def _is_type(attribute: Any) -> bool:
    """Whether it says of which types the inputs are, which they say themselves."""
    return attribute.WhichOneof("value") == "type" or bool(attribute.list.type)
