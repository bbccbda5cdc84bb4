"""Traces one training step of an emitted package: `python -m migrate.opmap.worker DIR NAME --target T --batch N ...`.

Runs in a process of its own and writes one JSON document. Imports the package, puts it on a device without memory, and
runs forward, loss, backward, gradient clipping and the optimizer under the watch of `dispatch.py`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import saved_tensors_hooks

from migrate.errors import MigrateError
from migrate.opmap.autocast import register_autocast
from migrate.opmap.dispatch import StepMode
from migrate.opmap.fakes import DEVICE_TYPE, fake, fake_model, register_device
from migrate.opmap.live import LiveBytes, total_bytes
from migrate.opmap.operators import OperatorSets, resolve
from migrate.opmap.profile import load_target
from migrate.opmap.scopes import Scopes
from migrate.opmap.shapes import register_shapes
from migrate.opmap.trace import TraceRow

AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}
OPTIMIZERS: dict[str, Callable[[Iterable[Tensor]], torch.optim.Optimizer]] = {
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-3, foreach=True),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=1e-3, foreach=True),
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=1e-2, momentum=0.9, foreach=True),
}


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m migrate.opmap.worker", description=__doc__)
    parser.add_argument("directory", type=Path, help="the folder that holds NAME/")
    parser.add_argument("name")
    parser.add_argument("--target", required=True, help="a name, a profile (.toml) or a resolved profile (.json)")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--precision", choices=("fp32", *AUTOCAST), default="fp32")
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZERS), default="adamw")
    parser.add_argument("--output", type=Path, help="where to write the document (standard output)")
    return parser.parse_args(arguments)


def resolved(target: str) -> dict[str, Any]:
    """The resolved profile of a target given by name or path."""
    return json.loads(Path(target).read_text()) if target.endswith(".json") else resolve(load_target(target))


def build(package: Any) -> nn.Module:
    """The model without memory where its construction allows that, else with freshly initialised weights."""
    try:
        with torch.device("meta"):
            return package.load_model(pretrained=False)
    except (RuntimeError, NotImplementedError, TypeError, ValueError):
        return package.load_model(pretrained=False)


class Step:
    """One training step of a package on the traced device."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.document = resolved(options.target)
        sets = {key: frozenset(names) for key, names in self.document["operators"].items()}
        sys.path.insert(0, str(options.directory.resolve()))
        package = importlib.import_module(options.name)
        config, self.loss = (importlib.import_module(f"{options.name}.{part}") for part in ("config", "loss"))
        self.device = register_device()
        self.casts = register_autocast(DEVICE_TYPE)
        self.shapes = register_shapes()
        self.fakes = FakeTensorMode(allow_non_fake_inputs=True)
        self.model = fake_model(self.fakes, build(package), self.device).train()
        self.scopes = Scopes(self.model)
        self.live = LiveBytes(DEVICE_TYPE)
        self.live.add_model([*self.model.parameters(), *self.model.buffers()])
        self.watch = StepMode(OperatorSets(**sets), self.scopes, self.live)
        self.inputs, self.targets = (self.draw(specs, config.SIZES) for specs in (config.INPUTS, self.loss.TARGETS))

    def draw(self, specs: Sequence[Any], sizes: dict[str, int]) -> tuple[Tensor, ...]:
        """Fakes for inputs or targets, at the default of every free size."""
        shapes = ((spec.sizes(sizes, self.options.batch), getattr(torch, spec.dtype)) for spec in specs)
        metas = (torch.empty(shape, dtype=dtype, device="meta") for shape, dtype in shapes)
        found = tuple(fake(self.fakes, meta, self.device) for meta in metas)
        self.live.add(found)
        return found

    def forward_backward(self) -> Tensor | None:
        """Forward, loss and backward; returns the scale of fp16."""
        precision = self.options.precision
        cast = torch.autocast(DEVICE_TYPE, AUTOCAST[precision]) if precision in AUTOCAST else nullcontext()
        self.watch.phase = "forward"
        with cast, saved_tensors_hooks(self.live.pack, lambda tensor: tensor):
            loss = self.loss.compute_loss(self.model, self.inputs, self.targets)
        self.casts.weights.clear()
        scale = fake(self.fakes, torch.ones(()), self.device) if precision == "fp16" else None
        self.watch.phase = "backward"
        (loss if scale is None else loss * scale).backward()
        return scale

    def run(self) -> None:
        """Forward, loss, backward, clipping, and the optimizer twice: its first step allocates its state."""
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        with self.fakes:
            self.optimizer = OPTIMIZERS[self.options.optimizer](parameters)
            with self.watch:
                self.before = self.live.begin()
                scale = self.forward_backward()
                self.saved, self.peak = sum(self.live.saved.values()), self.live.peak
                self.live.begin()
                self.watch.phase = "clip"
                self.unscale(parameters, scale)
                torch.nn.utils.clip_grad_norm_(parameters, 1.0)
                for phase in ("setup", "optimizer"):
                    self.watch.phase = phase
                    self.optimizer.step()

    def recomputed(self) -> dict[str, Any] | None:
        """The same step with the model's blocks run again in backward: which they are, and the bytes; None without any."""
        try:
            recompute = importlib.import_module(f"{self.options.name}.runtime.train.recompute")
        except ModuleNotFoundError:  # no package of ours
            return None
        blocks = list(recompute.find_blocks(self.model))
        if not blocks:
            return None
        recompute.recompute_blocks(self.model)
        update = self.live.peak
        self.model.zero_grad(set_to_none=True)
        before = self.live.begin()
        with self.fakes, self.watch:
            self.forward_backward()
        peak = max(update, self.before + self.live.peak - before)
        return {"blocks": blocks, "saved_activations": sum(self.live.saved.values()), "peak": peak}

    def unscale(self, parameters: Sequence[Tensor], scale: Tensor | None) -> None:
        """What a gradient scaler runs on the device in fp16."""
        if scale is None:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        found, growth = torch.zeros_like(scale), torch.zeros_like(scale, dtype=torch.int32)
        torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, torch.reciprocal(scale))
        torch._amp_update_scale_(scale, growth, found, 2.0, 0.5, 2000)

    def memory(self) -> dict[str, int]:
        """The bytes of `StepMemory`."""
        parameters = list(self.model.parameters())
        states = [v for state in self.optimizer.state.values() for v in state.values() if isinstance(v, Tensor)]
        return {
            "parameters": total_bytes(parameters),
            "buffers": total_bytes(self.model.buffers()),
            "gradients": total_bytes(p.grad for p in parameters if p.grad is not None),
            "optimizer_state": total_bytes(t for t in states if t.device.type == DEVICE_TYPE),
            "saved_activations": self.saved,
            "peak": max(self.peak, self.live.peak),
        }

    def result(self, seconds: float) -> dict[str, Any]:
        """The document: equal calls are counted together, in the order of their first appearance."""
        rows: Counter[TraceRow] = Counter(self.watch.calls)
        return {
            "target": self.document["name"],
            "batch": self.options.batch,
            "precision": self.options.precision,
            "optimizer": self.options.optimizer,
            "rows": [asdict(replace(row, count=count)) for row, count in rows.items()],
            "memory": self.memory(),
            "host_calls": dict(self.watch.host),
            "notes": list(self.watch.notes),
            "seconds": round(seconds, 3),
        }


