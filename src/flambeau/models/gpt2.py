"""GPT-2 (Radford et al., 2019), under transformers' names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import nn
from ..core import dtype as dt
from ..tensor import Tensor
from .names import rename_weights, without
from .past import CacheSize, Past
from .settings import activation, settings

F = nn.functional


@dataclass(frozen=True)
class GPT2Config:
    """Sizes under the names of config.json. ValueError if heads do not divide the features.

    vocab_size: the number of tokens
    n_positions: the largest number of positions
    n_embd: features of a token
    n_layer: the number of layers
    n_head: heads of attention
    n_inner: hidden features of a perceptron, by default 4 * n_embd
    activation_function: the name of the activation between the two layers of a perceptron
    layer_norm_epsilon: the norms' eps
    tie_word_embeddings: whether the head's weight is the embedding
    scale_attn_weights: divide scores by the root of the features; only True is possible
    scale_attn_by_inverse_layer_idx: divide scores by the layer's number; only False is possible
    add_cross_attention: whether layers attend to an encoder; only False is possible
    eos_token_id: the token, or tokens, that end a text
    """

    vocab_size: int = 50257
    n_positions: int = 1024
    n_embd: int = 768
    n_layer: int = 12
    n_head: int = 12
    n_inner: int | None = None
    activation_function: str = "gelu_new"
    layer_norm_epsilon: float = 1e-5
    tie_word_embeddings: bool = True
    scale_attn_weights: bool = True
    scale_attn_by_inverse_layer_idx: bool = False
    add_cross_attention: bool = False
    eos_token_id: int | list[int] | None = None

    def __post_init__(self):
        activation(self.activation_function)
        if self.n_embd % self.n_head:
            raise ValueError(
                f"GPT2Config: {self.n_head} heads, {self.n_embd} features: the heads must divide the features"
            )
        others = ("scale_attn_by_inverse_layer_idx", "add_cross_attention")
        if not self.scale_attn_weights or any(getattr(self, name) for name in others):
            raise ValueError("GPT2Config: GPT-2 scales scores by features alone, and has no encoder: "
                             "use a config.json without scale_attn_weights, scale_attn_by_inverse_layer_idx "
                             "and add_cross_attention")  # fmt: skip


GGUF = (  # llama.cpp's names, ours
    (r"^token_embd\.", "wte."),
    (r"^position_embd\.", "wpe."),
    (r"^output_norm\.", "ln_f."),
    (r"^output\.", "lm_head."),
    (r"^blk\.(\d+)\.attn_norm\.", r"h.\1.ln_1."),
    (r"^blk\.(\d+)\.ffn_norm\.", r"h.\1.ln_2."),
    (r"^blk\.(\d+)\.attn_qkv\.", r"h.\1.attn.c_attn."),
    (r"^blk\.(\d+)\.attn_output\.", r"h.\1.attn.c_proj."),
    (r"^blk\.(\d+)\.ffn_up\.", r"h.\1.mlp.c_fc."),
    (r"^blk\.(\d+)\.ffn_down\.", r"h.\1.mlp.c_proj."),
)


def _rename_llama_cpp(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a GGUF file's tensors under transformers' names, with the weights of Conv1D as [in, out]."""
    out = rename_weights(state, GGUF)
    turned = [name for name in out if name.endswith(".weight") and (".c_" in name)]
    return out | {name: out[name].transpose(0, 1) for name in turned}


# OpenAI's TensorFlow code had a 1-wide convolution here; its weight's layout remains in all files.
class Conv1D(nn.Module):
    """A linear layer whose weight is transposed: [in, out]. [..., features] -> [..., out]"""

    def __init__(self, out: int, features: int):
        self.weight = nn.init.normal_(nn.Parameter(Tensor.zeros(features, out)), std=0.02)
        self.bias = nn.Parameter(Tensor.zeros(out))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias


