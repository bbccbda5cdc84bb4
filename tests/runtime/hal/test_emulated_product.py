"""Products are emulated by their target's name, whatever torch calls their device. One process each: torch has one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from migrate.opmap import load_target, resolve

STEP = """
import copy, sys, torch
from pathlib import Path
from torch import nn
from runtime.hal import open_device

name, profile = sys.argv[1:]
torch.manual_seed(0)
here = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.Flatten(), nn.Linear(144, 5))
x, y = torch.randn(4, 3, 8, 8), torch.tensor([0, 1, 2, 3])
device = open_device(name, Path(profile))
there = copy.deepcopy(here).to(device.torch_device)
for model, where in ((here, "cpu"), (there, device.torch_device)):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    nn.functional.cross_entropy(model(x.to(where)), y.to(where)).backward()
    optimizer.step()
assert all(torch.equal(a, b.cpu()) for a, b in zip(here.parameters(), there.parameters(), strict=True))
stats = device.memory()
print(device.name, device.torch_device.type, device.process_group_backend, stats.total, device.clock())
"""


@pytest.mark.parametrize(
    ("name", "device_type", "memory"),
    [
        ("ascend_910b", "npu", str(64 * 2**30)),
        ("nvidia_a100", "emulated", str(80 * 10**9)),
        ("cambricon_mlu590", "mlu", "None"),
    ],
)
def test_a_product_trains_bit_for_bit_as_the_cpu(name: str, device_type: str, memory: str, tmp_path: Path) -> None:
    profile = tmp_path / "target.json"
    profile.write_text(json.dumps(resolve(load_target(name))))
    done = subprocess.run([sys.executable, "-c", STEP, name, str(profile)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = done.stdout.split()
    assert found[:4] == [name, device_type, f"cpu:gloo,{device_type}:gloo", memory]
    assert float(found[4]) > 0
