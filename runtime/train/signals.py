"""Turns SIGTERM and SIGINT into a wish to stop after the running step. Knows no training."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopRequest:
    """While entered, the first signal sets `name`; the second has its usual effect at once."""

    def __init__(self) -> None:
        self.name: str | None = None
        self._before: dict[int, Any] = {}

    @property
    def wanted(self) -> bool:
        """Whether a signal came."""
        return self.name is not None

    def __enter__(self) -> StopRequest:
        self._before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.wanted:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.name = signal.Signals(number).name
