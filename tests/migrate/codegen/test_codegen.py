"""Plans from graphs: module tree, names, ties, sizes, outputs. Numbers must equal those of the graph."""

from __future__ import annotations

import ast
from typing import Any

import torch

from migrate.codegen import to_module


def longest_forward(text: str) -> int:
    functions = [f for f in ast.walk(ast.parse(text)) if isinstance(f, ast.FunctionDef)]
    return max((f.end_lineno or 0) - f.lineno + 1 for f in functions if f.name in ("forward", "logits"))


# ---- scopes


def resnet(net: Any, width: int = 8, blocks: int = 2) -> Any:
    x = net.batch(3, 8, 8)
    with net.at(("stem", "conv"), "/stem/conv/Conv"):
        x = net.conv2d(x, net.tensor_of(width, 3, 3, 3), None, 1, 1)
    for k in range(blocks):
        residual = x
        for part in ("conv1", "conv2"):
            with net.at(("layer1", str(k), part), f"/layer1/layer1.{k}/{part}/Conv"):
                x = net.conv2d(x, net.tensor_of(width, width, 3, 3), None, 1, 1)
            with net.at(("layer1", str(k), "relu"), f"/layer1/layer1.{k}/relu/Relu"):
                x = net.relu(x)
        with net.at(("layer1", str(k)), f"/layer1/layer1.{k}/Add"):
            x = net.add(x, residual)
    x = net.mean(x, (2, 3))
    with net.at(("fc",), "/fc/Gemm"):
        return net.dense(x, 5)


def test_scopes_become_the_module_tree(net: Any, agrees: Any, model_text: Any) -> None:
    plan = net.plan(resnet(net))
    module = agrees(plan, torch.randn(3, 3, 8, 8))
    assert list(module.state_dict()) == [
        "stem.conv.weight", "layer1.0.conv1.weight", "layer1.0.conv2.weight", "layer1.1.conv1.weight",
        "layer1.1.conv2.weight", "fc.weight", "fc.bias",
    ]  # fmt: skip
    text = model_text(plan)
    assert text.count("class ") == 3  # Stem, one block for both, Model
    assert "return x + h" in text or "+ x" in text
    assert plan.modules["layer1.0.conv1"] == ("/layer1/layer1.0/conv1/Conv",)
    assert {"layer1.0", "layer1.1", "fc", "stem.conv"} <= set(plan.outputs_of.values())


def test_equal_blocks_of_other_width_share_a_class_with_arguments(net: Any, agrees: Any, model_text: Any) -> None:
    x = net.batch(3, 8, 8)
    for k, width in enumerate((4, 6, 9)):
        with net.at(("blocks", str(k)), f"blocks.{k}"):
            x = net.conv_norm(x, width)
    plan = net.plan(net.mean(x, (2, 3)))
    text = model_text(plan)
    assert "class ConvNormReLU(nn.Module)" in text and text.count("class ") == 2
    assert "in_channels: int, out_channels: int" in text
    assert "self.norm = nn.BatchNorm2d(out_channels)" in text
    assert "nn.Sequential(" in text and "self.blocks(x)" in text
    agrees(plan, torch.randn(2, 3, 8, 8))


