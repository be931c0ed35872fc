"""SGD and its averaged form: steps along the gradient."""

from types import SimpleNamespace
from typing import Any

from ..tensor import Tensor
from .groups import ParamGroup
from .optimizer import Optimizer, Params, State


class SGD(Optimizer):
    """p - lr * g; with momentum p - lr * m, m = momentum * m + (1 - dampening) * g (Sutskever et al., 2013).

    ValueError for invalid values.

    params: the tensors to update, such as model.parameters()
    weight_decay: adds weight_decay * p to the gradient
    nesterov: look ahead along the momentum (Sutskever et al., 2013)
    maximize: ascend the gradient instead of descending
    foreach, fused: accepted as in PyTorch, without effect
    differentiable: True raises ValueError: a step takes no gradients
    offload: keep the state in host memory; jit does not record such a step
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
        offload: bool = False,
    ):
        options: dict[str, Any] = {"lr": lr, "momentum": momentum, "dampening": dampening}
        options |= {"weight_decay": weight_decay, "nesterov": nesterov, "maximize": maximize}
        options |= {"foreach": foreach, "differentiable": differentiable, "fused": fused}
        options |= {"offload": offload}
        super().__init__(params, options)

    def check(self, group: ParamGroup) -> None:
        """ValueError for nesterov without momentum."""
        momentum, dampening = group["momentum"], group["dampening"]
        if group["nesterov"] and (not momentum or dampening):
            call = f"momentum={momentum}, dampening={dampening}, nesterov=True"
            raise ValueError(f"SGD({call}): nesterov needs momentum and no dampening: set momentum=0.9")

    optional = ("momentum_buffer", "step")

    def begin(self, p: Tensor, o: SimpleNamespace) -> dict[str, Any]:
        """Return zeros for the momentum, if it is used."""
        return {"momentum_buffer": 0.0} if o.momentum else {}

    def is_counted(self, o: SimpleNamespace) -> bool:
        """Dampening must know whether this is the first step."""
        return bool(o.dampening)

    def _load(self, state_dict: dict[str, Any]) -> None:
        saved = state_dict.get("param_groups", ())
        damped = [s for group, s in zip(self.param_groups, saved, strict=False) if group["dampening"]]
        numbers = {n for s in damped for n in s["params"]}
        # PyTorch's SGD saves no step count: a saved momentum means that the first step was made
        state = {
            n: {"step": 1.0, **s} if s and n in numbers else s for n, s in state_dict.get("state", {}).items()
        }
        super()._load(state_dict | {"state": state} if state else state_dict)

    def update(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace) -> Tensor:
        """p's new value. [...], [...] -> [...]"""
        if o.weight_decay:
            g = g + p * o.weight_decay
        if o.momentum:
            m = s["momentum_buffer"]
            # the first gradient is not damped, as in PyTorch
            damped = g * s["step"].eq(1).where(1.0, 1 - o.dampening) if o.dampening else g
            m.assign_(m * o.momentum + damped)
            # Nesterov: the gradient plus the momentum that the next step would add
            g = g + m * o.momentum if o.nesterov else m
        return p - g * o.lr


class ASGD(Optimizer):
    """SGD whose rate falls as `(1 + lambd * lr * t) ** -alpha` (Polyak and Juditsky, 1992).

    `state[p]["ax"]` is the average of a parameter from step `t0` on.

    params: the tensors to update, such as model.parameters()
    weight_decay: adds weight_decay * p to the gradient
    foreach, capturable: accepted as in PyTorch, without effect
    maximize: ascend the gradient instead of descending
    differentiable: True raises ValueError: a step takes no gradients
    offload: keep the state in host memory; jit does not record such a step
    """

    counts = {"step": 0.0, "eta": "lr", "mu": 1.0}
    names = ("ax",)

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
        *,
        offload: bool = False,
    ):
        options: dict[str, Any] = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0}
        options |= {"weight_decay": weight_decay, "foreach": foreach, "maximize": maximize}
        options |= {"differentiable": differentiable, "capturable": capturable, "offload": offload}
        super().__init__(params, options)

    def count(self, s: State, o: SimpleNamespace) -> None:
        """Advance the step; the first one uses the current rate."""
        super().count(s, o)
        # eta starts as lr of the constructor; a schedule may have changed lr since
        s["eta"].assign_(s["step"].eq(1).where(o.lr, s["eta"]))

    def after(self, s: State, o: SimpleNamespace) -> None:
        """Compute the rate, and the weight in the average, of the next step."""
        step = s["step"]
        # the rate decays from the current lr, so that a schedule scales the whole curve
        s["eta"].assign_(o.lr / (1 + step * (o.lambd * o.lr)) ** o.alpha)
        s["mu"].assign_(1 / (step - o.t0).clamp(min=1))  # mu is 1 up to step t0 + 1: the average begins there

    def update(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace) -> Tensor:
        """p's new value. [...], [...] -> [...]"""
        if o.weight_decay:
            g = g + p * o.weight_decay
        # lambd decays the weights in proportion to the rate
        new = p * (1 - s["eta"] * o.lambd) - g * s["eta"]
        # mu 1 restarts the average at the new value
        s["ax"].assign_(s["mu"].eq(1).where(new, s["ax"] + (new - s["ax"]) * s["mu"]))
        return new
