"""Resizing by every rule, against torch where it has the rule."""

import pytest
import torch
import torch.nn.functional as F

from runtime.functional.resample import resize

X = torch.randn(2, 3, 5, 6)
SCALES = (1, 1, 9 / 5, 4 / 6)
SIZES = (2, 3, 9, 4)


@pytest.mark.parametrize(("mode", "theirs"), [("linear", "bilinear"), ("cubic", "bicubic")])
@pytest.mark.parametrize("corners", [False, True])
def test_the_rules_of_torch(mode: str, theirs: str, corners: bool) -> None:
    ours = resize(X, SIZES, SCALES, mode, "align_corners" if corners else "half_pixel")
    torch.testing.assert_close(
        ours, F.interpolate(X, SIZES[2:], mode=theirs, align_corners=corners), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize(("mode", "theirs"), [("linear", "bilinear"), ("cubic", "bicubic")])
def test_antialiasing_is_that_of_torch_with_its_constant(mode: str, theirs: str) -> None:
    x = torch.randn(1, 1, 16, 16)
    ours = resize(
        x, (1, 1, 8, 4), (1, 1, 0.5, 0.25), mode, "half_pixel", cubic_coeff=-0.5, exclude_outside=True, antialias=True
    )
    wanted = F.interpolate(x, (8, 4), mode=theirs, align_corners=False, antialias=True)
    torch.testing.assert_close(ours, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("nearest", "wanted"),
    [
        ("floor", [0, 0, 1, 1]),
        ("ceil", [0, 1, 1, 1]),
        ("round_prefer_floor", [0, 0, 1, 1]),
        ("round_prefer_ceil", [0, 1, 1, 1]),
    ],
)
def test_halves_go_where_the_rule_says(nearest: str, wanted: list[int]) -> None:
    """Places 0, 0.5, 1 and 1.5 of two elements."""
    y = resize(torch.tensor([0.0, 1.0]), (4,), (2.0,), "nearest", "asymmetric", nearest=nearest)
    assert y.tolist() == wanted


def test_a_region_that_leaves_the_source() -> None:
    x = torch.arange(4.0)
    y = resize(x, (3,), (0.75,), "linear", "tf_crop_and_resize", roi=(1 / 3, 5 / 3), outside_value=9.0)
    torch.testing.assert_close(y, torch.tensor([1.0, 3.0, 9.0]))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_gradients(mode: str) -> None:
    x = torch.randn(1, 4, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: resize(x, (1, 6, 3), (1, 1.5, 0.6), mode, "half_pixel"), (x,))
