"""A model on a device that does not exist: shapes and ties as they were, and no memory."""

from __future__ import annotations

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from migrate.opmap.fakes import fake_model


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head, self.rnn = nn.Embedding(8, 4), nn.Linear(4, 8, bias=False), nn.LSTM(4, 4)
        self.head.weight = self.embed.weight
        self.rnn.requires_grad_(False)
        self.register_buffer("scale", torch.ones(3, dtype=torch.float16))


def test_every_tensor_becomes_a_fake_of_its_shape_and_dtype():
    before, made = Tied(), Tied()
    fake_model(FakeTensorMode(), made, torch.device("meta"))
    plain = dict(before.state_dict())
    for name, tensor in made.state_dict().items():
        assert isinstance(tensor, FakeTensor)
        assert (tensor.shape, tensor.dtype) == (plain[name].shape, plain[name].dtype)
    assert made.head.weight is made.embed.weight and made.embed.weight.requires_grad
    assert isinstance(made.embed.weight, nn.Parameter) and not made.rnn.weight_ih_l0.requires_grad


def test_recurrent_layers_see_their_new_weights():
    made = fake_model(FakeTensorMode(), Tied(), torch.device("meta"))
    assert all(
        flat is getattr(made.rnn, name)
        for flat, name in zip(made.rnn._flat_weights, made.rnn._flat_weights_names, strict=True)
    )