def described(step: Step | None, fault: Exception) -> dict[str, Any]:
    """The document of a step that failed: where and why."""
    phase, where = (step.watch.current_phase(), step.scopes.path()) if step else ("construction", "")
    if step and phase == "loss" and step.scopes.fault is fault:
        phase, where = "forward", step.scopes.fault_path
    return {"error": {"phase": phase, "module": where, "what": type(fault).__name__, "why": str(fault)[:2000]}}


def unpredicted(step: Step, fault: Exception) -> list[str]:
    """The notes of a step whose blocks cannot run again."""
    why = str(fault).partition("\n")[0][:200]
    return [*step.watch.notes, f"what activation checkpointing saves is not predicted: {type(fault).__name__}: {why}"]


def finish(document: dict[str, Any], output: Path | None) -> NoReturn:
    """Writes the document to a file or to standard output, and ends the process."""
    text = json.dumps(document)
    if output is None:
        print(text, flush=True)
    else:
        output.write_text(text, encoding="utf-8")
    sys.stdout.flush()
    # Fakes on a device without an allocator must not meet the interpreter's own tear-down.
    os._exit(1 if "error" in document else 0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Traces a step, or writes why that failed."""
    options = parse(arguments)
    step: Step | None = None
    started = time.perf_counter()
    try:
        step = made = Step(options)
        step.watch.on_fault = lambda fault: finish(described(made, fault), options.output)
        step.run()
        document = step.result(time.perf_counter() - started)
        step.watch.on_fault = lambda fault: finish(document | {"notes": unpredicted(made, fault)}, options.output)
        try:
            document["recomputed"] = step.recomputed()
        except Exception as fault:
            document["notes"] = unpredicted(step, fault)
    except MigrateError:
        raise
    except Exception as fault:
        document = described(step, fault)
    finish(document, options.output)


if __name__ == "__main__":
    main()
