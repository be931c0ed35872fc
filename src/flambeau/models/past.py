"""The cache of a decoder: keys and values of each layer, updated in place."""

from typing import NamedTuple

from .. import nn
from ..core import dtype as dt
from ..core.dtype import DTypeLike
from ..core.modes import no_grad
from ..device import DeviceLike
from ..tensor import Tensor


class CacheSize(NamedTuple):
    """The sizes of a decoder's cache: rows, and for each layer heads, positions and features of a head."""

    batch: int
    layers: int
    heads: int
    length: int
    features: int


class Past(nn.Module):
    """A KVCache for each layer. Rows of a batch may begin with padding, which no token attends to and which
    has no positions.

    size: of the caches. is_padded: whether rows may begin with padding. memory: the number of an encoder's
    tokens, 0 without one; their keys and values are kept as well.
    """

    padding: Tensor
    seen: Tensor

    def __init__(
        self,
        size: CacheSize,
        is_padded: bool = False,
        memory: int = 0,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        batch, layers, heads, length, features = size
        self.size, self.is_padded, self.memory = size, is_padded, memory
        # Fixed sizes: a recorded step writes to the same buffers at a place that it counts on the device.
        self.layers = nn.ModuleList(
            nn.KVCache(batch, heads, length, features, device=device, dtype=dtype) for _ in range(layers)
        )
        for layer in self.layers:  # one counter: a kernel of a step counts the tokens of all layers
            layer.count = self.layers[0].count
        self.register_buffer("padding", Tensor.zeros(batch, dtype=dt.int32, device=device))
        shape = (batch, heads, memory, features)
        for i in range(layers if memory else 0):
            for name in ("keys", "values"):
                self.register_buffer(f"memory_{name}{i}", Tensor.zeros(*shape, dtype=dtype, device=device))
        if memory:
            self.register_buffer("seen", Tensor.zeros(batch, memory, dtype=dt.bool_, device=device))

    def begin(self, padding: Tensor | None = None) -> None:
        """Empty the cache. padding: the padding tokens at the start of each new row. [batch]"""
        with no_grad():
            self.layers[0].reset()  # type: ignore[attr-defined]
            self.padding.assign_(self.padding * 0 if padding is None else padding)

    def rewind(self, count: int) -> None:
        """Keep only the first `count` tokens, padding included; the next ones are written behind them."""
        with no_grad():
            self.layers[0].count.assign_(self.count() * 0 + count)  # type: ignore[attr-defined]

    def remember(self, index: int, keys: Tensor, values: Tensor) -> None:
        """Store the keys and values of an encoder's tokens for layer `index`, both
        [batch, heads, memory, features]."""
        with no_grad():
            self.memory_of(index)[0].assign_(keys)
            self.memory_of(index)[1].assign_(values)

    def memory_of(self, index: int) -> tuple[Tensor, Tensor]:
        """Return the keys and values that `remember` kept for a layer. -> [batch, heads, memory, features]
        twice"""
        return getattr(self, f"memory_keys{index}"), getattr(self, f"memory_values{index}")

    def count(self) -> Tensor:
        """Return the number of tokens in the cache, padding included. -> [1]"""
        # + 0: a new tensor, since the count changes during the call
        return self.layers[0].count + 0

    def places(self, n: int) -> Tensor:
        """Return the positions of the next n tokens; those of padding are 0. -> [1 or batch, n]"""
        # a row's first token has position 0, after its padding
        positions = Tensor.arange(n, dtype=dt.int32, device=self.padding.device) + self.count()
        return (
            (positions - self.padding.unsqueeze(1)).clamp(min=0) if self.is_padded else positions.unsqueeze(0)
        )

    def mask(self, n: int, window: int | None = None) -> Tensor | None:
        """Return the keys that the next n tokens may attend to, apart from causality: no padding, and with a
        window only the last ones. None for all. -> [1 or batch, 1, 1 or n, length]"""
        keys = Tensor.arange(self.size.length, dtype=dt.int32, device=self.padding.device)
        is_token = (keys >= self.padding.reshape(-1, 1, 1, 1)) if self.is_padded else None
        if window is None or window >= self.size.length:
            return is_token
        rows = Tensor.arange(n, dtype=dt.int32, device=keys.device) + self.count()
        near = (keys > rows.unsqueeze(1) - window).unsqueeze(0).unsqueeze(0)
        return near if is_token is None else is_token & near

    def attend(
        self,
        index: int,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        scale: float | None = None,
    ) -> Tensor:
        """Append the keys and values of layer `index`, and attend to all tokens so far. Layers come in order.
        [batch, g, n, features], [batch, heads, n, features] twice -> [batch, g, n, features]"""
        start = self.append(index, key, value)[2]
        return self.layers[index].attend(query, start, mask, scale=scale)

    def append(self, index: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Append the keys and values of layer `index`, both [batch, heads, n, features]. Layers come in
        order. -> all keys, all values, and the position of the first new one"""
        layer, start = self.layers[index], self.count()
        layer.write(key, value, start)
        if index == len(self.layers) - 1:  # the layers share the counter
            layer.count.assign_(start + key.shape[-2])
            if self.is_padded:  # so that a recorded step takes a new value: one that it only reads is fixed
                self.padding.assign_(self.padding + 0)
        return layer.keys, layer.values, start
