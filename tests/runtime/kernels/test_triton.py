"""The Triton kernels by Triton's interpreter, where Triton is installed; and what is said where it is not."""

import importlib.util
import os
import subprocess
import sys

import pytest
import torch

from runtime.kernels import registry

CHECK = """
import torch
from torch.library import opcheck
from runtime.kernels.reference.rms_norm import rms_norm
from runtime.kernels.reference.swiglu import swiglu
from runtime.kernels.triton import rms_norm as triton_norm, swiglu as triton_swiglu

def compare(ours, reference, args):
    found = [(y := f(*args), *torch.autograd.grad(y.square().sum(), args[:2])) for f in (ours, reference)]
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)

for shape in ((5, 7), (33, 64), (2, 3, 100)):
    x, w = torch.randn(shape, requires_grad=True), torch.randn(shape[-1], requires_grad=True)
    compare(triton_norm.rms_norm, rms_norm, (x, w, 1e-6))
    compare(triton_swiglu.swiglu, swiglu, (x, torch.randn(shape, requires_grad=True)))
opcheck(triton_norm.fused, (torch.randn(5, 7, requires_grad=True), torch.randn(7, requires_grad=True), 1e-6))
opcheck(triton_swiglu.fused, (torch.randn(5, 7, requires_grad=True), torch.randn(5, 7, requires_grad=True)))
"""
INSTALLED = importlib.util.find_spec("triton") is not None


@pytest.mark.skipif(not INSTALLED, reason="Triton is not installed")
def test_numbers_by_the_interpreter():
    env = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(INSTALLED, reason="Triton is installed")
@pytest.mark.parametrize("kernel", ["rms_norm", "swiglu"])
def test_absence_is_a_reason_not_an_error(kernel):
    found = {i.name: i.problem for i in registry.candidates(kernel, torch.device("cpu"))}
    assert "not importable" in (found[f"triton/{kernel}"] or "")
