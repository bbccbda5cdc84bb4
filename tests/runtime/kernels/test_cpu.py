"""The host's C kernels against their references, and their build."""

import stat
import subprocess
import sys

import pytest
import torch
from torch.library import opcheck

from runtime.kernels.cpu import _compile
from runtime.kernels.cpu import adamw as cpu
from runtime.kernels.reference.adamw import adamw as reference

HOST = torch.device("cpu")
needs_compiler = pytest.mark.skipif(cpu.unavailable(HOST) is not None, reason="no C compiler")
NUMBERS = (1e-2, 0.9, 0.95, 1e-8, 0.1)
SHAPES = [(3, 5), (), (0, 4), (8192,), (8193,), (2, 8191), (1,)]


def state(dtype=torch.float32, spread=False):
    generator = torch.Generator().manual_seed(3)

    def draw(shape):
        tensor = torch.rand(shape, generator=generator).to(dtype)
        return torch.stack((tensor, tensor), -1)[..., 0] if spread else tensor

    steps = [torch.tensor(float(7 * i)) for i in range(len(SHAPES))]
    return [*([draw(s) for s in SHAPES] for _ in range(4)), steps]


@needs_compiler
@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_equals_reference(dtype, spread):
    found, expected = state(dtype, spread), state(dtype, spread)
    for _ in range(3):
        cpu.adamw(*found, *NUMBERS)
        reference(*expected, *NUMBERS)
    torch.testing.assert_close(found, expected, rtol=2e-6, atol=2e-7)


@needs_compiler
def test_error_is_that_of_float32():
    found, exact = state(), state(torch.float64)
    cpu.adamw(*found, *NUMBERS)
    reference(*exact, *NUMBERS)
    for got, want in zip(found[0], exact[0], strict=True):
        assert torch.allclose(got.double(), want, rtol=4e-7, atol=1e-7)


@needs_compiler
def test_bits_do_not_depend_on_the_number_of_threads():
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append(state())
            cpu.adamw(*results[-1], *NUMBERS)
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(*results, rtol=0, atol=0)


@needs_compiler
def test_autograd_notices_the_change():
    params = [torch.ones(3, requires_grad=True)]
    square = (params[0] ** 2).sum()
    with torch.no_grad():
        cpu.adamw(params, *([torch.ones(3)] for _ in range(3)), [torch.tensor(0.0)], *NUMBERS)
    with pytest.raises(RuntimeError, match="inplace operation"):
        square.backward()


@needs_compiler
def test_opcheck():
    opcheck(cpu.adamw_step, (*state(), *NUMBERS))


@needs_compiler
def test_one_openmp_runtime():
    """A second pool of threads would fight PyTorch's for the cores."""
    code = """
import os, torch
torch.set_num_threads(2)
torch.randn(512, 512) @ torch.randn(512, 512)
torch.randn(1 << 20).exp_()
before = len(os.listdir("/proc/self/task"))
from tests_state import step
step()
print(len(os.listdir("/proc/self/task")) - before)
"""
    if sys.platform != "linux":
        pytest.skip("counts threads in /proc")
    step = """
import torch
from runtime.kernels.cpu.adamw import adamw
lists = [[torch.ones(1 << 18)] for _ in range(4)]
adamw(*lists, [torch.tensor(0.0)], 1e-2, 0.9, 0.95, 1e-8, 0.1)
"""
    code = code.replace("from tests_state import step\nstep()\n", step)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_without_a_compiler_the_reason_is_given(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    _compile.library.cache_clear()
    assert "no C compiler" in (cpu.unavailable(HOST) or "")
    _compile.library.cache_clear()


@needs_compiler
def test_broken_source_is_an_oserror(monkeypatch, tmp_path):
    monkeypatch.setenv("MIGRATE_CACHE", str(tmp_path))
    source = tmp_path / "broken.c"
    source.write_text("int f( {")
    with pytest.raises(OSError, match="error"):
        _compile.library(source)


@needs_compiler
def test_binary_is_cached_privately_and_follows_the_source(monkeypatch, tmp_path):
    monkeypatch.setenv("MIGRATE_CACHE", str(tmp_path / "cache"))
    source, built = tmp_path / "one.c", tmp_path / "cache/kernels"
    for number, files in ((1, 1), (2, 2), (2, 2)):
        source.write_text(f"int number(void) {{ return {number}; }}")
        _compile.library.cache_clear()
        assert _compile.library(source).number() == number
        assert len(list(built.iterdir())) == files
    assert stat.S_IMODE(built.stat().st_mode) == 0o700
    _compile.library.cache_clear()
