"""Maps of random numbers: their inverses, and how they change densities."""

from collections.abc import Callable, Sequence
from math import log, prod
from typing import Any

from ..core import dtype as dt
from ..core.op import COMPOSED
from ..core.shape import broadcast
from ..tensor import Tensor, tensor
from . import constraints

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


def sum_last(x: Any, dims: int) -> Any:
    """The sum over the last dims."""
    return x.reshape(*x.shape[: x.ndim - dims], -1).sum(-1) if dims else x


class Transform:
    """A map of tensors. `t(x)` maps, `t.inv(y)` maps back, and log_abs_det_jacobian says how volumes change.

    domain, codomain: where it maps from and to. bijective: whether it has an inverse. cache_size: 1 keeps the
    last pair, so that the inverse of what was just mapped is what it was mapped from; ValueError for other
    numbers than 0 and 1.
    """

    bijective = False
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            raise ValueError(f"{type(self).__name__}(cache_size={cache_size}): keeps 0 or 1 pairs")
        self._cache_size, self._kept = cache_size, (None, None)

    def with_cache(self, cache_size: int = 1) -> "Transform":
        """The same map that keeps so many pairs."""
        if cache_size == self._cache_size:
            return self
        new = object.__new__(type(self))
        vars(new).update(vars(self), _cache_size=cache_size, _kept=(None, None))
        return new

    @property
    def sign(self) -> Any:
        """1 where the map rises, -1 where it falls; NotImplementedError where it does neither."""
        raise NotImplementedError(f"{type(self).__name__}.sign: neither rises nor falls")

    @property
    def event_dim(self) -> int:
        """How many of the last dims are mapped together, of one side and the other alike."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError(
            f"{type(self).__name__}.event_dim: differs: use domain.event_dim or codomain.event_dim"
        )

    @property
    def inv(self) -> "Transform":
        """The map back."""
        return _Inverse(self)

    def __call__(self, x: Any) -> Any:
        if not self._cache_size:
            return self._call(x)
        if self._kept[0] is not x:
            self._kept = (x, self._call(x))
        return self._kept[1]

    def back(self, y: Any) -> Any:
        """What is mapped to y."""
        if not self._cache_size:
            return self._inverse(y)
        if self._kept[1] is not y:
            self._kept = (self._inverse(y), y)
        return self._kept[0]

    def _call(self, x: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: has no map")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: has no inverse")

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of how much volumes grow at x, which is mapped to y. [..., *event] -> [...]"""
        raise NotImplementedError(f"{type(self).__name__}: changes volumes by no number")

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        """The shape of what a tensor of this shape is mapped to."""
        return tuple(shape)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        """The shape of what is mapped to a tensor of this shape."""
        return tuple(shape)

    def __eq__(self, other: Any) -> bool:
        return self is other or (type(self) is type(other) and self._facts() == other._facts())

    def _facts(self) -> Any:
        return ()

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Inverse(Transform):
    """A map read backwards."""

    def __init__(self, of: Transform):
        super().__init__()
        self._of, self.bijective = of, of.bijective
        self.domain, self.codomain = of.codomain, of.domain

    @property
    def sign(self):
        return self._of.sign

    @property
    def inv(self):
        return self._of

    def with_cache(self, cache_size: int = 1):
        return _Inverse(self._of.with_cache(cache_size))

    def __call__(self, x):
        return self._of.back(x)

    def back(self, y):
        return self._of(y)

    def log_abs_det_jacobian(self, x, y):
        return -self._of.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._of.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._of.forward_shape(shape)

    def _facts(self):
        return (type(self._of), self._of._facts())

    def __repr__(self) -> str:
        return f"{self._of!r}.inv"


