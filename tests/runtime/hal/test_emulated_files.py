"""What is saved on the emulated device loads where there is none."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch
import torch.distributed.checkpoint as dcp
from torch import nn

from runtime.hal import Device


@pytest.fixture
def model(vendor_a: Device) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).to(vendor_a.torch_device)


def equal(state: dict[str, torch.Tensor], model: nn.Module) -> bool:
    expected = {name: tensor.cpu() for name, tensor in model.state_dict().items()}
    return state.keys() == expected.keys() and all(torch.equal(state[n].cpu(), expected[n]) for n in expected)


def test_torch_save_loads_without_the_device(model: nn.Module, tmp_path: Path) -> None:
    torch.save(model.state_dict(), tmp_path / "state.pt")
    code = f"import torch; print(sorted(torch.load({str(tmp_path / 'state.pt')!r}, weights_only=True)))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == str(sorted(model.state_dict()))
    loaded = torch.load(tmp_path / "state.pt", weights_only=True)
    assert all(tensor.device.type == "cpu" for tensor in loaded.values())
    assert equal(loaded, model)


def test_load_state_dict_from_the_host(model: nn.Module, tmp_path: Path) -> None:
    safetensors.torch.save_file({n: t.cpu() for n, t in model.state_dict().items()}, tmp_path / "state.safetensors")
    saved = safetensors.torch.load_file(tmp_path / "state.safetensors")
    with torch.no_grad():
        model[0].weight.zero_()
    model.load_state_dict(saved)
    assert equal(saved, model) and model[0].weight.device.type == "vendora"


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
def test_distributed_checkpoint(model: nn.Module, tmp_path: Path) -> None:
    saved = {name: tensor.cpu().clone() for name, tensor in model.state_dict().items()}
    dcp.save({"model": model.state_dict()}, checkpoint_id=tmp_path / "dcp", no_dist=True)
    with torch.no_grad():
        model[0].weight.zero_()
    state = {"model": model.state_dict()}
    dcp.load(state, checkpoint_id=tmp_path / "dcp", no_dist=True)
    model.load_state_dict(state["model"])
    assert equal(saved, model)


def test_deepcopy_is_apart(model: nn.Module) -> None:
    twin = copy.deepcopy(model)
    assert equal(twin.state_dict(), model)
    assert isinstance(twin[0].weight, nn.Parameter) and twin[0].weight.requires_grad
    with torch.no_grad():
        twin[0].weight.zero_()
    assert not equal(twin.state_dict(), model)
