"""What is found in the folders."""

import inspect

import pytest
import torch

from runtime import kernels
from runtime.kernels import api, registry

HOST = torch.device("cpu")
KERNELS = ["adamw", "gelu", "layer_norm", "linear_cross_entropy", "rms_norm", "rope", "sdpa", "swiglu"]


def test_references_are_discovered_and_public():
    assert list(registry.REFERENCE) == KERNELS
    assert set(KERNELS) <= set(kernels.__all__)


@pytest.mark.parametrize("kernel", KERNELS)
def test_signatures_agree(kernel):
    expected = list(inspect.signature(getattr(api, kernel)).parameters)
    assert list(inspect.signature(registry.REFERENCE[kernel]).parameters) == expected
    for found in registry.candidates(kernel, HOST):
        if found.problem is None:
            assert list(inspect.signature(found.run).parameters) == expected, found.name


@pytest.mark.parametrize("kernel", KERNELS)
def test_documented(kernel):
    assert "Source:" in (getattr(api, kernel).__doc__ or "")


def test_candidates_follow_the_device_type():
    assert [i.name for i in registry.candidates("adamw", HOST)] == ["cpu/adamw", "portable/adamw"]
    assert [i.name for i in registry.candidates("adamw", torch.device("meta"))] == ["portable/adamw"]
    assert registry.candidates("rope", HOST) == []


def test_source_covers_every_file(monkeypatch, tmp_path):
    before = registry.load("cpu/adamw", HOST).source
    changed = tmp_path / "adamw.c"
    changed.write_text("")
    monkeypatch.setattr(registry.module("cpu/adamw"), "SOURCES", (changed,))
    assert registry.load("cpu/adamw", HOST).source != before


def test_an_unavailable_candidate_refuses_to_run():
    absent = registry.load("vendor/npu/rms_norm", HOST)
    assert absent.problem
    with pytest.raises(RuntimeError, match="not available"):
        absent.run()
