"""GPT-NeoX (Black et al., 2022) and Pythia, under transformers' names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import nn
from ..core import dtype as dt
from ..core.node import describe
from ..tensor import Tensor
from .names import rename_weights, without
from .past import CacheSize, Past
from .rotary import Rotation
from .settings import activation, settings

F = nn.functional
GGUF = (  # llama.cpp's names, ours
    (r"^token_embd\.", "gpt_neox.embed_in."),
    (r"^output_norm\.", "gpt_neox.final_layer_norm."),
    (r"^output\.", "embed_out."),
    (r"^blk\.(\d+)\.attn_norm\.", r"gpt_neox.layers.\1.input_layernorm."),
    (r"^blk\.(\d+)\.ffn_norm\.", r"gpt_neox.layers.\1.post_attention_layernorm."),
    (r"^blk\.(\d+)\.attn_qkv\.", r"gpt_neox.layers.\1.attention.query_key_value."),
    (r"^blk\.(\d+)\.attn_output\.", r"gpt_neox.layers.\1.attention.dense."),
    (r"^blk\.(\d+)\.ffn_up\.", r"gpt_neox.layers.\1.mlp.dense_h_to_4h."),
    (r"^blk\.(\d+)\.ffn_down\.", r"gpt_neox.layers.\1.mlp.dense_4h_to_h."),
)


@dataclass(frozen=True)
class GPTNeoXConfig:
    """Sizes under the names of config.json. ValueError if heads do not divide the features.

    vocab_size: the number of tokens
    hidden_size: features of a token
    intermediate_size: hidden features of a perceptron
    num_hidden_layers: the number of layers
    num_attention_heads: heads of attention
    hidden_act: the name of the activation between the two layers of a perceptron
    max_position_embeddings: the largest number of positions
    layer_norm_eps: the norms' eps
    rotary_pct: the share of a head's features that are rotated
    rotary_emb_base: the base of rotary positions
    rope_parameters: both in one dict, as in newer files
    use_parallel_residual: whether attention and perceptron have the same input
    attention_bias: whether the layers of attention have biases
    tie_word_embeddings: whether the head is the embedding; only False is possible
    eos_token_id: the token, or tokens, that end a text
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    hidden_act: str = "gelu"
    max_position_embeddings: int = 2048
    layer_norm_eps: float = 1e-5
    rotary_pct: float = 0.25
    rotary_emb_base: float = 10000.0
    rope_parameters: dict[str, Any] | None = None
    use_parallel_residual: bool = True
    attention_bias: bool = True
    tie_word_embeddings: bool = False
    eos_token_id: int | list[int] | None = None

    def __post_init__(self):
        activation(self.hidden_act)
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"GPTNeoXConfig: {self.num_attention_heads} heads, {self.hidden_size} features: "
                "the heads must divide the features"
            )
        if self.tie_word_embeddings:
            raise ValueError(
                "GPTNeoXConfig: tie_word_embeddings: its head has a weight of its own: set false"
            )

    @property
    def features(self) -> int:
        """Features of a head."""
        return self.hidden_size // self.num_attention_heads

    @property
    def rope(self) -> dict[str, Any]:
        """The parameters of rotary positions."""
        rope = {"rope_theta": self.rotary_emb_base, "partial_rotary_factor": self.rotary_pct}
        return rope | (self.rope_parameters or {})

    @property
    def rotation(self) -> Rotation:
        """The rotation of a part of a head's features."""
        return Rotation(int(self.features * self.rope["partial_rotary_factor"]), self.rope)


class GPTNeoXAttention(nn.Module):
    """Causal attention with rotary positions. [b, n, d] -> [b, n, d]"""

    def __init__(self, config: GPTNeoXConfig, layer: int):
        d, self.layer, self.features = config.hidden_size, layer, config.features
        self.query_key_value = nn.Linear(d, 3 * d, config.attention_bias)
        self.dense, self.rotation = nn.Linear(d, d, config.attention_bias), config.rotation

    def forward(self, x: Tensor, call: "GPTNeoXCall") -> Tensor:
        # the features of a head are its query, key and value, one after another
        qkv = self.query_key_value(x).unflatten(-1, (-1, 3 * self.features)).transpose(1, 2)
        q, k, v = qkv.chunk(3, -1)
        q, k = self.rotation(q, call.angles), self.rotation(k, call.angles)
        if call.past is not None:
            y = call.past.attend(self.layer, q, k, v, call.mask)
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.dense(y.transpose(1, 2).flatten(2))


