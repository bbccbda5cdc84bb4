"""What a run says: one JSON object a step on stdout, remarks and progress on stderr, from the first process only."""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import asdict, dataclass

from ..comm import World
from ..hal import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMetrics:
    """One step. `loss` is averaged over all processes; `grad_norm` is None where it is not finite (fp16, skipped)."""

    step: int
    loss: float
    samples_per_s: float
    device: str
    lr: float
    grad_norm: float | None


class Stopwatch:
    """Seconds of the device: its virtual clock where it has one, else real time."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.start()

    def _now(self) -> float:
        virtual = self.device.clock()
        return time.perf_counter() if virtual is None else virtual

    def start(self) -> None:
        """Begin anew, with no samples."""
        self.device.synchronize()
        self.begin, self.samples = self._now(), 0

    def count(self, samples: int) -> None:
        """Add samples that were worked on."""
        self.samples += samples

    def rate(self) -> float:
        """Samples per second since the start; begins anew."""
        begin, samples = self.begin, self.samples
        self.start()
        return samples / max(self.begin - begin, 1e-9)


class Console:
    """Prints for the first process and is silent for the others."""

    def __init__(self, world: World, *, as_json: bool, steps: int) -> None:
        self.silent, self.as_json, self.steps = not world.is_main, as_json, steps

    def remark(self, text: str) -> None:
        """One line for the person at the terminal."""
        if not self.silent:
            print(text, file=sys.stderr, flush=True)

    def step(self, metrics: StepMetrics) -> None:
        """One step, for a program or for a person."""
        if self.silent:
            return
        if self.as_json:
            print(json.dumps(asdict(metrics), allow_nan=False), flush=True)
            return
        norm = math.nan if metrics.grad_norm is None else metrics.grad_norm
        self.remark(
            f"step {metrics.step}/{self.steps}  loss {metrics.loss:.6g}  lr {metrics.lr:.3g}  "
            f"grad norm {norm:.3g}  {metrics.samples_per_s:.1f} samples/s"
        )