class GPT2Attention(nn.Module):
    """Causal attention. [b, n, d] -> [b, n, d]"""

    def __init__(self, config: GPT2Config):
        d, self.heads = config.n_embd, config.n_head
        self.c_attn, self.c_proj = Conv1D(3 * d, d), Conv1D(d, d)

    def forward(self, x: Tensor, layer: int, past: Past | None, mask: Tensor | None) -> Tensor:
        b, n, d = x.shape
        # [b, n, 3 d] -> 3 of [b, heads, n, d / heads]
        q, k, v = self.c_attn(x).reshape(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        if past is None:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # [b, heads, n, d / heads]
        else:
            y = past.attend(layer, q, k, v, mask)
        return self.c_proj(y.transpose(1, 2).reshape(b, n, d))


class GPT2MLP(nn.Module):
    """Two linear layers with an activation between. [b, n, d] -> [b, n, d]"""

    def __init__(self, config: GPT2Config):
        inner = config.n_inner or 4 * config.n_embd
        self.c_fc, self.c_proj = Conv1D(inner, config.n_embd), Conv1D(config.n_embd, inner)
        self.act = activation(config.activation_function)

    def forward(self, x: Tensor) -> Tensor:
        return self.c_proj(self.act(self.c_fc(x)))


class GPT2Block(nn.Module):
    """Attention, then a multilayer perceptron, each after a norm and with a residual. -> [b, n, d]"""

    def __init__(self, config: GPT2Config):
        d, eps = config.n_embd, config.layer_norm_epsilon
        self.ln_1, self.attn = nn.LayerNorm(d, eps), GPT2Attention(config)
        self.ln_2, self.mlp = nn.LayerNorm(d, eps), GPT2MLP(config)

    def forward(self, x: Tensor, layer: int, past: Past | None, mask: Tensor | None) -> Tensor:
        x = x + self.attn(self.ln_1(x), layer, past, mask)
        return x + self.mlp(self.ln_2(x))


class GPT2Model(nn.Module):
    """Token and position embeddings, blocks, and a norm. [b, n] -> [b, n, d]"""

    def __init__(self, config: GPT2Config):
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.n_positions, config.n_embd)
        self.h = nn.ModuleList(GPT2Block(config) for _ in range(config.n_layer))
        self.ln_f = nn.LayerNorm(config.n_embd, config.layer_norm_epsilon)

    def forward(self, ids: Tensor, past: Past | None = None) -> Tensor:
        n = ids.shape[1]
        places = Tensor.arange(n, dtype=dt.int32, device=ids.device) if past is None else past.places(n)
        mask = None if past is None else past.mask(n)
        # learned absolute positions: hence the limit n_positions
        x = self.wte(ids) + self.wpe(places)
        for layer, block in enumerate(self.h):
            x = block(x, layer, past, mask)
        return self.ln_f(x)


class GPT2LMHeadModel(nn.Module):
    """GPT-2 with a head for the scores of the next token. [b, n] -> [b, n, vocab_size]

    config: a GPT2Config, or the dict in config.json (ValueError if a size is missing).
    """

    def __init__(self, config: GPT2Config | Mapping[str, Any]):
        self.config = config = settings(GPT2Config, config)
        self.transformer = GPT2Model(config)
        if not config.tie_word_embeddings:
            self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)

    @property
    def longest(self) -> int:
        """The largest number of tokens of a text."""
        return self.config.n_positions

    def hidden(self, ids: Tensor, past: Past | None = None) -> Tensor:
        """Return the input of the head. [b, n] -> [b, n, d]"""
        return self.transformer(ids, past)

    def head(self, x: Tensor) -> Tensor:
        """Scores of tokens. [b, n, d] -> [b, n, vocab_size]"""
        tied = self.config.tie_word_embeddings
        return F.linear(x, self.transformer.wte.weight) if tied else self.lm_head(x)

    def forward(self, input_ids: Tensor, past: Past | None = None) -> Tensor:
        return self.head(self.hidden(input_ids, past))

    def new_past(self, batch: int, length: int, is_padded: bool = False) -> Past:
        """Return an empty Past for `length` tokens of `batch` rows; ValueError for more than n_positions."""
        c, weight = self.config, self.transformer.wte.weight
        if length > c.n_positions:
            raise ValueError(f"{length} tokens: GPT-2 has {c.n_positions} positions: pass fewer")
        size = CacheSize(batch, c.n_layer, c.n_head, length, c.n_embd // c.n_head)
        return Past(size, is_padded, device=weight.device, dtype=weight.dtype)

    def adapt(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a state_dict to these names, also from one without the prefix, with the masks of old files,
        or of llama.cpp."""
        if "token_embd.weight" in state:
            state = _rename_llama_cpp(state)
        state = without(state, r"\.attn\.(masked_)?bias$", *["^lm_head"] * self.config.tie_word_embeddings)
        return rename_weights(state, [(r"^(wte|wpe|h|ln_f)\.", r"transformer.\1.")])
