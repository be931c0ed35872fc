"""Llama (Touvron et al., 2023), Mistral, Mixtral, Qwen 2 and 3, SmolLM, Gemma 2 and 3, and Phi 3, under
transformers' names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import nn
from ..core import dtype as dt
from ..core.node import describe
from ..io import BlockWeight
from ..tensor import Tensor, tensor
from .experts import ExpertMLP, ExpertSizes, stacked
from .names import rename_weights, without
from .past import CacheSize, Past
from .rotary import Rotation
from .settings import activation, settings

F = nn.functional


GGUF = (  # llama.cpp's names, ours
    (r"^token_embd\.", "model.embed_tokens."),
    (r"^output_norm\.", "model.norm."),
    (r"^output\.", "lm_head."),
    (r"^blk\.(\d+)\.attn_norm\.", r"model.layers.\1.input_layernorm."),
    (r"^blk\.(\d+)\.ffn_norm\.", r"model.layers.\1.post_attention_layernorm."),
    (r"^blk\.(\d+)\.attn_output\.", r"model.layers.\1.self_attn.o_proj."),
    (r"^blk\.(\d+)\.attn_([qk])_norm\.", r"model.layers.\1.self_attn.\2_norm."),
    (r"^blk\.(\d+)\.attn_([qkv])\.", r"model.layers.\1.self_attn.\2_proj."),
    (r"^blk\.(\d+)\.ffn_(gate|up|down)\.", r"model.layers.\1.mlp.\2_proj."),
)


GGUF_EXPERTS = (
    (r"^blk\.(\d+)\.ffn_gate_inp\.", r"model.layers.\1.mlp.gate."),
    (r"^blk\.(\d+)\.ffn_(gate|up|down)_exps\.weight", r"model.layers.\1.mlp.experts.\2"),
    (r"^blk\.(\d+)\.ffn_gate_inp_shexp\.", r"model.layers.\1.mlp.shared_expert_gate."),
    (r"^blk\.(\d+)\.ffn_(gate|up|down)_shexp\.", r"model.layers.\1.mlp.shared_expert.\2_proj."),
)
GGUF_GEMMA = (  # its norms after attention and perceptrons
    (r"^blk\.(\d+)\.ffn_norm\.", r"model.layers.\1.pre_feedforward_layernorm."),
    (r"^blk\.(\d+)\.post_attention_norm\.", r"model.layers.\1.post_attention_layernorm."),
    (r"^blk\.(\d+)\.post_ffw_norm\.", r"model.layers.\1.post_feedforward_layernorm."),
)
GGUF_FUSED = (  # Phi 3's
    (r"^blk\.(\d+)\.attn_qkv\.", r"model.layers.\1.self_attn.qkv_proj."),
    (r"^blk\.(\d+)\.ffn_up\.", r"model.layers.\1.mlp.gate_up_proj."),
)


class Traits(NamedTuple):
    """The differences of a model family from Llama."""

    qkv_bias: bool = False  # biases of queries, keys and values, whatever config.json says
    norms_heads: bool = False  # RMS norms of queries and keys, for each head
    slides: bool = False  # sliding_window applies without use_sliding_window
    head_dim: int | None = None  # the default if config.json has none
    ties: bool = False  # the default of tie_word_embeddings
    every: int = 0  # layers of which the last has no window, without layer_types; 0: max_window_layers counts
    gemma: bool = False  # norms of 1 + weight, also after each part; scaled embeddings
    fuses: bool = False  # files have queries, keys and values as one weight, and gates with what they gate
    has_experts: bool = False
    interleaves: bool = False  # whether llama.cpp's files interleave the two halves of rotary features


FAMILIES = {  # by model_type
    "llama": Traits(interleaves=True),
    "mistral": Traits(slides=True, interleaves=True),
    "qwen2": Traits(qkv_bias=True),
    "qwen3": Traits(norms_heads=True, head_dim=128),
    "smollm3": Traits(ties=True),
    "gemma2": Traits(slides=True, head_dim=256, ties=True, every=2, gemma=True),
    "gemma3_text": Traits(slides=True, head_dim=256, ties=True, every=6, gemma=True, norms_heads=True),
    "phi3": Traits(slides=True, fuses=True),
    "mixtral": Traits(slides=True, has_experts=True, interleaves=True),
    "qwen2_moe": Traits(qkv_bias=True, has_experts=True),
    "qwen3_moe": Traits(norms_heads=True, head_dim=128, has_experts=True),
}


def _gguf_rows(traits: Traits) -> tuple[tuple[str, str], ...]:
    """Patterns of llama.cpp's names, and ours."""
    return (*GGUF_EXPERTS, *(GGUF_GEMMA * traits.gemma), *(GGUF_FUSED * traits.fuses), *GGUF)


