"""Small networks, ours and those of the libraries that they are compared with, with weights by formula."""

import zlib
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from flambeau import models
from flambeau.models import convnext, efficientnet, mobilenet, resnet

IDS = np.random.default_rng(1).integers(3, 40, (2, 9)).astype(np.int32)
MASK = np.array([[1] * 9, [0] * 4 + [1] * 5], np.int32)  # the second row begins with padding
IMAGES = np.random.default_rng(2).standard_normal((2, 3, 32, 32)).astype(np.float32)
ODD = np.random.default_rng(3).standard_normal((1, 3, 45, 38)).astype(np.float32)
SOUND = np.random.default_rng(4).standard_normal((2, 8, 24)).astype(np.float32)

GPT2 = {
    "model_type": "gpt2", "vocab_size": 48, "n_positions": 80, "n_embd": 16, "n_layer": 2, "n_head": 2,
    "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip
LLAMA = {
    "model_type": "llama", "vocab_size": 48, "hidden_size": 24, "intermediate_size": 32,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6,
    "pad_token_id": None, "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 16,
}  # fmt: skip
SMOL = {"rope_type": "default", "rope_theta": 2000000.0}
T5 = {
    "model_type": "t5", "vocab_size": 48, "d_model": 16, "num_layers": 2, "d_kv": 8, "num_heads": 2,
    "d_ff": 32, "decoder_start_token_id": 0, "relative_attention_max_distance": 16,
    "relative_attention_num_buckets": 8, "eos_token_id": None, "pad_token_id": 0,
}  # fmt: skip
BERT = {
    "model_type": "bert", "vocab_size": 48, "hidden_size": 16, "num_hidden_layers": 2,
    "num_attention_heads": 2, "intermediate_size": 32,
}  # fmt: skip
WHISPER = {
    "model_type": "whisper", "d_model": 16, "encoder_layers": 2, "decoder_layers": 1,
    "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 8,
    "max_source_positions": 12, "num_mel_bins": 8, "vocab_size": 60000,
}  # fmt: skip
VIT = {
    "model_type": "vit", "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
    "intermediate_size": 32, "image_size": 32, "patch_size": 8, "num_labels": 7,
}  # fmt: skip
CONVNEXT = {
    "model_type": "convnext", "depths": [1, 2, 1, 1], "hidden_sizes": [8, 16, 24, 32], "num_labels": 7,
}  # fmt: skip

DECODERS = {  # by name: what config.json holds, and the class of transformers
    "gpt2": (GPT2, "GPT2LMHeadModel"),
    "llama": (LLAMA | {"rope_parameters": LLAMA3}, "LlamaForCausalLM"),
    "mistral": (LLAMA | {"model_type": "mistral", "sliding_window": 6}, "MistralForCausalLM"),
    "qwen2": (
        LLAMA
        | {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1},
        "Qwen2ForCausalLM",
    ),
    "qwen3": (
        LLAMA | {"model_type": "qwen3", "head_dim": 8, "tie_word_embeddings": True},
        "Qwen3ForCausalLM",
    ),
    "smollm3": (
        LLAMA | {"model_type": "smollm3", "no_rope_layers": [1, 0], "rope_parameters": SMOL},
        "SmolLM3ForCausalLM",
    ),
    "gemma2": (
        LLAMA | {"model_type": "gemma2", "sliding_window": 4, "query_pre_attn_scalar": 8,
                 "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0, "tie_word_embeddings": True},
        "Gemma2ForCausalLM",
    ),
    "qwen2_moe": (
        LLAMA | {"model_type": "qwen2_moe", "num_experts": 4, "num_experts_per_tok": 2, "head_dim": 6,
                 "moe_intermediate_size": 16, "shared_expert_intermediate_size": 20},
        "Qwen2MoeForCausalLM",
    ),
    "t5": (T5, "T5ForConditionalGeneration"),
    "t5 v1.1": (
        T5 | {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
        "T5ForConditionalGeneration",
    ),
}  # fmt: skip


# what transformers makes of its config of v1.1: whose head is the embedding where a file has no other
OURS = {"t5 v1.1": {"tie_word_embeddings": True, "scale_decoder_outputs": False}}


class Case(NamedTuple):
    """A network, the same of a library (given its packages), and what goes in."""

    ours: Callable[[], Any]
    theirs: Callable[[Any], Any]
    inputs: tuple = (IMAGES,)


def _vision(name: str, **more: Any) -> Case:
    make = getattr(resnet, name, None) or getattr(mobilenet, name)
    return Case(lambda: make(7, **more), lambda p: getattr(p.torchvision.models, name)(num_classes=7, **more))


def _timm(name: str, images: np.ndarray = ODD) -> Case:
    return Case(
        lambda: models.create_model(name, 7), lambda p: p.timm.create_model(name, num_classes=7), (images,)
    )


def _timm_of(ours: Callable[[], Any], module: str, name: str, **sizes: Any) -> Case:
    made = lambda p: getattr(getattr(p.timm.models, module), name)(num_classes=7, **sizes)  # noqa: E731
    return Case(ours, made)


def _small(kind: efficientnet.EfficientKind) -> efficientnet.EfficientNet:
    return efficientnet.EfficientNet(efficientnet.Scale(0.25, 0.4, 32), 7, kind)


CASES = {
    "resnet18": _vision("resnet18"),
    "resnext50_32x4d": _vision("resnext50_32x4d"),
    "mobilenet_v2": _vision("mobilenet_v2", width_mult=0.5),
    "mobilenet_v3_large": _vision("mobilenet_v3_large", width_mult=0.75),
    "mobilenet_v3_small": _vision("mobilenet_v3_small"),
    "efficientnet_b0": _timm("efficientnet_b0"),
    "tf_efficientnet_b1": _timm("tf_efficientnet_b1"),
    "tf_efficientnet_lite0": _timm("tf_efficientnet_lite0"),
    "convnext": _timm_of(
        lambda: convnext.ConvNeXt((1, 2, 1, 1), (8, 16, 24, 32), 7),
        "convnext", "ConvNeXt", depths=(1, 2, 1, 1), dims=(8, 16, 24, 32),
    ),
    "vit": _timm_of(
        lambda: models.VisionTransformer(models.VitConfig(32, 8, 24, 2, 3), 7),
        "vision_transformer", "VisionTransformer",
        img_size=32, patch_size=8, embed_dim=24, depth=2, num_heads=3,
    ),
}  # fmt: skip
PLAIN = ("mobilenet_v2", "mobilenet_v3_small", "tf_efficientnet_lite0", "convnext", "vit")


def libraries(torch: Any) -> SimpleNamespace:
    """torchvision, timm and transformers."""
    import logging

    from helpers.torchvision_here import torchvision

    found = SimpleNamespace(torch=torch, torchvision=torchvision(torch))
    import timm
    import transformers

    logging.getLogger("transformers").setLevel(logging.ERROR)
    found.timm, found.transformers = timm, transformers
    return found


def value_of(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """What a tensor of a name holds: as if trained a little, the same everywhere."""
    shape = tuple(shape)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if name.endswith("running_var"):
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)
    drawn = rng.standard_normal(shape).astype(np.float32)
    if len(shape) < 2:
        return drawn * np.float32(0.1) + np.float32(name.endswith(("weight", "gamma")))
    gain = 1.0 if len(shape) == 4 else 2.5  # deep stacks of convolutions do not grow, small texts vary
    return drawn * np.float32(gain / np.sqrt(np.prod(shape[1:])))


def filled(model: Any) -> Any:
    """Our network with the values of its names, on the NumPy device, in eval mode."""
    state = {name: value_of(name, t.shape) for name, t in model.state_dict().items() if t.dtype.is_float}
    model.to("cpu").load_state_dict(state, strict=False)
    return model.eval()


def fill(theirs: Any, names: Mapping[str, Any]) -> Any:
    """A library's network with the values of these names, whichever of several names a tensor has is ours."""
    import torch

    state = theirs.state_dict()
    same: dict[int, str] = {t.data_ptr(): name for name, t in state.items() if name in names}
    with torch.no_grad():
        for name, t in state.items():
            if t.is_floating_point():
                t.copy_(torch.from_numpy(value_of(same.get(t.data_ptr(), name), tuple(t.shape))))
    return theirs.eval()
