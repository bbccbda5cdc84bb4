"""The world without a launcher, with one, and leaving a process that is in a group."""

import subprocess
import sys

import pytest
import torch

from runtime.comm import World, end_process, start
from runtime.hal import open_device

IN_GROUP = """
import sys
from runtime.comm import end_process, start
from runtime.hal import open_device
import torch
world = start(open_device("cpu"))
total = world.sum(torch.tensor([float(world.rank + 1)], dtype=torch.float64))
print(f"rank {world.rank} of {world.size}: {total.item()}")
end_process(3)
"""


def test_alone(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    world = start(open_device("cpu"))
    assert world == World(rank=0, size=1) and world.is_main and not world.is_distributed
    assert world.sum(torch.tensor([2.0])).item() == 2.0


def test_outside_a_group_a_process_ends_as_usual():
    with pytest.raises(SystemExit) as caught:
        end_process(5)
    assert caught.value.code == 5


def test_two_processes_sum_and_leave_with_their_status(tmp_path):
    def process(rank):
        code = f"""
import os
os.environ.update(RANK="{rank}", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
import torch.distributed as dist
init = dist.init_process_group
dist.init_process_group = lambda backend: init(backend, init_method="file://{tmp_path}/store", rank={rank}, world_size=2)
{IN_GROUP}"""
        return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)

    processes = [process(rank) for rank in (0, 1)]
    outputs = [p.communicate(timeout=60)[0] for p in processes]
    assert outputs == ["rank 0 of 2: 3.0\n", "rank 1 of 2: 3.0\n"]
    assert [p.returncode for p in processes] == [3, 3]
