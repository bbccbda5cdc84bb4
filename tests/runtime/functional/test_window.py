"""Windows of an image: one by one, and back."""

import torch

from runtime.functional.window import window_partition, window_reverse


def test_windows_come_row_by_row_and_go_back() -> None:
    x = torch.randn(2, 4, 6, 3)
    windows = window_partition(x, 2)
    cut = [x[n, i : i + 2, j : j + 2] for n in range(2) for i in (0, 2) for j in (0, 2, 4)]
    torch.testing.assert_close(windows, torch.stack(cut), rtol=0, atol=0)
    torch.testing.assert_close(window_reverse(windows, 4, 6), x, rtol=0, atol=0)
