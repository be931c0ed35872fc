"""Gradient and optimiser operators (ai.onnx.preview.training)."""

from typing import Any

from ...core.modes import enable_grad
from ...functions import zeros_like
from ...tensor import Tensor
from .table import operator

DOMAIN = "ai.onnx.preview.training"


@operator("Gradient", domain=DOMAIN)
def gradient(*values: Tensor, xs: Any, y: str, zs: Any = (), node: Any) -> tuple[Any, ...]:
    """Gradients of the value named y by those named xs, at the values given for xs and zs."""
    values_by_name = dict(zip([*xs, *zs], values))
    # values at xs are new leaves; the nodes between them and y run again with gradients
    with enable_grad():
        leaves = {name: values_by_name[name].detach().requires_grad_() for name in xs}
        result = node.again(y, {**values_by_name, **leaves})
        gradients = result.sum().backward(create_graph=False, retain_graph=True)
    return tuple(
        gradients[leaves[name]] if leaves[name] in gradients else zeros_like(values_by_name[name])
        for name in xs
    )


def _groups(values: tuple[Any, ...], count: int) -> list[tuple[Any, ...]]:
    """Inputs in `count` rows of equal length: (x, gradient, ...) for each tensor."""
    n = len(values) // count
    return list(zip(*[values[k * n : (k + 1) * n] for k in range(count)]))


def _outputs(rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the new values of all tensors, then the new state of all, and so on."""
    return tuple(v for column in zip(*rows) for v in column)


@operator("Adagrad", domain=DOMAIN)
def adagrad(
    rate: Tensor,
    t: Tensor,
    *values: Tensor,
    decay_factor: float = 0.0,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
) -> tuple[Any, ...]:
    # t counts updates from 0 on; g, h: the gradient and the sum of its squares
    step = rate / (1 + t.to(rate.dtype) * decay_factor)

    def one(x: Tensor, g: Tensor, h: Tensor) -> tuple[Any, ...]:
        g = g + norm_coefficient * x
        h = h + g * g
        return x - step * g / (h.sqrt() + epsilon), h

    return _outputs([one(*row) for row in _groups(values, 3)])


@operator("Adam", domain=DOMAIN)
def adam(
    rate: Tensor, t: Tensor, *values: Tensor, alpha: float = 0.9, beta: float = 0.999, **more: float
) -> tuple[Any, ...]:
    """more: epsilon, norm_coefficient (weight decay added to the gradient), norm_coefficient_post."""
    epsilon = more.get("epsilon", 1e-6)
    n = t.to(rate.dtype)
    # Bias correction of Kingma and Ba (2015); at t = 0 it is 0 / 0, and the spec uses the plain rate.
    corrected = rate * (1 - beta**n).sqrt() / (1 - alpha**n)
    step = (t > 0).to(rate.dtype) * corrected.nan_to_num(0.0, 0.0, 0.0) + (t == 0).to(rate.dtype) * rate

    def one(x: Tensor, g: Tensor, v: Tensor, h: Tensor) -> tuple[Any, ...]:
        g = g + more.get("norm_coefficient", 0.0) * x
        v = alpha * v + (1 - alpha) * g
        h = beta * h + (1 - beta) * g * g
        x = x - step * v / (h.sqrt() + epsilon)
        return (1 - more.get("norm_coefficient_post", 0.0)) * x, v, h

    return _outputs([one(*row) for row in _groups(values, 4)])


@operator("Momentum", domain=DOMAIN)
def momentum(
    rate: Tensor, t: Tensor, *values: Tensor, alpha: float, beta: float, mode: str, norm_coefficient: float
) -> tuple[Any, ...]:
    # The first update takes the gradient fully, later ones times beta (dampening).
    scale = (t == 0).to(rate.dtype) + (t != 0).to(rate.dtype) * beta

    def one(x: Tensor, g: Tensor, v: Tensor) -> tuple[Any, ...]:
        g = g + norm_coefficient * x
        v = alpha * v + scale * g
        return x - rate * (g + alpha * v if mode == "nesterov" else v), v

    return _outputs([one(*row) for row in _groups(values, 3)])
