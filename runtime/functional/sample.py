"""Images read between their pixels, at places that are computed: aligned regions and deformable convolutions.

Knows nothing of the source a model came from.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def corners(place: Tensor, size: int) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """The pixels before and after a place on an axis, each with its share; shares of pixels beyond the axis are 0."""
    low = place.detach().floor()
    found: list[tuple[Tensor, Tensor]] = []
    for pixel, share in ((low, 1 - (place - low)), (low + 1, place - low)):
        inside = (pixel >= 0) & (pixel < size)
        found.append((pixel.clamp(0, size - 1).long(), share * inside))
    return found[0], found[1]


def read_between(x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The four neighbours of each place, times their shares: their sum is the bilinear value; zero beyond the image.

    Args:
        x: (N, C, H, W).
        y: (N, P), places along H.
        z: (N, P), places along W.

    Returns:
        Four tensors of (N, C, P).
    """
    flat = x.flatten(2)
    terms: list[Tensor] = []
    for row, row_share in corners(y, x.shape[2]):
        for column, column_share in corners(z, x.shape[3]):
            index = (row * x.shape[3] + column).unsqueeze(1).expand(-1, x.shape[1], -1)
            terms.append(flat.gather(2, index) * (row_share * column_share).unsqueeze(1))
    return terms[0], terms[1], terms[2], terms[3]


def roi_align(
    x: Tensor,
    rois: Tensor,
    batch_indices: Tensor,
    output: Sequence[int],
    samples: int,
    scale: float = 1.0,
    half_pixel: bool = True,
    mode: str = "avg",
) -> Tensor:
    """Regions of images as grids of one size: each cell is the mean, or the largest, of what is read at its sample places.

    Args:
        x: (N, C, H, W).
        rois: (R, 4), the corners x1, y1, x2, y2 of each region.
        batch_indices: (R), the image of each region.
        output: rows and columns of the grid.
        samples: in each direction of a cell.
        scale: of the corners.
        half_pixel: whether a pixel's place is its centre; if not, a region is one pixel at least.
        mode: `avg`, or `max`: the largest share of a neighbouring pixel, as the specification's engines have it.
    """
    begin, end = (rois * scale - 0.5 * half_pixel).split(2, dim=1)
    extent = end - begin if half_pixel else (end - begin).clamp(min=1.0)
    places: list[Tensor] = []
    for axis, count in ((1, output[0]), (0, output[1])):
        steps = (torch.arange(count * samples, dtype=x.dtype, device=x.device) + 0.5) / (count * samples)
        places.append(begin[:, axis : axis + 1] + steps * extent[:, axis : axis + 1])
    rows, columns = (
        p.unsqueeze(2 - i).expand(-1, places[0].shape[1], places[1].shape[1]) for i, p in enumerate(places)
    )
    height, width = x.shape[2], x.shape[3]
    outside = (rows < -1) | (rows > height) | (columns < -1) | (columns > width)
    rows, columns = rows.clamp(0, height - 1), columns.clamp(0, width - 1)
    terms = torch.stack(read_between(x[batch_indices], rows.flatten(1), columns.flatten(1)))
    terms = terms.masked_fill(outside.flatten(1).unsqueeze(1), 0.0)
    grid = (output[0], samples, output[1], samples)
    joined = terms.sum(0) if mode == "avg" else terms.amax(0)
    cells = joined.unflatten(2, grid)
    return cells.mean((3, 5)) if mode == "avg" else cells.amax((3, 5))


def deform_conv(
    x: Tensor,
    weight: Tensor,
    offset: Tensor,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    stride: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    offset_groups: int = 1,
) -> Tensor:
    """A convolution that reads each element of its window where `offset` moves it, times `mask`.

    Args:
        x: (N, C, H, W).
        weight: (O, C / groups, K1, K2).
        offset: (N, offset_groups * K1 * K2 * 2, OH, OW), along H, then along W.
        bias: (O).
        mask: (N, offset_groups * K1 * K2, OH, OW).
        stride: of the windows.
        pads: before each axis.
        dilation: distance of a window's elements.
        groups: of channels with their own filters.
        offset_groups: of channels with their own offsets.
    """
    n, out = x.shape[0], offset.shape[2:]
    kernel = weight.shape[2:]
    elements = kernel[0] * kernel[1]
    moved = offset.reshape(n * offset_groups, elements, 2, *out)
    places: list[Tensor] = []
    for axis in range(2):
        inner = torch.arange(kernel[axis], dtype=x.dtype, device=x.device) * dilation[axis]
        window = inner.repeat_interleave(kernel[1]) if axis == 0 else inner.repeat(kernel[0])
        begins = torch.arange(out[axis], dtype=x.dtype, device=x.device) * stride[axis] - pads[axis]
        base = window.reshape(-1, 1, 1) + begins.reshape((-1, 1) if axis == 0 else (1, -1))
        places.append((moved[:, :, axis] + base).flatten(1))
    read = sum(read_between(x.reshape(n * offset_groups, -1, *x.shape[2:]), *places))
    assert isinstance(read, Tensor)
    if mask is not None:
        read = read * mask.reshape(n * offset_groups, 1, -1)
    columns = read.reshape(n, groups, -1, elements, out[0] * out[1]).flatten(2, 3)
    y = (weight.reshape(groups, -1, columns.shape[2]) @ columns).reshape(n, -1, *out)
    return y if bias is None else y + bias.reshape(-1, 1, 1)
