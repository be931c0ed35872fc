"""Compare gradients with finite differences."""

from collections.abc import Callable, Sequence
from typing import Any

from ..core import dtype as dt
from ..core.modes import no_grad
from ..core.node import describe
from ..core.tree import is_sequence
from ..errors import ValueError
from ..tensor import Tensor
from . import functional

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

# A power of two, which float32 adds exactly to numbers near 1. STENCIL: the weights of the fourth-order
# difference at steps -2 to 2, f'(x) = (f(x - 2h) - 8 f(x - h) + 8 f(x + h) - f(x + 2h)) / 12h.
STEP = 2.0**-6
STENCIL = ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))


class GradcheckError(RuntimeError):
    """A gradient differs from the finite difference of the function."""


def _outputs(value: Any) -> tuple[Any, ...]:
    # integers among the outputs have no derivative
    return tuple(t for t in _as_list(value) if t.dtype.is_float)


def _as_list(value: Any) -> list[Any]:
    return list(value) if is_sequence(value) else [value]


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Tensor],
    *,
    eps: float = STEP,
    atol: float = 1e-3,
    rtol: float = 1e-2,
    raise_exception: bool = True,
) -> bool:
    """Compare the Jacobians of a function by backward with finite differences, for each input with
    requires_grad.

    The differences have fourth order with steps of eps, in float32. The defaults suit smooth functions
    of values near 1. inputs: the arguments, one or a list. raise_exception: raise a GradcheckError with
    the first difference; else return False. ValueError if no input has requires_grad.

    func: a function of tensors, or of trees of them
    atol: absolute tolerance
    rtol: relative tolerance
    """
    arguments = _as_list(inputs)
    places = [i for i, t in enumerate(arguments) if isinstance(t, Tensor) and t.requires_grad]
    if not places:
        rule = "no input has requires_grad: call requires_grad_()"
        raise ValueError(f"gradcheck({describe(arguments)}): {rule}")

    def call(*chosen: Any) -> tuple[Any, ...]:
        placed = dict(zip(places, chosen, strict=True))
        return _outputs(func(*(placed.get(i, a) for i, a in enumerate(arguments))))

    point = tuple(arguments[i].detach() for i in places)  # the point, without the inputs' own graphs
    jacobian = functional.jacobian(call, point)
    wrong = [
        difference
        for j in range(len(point))
        for k, slopes in enumerate(_slopes(call, point, j, eps))
        if (difference := _difference(jacobian[k][j], slopes, (k, places[j]), (atol, rtol)))
    ]
    if wrong and raise_exception:
        raise GradcheckError(wrong[0])
    return not wrong


def _slopes(call: Callable[..., Any], point: tuple[Tensor, ...], j: int, eps: float) -> list[list[Any]]:
    """Compute for each output the columns of its Jacobian for input j by finite differences, as nested
    lists."""
    x = point[j]
    places = Tensor.arange(x.numel(), dtype=dt.int32, device=x.device).reshape(*x.shape)
    columns: list[list[Any]] = []
    with no_grad():
        for i in range(x.numel()):
            # one-hot: the step of element i
            step = (places == i).to(x.dtype)
            parts: list[Any] = []
            for n, factor in STENCIL:
                outputs = call(*point[:j], x + step * (n * eps), *point[j + 1 :])
                terms = [y * (factor / eps) for y in outputs]
                parts = [a + b for a, b in zip(parts, terms, strict=True)] if parts else terms
            columns.append(parts)
    return [[c[k] for c in columns] for k in range(len(columns[0]))] if columns else []


def _difference(jacobian: Any, slopes: list[Any], places: tuple[int, int], tols: tuple[float, float]) -> str:
    """Describe the first difference between a Jacobian and finite differences; "" if they agree."""
    rows = jacobian.reshape(-1, len(slopes)).tolist()  # [output elements, input elements]
    columns = [s.reshape(-1).tolist() for s in slopes]
    for r, row in enumerate(rows):
        for c, value in enumerate(row):
            slope = columns[c][r]
            # written so that NaN counts as a difference
            if not abs(value - slope) <= tols[0] + tols[1] * abs(slope):
                where = f"element {r} of output {places[0]} with respect to element {c} of input {places[1]}"
                return (
                    f"gradcheck(...): {where}: backward computes {value:.6g}, finite differences {slope:.6g}"
                )
    return ""


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = STEP,
    atol: float = 1e-3,
    rtol: float = 1e-2,
) -> bool:
    """Run gradcheck on a function's gradient, to check second derivatives.

    inputs: the arguments, one or a list. grad_outputs: the gradients with respect to the outputs, by
    default ones. Raises a GradcheckError with the first difference. ValueError if no input has requires_grad.
    func: a function of tensors, or of trees of them
    eps: the step of the finite differences
    atol: absolute tolerance
    rtol: relative tolerance
    """
    arguments = _as_list(inputs)
    places = [i for i, t in enumerate(arguments) if isinstance(t, Tensor) and t.requires_grad]

    # The gradient as a function of the inputs, which is differentiated again.
    def gradient(*args: Any) -> tuple[Any, ...]:
        def call(*chosen: Any) -> tuple[Any, ...]:
            placed = dict(zip(places, chosen, strict=True))
            return _outputs(func(*(placed.get(i, a) for i, a in enumerate(args))))

        outs = call(*(args[i] for i in places))
        if grad_outputs is None:
            starts = tuple(Tensor.full(y.shape, 1, dtype=y.dtype, device=y.device) for y in outs)
        else:
            starts = _outputs(grad_outputs)
        return functional.vjp(call, tuple(args[i] for i in places), starts, create_graph=True)[1]

    return gradcheck(gradient, arguments, eps=eps, atol=atol, rtol=rtol)
