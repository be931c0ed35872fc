"""Networks of GGUF files and folders against transformers' with the same weights: `./run test --torch`.

Files are written by llama.cpp's own package, with its names of tensors and the changes of its converter.
"""

import numpy as np
import pytest
from helpers.gguf_models import interleaved
from helpers.networks import IDS, LLAMA, MASK, libraries, value_of

import flambeau as fb
from flambeau import models

gguf = pytest.importorskip("gguf", reason="gguf is not installed: pip install flambeau[torch]")

SIZES = {**LLAMA, "hidden_size": 32, "intermediate_size": 48, "head_dim": 8, "max_position_embeddings": 64}
MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
MIXTRAL = {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None}
GEMMA = {"sliding_window": 4, "query_pre_attn_scalar": 8, "tie_word_embeddings": True}
GEMMA2 = GEMMA | {"model_type": "gemma2", "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}
GPT2 = {"model_type": "gpt2", "n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 48}
NEOX = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}}
NEOX = {k: v for k, v in SIZES.items() if k not in ("head_dim", "num_key_value_heads")} | NEOX
CASES = {  # name: config of transformers, its class, llama.cpp's architecture
    "llama": (SIZES, "LlamaForCausalLM", "LLAMA"),
    "mistral": (SIZES | {"model_type": "mistral", "sliding_window": None}, "MistralForCausalLM", "LLAMA"),
    "qwen2": (SIZES | {"model_type": "qwen2"}, "Qwen2ForCausalLM", "QWEN2"),
    "qwen3": (SIZES | {"model_type": "qwen3", "tie_word_embeddings": True}, "Qwen3ForCausalLM", "QWEN3"),
    "mixtral": (SIZES | MIXTRAL, "MixtralForCausalLM", "LLAMA"),
    "qwen2_moe": (
        SIZES | MOE | {"model_type": "qwen2_moe", "shared_expert_intermediate_size": 40},
        "Qwen2MoeForCausalLM",
        "QWEN2MOE",
    ),
    "qwen3_moe": (
        SIZES | MOE | {"model_type": "qwen3_moe", "norm_topk_prob": True},
        "Qwen3MoeForCausalLM",
        "QWEN3MOE",
    ),
    "gemma2": (SIZES | GEMMA2, "Gemma2ForCausalLM", "GEMMA2"),
    "gemma3": (
        SIZES | GEMMA | {"model_type": "gemma3_text", "num_hidden_layers": 7},
        "Gemma3ForCausalLM",
        "GEMMA3",
    ),
    "phi3": (SIZES | {"model_type": "phi3", "pad_token_id": 0}, "Phi3ForCausalLM", "PHI3"),
    "gpt_neox": (NEOX | {"model_type": "gpt_neox"}, "GPTNeoXForCausalLM", "GPTNEOX"),
    "gpt2": (GPT2 | {"eos_token_id": None, "bos_token_id": None}, "GPT2LMHeadModel", "GPT2"),
}


def converted(name: str, state: dict, config) -> dict:
    """The tensors of a GGUF file, as llama.cpp's converter makes them of transformers'."""
    arch = getattr(gguf.MODEL_ARCH, CASES[name][2])
    layers = getattr(config, "num_hidden_layers", None) or config.n_layer
    table = gguf.get_tensor_name_map(arch, layers)
    tied = "lm_head.weight" if config.tie_word_embeddings else None
    out = {}
    for key, value in state.items():
        if key == tied or key.endswith((".attn.bias", ".attn.masked_bias")):
            continue
        stem, _, end = key.rpartition(".")
        if "experts.gate_up_proj" in key:
            layer, half = key.split(".")[2], value.shape[1] // 2
            out[f"blk.{layer}.ffn_gate_exps.weight"] = value[:, :half]
            out[f"blk.{layer}.ffn_up_exps.weight"] = value[:, half:]
            continue
        if "experts.down_proj" in key:
            out[f"blk.{key.split('.')[2]}.ffn_down_exps.weight"] = value
            continue
        if key.endswith(("mlp.gate.weight", "mlp.shared_expert_gate.weight")):
            kind = "ffn_gate_inp_shexp" if "shared" in key else "ffn_gate_inp"
            out[f"blk.{key.split('.')[2]}.{kind}.weight"] = value
            continue
        mapped = table.get_name(stem)
        assert mapped, key
        if name in ("llama", "mistral", "mixtral") and ("q_proj" in key or "k_proj" in key):
            heads = config.num_attention_heads if "q_proj" in key else config.num_key_value_heads
            value = interleaved(value, heads)
        if name.startswith("gemma") and key.endswith("norm.weight"):
            value = value + 1
        if "query_key_value" in key:
            value = value.reshape(4, 3, -1, *value.shape[1:]).swapaxes(0, 1).reshape(value.shape)
        if name == "gpt2" and end == "weight" and ".c_" in key:
            value = value.T
        out[f"{mapped}.{end}"] = np.ascontiguousarray(value)
    return out


