"""Bytes are exact, the budget is enforced, and the clock follows the profile."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
import torch
from torch import nn

from runtime.hal import Device
from runtime.train.recompute import recompute_blocks

Open = Callable[..., Device]
MIB = 2**20


class Perceptron(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Linear(32, 128), nn.GELU(), nn.Linear(128, 32))


def test_bytes_are_exact_and_return_to_zero(vendor_a: Device) -> None:
    gc.collect()
    assert vendor_a.memory().used == 0
    x = torch.zeros(1000, device=vendor_a.torch_device)
    view, other = x[10:], x.double
    assert vendor_a.memory().used == 4000
    y = x + 1
    vendor_a.reset_peak()
    assert vendor_a.memory().used == vendor_a.memory().peak == 8000
    z = y * 2
    del x, other, z
    assert (vendor_a.memory().used, vendor_a.memory().peak) == (8000, 12000)
    del view, y
    assert vendor_a.memory().used == 0
    grown = torch.zeros(1, device=vendor_a.torch_device).resize_(100)
    assert vendor_a.memory().used == 400
    del grown
    assert vendor_a.memory().used == 0


def test_training_leaves_nothing_behind(vendor_a: Device) -> None:
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3))
    model.to(vendor_a.torch_device)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(2, 1, 4, 4, device=vendor_a.torch_device)).sum().backward()
        optimizer.step()
    weights = sum(p.nbytes for p in model.parameters())
    buffers = sum(b.nbytes for b in model.buffers())
    # weights, gradients and two moments; AdamW keeps its step counts on the host
    assert vendor_a.memory().used == 4 * weights + buffers
    del model, optimizer
    gc.collect()
    assert vendor_a.memory().used == 0


def test_out_of_memory_forward_raises_and_recovers(open_vendor_a: Open) -> None:
    device = open_vendor_a(memory_bytes=MIB)
    held = torch.zeros(MIB // 8, device=device.torch_device)
    with pytest.raises(torch.OutOfMemoryError, match=r"vendor_a out of memory. Tried to allocate 0.57 MiB"):
        torch.zeros(150_000, device=device.torch_device)
    gc.collect()
    assert device.memory().used == MIB // 2 and device.memory().peak <= MIB
    assert torch.ones(MIB // 16, device=device.torch_device).sum().item() == MIB // 16
    del held


def test_out_of_memory_backward_raises_and_recovers(open_vendor_a: Open) -> None:
    device = open_vendor_a(memory_bytes=900_000)  # weight, two results, and no room for a gradient
    weight = torch.ones(60_000, device=device.torch_device, requires_grad=True)
    loss = torch.sigmoid(weight).sum() + torch.tanh(weight).sum()
    with pytest.raises(torch.OutOfMemoryError, match="vendor_a out of memory"):
        loss.backward()
    weight.grad = None
    del loss
    gc.collect()
    assert device.memory().used == 240_000
    (weight * 2).sum().backward()
    assert weight.grad is not None and weight.grad[0].item() == 2


def test_clock_follows_the_roofline(vendor_a: Device) -> None:
    device, launch = vendor_a.torch_device, 5e-6

    def seconds(work: Callable[[], object]) -> float:
        before = vendor_a.clock()
        work()
        return vendor_a.clock() - before

    a, half = torch.ones(512, 512, device=device), torch.ones(512, 512, dtype=torch.float16, device=device)
    num_bytes, flops = 3 * 512 * 512 * 4, 2 * 512**3
    assert seconds(lambda: a @ a) == pytest.approx(launch + max(num_bytes / 1e12, flops / 1e14))
    assert seconds(lambda: half @ half) == pytest.approx(launch + max(num_bytes / 2 / 1e12, flops / 4e14))
    assert seconds(lambda: a + a) == pytest.approx(launch + num_bytes / 1e12)
    assert seconds(lambda: a.t().unsqueeze(0)) == 0
    assert seconds(lambda: a.cpu()) == pytest.approx(1e-5 + a.nbytes / 2e10)
    many = [torch.ones(4, device=device) for _ in range(10)]
    assert seconds(lambda: torch._foreach_add_(many, 1.0)) == pytest.approx(10 * launch, rel=1e-2)


def test_events_read_the_virtual_clock(vendor_a: Device) -> None:
    start, end = vendor_a.event(), vendor_a.event()
    start.record()
    torch.ones(10, device=vendor_a.torch_device).add_(1)
    end.record()
    assert start.elapsed_time(end) == pytest.approx(2 * 5e-3, rel=0.01)


def test_recomputed_blocks_take_less_memory_and_more_time(vendor_a: Device) -> None:
    def clock() -> float:
        seconds = vendor_a.clock()
        assert seconds is not None
        return seconds

    def step(recompute: bool) -> tuple[int, float]:
        model = nn.Sequential(*(Perceptron() for _ in range(8))).to(vendor_a.torch_device)
        if recompute:
            recompute_blocks(model)
        x = torch.ones(1024, 32, device=vendor_a.torch_device)
        gc.collect()
        held, start = vendor_a.memory().used, clock()
        vendor_a.reset_peak()
        model(x).sum().backward()
        return vendor_a.memory().peak - held, clock() - start

    (plain, seconds), (less, more_seconds) = step(False), step(True)
    assert less < plain / 2
    assert seconds < more_seconds < 1.5 * seconds
