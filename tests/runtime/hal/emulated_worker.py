"""Run by torch's launcher, one process a rank: data parallel, tensor parallel and collectives on the emulated device.

Rank 0 prints one JSON object of what came out.
"""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

from runtime.hal import Device, open_device


def data_parallel(device: Device) -> dict[str, Any]:
    """Three steps with half the batch on each rank, beside one process on the CPU with all of it."""
    torch.manual_seed(0)
    alone = nn.Sequential(nn.Embedding(20, 16), nn.Flatten(), nn.Linear(64, 32), nn.GELU(), nn.Linear(32, 5))
    shared = DistributedDataParallel(copy.deepcopy(alone).to(device.torch_device))
    optimizers = [torch.optim.AdamW(m.parameters(), lr=1e-2) for m in (alone, shared)]
    x, y = torch.randint(0, 20, (8, 4)), torch.randint(0, 5, (8,))
    mine = slice(dist.get_rank() * 4, dist.get_rank() * 4 + 4)
    losses: list[tuple[float, float]] = []
    for _ in range(3):
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = F.cross_entropy(alone(x), y)
        loss.backward()
        part = F.cross_entropy(shared(x[mine].to(device.torch_device)), y[mine].to(device.torch_device))
        part.backward()
        for optimizer in optimizers:
            optimizer.step()
        mean = part.detach() / dist.get_world_size()
        dist.all_reduce(mean)
        losses.append((loss.item(), mean.item()))
    pairs = zip(alone.parameters(), shared.parameters(), strict=True)
    return {"losses": losses, "difference": max((a - b.cpu()).abs().max().item() for a, b in pairs)}


def tensor_parallel(device: Device) -> float:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).to(device.torch_device)
    x = torch.randn(4, 8).to(device.torch_device)
    expected = model(x)
    mesh = init_device_mesh(device.device_type, (dist.get_world_size(),))
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    out = model(x)
    out.sum().backward()
    return (out.cpu() - expected.cpu()).abs().max().item()


def collectives(device: Device) -> dict[str, Any]:
    there, rank = device.torch_device, dist.get_rank()
    gathered = torch.zeros(4, device=there)
    dist.all_gather_into_tensor(gathered, torch.full((2,), float(rank), device=there))
    scattered = torch.zeros(2, device=there)
    dist.reduce_scatter_tensor(scattered, torch.arange(4.0, device=there))
    sent = torch.full((2,), 2 * rank, dtype=torch.uint8).to(there)
    swapped = torch.zeros(2, dtype=torch.uint8).to(there)
    dist.all_to_all_single(swapped, sent)
    broadcast = torch.full((2,), float(rank), device=there)
    dist.broadcast(broadcast, 1)
    results = {"gather": gathered, "scatter": scattered, "swap": swapped, "broadcast": broadcast}
    return {name: tensor.cpu().tolist() for name, tensor in results.items()}


def main() -> None:
    torch.set_num_threads(1)
    device = open_device("vendor_a", Path(sys.argv[1]))
    dist.init_process_group(device.process_group_backend)
    results = {
        "data_parallel": data_parallel(device),
        "tensor_parallel": tensor_parallel(device),
        "collectives": collectives(device),
    }
    if dist.get_rank() == 0:
        print(json.dumps(results))
    dist.destroy_process_group()


main()
