"""Adam and AdamW: steps of about equal size for every parameter, whatever its gradient's scale."""

from collections.abc import Iterable
from math import log

from ..core.docstrings import explained
from ..tensor import Tensor
from .optimizer import Optimizer


@explained
class Adam(Optimizer):
    """p - lr * m / (sqrt(v) + eps), m and v the corrected running means of g and g^2 (Kingma and Ba, 2015).

    `weight_decay` adds that share of p to g; `amsgrad` uses the largest v so far (Reddi et al., 2018).
    ValueError for values that can't be meant.
    """

    decoupled = False
    default_decay = 0.0

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float | None = None,
        amsgrad: bool = False,
        *,
        offload: bool = False,
    ):
        self.betas = (self._below_1("beta1", betas[0]), self._below_1("beta2", betas[1]))
        self.eps, self.amsgrad = self._at_least_0("eps", eps), amsgrad
        self.names = ("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if amsgrad else ()))
        super().__init__(params, lr, self.default_decay if weight_decay is None else weight_decay, offload)

    def update(self, p: Tensor, g: Tensor, state: dict[str, Tensor], step: Tensor) -> Tensor:
        """p's new value. [...], [...] -> [...]"""
        decay = p * self.weight_decay if self.weight_decay else None
        if decay is not None and not self.decoupled:
            g = g + decay
        beta1, beta2 = self.betas
        m, v = state["exp_avg"], state["exp_avg_sq"]
        m.assign_(m + (g - m) * (1 - beta1))
        v.assign_(v * beta2 + g * g * (1 - beta2))
        if self.amsgrad:
            v = state["max_exp_avg_sq"].assign_(state["max_exp_avg_sq"].maximum(v))
        scale = _correction(beta2, step).sqrt()
        moved = m / _correction(beta1, step) / (v.sqrt() / scale + self.eps)
        if decay is not None and self.decoupled:
            moved = moved + decay
        return p - moved * self._lr


@explained
class AdamW(Adam):
    """Adam whose weight decay is a part of the step and not of the gradient (Loshchilov and Hutter, 2019)."""

    decoupled = True
    default_decay = 1e-2


def _correction(beta: float, step: Tensor) -> Tensor:
    """1 - beta ** step, exact where beta is near 1. [] -> []"""
    return -(step * log(beta)).expm1() if beta else step * 0 + 1