class ComposeTransform(Transform):
    """Maps one after the other. parts: the maps, first to last.

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0):
        super().__init__(cache_size)
        self.parts = [p.with_cache(cache_size) for p in parts] if cache_size else list(parts)
        self.bijective = all(p.bijective for p in self.parts)

    def _sides(self) -> tuple[int, int]:
        """How many dims the first map reads, and the last one makes, for all maps together."""
        first = 0
        for p in reversed(self.parts):
            first = max(first + p.domain.event_dim - p.codomain.event_dim, p.domain.event_dim)
        last = 0
        for p in self.parts:
            last = max(last + p.codomain.event_dim - p.domain.event_dim, p.codomain.event_dim)
        return first, last

    @property
    def domain(self):
        own = self.parts[0].domain if self.parts else constraints.real
        more = self._sides()[0] - own.event_dim
        return constraints.independent(own, more) if more > 0 else own

    @property
    def codomain(self):
        own = self.parts[-1].codomain if self.parts else constraints.real
        more = self._sides()[1] - own.event_dim
        return constraints.independent(own, more) if more > 0 else own

    @property
    def sign(self):
        found: Any = 1
        for p in self.parts:
            found = found * p.sign
        return found

    def _call(self, x):
        for p in self.parts:
            x = p(x)
        return x

    def _inverse(self, y):
        for p in reversed(self.parts):
            y = p.back(y)
        return y

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return x * 0
        found, dims = [], self.domain.event_dim
        for p in self.parts:
            made = p(x)
            found.append(sum_last(p.log_abs_det_jacobian(x, made), dims - p.domain.event_dim))
            dims, x = dims + p.codomain.event_dim - p.domain.event_dim, made
        total = found[0]
        for part in found[1:]:
            total = total + part
        return total

    def forward_shape(self, shape):
        for p in self.parts:
            shape = p.forward_shape(shape)
        return tuple(shape)

    def inverse_shape(self, shape):
        for p in reversed(self.parts):
            shape = p.inverse_shape(shape)
        return tuple(shape)

    def _facts(self):
        return [(type(p), p._facts()) for p in self.parts]

    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts})"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A map whose last dims more count as one event.

    base_transform: the map. reinterpreted_batch_ndims: how many dims more.
    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0):
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform, reinterpreted_batch_ndims
        self.bijective = base_transform.bijective
        self.domain = constraints.independent(base_transform.domain, reinterpreted_batch_ndims)
        self.codomain = constraints.independent(base_transform.codomain, reinterpreted_batch_ndims)

    @property
    def sign(self):
        return self.base_transform.sign

    def _call(self, x):
        return self.base_transform(x)

    def _inverse(self, y):
        return self.base_transform.back(y)

    def log_abs_det_jacobian(self, x, y):
        return sum_last(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """The last dims in another shape. in_shape, out_shape: of an event.

    ValueError where their sizes differ.

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    bijective = True
    sign = 1  # type: ignore[override]

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0):
        super().__init__(cache_size)
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if prod(self.in_shape) != prod(self.out_shape):
            raise ValueError(f"ReshapeTransform({self.in_shape}, {self.out_shape}): sizes differ")
        self.domain = constraints.independent(constraints.real, len(self.in_shape))
        self.codomain = constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x):
        return x.reshape(*x.shape[: x.ndim - len(self.in_shape)], *self.out_shape)

    def _inverse(self, y):
        return y.reshape(*y.shape[: y.ndim - len(self.out_shape)], *self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return Tensor.zeros(x.shape[: x.ndim - len(self.in_shape)], device=x.device)

    def forward_shape(self, shape):
        return (*shape[: len(shape) - len(self.in_shape)], *self.out_shape)

    def inverse_shape(self, shape):
        return (*shape[: len(shape) - len(self.out_shape)], *self.in_shape)

    def _facts(self):
        return self.in_shape, self.out_shape


class ExpTransform(Transform):
    """e to the power x.

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    bijective = True
    sign = 1  # type: ignore[override]
    codomain = constraints.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """x to the power `exponent`.

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    bijective, domain, codomain = True, constraints.positive, constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0):
        super().__init__(cache_size)
        self.exponent = exponent

    @property
    def sign(self):
        return self.exponent.sign() if isinstance(self.exponent, Tensor) else (self.exponent > 0) * 2 - 1

    def _call(self, x):
        return x**self.exponent

    def _inverse(self, y):
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return broadcast(tuple(shape), getattr(self.exponent, "shape", ()))

    inverse_shape = forward_shape

    def _facts(self):
        return (_known(self.exponent),)


def _known(value: Any) -> Any:
    """A number, or which tensor: two that are equal are still two."""
    return id(value) if isinstance(value, Tensor) else value


class SigmoidTransform(Transform):
    """1 / (1 + exp(-x)).

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    bijective = True
    sign = 1  # type: ignore[override]
    codomain = constraints.unit_interval

    def _call(self, x):
        return x.sigmoid().clamp(1.1754944e-38, 1 - 5.9604645e-08)

    def _inverse(self, y):
        y = y.clamp(1.1754944e-38, 1 - 5.9604645e-08)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -COMPOSED["softplus"](-x) - COMPOSED["softplus"](x)


class SoftplusTransform(Transform):
    """log(1 + exp(x)).

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    bijective = True
    sign = 1  # type: ignore[override]
    codomain = constraints.positive

    def _call(self, x):
        return COMPOSED["softplus"](x)

    def _inverse(self, y):
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x, y):
        return -COMPOSED["softplus"](-x)