def test_numbers_in_a_forward_become_arguments_where_blocks_differ(net: Any, agrees: Any, model_text: Any) -> None:
    x = net.batch(24)
    for k, parts in enumerate((4, 6)):
        with net.at(("blocks", str(k)), f"blocks.{k}"):
            x = net.dense(x, 24)
            x = net.softmax(net.reshape(x, (x.shape[0], parts, 24 // parts)), -1)
            x = net.reshape(x, (x.shape[0], 24))
    plan = net.plan(x)
    text = model_text(plan)
    assert text.count("class ") == 2 and "self.size" in text
    agrees(plan, torch.randn(3, 24))


def test_a_scope_entered_twice_is_called_twice(net: Any, agrees: Any, model_text: Any) -> None:
    x = net.batch(4)
    weights = [net.tensor_of(4, 4, name="a"), net.tensor_of(4, 4, name="b")]

    def shared(value: Any) -> Any:
        with net.at(("shared",), "/shared"):
            return net.linear(net.tanh(net.linear(value, weights[0])), weights[1])

    plan = net.plan(shared(net.relu(shared(x))))
    text = model_text(plan)
    assert "self.shared(F.relu(self.shared(x)))" in text and len(plan.tensors) == 2
    agrees(plan, torch.randn(3, 4))


def test_a_module_called_many_times_in_a_row(net: Any, agrees: Any, model_text: Any) -> None:
    x = net.batch(4)
    weight = net.tensor_of(4, 4, name="a")
    for _ in range(3):
        with net.at(("block",), "/block"):
            x = net.add(x, net.tanh(net.linear(x, weight)))
    plan = net.plan(x)
    assert "self.block(self.block(self.block(x)))" in model_text(plan)
    agrees(plan, torch.randn(3, 4))


def test_a_scope_that_cannot_be_brought_together_is_a_container(net: Any, agrees: Any, model_text: Any) -> None:
    x = net.batch(4)
    with net.at(("enc",), "/enc/a"):
        a = net.dense(x, 4)
    with net.at(("dec",), "/dec/a"):
        b = net.tanh(net.dense(a, 4))
    with net.at(("enc",), "/enc/b"):
        c = net.dense(b, 4)
    with net.at(("dec",), "/dec/b"):
        plan = net.plan(net.relu(net.dense(c, 4)))
    module = agrees(plan, torch.randn(3, 4))
    assert {key.split(".")[0] for key in module.state_dict()} <= {"enc", "dec"}


def test_interleaved_branches_are_brought_together(net: Any, agrees: Any, model_text: Any) -> None:
    x = net.batch(4)
    left = right = x
    for k in range(2):
        with net.at(("left", f"fc{k}"), f"/left/{k}"):
            left = net.dense(left, 4)
        with net.at(("right", f"fc{k}"), f"/right/{k}"):
            right = net.dense(right, 4)
    plan = net.plan(net.add(left, right))
    assert "self.left(x) + self.right(x)" in model_text(plan)
    agrees(plan, torch.randn(3, 4))


def test_hostile_scopes_and_names(net: Any, agrees: Any, model_text: Any) -> None:
    x = net.batch(4, name='x"); import os #')
    scopes = ['a"); import os #', "forward", "class", "1abc", "été", "Fc", "fc", ""]
    for scope in scopes:
        with net.at((scope, "inner"), f'{scope}"""\nimport os\n'):
            x = net.dense(x, 4, name=f'{scope}"\n')
    plan = net.plan(net.relu(x))
    text = model_text(plan)
    assert "\nimport os" not in text
    agrees(plan, torch.randn(3, 4))


# ---- no scopes


def test_a_big_graph_without_scopes_is_cut_into_short_parts(net: Any, agrees: Any, model_text: Any) -> None:
    x = net.batch(3, 8, 8)
    x = net.conv_norm(x, 4)
    for _ in range(30):
        x = net.add(x, net.conv_norm(net.conv_norm(x, 4), 4, act=False))
    plan = net.plan(net.dense(net.mean(x, (2, 3)), 3))
    text = model_text(plan)
    assert longest_forward(text) <= 30
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "self.stem" in text and "self.head" in text
    module = agrees(plan, torch.randn(2, 3, 8, 8))
    assert next(iter(module.state_dict())).startswith("stem.")


def test_a_small_graph_is_one_class(net: Any, agrees: Any, model_text: Any) -> None:
    plan = net.plan(net.dense(net.relu(net.dense(net.batch(4), 8)), 3))
    text = model_text(plan)
    assert text.count("class ") == 1
    assert "return self.head(F.relu(self.linear(x)))" in text
    agrees(plan, torch.randn(3, 4))


def test_no_name_is_an_op_and_a_long_number(net: Any, model_text: Any) -> None:
    import re

    x = net.batch(3, 8, 8)
    for _ in range(40):
        x = net.conv_norm(x, 3)
    assert not re.search(r"\b(conv2d|relu|t|val|v|tensor)_\d+\b", model_text(net.plan(x)))


# ---- tensors


def test_ties_are_one_tensor(net: Any, agrees: Any) -> None:
    ids = net.batch(6, dtype="int64", name="ids")
    table = net.tensor_of(9, 4, name="embed.weight")
    with net.at(("embed",), "/embed"):
        x = net.embedding(ids, table)
    x = net.tanh(x)
    with net.at(("head",), "/head"):
        plan = net.plan(net.linear(x, table))
    module = agrees(plan, torch.randint(0, 9, (3, 6)))
    assert module.head.weight is module.embed.weight
    assert {t.key: t.tied_to for t in plan.tensors} == {"embed.weight": None, "head.weight": "embed.weight"}
    assert plan.inputs[0].high == 9


def test_loose_tensors_are_parameters_and_buffers_by_role(net: Any, agrees: Any) -> None:
    x = net.batch(4)
    x = net.mul(x, net.tensor_of(4, name="onnx::Mul_12"))
    x = net.add(x, net.tensor_of(4, name="pos_embed"))
    plan = net.plan(net.add(x, net.tensor_of(4, name="anchors", role="buffer")))
    module = agrees(plan, torch.randn(3, 4))
    assert [n for n, _ in module.named_parameters()] == ["scale", "pos_embed"]
    assert [n for n, _ in module.named_buffers()] == ["anchors"]


def test_every_parameter_gets_a_gradient_and_can_be_drawn_afresh(net: Any) -> None:
    x = net.batch(3, 8, 8)
    x = net.mul(net.conv_norm(x, 4), net.tensor_of(4, 1, 1, name="gamma"))
    module: Any = to_module(net.plan(net.softmax(net.dense(net.mean(x, (2, 3)), 5), -1)))
    module.train()
    module.logits(torch.randn(4, 3, 8, 8)).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for n, p in module.named_parameters() if n != "conv.bias")
    before = module.head.weight.clone()
    module.init_weights()
    assert not torch.equal(before, module.head.weight)
    assert torch.equal(module.gamma, torch.ones(4, 1, 1))


def test_frozen_parameters_do_not_train(net: Any, agrees: Any) -> None:
    x = net.batch(4)
    frozen = net.linear(x, net.tensor_of(4, 4, trainable=False))
    plan = net.plan(net.dense(frozen, 2))
    module = agrees(plan, torch.randn(3, 4))
    assert [p.requires_grad for p in module.parameters()] == [False, True, True]


# ---- sizes


def test_sizes_are_read_from_local_values(net: Any, agrees: Any, model_text: Any) -> None:
    x = net.batch(4, ("height", (8, 12, 20)), 6)
    plan = net.plan(net.reshape(net.relu(x), (x.shape[0], 4, x.shape[2] * 6)))
    assert "reshape(x.shape[0], self.size, x.shape[2] * self.factor)" in model_text(plan)
    agrees(plan, torch.randn(3, 4, 10, 6))


def test_sizes_that_a_block_cannot_see_are_passed(net: Any, agrees: Any, model_text: Any) -> None:
    x = net.batch(("length", (8, 12, 20)), 4)
    pooled = net.mean(x, 1)
    with net.at(("up",), "/up"):
        y = net.dense(pooled, 4)
        y = net.expand(net.unsqueeze(y, 1), (y.shape[0], x.shape[1], 4))
        y = net.add(y, net.tensor_of(4))
    plan = net.plan(y)
    assert "length: int" in model_text(plan) and "self.up(x.mean(dim=1), x.shape[1])" in model_text(plan)
    agrees(plan, torch.randn(3, 11, 4))


def test_made_tensors_follow_the_device(net: Any, agrees: Any, model_text: Any) -> None:
    x = net.batch(("length", (8, 12, 20)), 4)
    positions = net.cast(net.unsqueeze(net.arange(x.shape[1], dtype="torch.int64"), 1), "torch.float32")
    plan = net.plan(net.dense(net.add(x, positions), 4))
    assert "torch.arange(x.shape[1], dtype=torch.int64, device=x.device)" in model_text(plan)
    agrees(plan, torch.randn(3, 11, 4))


def test_a_transformer_reads_as_a_person_would_write_it(net: Any, agrees: Any, model_text: Any) -> None:
    ids = net.batch(("seq", (8, 12, 20)), dtype="int64", name="ids")
    table = net.tensor_of(50, 32, name="embed")
    with net.at(("embed",), "/embed"):
        x = net.embedding(ids, table)
    for k in range(3):
        path = ("layers", str(k))
        with net.at((*path, "norm1"), f"/layers.{k}/norm1"):
            y = net.layer_norm(x, (32,), net.tensor_of(32), net.tensor_of(32), 1e-5)
        with net.at((*path, "attn", "qkv"), f"/layers.{k}/attn/qkv"):
            y = net.dense(y, 96)
        with net.at((*path, "attn"), f"/layers.{k}/attn"):
            parts = net.split(y, (32, 32, 32), 2)
            parts = [net.transpose(net.reshape(t, (t.shape[0], t.shape[1], 4, 8)), 1, 2) for t in parts]
            y = net.sdpa(*parts, is_causal=True)
            y = net.reshape(net.transpose(y, 1, 2), (y.shape[0], y.shape[2], 32))
        with net.at((*path, "attn", "proj"), f"/layers.{k}/attn/proj"):
            y = net.dense(y, 32)
        with net.at((*path, "drop"), f"/layers.{k}/drop"):
            y = net.dropout(y, 0.1, False)
        with net.at(path, f"/layers.{k}/Add"):
            x = net.add(x, y)
    with net.at(("head",), "/head"):
        plan = net.plan(net.softmax(net.linear(x, table), -1))
    text = model_text(plan)
    assert "return x + self.drop(self.attn(self.norm1(x)))" in text
    assert "Layer(config.hidden_size, dropout=config.dropout) for _ in range(config.num_layers)" in text
    assert "class Attn(nn.Module)" in text and "F.scaled_dot_product_attention(" in text
    assert "self.head.weight = self.embed.weight  # one tensor" in text
    assert "return self.head(self.layers(self.embed(ids)))" in text
    assert plan.losses[0].target.shape == ("batch", "seq") and plan.losses[0].target.high == 50
    agrees(plan, torch.randint(0, 50, (4, 10)))
