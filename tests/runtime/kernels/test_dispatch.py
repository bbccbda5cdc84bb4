"""Which implementation answers a call."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from runtime import kernels
from runtime.kernels import dispatch
from runtime.kernels.request import requested

X = torch.randn(4, 8)
MARK = torch.tensor(42.0)


@pytest.fixture(autouse=True)
def marked():
    """`gelu` of a call like that on X answers with a mark."""
    kernels.reset()
    dispatch.choose(requested("gelu", (X, "none")), lambda *_: MARK)
    yield
    kernels.reset()


def chosen(x=X, approximate="none"):
    return kernels.gelu(x, approximate) is MARK


def test_choice_answers_its_class_only():
    assert chosen() and chosen(torch.randn(3, 8))
    assert not chosen(torch.randn(4, 9)) and not chosen(approximate="tanh") and not chosen(X.double())


def test_forget():
    dispatch.forget(requested("gelu", (X, "none")))
    assert not chosen()
    dispatch.forget(requested("rope", (X,)))


def test_reference_only_nests():
    with kernels.reference_only():
        with kernels.reference_only():
            assert not chosen()
        assert not chosen()
    assert chosen()


def test_environment(monkeypatch):
    monkeypatch.setenv("MIGRATE_KERNELS", "reference")
    assert not chosen()
    monkeypatch.setenv("MIGRATE_KERNELS", "")
    assert chosen()


def test_modes_see_pytorch_operators():
    with FlopCounterMode(display=False):
        assert not chosen()
    assert not torch.equal(torch.func.vmap(kernels.gelu)(torch.randn(2, 4, 8)), MARK)


def test_export_sees_pytorch_operators():
    class Model(torch.nn.Module):
        def forward(self, x):
            return kernels.gelu(x)

    assert "aten.gelu" in torch.export.export(Model(), (X,)).graph_module.code


def test_observing_runs_the_reference_and_keeps_one_sample_a_class():
    with kernels.observe() as seen:
        assert not chosen() and not chosen(torch.randn(3, 8))
        kernels.swiglu(X, X)
    assert [request.kernel for request in seen] == ["gelu", "swiglu"]
    assert next(iter(seen.values())).args[0].shape == (4, 8)
    assert chosen()


def test_dropout_is_never_observed():
    q = torch.randn(1, 2, 4, 8)
    with kernels.observe() as seen:
        kernels.sdpa(q, q, q, dropout=0.5)
    assert not seen


def test_no_tensors():
    dispatch.choose(requested("adamw", ([X], [X], [X], [X], [MARK])), lambda *_: pytest.fail("chosen"))
    kernels.adamw([], [], [], [], [], lr=1.0, beta1=0.9, beta2=0.9, eps=1e-8, weight_decay=0.0)