class TanhTransform(Transform):
    """The hyperbolic tangent.

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    bijective = True
    sign = 1  # type: ignore[override]
    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        return 2 * (log(2.0) - x - COMPOSED["softplus"](-2 * x))


class AbsTransform(Transform):
    """The size of x: not one to one, so without a change of volumes.

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    codomain = constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """loc + scale * x. loc: what is added; scale: what is multiplied with; event_dim: dims of an event.

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @property
    def domain(self):
        more = self._event_dim
        return constraints.independent(constraints.real, more) if more else constraints.real

    codomain = domain

    @property
    def sign(self):
        return self.scale.sign() if isinstance(self.scale, Tensor) else (self.scale > 0) - (self.scale < 0)

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        scale = self.scale if isinstance(self.scale, Tensor) else Tensor.full((), self.scale, device=x.device)
        return sum_last(scale.abs().log().expand(*broadcast(x.shape, scale.shape)), self._event_dim)

    def forward_shape(self, shape):
        return broadcast(tuple(shape), getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape

    def _facts(self):
        return _known(self.loc), _known(self.scale), self._event_dim


class SoftmaxTransform(Transform):
    """exp(x), normalised: from real vectors to shares, and back by logarithms; not one to one.

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x):
        return x.softmax(-1)

    def _inverse(self, y):
        return y.log()


class StickBreakingTransform(Transform):
    """From n real numbers to n + 1 shares of a stick that is broken piece by piece.

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    bijective, domain, codomain = True, constraints.real_vector, constraints.simplex

    def _left(self, n: int, device: Any) -> Any:
        """The logarithm of how many pieces are still to come: a share of 1 over them is 0."""
        return Tensor.arange(n, 0, -1, dtype=dt.int32, device=device).float().log()

    def _call(self, x):
        z = (x - self._left(x.shape[-1], x.device)).sigmoid().clamp(max=1 - 5.9604645e-08)
        rest = (1 - z).cumprod(-1)
        one = Tensor.ones(*x.shape[:-1], 1, device=x.device)
        return COMPOSED["cat"]([z, one], -1) * COMPOSED["cat"]([one, rest], -1)

    def _inverse(self, y):
        first = y.narrow(-1, 0, y.shape[-1] - 1)
        rest = (1 - first.cumsum(-1)).clamp(min=1.1754944e-38)
        return first.log() - rest.log() + self._left(first.shape[-1], y.device)

    def log_abs_det_jacobian(self, x, y):
        x = x - self._left(x.shape[-1], x.device)
        return (-x + COMPOSED["logsigmoid"](x) + y.narrow(-1, 0, y.shape[-1] - 1).log()).sum(-1)

    def forward_shape(self, shape):
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape):
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Transform):
    """From square matrices to lower ones with a positive diagonal: its exponentials, and what is below.

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    bijective = True
    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + COMPOSED["diag_embed"](x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y):
        return y.tril(-1) + COMPOSED["diag_embed"](y.diagonal(dim1=-2, dim2=-1).log())


