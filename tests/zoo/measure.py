"""Measuring one model: exported, converted, and held against its source in both modes. Runs in a process of its own."""

from __future__ import annotations

import copy
import math
import re
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

import migrate
from migrate.errors import MigrateError
from runtime.verify.double import double, double_copy, widened
from tests.migrate.frontends.pytorch.parity import (
    GRADIENTS,
    OUTPUTS,
    WithoutDropout,
    assert_equal_keys,
    gradients,
    relative,
    tensors,
)
from tests.zoo.cases import Case, family
from tests.zoo.record import MEASURES, Record

EXAMPLE, OTHER = 2, 3  # the batches of conversion and of the comparison
RATE, STEPS = 1e-3, 3
NOISE = 1e-6  # what moves less than this share of the largest step has a gradient of rounding errors alone
_PATH = re.compile(r"/\S*?/(?=(?:torch|torchvision|timm|transformers|tests|migrate)/)")


class Still(WithoutDropout):
    """Without dropout, and without stochastic depth that is drawn from uniform numbers."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        drawn = super().__torch_function__(func, types, args, kwargs)
        return torch.full_like(drawn, 0.999) if getattr(func, "__name__", "") in ("rand", "rand_like") else drawn


def measure(family_name: str, name: str) -> Record:
    """Everything about one model; what goes wrong is the record's reason."""
    record = Record(family=family_name, name=name)
    torch.manual_seed(0)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = family(family_name).case(name)
        perturb(case.module)
        try:
            ours = migrate.to_module(case.module, example_inputs=case.inputs(EXAMPLE))
        except MigrateError as fault:
            first = fault.diagnostics[0]
            exports = first.code != "MIG204" or exports_alone(case)
            what = ", ".join(dict.fromkeys(d.what for d in fault.diagnostics))
            reason = f"{first.code} {what}: {first.why} ({first.where})"
            record = replace(record, exports=exports, reason=_printed(reason))
        except Exception as fault:  # ours: a bug that the table shows
            record = replace(record, exports=True, reason=_printed(_told(fault)))
        else:
            record = compare(replace(record, exports=True, converts=True), ours, case)
    return replace(record, seconds=round(time.perf_counter() - start, 1))


def exports_alone(case: Case) -> bool:
    """Whether torch exports the module in both modes, asked without our own part in it."""
    example = case.inputs(EXAMPLE)
    args, kwargs = ((), example) if isinstance(example, dict) else (example, {})
    try:
        for mode in (True, False):
            torch.export.export(case.module.train(mode), args, kwargs, strict=False)
    except Exception:  # whatever torch or the module raises is a refusal
        return False
    return True


@torch.no_grad()
def perturb(module: nn.Module) -> None:
    """Move every parameter and running statistic a little, so that branches that begin at zero count."""
    draw = torch.Generator().manual_seed(1)
    for parameter in module.parameters():
        if parameter.is_floating_point():
            parameter += 0.02 * torch.randn(parameter.shape, generator=draw)
    for name, buffer in module.named_buffers():
        if name.endswith("running_mean"):
            buffer += 0.1 * torch.randn(buffer.shape, generator=draw)
        elif name.endswith("running_var"):
            buffer *= 1 + 0.1 * torch.rand(buffer.shape, generator=draw)


def compare(record: Record, ours: nn.Module, case: Case) -> Record:
    """Keys, outputs and gradients in both modes, and three steps of training, each for itself.

    Outputs in float32; what is amplified (gradients, losses after steps) in float64 where the source runs in it, since
    two float32 runs of one model with another order of additions differ there by more than the tolerance.
    """
    source, inputs, common = case.module, case.inputs(OTHER), case.common
    if common is not None:
        source.register_forward_hook(lambda _module, _args, result: common(result))
    start = copy.deepcopy(source.state_dict())
    wrong = _wrong_in(("keys",), keys, ours, source)
    if wrong:
        wrong = dict.fromkeys(MEASURES, wrong["keys"])
    else:
        for mode in ("eval", "train"):
            _reset((ours, source), start, mode == "train")
            found = _wrong_in(("outputs",), outputs_of, ours, source, inputs)
            wrong = {name: f"{mode}: {text}" for name, text in found.items()} | wrong
        wide = runs_in_float64(source, inputs)
        if wide:
            ours, source, inputs = _wide(ours), _wide(source), _wide(inputs)
        with widened() if wide else nullcontext():
            for mode in ("eval", "train"):
                _reset((ours, source), start, mode == "train")
                found = _wrong_in(("gradients",), gradients_of, ours, source, inputs)
                wrong = {name: f"{mode}: {text}" for name, text in found.items()} | wrong
            _reset((ours, source), start, True)
            wrong |= _wrong_in(("curve", "trains"), three_steps, ours, source, inputs)
    reason = "; ".join(dict.fromkeys(f"{name} {text}" for name, text in wrong.items()))
    return replace(record, **{name: name not in wrong for name in MEASURES}, reason=_printed(reason))


def _reset(modules: Iterable[nn.Module], state: dict[str, Tensor], train: bool) -> None:
    for module in modules:
        module.load_state_dict(state)
        module.train(train)


def runs_in_float64(source: nn.Module, inputs: Any) -> bool:
    """Whether the source takes float64, forward and backward; a module may ask for float32 in many ways."""
    source, inputs = _wide(source), _wide(inputs)
    try:
        with Still(), widened():
            for train in (True, False):
                called(source.train(train), inputs, flat=False)
    except Exception:  # a module may raise anything
        return False
    return True


