"""Whisper's encoder (Radford et al., 2022), under transformers' names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import nn
from ..core.node import describe
from ..tensor import Tensor
from .names import rename_weights, without
from .settings import activation, settings

F = nn.functional


@dataclass(frozen=True)
class WhisperConfig:
    """Sizes under the names of config.json. ValueError if heads do not divide the features.

    num_mel_bins: frequencies of a spectrogram
    d_model: features of a token
    encoder_layers: the number of layers
    encoder_attention_heads: heads of attention
    encoder_ffn_dim: hidden features of a perceptron
    activation_function: the name of the activation between the two layers of a perceptron
    max_source_positions: the largest number of positions
    """

    num_mel_bins: int = 80
    d_model: int = 384
    encoder_layers: int = 4
    encoder_attention_heads: int = 6
    encoder_ffn_dim: int = 1536
    activation_function: str = "gelu"
    max_source_positions: int = 1500

    def __post_init__(self):
        activation(self.activation_function)
        if self.d_model % self.encoder_attention_heads:
            shares = f"{self.encoder_attention_heads} heads, {self.d_model} features"
            raise ValueError(f"WhisperConfig: {shares}: the heads must divide the features")


class WhisperAttention(nn.Module):
    """Bidirectional self-attention; keys have no bias. [b, n, d] -> [b, n, d]"""

    def __init__(self, d: int, heads: int):
        self.heads = heads
        self.k_proj = nn.Linear(d, d, bias=False)
        self.v_proj, self.q_proj, self.out_proj = (nn.Linear(d, d) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        layers = (self.q_proj, self.k_proj, self.v_proj)
        q, k, v = (m(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for m in layers)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out_proj(y.transpose(1, 2).flatten(2))


class WhisperEncoderLayer(nn.Module):
    """Attention, then a multilayer perceptron, each after a norm and with a residual. -> [b, n, d]"""

    def __init__(self, config: WhisperConfig):
        d, wide = config.d_model, config.encoder_ffn_dim
        self.self_attn = WhisperAttention(d, config.encoder_attention_heads)
        self.self_attn_layer_norm, self.final_layer_norm = nn.LayerNorm(d), nn.LayerNorm(d)
        self.fc1, self.fc2 = nn.Linear(d, wide), nn.Linear(wide, d)
        self.act = activation(config.activation_function)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.self_attn(self.self_attn_layer_norm(x))
        return x + self.fc2(self.act(self.fc1(self.final_layer_norm(x))))


class WhisperEncoder(nn.Module):
    """Encodes 30 seconds of audio as vectors. [b, num_mel_bins, 2 * max_source_positions] -> [b, n, d]

    config: a WhisperConfig, or the dict in config.json (ValueError if a size is missing). The input is a
    log-mel spectrogram, as Whisper's feature extractor computes it.
    """

    def __init__(self, config: WhisperConfig | Mapping[str, Any]):
        self.config = config = settings(WhisperConfig, config)
        d = config.d_model
        self.conv1 = nn.Conv1d(config.num_mel_bins, d, 3, padding=1)
        # the second convolution halves the 3,000 frames (10 ms each) to 1,500 positions
        self.conv2 = nn.Conv1d(d, d, 3, 2, 1)
        self.embed_positions = nn.Embedding(config.max_source_positions, d)
        self.layers = nn.ModuleList(WhisperEncoderLayer(config) for _ in range(config.encoder_layers))
        self.layer_norm = nn.LayerNorm(d)

    def forward(self, input_features: Tensor) -> Tensor:
        long = 2 * self.config.max_source_positions
        if input_features.ndim != 3 or input_features.shape[2] != long:
            rule = f"takes spectrograms of [b, {self.config.num_mel_bins}, {long}]"
            raise ValueError(f"WhisperEncoder({describe(input_features)}): {rule}: pad or crop the audio")
        x = F.gelu(self.conv2(F.gelu(self.conv1(input_features))))
        x = x.transpose(1, 2) + self.embed_positions.weight
        for layer in self.layers:
            x = layer(x)
        return self.layer_norm(x)

    def adapt(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a state_dict to these names, also that of the complete Whisper; the decoder is skipped."""
        rows = [(r"^model\.", ""), (r"^encoder\.", "")]
        return without(rename_weights(state, rows), r"^decoder\.", r"^proj_out\.")
