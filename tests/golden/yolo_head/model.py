# The model of yolo_head, in PyTorch.
# Source: Detector, sha256 75c717972b1ce58ae9743e4bc6f2a257d515778aa9e545110f6d79b87f65e65a
# Written by migrate 0.1.0.
# Edit freely; regeneration keeps local/.
"""The model yolo_head.

Sizes in the comments:
    batch: image.shape[0]
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .config import ModelConfig


# from ConvSiLU
class ConvSiLU(nn.Module):
    """Conv2d and BatchNorm2d; used 16 times."""

    def __init__(self, in_channels: int, out_channels: int, *, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            in_channels, out_channels, kernel_size=3, stride=stride, padding=1, bias=False
        )
        self.bn = nn.BatchNorm2d(out_channels)

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(self.bn(self.conv(x)))


# from Detect
class Detect(nn.Module):
    """ConvSiLU and Conv2d."""

    project: Tensor

    def __init__(self, *, width: int) -> None:
        super().__init__()
        self.split_size = 24
        self.split_size2 = 5
        self.size = 4
        self.size2 = 6
        self.cv2 = nn.ModuleList(
            [
                nn.Sequential(
                    ConvSiLU(width, width),
                    ConvSiLU(width, width),
                    nn.Conv2d(width, 24, kernel_size=1),
                ),
                nn.Sequential(
                    ConvSiLU(2 * width, width),
                    ConvSiLU(width, width),
                    nn.Conv2d(width, 24, kernel_size=1),
                ),
                nn.Sequential(
                    ConvSiLU(4 * width, width),
                    ConvSiLU(width, width),
                    nn.Conv2d(width, 24, kernel_size=1),
                ),
            ]
        )
        self.cv3 = nn.ModuleList(
            [
                nn.Sequential(
                    ConvSiLU(width, 12), ConvSiLU(12, 12), nn.Conv2d(12, 5, kernel_size=1)
                ),
                nn.Sequential(
                    ConvSiLU(2 * width, 12), ConvSiLU(12, 12), nn.Conv2d(12, 5, kernel_size=1)
                ),
                nn.Sequential(
                    ConvSiLU(4 * width, 12), ConvSiLU(12, 12), nn.Conv2d(12, 5, kernel_size=1)
                ),
            ]
        )
        self.register_buffer("project", torch.zeros(6))

    def forward(self, x: Tensor, h: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        x = torch.cat((self.cv2[0](x), self.cv3[0](x)), dim=1).flatten(2)  # [batch, 29, 64]
        h = torch.cat((self.cv2[1](h), self.cv3[1](h)), dim=1).flatten(2)  # [batch, 29, 16]
        y = torch.cat((self.cv2[2](y), self.cv3[2](y)), dim=1).flatten(2)  # [batch, 29, 4]
        left, right = torch.cat((x, h, y), dim=2).split((self.split_size, self.split_size2), dim=1)
        left = F.softmax(left.unflatten(1, (self.size, self.size2)), dim=2)
        h = torch.einsum("nkbp,b->nkp", left, self.project)
        return right, h


# from Detector
class Model(nn.Module):
    """ConvSiLU and Detect."""

    def __init__(self, config: ModelConfig = ModelConfig()) -> None:
        super().__init__()
        self.stem = ConvSiLU(3, config.width // 2, stride=2)
        self.stages = nn.ModuleList(
            [
                ConvSiLU(config.width // 2, config.width, stride=2),
                ConvSiLU(config.width, 2 * config.width, stride=2),
                ConvSiLU(2 * config.width, 4 * config.width, stride=2),
            ]
        )
        self.detect = Detect(width=config.width)

    def init_weights(self) -> None:
        """Draw every parameter afresh, as torch's layers do; running statistics begin anew."""
        for module in self.modules():
            if hasattr(module, "reset_parameters"):
                reset: Any = module.reset_parameters
                reset()

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Return the source's outputs, in its order."""
        h = self.stages[0](self.stem(image))
        x = self.stages[1](h)
        x, h = self.detect(h, x, self.stages[2](x))
        return h, x