def _wide(given: Any) -> Any:
    if isinstance(given, nn.Module):
        return double_copy(given)
    return pytree.tree_map_only(Tensor, double, given)


def _wrong_in(measures: tuple[str, ...], check: Callable[..., dict[str, str]], *args: Any) -> dict[str, str]:
    """What a check finds wrong, by measure; where it fails itself, all its measures do."""
    try:
        with Still():
            return check(*args)
    except Exception as fault:  # the emitted module may raise anything
        return dict.fromkeys(measures, _told(fault))


def keys(ours: nn.Module, source: nn.Module) -> dict[str, str]:
    """Keys, shapes and dtypes of the state, and loading strictly both ways."""
    assert_equal_keys(ours, source)
    return {}


def called(module: nn.Module, inputs: Any, flat: bool) -> tuple[list[Tensor], dict[str, Tensor]]:
    """Outputs, and gradients of a fixed projection; the emitted module takes the tensors alone, in order."""
    torch.manual_seed(0)
    copied = pytree.tree_map(lambda leaf: leaf.clone() if isinstance(leaf, Tensor) else leaf, inputs)
    if flat:
        return gradients(module, tensors(copied), {})
    return gradients(module, [], copied) if isinstance(copied, dict) else gradients(module, list(copied), {})


def outputs_of(ours: nn.Module, source: nn.Module, inputs: Any) -> dict[str, str]:
    """Shapes, dtypes and numbers, relative to the largest of each."""
    with torch.no_grad():
        (theirs, _), (outputs, _) = called(source, inputs, flat=False), called(ours, inputs, flat=True)
    if [(o.shape, o.dtype) for o in outputs] != [(o.shape, o.dtype) for o in theirs]:
        return {"outputs": "other shapes or dtypes"}
    off = max((relative(a, b) for a, b in zip(outputs, theirs, strict=True)), default=0.0, key=_nan_last)
    return {} if off <= OUTPUTS else {"outputs": f"differ by {off:.1e}"}


def gradients_of(ours: nn.Module, source: nn.Module, inputs: Any) -> dict[str, str]:
    """Relative to the largest of each parameter; one of almost nothing to the largest of all."""
    (_, theirs), (_, found) = called(source, inputs, flat=False), called(ours, inputs, flat=True)
    if found.keys() != theirs.keys():
        odd = sorted(found.keys() ^ theirs.keys())
        return {"gradients": f"{odd[0]} has one on one side only ({len(odd)} such)"}
    scale = max((float(g.abs().max()) for g in theirs.values()), default=0.0)
    errors = {
        name: float((found[name] - g).abs().max() / g.abs().max().clamp(min=1e-3 * scale + 1e-12))
        for name, g in theirs.items()
    }
    worst = max(errors, key=lambda name: _nan_last(errors[name]), default="")
    return (
        {"gradients": f"differ by {errors[worst]:.1e} in {worst}"} if worst and not errors[worst] <= GRADIENTS else {}
    )


def _nan_last(error: float) -> float:
    return math.inf if math.isnan(error) else error


def three_steps(ours: nn.Module, source: nn.Module, inputs: Any) -> dict[str, str]:
    """Three steps of SGD in training mode on fixed data: the losses, and whether parameters move and stay finite."""
    (theirs, should), (found, moved) = losses(source, inputs, flat=False), losses(ours, inputs, flat=True)
    wrong: dict[str, str] = {}
    off = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(found, theirs, strict=True))
    if not off <= GRADIENTS:
        wrong["curve"] = f"differs by {off:.1e}"
    # A model that diverges in both is the same model.
    broken = _not_finite(ours) - _not_finite(source)
    if broken:
        wrong["trains"] = f"{min(broken)} is not finite"
    elif moved != should:
        wrong["trains"] = f"{min(moved ^ should)} moves on one side only"
    return wrong


def _not_finite(module: nn.Module) -> set[str]:
    named = module.named_parameters(remove_duplicate=False)
    return {name for name, parameter in named if not bool(torch.isfinite(parameter).all())}


def losses(module: nn.Module, inputs: Any, flat: bool) -> tuple[list[float], set[str]]:
    """The loss before each step, the mean square distance of every output from fixed targets; and what moved."""
    before = {name: p.detach().clone() for name, p in module.named_parameters(remove_duplicate=False)}
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=RATE)
    args, kwargs = (tensors(inputs), {}) if flat else ((), inputs) if isinstance(inputs, dict) else (inputs, {})
    module.train()
    found: list[float] = []
    for step in range(STEPS):
        torch.manual_seed(step)
        outputs = [o for o in tensors(module(*args, **kwargs)) if o.requires_grad]
        draw = torch.Generator().manual_seed(3)
        loss = sum(((o - torch.randn(o.shape, generator=draw)) ** 2).mean() for o in outputs)
        assert isinstance(loss, Tensor), "no output depends on a parameter"
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(float(loss.detach()))
    after = dict(module.named_parameters(remove_duplicate=False))
    steps = {name: float((after[name].detach() - p).abs().max()) for name, p in before.items() if p.numel()}
    return found, {name for name, step in steps.items() if step > NOISE * max(steps.values())}


def _told(fault: Exception) -> str:
    """What was raised, and where."""
    lines = str(fault).strip().splitlines() or [""]
    frame = traceback.extract_tb(fault.__traceback__)[-1]
    return f"{type(fault).__name__}: {lines[0][:200]} ({frame.filename}:{frame.lineno})"


def _printed(text: str) -> str:
    """One line without the folders of this machine."""
    return _PATH.sub("", " ".join(text.split()))[:400]
