"""Every layer of `torch.nn` that a model can hold, losses aside: the table of the frontend's tests, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from tests.migrate.frontends.pytorch.test_ops import CASES, IMAGE, LINE, SEQUENCE, VECTOR, VOLUME
from tests.zoo.cases import Case

NO_LAYERS = {
    "Container", "DataParallel", "Module", "ModuleDict", "ModuleList", "NLLLoss2d", "ParameterDict", "ParameterList",
    "RNNBase", "RNNCellBase", "Sequential",
}  # fmt: skip


class Unpooled(nn.Module):
    """Pooling and its inverse."""

    def __init__(self, rank: str) -> None:
        super().__init__()
        self.pool = getattr(nn, f"MaxPool{rank}")(2, return_indices=True)
        self.unpool = getattr(nn, f"MaxUnpool{rank}")(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.unpool(*self.pool(x))


class Scaled(nn.Module):
    """A layer, and something to train before it, as layers without parameters are used."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, *inputs: Tensor) -> Any:
        return self.layer(*(x * self.scale if x.is_floating_point() else x for x in inputs))


def _more() -> dict[str, tuple[nn.Module, tuple[Tensor, ...]]]:
    decoder = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    return {
        "MaxUnpool1d": (Unpooled("1d"), (LINE,)),
        "MaxUnpool3d": (Unpooled("3d"), (VOLUME,)),
        "Softmin": (nn.Softmin(1), (VECTOR,)),
        "SyncBatchNorm": (nn.SyncBatchNorm(6), (IMAGE,)),
        "TransformerDecoder": (nn.TransformerDecoder(decoder, 2), (SEQUENCE, torch.randn(4, 7, 8))),
        "TransformerEncoderLayer": (nn.TransformerEncoderLayer(8, 2, 16), (SEQUENCE,)),
        "UpsamplingBilinear2d": (nn.UpsamplingBilinear2d(scale_factor=2), (IMAGE,)),
        "UpsamplingNearest2d": (nn.UpsamplingNearest2d(scale_factor=2), (IMAGE,)),
    }


def _lazy() -> Iterator[tuple[str, tuple[nn.Module, tuple[Tensor, ...]]]]:
    """Layers that take their sizes from the first input."""
    yield "LazyLinear", (nn.LazyLinear(5), (VECTOR,))
    for rank, x in (("1d", LINE), ("2d", IMAGE), ("3d", VOLUME)):
        for kind, args in (("BatchNorm", ()), ("InstanceNorm", ()), ("Conv", (5, 3)), ("ConvTranspose", (5, 3))):
            yield f"Lazy{kind}{rank}", (getattr(nn, f"Lazy{kind}{rank}")(*args), (x,))


TABLE = CASES | _more() | dict(_lazy())


def names() -> list[str]:
    return sorted(TABLE)


def case(name: str) -> Case:
    layer, example = TABLE[name]
    module = Scaled(layer)
    with torch.no_grad():
        module(*example)  # lazy layers take their sizes

    def inputs(batch: int) -> tuple[Tensor, ...]:
        return tuple(x[[k % len(x) for k in range(batch)]] * (1 if x.dtype == torch.int64 else 1.1) for x in example)

    return Case(module=module, inputs=inputs)
