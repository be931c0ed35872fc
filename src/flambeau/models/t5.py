"""T5 (Raffel et al., 2019), under transformers' names; Flan-T5 and v1.1 too."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

from .. import nn
from ..core import dtype as dt
from ..core.modes import no_grad
from ..tensor import Tensor, tensor
from .names import without
from .past import CacheSize, Past
from .settings import activation, settings

F = nn.functional
FEED_FORWARD = {"relu": ("relu", False), "gated-gelu": ("gelu_new", True), "gated-silu": ("silu", True)}


@dataclass(frozen=True)
class T5Config:
    """Sizes under the names of config.json. ValueError for an unknown feed_forward_proj.

    vocab_size: the number of tokens
    d_model: features of a token
    d_kv: features of a head
    d_ff: hidden features of a perceptron
    num_layers: the number of layers
    num_decoder_layers: layers of the decoder, by default those of the encoder
    num_heads: heads of attention
    relative_attention_num_buckets: the number of distance buckets
    relative_attention_max_distance: all larger distances share a bucket
    layer_norm_epsilon: the norms' eps
    tie_word_embeddings: whether the head's weight is the embedding
    scale_decoder_outputs: divide the head's input by the root of d_model; None: if the head is the embedding
    decoder_start_token_id: the token that outputs begin with
    eos_token_id: the token, or tokens, that end a text
    """

    vocab_size: int = 32128
    d_model: int = 512
    d_kv: int = 64
    d_ff: int = 2048
    num_layers: int = 6
    num_decoder_layers: int | None = None
    num_heads: int = 8
    relative_attention_num_buckets: int = 32
    relative_attention_max_distance: int = 128
    layer_norm_epsilon: float = 1e-6
    feed_forward_proj: str = "relu"
    tie_word_embeddings: bool = True
    scale_decoder_outputs: bool | None = None
    decoder_start_token_id: int = 0
    eos_token_id: int | list[int] | None = 1

    def __post_init__(self):
        if self.feed_forward_proj not in FEED_FORWARD:
            choices = ", ".join(FEED_FORWARD)
            raise ValueError(f"feed_forward_proj {self.feed_forward_proj!r}: unknown: one of {choices}")

    @property
    def scales(self) -> bool:
        """Whether the head's input is divided by the root of d_model; by default if the head is the
        embedding."""
        return self.tie_word_embeddings if self.scale_decoder_outputs is None else self.scale_decoder_outputs


def bucket(distance: int, config: T5Config, both_ways: bool) -> int:
    """Return the bucket of a relative position (key minus query): near ones have their own, farther ones
    share buckets."""
    # A decoder sees no later keys: all buckets are for the past. An encoder splits them between both sides.
    buckets = config.relative_attention_num_buckets // (2 if both_ways else 1)
    behind = abs(distance) if both_ways else max(-distance, 0)
    first = buckets if both_ways and distance > 0 else 0
    # Half of the buckets are exact distances; the others grow logarithmically up to the maximum distance.
    near = buckets // 2
    if behind < near:
        return first + behind
    far = log(behind / near) / log(config.relative_attention_max_distance / near) * (buckets - near)
    # rounding must not move a power of the base to the bucket before
    return first + min(near + int(far + 1e-6), buckets - 1)


class T5Bias(nn.Module):
    """The bias of the scores: a number for each head and bucket of distances. -> [1, heads, n, m]"""

    buckets: Tensor

    def __init__(self, config: T5Config, both_ways: bool):
        shape = (config.relative_attention_num_buckets, config.num_heads)
        self.weight = nn.init.normal_(nn.Parameter(Tensor.zeros(*shape)))
        self.most = config.relative_attention_max_distance
        # Distances beyond the maximum share a bucket, so a table of 2 * most + 1 entries has them all.
        table = [bucket(d, config, both_ways) for d in range(-self.most, self.most + 1)]
        self.register_buffer("buckets", tensor(table, dtype=dt.int32), persistent=False)

    def forward(self, n: int, m: int, start: Any = 0) -> Tensor:
        """Return the bias of n queries from position `start` on, and m keys."""
        device = self.weight.device
        rows = Tensor.arange(n, dtype=dt.int32, device=device) + start
        distances = Tensor.arange(m, dtype=dt.int32, device=device) - rows.unsqueeze(1)
        buckets = self.buckets[distances.clamp(-self.most, self.most) + self.most]
        return F.embedding(buckets, self.weight).permute(2, 0, 1).unsqueeze(0)


class StackCall(NamedTuple):
    """The state that a stack's layers share in a call: the bias of the scores, the mask of the encoder's
    tokens, those tokens, and the cache."""

    bias: Tensor
    seen: Tensor | None = None
    memory: Tensor | None = None
    past: Past | None = None


class T5Attention(nn.Module):
    """Attention with unscaled scores. [b, n, d], [b, m, d] -> [b, n, d]"""

    def __init__(self, config: T5Config):
        inner, self.features = config.num_heads * config.d_kv, config.d_kv
        self.q, self.k, self.v = (nn.Linear(config.d_model, inner, bias=False) for _ in range(3))
        self.o = nn.Linear(inner, config.d_model, bias=False)

    def heads(self, layer: nn.Module, x: Tensor) -> Tensor:
        """[b, n, d] -> [b, heads, n, features]"""
        return layer(x).unflatten(-1, (-1, self.features)).transpose(1, 2)

    def merge(self, y: Tensor) -> Tensor:
        """[b, heads, n, features] -> [b, n, d]"""
        return self.o(y.transpose(1, 2).flatten(2))


class T5LayerSelfAttention(nn.Module):
    """Self-attention after a norm, with a residual connection. [b, n, d] -> [b, n, d]"""

    def __init__(self, config: T5Config, layer: int, is_decoder: bool):
        self.at, self.is_decoder, self.SelfAttention = layer, is_decoder, T5Attention(config)
        # T5 has no position embeddings: the bias of the first layer is the only information about order.
        if layer == 0:  # the first layer's bias is used by all
            self.SelfAttention.relative_attention_bias = T5Bias(config, not is_decoder)
        self.layer_norm = nn.RMSNorm(config.d_model, config.layer_norm_epsilon)

    def forward(self, x: Tensor, call: StackCall) -> Tensor:
        y, a = self.layer_norm(x), self.SelfAttention
        q, k, v = (a.heads(m, y) for m in (a.q, a.k, a.v))
        if call.past is not None:
            y = call.past.attend(self.at, q, k, v, call.bias, scale=1.0)
        else:
            # scale 1: T5's initialisation includes the factor 1 / sqrt(d_kv) (Raffel et al., 2019)
            y = F.scaled_dot_product_attention(q, k, v, call.bias, is_causal=self.is_decoder, scale=1.0)
        return x + a.merge(y)


class T5LayerCrossAttention(nn.Module):
    """Cross-attention to the encoder's tokens after a norm, with a residual connection. [b, n, d] -> [b, n,
    d]"""

    def __init__(self, config: T5Config, layer: int):
        self.at, self.EncDecAttention = layer, T5Attention(config)
        self.layer_norm = nn.RMSNorm(config.d_model, config.layer_norm_epsilon)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and values of the encoder's tokens. [b, m, d] -> [b, heads, m, features] twice"""
        a = self.EncDecAttention
        return a.heads(a.k, memory), a.heads(a.v, memory)

    def forward(self, x: Tensor, call: StackCall) -> Tensor:
        a = self.EncDecAttention
        k, v = self.keys_values(call.memory) if call.memory is not None else call.past.memory_of(self.at)  # type: ignore[union-attr]
        y = F.scaled_dot_product_attention(a.heads(a.q, self.layer_norm(x)), k, v, call.seen, scale=1.0)
        return x + a.merge(y)


