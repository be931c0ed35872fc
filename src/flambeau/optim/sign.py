"""Rprop, Lion and Adan: steps by signs of gradients, or by how gradients change."""

from types import SimpleNamespace
from typing import Any

from ..tensor import Tensor
from .adam import correction
from .optimizer import Optimizer, Params, State


class Rprop(Optimizer):
    """Steps by the gradient's sign, of a size for each element, for whole batches (Riedmiller, 1993).

    The first size is `lr`; it is multiplied by `etas[1]` where the gradient keeps its sign, by `etas[0]`
    where the sign changes, and stays inside `step_sizes`.

    params: the tensors to update, such as model.parameters()
    capturable, foreach: accepted as in PyTorch, without effect
    maximize: ascend the gradient instead of descending
    differentiable: True raises ValueError: a step takes no gradients
    offload: keep the state in host memory; jit does not record such a step
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        offload: bool = False,
    ):
        options: dict[str, Any] = {"lr": lr, "etas": etas, "step_sizes": step_sizes}
        options |= {"capturable": capturable, "foreach": foreach, "maximize": maximize}
        options |= {"differentiable": differentiable, "offload": offload}
        super().__init__(params, options)

    names = ("prev", "step_size")

    def begin(self, p: Tensor, o: SimpleNamespace) -> dict[str, Any]:
        """The previous gradient, and the step sizes."""
        return {"prev": 0.0, "step_size": o.lr.value}  # or the rate at the first update

    def update(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace) -> Tensor:
        """p's new value. [...], [...] -> [...]"""
        # As in PyTorch, an element whose gradient changes sign is not moved in this step, and counts as new
        # in the next.
        agrees = g * s["prev"]
        factor = (agrees > 0).where(o.etas[1], (agrees < 0).where(o.etas[0], 1.0))
        low, high = o.step_sizes
        before = s["step"].eq(1).where(o.lr, s["step_size"])
        size = s["step_size"].assign_((before * factor).maximum(low).minimum(high))
        g = s["prev"].assign_((agrees < 0).where(0.0, g))
        return p - g.sign() * size


class Lion(Optimizer):
    """p - lr * sign(beta1 * m + (1 - beta1) * g), m the running mean by beta2 (Chen et al., 2023).

    Use 3 to 10 times smaller rates than for AdamW, and as much larger decays.

    params: the tensors to update, such as model.parameters()
    betas: beta1 weights m in the step's direction, beta2 is the decay rate of m
    weight_decay: each step also subtracts lr * weight_decay * p from p
    maximize: ascend the gradient instead of descending
    offload: keep the state in host memory; jit does not record such a step
    """

    names, counts = ("exp_avg",), {}

    def __init__(
        self,
        params: Params,
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        offload: bool = False,
    ):
        options: dict[str, Any] = {"lr": lr, "betas": betas, "weight_decay": weight_decay}
        options |= {"maximize": maximize, "offload": offload}
        super().__init__(params, options)

    def update(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace) -> Tensor:
        """p's new value. [...], [...] -> [...]"""
        (beta1, beta2), m = o.betas, s["exp_avg"]
        # the sign makes every element's step lr long; beta1 only mixes the direction, beta2 is the memory
        direction = (m * beta1 + g * (1 - beta1)).sign()
        m.assign_(m * beta2 + g * (1 - beta2))
        if o.weight_decay:
            p = p * (1 - o.lr * o.weight_decay)
        return p - direction * o.lr


class Adan(Optimizer):
    """Adam with Nesterov's momentum by differences of gradients (Xie et al., 2022).

    `betas` are for the means of g, of its differences d, and of (g + beta2 d)^2.

    params: the tensors to update, such as model.parameters()
    lr: the learning rate
    eps: added to divisors to keep them from 0
    weight_decay: each step also divides p by 1 + lr * weight_decay
    maximize: ascend the gradient instead of descending
    offload: keep the state in host memory; jit does not record such a step
    """

    names = ("exp_avg", "exp_avg_diff", "exp_avg_sq", "prev")

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float, float] = (0.98, 0.92, 0.99),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        offload: bool = False,
    ):
        options: dict[str, Any] = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        options |= {"maximize": maximize, "offload": offload}
        super().__init__(params, options)

    def update(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace) -> Tensor:
        """p's new value. [...], [...] -> [...]"""
        (beta1, beta2, beta3), step = o.betas, s["step"]
        m, d, v = s["exp_avg"], s["exp_avg_diff"], s["exp_avg_sq"]
        change = step.eq(1).where(0.0, g - s["prev"])  # the first gradient has none before it
        ahead = g + change * beta2
        m.assign_(m * beta1 + g * (1 - beta1))
        d.assign_(d * beta2 + change * (1 - beta2))
        v.assign_(v * beta3 + ahead * ahead * (1 - beta3))
        s["prev"].assign_(g)
        length = v.sqrt() / correction(beta3, step).sqrt() + o.eps
        direction = (m / correction(beta1, step) + d * (beta2 / correction(beta2, step))) / length
        # decay as a division, which is the proximal form of the paper
        return (p - direction * o.lr) / (1 + o.lr * o.weight_decay)
