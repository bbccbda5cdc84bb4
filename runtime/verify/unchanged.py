"""Running a module without letting it change itself: what it writes into its own buffers is taken back. Knows no check."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def unchanged(module: nn.Module) -> Generator[None]:
    """Inside, the module may count and average; afterwards its buffers are as before, those that it left alone untouched."""
    before = [(buffer, buffer._version, buffer.detach().clone()) for buffer in module.buffers()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, version, content in before:
                if buffer._version != version:
                    buffer.copy_(content)