class T5LayerFF(nn.Module):
    """A multilayer perceptron after a norm, with a residual; gated in v1.1. [b, n, d] -> [b, n, d]"""

    def __init__(self, config: T5Config):
        act, is_gated = FEED_FORWARD[config.feed_forward_proj]
        names = ("wi_0", "wi_1") if is_gated else ("wi",)
        layers = {name: nn.Linear(config.d_model, config.d_ff, bias=False) for name in names}
        layers["wo"] = nn.Linear(config.d_ff, config.d_model, bias=False)
        # transformers' name, even if the activation is not ReLU
        self.DenseReluDense, self.act, self.is_gated = nn.ModuleDict(layers), activation(act), is_gated
        self.layer_norm = nn.RMSNorm(config.d_model, config.layer_norm_epsilon)

    def forward(self, x: Tensor, call: StackCall) -> Tensor:
        y, m = self.layer_norm(x), self.DenseReluDense
        y = self.act(m["wi_0"](y)) * m["wi_1"](y) if self.is_gated else self.act(m["wi"](y))
        return x + m["wo"](y)


class T5Block(nn.Module):
    """Self-attention, cross-attention in a decoder, then a multilayer perceptron. -> [b, n, d]"""

    def __init__(self, config: T5Config, layer: int, is_decoder: bool):
        cross = [T5LayerCrossAttention(config, layer)] if is_decoder else []
        layers = (T5LayerSelfAttention(config, layer, is_decoder), *cross, T5LayerFF(config))
        self.layer = nn.ModuleList(layers)

    def forward(self, x: Tensor, call: StackCall) -> Tensor:
        for layer in self.layer:
            x = layer(x, call)
        return x


