"""Ops made of ops: triangles, softmax and norms, each a line or a few."""

from ..core.declare import composed, composite
from ..core.op import Family
from ..core.shape import normal_dim
from .elementwise import fitted
from .reduce import in_float32, standardized

NN = ("layer_norm", "linear", "log_softmax", "softmax")


class Composed(Family):
    @composed
    def masked_fill(self, mask, value: float):
        """`value` where mask is true. [...], [...] -> [...]"""
        return mask.where(fitted(value, self.dtype), self).to(self.dtype)

    @composed
    def tril(self, diagonal: int = 0):
        """The lower triangle of the last two dims, zero above `diagonal`. [..., n, m] -> [..., n, m]"""
        return _triangle(self, lambda i, j: j <= i + diagonal)

    @composed
    def triu(self, diagonal: int = 0):
        """The upper triangle of the last two dims, zero below `diagonal`. [..., n, m] -> [..., n, m]"""
        return _triangle(self, lambda i, j: j >= i + diagonal)

    @composed
    def softmax(self, dim: int = -1, dtype=None):
        """exp(x) normalised to sum to 1 along a dim. [..., n, ...] -> [..., n, ...]"""
        x, dtype = in_float32(self, dtype)
        return _along(_softmax, x, dim).to(dtype)

    @composed
    def log_softmax(self, dim: int = -1, dtype=None):
        """Logarithm of softmax along a dim, safe for large values. [..., n, ...] -> [..., n, ...]"""
        x, dtype = in_float32(self, dtype)
        return _along(_log_softmax, x, dim).to(dtype)


def _along(op, x, dim):
    """An op along a dim; one number is a row of its own, and of no elements there is nothing to make."""
    d = normal_dim(dim, x.ndim)
    return op(x.reshape(x.shape or (1,)), dim=d).reshape(x.shape) if x.numel() else x


def _triangle(x, keep):
    arange = type(x).arange
    i = arange(x.shape[-2], device=x.device).unsqueeze(1)
    return keep(i, arange(x.shape[-1], device=x.device)).where(x, False)  # a number of no category: x's dtype


def _softmax_grad(g, y, x, dim):
    gy = g * y
    return [gy - y * gy.sum(dim, keepdim=True)]


@composite(grad=_softmax_grad)
def _softmax(x, *, dim):
    e = (x - x._max((dim,))).exp()
    return e / e._sum((dim,))


def _log_softmax_grad(g, y, x, dim):
    return [g - y.exp() * g.sum(dim, keepdim=True)]


@composite(grad=_log_softmax_grad)
def _log_softmax(x, *, dim):
    away = x - x._max((dim,))
    return away - away.exp()._sum((dim,)).log()


@composed
def linear(input, weight, bias=None):
    """x @ weight.T + bias. [..., i], [o, i], [o] -> [..., o]"""
    y = input.matmul(weight.t())
    return y if bias is None else y + bias


@composed
def layer_norm(input, normalized_shape, weight=None, bias=None, eps: float = 1e-5):
    """Mean 0, variance 1 over the last dims, then weight and bias (Ba et al., 2016). [..., n] -> [..., n]"""
    k = len(normalized_shape)
    if not k:
        raise ValueError("normalized_shape has no dims: give the sizes of the last ones")
    if tuple(normalized_shape) != input.shape[input.ndim - k :]:
        found = list(input.shape[input.ndim - k :])
        raise ValueError(f"the last dims are {found}: normalized_shape must equal them")
    dims = tuple(range(input.ndim - k, input.ndim))
    x, dtype = in_float32(input)
    y = standardized(x, dims, eps).to(dtype)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias
