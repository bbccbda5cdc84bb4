"""Tables of fusions: graphs in the text form, what they become, and that numbers and gradients stay what they were."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
import torch

from migrate.graph import Graph, Value, interpret
from migrate.graph.check import check
from migrate.graph.passes.fuse import NearMiss, fuse
from migrate.graph.text import parse_graph, print_graph

HEAD = "graph m\n"


def parsed(text: str, constants: dict[str, Any] | None = None) -> Graph:
    """The graph of a text; its weights are random, but for those that are given."""
    graph = parse_graph(HEAD + text)
    generator = np.random.default_rng(0)
    for value in graph.weights():
        given = (constants or {}).get(value.name)
        content = generator.normal(size=value.shape) if given is None else np.broadcast_to(given, value.shape)
        content = content.astype(value.dtype)
        value.weight = replace(value.weight, read=lambda content=content: content)
    return graph


def fused(graph: Graph, *, inferred: bool = False) -> tuple[list[str], list[NearMiss]]:
    """The calls of the graph after fusing, as `op(arguments)`, and what was left alone."""
    misses: list[NearMiss] = []
    fuse(graph, inferred=inferred, misses=misses)
    check(graph)
    lines = [line for line in print_graph(graph).splitlines() if " = " in line]
    return [line.partition(" = ")[2] for line in lines], misses


def drawn(value: Value, scale: float) -> torch.Tensor:
    """Random content by the value's name, at a batch of 4; floats ask for a gradient."""
    generator = torch.Generator().manual_seed(crc32(value.name.encode()))
    shape = [size if isinstance(size, int) else 4 for size in value.shape]
    dtype = getattr(torch, value.dtype)
    if not value.is_float:
        return torch.randint(0, 2, shape, generator=generator).to(dtype)
    return (torch.randn(shape, generator=generator) * scale).to(dtype).requires_grad_()


def results(graph: Graph, scale: float, constants: Collection[str]) -> dict[str, torch.Tensor]:
    """The outputs, and the gradients of all float inputs and of all parameters but the constants, by name."""
    parameters = [v for v in graph.weights() if v.weight.role == "parameter" and v.name not in constants]
    graph.inputs += parameters
    inputs = [drawn(value, scale) for value in graph.inputs]
    outputs = interpret(graph, *inputs)
    generator = torch.Generator().manual_seed(1)
    total = sum((out * torch.randn(out.shape, generator=generator)).sum() for out in outputs)
    wanted = {value.name: tensor for value, tensor in zip(graph.inputs, inputs, strict=True) if tensor.requires_grad}
    grads = torch.autograd.grad(total, list(wanted.values()), materialize_grads=True)
    found = {f"output {i}": out for i, out in enumerate(outputs)} | dict(zip(wanted, grads, strict=True))
    return {name: tensor.detach().flatten() for name, tensor in found.items()}


def assert_fires(
    text: str,
    calls: Sequence[str],
    constants: dict[str, Any] | None = None,
    *,
    inferred: bool = False,
    scale: float = 2.0,
) -> None:
    """The fused graph has just these calls, and computes what the pieces compute, forwards and backwards."""
    before, after = parsed(text, constants), parsed(text, constants)
    got, misses = fused(after, inferred=inferred)
    assert got == list(calls), (got, misses)
    expected, actual = (results(graph, scale, constants or {}) for graph in (before, after))
    assert set(actual) == set(expected)
    for name, value in actual.items():
        torch.testing.assert_close(value, expected[name], rtol=2e-5, atol=2e-5)


def assert_declines(
    text: str, fusion: str, why: str, constants: dict[str, Any] | None = None, *, inferred: bool = False
) -> None:
    """The fusion makes none of its op, and a near miss of it says why."""
    graph = parsed(text, constants)
    before = print_graph(graph).count(f" {fusion}(")
    _, misses = fused(graph, inferred=inferred)
    assert print_graph(graph).count(f" {fusion}(") == before
    told = [miss.why for miss in misses if miss.fusion == fusion]
    assert any(why in each for each in told), told


def assert_unlike(text: str) -> None:
    """The graph is nothing that a fusion knows."""
    graph = parsed(text)
    before = print_graph(graph)
    assert fused(graph)[1] == []
    assert print_graph(graph) == before
