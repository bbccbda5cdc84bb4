"""Sixty architectures of transformers at tiny configurations: encoders, decoders, both, images and sound."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import Tensor, nn

from tests.zoo.cases import Case, in_order
from tests.zoo.packages import find_packages

find_packages()

transformers: Any = importlib.import_module("transformers")

VOCABULARY, LENGTH, SIDE, SAMPLES, FRAMES = 99, 7, 32, 4000, 60
TINY: dict[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 48, "max_position_embeddings": 64, "use_cache": False, "pad_token_id": 1,
    "bos_token_id": 2, "eos_token_id": 3,
}  # fmt: skip
GROUPED = TINY | {"num_key_value_heads": 2, "head_dim": 8}
SEQ2SEQ = {
    "vocab_size": VOCABULARY, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 64,
    "use_cache": False, "pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 2,
}  # fmt: skip
T5 = {
    "vocab_size": VOCABULARY, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "use_cache": False,
    "pad_token_id": 1, "eos_token_id": 3, "decoder_start_token_id": 2,
}  # fmt: skip
VISION = TINY | {"image_size": SIDE, "patch_size": 8}
SPEECH = TINY | {
    "conv_dim": (16, 16, 16), "conv_kernel": (10, 3, 3), "conv_stride": (5, 2, 2), "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2, "num_codevectors_per_group": 8,
    "mask_time_prob": 0.0, "mask_feature_prob": 0.0, "layerdrop": 0.0,
}  # fmt: skip
ENCODER, DECODER, IMAGE = "AutoModelForMaskedLM", "AutoModelForCausalLM", "AutoModelForImageClassification"
BOTH, PLAIN, SOUND = "AutoModelForSeq2SeqLM", "AutoModel", "AutoModelForCTC"
Row = tuple[str, dict[str, Any], dict[str, Any]]


def _rows(kind: str, base: dict[str, Any], **more: dict[str, Any]) -> dict[str, Row]:
    return {name.replace("_x_", "-"): (kind, base, overrides) for name, overrides in more.items()}


TABLE: dict[str, Row] = {
    **_rows(
        ENCODER, TINY, bert={}, roberta={}, electra={"embedding_size": 16}, albert={"embedding_size": 16},
        mpnet={}, ernie={}, convbert={"embedding_size": 16}, nystromformer={}, fnet={}, megatron_x_bert={},
        deberta={"pos_att_type": ["c2p", "p2c"], "relative_attention": True}, layoutlm={}, esm={"mask_token_id": 4},
        squeezebert={"embedding_size": 32}, modernbert={"cls_token_id": 2, "sep_token_id": 3},
    ),
    **_rows(ENCODER, {"pad_token_id": 1}, distilbert={"vocab_size": VOCABULARY, "dim": 32, "n_layers": 2, "n_heads": 4,
        "hidden_dim": 48,
    }),
    **_rows(
        DECODER, TINY, gpt2={}, gpt_neo={"attention_types": [[["global", "local"], 1]], "num_layers": 2, "num_heads": 4},
        gpt_neox={"rotary_pct": 0.5}, gptj={"rotary_dim": 4}, opt={"ffn_dim": 48, "word_embed_proj_dim": 32},
        bloom={"n_layer": 2, "n_head": 4}, codegen={"rotary_dim": 4}, gpt_bigcode={"n_inner": 48}, biogpt={},
        xglm={"d_model": 32, "ffn_dim": 48, "num_layers": 2, "attention_heads": 4}, falcon={},
        mpt={"d_model": 32, "n_heads": 4, "n_layers": 2},
    ),
    **_rows(
        DECODER, GROUPED, llama={}, mistral={}, gemma={}, gemma2={}, qwen2={}, qwen3={}, phi={}, phi3={}, cohere={},
        stablelm={},        starcoder2={}, granite={}, mixtral={"num_local_experts": 4},
    ),
    **_rows(BOTH, SEQ2SEQ, bart={}, pegasus={}, marian={}, m2m_100={}, blenderbot={}),
    **_rows(BOTH, T5, t5={}, mt5={}),
    **_rows(IMAGE, {"image_size": SIDE, "patch_size": 2}, swin={
        "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4,
    }),
    **_rows(
        IMAGE, VISION, vit={}, deit={"architectures": ["DeiTForImageClassification"]}, beit={}, dinov2={"mlp_ratio": 2},
        dinov2_with_registers={"mlp_ratio": 2},
        convnext={"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2},
        resnet={"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1]},
    ),
    **_rows(PLAIN, {}, clip={
        "projection_dim": 16, "text_config": TINY, "vision_config": VISION,
    }),
    **_rows(SOUND, SPEECH, wav2vec2={}, hubert={}),
    **_rows("AutoModelForSpeechSeq2Seq", SEQ2SEQ, whisper={"num_mel_bins": 16, "max_source_positions": FRAMES // 2,
        "max_target_positions": 32,
    }),
}  # fmt: skip


def names() -> list[str]:
    return sorted(TABLE)


def case(name: str) -> Case:
    kind, base, overrides = TABLE[name]
    config = transformers.AutoConfig.for_model(name, **(base | overrides))
    module: nn.Module = getattr(transformers, kind).from_config(config)

    def inputs(batch: int) -> dict[str, Tensor]:
        return in_order(module, _inputs(name, kind, batch))

    return Case(module=module, inputs=inputs)


def _inputs(name: str, kind: str, batch: int) -> dict[str, Tensor]:
    """What an architecture of a kind takes; the last words of the first text are padding."""
    words = torch.randint(4, VOCABULARY, (batch, LENGTH))
    mask = torch.ones(batch, LENGTH, dtype=torch.int64)
    mask[0, -2:] = 0
    image = {"pixel_values": torch.randn(batch, 3, SIDE, SIDE)}
    if kind == IMAGE:
        return image
    if kind == SOUND:
        return {"input_values": torch.randn(batch, SAMPLES)}
    if name == "whisper":
        return {"input_features": torch.randn(batch, 16, FRAMES), "decoder_input_ids": words}
    text = {"input_ids": words, "attention_mask": mask}
    if name == "clip":
        return text | image
    if kind == BOTH:
        return text | {"decoder_input_ids": torch.randint(4, VOCABULARY, (batch, LENGTH - 2))}
    return {"input_ids": words} if name == "fnet" else text
