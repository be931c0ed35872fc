"""ModernBERT (Warner et al., 2024), under transformers' names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import nn
from ..core import dtype as dt
from ..core.node import describe
from ..tensor import Tensor
from .bert import mean_vector
from .names import rename_weights, without
from .rotary import Rotation
from .settings import activation, settings

F = nn.functional
Angles = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class ModernBertConfig:
    """Sizes under the names of config.json. ValueError if heads do not divide the features, or for
    layer_types of another number of layers.

    vocab_size: the number of tokens
    hidden_size: features of a token
    intermediate_size: hidden features of a perceptron
    num_hidden_layers: the number of layers
    num_attention_heads: heads of attention
    hidden_activation: the name of the activation of a perceptron
    max_position_embeddings: the largest number of positions
    norm_eps: the norms' eps
    norm_bias: whether norms have biases
    attention_bias: whether the layers of attention have biases
    mlp_bias: whether the perceptrons have biases
    global_attn_every_n_layers: of so many layers the first attends to all tokens
    local_attention: the other layers attend to half as many tokens on each side
    layer_types: "full_attention" or "sliding_attention" for each layer
    global_rope_theta: the base of rotary positions of layers that attend to all tokens
    local_rope_theta: the base of those of other layers
    rope_parameters: both bases, as in newer files
    """

    vocab_size: int = 50368
    hidden_size: int = 768
    intermediate_size: int = 1152
    num_hidden_layers: int = 22
    num_attention_heads: int = 12
    hidden_activation: str = "gelu"
    max_position_embeddings: int = 8192
    norm_eps: float = 1e-5
    norm_bias: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    global_attn_every_n_layers: int = 3
    local_attention: int = 128
    layer_types: list[str] | None = None
    global_rope_theta: float = 160000.0
    local_rope_theta: float = 10000.0
    rope_parameters: dict[str, Any] | None = None

    def __post_init__(self):
        activation(self.hidden_activation)
        if self.hidden_size % self.num_attention_heads:
            shares = f"{self.num_attention_heads} heads, {self.hidden_size} features"
            raise ValueError(f"ModernBertConfig: {shares}: the heads must divide the features")
        if self.layer_types is not None and len(self.layer_types) != self.num_hidden_layers:
            problem = f"layer_types has {len(self.layer_types)} of {self.num_hidden_layers} layers"
            raise ValueError(f"ModernBertConfig: {problem}: pass one entry for each layer")

    def is_local(self, layer: int) -> bool:
        """Whether a layer attends to near tokens only."""
        if self.layer_types is not None:
            return self.layer_types[layer] == "sliding_attention"
        return layer % self.global_attn_every_n_layers != 0

    def rope(self, is_local: bool) -> dict[str, Any]:
        """The parameters of rotary positions of a kind of layers."""
        theta = self.local_rope_theta if is_local else self.global_rope_theta
        own: Any = (self.rope_parameters or {}).get("sliding_attention" if is_local else "full_attention")
        return {"rope_theta": theta} | (own or {})


class ModernBertAttention(nn.Module):
    """Bidirectional self-attention with rotary positions. [b, n, d] -> [b, n, d]"""

    def __init__(self, config: ModernBertConfig):
        d, self.heads = config.hidden_size, config.num_attention_heads
        self.Wqkv = nn.Linear(d, 3 * d, config.attention_bias)
        self.Wo = nn.Linear(d, d, config.attention_bias)

    def forward(self, x: Tensor, rotation: Rotation, angles: Angles, mask: Tensor | None) -> Tensor:
        parts = self.Wqkv(x).unflatten(-1, (3, self.heads, -1))
        q, k, v = (parts[:, :, i].transpose(1, 2) for i in range(3))
        y = F.scaled_dot_product_attention(rotation(q, angles), rotation(k, angles), v, mask)
        return self.Wo(y.transpose(1, 2).flatten(2))


class ModernBertMLP(nn.Module):
    """A gated multilayer perceptron (GeGLU; Shazeer, 2020). [b, n, d] -> [b, n, d]"""

    def __init__(self, config: ModernBertConfig):
        d, wide = config.hidden_size, config.intermediate_size
        self.Wi, self.Wo = nn.Linear(d, 2 * wide, config.mlp_bias), nn.Linear(wide, d, config.mlp_bias)
        self.act = activation(config.hidden_activation)

    def forward(self, x: Tensor) -> Tensor:
        y, gate = self.Wi(x).chunk(2, -1)
        return self.Wo(self.act(y) * gate)


class ModernBertLayer(nn.Module):
    """Attention, then a multilayer perceptron, each after a norm and with a residual. -> [b, n, d]"""

    def __init__(self, config: ModernBertConfig, layer: int):
        self.is_local = config.is_local(layer)
        # the embeddings are normalised already
        self.attn_norm = nn.Identity() if layer == 0 else _norm(config)
        self.attn, self.mlp_norm = ModernBertAttention(config), _norm(config)
        self.mlp = ModernBertMLP(config)

    def forward(self, x: Tensor, rotation: Rotation, angles: Angles, mask: Tensor | None) -> Tensor:
        x = x + self.attn(self.attn_norm(x), rotation, angles, mask)
        return x + self.mlp(self.mlp_norm(x))


def _norm(config: ModernBertConfig) -> nn.LayerNorm:
    return nn.LayerNorm(config.hidden_size, config.norm_eps, bias=config.norm_bias)


class ModernBertModel(nn.Module):
    """Contextual vectors of a text's tokens. [b, n] -> [b, n, d]

    config: a ModernBertConfig, or the dict in config.json (ValueError if a size is missing).
    """

    def __init__(self, config: ModernBertConfig | Mapping[str, Any]):
        self.config = config = settings(ModernBertConfig, config)
        embeddings = {"tok_embeddings": nn.Embedding(config.vocab_size, config.hidden_size)}
        self.embeddings = nn.ModuleDict({**embeddings, "norm": _norm(config)})
        self.layers = nn.ModuleList(ModernBertLayer(config, i) for i in range(config.num_hidden_layers))
        self.final_norm = _norm(config)
        features = config.hidden_size // config.num_attention_heads
        self.rotations = nn.ModuleList(
            Rotation(features, config.rope(is_local)) for is_local in (False, True)
        )

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Return the tokens' vectors. attention_mask: [b, n], 0 for padding. ValueError for texts that are
        longer than the positions."""
        n, longest = input_ids.shape[1], self.config.max_position_embeddings
        if n > longest:
            rule = f"has positions for {longest:,} tokens: pass a shorter text"
            raise ValueError(f"ModernBertModel({describe(input_ids)}): {rule}")
        places = Tensor.arange(n, dtype=dt.int32, device=input_ids.device)
        seen = None if attention_mask is None else (attention_mask != 0).unsqueeze(1).unsqueeze(1)
        near = (places - places.unsqueeze(1)).abs() <= self.config.local_attention // 2
        near = near.unsqueeze(0).unsqueeze(0)
        masks = (seen, near if seen is None else near & seen)
        angles = [rotation.angles(places.unsqueeze(0)) for rotation in self.rotations]  # type: ignore[operator]
        x = self.embeddings["norm"](self.embeddings["tok_embeddings"](input_ids))
        for layer in self.layers:
            kind = int(layer.is_local)  # type: ignore[arg-type]
            x = layer(x, self.rotations[kind], angles[kind], masks[kind])
        return self.final_norm(x)

    def embed(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Return a unit vector for each text: the normalised mean of its tokens' vectors (Reimers and
        Gurevych, 2019). [b, n], [b, n] -> [b, d]"""
        return mean_vector(self(input_ids, attention_mask), attention_mask)

    def adapt(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a state_dict to these names, also from one with a prefix and heads."""
        return without(
            rename_weights(state, [(r"^model\.", "")]), r"^head\.", r"^decoder\.", r"^classifier\."
        )