def write(path, name: str, state: dict, config, quantizes: bool = False) -> None:
    """Write a file by llama.cpp's package; quantizes: matrices of whole blocks as Q8_0."""
    arch = gguf.MODEL_ARCH_NAMES[getattr(gguf.MODEL_ARCH, CASES[name][2])]
    writer = gguf.GGUFWriter(path, arch)
    c = config
    if name == "gpt2":
        writer.add_context_length(c.n_positions)
        writer.add_embedding_length(c.n_embd)
        writer.add_feed_forward_length(4 * c.n_embd)
        writer.add_block_count(c.n_layer)
        writer.add_head_count(c.n_head)
        writer.add_layer_norm_eps(c.layer_norm_epsilon)
    else:
        writer.add_context_length(c.max_position_embeddings)
        writer.add_embedding_length(c.hidden_size)
        writer.add_feed_forward_length(c.intermediate_size)
        writer.add_block_count(c.num_hidden_layers)
        writer.add_head_count(c.num_attention_heads)
        if name == "gpt_neox":
            writer.add_layer_norm_eps(c.layer_norm_eps)
            writer.add_parallel_residual(c.use_parallel_residual)
            writer.add_rope_dimension_count(4)
        else:
            writer.add_head_count_kv(c.num_key_value_heads)
            writer.add_layer_norm_rms_eps(c.rms_norm_eps)
        if getattr(c, "head_dim", None):
            writer.add_key_length(c.head_dim)
        rope = c.rope_parameters
        rope = rope.get("full_attention", rope)
        writer.add_rope_freq_base(rope["rope_theta"])
        if name == "phi3":
            writer.add_rope_dimension_count(c.head_dim if getattr(c, "head_dim", None) else 8)
        if name.startswith("gemma"):
            writer.add_sliding_window(c.sliding_window)
        if name == "gemma2":
            writer.add_attn_logit_softcapping(c.attn_logit_softcapping)
            writer.add_final_logit_softcapping(c.final_logit_softcapping)
        if count := getattr(c, "num_local_experts", None) or getattr(c, "num_experts", None):
            writer.add_expert_count(count)
            writer.add_expert_used_count(c.num_experts_per_tok)
        if getattr(c, "moe_intermediate_size", None):
            writer.add_expert_feed_forward_length(c.moe_intermediate_size)
        if getattr(c, "shared_expert_intermediate_size", None):
            writer.add_expert_shared_feed_forward_length(c.shared_expert_intermediate_size)
    for key, value in converted(name, state, config).items():
        if quantizes and value.ndim > 1 and value.shape[-1] % 32 == 0 and "gate_inp" not in key:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(key, gguf.quants.quantize(value, kind), raw_dtype=kind)
        else:
            writer.add_tensor(key, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("name", CASES)
def test_files_and_folders(name, torch, tmp_path):
    """Logits, and the best tokens with a cache and padding, of a GGUF file and of a folder."""
    packages = libraries(torch)
    sizes, kind, _ = CASES[name]
    config = packages.transformers.AutoConfig.for_model(**sizes)
    config.eos_token_id = None
    theirs = getattr(packages.transformers, kind)(config).eval()
    with torch.no_grad():
        for key, t in theirs.state_dict().items():
            if t.is_floating_point():
                t.copy_(torch.from_numpy(value_of(key, tuple(t.shape))))
        want = theirs(torch.from_numpy(IDS).long()).logits.numpy()
        ids, mask = torch.from_numpy(IDS).long(), torch.from_numpy(MASK)
        how = {"max_new_tokens": 32, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
        best = theirs.generate(ids, attention_mask=mask, **how).numpy()
    state = {key: t.numpy() for key, t in theirs.state_dict().items()}
    write(tmp_path / "a.gguf", name, state, config)
    theirs.save_pretrained(tmp_path / "folder")
    most = max(1.0, float(np.abs(want).max()))
    for path in (tmp_path / "a.gguf", tmp_path / "folder"):
        ours = models.from_pretrained(path, "cpu")
        found = ours(fb.tensor(IDS, device="cpu")).numpy()
        assert np.abs(found - want).max() <= 1e-4 * most, path
        tokens = models.generate(
            ours, IDS, 32, attention_mask=MASK, eos_token_id=None, pad_token_id=0
        ).numpy()
        assert (tokens == best).all(), path


@pytest.mark.share(2)
@pytest.mark.parametrize("name", ["gemma3", "gpt_neox", "mixtral", "phi3", "qwen2_moe"])
def test_weights_that_stay_quantised(name, torch, tmp_path):
    """The logits of the same weights as floats."""
    packages = libraries(torch)
    sizes, kind, _ = CASES[name]
    config = packages.transformers.AutoConfig.for_model(**sizes)
    theirs = getattr(packages.transformers, kind)(config)
    state = {key: value_of(key, tuple(t.shape)) for key, t in theirs.state_dict().items()}
    write(tmp_path / "a.gguf", name, state, config, quantizes=True)
    ids = fb.tensor(IDS, device="cpu")
    floats, kept = (
        models.from_pretrained(tmp_path / "a.gguf", "cpu", keep_quantized=keeps)(ids).numpy()
        for keeps in (False, True)
    )
    assert np.abs(floats - kept).max() <= 1e-4 * np.abs(floats).max()
