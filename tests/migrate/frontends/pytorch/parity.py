"""Holding an emitted module against the PyTorch module that it was made from: what every test of the frontend asks."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from migrate.codegen import PackagePlan, plan_package, to_module
from migrate.codegen.render import render_model
from migrate.frontends.pytorch import export_module, load_pytorch
from migrate.graph.passes import run_passes

OUTPUTS, GRADIENTS = 1e-5, 1e-4


def plan_of(module: nn.Module, example: Any) -> PackagePlan:
    graph = load_pytorch(export_module(module, example))
    run_passes(graph)
    return plan_package(graph, name="m")


def text_of(plan: PackagePlan) -> str:
    return next(text for path, text in render_model(plan).items() if path.endswith("model.py"))


def tensors(result: Any) -> list[Tensor]:
    return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, Tensor)]


def relative(left: Tensor, right: Tensor, least: float = 1e-3) -> float:
    if not left.numel():
        return 0.0
    left, right = left.detach().double(), right.detach().double()
    same = (left == right) | (left.isnan() & right.isnan())
    off = torch.where(same, torch.zeros_like(left), (left - right).abs())
    return float(off.max() / right.nan_to_num(posinf=0.0, neginf=0.0).abs().max().clamp(min=least))


def gradients(module: nn.Module, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Tensor], dict[str, Tensor]]:
    """Outputs, and the gradient of a fixed projection of them by every parameter."""
    module.zero_grad(set_to_none=True)
    outputs = tensors(module(*args, **kwargs))
    draw = torch.Generator().manual_seed(3)
    floats = [o for o in outputs if o.is_floating_point()]
    total = sum(((o * torch.randn(o.shape, generator=draw)).sum() for o in floats), torch.zeros(()))
    if total.requires_grad:
        total.backward()
    trained = ((n, p) for n, p in module.named_parameters(remove_duplicate=False) if p.requires_grad)
    return outputs, {n: torch.zeros_like(p) if p.grad is None else p.grad for n, p in trained}


class WithoutDropout(TorchFunctionMode):
    """Every dropout at rate zero, wherever it is called; stochastic depth keeps everything."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "feature_dropout"):
            return args[0] if args else kwargs["input"]
        if name == "scaled_dot_product_attention":
            args, kwargs = args[:4], kwargs | {"dropout_p": 0.0}
        if name == "multi_head_attention_forward":
            args = (*args[:10], 0.0, *args[11:])
        if name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
            args = (*args[:5], 0.0, *args[6:])
        if name in ("bernoulli_", "bernoulli"):
            return func(args[0], 1.0)
        return func(*args, **kwargs)


def assert_same(ours: nn.Module, source: nn.Module, example: tuple[Any, ...] | dict[str, Any]) -> None:
    """Outputs, gradients, and all buffers afterwards."""
    args, kwargs = ([], dict(example)) if isinstance(example, dict) else (list(example), {})
    given = [t.clone() for t in tensors((args, kwargs))]
    torch.manual_seed(0)
    theirs, their_gradients = gradients(source, args, kwargs)
    torch.manual_seed(0)
    outputs, our_gradients = gradients(ours, given, {})
    assert [o.shape for o in outputs] == [o.shape for o in theirs]
    assert [o.dtype for o in outputs] == [o.dtype for o in theirs]
    worst = {k: relative(a, b) for k, (a, b) in enumerate(zip(outputs, theirs, strict=True))}
    assert not (wrong := {k: v for k, v in worst.items() if not v <= OUTPUTS}), wrong
    assert our_gradients.keys() == their_gradients.keys()
    scale = max((float(g.nan_to_num().abs().max()) for g in their_gradients.values()), default=0.0)
    off = {k: relative(our_gradients[k], g, 1e-3 * scale + 1e-12) for k, g in their_gradients.items()}
    assert not (wrong := {k: v for k, v in off.items() if not v <= GRADIENTS}), wrong
    state = source.state_dict()
    for key, value in ours.state_dict().items():
        assert relative(value, state[key]) <= OUTPUTS, key


def assert_equal_keys(ours: nn.Module, source: nn.Module) -> None:
    """Keys, shapes and dtypes; ties; what is trained; loading strictly, both ways."""
    facts = {k: (tuple(v.shape), v.dtype) for k, v in source.state_dict().items()}
    assert {k: (tuple(v.shape), v.dtype) for k, v in ours.state_dict().items()} == facts
    trained = {n: p.requires_grad for n, p in source.named_parameters(remove_duplicate=False)}
    assert {n: p.requires_grad for n, p in ours.named_parameters(remove_duplicate=False)} == trained
    assert len(list(ours.parameters())) == len(list(source.parameters()))
    ours.load_state_dict(source.state_dict(), strict=True)
    source.load_state_dict(ours.state_dict(), strict=True)


def check(module: nn.Module, example: tuple[Any, ...] | dict[str, Any], other: Any = None, train: bool = True) -> str:
    """Convert and hold against the source, in both modes, at another batch where one is given; the emitted text."""
    plan = plan_of(module, example)
    ours = to_module(plan)
    source = module
    assert_equal_keys(ours, source)
    start = copy.deepcopy(source.state_dict())
    for given in (example, other) if other is not None else (example,):
        ours.load_state_dict(start)
        source.load_state_dict(start)
        assert_same(ours.eval(), source.eval(), given)
        if train:
            with WithoutDropout():
                assert_same(ours.train(), source.train(), given)
    return text_of(plan)
