"""Where the time of `migrate.to_module` goes: explicit clocks around the functions that the flow consists of.

A stage's time is its own: what another stage takes inside it is not counted twice. A function that was renamed raises here.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

STAGES: dict[str, tuple[tuple[str, str], ...]] = {
    "read the file": (
        ("migrate.frontends.onnx", "open_onnx"),
        ("migrate.frontends.onnx", "describe"),
        ("migrate.sources", "_sha256"),
    ),
    "import the graph": (("migrate.frontends.onnx", "load_onnx"),),
    "infer shapes and constants": (("migrate.graph.builder", "run_samples"),),
    "run the passes": (("migrate.graph.passes", "run_passes"),),
    "check the graph": (("migrate.graph.passes", "check"),),
    "plan the package": (("migrate.codegen.memory", "plan_package"),),
    "render": (("migrate.codegen.memory", "render_model"),),
    "ruff": (("migrate.codegen.render", "_run"),),
    "compile and allow-list": (("migrate.codegen.render", "check_source"),),
    "build the module": (("migrate.codegen.memory", "_load"),),
    "load the weights": (("migrate.codegen.memory", "_fill"),),
}
OTHER = "other"


class Clock:
    """Own seconds of each stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = dict.fromkeys([*STAGES, OTHER], 0.0)
        self._open: list[str] = []
        self._last = 0.0

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] += now - self._last
        self._last = now

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what follows as `name`."""
        self._turn()
        self._open.append(name)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, counted as `name`."""

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            with self.stage(name):
                return function(*args, **kwargs)

        return timed


def breakdown(run: Callable[[], object]) -> dict[str, float]:
    """Seconds of each stage of one run; their sum is its wall time."""
    clock = Clock()
    with contextlib.ExitStack() as stack:
        for name, places in STAGES.items():
            for module_name, attribute in places:
                module = importlib.import_module(module_name)
                timed = clock.wrap(name, getattr(module, attribute))
                stack.enter_context(mock.patch.object(module, attribute, timed))
        with clock.stage(OTHER):
            run()
    return clock.seconds
