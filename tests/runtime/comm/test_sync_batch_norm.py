"""Synchronised batch normalisation in a group of one is plain batch normalisation, values, gradients and statistics."""

import copy

import pytest
import torch
import torch.distributed as dist
from torch import nn

from runtime.comm import SyncBatchNorm, convert_sync_batch_norm


@pytest.fixture
def group(tmp_path):
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize("norm", [nn.BatchNorm2d(3), nn.BatchNorm2d(3, momentum=None), nn.BatchNorm2d(3, affine=False)])
def test_equals_batch_norm(group, norm):
    plain, synchronised = copy.deepcopy(norm), convert_sync_batch_norm(copy.deepcopy(norm))
    assert isinstance(synchronised, SyncBatchNorm)
    for step in range(2):
        x = (torch.randn(4, 3, 5, 5, generator=torch.Generator().manual_seed(step)) * 3 + 7).requires_grad_()
        y = x.detach().clone().requires_grad_()
        (plain(x) ** 3).sum().backward()
        (synchronised(y) ** 3).sum().backward()
        torch.testing.assert_close(y.grad, x.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(synchronised.state_dict(), plain.state_dict())
    torch.testing.assert_close(synchronised.eval()(x), plain.eval()(x))


def test_conversion_keeps_parameters_names_and_mode():
    model = nn.Sequential(nn.Conv1d(2, 2, 1), nn.ModuleDict({"norm": nn.BatchNorm1d(2).eval()}))
    before = dict(model.named_parameters())
    names = list(model.state_dict())
    converted = convert_sync_batch_norm(model)
    assert list(converted.state_dict()) == names
    assert all(p is before[name] for name, p in converted.named_parameters())
    assert isinstance(converted[1]["norm"], SyncBatchNorm) and not converted[1]["norm"].training
