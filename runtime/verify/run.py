"""`python -m NAME verify`: all checks of a package on one device, in the order in which they are printed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from ..hal import Device, open_device
from ..package import Package
from .fingerprint import check_fingerprint
from .forward import check_case, check_variation
from .golden import Golden, read_golden
from .gradient import check_gradient
from .inventory import check_inventory
from .linked import check_linked
from .outcome import Check, Outcome
from .perturb import REDRAWN, perturb
from .trace import write_trace


def _guarded(name: str, run: Callable[[], list[Check]]) -> list[Check]:
    """What `run` finds; an operator that a device refuses, or a module that breaks, is a failed check."""
    try:
        return run()
    # whatever the module or the device raises is the finding
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        return [Check(name=name, passed=False, detail=f"{type(error).__name__}: {reason}")]


def _gradient(module: nn.Module, golden: Golden) -> list[Check]:
    """The self-check on the smallest inputs, at redrawn weights where a case has them: then the stored ones say nothing."""
    cases = sorted(golden.cases, key=lambda case: sum(tensor.numel() for tensor in case.inputs))
    inputs, *further = [case.inputs for case in cases]
    redrawn = next((case for case in golden.cases if case.sigma >= REDRAWN), None)
    options: dict[str, Any] = {
        "further": further,
        "unused": [item.name for item in golden.inventory if not item.used],
        "decides": not golden.gradients_are_the_sources,
    }
    if redrawn is None:
        return check_gradient(module, inputs, **options)
    changed = copy.deepcopy(module)
    perturb(changed, redrawn.seed, redrawn.sigma)
    return check_gradient(changed, inputs, remark="at redrawn weights", **options)


def checks_of(module: nn.Module, golden: Golden, package: Package, device: Device) -> list[Check]:
    """All checks; `module` is on the host and in evaluation mode, and goes to `device` on the way."""
    checks = [check_inventory(module, golden.inventory)] if golden.inventory else []
    checks += _guarded("gradient", partial(_gradient, module, golden))
    module.to(device.torch_device)
    for case in golden.cases:
        checks += _guarded(case.name, partial(check_case, module, case, device, package.outputs))
    checks.append(check_variation(golden.cases, package.outputs))
    gradients = golden.gradients
    if gradients is not None:
        inputs = [tensor.to(device.torch_device) for tensor in golden.case(gradients.case).inputs]
        checks += _guarded("gradient: stored marks", lambda: [check_fingerprint(module, gradients, inputs)])
    return checks


def verify(package: Package, device_name: str, trace: Path | None = None, trace_case: str | None = None) -> Outcome:
    """Compare the package with its golden file on a device.

    Args:
        package: with `checks/golden.json` and `checks/golden.safetensors` in its root.
        device_name: where to run.
        trace: a file for the outputs of every module; None records nothing.
        trace_case: the golden case to record; None takes the first.

    Raises:
        PackageError, DeviceError: what the user can put right.
    """
    golden = read_golden(package.root / "checks")
    device = open_device(device_name, package.profile)
    device.seed(0)
    module = package.load_model().eval()
    checks = checks_of(module, golden, package, device)
    if (linked := check_linked(package.directory / "runtime")) is not None:
        checks.append(linked)
    if trace is not None:
        case = golden.case(trace_case) if trace_case is not None else golden.cases[0]
        write_trace(trace, module, case, device)
    return Outcome(package=package.name, device=device.name, checks=checks)