class T5Stack(nn.Module):
    """Blocks and a norm. [b, n, d] -> [b, n, d]"""

    def __init__(self, config: T5Config, is_decoder: bool):
        count = (is_decoder and config.num_decoder_layers) or config.num_layers
        self.block = nn.ModuleList(T5Block(config, i, is_decoder) for i in range(count))
        self.final_layer_norm = nn.RMSNorm(config.d_model, config.layer_norm_epsilon)

    def bias(self, n: int, m: int, start: Any = 0) -> Tensor:
        """Return the bias that all layers add to scores. -> [1, heads, n, m]"""
        return self.block[0].layer[0].SelfAttention.relative_attention_bias(n, m, start)

    def forward(self, x: Tensor, call: StackCall) -> Tensor:
        for block in self.block:
            x = block(x, call)
        return self.final_layer_norm(x)


def _key_mask(mask: Tensor | None) -> Tensor | None:
    return None if mask is None else (mask != 0).unsqueeze(1).unsqueeze(1)


class T5ForConditionalGeneration(nn.Module):
    """Maps a text, and the beginning of the output, to scores of the output's tokens. [b, m], [b, n] -> [b,
    n, vocab_size]

    config: a T5Config, or the dict in config.json (ValueError if a size is missing).
    """

    def __init__(self, config: T5Config | Mapping[str, Any]):
        self.config = config = settings(T5Config, config)
        self.shared = nn.Embedding(config.vocab_size, config.d_model)
        self.encoder, self.decoder = T5Stack(config, False), T5Stack(config, True)
        self.lm_head = None if config.tie_word_embeddings else self.own_head()

    def own_head(self) -> nn.Linear:
        """Create a head that is not the embedding."""
        return nn.Linear(self.config.d_model, self.config.vocab_size, bias=False)

    def encode(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Encode a text for the decoder. [b, m] -> [b, m, d]"""
        m, seen = input_ids.shape[1], _key_mask(attention_mask)
        bias = self.encoder.bias(m, m)
        masked = bias if seen is None else seen.where(bias, -1e30)
        return self.encoder(self.shared(input_ids), StackCall(masked))

    def hidden(self, ids: Tensor, past: Past | None = None, call: StackCall | None = None) -> Tensor:
        """Return the input of the head; `call` replaces a Past. [b, n] -> [b, n, d]"""
        n = ids.shape[1]
        if call is None:
            assert past is not None
            bias = self.decoder.bias(n, past.size.length, past.count())
            call = StackCall(bias, _key_mask(past.seen) if past.is_padded else None, None, past)
        x = self.decoder(self.shared(ids), call)
        # with a tied head: the embedding's scale is too large for scores (Mesh TensorFlow does the same)
        return x * self.config.d_model**-0.5 if self.config.scales else x

    def head(self, x: Tensor) -> Tensor:
        """Scores of tokens. [b, n, d] -> [b, n, vocab_size]"""
        return F.linear(x, self.shared.weight) if self.lm_head is None else self.lm_head(x)

    def forward(
        self, input_ids: Tensor, decoder_input_ids: Tensor, attention_mask: Tensor | None = None
    ) -> Tensor:
        """attention_mask: [b, m], 0 for padding of input_ids."""
        n, memory = decoder_input_ids.shape[1], self.encode(input_ids, attention_mask)
        call = StackCall(self.decoder.bias(n, n), _key_mask(attention_mask), memory)
        return self.head(self.hidden(decoder_input_ids, None, call))

    def new_past(self, batch: int, length: int, is_padded: bool = False, memory: int = 0) -> Past:
        """Return an empty Past for `length` tokens of `batch` rows and `memory` tokens of the encoder."""
        c, weight = self.config, self.shared.weight
        size = CacheSize(batch, len(self.decoder.block), c.num_heads, length, c.d_kv)
        return Past(size, is_padded, memory, weight.device, weight.dtype)

    @no_grad()
    def read(self, past: Past, input_ids: Tensor, attention_mask: Tensor | None = None) -> None:
        """Encode a text, and store its keys and values in the cache. [b, m]"""
        memory = self.encode(input_ids, attention_mask)
        for i, block in enumerate(self.decoder.block):
            past.remember(i, *block.layer[1].keys_values(memory))  # type: ignore[attr-defined]
        past.seen.assign_(input_ids == input_ids if attention_mask is None else attention_mask != 0)

    def adapt(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a state_dict to these names, also from one that has the embedding several times. If the
        file has a head that differs from the embedding, it is used, whatever config.json says (v1.1)."""
        # Old files repeat the embedding for each stack, and have an unused bias in the cross-attention.
        state = without(state, r"(en|de)coder\.embed_tokens\.", r"EncDecAttention\.relative_attention_bias")
        if self.lm_head is None and "lm_head.weight" in state:
            head, words = (tensor(state[name], device="cpu") for name in ("lm_head.weight", "shared.weight"))
            if head.shape != words.shape or (head != words).any().item():
                self.lm_head = self.own_head().to(self.shared.weight.device)
            else:
                del state["lm_head.weight"]
        return state
