"""Verification: the source's own engine is the oracle.

`verify(package_dir, name, graph, oracle, plan, *, seed, batches) -> Verification` makes golden tensors with the oracle,
runs the package in a fresh process, and compares. `docs/verification.md` says what each check proves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from migrate.verify.facts import Layer, Row, Verification

if TYPE_CHECKING:
    from migrate.verify.run import verify

__all__ = ["Layer", "Row", "Verification", "verify"]


def __getattr__(name: str) -> Any:
    if name == "verify":
        from migrate.verify.run import verify

        return verify
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
