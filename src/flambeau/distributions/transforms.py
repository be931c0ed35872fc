"""Invertible maps of random values, and the logarithms of their Jacobian determinants."""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from math import log, prod
from operator import add
from typing import Any

from ..core import dtype as dt
from ..core.op import COMPOSED
from ..core.shape import broadcast
from ..tensor import Tensor, tensor
from . import constraints
from .distribution import Distribution

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


def sum_last(x: Tensor, dims: int) -> Tensor:
    """Return the sum over the last `dims` dimensions."""
    # flattened first: one kernel, and it works for dims of size 0
    return x.reshape(*x.shape[: x.ndim - dims], -1).sum(-1) if dims else x


class Transform:
    """A map of tensors: `t(x)` applies it, `t.inv(y)` inverts it, log_abs_det_jacobian is the log of its
    volume factor.

    domain, codomain: the sets it maps between. bijective: whether it has an inverse. cache_size: 1 keeps the
    last pair (x, y), so that the inverse of y is x itself. Raises ValueError for numbers other than 0 and 1.
    """

    bijective = False
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            raise ValueError(f"{type(self).__name__}(cache_size={cache_size}): the size must be 0 or 1")
        self._cache_size = cache_size
        self._last_pair: tuple[Tensor | None, Tensor | None] = (None, None)  # the last x and y

    def with_cache(self, cache_size: int = 1) -> "Transform":
        """Return the same map with this cache size."""
        if cache_size == self._cache_size:
            return self
        new = object.__new__(type(self))
        vars(new).update(vars(self), _cache_size=cache_size, _last_pair=(None, None))
        return new

    @property
    def sign(self) -> Any:
        """1 if the map increases, -1 if it decreases. Raises NotImplementedError if it does neither."""
        raise NotImplementedError(f"{type(self).__name__}.sign: the transform is not monotonic")

    @property
    def event_dim(self) -> int:
        """The dims of an event. Raises ValueError if those of domain and codomain differ."""
        # stick breaking maps vectors to vectors, but CorrCholesky maps vectors to matrices
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError(
            f"{type(self).__name__}.event_dim: domain and codomain differ: use"
            " domain.event_dim or codomain.event_dim"
        )

    @property
    def inv(self) -> "Transform":
        """The inverse map."""
        return _InverseTransform(self)

    def __call__(self, x: Tensor) -> Tensor:
        last_x, y = self._last_pair
        # by identity, since comparing values would read them
        if y is None or last_x is not x:
            y = self._call(x)
            if self._cache_size:
                self._last_pair = (x, y)
        return y

    def back(self, y: Tensor) -> Tensor:
        """Return the x that is mapped to y."""
        # By identity: for the y of the last forward call, x is known without rounding.
        x, last_y = self._last_pair
        if x is None or last_y is not y:
            x = self._inverse(y)
            if self._cache_size:
                self._last_pair = (x, y)
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: the transform has no map")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: the transform has no inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |det dy/dx| at x, which is mapped to y. [..., *event] -> [...]"""
        raise NotImplementedError(f"{type(self).__name__}: the transform has no Jacobian determinant")

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of y for an x of this shape."""
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of x for a y of this shape."""
        return tuple(shape)

    def __eq__(self, other: Any) -> bool:
        return self is other or (type(self) is type(other) and self._identity() == other._identity())

    def _identity(self) -> Any:
        """Return the key that is equal for equal maps of one class."""
        return ()

    # __eq__ without __hash__ would make instances unhashable.
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of a map."""

    def __init__(self, of: Transform):
        super().__init__()
        self._of, self.bijective = of, of.bijective
        self.domain, self.codomain = of.codomain, of.domain

    @property
    def sign(self) -> Any:
        return self._of.sign

    @property
    def inv(self) -> Transform:
        return self._of

    def with_cache(self, cache_size: int = 1) -> Transform:
        return _InverseTransform(self._of.with_cache(cache_size))

    def __call__(self, x: Tensor):
        return self._of.back(x)

    def back(self, y: Tensor) -> Tensor:
        return self._of(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._of.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self._of.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self._of.forward_shape(shape)

    def _identity(self) -> Any:
        return (type(self._of), self._of._identity())

    def __repr__(self) -> str:
        return f"{self._of!r}.inv"


class ComposeTransform(Transform):
    """The composition of maps. parts: the maps, first to last.

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0):
        super().__init__(cache_size)
        self.parts = [p.with_cache(cache_size) for p in parts] if cache_size else list(parts)
        self.bijective = all(p.bijective for p in self.parts)

    def _sides(self) -> tuple[int, int]:
        """Return the event dims of domain and codomain, which must suffice for every map of the
        composition."""
        # backwards: a map that reduces dims needs that many more at the start
        first = 0
        for p in reversed(self.parts):
            first = max(first + p.domain.event_dim - p.codomain.event_dim, p.domain.event_dim)
        last = 0
        for p in self.parts:
            last = max(last + p.codomain.event_dim - p.domain.event_dim, p.codomain.event_dim)
        return first, last

    @property
    def domain(self) -> constraints.Constraint:
        own = self.parts[0].domain if self.parts else constraints.real
        more = self._sides()[0] - own.event_dim
        return constraints.independent(own, more) if more > 0 else own

    @property
    def codomain(self) -> constraints.Constraint:
        own = self.parts[-1].codomain if self.parts else constraints.real
        more = self._sides()[1] - own.event_dim
        return constraints.independent(own, more) if more > 0 else own

    @property
    def sign(self) -> Any:
        return prod(p.sign for p in self.parts)

    def _call(self, x: Tensor) -> Tensor:
        for p in self.parts:
            x = p(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for p in reversed(self.parts):
            y = p.back(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return x * 0
        # The chain rule: log dets add up. `dims` is the event rank before each map; a map of fewer dims
        # (exp) has a value for each element, which are summed.
        terms: list[Tensor] = []
        dims = self.domain.event_dim
        for p in self.parts:
            mapped = p(x)
            terms.append(sum_last(p.log_abs_det_jacobian(x, mapped), dims - p.domain.event_dim))
            dims, x = dims + p.codomain.event_dim - p.domain.event_dim, mapped
        return reduce(add, terms)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        for p in self.parts:
            shape = p.forward_shape(shape)
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        for p in reversed(self.parts):
            shape = p.inverse_shape(shape)
        return tuple(shape)

    def _identity(self) -> Any:
        return [(type(p), p._identity()) for p in self.parts]

    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts})"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A map of events with more dims: the Jacobian is summed over them.

    base_transform: the map. reinterpreted_batch_ndims: how many dims to add to the event.
    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0):
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform, reinterpreted_batch_ndims
        self.bijective = base_transform.bijective
        self.domain = constraints.independent(base_transform.domain, reinterpreted_batch_ndims)
        self.codomain = constraints.independent(base_transform.codomain, reinterpreted_batch_ndims)

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.base_transform.back(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return sum_last(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Reshapes events. in_shape, out_shape: the shapes of an event before and after.

    Raises ValueError if their sizes differ.

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    bijective = True
    sign = 1  # type: ignore[override]

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0):
        super().__init__(cache_size)
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if prod(self.in_shape) != prod(self.out_shape):
            raise ValueError(f"ReshapeTransform({self.in_shape}, {self.out_shape}): sizes differ")
        self.domain = constraints.independent(constraints.real, len(self.in_shape))
        self.codomain = constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[: x.ndim - len(self.in_shape)], *self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(*y.shape[: y.ndim - len(self.out_shape)], *self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return Tensor.zeros(x.shape[: x.ndim - len(self.in_shape)], device=x.device)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape[: len(shape) - len(self.in_shape)], *self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape[: len(shape) - len(self.out_shape)], *self.in_shape)

    def _identity(self) -> Any:
        return self.in_shape, self.out_shape


class ExpTransform(Transform):
    """e to the power x.

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    bijective = True
    sign = 1  # type: ignore[override]
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """x to the power `exponent`.

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    bijective, domain, codomain = True, constraints.positive, constraints.positive

    def __init__(self, exponent: Tensor | float, cache_size: int = 0):
        super().__init__(cache_size)
        self.exponent = exponent

    @property
    def sign(self) -> Any:
        return self.exponent.sign() if isinstance(self.exponent, Tensor) else (self.exponent > 0) * 2 - 1

    def _call(self, x: Tensor) -> Tensor:
        return x**self.exponent

    def _inverse(self, y: Tensor) -> Tensor:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # dy/dx = exponent * x^(exponent - 1) = exponent * y / x
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return broadcast(tuple(shape), getattr(self.exponent, "shape", ()))

    inverse_shape = forward_shape

    def _identity(self) -> Any:
        return (_identity_of(self.exponent),)


def _identity_of(value: Any) -> Any:
    """Return a number itself, or the id of a tensor, because comparing values would read them."""
    return id(value) if isinstance(value, Tensor) else value


class SigmoidTransform(Transform):
    """1 / (1 + exp(-x)).

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    bijective = True
    sign = 1  # type: ignore[override]
    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        # the smallest normal float32 and the largest one below 1: log and log1p stay finite
        return x.sigmoid().clamp(1.1754944e-38, 1 - 5.9604645e-08)

    def _inverse(self, y: Tensor) -> Tensor:
        y = y.clamp(1.1754944e-38, 1 - 5.9604645e-08)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(s (1 - s)) with log s = -softplus(-x)
        return -COMPOSED["softplus"](-x) - COMPOSED["softplus"](x)


class SoftplusTransform(Transform):
    """log(1 + exp(x)).

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    bijective = True
    sign = 1  # type: ignore[override]
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return COMPOSED["softplus"](x)

    def _inverse(self, y: Tensor) -> Tensor:
        # log(exp(y) - 1), without the overflow of exp
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -COMPOSED["softplus"](-x)


class TanhTransform(Transform):
    """The hyperbolic tangent.

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    bijective = True
    sign = 1  # type: ignore[override]
    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh(x)^2) as a formula that does not cancel for large |x| (TensorFlow Probability's)
        return 2 * (log(2.0) - x - COMPOSED["softplus"](-2 * x))


class AbsTransform(Transform):
    """The absolute value of x. It is not one-to-one, so it has no Jacobian.

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """loc + scale * x. loc: the shift; scale: the factor; event_dim: the dims of an event.

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    bijective = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @property
    def domain(self) -> constraints.Constraint:
        more = self._event_dim
        return constraints.independent(constraints.real, more) if more else constraints.real

    codomain = domain

    @property
    def sign(self) -> Any:
        return self.scale.sign() if isinstance(self.scale, Tensor) else (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale if isinstance(self.scale, Tensor) else Tensor.full((), self.scale, device=x.device)
        return sum_last(scale.abs().log().expand(*broadcast(x.shape, scale.shape)), self._event_dim)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return broadcast(tuple(shape), getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape

    def _identity(self) -> Any:
        return _identity_of(self.loc), _identity_of(self.scale), self._event_dim


class SoftmaxTransform(Transform):
    """exp(x), normalised: maps real vectors to the simplex. The inverse is log(y). It is not one-to-one.

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(Transform):
    """Stick breaking: maps n real numbers to n + 1 shares that add up to 1.

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    bijective, domain, codomain = True, constraints.real_vector, constraints.simplex

    def _log_pieces_left(self, n: int, device: Any) -> Tensor:
        """Return log(n), ..., log(1), the logs of the number of remaining pieces. Subtracting them maps x
        = 0 to equal shares."""
        return Tensor.arange(n, 0, -1, dtype=dt.int32, device=device).float().log()

    def _call(self, x: Tensor) -> Tensor:
        # Each z is a fraction of the remaining stick; 1 - 2^-24 is the largest float32 below 1.
        z = (x - self._log_pieces_left(x.shape[-1], x.device)).sigmoid().clamp(max=1 - 5.9604645e-08)
        rest = (1 - z).cumprod(-1)
        ones = Tensor.ones(*x.shape[:-1], 1, device=x.device)
        return COMPOSED["cat"]([z, ones], -1) * COMPOSED["cat"]([ones, rest], -1)

    def _inverse(self, y: Tensor) -> Tensor:
        first = y.narrow(-1, 0, y.shape[-1] - 1)
        rest = (1 - first.cumsum(-1)).clamp(min=1.1754944e-38)  # the least normal float32: log stays finite
        return first.log() - rest.log() + self._log_pieces_left(first.shape[-1], y.device)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._log_pieces_left(x.shape[-1], x.device)
        # the matrix is triangular: log det is the sum of log(z (1 - z) * rest); y = z * rest, and log(1 -
        # z) = logsigmoid(x) - x
        return (-x + COMPOSED["logsigmoid"](x) + y.narrow(-1, 0, y.shape[-1] - 1).log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Transform):
    """Maps square matrices to lower triangular ones with the diagonal's exponential as diagonal.

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    bijective = True
    # no log_abs_det_jacobian, as in torch: the elements above the diagonal have no effect
    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + COMPOSED["diag_embed"](x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + COMPOSED["diag_embed"](y.diagonal(dim1=-2, dim2=-1).log())


class PositiveDefiniteTransform(Transform):
    """Maps square matrices to positive definite ones: L L^T, with L of LowerCholeskyTransform.

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    bijective = True
    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().back(COMPOSED["linalg_cholesky"](y))


def triangle(n: int) -> list[int]:
    """Return the flat indices of the elements below the diagonal of an n by n matrix, row by row."""
    return [i * n + j for i in range(n) for j in range(i)]


class CorrCholeskyTransform(Transform):
    """Maps n (n - 1) / 2 real numbers to Cholesky factors of n by n correlation matrices.

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    bijective, domain, codomain = True, constraints.real_vector, constraints.corr_cholesky

    def _side(self, count: int) -> int:
        # n (n - 1) / 2 = count solved for n
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise ValueError(f"CorrCholeskyTransform: {count} numbers are not n (n - 1) / 2 for any n")
        return n

    def _fill_lower(self, x: Tensor, n: int) -> Tensor:
        # Gather from x with a 0 appended: elements on and above the diagonal read that 0.
        places = {p: i for i, p in enumerate(triangle(n))}
        zero = Tensor.zeros(*x.shape[:-1], 1, device=x.device)
        order = tensor([places.get(p, len(places)) for p in range(n * n)], device=x.device)
        return COMPOSED["cat"]([x, zero], -1)[..., order].reshape(*x.shape[:-1], n, n)

    def _call(self, x: Tensor) -> Tensor:
        # tanh(x) are partial correlations: each is a fraction of the remainder of its row's norm 1.
        r = self._fill_lower(x.tanh().clamp(-1 + 1.2e-7, 1 - 1.2e-7), self._side(x.shape[-1]))
        rest = (1 - r.square()).sqrt().cumprod(-1)
        ones = Tensor.ones(*rest.shape[:-1], 1, device=x.device)
        r = r + COMPOSED["eye"](r.shape[-1], device=x.device)
        return r * COMPOSED["cat"]([ones, rest.narrow(-1, 0, rest.shape[-1] - 1)], -1)

    def _rows(self, y: Tensor) -> Tensor:
        """Return the elements below the diagonal. [..., n, n] -> [..., n (n - 1) / 2]"""
        n = y.shape[-1]
        return y.reshape(*y.shape[:-2], n * n)[..., tensor(triangle(n), device=y.device)]

    def _inverse(self, y: Tensor) -> Tensor:
        left = 1 - y.square().cumsum(-1)  # the squared norm left in each row after each column
        ones = Tensor.ones(*left.shape[:-1], 1, device=y.device)
        left = COMPOSED["cat"]([ones, left.narrow(-1, 0, left.shape[-1] - 1)], -1)
        t = self._rows(y) / self._rows(left).clamp(min=1.2e-7).sqrt()
        return 0.5 * (t.log1p() - (-t).log1p())

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # The slope is that of tanh, 1 - tanh^2, times the root of the norm left before the column (1 in
        # column 0).
        left = self._rows(COMPOSED["roll"](1 - y.square().cumsum(-1), 1, -1))
        first = {i * (i - 1) // 2 for i in range(1, y.shape[-1])}
        inner = tensor([float(i not in first) for i in range(x.shape[-1])], device=x.device)
        rest = (inner > 0).where(left, 1.0).log().sum(-1) * 0.5
        return rest - 2 * (x + COMPOSED["softplus"](-2 * x) - log(2.0)).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        n = self._side(shape[-1])
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


class CumulativeDistributionTransform(Transform):
    """The cdf of a distribution. distribution: a scalar distribution with cdf and icdf.

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    bijective = True
    sign = 1  # type: ignore[override]
    codomain = constraints.unit_interval

    def __init__(self, distribution: Distribution, cache_size: int = 0):
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> constraints.Constraint:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)


def _apply_map(t: Transform, x: Tensor) -> Tensor:
    return t(x)


def _invert_map(t: Transform, y: Tensor) -> Tensor:
    return t.back(y)


class _Parts(Transform):
    """Applies a map to each part along a dim. tseq: the maps.

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int):
        super().__init__(cache_size)
        self.transforms, self.dim = list(tseq), dim
        self.bijective = all(t.bijective for t in self.transforms)

    def _split(self, x: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError

    def _join(self, parts: Sequence[Tensor]) -> Tensor:
        raise NotImplementedError

    def _map_parts(self, f: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
        columns = zip(self.transforms, *map(self._split, tensors), strict=True)
        return self._join([f(t, *parts) for t, *parts in columns])

    def _call(self, x: Tensor) -> Tensor:
        return self._map_parts(_apply_map, x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._map_parts(_invert_map, y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # parts may have different event ranks: sum all to the same one, so that they can be joined
        most = max(t.domain.event_dim for t in self.transforms)

        def one(t: Transform, x: Tensor, y: Tensor) -> Tensor:
            return sum_last(t.log_abs_det_jacobian(x, y), most - t.domain.event_dim)

        return self._map_parts(one, x, y)


class CatTransform(_Parts):
    """Applies a map to each of consecutive parts. tseq: the maps; lengths: the size of each part.

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Iterable[int] | None = None,
        cache_size: int = 0,
    ):
        super().__init__(tseq, dim, cache_size)
        self.lengths = list(lengths) if lengths is not None else [1] * len(self.transforms)
        self.domain = constraints.cat([t.domain for t in self.transforms], dim, self.lengths)
        self.codomain = constraints.cat([t.codomain for t in self.transforms], dim, self.lengths)

    def _split(self, x: Tensor) -> Sequence[Tensor]:
        return x.split(self.lengths, self.dim)

    def _join(self, parts: Sequence[Tensor]) -> Tensor:
        return COMPOSED["cat"](parts, self.dim)


class StackTransform(_Parts):
    """Applies a map to each slice along a dim. tseq: the maps.

    cache_size: 1 keeps the last pair (x, y) for the inverse. Raises ValueError if it is not 0 or 1.
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0):
        super().__init__(tseq, dim, cache_size)
        self.domain = constraints.stack([t.domain for t in self.transforms], dim)
        self.codomain = constraints.stack([t.codomain for t in self.transforms], dim)

    def _split(self, x: Tensor) -> Sequence[Tensor]:
        return x.unbind(self.dim)

    def _join(self, parts: Sequence[Tensor]) -> Tensor:
        return COMPOSED["stack"](parts, self.dim)
