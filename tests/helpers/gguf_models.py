"""Small language models as GGUF files: weights under llama.cpp's names, sizes, a tokenizer and a template."""

import re
from pathlib import Path
from typing import Any

import numpy as np

import flambeau as fb
from flambeau import models
from helpers.networks import filled
from helpers.vocabularies import byte_pairs

LLAMA = (  # transformers' names, llama.cpp's
    (r"^model\.embed_tokens\.", "token_embd."),
    (r"^model\.norm\.", "output_norm."),
    (r"^lm_head\.", "output."),
    (r"^model\.layers\.(\d+)\.input_layernorm\.", r"blk.\1.attn_norm."),
    (r"^model\.layers\.(\d+)\.post_attention_layernorm\.", r"blk.\1.ffn_norm."),
    (r"^model\.layers\.(\d+)\.self_attn\.o_proj\.", r"blk.\1.attn_output."),
    (r"^model\.layers\.(\d+)\.self_attn\.([qkv])_(proj|norm)\.", r"blk.\1.attn_\2~\3."),
    (r"^model\.layers\.(\d+)\.mlp\.(gate|up|down)_proj\.", r"blk.\1.ffn_\2."),
    (r"~proj", ""),
    (r"~norm", "_norm"),
)
SIZES = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "context_length": "max_position_embeddings",
}


def renamed(state: dict[str, np.ndarray], rows: tuple[tuple[str, str], ...]) -> dict[str, np.ndarray]:
    out = {}
    for name, value in state.items():
        for pattern, new in rows:
            name = re.sub(pattern, new, name)
        out[name] = value
    return out


def interleaved(weight: np.ndarray, heads: int) -> np.ndarray:
    """The rows of queries or keys as llama.cpp's converter orders them."""
    return weight.reshape(heads, 2, -1, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


TINY = {
    "model_type": "llama", "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
}  # fmt: skip


def tiny_chat(path: Path, quantize: Any = None, **metadata: Any) -> Any:
    """Write a GGUF file of a small Llama with a tokenizer and ChatML; return the network."""
    words = byte_pairs("smollm")
    model = filled(models.LlamaForCausalLM(TINY | {"vocab_size": len(words["tokenizer.ggml.tokens"])}))
    state = renamed({name: t.numpy() for name, t in model.state_dict().items()}, LLAMA)
    for name, value in state.items():
        if heads := {"attn_q.weight": 4, "attn_k.weight": 2}.get(name.partition(".")[2].partition(".")[2]):
            state[name] = interleaved(value, heads)
    sizes = {f"llama.{entry}": TINY[name] for entry, name in SIZES.items()}
    sizes |= {"general.architecture": "llama", "llama.attention.layer_norm_rms_epsilon": 1e-6}
    tensors = {name: fb.tensor(value, device="cpu") for name, value in state.items()}
    fb.io.save_gguf(tensors, path, sizes | words | metadata, quantize=quantize)
    return model
