"""Browser tabs that join a training by a link: each computes gradients of shards on its own GPU."""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..autodiff.backward import Gradients
from ..errors import ValueError
from ..nn.module import Module
from ..runtime.exchange import leaf
from ..tensor import Tensor, tensor
from .pool import ShardPool, ShardTask, Tab
from .program import Floats, GradientProgram, map_bytes
from .server import PAGE, TabServer

__all__ = ["Tab", "TabWorkers"]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
TOLERANCE = 1e-2  # of the norm of each gradient: GPUs round products differently


class TabWorkers:
    """Computes the gradients of batches together with browser tabs, which join by `link`.

    model: on one device, with float32 parameters
    loss: (output, target) -> [], the mean over the items
    example: a batch (inputs..., target), of arrays or tensors [items, ...]
    shards: the parts of each batch; a batch of the example's size is divided among this process and the tabs,
        another one is computed here
    limit: seconds that a tab may take for a shard before others get it and it is dismissed; six times as many
        for its first
    sample: the part of a tab's results that are compared with our own; its first always is
    most: the most tabs at a time
    host, port: where to listen; 0 is a free port
    context: an ssl.SSLContext, which browsers need for other hosts than localhost
    token: the secret in the link; None makes one

    Raises ValueError if an option is invalid, or the example is not a batch; TypeError if parameters are not
        float32; FlambeauError if the model assigns to tensors, or the port is in use.
    """

    def __init__(
        self,
        model: Module,
        loss: Callable[[Any, Any], Tensor],
        example: Sequence[Any],
        *,
        shards: int = 8,
        limit: float = 10.0,
        sample: float = 0.02,
        most: int = 64,
        host: str = "127.0.0.1",
        port: int = 0,
        context: ssl.SSLContext | None = None,
        token: str | None = None,
    ):
        items = _items_of(example)
        if shards < 1 or items % shards:
            rule = f"must divide the example's {items} items: pass another number"
            raise ValueError(f"TabWorkers(shards={shards}): {rule}")
        if not (limit > 0 and 0 <= sample <= 1 and most >= 1):
            rule = "limit must be positive, sample from 0 to 1, most at least 1"
            raise ValueError(f"TabWorkers(limit={limit}, sample={sample}, most={most}): {rule}: pass others")
        if token is not None and len(token) < 16:
            raise ValueError(
                f"TabWorkers(token=...): it has {len(token)} characters: use 16 or more, or None"
            )
        self.items, self.shards, self.device = items, shards, next(iter(model.parameters())).device
        self.program = GradientProgram(model, loss, self._tensors(_cut(example, 0, items // shards)))
        self.pool = ShardPool(limit, sample, partial(self.program.differs, tolerance=TOLERANCE))
        self.token = token or secrets.token_urlsafe(16)
        self._seed = secrets.randbits(32)
        self._server = TabServer(self.pool, self.program, self.token, most, (host, port), context)
        self._scheme, self._host = "http" if context is None else "https", host

    @property
    def link(self) -> str:
        """The address that a browser opens to join. It contains the token, so anyone who has it can join."""
        # A page has WebGPU only over https or from localhost.
        host = "localhost" if self._host in LOOPBACK else self._host
        return f"{self._scheme}://{host}:{self._server.port}{PAGE}#{self.token}"

    @property
    def tabs(self) -> list[Tab]:
        """The tabs that take part now."""
        return list(self.pool.tabs)

    def backward(self, *batch: Any) -> Gradients:
        """Compute the loss and the gradients of a batch (inputs..., target), here and in the tabs.

        Returns the gradients as `loss.backward()` does; their `loss` is the mean over all items. Each shard
        counts by its items; shards are added in one fixed order.
        """
        items = _items_of(batch)
        # Tabs have one program, saved for one size of shard.
        count = self.shards if items == self.items else 1
        size, step = items // count, self.pool.step + 1
        parts = [_cut(batch, i * size, (i + 1) * size) for i in range(count)]
        seeds = [(self._seed + step * self.shards + i) & 0xFFFFFFFF for i in range(count)]

        def compute(shard: int) -> Floats:
            return self.program.compute(self._tensors(parts[shard]), seeds[shard])

        if count == 1 and self.shards > 1:
            total = compute(0)
        else:
            tasks = [ShardTask(step, i, seeds[i], partial(map_bytes, part)) for i, part in enumerate(parts)]
            total = _tree_sum(self.pool.run(tasks, lambda: self.program.weights().tobytes(), compute))
        # Vectors are the loss, then all gradients: [1 + parameters]. Shards have equal sizes, so the mean of
        # their means is the mean of all.
        mean = total / np.float32(count)
        values = zip(self.program.params, self.program.parts(mean[1:]), strict=True)
        by_key = {p.node.param: Tensor(leaf(v.tobytes(), p.shape, p.dtype, p.device)) for p, v in values}
        return Gradients(by_key, tensor(float(mean[0]), device=self.device))

    def _tensors(self, part: Sequence[Any]) -> list[Tensor]:
        return [t.to(self.device) if isinstance(t, Tensor) else tensor(t, device=self.device) for t in part]

    def close(self) -> None:
        """Tell the tabs that the training has ended, and stop listening."""
        self._server.close()
        self.pool.stop()

    def __enter__(self) -> TabWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _items_of(batch: Sequence[Any]) -> int:
    """The number of items of a batch; ValueError if its parts differ, or there are fewer than two."""
    sizes = [tuple(getattr(part, "shape", ()))[:1] for part in batch]
    if len(batch) < 2 or not sizes[0] or len(set(sizes)) > 1:
        rule = "a batch is (inputs..., target), arrays or tensors with the items in their first dim"
        raise ValueError(f"TabWorkers: {rule}: got first dims {[*map(list, sizes)]}")
    return sizes[0][0]


def _cut(batch: Sequence[Any], first: int, end: int) -> list[Any]:
    return [part[first:end] for part in batch]


def _tree_sum(vectors: Sequence[Floats]) -> Floats:
    """Add vectors in a fixed tree: one order for every number of workers."""
    if len(vectors) == 1:
        return vectors[0]
    middle = (len(vectors) + 1) // 2
    return np.add(_tree_sum(vectors[:middle]), _tree_sum(vectors[middle:]))
