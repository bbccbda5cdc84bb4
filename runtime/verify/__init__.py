"""Verification: holds a package to what the source's own engine computed, and its gradient to its own function."""

from .fingerprint import golden_gradients
from .golden import (
    Golden,
    GoldenCase,
    GoldenGradients,
    GradientMark,
    InventoryItem,
    inventory_of,
    read_golden,
    write_golden,
)
from .outcome import Check, Outcome
from .perturb import kind_of, perturb, perturbed
from .run import verify
from .trace import read_trace, write_trace

__all__ = [
    "Check",
    "Golden",
    "GoldenCase",
    "GoldenGradients",
    "GradientMark",
    "InventoryItem",
    "Outcome",
    "golden_gradients",
    "inventory_of",
    "kind_of",
    "perturb",
    "perturbed",
    "read_golden",
    "read_trace",
    "verify",
    "write_golden",
    "write_trace",
]
