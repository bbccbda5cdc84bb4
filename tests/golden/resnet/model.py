# The model of resnet, in PyTorch.
# Source: resnet.onnx, sha256 8ed8094d66ab55db54e5d6605aba0a14f275b4394d8318cca5a21e436cc8db35
# Written by migrate 0.1.0.
# Edit freely; regeneration keeps local/.
"""The model resnet."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from .config import ModelConfig


# from /layer1/layer1.0/Relu
class Layer(nn.Module):
    """Conv2d and BatchNorm2d; used 3 times."""

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, in_channels, kernel_size=3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(in_channels)
        self.conv2 = nn.Conv2d(in_channels, in_channels, kernel_size=3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(in_channels)

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(h)) + x)


# from /layer2/layer2.0/Relu
class Layer2(nn.Module):
    """Conv2d and BatchNorm2d."""

    def __init__(self, *, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, 2 * width, kernel_size=3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(2 * width)
        self.conv2 = nn.Conv2d(2 * width, 2 * width, kernel_size=3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(2 * width)
        self.down = nn.Sequential(
            nn.Conv2d(width, 2 * width, kernel_size=1, stride=2, bias=False),
            nn.BatchNorm2d(2 * width),
        )

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(h)) + self.down(x))


class Model(nn.Module):
    """Conv2d, BatchNorm2d, Layer and 3 more."""

    def __init__(self, config: ModelConfig = ModelConfig()) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, config.width, kernel_size=3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(config.width)
        self.layer1 = nn.Sequential(Layer(config.width), Layer(config.width))
        self.layer2 = nn.Sequential(Layer2(width=config.width), Layer(2 * config.width))
        self.drop = nn.Dropout(config.dropout)
        self.head = nn.Linear(2 * config.width, config.num_classes)

    def init_weights(self) -> None:
        """Draw every parameter afresh, as torch's layers do; running statistics begin anew."""
        for module in self.modules():
            if hasattr(module, "reset_parameters"):
                reset: Any = module.reset_parameters
                reset()

    def logits(self, image: Tensor) -> Tensor:
        """The outputs before their final softmax or sigmoid, which the loss is computed on."""
        image = F.relu(self.norm(self.stem(image)))
        mean = self.layer2(self.layer1(image)).mean(dim=(2, 3))
        return self.head(self.drop(mean))

    def forward(self, image: Tensor) -> Tensor:
        """Return the source's output."""
        return F.softmax(self.logits(image), dim=-1)