@dataclass(frozen=True)
class LlamaConfig:
    """Sizes under the names of config.json. ValueError for inconsistent or unknown values.

    vocab_size: the number of tokens
    hidden_size: features of a token
    intermediate_size: hidden features of a perceptron
    num_hidden_layers: the number of layers
    num_attention_heads: heads of attention
    model_type: the family
    num_key_value_heads: heads of keys and values, by default those of queries
    head_dim: features of a head
    hidden_act: the name of the activation between the two layers of a perceptron
    max_position_embeddings: the largest number of positions
    rms_norm_eps: the norms' eps
    tie_word_embeddings: whether the head's weight is the embedding
    attention_bias: whether the layers of attention have biases
    mlp_bias: whether the perceptrons have biases
    rope_theta: the base of rotary positions
    rope_scaling: how rotary frequencies are scaled for longer contexts
    rope_parameters: rope_theta and rope_scaling in one dict, as in newer files
    sliding_window: the number of last keys that a query attends to, 0 for all
    use_sliding_window: whether layers attend to a window only
    max_window_layers: the first layer with a window, if use_sliding_window is set
    layer_types: "full_attention" or "sliding_attention" for each layer
    no_rope_layers: 0 for each layer without rotary positions, 1 for others
    rope_local_base_freq: the base of rotary positions of layers with a window (Gemma 3)
    partial_rotary_factor: the share of a head's features that are rotated
    query_pre_attn_scalar: scores are divided by its root, by default the features of a head
    attn_logit_softcapping: scores of attention stay within this number, by tanh
    final_logit_softcapping: scores of tokens stay within this number, by tanh
    hidden_activation: Gemma's hidden_act
    num_experts: experts of a layer, also as num_local_experts
    num_local_experts: as num_experts
    num_experts_per_tok: experts that a token takes
    moe_intermediate_size: hidden features of an expert, by default intermediate_size
    shared_expert_intermediate_size: hidden features of an expert that all tokens take
    norm_topk_prob: whether the shares of a token's experts have the sum 1
    decoder_sparse_step: only 1 is possible
    mlp_only_layers: layers without experts; only none is possible
    eos_token_id: the token, or tokens, that end a text
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    model_type: str = "llama"
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    hidden_act: str = "silu"
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-6
    tie_word_embeddings: bool | None = None
    attention_bias: bool = False
    mlp_bias: bool = False
    rope_theta: float = 10000.0
    rope_scaling: dict[str, Any] | None = None
    rope_parameters: dict[str, Any] | None = None
    sliding_window: int | None = 0
    use_sliding_window: bool = False
    max_window_layers: int = 0
    layer_types: list[str] | None = None
    no_rope_layers: list[int] | None = None
    rope_local_base_freq: float = 10000.0
    partial_rotary_factor: float = 1.0
    query_pre_attn_scalar: float | None = None
    attn_logit_softcapping: float | None = None
    final_logit_softcapping: float | None = None
    hidden_activation: str | None = None
    num_experts: int | None = None
    num_local_experts: int | None = None
    num_experts_per_tok: int = 2
    moe_intermediate_size: int | None = None
    shared_expert_intermediate_size: int | None = None
    norm_topk_prob: bool | None = None
    decoder_sparse_step: int = 1
    mlp_only_layers: list[int] | None = None
    eos_token_id: int | list[int] | None = None

    def __post_init__(self):
        if self.model_type not in FAMILIES:
            raise ValueError(f"model_type {self.model_type!r}: unknown: one of {', '.join(FAMILIES)}")
        activation(self.act)
        if self.traits.has_experts:
            self._check_experts()
        heads, kv = self.num_attention_heads, self.kv_heads
        if heads % kv or (self.head_dim is None and self.hidden_size % heads):
            shares = f"{heads} heads of {self.hidden_size} features, {kv} key heads"
            raise ValueError(
                f"LlamaConfig: {shares}: heads must divide the features, and key heads the heads"
            )
        for name in ("layer_types", "no_rope_layers"):
            rows = getattr(self, name)
            if rows is not None and len(rows) != self.num_hidden_layers:
                problem = f"{name} has {len(rows)} of {self.num_hidden_layers} layers"
                raise ValueError(f"LlamaConfig: {problem}: pass one entry for each layer")

    def _check_experts(self) -> None:
        count = self.num_experts or self.num_local_experts
        if not count or self.num_experts_per_tok > count:
            raise ValueError(
                f"LlamaConfig: {count} experts, {self.num_experts_per_tok} for each token: "
                "set num_experts to a larger number"
            )
        if self.decoder_sparse_step != 1 or self.mlp_only_layers:
            raise ValueError("LlamaConfig: layers without experts beside others are not supported: "
                             "use decoder_sparse_step 1 and no mlp_only_layers")  # fmt: skip

    @property
    def act(self) -> str:
        """The name of the activation."""
        gemma = "gelu_pytorch_tanh" if self.traits.gemma else self.hidden_act
        return self.hidden_activation or gemma

    @property
    def experts(self) -> ExpertSizes:
        """The sizes of experts."""
        count = self.num_experts or self.num_local_experts or 1
        inner = self.moe_intermediate_size or self.intermediate_size
        scales = self.model_type == "mixtral" if self.norm_topk_prob is None else self.norm_topk_prob
        shared = (self.shared_expert_intermediate_size or 0) if self.model_type == "qwen2_moe" else 0
        return ExpertSizes(self.hidden_size, inner, count, self.num_experts_per_tok, scales, shared)

    @property
    def scale(self) -> float | None:
        """The factor of scores of attention, None for the root of a head's features."""
        return None if self.query_pre_attn_scalar is None else self.query_pre_attn_scalar**-0.5

    @property
    def traits(self) -> Traits:
        """The differences of its family from Llama."""
        return FAMILIES[self.model_type]

    @property
    def ties(self) -> bool:
        """Whether the head is the embedding."""
        return self.traits.ties if self.tie_word_embeddings is None else self.tie_word_embeddings

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values."""
        return self.num_key_value_heads or self.num_attention_heads

    @property
    def features(self) -> int:
        """Features of a head."""
        return self.head_dim or self.traits.head_dim or self.hidden_size // self.num_attention_heads

    @property
    def rope(self) -> dict[str, Any]:
        """The parameters of rotary positions: rope_theta, rope_type and its numbers, from either field."""
        # later dicts win: rope_parameters of transformers 5, rope_scaling of older files
        rope = self.rope_parameters or {}
        rope = rope.get("full_attention", rope)  # Gemma 3's, for both kinds of layers
        return {"rope_theta": self.rope_theta} | (self.rope_scaling or {}) | rope

    @property
    def local_rope(self) -> dict[str, Any] | None:
        """The parameters of rotary positions of layers with a window, None if they are those of all."""
        if self.model_type != "gemma3_text":
            return None
        own: dict[str, Any] = (self.rope_parameters or {}).get("sliding_attention", {})
        return {"rope_theta": self.rope_local_base_freq} | own

    @property
    def rotated(self) -> int:
        """The features of a head that are rotated."""
        return int(self.features * self.rope.get("partial_rotary_factor", self.partial_rotary_factor))

    def window_of(self, layer: int) -> int | None:
        """Return the number of keys that a layer's query attends to, None for all earlier ones."""
        # Mistral: sliding_window alone. Qwen: use_sliding_window, from max_window_layers on. Newer files:
        # layer_types.
        if not self.sliding_window or not (self.traits.slides or self.use_sliding_window):
            return None
        if self.layer_types is not None:
            return self.sliding_window if self.layer_types[layer] == "sliding_attention" else None
        if self.traits.every:
            return self.sliding_window if (layer + 1) % self.traits.every else None
        return self.sliding_window if self.traits.slides or layer >= self.max_window_layers else None

    def turns(self, layer: int) -> bool:
        """Whether a layer has rotary positions (some of SmolLM 3's do not)."""
        return self.no_rope_layers is None or bool(self.no_rope_layers[layer])


