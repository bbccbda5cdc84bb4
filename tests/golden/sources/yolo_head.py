"""A detection head as YOLOv8's, on three levels: boxes as distributions of distances, and scores."""

import torch
from torch import nn


class ConvSiLU(nn.Module):
    def __init__(self, inside: int, outside: int, size: int = 3, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inside, outside, size, stride, size // 2, bias=False)
        self.bn = nn.BatchNorm2d(outside)
        self.act = nn.SiLU()

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class Detect(nn.Module):
    def __init__(self, widths: tuple[int, ...], classes: int, bins: int) -> None:
        super().__init__()
        self.classes, self.bins = classes, bins
        self.cv2 = nn.ModuleList(
            nn.Sequential(ConvSiLU(w, 16), ConvSiLU(16, 16), nn.Conv2d(16, 4 * bins, 1)) for w in widths
        )
        self.cv3 = nn.ModuleList(
            nn.Sequential(ConvSiLU(w, 12), ConvSiLU(12, 12), nn.Conv2d(12, classes, 1)) for w in widths
        )
        self.register_buffer("project", torch.arange(float(bins)))

    def forward(self, levels):
        found = [torch.cat((box(x), score(x)), 1).flatten(2) for x, box, score in zip(levels, self.cv2, self.cv3, strict=True)]
        boxes, scores = torch.cat(found, 2).split((4 * self.bins, self.classes), 1)
        boxes = boxes.unflatten(1, (4, self.bins)).softmax(2)
        return torch.einsum("nkbp,b->nkp", boxes, self.project), scores


class Detector(nn.Module):
    def __init__(self, width: int = 8, classes: int = 5, bins: int = 6) -> None:
        super().__init__()
        self.stem = ConvSiLU(3, width, stride=2)
        self.stages = nn.ModuleList(ConvSiLU(width * 2**i, width * 2 ** (i + 1), stride=2) for i in range(3))
        self.detect = Detect((2 * width, 4 * width, 8 * width), classes, bins)

    def forward(self, image):
        x, levels = self.stem(image), []
        for stage in self.stages:
            x = stage(x)
            levels.append(x)
        return self.detect(levels)


def model() -> nn.Module:
    return Detector()


def example() -> tuple[torch.Tensor, ...]:
    return (torch.zeros(2, 3, 32, 32),)
