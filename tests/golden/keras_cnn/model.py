# The model of keras_cnn, in PyTorch.
# Source: keras_cnn.keras, sha256 a1d7dc129e730cc4c06c973e49814bc88883d6fcc71b8eff152d27952b98eddc
# Written by migrate 0.1.0.
# Edit freely; regeneration keeps local/.
"""The model keras_cnn."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from .config import ModelConfig


# from re_lu
class ConvNormReLU(nn.Module):
    """Conv2d and BatchNorm2d; used 5 times."""

    def __init__(
        self, in_channels: int, out_channels: int, *, stride: int = 1, padding: int = 0
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            in_channels, out_channels, kernel_size=3, stride=stride, padding=padding, bias=False
        )
        self.norm = nn.BatchNorm2d(out_channels, eps=0.001, momentum=0.01)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.norm(self.conv(x)))


# from add
class Block(nn.Module):
    """ConvNormReLU, Conv2d and BatchNorm2d; used 3 times."""

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.conv1 = ConvNormReLU(in_channels, in_channels, padding=1)
        self.conv2 = nn.Conv2d(in_channels, in_channels, kernel_size=3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(in_channels, eps=0.001, momentum=0.01)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.conv2(self.conv1(x))) + x
        return F.relu(x)


class Model(nn.Module):
    """ConvNormReLU, Block, Conv2d and 3 more."""

    def __init__(self, config: ModelConfig = ModelConfig()) -> None:
        super().__init__()
        self.conv1 = ConvNormReLU(3, config.width, padding=1)
        self.blocks = nn.Sequential(Block(config.width), Block(config.width))
        self.conv2 = ConvNormReLU(config.width, 2 * config.width, stride=2)
        self.conv3 = nn.Conv2d(config.width, 2 * config.width, kernel_size=1, stride=2, bias=False)
        self.norm1 = nn.BatchNorm2d(2 * config.width, eps=0.001, momentum=0.01)
        self.conv4 = nn.Conv2d(
            2 * config.width, 2 * config.width, kernel_size=3, padding=1, bias=False
        )
        self.norm2 = nn.BatchNorm2d(2 * config.width, eps=0.001, momentum=0.01)
        self.block = Block(2 * config.width)
        self.dropout = nn.Dropout(config.dropout)
        self.probabilities = nn.Linear(2 * config.width, config.num_classes)

    def init_weights(self) -> None:
        """Draw every parameter afresh, as Keras's layers do; running statistics begin anew."""
        for module in self.modules():
            if hasattr(module, "reset_parameters"):
                reset: Any = module.reset_parameters
                reset()
            if isinstance(module, nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def logits(self, image: Tensor) -> Tensor:
        """The outputs before their final softmax or sigmoid, which the loss is computed on."""
        h = self.conv1((image * 0.00784313725490196 + -1.0).permute(0, 3, 1, 2))
        h = self.blocks(h)
        x = self.conv2(F.pad(h, (0, 1, 0, 1)))
        h = self.norm1(self.conv3(h))
        x = F.relu(self.norm2(self.conv4(x)) + h)
        x = self.dropout(self.block(x).mean(dim=(2, 3)))
        return self.probabilities(x)

    def forward(self, image: Tensor) -> Tensor:
        """Return the source's output."""
        return F.softmax(self.logits(image), dim=1)
