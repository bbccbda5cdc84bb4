"""Activations whose ATen name is not the public one."""

from __future__ import annotations

from migrate.frontends.pytorch.registry import aten_op
from migrate.graph import Builder, Value


@aten_op("aten.log_sigmoid")
def aten_log_sigmoid(b: Builder, self: Value) -> Value:
    """The logarithm of a sigmoid."""
    return b.logsigmoid(self)
