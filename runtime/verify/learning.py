"""What a module does when it learns: gradients in both modes, outputs and statistics in training, the losses of a few steps.

A source's own module and the emitted one are measured by this same function; random numbers are left out on both sides.
It computes in float64 where the module can: deep networks and steps of training amplify the rounding of float32, in which two
runs of one model with another order of additions differ by more than a fault would.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor, nn

from .double import double, widened
from .objective import coefficients, objective
from .without_dropout import WithoutDropout

STEPS = 3
CHANGE = 1e-2
"""The first step of the loss curve changes all parameters together by at most this, and by a tenth of the gradient."""
Run = Callable[[Sequence[Tensor]], Sequence[Tensor]]
Call = Callable[[], Sequence[Tensor]]


def _floats(outputs: Sequence[Tensor]) -> list[Tensor]:
    return [output for output in outputs if output.is_floating_point()]


def _trained(module: nn.Module) -> dict[str, nn.Parameter]:
    return {name: p for name, p in module.named_parameters(remove_duplicate=False) if p.requires_grad}


def _gradients(module: nn.Module, call: Call, seed: int) -> tuple[list[Tensor], dict[str, Tensor]]:
    """The outputs, and the gradient of a fixed projection of them by each trainable parameter; zero where it depends on none.

    A tied parameter is named by each of its names, so that the order in which two modules meet it does not matter.
    """
    trained = _trained(module)
    torch.manual_seed(seed)
    with WithoutDropout():
        outputs = list(call())
    total = objective(_floats(outputs), coefficients(_floats(outputs), seed))
    if not total.requires_grad or not trained:
        return outputs, {}
    found = torch.autograd.grad(total, list(trained.values()), allow_unused=True, materialize_grads=True)
    return outputs, dict(zip(trained, found, strict=True))


def _buffers(module: nn.Module) -> dict[str, Tensor]:
    """What a module may change of itself: what its state has, and other numbers that it keeps."""
    state = module.state_dict()
    return {name: b for name, b in module.named_buffers() if b.is_floating_point() or name in state}


def _curve(module: nn.Module, call: Call, seed: int, rate: float) -> Tensor:
    """The losses of SGD against fixed random targets."""
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=rate)
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


def _rate(gradients: Sequence[Tensor]) -> float:
    norm = sum(float(g.double().square().sum()) for g in gradients) ** 0.5
    return min(0.1, CHANGE / norm) if norm else 0.1


def learning_of(
    module: nn.Module,
    run: Run,
    inputs: Sequence[Tensor],
    seed: int,
    rate: float | None = None,
    training: bool = True,
    float64: bool | None = None,
) -> dict[str, Tensor]:
    """What the module does, by name; its state, precision and mode are put back.

    Args:
        module: on the host.
        run: runs it on inputs and gives its outputs, flat.
        inputs: the same at each run.
        seed: of the projection, the targets, and what the module draws.
        rate: of the loss curve; by default one at which the first step is small.
        training: whether the module has a training form.
        float64: whether it computes in float64; by default where it can.

    Returns:
        `evaluation/gradient/KEY`, `training/gradient/KEY`, `training/output/INDEX`, `training/buffer/KEY`, `curve/losses`,
        `curve/rate` and `float64` (0 or 1).
    """
    if float64 is None:
        try:
            return learning_of(module, run, inputs, seed, rate, training, float64=True)
        except Exception:  # a module may ask for float32 in as many ways as there are modules
            return learning_of(module, run, inputs, seed, rate, training, float64=False)
    with in_float64(module) if float64 else nullcontext():
        given = [double(t) for t in inputs] if float64 else list(inputs)
        found = _learning_of(module, lambda: run(given), seed, rate, training)
    return {**found, "float64": torch.tensor(int(float64))}


def _learning_of(module: nn.Module, call: Call, seed: int, rate: float | None, training: bool) -> dict[str, Tensor]:
    with torch.random.fork_rng(devices=[]), torch.enable_grad(), as_found(module) as put_back:
        if not training:
            return _measured(module, call, seed, "evaluation")
        module.eval()
        found = _measured(module, call, seed, "evaluation")
        module.train()
        found |= _measured(module, call, seed, "training")
        put_back()
        gradients = [tensor for name, tensor in found.items() if name.startswith("training/gradient/")]
        if gradients:
            rate = _rate(gradients) if rate is None else rate
            found |= {"curve/losses": _curve(module, call, seed, rate)}
            found |= {"curve/rate": torch.tensor(rate, dtype=torch.float64)}
    return found


def _measured(module: nn.Module, call: Call, seed: int, mode: str) -> dict[str, Tensor]:
    outputs, gradients = _gradients(module, call, seed)
    found = {f"{mode}/gradient/{name}": g for name, g in gradients.items()}
    if mode == "training":
        found |= {f"{mode}/output/{i}": o.detach() for i, o in enumerate(outputs)}
        found |= {f"{mode}/buffer/{name}": b.clone() for name, b in _buffers(module).items()}
    return found


@contextmanager
def in_float64(module: nn.Module) -> Generator[None]:
    """The module in float64 inside; afterwards its parameters and buffers are the tensors that they were."""
    buffers = [(m, name, buffer) for m in module.modules() for name, buffer in m._buffers.items()]
    parameters = [(p, p.data) for p in module.parameters()]
    try:
        module.double()
        with widened():
            yield
    finally:
        for parameter, data in parameters:
            parameter.grad = None
            parameter.data = data
        for owner, name, buffer in buffers:
            owner._buffers[name] = buffer


@contextmanager
def as_found(module: nn.Module) -> Generator[Callable[[], None]]:
    """Put back the state at the end, or when asked; and the modes at the end, whatever the module raises."""
    state = {name: tensor.detach().clone() for name, tensor in _all_tensors(module).items()}
    modes = {m: m.training for m in module.modules()}

    @torch.no_grad()
    def put_back() -> None:
        for name, tensor in _all_tensors(module).items():
            tensor.copy_(state[name])

    try:
        yield put_back
    finally:
        put_back()
        module.zero_grad(set_to_none=True)
        for each, was in modes.items():
            each.training = was


def _all_tensors(module: nn.Module) -> dict[str, Tensor]:
    return dict(module.named_parameters()) | dict(module.named_buffers())
