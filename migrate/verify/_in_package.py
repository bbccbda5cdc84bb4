"""Runs inside a package, in a process of its own: what the conversion wants to know and `python -m NAME verify` does not say.

Called as a script with the package's name and a task. Prints one JSON object. Imports nothing of the tool: only torch,
safetensors and the package, so that a package that needs the tool fails here.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

LOCALISED = 1e-4
"""From this error on a parameter's gradient is wrong; single parameters are noisier than the joint directions."""
STEPS = (1e-5, 1e-6, 1e-7)
MAX_PROBED = 200


def settings_of(model: nn.Module) -> dict[str, dict[str, float]]:
    """By module path what a module fixes about training: `momentum`, `eps`, `p`."""
    found: dict[str, dict[str, float]] = {}
    for path, module in model.named_modules():
        values = {name: getattr(module, name, None) for name in ("momentum", "eps", "p")}
        kept = {name: float(value) for name, value in values.items() if isinstance(value, int | float)}
        if kept:
            found[path] = kept
    return found


class Probe:
    """A scalar of a module's outputs, its gradient, and its value with parameters moved."""

    def __init__(self, package: str, model: nn.Module, inputs: tuple[Tensor, ...], seed: int) -> None:
        objective = importlib.import_module(f"{package}.runtime.verify.objective")
        self._evaluate, self._objective = objective.evaluate, objective.objective
        self.model, self.inputs, self.seed = model, inputs, seed
        self.parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
        with torch.no_grad():
            self.coefficients = objective.coefficients(self.outputs(), seed)

    def outputs(self) -> tuple[Tensor, ...]:
        torch.manual_seed(self.seed)
        return self._evaluate(self.model, self.inputs)

    def value(self) -> Tensor:
        return self._objective(self.outputs(), self.coefficients)

    def found_gradients(self) -> dict[str, Tensor | None]:
        grads = torch.autograd.grad(self.value(), list(self.parameters.values()), allow_unused=True)
        return dict(zip(self.parameters, grads, strict=True))

    def gradients(self) -> dict[str, Tensor]:
        found = self.found_gradients().items()
        return {name: torch.zeros_like(self.parameters[name]) if g is None else g for name, g in found}


def direction(probe: Probe, path: Path) -> dict[str, Any]:
    """Write the gradient's direction, scaled to each parameter's norm, and the coefficients; return the slope."""
    gradients = probe.gradients()
    moved = {
        name: g / g.norm().clamp_min(1e-30) * probe.parameters[name].detach().norm().clamp_min(1e-3)
        for name, g in gradients.items()
    }
    slope = sum((gradients[n].double() * moved[n].double()).sum().item() for n in gradients)
    tensors = {f"parameter/{n}": t.detach().contiguous() for n, t in moved.items()}
    tensors |= {f"coefficients/{i}": c.contiguous() for i, c in enumerate(probe.coefficients)}
    save_file(tensors, path)
    return {"slope": slope, "num_outputs": len(probe.coefficients)}


def first_wrong_gradient(
    package: str, model: nn.Module, inputs: tuple[Tensor, ...], seed: int, unused: set[str]
) -> dict[str, Any]:
    """The first parameter that has no gradient, else the last one, in the order of use, whose gradient is no derivative.

    What follows the latter is the fault.
    """
    double = importlib.import_module(f"{package}.runtime.verify.double")
    wide = double.double_copy(model)
    order = _order_of_use(wide, tuple(double.double(t) for t in inputs), double)
    with double.widened():
        probe = Probe(package, wide, tuple(double.double(t) for t in inputs), seed)
        missing = [name for name, g in probe.found_gradients().items() if g is None and name not in unused]
        if missing:
            return {"parameter": missing[0], "error": None}
        gradients = probe.gradients()
        for name in list(reversed(order))[:MAX_PROBED]:
            error = _error(probe, name, gradients[name], double)
            if error > LOCALISED:
                return {"parameter": name, "error": error}
    return {}


def _order_of_use(model: nn.Module, inputs: tuple[Tensor, ...], double: Any) -> list[str]:
    names = {id(p): n for n, p in model.named_parameters() if p.requires_grad}
    seen: dict[str, None] = {}

    def note(module: nn.Module, _args: Any) -> None:
        for parameter in module.parameters(recurse=False):
            if id(parameter) in names:
                seen[names[id(parameter)]] = None

    handles = [m.register_forward_pre_hook(note) for m in model.modules()]
    with torch.no_grad(), double.widened():
        model(*inputs)
    for handle in handles:
        handle.remove()
    return [*seen, *(n for n in names.values() if n not in seen)]


