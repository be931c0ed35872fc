"""A cache of earlier keys and values, for token-by-token attention."""

from ..core import dtype as dt
from ..core.dtype import DTypeLike
from ..core.modes import no_grad
from ..device import DeviceLike
from ..ops.attention.attention import scaled_dot_product_attention
from ..ops.attention.kv_cache import put_rows
from ..tensor import HostScalar, Tensor
from .module import Module


class KVCache(Module):
    """Keys and values [batch, heads, length, features], of which the first `count` are filled.

    The count is on the device, so that a step recorded by `fb.jit` works at every position and writes into
    the same buffers. It is for inference: its tensors have no gradients. Rows past `length` are lost.

    value_features: the features of values, by default those of keys
    Raises TypeError if the dtype is unknown.
    """

    keys: Tensor
    values: Tensor
    count: Tensor

    def __init__(
        self,
        batch: int,
        heads: int,
        length: int,
        features: int,
        value_features: int | None = None,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        wide = features if value_features is None else value_features
        kind = dt.as_dtype(dtype or dt.float32)
        self.register_buffer("keys", Tensor.zeros(batch, heads, length, features, dtype=kind, device=device))
        self.register_buffer("values", Tensor.zeros(batch, heads, length, wide, dtype=kind, device=device))
        self.register_buffer("count", Tensor.zeros(1, dtype=dt.int32, device=device))

    def append(
        self, key: Tensor, value: Tensor, at: int | Tensor | HostScalar | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Append keys and values, or write them from position `at` on (a number, HostScalar or tensor). [b,
        h, n, d], [b, h, n, e] -> all keys, all values, and the position of the first new one"""
        with no_grad():
            # a tensor either way: a number would be a constant of the recorded step
            start = self.count + 0 if at is None else self.count * 0 + at
            self.write(key, value, start)
            self.count.assign_(start + key.shape[-2])
        return self.keys, self.values, start

    def write(self, key: Tensor, value: Tensor, start: int | Tensor | HostScalar) -> None:
        """Write keys and values from position `start` on; `count` stays. [b, h, n, d], [b, h, n, e]"""
        with no_grad():
            self.keys.assign_(put_rows(self.keys, key, start))
            self.values.assign_(put_rows(self.values, value, start))

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        scale: float | HostScalar | None = None,
        softcap: float | HostScalar | None = None,
    ) -> Tensor:
        """Append, and attend to all tokens so far; the options are those of scaled_dot_product_attention.
        [b, g, n, d], [b, h, n, d], [b, h, n, e] -> [b, g, n, e], g a multiple of h"""
        start = self.append(key, value)[2]
        return self.attend(query, start, attn_mask, dropout_p, scale, softcap)

    def attend(
        self,
        query: Tensor,
        start: int | Tensor | HostScalar,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        scale: float | HostScalar | None = None,
        softcap: float | HostScalar | None = None,
    ) -> Tensor:
        """Attend to the tokens up to each query, the first of which is at position `start`; the options are
        those of `forward`. [b, g, n, d] -> [b, g, n, e]"""
        grouped = query.shape[-3] != self.keys.shape[-3]  # fewer heads of keys than of queries
        # `start` shifts the causal mask: query i is at position start + i, and later rows are not filled yet
        return scaled_dot_product_attention(
            query,
            self.keys,
            self.values,
            attn_mask,
            dropout_p,
            is_causal=True,
            scale=scale,
            enable_gqa=grouped,
            softcap=softcap,
            start=start,
        )

    def reset(self) -> None:
        """Remove all tokens."""
        self.count.assign_(self.count * 0)