class LlamaCall(NamedTuple):
    """The state that layers share in a call: rotary angles of layers without and with a window, a mask for
    each window, and the cache."""

    angles: dict[bool, tuple[Tensor, Tensor]]
    masks: dict[int | None, Tensor | None]
    past: Past | None


class LlamaAttention(nn.Module):
    """Causal attention with rotary positions and grouped queries (Ainslie et al., 2023). [b, n, d] -> [b, n,
    d]"""

    def __init__(self, config: LlamaConfig, layer: int):
        d, wide, bias = config.hidden_size, config.features, config.attention_bias
        self.layer, self.window, self.features = layer, config.window_of(layer), wide
        self.rotation = Rotation(config.rotated, config.rope) if config.turns(layer) else None
        self.scale = config.scale
        self.cap = config.attn_logit_softcapping if config.traits.gemma else None
        heads, kv = config.num_attention_heads * wide, config.kv_heads * wide
        qkv_bias = bias or config.traits.qkv_bias
        # Grouped queries: kv_heads may be fewer than heads, so the keys' width differs from the queries'.
        self.q_proj = nn.Linear(d, heads, qkv_bias)
        self.k_proj, self.v_proj = nn.Linear(d, kv, qkv_bias), nn.Linear(d, kv, qkv_bias)
        self.o_proj = nn.Linear(heads, d, bias)
        if config.traits.norms_heads:
            self.q_norm, self.k_norm = (norm_of(config, wide) for _ in range(2))
        else:
            self.q_norm = self.k_norm = nn.Identity()

    def forward(self, x: Tensor, call: LlamaCall) -> Tensor:
        q, k, v = (m(x).unflatten(-1, (-1, self.features)) for m in (self.q_proj, self.k_proj, self.v_proj))
        q, k, v = (t.transpose(1, 2) for t in (self.q_norm(q), self.k_norm(k), v))  # [b, heads, n, features]
        if self.rotation is not None:
            angles = call.angles[self.window is not None]
            q, k = self.rotation(q, angles), self.rotation(k, angles)
        mask = call.masks[self.window]
        if self.cap is not None:
            y = capped_attention((q, k, v), mask, call.past, self.layer, self.cap, self.scale)
        elif call.past is not None:
            y = call.past.attend(self.layer, q, k, v, mask, self.scale)
        else:
            y = F.scaled_dot_product_attention(
                q, k, v, mask, is_causal=True, enable_gqa=True, scale=self.scale
            )
        return self.o_proj(y.transpose(1, 2).flatten(2))


