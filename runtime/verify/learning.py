"""What a module does when it learns: gradients in both modes, outputs and statistics in training, the losses of a few steps.

A source's own module and the emitted one are measured by this same function; random numbers are left out on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from .objective import coefficients, objective
from .without_dropout import WithoutDropout

STEPS = 3
CHANGE = 1e-2
"""The first step of the loss curve changes all parameters together by at most this, and by a tenth of the gradient."""
Call = Callable[[], Sequence[Tensor]]


def _floats(outputs: Sequence[Tensor]) -> list[Tensor]:
    return [output for output in outputs if output.is_floating_point()]


def _trained(module: nn.Module) -> dict[str, nn.Parameter]:
    return {name: p for name, p in module.named_parameters() if p.requires_grad}


def _gradients(module: nn.Module, call: Call, seed: int) -> tuple[list[Tensor], dict[str, Tensor]]:
    """The outputs, and the gradient of a fixed projection of them by each trainable parameter that it depends on."""
    trained = _trained(module)
    torch.manual_seed(seed)
    with WithoutDropout():
        outputs = list(call())
    total = objective(_floats(outputs), coefficients(_floats(outputs), seed))
    if not total.requires_grad or not trained:
        return outputs, {}
    found: list[Tensor | None] = list(torch.autograd.grad(total, list(trained.values()), allow_unused=True))
    return outputs, {name: g for name, g in zip(trained, found, strict=True) if g is not None}


def _statistics(module: nn.Module) -> dict[str, Tensor]:
    return {name: b for name, b in module.named_buffers() if b.is_floating_point()}


def _curve(module: nn.Module, call: Call, seed: int, rate: float) -> Tensor:
    """The losses of SGD against fixed random targets."""
    optimizer = torch.optim.SGD(list(_trained(module).values()), lr=rate)
    generator = torch.Generator().manual_seed(seed)
    targets: list[Tensor] = []
    losses: list[float] = []
    for _ in range(STEPS):
        torch.manual_seed(seed)
        with WithoutDropout():
            outputs = _floats(call())
        targets = targets or [torch.randn(o.shape, generator=generator).to(o.dtype) for o in outputs]
        loss = torch.stack([(o - t).square().mean() for o, t in zip(outputs, targets, strict=True)]).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64)


def _rate(gradients: dict[str, Tensor]) -> float:
    norm = sum(float(g.double().square().sum()) for g in gradients.values()) ** 0.5
    return min(0.1, CHANGE / norm) if norm else 0.1


def learning_of(
    module: nn.Module, call: Call, seed: int, rate: float | None = None, training: bool = True
) -> dict[str, Tensor]:
    """What the module does, by name; its state and mode are put back.

    Args:
        module: on the host.
        call: runs it on fixed inputs and gives its outputs, flat.
        seed: of the projection, the targets, and what the module draws.
        rate: of the loss curve; by default one at which the first step is small.
        training: whether the module has a training form.

    Returns:
        `evaluation/gradient/KEY`, `training/gradient/KEY`, `training/output/INDEX`, `training/buffer/KEY`, `curve/losses`
        and `curve/rate`.
    """
    state = {name: tensor.detach().clone() for name, tensor in _all_tensors(module).items()}
    mode = {m: m.training for m in module.modules()}
    found: dict[str, Tensor] = {}
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        if training:
            module.eval()
        _, gradients = _gradients(module, call, seed)
        found |= {f"evaluation/gradient/{name}": g for name, g in gradients.items()}
        if training:
            module.train()
            outputs, gradients = _gradients(module, call, seed)
            found |= {f"training/output/{i}": o.detach() for i, o in enumerate(outputs)}
            found |= {f"training/gradient/{name}": g for name, g in gradients.items()}
            found |= {f"training/buffer/{name}": b.clone() for name, b in _statistics(module).items()}
            _put_back(module, state)
            if gradients:
                rate = _rate(gradients) if rate is None else rate
                found |= {"curve/losses": _curve(module, call, seed, rate)}
                found |= {"curve/rate": torch.tensor(rate, dtype=torch.float64)}
    _put_back(module, state)
    for each, was in mode.items():
        each.training = was
    module.zero_grad(set_to_none=True)
    return found


def _all_tensors(module: nn.Module) -> dict[str, Tensor]:
    return dict(module.named_parameters()) | dict(module.named_buffers())


@torch.no_grad()
def _put_back(module: nn.Module, state: dict[str, Tensor]) -> None:
    for name, tensor in _all_tensors(module).items():
        tensor.copy_(state[name])
