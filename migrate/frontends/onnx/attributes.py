"""Attributes of a kind that the operator's schema does not have: a broken file. Knows the schemas of the `onnx` package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import onnx
import onnx_ir as ir


@cache
def kinds_of(op_type: str, domain: str, version: int) -> dict[str, int]:
    """The kind of each attribute by its number in the format; empty where the package has no such operator."""
    if not isinstance(op_type, str) or not isinstance(domain, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        return {}  # bytes that are no text, which is a fault of its own
    try:
        schema = onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        return {}
    return {name: int(getattr(attribute.type, "value", 0)) for name, attribute in schema.attributes.items()}


def attribute_faults(model: ir.Model, nodes: Iterable[ir.Node]) -> Iterator[str]:
    """A sentence for each attribute that is not of its schema's kind."""
    for node in nodes:
        domain = "" if node.domain == "ai.onnx" else node.domain
        version = model.opset_imports.get(domain) or model.opset_imports.get(domain or "ai.onnx", 1)
        kinds = kinds_of(node.op_type, domain, version or 1)
        for name, attribute in node.attributes.items():
            wanted = kinds.get(name, attribute.type.value)
            if attribute.type.value != wanted:
                where = node.name or node.op_type
                asked = ir.AttributeType(wanted).name
                yield f"attribute {name!r} of {where!r} is of the kind {attribute.type.name} and not {asked}"
