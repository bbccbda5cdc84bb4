from __future__ import annotations

import torch

from migrate.opmap.live import LiveBytes, total_bytes


def test_storages_are_counted_once_and_freed_with_their_last_tensor():
    live = LiveBytes("cpu")
    x = torch.empty(100)
    live.add([x, x.view(10, 10)])
    assert (live.current, live.peak) == (400, 400)
    y = torch.empty(50)
    live.add([y])
    del x
    assert (live.current, live.peak) == (200, 600)
    del y
    assert live.current == 0


def test_other_devices_do_not_count():
    live = LiveBytes("traced")
    live.add([torch.empty(8)])
    assert live.peak == 0


def test_saved_tensors_exclude_the_model_and_count_a_storage_once():
    live = LiveBytes("cpu")
    weight, x = torch.ones(4, 4, requires_grad=True), torch.ones(2, 4)
    live.add_model([weight])
    with torch.autograd.graph.saved_tensors_hooks(live.pack, lambda tensor: tensor):
        y = (x @ weight).exp()
        y = y * y
    assert sum(live.saved.values()) == total_bytes([x]) + total_bytes([y])
