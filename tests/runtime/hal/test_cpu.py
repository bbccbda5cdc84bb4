"""The CPU device, and with it what every device inherits."""

from __future__ import annotations

import time

import pytest
import torch
import torch.nn.functional as F

from runtime.hal import Device, DeviceError, KernelDesc, open_device


@pytest.fixture
def cpu() -> Device:
    return open_device("cpu")


def test_name_and_backend(cpu: Device) -> None:
    assert (cpu.name, str(cpu.torch_device), cpu.process_group_backend, cpu.clock()) == ("cpu", "cpu", "gloo", None)
    assert open_device("cpu:3").name == "cpu"


def test_memory_follows_allocations(cpu: Device) -> None:
    cpu.reset_peak()
    before = cpu.memory()
    block = torch.ones(2**24)
    grown = cpu.memory()
    assert grown.used - before.used > 2**25
    assert grown.peak >= grown.used
    del block
    assert before.total is not None and before.total > grown.used


def test_rng_state_round_trip(cpu: Device) -> None:
    cpu.seed(3)
    state = cpu.rng_state()
    first = torch.rand(4)
    cpu.set_rng_state(state)
    assert torch.equal(first, torch.rand(4))
    cpu.seed(3)
    assert torch.equal(first, torch.rand(4))


def test_events_measure_time(cpu: Device) -> None:
    start, end = cpu.event(), cpu.event()
    with cpu.stream():
        start.record()
        time.sleep(0.02)
        end.record()
    assert 20 <= start.elapsed_time(end) < 2000
    with pytest.raises(RuntimeError, match="both events"):
        start.elapsed_time(cpu.event())


def test_autocast(cpu: Device) -> None:
    left = torch.ones(2, 2)
    with cpu.autocast(torch.bfloat16):
        assert (left @ left).dtype == torch.bfloat16
    for dtype in (None, torch.float32):
        with cpu.autocast(dtype):
            assert (left @ left).dtype == torch.float32


def _scaled_step(scaler: torch.amp.GradScaler, loss_factor: float) -> torch.Tensor:
    weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    scaler.scale((weight * 3).sum() * loss_factor).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return weight.detach()


def test_grad_scaler_steps_and_skips_an_overflow(cpu: Device) -> None:
    scaler = cpu.grad_scaler(True)
    scale = scaler.get_scale()
    assert torch.equal(_scaled_step(scaler, 1.0), torch.tensor([-0.5, 0.5]))
    assert scaler.get_scale() == scale
    assert torch.equal(_scaled_step(scaler, float("inf")), torch.tensor([1.0, 2.0]))
    assert scaler.get_scale() == scale / 2


def test_grad_scaler_refuses_to_unscale_twice(cpu: Device) -> None:
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer, scaler = torch.optim.SGD([weight], lr=0.1), cpu.grad_scaler(True)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="unscale_"):
        scaler.unscale_(optimizer)
    assert not cpu.grad_scaler(False).is_enabled()


def test_launch_kernel(cpu: Device) -> None:
    double = KernelDesc(name="double", function=lambda x: 2 * x)
    assert cpu.launch_kernel(double, [torch.ones(2)]).tolist() == [2, 2]
    elsewhere = KernelDesc(name="double", function=lambda x: 2 * x, device_types=("npu",))
    with pytest.raises(DeviceError, match="is for npu, not cpu"):
        cpu.launch_kernel(elsewhere, [torch.ones(2)])
    with pytest.raises(DeviceError, match="only source"):
        cpu.launch_kernel(KernelDesc(name="double", source="..."), [])


def test_probe_runs_and_remembers(cpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    dtypes = [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.float8_e4m3fn]
    state = cpu.rng_state()
    verdicts = cpu.probe_dtypes(dtypes)
    assert torch.equal(state, cpu.rng_state())
    works = {dtype: verdict.works for dtype, verdict in verdicts.items()}
    assert works == dict.fromkeys(dtypes, True) | {torch.float8_e4m3fn: False}
    assert verdicts[torch.float32].slowdown == 1
    assert verdicts[torch.bfloat16].error is not None and verdicts[torch.bfloat16].error > 0
    assert "not implemented" in verdicts[torch.float8_e4m3fn].reason
    monkeypatch.setattr("runtime.hal._probe._probe_one", None)
    assert cpu.probe_dtypes(dtypes) == verdicts


def test_probe_finds_a_wrong_and_a_slow_dtype(cpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    right = F.conv2d
    monkeypatch.setattr(F, "conv2d", lambda x, *a, **k: right(x, *a, **k) * (1.2 if x.dtype == torch.float16 else 1))
    seconds = {torch.float32: 1.0, torch.float16: 1.0, torch.bfloat16: 50.0}
    monkeypatch.setattr(cpu, "matmul_seconds", seconds.__getitem__)
    wrong, slow = cpu.probe_dtypes([torch.float16, torch.bfloat16]).values()
    assert not wrong.works and "off by" in wrong.reason
    assert slow.works and not slow.fast and "50 times" in slow.reason
