"""Exporting: both forms, a free batch, and a module that is left as it was found."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from migrate.errors import MigrateError
from migrate.frontends.pytorch import export_module, load_pytorch, program_of
from migrate.frontends.pytorch.call import arguments_of, tensors_of
from tests.migrate.frontends.pytorch.models import GPT, CausalSelfAttention, Mixer, ResNet, Shared


def test_a_module_is_left_as_it_was_found() -> None:
    module = ResNet().train()
    module.layer1.eval()
    modes = {name: m.training for name, m in module.named_modules()}
    before = {k: v.clone() for k, v in module.state_dict().items()}
    example = torch.randn(1, 3, 16, 16)
    state = torch.get_rng_state()
    export_module(module, (example,))
    assert torch.equal(torch.get_rng_state(), state)
    assert {name: m.training for name, m in module.named_modules()} == modes
    assert all(torch.equal(v, before[k]) for k, v in module.state_dict().items())
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.mark.parametrize("batch", [1, 3, 4])
def test_the_batch_is_free_whatever_the_example_has(batch: int) -> None:
    """3 is also the number of channels: it must not be confused with them."""
    program = export_module(nn.Conv2d(3, 3, 3), (torch.randn(batch, 3, 9, 9),))
    graph = load_pytorch(program)
    assert program.declared_batch == 1
    assert graph.outputs[0].shape == (graph.batch, 3, 7, 7)


class Baked(nn.Module):
    """A batch that is written into the code as a number."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(12, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x.reshape(int(x.shape[0]), 12))


def test_a_lone_program_with_a_fixed_batch_is_freed() -> None:
    exported = torch.export.export(Baked().eval(), (torch.randn(5, 3, 4),))
    program = program_of(exported)
    assert program.declared_batch == 5
    graph = load_pytorch(program)
    assert graph.outputs[0].shape == (graph.batch, 4)


def test_a_lone_program_follows_the_mode() -> None:
    exported = torch.export.export(
        nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.2)).eval(), (torch.randn(5, 4),)
    )
    program = program_of(exported)
    assert program.training is None
    assert [node.op.name for node in load_pytorch(program).nodes] == ["linear", "batch_norm", "dropout"]


def test_facts_of_the_state() -> None:
    facts = {fact.key: fact for fact in export_module(Shared(), (torch.randn(4, 6),)).state}
    assert facts["second.weight"].tied_to == "first.weight"
    assert not facts["frozen.weight"].requires_grad
    assert facts["steps"].kind == "buffer"
    assert facts["steps"].persistent
    attention = {f.key: f for f in export_module(CausalSelfAttention(8, 2, 0.1), (torch.randn(2, 5, 8),)).state}
    assert not attention["bias"].persistent
    tied = {f.key: f.tied_to for f in export_module(GPT(), (torch.randint(50, (2, 6)),)).state}
    assert [k for k, owner in tied.items() if owner] == ["lm_head.weight"]


def test_settings_of_modules() -> None:
    facts = {fact.path: fact for fact in export_module(Mixer(), (torch.randn(2, 4, 8),)).modules}
    assert facts["drop_path"].arguments is None
    assert facts["drop_path"].cls.endswith("models.DropPath")
    assert (facts["unused.1"].arguments or {}).keys() == {"num_features"}


class Nested(nn.Module):
    """Takes and returns what is no tensor, and nests what is."""

    def forward(self, pair: tuple[Tensor, Tensor], scale: float = 2.0, *, flag: bool = True) -> dict[str, object]:
        a, b = pair
        return {"sum": (a + b) * scale if flag else a, "none": None, "parts": [a, b * 2]}


def test_nested_arguments_and_results() -> None:
    module = Nested()
    a, b = torch.randn(3, 4), torch.randn(3, 4)
    program = export_module(module, {"pair": (a, b), "scale": 3.0, "flag": True})
    assert len(program.input_names) == 2
    assert program.output_names == ("sum", "parts_0", "parts_1")
    args, kwargs = arguments_of(program, [a, b])
    found = tensors_of(program, module(*args, **kwargs))
    assert torch.equal(found[0], (a + b) * 3.0)
    assert len(found) == 3


class Decides(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2 if x.sum() > 0 else x


def test_a_refusal_names_the_users_line() -> None:
    with pytest.raises(MigrateError) as caught:
        export_module(Decides(), (torch.randn(2, 3),))
    (found,) = caught.value.diagnostics
    assert found.code == "MIG204"
    assert "test_export.py" in found.where


def test_a_name_that_holds_a_quote_is_refused() -> None:
    module = nn.ModuleDict({"a'b": nn.Linear(2, 2)})
    with pytest.raises(MigrateError) as caught:
        export_module(module, (torch.randn(2, 2),))
    assert {found.code for found in caught.value.diagnostics} == {"MIG329"}


def test_an_input_without_a_batch_is_refused_by_name() -> None:
    with pytest.raises(MigrateError, match="input input has no batch") as caught:
        load_pytorch(export_module(nn.Linear(4, 4), (torch.randn(4),)))
    assert "input:2,4" in caught.value.diagnostics[0].todo
