"""A program goes through files and comes back as it was."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from migrate.frontends.pytorch.export import export_module
from migrate.frontends.pytorch.worker_program import read_program, read_tensors, write_program, write_tensors


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(6, 4)
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(4, 6, bias=False)
        self.head.weight = self.embed.weight
        self.frozen = nn.Linear(4, 4)
        self.frozen.weight.requires_grad_(False)
        self.register_buffer("hidden", torch.ones(4), persistent=False)

    def forward(self, tokens: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        x = self.frozen(self.drop(self.embed(tokens))) * self.hidden
        return self.head(x), {"last": x[:, -1]}


def test_there_and_back(tmp_path: Path) -> None:
    net = Net()
    tokens = torch.randint(0, 6, (3, 5))
    program = export_module(net, (tokens,))
    write_program(program, tmp_path)
    back = read_program(tmp_path)
    for name in ("state", "modules", "input_names", "outputs", "declared_batch", "notes"):
        assert getattr(back, name) == getattr(program, name), name
    assert list(tmp_path.glob("*.pt2")) == []
    assert back.training is not None
    found, expected = back.evaluation.module()(tokens), net.eval()(tokens)
    assert torch.equal(found[0], expected[0]) and torch.equal(found[1]["last"], expected[1]["last"])
    paths = [
        [
            [path for path, _ in n.meta["nn_module_stack"].values()]
            for n in p.evaluation.graph.nodes
            if n.op == "call_function"
        ]
        for p in (program, back)
    ]
    assert paths[0] == paths[1]
    assert [n.target for n in back.training.graph.nodes] == [n.target for n in program.training.graph.nodes]  # type: ignore[union-attr]


def test_tensors(tmp_path: Path) -> None:
    weight = torch.randn(3, 4).T
    write_tensors({"a": weight, "b": weight}, tmp_path / "t.safetensors")
    back = read_tensors(tmp_path / "t.safetensors")
    assert torch.equal(back["a"], weight) and torch.equal(back["b"], weight)
