"""Activation checkpointing: which blocks, and that nothing but memory and time is other than without it."""

import dataclasses
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from runtime.comm import World
from runtime.hal import open_device
from runtime.package import PackageError
from runtime.train.recompute import find_blocks, recompute_blocks
from runtime.train.run import Request, build_run
from runtime.train.settings import from_tables


class ConvNorm(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())


class Residual(nn.Module):
    """Statistics, dropout and a buffer of its own, which it changes and computes with."""

    def __init__(self) -> None:
        super().__init__()
        self.layers, self.dropout = nn.Sequential(ConvNorm(), ConvNorm()), nn.Dropout(0.3)
        self.register_buffer("seen", torch.ones(()))

    def forward(self, x: Tensor, *, scale: float = 1.0) -> Tensor:
        self.seen.mul_(1.5)
        return x + self.dropout(self.layers(x)) * scale * self.seen.clone()


class Stage(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Residual() for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x, scale=0.5)
        return x


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.stages, self.head = ConvNorm(), nn.Sequential(Stage(), Stage()), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.stages(self.stem(x)).mean((2, 3)))


class Pair(nn.Module):
    """Blocks by name, in no list."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up, self.once = Residual(), Residual(), ConvNorm()


BLOCKS: dict[str, tuple[Callable[[], nn.Module], list[str]]] = {
    "rows of blocks in stages": (Net, [f"stages.{i}.blocks.{j}" for i in range(2) for j in range(2)]),
    "blocks by name": (Pair, ["down", "up"]),
    "one block": (Stage, ["blocks.0", "blocks.1"]),
    "layers alone": (lambda: nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), []),
    "a block that occurs once": (lambda: nn.Sequential(Residual(), nn.Linear(2, 2)), []),
    "too small to be blocks": (lambda: nn.Sequential(ConvNorm(), ConvNorm()), []),
}


@pytest.mark.parametrize("case", BLOCKS)
def test_the_blocks(case: str) -> None:
    make, paths = BLOCKS[case]
    assert list(find_blocks(make())) == paths


def trained(recompute: bool) -> tuple[dict[str, Tensor], int]:
    """Gradients, buffers and losses of three steps in float64, and the bytes kept for backward in the last."""
    torch.manual_seed(0)
    model = Net().double().train()
    if recompute:
        recompute_blocks(model)
    kept: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage()._cdata] = tensor.untyped_storage().nbytes()
        return tensor

    found: dict[str, Tensor] = {}
    for step in range(3):
        kept.clear()
        x = torch.randn(2, 4, 8, 8, dtype=torch.float64)
        with saved_tensors_hooks(note, lambda tensor: tensor):
            loss = model(x).square().mean()
        model.zero_grad()
        loss.backward()
        found[f"loss {step}"] = loss.detach()
        found |= {f"{name} {step}": p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    return found | {name: b.clone() for name, b in model.named_buffers()}, sum(kept.values())


def test_nothing_else_changes_and_less_is_kept() -> None:
    (plain, all_kept), (saved, inputs_kept) = trained(False), trained(True)
    assert set(plain) == set(saved)
    assert [name for name in plain if not torch.equal(plain[name], saved[name])] == []
    assert inputs_kept < all_kept / 2


def test_what_a_checkpoint_holds_keeps_its_names() -> None:
    model = Net()
    names = list(model.state_dict())
    recompute_blocks(model)
    assert list(model.state_dict()) == names


def test_a_run_asks_for_it(package) -> None:
    def build(load_model: Callable[..., nn.Module]) -> nn.Module:
        settings = from_tables({"train": {"activation_checkpointing": "blocks"}})
        changed = dataclasses.replace(package, load_model=load_model)
        return build_run(changed, settings, Request(device="cpu"), open_device("cpu"), World()).state.model

    model = build(lambda pretrained=True: Net())
    assert all("forward" in vars(block) for block in find_blocks(model).values())
    with pytest.raises(PackageError, match="would save nothing"):
        build(package.load_model)
