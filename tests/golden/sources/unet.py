"""A U-Net: encoder and decoder of double convolutions, joined level by level."""

import torch
from torch import nn


class DoubleConv(nn.Module):
    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(inside, outside, 3, padding=1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(),
            nn.Conv2d(outside, outside, 3, padding=1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(),
        )  # fmt: skip

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.maxpool = nn.MaxPool2d(2)
        self.conv = DoubleConv(inside, outside)

    def forward(self, x):
        return self.conv(self.maxpool(x))


class Up(nn.Module):
    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(inside, inside // 2, 2, stride=2)
        self.conv = DoubleConv(inside, outside)

    def forward(self, x, skip):
        return self.conv(torch.cat((skip, self.up(x)), dim=1))


class UNet(nn.Module):
    def __init__(self, width: int = 6, levels: int = 3, classes: int = 2) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(levels + 1)]
        self.inc = DoubleConv(3, width)
        self.down = nn.ModuleList(Down(a, b) for a, b in zip(widths, widths[1:], strict=False))
        self.up = nn.ModuleList(Up(b, a) for a, b in zip(widths[-2::-1], widths[:0:-1], strict=True))
        self.outc = nn.Conv2d(width, classes, 1)

    def forward(self, image):
        levels = [self.inc(image)]
        for down in self.down:
            levels.append(down(levels[-1]))
        x = levels.pop()
        for up in self.up:
            x = up(x, levels.pop())
        return self.outc(x)


def model() -> nn.Module:
    return UNet()


def example() -> tuple[torch.Tensor, ...]:
    return (torch.zeros(2, 3, 16, 16),)
