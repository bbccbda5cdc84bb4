"""Training of an emitted package: settings, and the loop."""

from .loop import Request, train
from .settings import Settings, load_settings

__all__ = ["Request", "Settings", "load_settings", "train"]
