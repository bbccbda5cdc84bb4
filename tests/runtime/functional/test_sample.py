"""Reading between pixels, held against torch's own where it has the same."""

import torch
import torch.nn.functional as F

from runtime.functional.sample import deform_conv, read_between, roi_align


def test_between_pixels_is_bilinear_with_zeros_beyond() -> None:
    x, places = torch.randn(2, 3, 5, 6), torch.rand(2, 7, 2) * 9 - 2
    grid = (places.flip(-1) / torch.tensor([5.0, 4.0]) * 2 - 1).unsqueeze(2)
    wanted = F.grid_sample(x, grid, align_corners=True).squeeze(3)
    torch.testing.assert_close(sum(read_between(x, places[..., 0], places[..., 1])), wanted, rtol=1e-4, atol=1e-5)


def test_without_offsets_it_is_a_convolution() -> None:
    x, weight, bias = torch.randn(2, 4, 6, 7), torch.randn(6, 2, 3, 3), torch.randn(6)
    made = deform_conv(x, weight, torch.zeros(2, 18, 6, 7), bias, pads=(1, 1), groups=2)
    torch.testing.assert_close(made, F.conv2d(x, weight, bias, padding=1, groups=2), rtol=1e-4, atol=1e-4)


def test_a_region_of_one_value_has_that_value() -> None:
    made = roi_align(torch.full((1, 2, 8, 8), 3.0), torch.tensor([[1.0, 1.0, 6.0, 5.0]]), torch.tensor([0]), (2, 3), 2)
    torch.testing.assert_close(made, torch.full((1, 2, 2, 3), 3.0))
