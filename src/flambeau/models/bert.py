"""BERT (Devlin et al., 2018) and the smaller MiniLM, under transformers' names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import nn
from ..core import dtype as dt
from ..tensor import Tensor
from .names import rename_weights, without
from .settings import activation, settings

F = nn.functional


@dataclass(frozen=True)
class BertConfig:
    """Sizes under the names of config.json. ValueError if heads do not divide the features.

    vocab_size: the number of tokens
    hidden_size: features of a token
    num_hidden_layers: the number of layers
    num_attention_heads: heads of attention
    intermediate_size: hidden features of a perceptron
    hidden_act: the name of the activation between the two layers of a perceptron
    max_position_embeddings: the largest number of positions
    type_vocab_size: the number of sentence types
    layer_norm_eps: the norms' eps
    position_embedding_type: must be "absolute"
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

    def __post_init__(self):
        activation(self.hidden_act)
        if self.hidden_size % self.num_attention_heads:
            shares = f"{self.num_attention_heads} heads, {self.hidden_size} features"
            raise ValueError(f"BertConfig: {shares}: the heads must divide the features")
        if self.position_embedding_type != "absolute":
            setting = f"position_embedding_type is {self.position_embedding_type!r}"
            raise ValueError(f'BertConfig: {setting}: only "absolute" is supported')


class BertEmbeddings(nn.Module):
    """The sum of token, position and sentence-type embeddings, normalised. [b, n] twice -> [b, n, d]"""

    def __init__(self, config: BertConfig):
        d = config.hidden_size
        self.word_embeddings = nn.Embedding(config.vocab_size, d)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, d)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, d)
        self.LayerNorm = nn.LayerNorm(d, config.layer_norm_eps)

    def forward(self, ids: Tensor, types: Tensor | None) -> Tensor:
        places = Tensor.arange(ids.shape[1], dtype=dt.int32, device=ids.device)
        x = self.word_embeddings(ids) + self.position_embeddings(places)
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

    config: a BertConfig, or the dict in config.json (ValueError if a size is missing).
    """

    def __init__(self, config: BertConfig | Mapping[str, Any]):
        self.config = config = settings(BertConfig, config)
        self.embeddings = BertEmbeddings(config)
        layers = nn.ModuleList(BertLayer(config) for _ in range(config.num_hidden_layers))
        self.encoder = nn.ModuleDict({"layer": layers})
        self.pooler = nn.ModuleDict({"dense": nn.Linear(config.hidden_size, config.hidden_size)})

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the tokens' vectors, and the pooled vector of the first token. attention_mask: [b, n], 0 for
        padding."""
        # [b, 1, 1, n]: the same keys for all heads and queries
        mask = None if attention_mask is None else (attention_mask != 0).unsqueeze(1).unsqueeze(1)
        x = self.embeddings(input_ids, token_type_ids)
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        return x, self.pooler["dense"](x[:, 0]).tanh()

    def embed(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Return a unit vector for each text: the normalised mean of its tokens' vectors (Reimers and
        Gurevych, 2019), as MiniLM was trained. [b, n], [b, n] -> [b, d]"""
        x, _ = self(input_ids, attention_mask)
        if attention_mask is None:
            return F.normalize(x.mean(1))
        # the mean without padding; clamp: a row of padding alone gives 0, not NaN
        token_mask = (attention_mask != 0).float().unsqueeze(-1)
        return F.normalize((x * token_mask).sum(1) / token_mask.sum(1).clamp(min=1))

    def adapt(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a state_dict to these names, also from one with a prefix, heads or old names of norms."""
        # gamma and beta are TensorFlow's names of a norm's weight and bias
        rows = [(r"^bert\.", ""), (r"\.gamma$", ".weight"), (r"\.beta$", ".bias")]
        state = without(rename_weights(state, rows), r"^cls\.", r"^classifier\.", r"position_ids$")
        if "pooler.dense.weight" not in state:  # of a masked language model
            # such a file has no pooler: keep the random one, since `embed` does not use it
            own = self.state_dict()
            state |= {name: own[name] for name in ("pooler.dense.weight", "pooler.dense.bias")}
        return state
