"""Targets, operator tables, and the audit of a training step: the public door of this package.

Nothing here loads torch; the step is traced by a process of its own.
"""

from migrate.opmap.audit import Audit, AuditRow, audit_package, audit_trace
from migrate.opmap.cost import CallCost, StepCost, call_cost, predict_step
from migrate.opmap.fuse import FusedMapping, map_fused
from migrate.opmap.operators import OperatorSets, operator_sets, resolve
from migrate.opmap.profile import list_targets, load_target
from migrate.opmap.target import Device, Dtype, Figure, FusedKernel, Link, OperatorTable, Target
from migrate.opmap.trace import StepMemory, Trace, TraceRow, trace_package

__all__ = [
    "Audit",
    "AuditRow",
    "CallCost",
    "Device",
    "Dtype",
    "Figure",
    "FusedKernel",
    "FusedMapping",
    "Link",
    "OperatorSets",
    "OperatorTable",
    "StepCost",
    "StepMemory",
    "Target",
    "Trace",
    "TraceRow",
    "audit_package",
    "audit_trace",
    "call_cost",
    "list_targets",
    "load_target",
    "map_fused",
    "operator_sets",
    "predict_step",
    "resolve",
    "trace_package",
]
