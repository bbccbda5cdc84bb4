"""Expressions mean in Python what the nodes mean in the graph."""

from __future__ import annotations

from typing import Any

import torch


def test_parentheses_follow_precedence(net: Any, agrees: Any) -> None:
    x, y = net.batch(4), net.batch(4, name="y")
    a = net.mul(net.add(x, y), net.sub(x, net.sub(y, x)))
    b = net.neg(net.pow(net.neg(a), 2.0))
    c = net.sub(net.div(b, net.mul(x, y)), net.add(x, 3.5))
    plan = net.plan(net.where(net.lt(net.add(x, y), net.mul(x, y)), c, net.neg(c)))
    agrees(plan, torch.randn(3, 4), torch.randn(3, 4))


def test_slices_indices_and_several_results(net: Any, agrees: Any, model_text: Any) -> None:
    x = net.batch(6, 5)
    left, right = net.split(x, (2, 4), 1)
    head = net.getitem(right, (slice(None), slice(1, None), slice(None, -1)))
    tail = net.getitem(left, (slice(None), 0))
    values, indices = net.topk(net.sum(x, 1), 3)
    plan = net.plan(net.sum(head, (1, 2)), tail, values, indices)
    text = model_text(plan)
    assert "left, right = x.split((2, self.split_size), dim=1)" in text
    assert "self.split_size = 4" in text
    agrees(plan, torch.randn(3, 6, 5))


def test_tables_are_buffers(net: Any, agrees: Any) -> None:
    plan = net.plan(net.dense(net.index_select(net.batch(6), 1, net.table([3, 1, 4])), 2))
    module = agrees(plan, torch.randn(3, 6))
    assert module.state_dict()["table"].tolist() == [3, 1, 4]
