"""Checks that a module's gradient is the derivative of its own function, by central differences in float64.

The function is kept on the branches that it takes at the point, since a kink that is crossed spoils a difference. What
rounds to few bits with the gradient of what is rounded does not round here.

Such differences find a detached branch, a parameter that was baked in and a gradient that is partly lost (relative
errors of 8e-4 and more were seen), and are 8e-7 at most on sound models. Always on the host: few devices have float64.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..functional.quant import unrounded
from .branches import Branches
from .double import double, double_copy, widened
from .objective import coefficients, evaluate, objective
from .outcome import Check, measured

TOLERANCE = 1e-5
GOOD_ENOUGH = 1e-6
"""A difference as good as this one ends the search for a better step."""

CHANGES = (1e-6, 1e-7, 1e-5, 1e-8, 1e-9, 1e-4)
"""Wished changes of the objective: large ones leave the tangent, small ones drown in rounding; the best counts."""

LARGEST_STEP = 0.01
"""Of each parameter's own norm."""

NUM_RANDOM = 4
"""Random directions find what the aligned one cannot: a parameter whose gradient is wrongly zero does not take part."""

Direction = list[Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """The float64 copy, its trainable parameters with their values, and the objective as a number."""

    names: list[str]
    parameters: list[nn.Parameter]
    values: list[Tensor]
    objective: Callable[[], Tensor]
    branches: Branches

    def moved(self, direction: Direction, step: float) -> float:
        """The objective with every parameter moved by `step` times its part of `direction`."""
        with torch.no_grad():
            for parameter, value, part in zip(self.parameters, self.values, direction, strict=True):
                parameter.copy_(value + step * part)
            with self.branches.again():
                return self.objective().item()


def _subject(module: nn.Module, inputs: Sequence[Sequence[Tensor]], seed: int) -> _Subject:
    copied, wide = double_copy(module), [[double(tensor) for tensor in one] for one in inputs]

    def outputs() -> tuple[Tensor, ...]:
        # a model that draws random numbers must draw the same ones each time
        torch.manual_seed(seed)
        with widened(), unrounded():
            return tuple(output for one in wide for output in evaluate(copied, one))

    branches = Branches()
    with torch.no_grad(), branches:
        weights = coefficients(outputs(), seed)
    trainable = [(name, p) for name, p in copied.named_parameters() if p.requires_grad]
    return _Subject(
        names=[name for name, _ in trainable],
        parameters=[p for _, p in trainable],
        values=[p.detach().clone() for _, p in trainable],
        objective=lambda: objective(outputs(), weights),
        branches=branches,
    )


def _gradients(subject: _Subject) -> list[Tensor | None]:
    value = subject.objective()
    if not value.requires_grad:
        return [None] * len(subject.parameters)
    with widened():
        return list(torch.autograd.grad(value, subject.parameters, allow_unused=True))


def _scaled(raw: Sequence[Tensor], values: Sequence[Tensor]) -> Direction:
    """Each part with the norm of the parameter it moves, so that one step size suits all."""
    return [r / r.norm().clamp_min(1e-300) * v.norm().clamp_min(1e-3) for r, v in zip(raw, values, strict=True)]


def _error(subject: _Subject, gradients: Direction, direction: Direction) -> float:
    """The relative difference between the gradient along `direction` and the best central difference."""
    slope = sum((g * d).sum().item() for g, d in zip(gradients, direction, strict=True))
    best = float("inf")
    for change in CHANGES:
        step = min(change / abs(slope), LARGEST_STEP) if slope else LARGEST_STEP
        difference = (subject.moved(direction, step) - subject.moved(direction, -step)) / (2 * step)
        largest = max(abs(slope), abs(difference))
        best = min(best, abs(difference - slope) / largest if largest else 0.0)
        if best <= GOOD_ENOUGH:
            break
    return best


def _missing(subject: _Subject, gradients: Sequence[Tensor | None], unused: Collection[str]) -> Check:
    missing = [name for name, g in zip(subject.names, gradients, strict=True) if g is None and name not in unused]
    detail = f"of {len(subject.names)} trainable parameters"
    detail += f", {len(unused)} of which the source does not use either" if unused else ""
    if missing:
        detail = f"{len(missing)} {detail} have none: {', '.join(missing[:5])}{' ...' if len(missing) > 5 else ''}"
    return Check(name="gradient: present", passed=bool(subject.names) and not missing, detail=detail)


def _covering(
    module: nn.Module, inputs: Sequence[Tensor], further: Sequence[Sequence[Tensor]], seed: int
) -> tuple[_Subject, list[Tensor | None]]:
    """The subject at `inputs` and at those of the further ones that reach a parameter which those before do not."""
    used = [inputs]
    subject = _subject(module, used, seed)
    found = _gradients(subject)
    for one in further:
        if all(g is not None for g in found):
            break
        wider = _subject(module, [*used, one], seed)
        reached = _gradients(wider)
        if sum(g is None for g in reached) < sum(g is None for g in found):
            used, subject, found = [*used, one], wider, reached
    return subject, found


def check_gradient(
    module: nn.Module,
    inputs: Sequence[Tensor],
    seed: int = 0,
    remark: str = "",
    further: Sequence[Sequence[Tensor]] = (),
    unused: Collection[str] = (),
    decides: bool = True,
) -> list[Check]:
    """Whether every trainable parameter has a gradient, and the gradient is right along five joint directions.

    Args:
        module: on any device; a float64 copy on the host is checked, in evaluation mode.
        inputs: host tensors of a small batch.
        seed: of the objective and of the random directions.
        remark: said with each check.
        further: other inputs, for a module whose inputs decide which parameters take part; as many as that takes.
        unused: parameters on which the source's outputs do not depend either.
        decides: false where the gradients were held against the source's own. That is the better proof: a source may cut a
            gradient on purpose, or round so much that a difference says nothing.
    """
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        subject, found = _covering(module, inputs, further, seed)
        checks = [_missing(subject, found, unused)]
        gradients = [torch.zeros_like(v) if g is None else g for g, v in zip(found, subject.values, strict=True)]
        generator = torch.Generator().manual_seed(seed)
        for index in range(1 + NUM_RANDOM):  # one direction at a time: each is as large as the model
            raw = [torch.randn(v.shape, generator=generator).double() for v in subject.values] if index else gradients
            error = _error(subject, gradients, _scaled(raw, subject.values))
            name = f"random {index}" if index else "aligned"
            checks.append(measured(f"gradient: {name}", error, TOLERANCE, remark, informative=not decides))
    return checks
