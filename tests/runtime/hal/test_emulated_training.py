"""Training on the emulated device gives the CPU's numbers, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

from runtime.hal import Device

STEPS = 3
OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-2, foreach=True),
    "fused adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-2, fused=True),
}


class ConvNet(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, groups=2),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(16, 10),
        )


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.norm = nn.Embedding(50, 32), nn.LayerNorm(32)
        self.qkv, self.out, self.head = nn.Linear(32, 96), nn.Linear(32, 32), nn.Linear(32, 50)

    def attend(self, x: Tensor) -> Tensor:
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, 4, 8).permute(2, 0, 3, 1, 4)
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        return self.head(x + self.attend(x))


class CheckpointedTransformer(Transformer):
    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        return self.head(x + checkpoint(self.attend, x, use_reentrant=False))


class CellUnrolled(nn.Module):
    """A recurrent network, step by step: the CPU's `nn.LSTM` multiplies all steps at once, which rounds differently."""

    def __init__(self, cell: Callable[[int, int], nn.Module]) -> None:
        super().__init__()
        self.cell, self.head = cell(8, 16), nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        state: Any = None
        outputs: list[Tensor] = []
        for step in x.unbind(1):
            state = self.cell(step, state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return self.head(torch.stack(outputs, 1))


class Recurrent(nn.Module):
    def __init__(self, layer: Callable[..., nn.Module]) -> None:
        super().__init__()
        self.layer, self.head = layer(8, 16, num_layers=2, batch_first=True, bidirectional=True), nn.Linear(32, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layer(x)[0])


def images(step: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(step)
    return torch.randn(4, 3, 12, 12, generator=generator), torch.randint(0, 10, (4,), generator=generator)


def tokens(step: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(step)
    return torch.randint(0, 50, (4, 16), generator=generator), torch.randint(0, 50, (4, 16), generator=generator)


def series(step: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(step)
    return torch.randn(4, 6, 8, generator=generator), torch.randint(0, 5, (4, 6), generator=generator)


def train(
    build: Callable[[], nn.Module], data: Callable[[int], tuple[Tensor, Tensor]], optimizer: str, device: torch.device
) -> tuple[list[float], dict[str, Tensor]]:
    """Losses of three steps, and the state that they lead to."""
    torch.manual_seed(0)
    model = build().to(device)
    updater = OPTIMIZERS[optimizer](model.parameters())
    losses: list[float] = []
    with sdpa_kernel(SDPBackend.MATH):  # what a device without a fused attention runs
        for step in range(STEPS):
            x, y = (t.to(device) for t in data(step))
            updater.zero_grad()
            loss = F.cross_entropy(model(x).flatten(0, -2), y.flatten())
            loss.backward()
            updater.step()
            losses.append(loss.item())
    return losses, {name: tensor.cpu() for name, tensor in model.state_dict().items()}


CASES = {
    "conv net": (ConvNet, images),
    "transformer": (Transformer, tokens),
    "checkpointed transformer": (CheckpointedTransformer, tokens),
    "lstm cell": (lambda: CellUnrolled(nn.LSTMCell), series),
    "gru cell": (lambda: CellUnrolled(nn.GRUCell), series),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("case", CASES)
def test_bit_equal_to_the_cpu(case: str, optimizer: str, vendor_a: Device) -> None:
    build, data = CASES[case]
    losses, state = train(build, data, optimizer, torch.device("cpu"))
    their_losses, their_state = train(build, data, optimizer, vendor_a.torch_device)
    assert their_losses == losses and losses[0] != losses[-1]
    for name, tensor in state.items():
        assert torch.equal(their_state[name], tensor), name
    assert not vendor_a.unchecked()


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU])
def test_recurrent_layer_equals_the_cpu_to_rounding(layer: Callable[..., nn.Module], vendor_a: Device) -> None:
    """The device multiplies step by step where the CPU has one product: sums of gradients round differently."""
    losses, state = train(lambda: Recurrent(layer), series, "sgd", torch.device("cpu"))
    their_losses, their_state = train(lambda: Recurrent(layer), series, "sgd", vendor_a.torch_device)
    assert their_losses == pytest.approx(losses, rel=2e-7)
    for name, tensor in state.items():
        torch.testing.assert_close(their_state[name], tensor, rtol=0, atol=6e-8)
    assert vendor_a.calls()[f"_thnn_fused_{layer.__name__.lower()}_cell"] == 2 * 2 * 6 * STEPS


def test_factories_and_views(vendor_a: Device) -> None:
    device = vendor_a.torch_device
    assert torch.arange(5, device=device).tolist() == [0, 1, 2, 3, 4]
    assert torch.tensor([1, 2], device=device).device == device
    x = torch.arange(6.0, device=device)
    x[1:3].mul_(10)
    x.view(2, 3).t()[0, 1] = -1
    assert x.cpu().tolist() == [0, 10, 20, -1, 4, 5]
    assert torch.add(x, 1, out=torch.empty(0, device=device)).cpu().tolist() == [1, 11, 21, 0, 5, 6]
    assert torch.zeros(2, device=device).resize_(3).shape == (3,)
    with torch.inference_mode():
        assert F.linear(x, x.view(1, 6)).item() == 0 + 100 + 400 + 1 + 16 + 25
    assert "vendora" in repr(x)


def test_random_numbers_are_the_cpus(vendor_a: Device) -> None:
    vendor_a.seed(7)
    state = vendor_a.rng_state()
    there = torch.randn(5, device=vendor_a.torch_device).cpu()
    vendor_a.set_rng_state(state)
    assert torch.equal(there, torch.randn(5))


def test_data_assignment_moves_the_numbers(vendor_a: Device) -> None:
    model = nn.Linear(3, 2).to(vendor_a.torch_device)
    expected = model.weight.cpu().half()
    model.half()
    assert model.weight.dtype == torch.float16 and model.weight.raw.dtype == torch.float16
    assert torch.equal(model.weight.cpu(), expected)
    with pytest.raises(TypeError, match="move it first"):
        model.weight.data = torch.zeros(2, 3)


def test_mixed_devices_are_refused(vendor_a: Device) -> None:
    x = torch.ones(3, device=vendor_a.torch_device)
    with pytest.raises(RuntimeError, match="same device"):
        x + torch.ones(3)
    assert (x + torch.tensor(1.0)).cpu().tolist() == [2, 2, 2]
    assert x[torch.tensor([0, 2])].shape == (2,)
    with pytest.raises(TypeError, match=r"Tensor\.cpu\(\) first"):
        x.numpy()


def test_autocast_computes_in_bf16(vendor_a: Device) -> None:
    device = vendor_a.torch_device
    torch.manual_seed(0)
    layer, x = nn.Linear(64, 64).to(device), torch.randn(8, 64, device=device)
    with vendor_a.autocast(torch.bfloat16):
        out = layer(x)
        assert F.softmax(out, -1).dtype == torch.float32
        assert torch.cat([out, x]).dtype == torch.float32
    assert out.dtype == torch.bfloat16
    exact = layer.weight.cpu().bfloat16(), x.cpu().bfloat16(), layer.bias.cpu().bfloat16()
    assert torch.equal(out.cpu(), F.linear(exact[1], exact[0], exact[2]))
    out.float().sum().backward()
    assert layer.weight.grad is not None and layer.weight.grad.dtype == torch.float32
    with vendor_a.autocast(None):
        assert layer(x).dtype == torch.float32


def test_fp16_with_scaler_skips_an_overflow(vendor_a: Device) -> None:
    weight = nn.Parameter(torch.ones(2).to(vendor_a.torch_device))
    optimizer, scaler = torch.optim.SGD([weight], lr=0.5), vendor_a.grad_scaler(True)
    for factor, expected in ((1.0, 0.5), (float("inf"), 0.5)):
        optimizer.zero_grad()
        scaler.scale(weight.sum() * factor).backward()
        scaler.step(optimizer)
        scaler.update()
        assert weight.detach().cpu().tolist() == [expected] * 2


def test_probe(open_vendor_a: Callable[..., Device]) -> None:
    device = open_vendor_a(without_dtypes=["float16"])
    verdicts = device.probe_dtypes([torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64])
    assert [v.works for v in verdicts.values()] == [True, False, True, False, True]
    assert "MIG402" in verdicts[torch.float16].reason
    assert verdicts[torch.bfloat16].fast and verdicts[torch.bfloat16].slowdown == pytest.approx(0.25)
