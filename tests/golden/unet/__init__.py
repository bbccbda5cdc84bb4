"""unet: a training package made from UNet. `load_model()` gives the model."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors.torch import load_file

from .config import ModelConfig
from .model import Model

__all__ = ["Model", "ModelConfig", "load_model"]


def load_model(pretrained: bool = True, config: ModelConfig = ModelConfig()) -> Model:
    """The model in eval mode, on the CPU.

    Without `pretrained` its parameters are drawn afresh; constants are loaded all the same.
    The stored weights fit the sizes of the source alone: another `config` needs fresh ones.
    """
    here = Path(__file__).parent
    model = Model(config)
    entries = json.loads((here / "weights.json").read_text(encoding="utf-8"))["tensors"]
    constants = [e for e in entries if e["role"] == "buffer" and not e["kind"]]
    wanted = entries if pretrained else constants
    if wanted:
        stored = {
            k: v
            for file in sorted(here.glob("weights*.safetensors"))
            for k, v in load_file(file).items()
        }
        state = {e["target"]: stored[e["tied_to"] or e["target"]] for e in wanted}
        missing, unexpected = model.load_state_dict(state, strict=False)
        missing = [key for key in missing if not key.endswith("num_batches_tracked")]
        unexpected = sorted({*unexpected} - dict(model.named_buffers()).keys())
        if pretrained and (missing or unexpected):
            raise KeyError(
                f"weights.safetensors lacks {missing} and has {unexpected} beyond the model"
            )
    return model.eval()
