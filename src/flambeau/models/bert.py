"""BERT (Devlin et al., 2018) and encoders with its layers: MiniLM, RoBERTa, DistilBERT and MPNet, under
transformers' names of BERT."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import nn
from ..core import dtype as dt
from ..core.node import describe
from ..tensor import Tensor
from .names import rename_weights, without
from .settings import activation, settings
from .t5 import T5Bias, T5Config

F = nn.functional
DISTANT = 128  # MPNet's distances from here on share a bucket


class EncoderTraits(NamedTuple):
    """The differences of a family from BERT."""

    has_types: bool = True  # embeddings of sentence types
    pools: bool = True  # a layer for the vector of the first token
    starts_after_pad: bool = False  # positions begin after pad_token_id, and padding has that position
    has_distances: bool = False  # a bias of the scores by distance, as in T5
    fields: Mapping[str, str] = {}  # entries of config.json that have other names: ours by theirs
    names: tuple[tuple[str, str], ...] = ()  # patterns of the weights' names, and BERT's


DISTIL_FIELDS = {
    "dim": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "hidden_dim": "intermediate_size",
    "activation": "hidden_act",
}
DISTIL_NAMES = (
    (r"^transformer\.layer\.", "encoder.layer."),
    (r"\.attention\.q_lin\.", ".attention.self.query."),
    (r"\.attention\.k_lin\.", ".attention.self.key."),
    (r"\.attention\.v_lin\.", ".attention.self.value."),
    (r"\.attention\.out_lin\.", ".attention.output.dense."),
    (r"\.sa_layer_norm\.", ".attention.output.LayerNorm."),
    (r"\.ffn\.lin1\.", ".intermediate.dense."),
    (r"\.ffn\.lin2\.", ".output.dense."),
    (r"\.output_layer_norm\.", ".output.LayerNorm."),
)
MPNET_NAMES = (
    (r"\.attention\.attn\.q\.", ".attention.self.query."),
    (r"\.attention\.attn\.k\.", ".attention.self.key."),
    (r"\.attention\.attn\.v\.", ".attention.self.value."),
    (r"\.attention\.attn\.o\.", ".attention.output.dense."),
    (r"\.attention\.LayerNorm\.", ".attention.output.LayerNorm."),
)
ROBERTA = EncoderTraits(starts_after_pad=True)
ENCODERS = {  # by model_type
    "bert": EncoderTraits(),
    "roberta": ROBERTA,
    "xlm-roberta": ROBERTA,
    "camembert": ROBERTA,
    "distilbert": EncoderTraits(has_types=False, pools=False, fields=DISTIL_FIELDS, names=DISTIL_NAMES),
    "mpnet": EncoderTraits(has_types=False, starts_after_pad=True, has_distances=True, names=MPNET_NAMES),
}
HEADS = (  # of other tasks, in files
    *(r"^cls\.", r"^lm_head\.", r"^(pre_)?classifier\.", r"^vocab_(transform|layer_norm|projector)\."),
    r"position_ids$",
)


@dataclass(frozen=True)
class BertConfig:
    """Sizes under the names of config.json. ValueError for an unknown family, or if heads do not divide the
    features.

    vocab_size: the number of tokens
    hidden_size: features of a token
    num_hidden_layers: the number of layers
    num_attention_heads: heads of attention
    intermediate_size: hidden features of a perceptron
    hidden_act: the name of the activation between the two layers of a perceptron
    max_position_embeddings: the largest number of positions; RoBERTa's and MPNet's texts have as many tokens
        less pad_token_id and 1
    type_vocab_size: the number of sentence types
    layer_norm_eps: the norms' eps
    position_embedding_type: must be "absolute"
    model_type: the family
    pad_token_id: the padding; RoBERTa and MPNet count positions from it
    relative_attention_num_buckets: MPNet's distance buckets
    """

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12
    position_embedding_type: str = "absolute"
    model_type: str = "bert"
    pad_token_id: int | None = None
    relative_attention_num_buckets: int = 32

    def __post_init__(self):
        if self.model_type not in ENCODERS:
            raise ValueError(f"model_type {self.model_type!r}: unknown: one of {', '.join(ENCODERS)}")
        activation(self.hidden_act)
        if self.hidden_size % self.num_attention_heads:
            shares = f"{self.num_attention_heads} heads, {self.hidden_size} features"
            raise ValueError(f"BertConfig: {shares}: the heads must divide the features")
        if self.position_embedding_type != "absolute":
            setting = f"position_embedding_type is {self.position_embedding_type!r}"
            raise ValueError(f'BertConfig: {setting}: only "absolute" is supported')

    @property
    def traits(self) -> EncoderTraits:
        """The differences of its family from BERT."""
        return ENCODERS[self.model_type]

    @property
    def pad(self) -> int:
        """The padding token of a family whose positions begin after it."""
        return 1 if self.pad_token_id is None else self.pad_token_id

    @property
    def longest(self) -> int:
        """The most tokens of a text."""
        return self.max_position_embeddings - (self.pad + 1 if self.traits.starts_after_pad else 0)


class BertEmbeddings(nn.Module):
    """The sum of token, position and sentence-type embeddings, normalised. [b, n] twice -> [b, n, d]"""

    def __init__(self, config: BertConfig):
        d, self.has_types = config.hidden_size, config.traits.has_types
        self.pad = config.pad if config.traits.starts_after_pad else None
        self.word_embeddings = nn.Embedding(config.vocab_size, d)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, d)
        if self.has_types:
            self.token_type_embeddings = nn.Embedding(config.type_vocab_size, d)
        self.LayerNorm = nn.LayerNorm(d, config.layer_norm_eps)

    def places(self, ids: Tensor) -> Tensor:
        """The positions of tokens. [b, n] -> [n] or [b, n]"""
        if self.pad is None:
            return Tensor.arange(ids.shape[1], dtype=dt.int32, device=ids.device)
        is_token = (ids != self.pad).to(dt.int32)
        return is_token.cumsum(1).to(dt.int32) * is_token + self.pad

    def forward(self, ids: Tensor, types: Tensor | None) -> Tensor:
        x = self.word_embeddings(ids) + self.position_embeddings(self.places(ids))
        if not self.has_types:
            return self.LayerNorm(x)
        # without types all tokens belong to sentence 0
        first = self.token_type_embeddings.weight[0]
        return self.LayerNorm(x + (first if types is None else self.token_type_embeddings(types)))


class BertSelfAttention(nn.Module):
    """Bidirectional self-attention. [b, n, d] -> [b, n, d]"""

    def __init__(self, config: BertConfig):
        d, self.heads = config.hidden_size, config.num_attention_heads
        self.query, self.key, self.value = (nn.Linear(d, d) for _ in range(3))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        layers = (self.query, self.key, self.value)
        q, k, v = (m(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for m in layers)
        return F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2)


class BertOutput(nn.Module):
    """A linear layer, the residual connection, and a norm. [b, n, features], [b, n, d] -> [b, n, d]"""

    def __init__(self, features: int, config: BertConfig):
        self.dense = nn.Linear(features, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)

    def forward(self, y: Tensor, x: Tensor) -> Tensor:
        # post-norm: BERT normalises after the residual sum
        return self.LayerNorm(self.dense(y) + x)


class BertLayer(nn.Module):
    """Attention, then a multilayer perceptron, each followed by a norm. [b, n, d] -> [b, n, d]"""

    def __init__(self, config: BertConfig):
        d, wide = config.hidden_size, config.intermediate_size
        self.attention = nn.ModuleDict({"self": BertSelfAttention(config), "output": BertOutput(d, config)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(d, wide)})
        self.output, self.act = BertOutput(wide, config), activation(config.hidden_act)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = self.attention["output"](self.attention["self"](x, mask), x)
        return self.output(self.act(self.intermediate["dense"](x)), x)


class BertModel(nn.Module):
    """Contextual vectors of a text's tokens, and the pooled vector. [b, n] -> [b, n, d], [b, d]

    config: a BertConfig, or the dict in config.json (ValueError if a size is missing); its model_type selects
    the family.
    """

    def __init__(self, config: BertConfig | Mapping[str, Any]):
        self.config = config = settings(BertConfig, _bert_fields(config))
        self.embeddings = BertEmbeddings(config)
        layers = nn.ModuleList(BertLayer(config) for _ in range(config.num_hidden_layers))
        self.encoder = nn.ModuleDict({"layer": layers})
        if config.traits.has_distances:
            self.encoder["relative_attention_bias"] = T5Bias(_distances(config), both_ways=True)
        if config.traits.pools:
            self.pooler = nn.ModuleDict({"dense": nn.Linear(config.hidden_size, config.hidden_size)})

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the tokens' vectors, and the pooled vector of the first token (DistilBERT: its vector).
        attention_mask: [b, n], 0 for padding. ValueError for texts that are longer than the positions."""
        n, longest = input_ids.shape[1], self.config.longest
        if n > longest:
            rule = f"has positions for {longest:,} tokens: pass a shorter text"
            raise ValueError(f"BertModel({describe(input_ids)}): {rule}")
        # [b, 1, 1, n]: the same keys for all heads and queries
        mask = None if attention_mask is None else (attention_mask != 0).unsqueeze(1).unsqueeze(1)
        if self.config.traits.has_distances:
            bias = self.encoder["relative_attention_bias"](n, n)
            mask = bias if mask is None else mask.where(bias, -1e30)
        x = self.embeddings(input_ids, token_type_ids)
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        return x, self.pooler["dense"](x[:, 0]).tanh() if self.config.traits.pools else x[:, 0]

    def embed(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Return a unit vector for each text: the normalised mean of its tokens' vectors (Reimers and
        Gurevych, 2019), as MiniLM was trained. [b, n], [b, n] -> [b, d]"""
        return mean_vector(self(input_ids, attention_mask)[0], attention_mask)

    def adapt(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a state_dict to these names, also from one with a prefix, heads or old names of norms."""
        # gamma and beta are TensorFlow's names of a norm's weight and bias
        rows = [(r"^(bert|roberta|distilbert|mpnet)\.", ""), (r"\.gamma$", ".weight"), (r"\.beta$", ".bias")]
        state = without(rename_weights(state, [*rows, *self.config.traits.names]), *HEADS)
        if self.config.traits.pools and "pooler.dense.weight" not in state:  # of a masked language model
            # such a file has no pooler: keep the random one, since `embed` does not use it
            own = self.state_dict()
            state |= {name: own[name] for name in ("pooler.dense.weight", "pooler.dense.bias")}
        return state


def _bert_fields(config: BertConfig | Mapping[str, Any]) -> BertConfig | Mapping[str, Any]:
    """The dict of config.json under BERT's names."""
    if not isinstance(config, Mapping):
        return config
    fields = ENCODERS.get(str(config.get("model_type")), EncoderTraits()).fields
    return {fields.get(name, name): value for name, value in config.items()}


def _distances(config: BertConfig) -> T5Config:
    """The sizes of MPNet's bias of distances."""
    return T5Config(
        num_heads=config.num_attention_heads,
        relative_attention_num_buckets=config.relative_attention_num_buckets,
        relative_attention_max_distance=DISTANT,
    )


def mean_vector(x: Tensor, attention_mask: Tensor | None) -> Tensor:
    """Return the normalised mean of the vectors of each text's tokens. [b, n, d], [b, n] -> [b, d]"""
    if attention_mask is None:
        return F.normalize(x.mean(1))
    # the mean without padding; clamp: a row of padding alone gives 0, not NaN
    token_mask = (attention_mask != 0).float().unsqueeze(-1)
    return F.normalize((x * token_mask).sum(1) / token_mask.sum(1).clamp(min=1))
