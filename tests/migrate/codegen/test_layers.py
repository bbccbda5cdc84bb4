"""Every layer: it becomes the module of torch.nn, has the right keys, and computes what the function computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch


def conv2d(net: Any) -> Any:
    x = net.batch(4, 8, 8)
    return net.conv2d(x, net.tensor_of(6, 2, 3, 3), net.tensor_of(6), (2, 2), (1, 1), (1, 1), 2)


def conv1d(net: Any) -> Any:
    return net.conv1d(net.batch(4, 9), net.tensor_of(6, 4, 3), None, 1, 1)


def conv_transpose2d(net: Any) -> Any:
    return net.conv_transpose2d(net.batch(4, 5, 5), net.tensor_of(4, 3, 2, 2), net.tensor_of(3), 2, 0, 0, 1, 1)


def linear(net: Any) -> Any:
    return net.linear(net.batch(4), net.tensor_of(7, 4))


def batch_norm_of_images(net: Any) -> Any:
    x = net.batch(4, 5, 5)
    mean = net.tensor_of(4, role="buffer", kind="running_mean")
    var = net.tensor_of(4, role="buffer", kind="running_var")
    return net.batch_norm(x, mean, var, net.tensor_of(4), net.tensor_of(4), False, 0.03, 1e-3)


def batch_norm_of_vectors(net: Any) -> Any:
    x = net.batch(4)
    mean = net.tensor_of(4, role="buffer", kind="running_mean")
    var = net.tensor_of(4, role="buffer", kind="running_var")
    return net.batch_norm(x, mean, var, None, None, False, 0.1, 1e-5)


def instance_norm(net: Any) -> Any:
    return net.instance_norm(net.batch(4, 5, 5), None, None, net.tensor_of(4), net.tensor_of(4), True, 0.1, 1e-5)


def layer_norm(net: Any) -> Any:
    return net.layer_norm(net.batch(3, 6), (6,), net.tensor_of(6), net.tensor_of(6), 1e-6)


def layer_norm_without_bias(net: Any) -> Any:
    return net.layer_norm(net.batch(3, 6), (6,), net.tensor_of(6), None, 1e-5)


def rms_norm(net: Any) -> Any:
    return net.rms_norm(net.batch(3, 6), (6,), net.tensor_of(6), 1e-6)


def group_norm(net: Any) -> Any:
    return net.group_norm(net.batch(4, 5, 5), 2, net.tensor_of(4), net.tensor_of(4), 1e-5)


def embedding(net: Any) -> Any:
    return net.embedding(net.batch(3, dtype="int64"), net.tensor_of(9, 5))


def prelu(net: Any) -> Any:
    return net.prelu(net.batch(4, 5, 5), net.tensor_of(4))


def lstm(net: Any) -> Any:
    x = net.batch(7, 3)
    state = net.full((2, x.shape[0], 4), 0.0)
    params = [net.tensor_of(16, k) for way in range(2) for k in (3, 4)]
    weights = (params[0], params[1], net.tensor_of(16), net.tensor_of(16))
    weights += (params[2], params[3], net.tensor_of(16), net.tensor_of(16))
    return net.lstm(x, (state, state), weights, True, 1, 0.0, False, True, True)[0]


def gru_with_state(net: Any) -> Any:
    x, h = net.batch(7, 3), net.input("h", "float32", [1, ("batch", (2, 3, 5)), 4])
    weights = (net.tensor_of(12, 3), net.tensor_of(12, 4), net.tensor_of(12), net.tensor_of(12))
    return net.gru(x, h, weights, True, 1, 0.0, False, False, True)


CASES: list[tuple[Callable[..., Any], str, list[tuple[int, ...]]]] = [
    (conv2d, "nn.Conv2d(4, 6, kernel_size=3, stride=2, padding=1, groups=2)", [(3, 4, 8, 8)]),
    (conv1d, "nn.Conv1d(4, 6, kernel_size=3, padding=1, bias=False)", [(3, 4, 9)]),
    (conv_transpose2d, "nn.ConvTranspose2d(4, 3, kernel_size=2, stride=2)", [(3, 4, 5, 5)]),
    (linear, "nn.Linear(4, 7, bias=False)", [(3, 4)]),
    (batch_norm_of_images, "nn.BatchNorm2d(4, eps=0.001, momentum=0.03)", [(3, 4, 5, 5)]),
    (batch_norm_of_vectors, "nn.BatchNorm1d(4, affine=False)", [(3, 4)]),
    (instance_norm, "nn.InstanceNorm2d(4, affine=True)", [(3, 4, 5, 5)]),
    (layer_norm, "nn.LayerNorm(6, eps=1e-06)", [(3, 3, 6)]),
    (layer_norm_without_bias, "nn.LayerNorm(6, bias=False)", [(3, 3, 6)]),
    (rms_norm, "nn.RMSNorm(6, eps=1e-06)", [(3, 3, 6)]),
    (group_norm, "nn.GroupNorm(2, 4)", [(3, 4, 5, 5)]),
    (embedding, "nn.Embedding(9, 5)", [(3, 3)]),
    (prelu, "nn.PReLU(4)", [(3, 4, 5, 5)]),
    (lstm, "nn.LSTM(3, 4, batch_first=True, bidirectional=True)", [(2, 7, 3)]),
    (gru_with_state, "nn.GRU(3, 4, batch_first=True)", [(2, 7, 3), (1, 2, 4)]),
]


@pytest.mark.parametrize(("build", "constructor", "shapes"), CASES, ids=lambda c: getattr(c, "__name__", None))
def test_layer(
    net: Any, agrees: Any, model_text: Any, build: Callable[..., Any], constructor: str, shapes: list[tuple[int, ...]]
) -> None:
    made = build(net)
    plan = net.plan(*(made if isinstance(made, tuple) else (made,)))
    text = model_text(plan).replace("config.num_classes", "7")
    assert constructor in text
    torch.manual_seed(0)
    inputs = [
        torch.randint(0, 9, shape) if value.dtype == "int64" else torch.randn(shape)
        for value, shape in zip(net.graph.inputs, shapes, strict=True)
    ]
    # the kernels of recurrent layers round by where their weights lie in memory
    module = agrees(plan, *inputs, ulps=4 if build in (lstm, gru_with_state) else 0)
    keys = {key for key in module.state_dict() if not key.endswith("num_batches_tracked")}
    assert keys == {tensor.key for tensor in plan.tensors}


def test_dropout_follows_train_and_eval(net: Any, model_text: Any) -> None:
    from migrate.codegen import to_module

    x = net.batch(64)
    plan = net.plan(net.dropout(net.dense(x, 64), 0.25, False))
    assert "nn.Dropout(config.dropout)" in model_text(plan)
    module = to_module(plan)
    zeros = (module.train()(torch.ones(4, 64)) == 0).float().mean()
    assert 0.1 < zeros < 0.4
    assert not (module.eval()(torch.ones(4, 64)) == 0).any()


def test_batch_norm_updates_its_statistics_in_training(net: Any) -> None:
    from migrate.codegen import to_module

    module = to_module(net.plan(net.conv_norm(net.batch(3, 8, 8), 4)))
    before = {k: v.clone() for k, v in module.state_dict().items() if "running" in k}
    module.train()(torch.randn(4, 3, 8, 8))
    assert before and all(not torch.equal(v, module.state_dict()[k]) for k, v in before.items())


def test_a_computed_weight_stays_a_call(net: Any, agrees: Any, model_text: Any) -> None:
    x = net.batch(4, 5, 5)
    plan = net.plan(net.conv2d(x, net.sigmoid(net.tensor_of(3, 4, 1, 1, name="kernel")), None))
    assert "F.conv2d(x, torch.sigmoid(self.kernel))" in model_text(plan)
    agrees(plan, torch.randn(2, 4, 5, 5))


def test_a_constant_kernel_is_a_buffer(net: Any, agrees: Any) -> None:
    x = net.batch(4, 5, 5)
    plan = net.plan(net.dense(net.mean(net.conv2d(x, net.tensor_of(3, 4, 1, 1, role="buffer"), None), (2, 3)), 2))
    module = agrees(plan, torch.randn(2, 4, 5, 5))
    assert [name for name, _ in module.named_buffers()] == ["kernel"]