def capped_attention(
    qkv: tuple[Tensor, Tensor, Tensor],
    mask: Tensor | None,
    past: Past | None,
    layer: int,
    cap: float,
    scale: float | None,
) -> Tensor:
    """Return causal attention whose scores stay within `cap`, by tanh (Gemma 2). [b, g, n, d] -> [b, g, n,
    d]"""
    q, k, v = qkv
    n, start = q.shape[2], None
    if past is not None:
        k, v, start = past.append(layer, k, v)
    rows = Tensor.arange(n, dtype=dt.int32, device=q.device).unsqueeze(1)
    rows = rows if start is None else rows + start
    seen = Tensor.arange(k.shape[2], dtype=dt.int32, device=q.device) <= rows
    seen = seen if mask is None else seen & mask
    groups = q.shape[1] // k.shape[1]
    grouped = q.unflatten(1, (k.shape[1], groups))  # [b, heads, groups, n, d]
    scores = grouped @ k.unsqueeze(2).transpose(-1, -2) * (scale or q.shape[-1] ** -0.5)
    scores = (scores / cap).tanh() * cap
    if seen.ndim == 4:
        seen = seen.unsqueeze(2)  # [b, 1, 1, n, keys]
    # finite, so that padding, which sees no key, gets no NaN, which would spread by its value
    shares = seen.where(scores.float(), -1e30).softmax(-1).to(q.dtype)
    return (shares @ v.unsqueeze(2)).flatten(1, 2)


class GemmaNorm(nn.Module):
    """An RMS norm whose factors are 1 + weight. [..., d] -> [..., d]"""

    def __init__(self, features: int, eps: float):
        self.eps = eps
        self.weight = nn.Parameter(Tensor.zeros(features))

    def forward(self, x: Tensor) -> Tensor:
        # in float32, as the original: 1 + weight loses digits in 16 bits
        y = F.rms_norm(x.float(), (x.shape[-1],), 1.0 + self.weight.float(), self.eps)
        return y.to(x.dtype)


