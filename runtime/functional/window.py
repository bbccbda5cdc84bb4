"""Windows of an image, side by side, as attention within windows takes them. Knows nothing of the source a model came from."""

from __future__ import annotations

from torch import Tensor


def window_partition(x: Tensor, size: int) -> Tensor:
    """The squares of `size` pixels of images, row by row (Swin Transformer, arXiv:2103.14030).

    Args:
        x: (N, H, W, C), H and W multiples of `size`.
        size: pixels on a side.

    Returns:
        (N * H / size * W / size, size, size, C).
    """
    rows = x.unflatten(1, (-1, size)).unflatten(3, (-1, size))
    return rows.transpose(2, 3).flatten(0, 2)


def window_reverse(windows: Tensor, height: int, width: int) -> Tensor:
    """The images whose windows these are.

    Args:
        windows: (N * H / size * W / size, size, size, C).
        height: H.
        width: W.

    Returns:
        (N, H, W, C).
    """
    size = windows.shape[1]
    rows = windows.unflatten(0, (-1, height // size, width // size)).transpose(2, 3)
    return rows.flatten(3, 4).flatten(1, 2)
