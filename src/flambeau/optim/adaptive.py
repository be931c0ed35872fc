"""Adagrad, Adadelta, RMSprop and Adafactor scale each element's step by the size of its past gradients."""

from types import SimpleNamespace
from typing import Any

from ..core.dtype import finfo, float32
from ..tensor import Tensor
from .optimizer import Optimizer, Params, State


class Adagrad(Optimizer):
    """p - lr * g / (sqrt(sum of all g^2) + eps), lr falling as `1 / (1 + t * lr_decay)` (Duchi, 2011).

    `initial_accumulator_value` is the initial value of the sum.

    params: the tensors to update, such as model.parameters()
    weight_decay: adds weight_decay * p to the gradient
    foreach, fused: accepted as in PyTorch, without effect
    maximize: ascend the gradient instead of descending
    differentiable: True raises ValueError: a step takes no gradients
    offload: keep the state in host memory; jit does not record such a step
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        offload: bool = False,
    ):
        options: dict[str, Any] = {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay}
        options |= {"initial_accumulator_value": initial_accumulator_value, "eps": eps, "foreach": foreach}
        options |= {"maximize": maximize, "differentiable": differentiable, "fused": fused}
        options |= {"offload": offload}
        super().__init__(params, options)

    names = ("sum",)

    def begin(self, p: Tensor, o: SimpleNamespace) -> dict[str, Any]:
        """The sum of squares."""
        first = o.initial_accumulator_value
        return {"sum": first.value if first else 0.0}

    def update(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace) -> Tensor:
        """p's new value. [...], [...] -> [...]"""
        if o.weight_decay:
            g = g + p * o.weight_decay
        # t counts from 0, so that the first step has the full rate
        rate = o.lr / ((s["step"] - 1) * o.lr_decay + 1) if o.lr_decay else o.lr
        total = s["sum"].assign_(s["sum"] + g * g)
        return p - g / (total.sqrt() + o.eps) * rate


class Adadelta(Optimizer):
    """p - lr * g * rms(steps so far) / rms(g so far) (Zeiler, 2012); `rho` is the decay rate of the means.

    params: the tensors to update, such as model.parameters()
    eps: added to divisors to keep them from 0
    weight_decay: adds weight_decay * p to the gradient
    foreach, capturable: accepted as in PyTorch, without effect
    maximize: ascend the gradient instead of descending
    differentiable: True raises ValueError: a step takes no gradients
    offload: keep the state in host memory; jit does not record such a step
    """

    names = ("square_avg", "acc_delta")

    def __init__(
        self,
        params: Params,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
        offload: bool = False,
    ):
        options: dict[str, Any] = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay}
        options |= {"foreach": foreach, "capturable": capturable, "maximize": maximize}
        options |= {"differentiable": differentiable, "offload": offload}
        super().__init__(params, options)

    def update(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace) -> Tensor:
        """p's new value. [...], [...] -> [...]"""
        if o.weight_decay:
            g = g + p * o.weight_decay
        squares, moves = s["square_avg"], s["acc_delta"]
        squares.assign_(squares * o.rho + g * g * (1 - o.rho))  # E[g^2], by rho
        # eps is inside both roots, as in the paper: the first step, when no move is known, is about sqrt(eps
        # / (1 - rho)) long
        direction = (moves + o.eps).sqrt() / (squares + o.eps).sqrt() * g
        moves.assign_(moves * o.rho + direction * direction * (1 - o.rho))
        return p - direction * o.lr


