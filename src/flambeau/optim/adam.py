"""Adam and its variants: steps of about equal size for every parameter, whatever its gradient's scale."""

from math import log
from types import SimpleNamespace
from typing import Any

from ..core.node import describe
from ..errors import ValueError
from ..tensor import HostScalar, Tensor
from .optimizer import Optimizer, Params, State

LEAST = 1e-300  # replaces a beta of 0, which has no logarithm; powers of it are 0 in float32 as well


class ByMoments(Optimizer):
    """Base of Adam's variants: m and v, the running means of g and of g^2, and their bias correction."""

    names = ("exp_avg", "exp_avg_sq")
    decoupled = False  # for classes without the option

    def apply_decay(self, p: Tensor, g: Tensor, o: SimpleNamespace) -> tuple[Tensor, Tensor]:
        """Return parameter and gradient after the weight decay."""
        if not o.weight_decay:
            # decoupled decay shrinks p itself (AdamW); the other kind adds to g, and so to m and v (L2
            # regularisation)
            return p, g
        if getattr(o, "decoupled_weight_decay", self.decoupled):
            return p * (1 - o.lr * o.weight_decay), g
        return p, g + p * o.weight_decay

    def means(self, g: Tensor, s: State, o: SimpleNamespace) -> tuple[Tensor, Tensor]:
        """Update the running means with a gradient, and return them."""
        beta1, beta2 = o.betas
        m, v = s["exp_avg"], s["exp_avg_sq"]
        # m + (g - m) (1 - beta1) equals beta1 m + (1 - beta1) g
        m.assign_(m + (g - m) * (1 - beta1))
        v.assign_(v * beta2 + g * g * (1 - beta2))
        return m, v


class Adam(ByMoments):
    """p - lr * m / (sqrt(v) + eps), m and v the corrected running means of g and g^2 (Kingma and Ba, 2015).

    `amsgrad` uses the largest v so far (Reddi et al., 2018).
    ValueError for invalid values.

    params: the tensors to update, such as model.parameters()
    betas: decay rates of the running means of g and of g^2
    foreach, capturable, fused: accepted as in PyTorch, without effect
    maximize: ascend the gradient instead of descending
    differentiable: True raises ValueError: a step takes no gradients
    weight_decay: adds weight_decay * p to the gradient
    decoupled_weight_decay: subtract lr * weight_decay * p from p instead of adding to the gradient
    cautious: take only the elements of a step that agree with the gradient, enlarged (Liang et al., 2024)
    offload: keep the state in host memory; jit does not record such a step
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
        cautious: bool = False,
        offload: bool = False,
    ):
        # The same rule as PyTorch's: tensors as betas come in pairs.
        if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
            raise ValueError(f"{self._name}(betas={betas}): one is a number, one a tensor: pass two numbers")
        options: dict[str, Any] = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        options |= {"amsgrad": amsgrad, "foreach": foreach, "maximize": maximize, "capturable": capturable}
        options |= {"differentiable": differentiable, "fused": fused}
        options |= {"decoupled_weight_decay": decoupled_weight_decay, "cautious": cautious}
        options |= {"offload": offload}
        super().__init__(params, options)

    optional = ("max_exp_avg_sq",)

    def begin(self, p: Tensor, o: SimpleNamespace) -> dict[str, Any]:
        """Return zeros for the means and, with amsgrad, for the largest v."""
        return {**super().begin(p, o), **({"max_exp_avg_sq": 0.0} if o.amsgrad else {})}

    def update(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace) -> Tensor:
        """p's new value. [...], [...] -> [...]"""
        p, g = self.apply_decay(p, g, o)
        m, v = self.means(g, s, o)
        # the maximum of the uncorrected v, as in PyTorch: its correction follows below
        if o.amsgrad:
            v = s["max_exp_avg_sq"].assign_(s["max_exp_avg_sq"].maximum(v))
        # both means start at 0 and are too small by 1 - beta ** t, which the corrections divide by
        direction = m / correction(o.betas[0], s["step"])
        direction = direction / (v.sqrt() / correction(o.betas[1], s["step"]).sqrt() + o.eps)
        return p - (along(direction, g) if o.cautious else direction) * o.lr


