"""Changes of buffers are in place, and no gradient goes through them."""

import torch
from torch import nn

from runtime.functional.state import count_batch, update


def test_a_buffer_is_written_in_place():
    buffer, parameter = torch.zeros(3), nn.Parameter(torch.ones(3))
    assert update(buffer, parameter * 2) is buffer
    assert torch.equal(buffer, torch.full((3,), 2.0)) and not buffer.requires_grad


def test_batches_are_counted_while_training():
    count = torch.tensor(4)
    count_batch(count, training=False)
    count_batch(count, training=True)
    assert count.item() == 5