class RMSprop(Optimizer):
    """p - lr * g / (rms(g) + eps), with a running mean that decays by `alpha` at each step (Hinton, 2012).

    With `momentum`, steps accumulate. `centered` divides by the standard deviation of g instead of its rms.

    params: the tensors to update, such as model.parameters()
    weight_decay: adds weight_decay * p to the gradient
    centered: divide by the gradient's deviation instead of its root mean square
    capturable, foreach: accepted as in PyTorch, without effect
    maximize: ascend the gradient instead of descending
    differentiable: True raises ValueError: a step takes no gradients
    offload: keep the state in host memory; jit does not record such a step
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        *,
        offload: bool = False,
    ):
        options: dict[str, Any] = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay}
        options |= {"momentum": momentum, "centered": centered, "capturable": capturable}
        options |= {"foreach": foreach, "maximize": maximize, "differentiable": differentiable}
        options |= {"offload": offload}
        super().__init__(params, options)

    names, optional = ("square_avg",), ("momentum_buffer", "grad_avg")

    def begin(self, p: Tensor, o: SimpleNamespace) -> dict[str, Any]:
        """Return zeros for the mean square and for the state that the options need."""
        is_needed = {"square_avg": True, "momentum_buffer": o.momentum, "grad_avg": o.centered}
        return {name: 0.0 for name, is_wanted in is_needed.items() if is_wanted}

    def update(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace) -> Tensor:
        """p's new value. [...], [...] -> [...]"""
        if o.weight_decay:
            g = g + p * o.weight_decay
        square = s["square_avg"]
        square.assign_(square * o.alpha + g * g * (1 - o.alpha))
        if o.centered:
            mean = s["grad_avg"]
            mean.assign_(mean + (g - mean) * (1 - o.alpha))
            square = square - mean * mean  # the variance E[g^2] - E[g]^2
        direction = g / (square.sqrt() + o.eps)
        # as in PyTorch the rate is not in the buffer, so that a changed rate applies at once
        if o.momentum:
            direction = s["momentum_buffer"].assign_(s["momentum_buffer"] * o.momentum + direction)
        return p - direction * o.lr


class Adafactor(Optimizer):
    """RMSprop that keeps the mean squares of a matrix only by row and by column (Shazeer, 2018).

    The step's root mean square is at most `d` times min(lr, 1 / sqrt(t)) times that of the parameter.
    `beta2_decay` is the exponent of t in the decay of old squares; `eps` keeps divisions (None: float32's)
    and steps from 0.

    params: the tensors to update, such as model.parameters()
    weight_decay: each step also subtracts lr * weight_decay * p from p
    foreach: accepted as in PyTorch, without effect
    maximize: ascend the gradient instead of descending
    offload: keep the state in host memory; jit does not record such a step
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        offload: bool = False,
    ):
        options: dict[str, Any] = {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d}
        options |= {"weight_decay": weight_decay, "foreach": foreach, "maximize": maximize}
        options |= {"offload": offload}
        super().__init__(params, options)

    optional = ("row_var", "col_var", "variance")

    def begin(self, p: Tensor, o: SimpleNamespace) -> dict[str, Any]:
        """Return zeros for the mean squares: by row and by column of a matrix, by element of a vector."""
        if p.ndim < 2:
            return {"variance": 0.0}  # too few elements to save memory: kept by element
        *batch, n, m = p.shape
        # [..., n, 1] and [..., 1, m]: n + m numbers in place of n * m
        sums = {"row_var": (*batch, n, 1), "col_var": (*batch, 1, m)}
        return {name: Tensor.zeros(*shape, device=p.device) for name, shape in sums.items()}

    def update(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace) -> Tensor:
        """p's new value. [...], [...] -> [...]"""
        # 1 - beta2 at step t: 1 at the first, which needs no bias correction
        share = s["step"] ** o.beta2_decay
        least = finfo(float32).eps if o.eps[0] is None else o.eps[0]
        # eps[1] is the least size of a parameter, so that one of zeros can move
        size = _rms(p).maximum(o.eps[1]) * s["step"].rsqrt().minimum(o.lr)
        if o.weight_decay:
            p = p * (1 - o.lr * o.weight_decay)
        # The step is clipped to a root mean square of d.
        direction = self._squares(g * g, s, share, least).maximum(least * least).rsqrt() * g
        return p - direction * (size / (_rms(direction) / o.d).clamp(min=1.0))

    def _squares(self, square: Tensor, s: State, share: Tensor, least: Any) -> Tensor:
        """Update and return the mean squares; a matrix has the product of its row and column means."""
        if "variance" in s:
            return _blend(s["variance"], square, share)
        # The rank-1 matrix with the same row and column means (Shazeer and Stern, 2018, section 3).
        rows = _blend(s["row_var"], square.mean(-1, keepdim=True), share)
        columns = _blend(s["col_var"], square.mean(-2, keepdim=True), share)
        return rows / rows.mean(-2, keepdim=True).maximum(least) * columns


def _blend(mean: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return mean.assign_(mean + (value - mean) * share)


def _rms(x: Tensor) -> Tensor:
    return (x * x).mean().sqrt()
