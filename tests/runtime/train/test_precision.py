"""Precisions that a device is bad at are refused, unless forced."""

import pytest
import torch

from runtime.hal import DtypeVerdict, open_device
from runtime.package import PackageError
from runtime.train.precision import Precision
from runtime.train.settings import PrecisionSettings


def device_that(works, fast):
    device = open_device("cpu")
    for dtype in (torch.bfloat16, torch.float16):
        verdict = DtypeVerdict(dtype=dtype, works=works, fast=fast, reason="a matmul takes 60 times as long")
        device._verdicts[dtype] = verdict
    return device


@pytest.mark.parametrize(("works", "fast", "word"), [(True, False, "slow"), (False, False, "not usable")])
@pytest.mark.parametrize("mode", ["bf16", "fp16"])
def test_a_bad_precision_is_refused(mode, works, fast, word):
    with pytest.raises(PackageError, match=f"{mode} is {word} on cpu: a matmul takes 60"):
        Precision(PrecisionSettings(mode=mode), device_that(works, fast))


@pytest.mark.parametrize(("mode", "dtype", "scales"), [("bf16", torch.bfloat16, False), ("fp16", torch.float16, True)])
def test_force_uses_it_all_the_same(mode, dtype, scales):
    precision = Precision(PrecisionSettings(mode=mode, force=True), device_that(False, False))
    with precision.autocast():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == dtype
    assert precision.scaler.is_enabled() is scales


def test_float32_is_never_probed():
    device = open_device("cpu")
    precision = Precision(PrecisionSettings(), device)
    with precision.autocast():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32
    assert torch.float32 not in device._verdicts and not precision.scaler.is_enabled()