def _error(probe: Probe, name: str, gradient: Tensor, double: Any) -> float:
    parameter, generator = probe.parameters[name], torch.Generator().manual_seed(probe.seed)
    base = parameter.detach().clone()
    random = torch.randn(base.shape, generator=generator).double()
    worst = 0.0
    for way in (gradient, random):
        if not way.abs().max().item():
            continue
        d = way / way.norm() * base.norm().clamp_min(1e-3)
        slope = (gradient * d).sum().item()
        best = float("inf")
        for change in STEPS:
            step = min(change / abs(slope), 0.01) if slope else 1e-4
            values: list[float] = []
            for sign in (1.0, -1.0):
                with torch.no_grad():
                    parameter.copy_(base + sign * step * d)
                    values.append(probe.value().item())
            difference = (values[0] - values[1]) / (2 * step)
            largest = max(abs(slope), abs(difference))
            best = min(best, abs(difference - slope) / largest if largest > 1e-9 else 0.0)
        with torch.no_grad():
            parameter.copy_(base)
        worst = max(worst, best)
    return worst


def learn(package: str, model: nn.Module, inputs: tuple[Tensor, ...], seed: int, path: Path) -> dict[str, Any]:
    """Measure how the package learns, as the file at `path` says, and write that there."""
    measure = importlib.import_module(f"{package}.runtime.verify.learning")
    given = load_file(path)
    rate = given["curve/rate"].item() if "curve/rate" in given else None

    def run(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        outputs = model(*tensors)
        return (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)

    modes = {name: bool(given[name].item()) for name in ("training", "float64")}
    found = measure.learning_of(model, run, inputs, seed, rate, **modes)
    save_file({name: tensor.contiguous().clone() for name, tensor in found.items()}, path)
    return {}


def loop(package: str, model: nn.Module, path: Path) -> dict[str, Any]:
    """Train by the package's own settings, on the batch and in the precision of the file at `path`; write the losses there."""

    def part(name: str) -> Any:
        return importlib.import_module(f"{package}.{name}")

    given, settings = load_file(path), part("runtime.train.settings").load_settings(Path(package) / "train.toml")
    double, learning = part("runtime.verify.double").double, part("runtime.verify.learning")
    wide = bool(given["float64"].item())
    batch = {name: double(tensor) if wide else tensor for name, tensor in given.items()}
    inputs, targets = (
        tuple(batch[f"{name}.{i}"] for i in range(sum(key.startswith(f"{name}.") for key in batch)))
        for name in ("inputs", "targets")
    )
    schedule, horizon = part("runtime.train.schedule"), settings.schedule.decay_steps or settings.train.steps
    losses: list[float] = []
    with learning.in_float64(model) if wide else nullcontext():
        optimizer = part("runtime.train.optimizer").build_optimizer(model.train(), settings.optimizer)
        for step in range(int(given["steps"].item())):
            with part("runtime.verify.without_dropout").WithoutDropout():
                loss = part("loss").compute_loss(model, inputs, targets)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), settings.optimizer.clip_norm or float("inf"))
            schedule.set_lr(optimizer, settings.optimizer.lr * schedule.lr_factor(step, settings.schedule, horizon))
            optimizer.step()
            losses.append(float(loss.detach()))
    save_file({"losses": torch.tensor(losses, dtype=torch.float64)}, path)
    return {}


def main(package: str, task: str, case_name: str, seed: int, out: Path) -> dict[str, Any]:
    """One task: `learn`, `loop`, `accept` a right package (marks, settings, direction) or `locate` a wrong gradient."""
    sys.path.insert(0, str(Path.cwd()))
    load_model = importlib.import_module(package).load_model
    golden = importlib.import_module(f"{package}.runtime.verify.golden")
    fingerprint = importlib.import_module(f"{package}.runtime.verify.fingerprint")
    model: nn.Module = load_model().eval()
    if task == "loop":
        return loop(package, model, out)
    found = golden.read_golden(Path("checks"))
    case = found.case(case_name)
    if task == "settings":
        return {"settings": settings_of(model)}
    if task == "learn":
        return learn(package, model, case.inputs, seed, out)
    if task == "locate":
        return first_wrong_gradient(package, model, case.inputs, seed, {i.name for i in found.inventory if not i.used})
    marks = fingerprint.golden_gradients(model, case, seed)
    answer: dict[str, Any] = {"settings": settings_of(model), "gradients": asdict(marks)}
    if task == "accept":
        answer |= direction(Probe(package, model, case.inputs, seed), out)
    return answer


if __name__ == "__main__":
    arguments = sys.argv[1:]
    print(json.dumps(main(arguments[0], arguments[1], arguments[2], int(arguments[3]), Path(arguments[4]))))