def norm_of(config: LlamaConfig, features: int) -> nn.Module:
    """Return the norm of a family."""
    return (GemmaNorm if config.traits.gemma else nn.RMSNorm)(features, config.rms_norm_eps)


class LlamaMLP(nn.Module):
    """A gated multilayer perceptron, SwiGLU (Shazeer, 2020). [b, n, d] -> [b, n, d]"""

    def __init__(self, config: LlamaConfig):
        d, wide, bias = config.hidden_size, config.intermediate_size, config.mlp_bias
        self.gate_proj, self.up_proj = nn.Linear(d, wide, bias), nn.Linear(d, wide, bias)
        self.down_proj, self.act = nn.Linear(wide, d, bias), activation(config.act)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(self.act(self.gate_proj(x)) * self.up_proj(x))


class LlamaDecoderLayer(nn.Module):
    """Attention, then a multilayer perceptron, each after a norm and with a residual. -> [b, n, d]"""

    def __init__(self, config: LlamaConfig, layer: int):
        d = config.hidden_size
        self.self_attn = LlamaAttention(config, layer)
        self.mlp = ExpertMLP(config.experts, config.act) if config.traits.has_experts else LlamaMLP(config)
        self.input_layernorm, self.post_attention_layernorm = norm_of(config, d), norm_of(config, d)
        self.has_post_norms = config.traits.gemma
        if self.has_post_norms:
            self.pre_feedforward_layernorm = norm_of(config, d)
            self.post_feedforward_layernorm = norm_of(config, d)

    def forward(self, x: Tensor, call: LlamaCall) -> Tensor:
        if self.has_post_norms:
            x = x + self.post_attention_layernorm(self.self_attn(self.input_layernorm(x), call))
            return x + self.post_feedforward_layernorm(self.mlp(self.pre_feedforward_layernorm(x)))
        x = x + self.self_attn(self.input_layernorm(x), call)
        return x + self.mlp(self.post_attention_layernorm(x))


def _window_mask(n: int, window: int | None, device: Any) -> Tensor | None:
    """Return the mask of the last `window` keys of each query; None for all. -> [n, n]"""
    if window is None or window >= n:
        return None
    places = Tensor.arange(n, dtype=dt.int32, device=device)
    # key j of query i if j > i - window; causality is the kernel's
    return places > places.unsqueeze(1) - window


class LlamaModel(nn.Module):
    """Embeddings, layers, a norm. [b, n] -> [b, n, d]"""

    def __init__(self, config: LlamaConfig):
        self.config, layers = config, range(config.num_hidden_layers)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(LlamaDecoderLayer(config, i) for i in layers)
        self.norm = norm_of(config, config.hidden_size)
        self.rotation = Rotation(config.rotated, config.rope)
        local = config.local_rope
        self.local_rotation = None if local is None else Rotation(config.rotated, local)
        self.windows = {config.window_of(i) for i in layers}

    def forward(self, ids: Tensor, past: Past | None = None) -> Tensor:
        n, device = ids.shape[1], ids.device
        if past is None:
            places = Tensor.arange(n, dtype=dt.int32, device=device).unsqueeze(0)
            masks = {w: _window_mask(n, w, device) for w in self.windows}
        else:
            places, masks = past.places(n), {w: past.mask(n, w) for w in self.windows}
        x, angles = self.embed_tokens(ids), self.rotation.angles(places)
        if self.config.traits.gemma:
            x = x * self.config.hidden_size**0.5
        local = angles if self.local_rotation is None else self.local_rotation.angles(places)
        call = LlamaCall({False: angles, True: local}, masks, past)
        for layer in self.layers:
            x = layer(x, call)
        return self.norm(x)


