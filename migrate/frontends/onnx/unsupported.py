"""What of a model no handler takes: found before anything is imported, and listed at once. Knows the registry only."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from migrate.errors import Diagnostic, error
from migrate.frontends.onnx.lift import place
from migrate.frontends.onnx.refusals import REASONS
from migrate.frontends.onnx.registry import Entry, find, parameters_of


def nodes_of(graph: ir.Graph) -> Iterator[ir.Node]:
    """Every node, each before those of the graphs inside it."""
    for node in graph:
        yield node
        for attribute in node.attributes.values():
            if attribute.type is ir.AttributeType.GRAPH:
                yield from nodes_of(attribute.value)


def entry_for(model: ir.Model, node: ir.Node) -> Entry | None:
    """The handler for a node at the model's opset."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    opset = model.opset_imports.get(domain) or model.opset_imports.get(domain or "ai.onnx", 1)
    return find(node.op_type, domain, opset)


def unsupported_nodes(model: ir.Model) -> list[Diagnostic]:
    """Every node that no handler takes, and every attribute or input that its handler does not know."""
    found: list[Diagnostic] = []
    for node in nodes_of(model.graph):
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            continue
        entry = entry_for(model, node)
        kind = f"{node.domain}::{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type
        if entry is None:
            why = REASONS.get(kind, "")
            found.append(error("MIG201", f"operator {kind} is not supported", where=place(node), why=why))
        elif unknown := set(node.attributes) - entry.attributes:
            what = f"attribute {', '.join(sorted(unknown))} of {kind} is not supported"
            found.append(error("MIG202", what, where=place(node)))
        elif what := unbound(entry, node):
            found.append(error("MIG202", f"{kind} {what}", where=place(node)))
    return found


def unbound(entry: Entry, node: ir.Node) -> str:
    """What hinders the node's inputs and attributes from being the handler's parameters; empty where nothing does."""
    _, *parameters = parameters_of(entry.handler)
    inputs = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    many = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if len(node.inputs) > len(inputs) and not many:
        return f"with {len(node.inputs)} inputs is not supported"
    given = {p.name for p, value in zip(inputs, node.inputs, strict=False) if value is not None} | set(node.attributes)
    needed = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL and p.default is p.empty]
    missing = [name for name in needed if name not in given]
    return f"lacks {', '.join(missing)}" if missing else ""
