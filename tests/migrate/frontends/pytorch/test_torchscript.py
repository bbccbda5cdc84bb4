"""TorchScript, traced and scripted: the same keys, the same numbers, the mode where the script has one, places of refusals."""

from __future__ import annotations

import copy
import io
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from migrate.errors import Exit, MigrateError
from migrate.frontends.pytorch import load_pytorch
from migrate.frontends.pytorch.export import export_module
from migrate.frontends.pytorch.torchscript import fault_in_script, has_one_mode, open_torchscript, shell_of
from migrate.frontends.pytorch.worker import Session

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.drop = nn.Dropout(0.2)

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(torch.relu(self.norm(self.conv(x))))


class Net(nn.Module):
    """Modules, a loop of known length, arithmetic on the batch, a frozen weight, an optional argument."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Block()
        self.head = nn.Linear(8, 2)
        self.head.bias.requires_grad_(False)
        self.count = 3

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        x = self.block(x)
        for _ in range(self.count):
            x = x + 1
        return self.head(x.mean((2, 3)).reshape(x.shape[0], -1)) * scale


class Chooses(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            x = x + 1
        return self.last(x)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(6, 4)
        self.head = nn.Linear(4, 6, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.embed(tokens))


def script_of(net: nn.Module, form: str) -> Any:
    return torch.jit.script(net) if form == "scripted" else torch.jit.trace(net.eval(), torch.randn(2, 3, 8, 8))


@pytest.mark.parametrize("form", ["scripted", "traced"])
def test_a_shell_is_the_module(form: str) -> None:
    net = Net()
    shell = shell_of(script_of(net, form)).eval()
    net.eval()
    assert type(shell).__name__ == "Net" and type(shell.block).__name__ == "Block"
    assert shell.state_dict().keys() == net.state_dict().keys()
    assert not shell.head.bias.requires_grad and shell.head.weight.requires_grad
    x = torch.randn(5, 3, 8, 8) if form == "scripted" else torch.randn(2, 3, 8, 8)
    assert torch.equal(shell(x), net(x))
    shell(x).sum().backward()
    net(x).sum().backward()
    assert torch.allclose(shell.block.conv.weight.grad, net.block.conv.weight.grad)
    with torch.no_grad():
        shell.head.weight.mul_(2)
        net.head.weight.mul_(2)
    assert torch.equal(shell(x), net(x)), "the shell's tensors are the script's"


@pytest.mark.parametrize("form", ["scripted", "traced"])
def test_it_is_exported_at_the_level_of_layers(form: str) -> None:
    shell = shell_of(script_of(Net(), form))
    program = export_module(shell, (torch.randn(2, 3, 8, 8),))
    for each in (program.evaluation, program.training):
        assert each is not None
        names = {str(n.target).split(".")[1] for n in each.graph.nodes if n.op == "call_function"}
        assert {"batch_norm", "dropout", "linear"} <= names, "not taken apart for differentiation"
    graph = load_pytorch(program)
    assert graph.batch is not None
    assert has_one_mode(shell) == (form == "traced")


def test_training_follows_the_mode_of_the_shell() -> None:
    shell = shell_of(torch.jit.script(Net()))
    x = torch.randn(4, 3, 8, 8)
    before = shell.block.norm.running_mean.clone()
    shell.train()(x)
    assert not torch.equal(shell.block.norm.running_mean, before)
    assert torch.equal(shell.eval()(x), shell(x))


def test_a_copy_has_tensors_of_its_own() -> None:
    shell = shell_of(torch.jit.script(Net())).eval()
    other = copy.deepcopy(shell)
    x = torch.randn(4, 3, 8, 8)
    before = shell(x)
    with torch.no_grad():
        other.head.weight.mul_(2)
    assert not torch.equal(other(x), before) and torch.equal(shell(x), before)
    assert torch.allclose(other.double()(x.double()).float(), other.float()(x), atol=1e-5)
    state = {key: 2 * tensor for key, tensor in shell.state_dict().items() if tensor.is_floating_point()}
    assert not torch.equal(torch.func.functional_call(shell, state, x), before) and torch.equal(shell(x), before)


def test_ties_stay_ties() -> None:
    shell = shell_of(torch.jit.script(Tied()))
    assert shell.head.weight is shell.embed.weight


def test_a_branch_on_content_is_refused_at_its_place() -> None:
    with pytest.raises(MigrateError) as caught:
        export_module(shell_of(torch.jit.script(Chooses())), (torch.randn(3, 4),))
    found = fault_in_script(caught.value)
    assert found and found.code == "MIG204"
    assert Path(__file__).name in found.where and found.where.endswith("in forward")
    assert "data-dependent" in found.why
    assert fault_in_script(ValueError("another")) is None


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "net.pt"
    torch.jit.save(torch.jit.script(Net()), path)
    session = Session()
    assert open_torchscript(session, tmp_path, {"path": str(path)})["class"] == "Net"
    assert session.module(torch.zeros(2, 3, 8, 8)).shape == (2, 2)
    content = io.BytesIO(path.read_bytes())
    path.write_bytes(content.getvalue()[: len(content.getvalue()) // 2])
    with pytest.raises(MigrateError, match="cannot be loaded as TorchScript") as caught:
        open_torchscript(session, tmp_path, {"path": str(path)})
    assert caught.value.status == Exit.INPUT
