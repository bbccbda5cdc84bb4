"""Which calls one verdict speaks for, and which may not take part."""

import pytest
import torch

from runtime.kernels.request import Call, requested, rounded


def x(*shape, **options):
    return torch.zeros(shape, **options)


@pytest.mark.parametrize(("size", "expected"), [(0, 0), (1, 1), (2, 2), (3, 4), (64, 64), (65, 128)])
def test_rounded(size, expected):
    assert rounded(size) == expected


SAME = {
    "rows of the same power of two": ((x(65, 8), "none"), (x(128, 8), "none")),
    "numbers": ((x(4, 8), 1e-5), (x(4, 8), 1e-6)),
    "targets": ((x(5).long(),), (x(8).long(),)),
    "lists of like size": (([x(3, 40), x(40)],), ([x(130), x(29)],)),
}
OTHER = {
    "rows": ((x(64, 8),), (x(65, 8),)),
    "features": ((x(64, 8),), (x(64, 7),)),
    "dtype": ((x(64, 8),), (x(64, 8, dtype=torch.bfloat16),)),
    "flag": ((x(8), True), (x(8), False)),
    "absence": ((x(8), x(8)), (x(8), None)),
    "gradient": ((x(8),), (x(8, requires_grad=True),)),
}


@pytest.mark.parametrize(("one", "two"), SAME.values(), ids=SAME.keys())
def test_one_class(one, two):
    assert requested("k", one) == requested("k", two)


@pytest.mark.parametrize(("one", "two"), OTHER.values(), ids=OTHER.keys())
def test_two_classes(one, two):
    assert requested("k", one) != requested("k", two)


def test_autocast_is_part_of_the_class():
    plain = requested("k", (x(8),))
    with torch.autocast("cpu", torch.bfloat16):
        cast = requested("k", (x(8),))
    assert (plain.autocast, cast.autocast) == (None, "bfloat16")


class Wrapped(torch.Tensor):
    """As an emulated device's tensors: no data of its own, every operator answered in Python."""

    @staticmethod
    def __new__(cls, raw):
        return torch.Tensor._make_wrapper_subclass(cls, raw.shape, dtype=raw.dtype, device=raw.device)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.detach.default:
            return args[0]
        raise NotImplementedError(func)


REFUSED = {
    "wrapper": (Wrapped(x(8)),),
    "wrapper in a list": ([x(8), Wrapped(x(8))],),
    "wrapper as parameter": (torch.nn.Parameter(Wrapped(x(8)), requires_grad=False),),
    "two devices": (x(8), x(8, device="meta")),
    "no tensor": (None, 1.0, []),
}


@pytest.mark.parametrize("args", REFUSED.values(), ids=REFUSED.keys())
def test_refused(args):
    assert requested("k", args) is None
    with pytest.raises(ValueError, match="plain tensors"):
        Call.of("k", *args)


def test_sample_keeps_shapes_and_numbers_not_data():
    call = Call.of("k", x(3, 8, requires_grad=True), [x(2)], 0.5)
    assert (call.args[0].shape, call.args[0].requires_grad) == ((3, 8), True)
    assert call.args[1][0].shape == (2,) and call.args[2] == 0.5


def test_text():
    assert requested("k", (x(3, 8, requires_grad=True), "tanh", 1.0)).text == "float32 (4x8, tanh), with gradient"
