# The model of unet, in PyTorch.
# Source: UNet, sha256 230741afeaff203c059a587288915245aa6675fc4a5e513a48d476417940b564
# Written by migrate 0.1.0.
# Edit freely; regeneration keeps local/.
"""The model unet."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .config import ModelConfig


# from DoubleConv
class DoubleConv(nn.Module):
    """Conv2d, BatchNorm2d and ReLU; used 7 times."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
            nn.Conv2d(out_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.double_conv(x)


# from Down
class Down(nn.Module):
    """MaxPool2d and DoubleConv; used 3 times."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.maxpool = nn.MaxPool2d(2)
        self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(self.maxpool(x))


# from Up
class Up(nn.Module):
    """ConvTranspose2d and DoubleConv; used 3 times."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(in_channels, out_channels, kernel_size=2, stride=2)
        self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        return self.conv(torch.cat((h, self.up(x)), dim=1))


# from UNet
class Model(nn.Module):
    """DoubleConv, Down, Up and Conv2d."""

    def __init__(self, config: ModelConfig = ModelConfig()) -> None:
        super().__init__()
        self.inc = DoubleConv(3, config.width)
        self.down = nn.ModuleList(
            [
                Down(config.width, 2 * config.width),
                Down(2 * config.width, 4 * config.width),
                Down(4 * config.width, 8 * config.width),
            ]
        )
        self.up = nn.ModuleList(
            [
                Up(8 * config.width, 4 * config.width),
                Up(4 * config.width, 2 * config.width),
                Up(2 * config.width, config.width),
            ]
        )
        self.outc = nn.Conv2d(config.width, 2, kernel_size=1)

    def init_weights(self) -> None:
        """Draw every parameter afresh, as torch's layers do; running statistics begin anew."""
        for module in self.modules():
            if hasattr(module, "reset_parameters"):
                reset: Any = module.reset_parameters
                reset()

    def forward(self, image: Tensor) -> Tensor:
        """Return the source's output."""
        h = self.inc(image)
        x = self.down[0](h)
        y = self.down[1](x)
        x = self.up[1](self.up[0](self.down[2](y), y), x)
        return self.outc(self.up[2](x, h))
