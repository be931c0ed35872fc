"""Position encodings: sinusoids, rotations (RoPE), slopes (ALiBi), and the attention layer that uses them."""

from math import log
from typing import Any

from ..core.dtype import DTypeLike
from ..core.node import describe
from ..device import DeviceLike
from ..errors import ValueError
from ..ops.attention.attention import scaled_dot_product_attention
from ..ops.join import cat, stack
from ..tensor import HostScalar, Tensor
from .kv_cache import KVCache
from .linear import Linear, positive
from .module import Module, cast_layer


def _angles(places: Tensor, features: int, base: float) -> Tensor:
    """The position times the frequency of each pair of features. [..., n] -> [..., n, features / 2]"""
    # The frequency of pair i is base ** (-2 i / features), as an exponential of its logarithm.
    half = Tensor.arange(features // 2, device=places.device).float()
    return places.float().unsqueeze(-1) * (half * (-2 * log(base) / features)).exp()


class SinusoidalEmbedding(Module):
    """Add sines and cosines of the position to vectors (Vaswani et al., 2017). [..., n, d] -> [..., n, d]

    d_model: features, an even number. base: the longest wavelength is 2 pi * base. ValueError for an odd
    d_model.
    """

    def __init__(self, d_model: int, base: float = 10000.0):
        positive("SinusoidalEmbedding", d_model=d_model)
        if d_model % 2:
            raise ValueError(f"SinusoidalEmbedding({d_model}): features come in pairs: pass an even number")
        self.d_model, self.base = d_model, base

    def table(self, n: int, start: int | Tensor | HostScalar = 0, device: DeviceLike | None = None) -> Tensor:
        """The encoding of n tokens from position `start` (a number or a tensor) on. -> [n, d]"""
        angles = _angles(Tensor.arange(n, device=device) + start, self.d_model, self.base)
        # sine and cosine alternate: [n, pairs, 2] to [n, d]
        return stack([angles.sin(), angles.cos()], -1).flatten(-2)

    def forward(self, x: Tensor, start: int | Tensor | HostScalar = 0) -> Tensor:
        return x + self.table(x.shape[-2], start, x.device).to(x.dtype)


class RotaryEmbedding(Module):
    """Rotate pairs of features by an angle proportional to the position (Su et al., 2021). [..., n, d] ->
    same

    dim: features of a head, an even number. base: of the frequencies. interleaved: pairs are neighbours, as
    in the paper; else a feature of each half, as in Llama. ValueError for an odd number of features.
    """

    def __init__(self, dim: int, base: float = 10000.0, interleaved: bool = False):
        positive("RotaryEmbedding", dim=dim)
        if dim % 2:
            raise ValueError(f"RotaryEmbedding({dim}): features come in pairs: pass an even number")
        self.dim, self.base, self.interleaved = dim, base, interleaved

    def forward(self, x: Tensor, start: int | Tensor | HostScalar = 0) -> Tensor:
        """Rotate x, whose tokens have consecutive positions from `start` (a number or a tensor)."""
        if x.shape[-1] != self.dim:
            rule = f"the layer expects {self.dim} features, the input has {x.shape[-1]}"
            raise ValueError(f"RotaryEmbedding({describe(x)}): {rule}: make them equal")
        angles = _angles(Tensor.arange(x.shape[-2], device=x.device) + start, self.dim, self.base)
        # computed in float32: angles of far positions would lose their fraction in 16 bits
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        return rotate_pairs(x, cos, sin, self.interleaved)


def rotate_pairs(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False) -> Tensor:
    """Rotate pairs of features: neighbours if interleaved, else one of each half. Features beyond twice the
    number of angles are unchanged. [..., n, d], [..., n, pairs] twice -> [..., n, d]"""
    d = 2 * cos.shape[-1]  # partial rotary embeddings rotate the first d features only
    x, rest = (x, None) if x.shape[-1] == d else (x[..., :d], x[..., d:])
    a, b = (x[..., k::2] for k in range(2)) if interleaved else x.chunk(2, -1)
    # (a + i b) (cos + i sin)
    pair = [a * cos - b * sin, b * cos + a * sin]
    y = stack(pair, -1).flatten(-2) if interleaved else cat(pair, -1)
    return y if rest is None else cat([y, rest], -1)


def _slopes(heads: int) -> list[float]:
    """2 ** -(8 i / n) if n is a power of two; else those of the power below, then every other one of the
    power above."""
    # The largest power of two up to heads; the other heads use every other slope of twice as many, as in the
    # paper.
    n = 1 << (heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * (i + 1) / n) for i in range(n)]
    return slopes + [2.0 ** (-4 * (2 * i + 1) / n) for i in range(heads - n)]


