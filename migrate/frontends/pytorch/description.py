"""Facts of a PyTorch model, and what is odd about it."""

from __future__ import annotations

from collections import Counter

from migrate.frontends.pytorch.nodes import short_name
from migrate.frontends.pytorch.program import Program
from migrate.graph.description import Description


def describe_program(program: Program) -> Description:
    """Operator counts and oddities."""
    import torch

    nodes = [n for n in program.evaluation.graph.nodes if n.op == "call_function" and hasattr(n.target, "_schema")]
    counts = Counter(short_name(node) for node in nodes if not short_name(node).startswith(("sym_", "_assert")))
    return Description(
        format="PyTorch",
        producer=f"torch {torch.__version__}",
        operators=dict(sorted(counts.items())),
        oddities=tuple(_oddities(program)),
    )


def _oddities(program: Program) -> list[str]:
    found: list[str] = []
    if program.training is None:
        found.append("one form only: layers that are off in it are taken to follow the mode")
    if program.declared_batch > 1:
        found.append(f"the batch was fixed at {program.declared_batch} at export")
    ties = [fact for fact in program.state if fact.tied_to]
    found += [f"{fact.key!r} is tied to {fact.tied_to!r}" for fact in ties]
    frozen = sum(fact.kind == "parameter" and not fact.requires_grad for fact in program.state)
    if frozen:
        found.append(f"{frozen} parameters take no gradient")
    return found