class AdamW(Adam):
    """Adam that decays the weights directly, and not through the gradient (Loshchilov and Hutter, 2019).

    params: the tensors to update, such as model.parameters()
    lr: the learning rate
    betas: decay rates of the running means of g and of g^2
    eps: added to divisors to keep them from 0
    weight_decay: each step also subtracts lr * weight_decay * p from p
    amsgrad: use the largest v so far (Reddi et al., 2018)
    maximize: ascend the gradient instead of descending
    foreach, capturable, fused: accepted as in PyTorch, without effect
    differentiable: True raises ValueError: a step takes no gradients
    cautious: take only the elements of a step that agree with the gradient, enlarged (Liang et al., 2024)
    offload: keep the state in host memory; jit does not record such a step
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        cautious: bool = False,
        offload: bool = False,
    ):
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            maximize=maximize,
            foreach=foreach,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            cautious=cautious,
            offload=offload,
            decoupled_weight_decay=True,
        )


class Adamax(ByMoments):
    """p - lr * m / u, u the decaying largest |g| (Kingma and Ba, 2015).

    params: the tensors to update, such as model.parameters()
    betas: decay rates of m and of u
    eps: added to divisors to keep them from 0
    weight_decay: adds weight_decay * p to the gradient
    foreach, capturable: accepted as in PyTorch, without effect
    maximize: ascend the gradient instead of descending
    differentiable: True raises ValueError: a step takes no gradients
    offload: keep the state in host memory; jit does not record such a step
    """

    names = ("exp_avg", "exp_inf")

    def __init__(
        self,
        params: Params,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
        offload: bool = False,
    ):
        options: dict[str, Any] = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        options |= {"foreach": foreach, "maximize": maximize, "differentiable": differentiable}
        options |= {"capturable": capturable, "offload": offload}
        super().__init__(params, options)

    def update(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace) -> Tensor:
        """p's new value. [...], [...] -> [...]"""
        p, g = self.apply_decay(p, g, o)
        beta1, beta2 = o.betas
        m, u = s["exp_avg"], s["exp_inf"]
        m.assign_(m + (g - m) * (1 - beta1))
        # u = max(beta2 u, |g| + eps), as in PyTorch: with eps inside, the divisor is never 0. A maximum
        # starts at 0 without a bias, so that only m is corrected.
        u.assign_((u * beta2).maximum(g.abs() + o.eps))
        return p - m / u * (o.lr / correction(beta1, s["step"]))


