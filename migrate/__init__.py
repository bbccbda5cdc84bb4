"""Move model training between accelerators.

The public door: `load`, `to_module`, `check`, `convert`. Nothing heavy is imported until one of them is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from migrate.errors import Diagnostic, MigrateError

if TYPE_CHECKING:
    from migrate.pipeline import check, convert, load, to_module

__version__ = "0.1.0"
__all__ = ["Diagnostic", "MigrateError", "check", "convert", "load", "to_module"]


def __getattr__(name: str) -> Any:
    if name in ("check", "convert", "load", "to_module"):
        from migrate import pipeline

        return getattr(pipeline, name)
    raise AttributeError(f"module 'migrate' has no attribute {name!r}")