class ALiBi(Module):
    """A bias of the scores, minus the distance times a slope for each head (Press et al., 2021).

    num_heads: the number of heads.
    Raises ValueError if a size is not a positive integer.
    """

    def __init__(self, num_heads: int):
        positive("ALiBi", num_heads=num_heads)
        self.num_heads, self.slopes = num_heads, _slopes(num_heads)

    def forward(
        self, queries: int, keys: int, start: int | Tensor | HostScalar = 0, device: DeviceLike | None = None
    ) -> Tensor:
        """The bias; the first query is at position `start`. -> [heads, queries, keys]"""
        rows = (Tensor.arange(queries, device=device) + start).unsqueeze(1)
        # distance of query and key: [queries, keys]
        distance = (rows - Tensor.arange(keys, device=device)).abs().float()
        slopes = Tensor.arange(self.num_heads, device=device) * 0.0
        # A select by head from host numbers, which become parameters of the kernel: no upload.
        for i, slope in enumerate(self.slopes):
            slopes = (Tensor.arange(self.num_heads, device=device) == i).where(slope, slopes)
        return -distance * slopes.reshape(-1, 1, 1)


class GroupedQueryAttention(Module):
    """Causal attention whose heads share fewer heads of keys (Ainslie et al., 2023). [b, n, d] -> [b, n, d]

    d_model: features. num_heads, num_kv_heads: heads of queries, and of keys and values. positions: a
    RotaryEmbedding of d_model / num_heads features, an ALiBi, or None. With a KVCache it continues token by
    token. ValueError if heads do not divide.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        positions: Module | None = None,
        bias: bool = False,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        kv = num_heads if num_kv_heads is None else num_kv_heads
        positive("GroupedQueryAttention", d_model=d_model, num_heads=num_heads, num_kv_heads=kv)
        if d_model % num_heads or num_heads % kv:
            call = f"GroupedQueryAttention({d_model}, {num_heads}, {kv})"
            raise ValueError(f"{call}: heads must divide the features, and kv heads the heads: pass divisors")
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, kv, d_model // num_heads
        self.positions = positions
        wide = kv * self.head_dim
        self.q_proj = Linear(d_model, d_model, bias, device=device)
        self.k_proj = Linear(d_model, wide, bias, device=device)
        self.v_proj = Linear(d_model, wide, bias, device=device)
        self.o_proj = Linear(d_model, d_model, bias, device=device)
        cast_layer(self, dtype)

    def new_cache(
        self, batch: int, length: int, device: DeviceLike | None = None, dtype: DTypeLike | None = None
    ) -> KVCache:
        """An empty cache for `length` tokens of `batch` sequences."""
        return KVCache(batch, self.num_kv_heads, length, self.head_dim, device=device, dtype=dtype)

    def forward(self, x: Tensor, cache: KVCache | None = None) -> Tensor:
        """[b, n, d] -> [b, n, d]; with a cache the tokens follow those in it."""
        # [b, n, heads * d] -> [b, heads, n, d]
        q = self.q_proj(x).unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)
        k, v = (
            m(x).unflatten(-1, (self.num_kv_heads, self.head_dim)).transpose(1, 2)
            for m in (self.k_proj, self.v_proj)
        )
        # + 0 copies the value, since the cache advances its count
        start: Any = 0 if cache is None else cache.count + 0
        if isinstance(self.positions, RotaryEmbedding):
            q, k = self.positions(q, start), self.positions(k, start)
        bias = None
        if isinstance(self.positions, ALiBi):
            # the cache attends to all its rows, also those not filled, which the causal mask hides
            keys = k.shape[-2] if cache is None else cache.keys.shape[-2]
            bias = self.positions(q.shape[-2], keys, start, x.device).to(q.dtype)
        if cache is not None:
            y = cache(q, k, v, attn_mask=bias)
        else:
            grouped = self.num_heads != self.num_kv_heads
            y = scaled_dot_product_attention(q, k, v, bias, is_causal=True, enable_gqa=grouped)
        return self.o_proj(y.transpose(1, 2).flatten(-2))  # [b, heads, n, d] -> [b, n, heads * d]