@dataclass(frozen=True)
class GPTNeoXCall:
    """The state that layers share in a call."""

    angles: tuple[Tensor, Tensor]
    mask: Tensor | None
    past: Past | None


class GPTNeoXMLP(nn.Module):
    """Two linear layers with an activation between. [b, n, d] -> [b, n, d]"""

    def __init__(self, config: GPTNeoXConfig):
        self.dense_h_to_4h = nn.Linear(config.hidden_size, config.intermediate_size)
        self.dense_4h_to_h = nn.Linear(config.intermediate_size, config.hidden_size)
        self.act = activation(config.hidden_act)

    def forward(self, x: Tensor) -> Tensor:
        return self.dense_4h_to_h(self.act(self.dense_h_to_4h(x)))


class GPTNeoXLayer(nn.Module):
    """Attention and a multilayer perceptron, beside each other or one after the other. -> [b, n, d]"""

    def __init__(self, config: GPTNeoXConfig, layer: int):
        d, eps = config.hidden_size, config.layer_norm_eps
        self.input_layernorm, self.post_attention_layernorm = nn.LayerNorm(d, eps), nn.LayerNorm(d, eps)
        self.attention, self.mlp = GPTNeoXAttention(config, layer), GPTNeoXMLP(config)
        self.is_parallel = config.use_parallel_residual

    def forward(self, x: Tensor, call: GPTNeoXCall) -> Tensor:
        y = x + self.attention(self.input_layernorm(x), call)
        return y + self.mlp(self.post_attention_layernorm(x if self.is_parallel else y))


class GPTNeoXModel(nn.Module):
    """Embeddings, layers, a norm. [b, n] -> [b, n, d]"""

    def __init__(self, config: GPTNeoXConfig):
        self.embed_in = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(GPTNeoXLayer(config, i) for i in range(config.num_hidden_layers))
        self.final_layer_norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.rotation = config.rotation

    def forward(self, ids: Tensor, past: Past | None = None) -> Tensor:
        n = ids.shape[1]
        if past is None:
            places, mask = Tensor.arange(n, dtype=dt.int32, device=ids.device).unsqueeze(0), None
        else:
            places, mask = past.places(n), past.mask(n)
        x, call = self.embed_in(ids), GPTNeoXCall(self.rotation.angles(places), mask, past)
        for layer in self.layers:
            x = layer(x, call)
        return self.final_layer_norm(x)


class GPTNeoXForCausalLM(nn.Module):
    """GPT-NeoX with a head for the scores of the next token. [b, n] -> [b, n, vocab_size]

    config: a GPTNeoXConfig, or the dict in config.json (ValueError if a size is missing).
    """

    def __init__(self, config: GPTNeoXConfig | Mapping[str, Any]):
        self.config = config = settings(GPTNeoXConfig, config)
        self.gpt_neox = GPTNeoXModel(config)
        self.embed_out = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def hidden(self, ids: Tensor, past: Past | None = None) -> Tensor:
        """Return the input of the head. [b, n] -> [b, n, d]"""
        if ids.ndim != 2:
            raise ValueError(f"GPT-NeoX({describe(ids)}): takes rows of tokens, [b, n]: reshape it")
        return self.gpt_neox(ids, past)

    def head(self, x: Tensor) -> Tensor:
        """Scores of tokens. [b, n, d] -> [b, n, vocab_size]"""
        return self.embed_out(x)

    def forward(self, input_ids: Tensor, past: Past | None = None) -> Tensor:
        return self.head(self.hidden(input_ids, past))

    def new_past(self, batch: int, length: int, is_padded: bool = False) -> Past:
        """Return an empty Past for `length` tokens of `batch` rows."""
        c, weight = self.config, self.embed_out.weight
        size = CacheSize(batch, c.num_hidden_layers, c.num_attention_heads, length, c.features)
        return Past(size, is_padded, device=weight.device, dtype=weight.dtype)

    def adapt(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a state_dict to these names, also one with the masks of old files, or one of llama.cpp."""
        if "token_embd.weight" in state:
            state = rename_weights(state, GGUF)
            # whose converter puts all queries first, then all keys
            heads = self.config.num_attention_heads
            for name in [n for n in state if ".query_key_value." in n]:
                t = state[name]
                split = t.reshape(3, heads, -1, *t.shape[1:])
                state |= {name: split.transpose(0, 1).reshape(*t.shape)}
        return without(state, r"\.attention\.(masked_)?bias$", r"rotary_emb\.inv_freq$", r"^lm_head\.")
