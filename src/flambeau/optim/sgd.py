"""SGD: stochastic gradient descent with momentum."""

from collections.abc import Iterable

from ..core.docstrings import explained
from ..tensor import Tensor
from .optimizer import Optimizer


@explained
class SGD(Optimizer):
    """p - lr * g; with momentum p - lr * m, m = momentum * m + (1 - dampening) * g (Sutskever et al., 2013).

    `weight_decay` adds that share of p to g. ValueError for values that can't be meant.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        offload: bool = False,
    ):
        self.momentum = self._at_least_0("momentum", momentum)
        self.dampening, self.nesterov = dampening, nesterov
        if nesterov and (not momentum or dampening):
            call = f"momentum={momentum}, dampening={dampening}, nesterov=True"
            raise ValueError(f"SGD({call}): nesterov needs momentum and no dampening: set momentum=0.9")
        self.names = ("momentum_buffer",) if momentum else ()
        super().__init__(params, lr, weight_decay, offload)

    def update(self, p: Tensor, g: Tensor, state: dict[str, Tensor], step: Tensor) -> Tensor:
        """p's new value. [...], [...] -> [...]"""
        if self.weight_decay:
            g = g + p * self.weight_decay
        if self.momentum:
            m = state["momentum_buffer"]
            m.assign_(m * self.momentum + self._damped(g, step))
            g = g + m * self.momentum if self.nesterov else m
        return p - g * self._lr

    def _damped(self, g: Tensor, step: Tensor) -> Tensor:
        """The first gradient is taken whole, as PyTorch does."""
        return g * (step == 1).where(1.0, 1 - self.dampening) if self.dampening else g