class PositiveDefiniteTransform(Transform):
    """From square matrices to positive definite ones: L L^T of LowerCholeskyTransform's L.

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    bijective = True
    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().back(COMPOSED["linalg_cholesky"](y))


def triangle(n: int) -> list[int]:
    """The places below the diagonal of an n by n matrix, row by row."""
    return [i * n + j for i in range(n) for j in range(i)]


class CorrCholeskyTransform(Transform):
    """From n (n - 1) / 2 real numbers to Cholesky factors of n by n correlation matrices.

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    bijective, domain, codomain = True, constraints.real_vector, constraints.corr_cholesky

    def _side(self, count: int) -> int:
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise ValueError(f"CorrCholeskyTransform: {count} numbers are no triangle below a diagonal")
        return n

    def _placed(self, x: Any, n: int) -> Any:
        places = {p: i for i, p in enumerate(triangle(n))}
        zero = Tensor.zeros(*x.shape[:-1], 1, device=x.device)
        order = tensor([places.get(p, len(places)) for p in range(n * n)], device=x.device)
        return COMPOSED["cat"]([x, zero], -1)[..., order].reshape(*x.shape[:-1], n, n)

    def _call(self, x):
        r = self._placed(x.tanh().clamp(-1 + 1.2e-7, 1 - 1.2e-7), self._side(x.shape[-1]))
        rest = (1 - r.square()).sqrt().cumprod(-1)
        one = Tensor.ones(*rest.shape[:-1], 1, device=x.device)
        r = r + COMPOSED["eye"](r.shape[-1], device=x.device)
        return r * COMPOSED["cat"]([one, rest.narrow(-1, 0, rest.shape[-1] - 1)], -1)

    def _rows(self, y: Any) -> Any:
        """The numbers below the diagonal. [..., n, n] -> [..., n (n - 1) / 2]"""
        n = y.shape[-1]
        return y.reshape(*y.shape[:-2], n * n)[..., tensor(triangle(n), device=y.device)]

    def _inverse(self, y):
        left = 1 - y.square().cumsum(-1)
        one = Tensor.ones(*left.shape[:-1], 1, device=y.device)
        left = COMPOSED["cat"]([one, left.narrow(-1, 0, left.shape[-1] - 1)], -1)
        t = self._rows(y) / self._rows(left).clamp(min=1.2e-7).sqrt()
        return 0.5 * (t.log1p() - (-t).log1p())

    def log_abs_det_jacobian(self, x, y):
        left = self._rows(COMPOSED["roll"](1 - y.square().cumsum(-1), 1, -1))
        first = {i * (i - 1) // 2 for i in range(1, y.shape[-1])}
        inner = tensor([float(i not in first) for i in range(x.shape[-1])], device=x.device)
        rest = (inner > 0).where(left, 1.0).log().sum(-1) * 0.5
        return rest - 2 * (x + COMPOSED["softplus"](-2 * x) - log(2.0)).sum(-1)

    def forward_shape(self, shape):
        n = self._side(shape[-1])
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape):
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


class CumulativeDistributionTransform(Transform):
    """The cdf of a distribution. distribution: one of single numbers, with cdf and icdf.

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    bijective = True
    sign = 1  # type: ignore[override]
    codomain = constraints.unit_interval

    def __init__(self, distribution: Any, cache_size: int = 0):
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)


class _Parts(Transform):
    """Maps of parts along a dim. tseq: the maps.

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int):
        super().__init__(cache_size)
        self.transforms, self.dim = list(tseq), dim
        self.bijective = all(t.bijective for t in self.transforms)

    def _split(self, x: Any) -> list[Any]:
        raise NotImplementedError

    def _join(self, parts: list[Any]) -> Any:
        raise NotImplementedError

    def _each(self, f: Callable[..., Any], *tensors: Any) -> Any:
        columns = zip(self.transforms, *map(self._split, tensors), strict=True)
        return self._join([f(t, *parts) for t, *parts in columns])

    def _call(self, x):
        return self._each(lambda t, x: t(x), x)

    def _inverse(self, y):
        return self._each(lambda t, y: t.back(y), y)

    def log_abs_det_jacobian(self, x, y):
        most = max(t.domain.event_dim for t in self.transforms)

        def one(t, x, y):
            return sum_last(t.log_abs_det_jacobian(x, y), most - t.domain.event_dim)

        return self._each(one, x, y)


class CatTransform(_Parts):
    """Maps of parts that lie one behind the other. tseq: the maps; lengths: how long each part is.

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Any = None, cache_size: int = 0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = list(lengths) if lengths is not None else [1] * len(self.transforms)
        self.domain = constraints.cat([t.domain for t in self.transforms], dim, self.lengths)
        self.codomain = constraints.cat([t.codomain for t in self.transforms], dim, self.lengths)

    def _split(self, x):
        return x.split(self.lengths, self.dim)

    def _join(self, parts):
        return COMPOSED["cat"](parts, self.dim)


class StackTransform(_Parts):
    """Maps of the slices along a dim. tseq: the maps.

    cache_size: 1 keeps the last pair for the way back; ValueError for other numbers than 0 and 1
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0):
        super().__init__(tseq, dim, cache_size)
        self.domain = constraints.stack([t.domain for t in self.transforms], dim)
        self.codomain = constraints.stack([t.codomain for t in self.transforms], dim)

    def _split(self, x):
        return x.unbind(self.dim)

    def _join(self, parts):
        return COMPOSED["stack"](parts, self.dim)