class NAdam(ByMoments):
    """Adam with Nesterov's momentum (Dozat, 2016), which grows as `1 - 0.96 ** (t * momentum_decay) / 2`.

    params: the tensors to update, such as model.parameters()
    lr: the learning rate
    betas: decay rates of the running means of g and of g^2
    eps: added to divisors to keep them from 0
    weight_decay: adds weight_decay * p to the gradient
    decoupled_weight_decay: subtract lr * weight_decay * p from p instead of adding to the gradient
    foreach, capturable: accepted as in PyTorch, without effect
    maximize: ascend the gradient instead of descending
    differentiable: True raises ValueError: a step takes no gradients
    offload: keep the state in host memory; jit does not record such a step
    """

    counts = {"step": 0.0, "mu_product": 1.0}  # mu_product: the product of the momenta of all steps

    def __init__(
        self,
        params: Params,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        offload: bool = False,
    ):
        options: dict[str, Any] = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        options |= {"momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay}
        options |= {"foreach": foreach, "maximize": maximize, "capturable": capturable}
        options |= {"differentiable": differentiable, "offload": offload}
        super().__init__(params, options)

    def count(self, s: State, o: SimpleNamespace) -> None:
        """Advance the step, and the product of all momenta."""
        super().count(s, o)
        s["mu_product"].assign_(s["mu_product"] * self._momentum(s["step"], o))

    def terms(self, s: State, o: SimpleNamespace) -> State:
        """Return the factors of g and m, and the divisor of the root of v."""
        step, product = s["step"], s["mu_product"]
        mu, following = self._momentum(step, o), self._momentum(step + 1, o)
        # Dozat's update: mu_(t+1) m / (1 - product of mu to t + 1) + (1 - mu_t) g / (1 - product of mu to t).
        return {
            "of_g": (1 - mu) / (1 - product),
            "of_m": following / (1 - product * following),
            "of_root": correction(o.betas[1], step).sqrt(),
        }

    def update(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace) -> Tensor:
        """p's new value. [...], [...] -> [...]"""
        p, g = self.apply_decay(p, g, o)
        m, v = self.means(g, s, o)
        ahead = g * s["of_g"] + m * s["of_m"]
        return p - ahead / (v.sqrt() / s["of_root"] + o.eps) * o.lr

    def _momentum(self, step: Tensor, o: SimpleNamespace) -> Tensor:
        # momentum_decay's exponent makes the momentum grow from beta1 / 2 to beta1
        return (1 - (step * (o.momentum_decay * log(0.96))).exp() * 0.5) * o.betas[0]


class RAdam(ByMoments):
    """Adam whose first steps do not use v, until its variance is small enough (Liu et al., 2020).

    params: the tensors to update, such as model.parameters()
    lr: the learning rate
    betas: decay rates of the running means of g and of g^2
    eps: added to divisors to keep them from 0
    weight_decay: adds weight_decay * p to the gradient
    decoupled_weight_decay: subtract lr * weight_decay * p from p instead of adding to the gradient
    foreach, capturable: accepted as in PyTorch, without effect
    maximize: ascend the gradient instead of descending
    differentiable: True raises ValueError: a step takes no gradients
    offload: keep the state in host memory; jit does not record such a step
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        offload: bool = False,
    ):
        options: dict[str, Any] = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        options |= {"decoupled_weight_decay": decoupled_weight_decay, "foreach": foreach}
        options |= {"maximize": maximize, "capturable": capturable, "differentiable": differentiable}
        options |= {"offload": offload}
        super().__init__(params, options)

    def terms(self, s: State, o: SimpleNamespace) -> State:
        """Return the rate: positive for steps along m / sqrt(v), negative for steps along m alone."""
        # One number encodes both cases, since each update kernel binds every number that it reads.
        step, beta2 = s["step"], o.betas[1]
        # r = sqrt((rho - 4) (rho - 2) rho_inf / ((rho_inf - 4) (rho_inf - 2) rho)) if rho > 5; `_rectifier`
        # is the factor that depends on beta alone.
        length = _averaging_steps(beta2, step)
        rectified = (length - 4) * (length - 2) / length * beta2.map(_rectifier)
        adaptive = (rectified.clamp(min=0) * correction(beta2, step)).sqrt()
        # without rectification the step is lr * m / (1 - beta1^t); its sign is the flag
        return {"rate": (length > 5).where(adaptive, -1.0) * (o.lr / correction(o.betas[0], step))}

    def update(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace) -> Tensor:
        """p's new value. [...], [...] -> [...]"""
        p, g = self.apply_decay(p, g, o)
        m, v = self.means(g, s, o)
        rate = s["rate"]
        # no v in the first steps: -rate is the size of a plain momentum step
        return p - m * (rate > 0).where(rate / (v.sqrt() + o.eps), -rate)


class SparseAdam(ByMoments):
    """Adam for embeddings: rows whose gradient is 0, and their means, do not change.

    Gradients are dense. PyTorch's are sparse: a row that is listed with a gradient of 0 is updated there.

    params: the tensors to update, such as model.parameters()
    lr: the learning rate
    betas: decay rates of the running means of g and of g^2
    eps: added to divisors to keep them from 0
    maximize: ascend the gradient instead of descending
    offload: keep the state in host memory; jit does not record such a step
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
        *,
        offload: bool = False,
    ):
        options: dict[str, Any] = {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize}
        options |= {"offload": offload}
        super().__init__(params, options)

    def _check_params(self, params: list[Any], first: int) -> None:
        super()._check_params(params, first)
        for i, p in enumerate(params, first):
            if p.dtype.is_complex:
                rule = "is complex, which this optimiser does not support: use Adam"
                raise ValueError(f"SparseAdam([..., {describe(p)}]): parameter {i} {rule}")

    def update(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace) -> Tensor:
        """p's new value. [rows, ...], [rows, ...] -> [rows, ...]"""
        # a row is used if any of its elements has a gradient: [rows, ...] -> [rows, 1, ...]
        used = g.ne(0)
        if g.ndim > 1:
            used = used.reshape(g.shape[0], -1).any(1).reshape(-1, *[1] * (g.ndim - 1))
        old = s["exp_avg"], s["exp_avg_sq"]
        # copies: `means` assigns the state in place, before the unused rows are restored
        before = [t.clone() for t in old]
        m, v = self.means(g, s, o)
        # PyTorch's SparseAdam adds eps to the uncorrected root, unlike Adam
        scale = correction(o.betas[1], s["step"]).sqrt() / correction(o.betas[0], s["step"])
        new = p - m / (v.sqrt() + o.eps) * (scale * o.lr)
        for t, was in zip(old, before, strict=True):
            t.assign_(used.where(t, was))
        return used.where(new, p)


def correction(beta: HostScalar, step: Tensor) -> Tensor:
    """1 - beta ** step, exact where beta is near 1. [] -> []"""
    # expm1 of t log(beta): 1 - beta ** t would cancel for a beta near 1
    return -(step * beta.map(_log)).expm1()


def _averaging_steps(beta: HostScalar, step: Tensor) -> Tensor:
    """The number of steps that v averages at step t: 2 / (1 - beta) - 1 - 2 t beta^t / (1 - beta^t)."""
    # Subtracting the two large terms would cancel. With x = -t log(beta) their difference is t - 2 / x * t *
    # h(x), apart from a constant. h(x) = x / 2 * coth(x / 2) - 1 has a series for small x, where it would
    # cancel too.
    rate = beta.map(_log) * -1
    x = step * rate
    near = x * x * (1 / 12 - x * x * (1 / 720 - x * x * (1 / 30240 - x * x / 1209600)))
    h = (x < 1).where(near, x / 2 / (x / 2).tanh() - 1)
    return step + beta.map(_rest) - h * (2 / rate)


def _rest(beta: float) -> float:
    return 2 / (1 - beta) - 1 + 2 / _log(beta)


def _rectifier(beta: float) -> float:
    # rho_inf, the number of steps that v averages in the end
    longest = 2 / (1 - beta) - 1
    return longest / ((longest - 4) * (longest - 2)) if longest > 5 else 0.0  # else no step is rectified


def along(direction: Tensor, g: Tensor) -> Tensor:
    """Keep the elements of a step that have the gradient's sign, scaled by the inverse of their fraction."""
    # (Liang et al., 2024) 1e-3 bounds the enlargement where almost no element agrees
    agrees = (direction * g > 0).float()
    return direction * (agrees / agrees.mean().clamp(min=1e-3))


def _log(beta: float) -> float:
    return log(max(beta, LEAST))