class LlamaForCausalLM(nn.Module):
    """Llama with a head for the scores of the next token. [b, n] -> [b, n, vocab_size]

    config: a LlamaConfig, or the dict in config.json (ValueError if a size is missing); its model_type
    selects the family.
    """

    def __init__(self, config: LlamaConfig | Mapping[str, Any]):
        self.config = config = settings(LlamaConfig, config)
        self.model = LlamaModel(config)
        if not config.ties:
            self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def hidden(self, ids: Tensor, past: Past | None = None) -> Tensor:
        """Return the input of the head. [b, n] -> [b, n, d]"""
        if ids.ndim != 2:
            raise ValueError(f"Llama({describe(ids)}): takes rows of tokens, [b, n]: reshape it")
        return self.model(ids, past)

    def head(self, x: Tensor) -> Tensor:
        """Scores of tokens. [b, n, d] -> [b, n, vocab_size]"""
        table, cap = self.model.embed_tokens, self.config.final_logit_softcapping
        if not self.config.ties:
            y = self.lm_head(x)
        else:
            y = table.product(x) if isinstance(table, nn.BlockEmbedding) else F.linear(x, table.weight)
        return y if cap is None else (y / cap).tanh() * cap

    def forward(self, input_ids: Tensor, past: Past | None = None) -> Tensor:
        return self.head(self.hidden(input_ids, past))

    def new_past(self, batch: int, length: int, is_padded: bool = False) -> Past:
        """Return an empty Past for `length` tokens of `batch` rows."""
        c, weight = self.config, self.model.embed_tokens.weight
        size = CacheSize(batch, c.num_hidden_layers, c.kv_heads, length, c.features)
        return Past(size, is_padded, device=weight.device, dtype=weight.dtype)

    def adapt(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a state_dict to these names, also one with tied embeddings, or one of llama.cpp.

        llama.cpp's files of Llama 3.1 have factors of frequencies. They are not state, and are set here.
        """
        if (factors := state.get("rope_freqs.weight")) is not None:
            for m in self.modules():
                if isinstance(m, Rotation):
                    m.slow(factors)
        if "token_embd.weight" in state:
            state = without(self._rename_llama_cpp(state), r"^rope_freqs\.")
        if self.config.traits.has_experts:
            state = stacked(dict(state), self.config.num_hidden_layers)
        if self.config.traits.fuses:
            state = self._split_fused(state)
        return without(state, r"rotary_emb\.inv_freq$", *["^lm_head"] * self.config.ties)

    def _rename_llama_cpp(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return a GGUF file's tensors under these names, with the rotary features of a head in two
        halves."""
        config, traits = self.config, self.config.traits
        out = rename_weights(state, _gguf_rows(traits))
        if traits.gemma:  # whose converter adds the 1 of 1 + weight
            out |= {name: t - 1.0 for name, t in out.items() if name.endswith("norm.weight")}
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.kv_heads}
        # llama.cpp's converter permutes rows of Llama and Mistral to pairs (0, 1), (2, 3), ...;
        # transformers pairs i with i + features / 2.
        for name in out if config.traits.interleaves else ():
            count = heads.get(name.rpartition(".")[0].rpartition(".")[2])
            if count is not None:
                t = out[name]
                if isinstance(t, BlockWeight):
                    order = np.arange(t.shape[0]).reshape(count, -1, 2).swapaxes(1, 2).reshape(-1)
                    out[name] = t.take_rows(order)
                    continue
                t = tensor(t, device="cpu")
                out[name] = t.reshape(count, -1, 2, *t.shape[1:]).transpose(1, 2).reshape(*t.shape)
        return out

    def _split_fused(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return weights of queries, keys and values, and of gates and what they gate, each by itself."""
        config, out = self.config, dict[str, Any]()
        heads, keys = (n * config.features for n in (config.num_attention_heads, config.kv_heads))
        wide = config.intermediate_size
        parts = {
            "qkv_proj": (("q_proj", heads), ("k_proj", keys), ("v_proj", keys)),
            "gate_up_proj": (("gate_proj", wide), ("up_proj", wide)),
        }
        for name, t in state.items():
            kind = next((k for k in parts if f".{k}." in name), None)
            offset = 0
            for part, count in parts[kind] if kind else ():
                rows = np.arange(offset, offset + count)
                out[name.replace(str(kind), part)] = (
                    t.take_rows(rows) if isinstance(t, BlockWeight) else t[offset : offset + count]
                )
                offset += count
            if kind is None:
                out[name] = t
        return out


def names_of_gguf(config: LlamaConfig, names: Iterable[str]) -> dict[str, str]:
    """Return transformers' names of a GGUF file's tensors, by llama.cpp's."""
    rows = _gguf_rows(config.traits)
    return {name: next(iter(rename_weights({name: None}, rows))) for name in names}
