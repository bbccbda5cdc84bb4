"""The models that are measured: files in use, exports of both exporters, and modules as they are.

A source is a callable that makes what `migrate.pipeline.plan` is given, and the options to read it with. Weights are
untrained: what is emitted does not depend on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from migrate.options import Options, with_examples
from tests.golden import SOURCES, open_source
from tests.models import model_path
from tests.zoo.packages import find_packages

IMAGES = (2, 3, 224, 224)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A named source; a `repeated` one has layers that repeat, so that its code is shorter than its graph."""

    name: str
    open: Callable[[Path], tuple[Any, Options]]
    kind: str
    repeated: bool = True


class Logits(nn.Module):
    """A model of transformers, of token numbers alone."""

    def __init__(self, model: nn.Module, result: str, **given: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.model, self.result, self.given = model, result, given

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return getattr(self.model(ids, **{k: make(ids) for k, make in self.given.items()}), self.result)


def vision(name: str) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A model of torchvision and an example."""
    find_packages()
    import torchvision.models as models

    return getattr(models, name)().eval(), (torch.zeros(IMAGES),)


def bert() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A small BERT."""
    find_packages()
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=101, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=40,
    )  # fmt: skip
    return Logits(BertModel(config, add_pooling_layer=False), "last_hidden_state").eval(), (_tokens(),)


def gpt2() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A small GPT-2."""
    find_packages()
    from transformers import GPT2Config, GPT2LMHeadModel

    tokens = {"vocab_size": 101, "bos_token_id": 0, "eos_token_id": 0}
    config = GPT2Config(n_embd=32, n_layer=3, n_head=4, n_positions=40, use_cache=False, **tokens)
    model = Logits(
        GPT2LMHeadModel(config), "logits",
        attention_mask=torch.ones_like, position_ids=lambda ids: torch.arange(ids.shape[1])[None],
    )  # fmt: skip
    return model.eval(), (_tokens(),)


def _tokens() -> torch.Tensor:
    return torch.arange(32).reshape(2, 16)


MODULES: dict[str, Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]] = {
    **{name: (lambda name=name: vision(name)) for name in ("resnet50", "vit_b_16", "mobilenet_v3_large")},
    "bert": bert,
    "gpt2": gpt2,
}


def _exported(name: str, dynamo: bool) -> Callable[[Path], tuple[Any, Options]]:
    """An ONNX export in training form, the batch free."""

    def make(folder: Path) -> tuple[Any, Options]:
        model, example = MODULES[name]()
        path = folder / f"{name}.onnx"
        names = {"input_names": ["x"], "output_names": ["y"], "dynamo": dynamo}
        if dynamo:
            torch.onnx.export(model, example, path, dynamic_shapes=({0: torch.export.Dim("batch")},), **names)
        else:
            kept = {"training": torch.onnx.TrainingMode.TRAINING, "do_constant_folding": False}
            torch.onnx.export(model, example, str(path), dynamic_axes={"x": {0: "batch"}}, **kept, **names)
        return path, Options()

    return make


def _module(name: str) -> Callable[[Path], tuple[Any, Options]]:
    def make(_: Path) -> tuple[Any, Options]:
        model, example = MODULES[name]()
        return model, with_examples(Options(), example)

    return make


REAL = [
    Source(name=name, kind="file", open=lambda _, name=name: (model_path(name), Options()), repeated=name != "basic_pitch")
    for name in ("ppocr_rec", "nudenet", "basic_pitch")
]  # fmt: skip
GOLDEN = [Source(name=s.stem, kind="golden", open=lambda _, s=s: open_source(s), repeated=False) for s in SOURCES]
EXPORTS = [
    Source(name=name, kind=kind, open=_exported(name, kind == "dynamo export"))
    for name in MODULES
    for kind in ("export", "dynamo export")
]
PLAIN = [Source(name=name, kind="PyTorch", open=_module(name)) for name in MODULES]
ALL = [*GOLDEN, *REAL, *EXPORTS, *PLAIN]
