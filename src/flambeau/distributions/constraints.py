"""The sets of valid parameters and values, and how many of the last dimensions form one event."""

from collections.abc import Callable, Iterable
from typing import Any

from ..core.op import COMPOSED
from ..tensor import Tensor

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]

Rule = Callable[[Any], Any]


class Constraint:
    """A set of values. `check(value)` is True for each element (or vector, or matrix) inside.

    event_dim: how many of the last dims form one event. is_discrete: whether the set has integers only.
    """

    is_discrete = False
    event_dim = 0

    def __init__(self, name: str = "", rule: Rule | None = None, **attributes: Any):
        # attributes: bounds that the registry reads (lower_bound), is_discrete, event_dim
        self.name, self.rule = name or type(self).__name__, rule
        for key, value in attributes.items():
            setattr(self, key, value)

    def check(self, value: Any) -> Any:
        """Whether each element is inside. [..., *event] -> [...]"""
        assert self.rule is not None
        return self.rule(value)

    def __repr__(self) -> str:
        return self.name


class _Dependent(Constraint):
    """A set that depends on the parameters of a distribution."""

    def check(self, value: Any) -> Any:
        raise ValueError(f"check(...): {self.name} depends on parameters: use the distribution's support")

    def __call__(self, *, is_discrete: bool = False, event_dim: int = 0) -> "_Dependent":
        return _Dependent("dependent", is_discrete=is_discrete, event_dim=event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on parameters, so that it can't be checked by itself."""
    # `independent` around a dependent set is dependent too
    return isinstance(getattr(constraint, "base", constraint), _Dependent)


class dependent_property(property):
    """A property of a distribution: a constraint that depends on its parameters."""

    def __init__(
        self, fn: Callable[[Any], Constraint] | None = None, *, is_discrete: bool = False, event_dim: int = 0
    ):
        super().__init__(fn)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, fn: Rule) -> "dependent_property":
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


class independent(Constraint):
    """A constraint of events with `count` more dims: all elements of an event must be inside.

    base: the constraint of the elements. count: how many dims to add to the event.
    """

    def __init__(self, base: Constraint, count: int):
        super().__init__(f"independent({base}, {count})")
        self.base, self.count = base, count
        self.is_discrete, self.event_dim = base.is_discrete, base.event_dim + count

    def check(self, value: Any) -> Any:
        return all_last(self.base.check(value), self.count)


def all_last(inside: Any, count: int) -> Any:
    """all over the last `count` dims."""
    return inside.reshape(*inside.shape[: inside.ndim - count], -1).all(-1) if count else inside


class cat(Constraint):
    """Constraints of consecutive parts along a dim.

    cseq: the constraints. lengths: the size of each part.
    """

    def __init__(self, cseq: Iterable[Constraint], dim: int = 0, lengths: Iterable[int] | None = None):
        super().__init__("cat")
        self.cseq, self.dim = list(cseq), dim
        self.lengths = list(lengths) if lengths is not None else [1] * len(self.cseq)
        self.is_discrete = any(c.is_discrete for c in self.cseq)
        self.event_dim = max(c.event_dim for c in self.cseq)

    def check(self, value: Any) -> Any:
        parts: list[Tensor] = []
        start = 0
        for constraint, n in zip(self.cseq, self.lengths, strict=True):
            parts.append(constraint.check(value.narrow(self.dim, start, n)))
            start += n
        return COMPOSED["cat"](parts, self.dim)


class stack(Constraint):
    """Constraints of the slices along a dim. cseq: the constraints."""

    def __init__(self, cseq: Iterable[Constraint], dim: int = 0):
        super().__init__("stack")
        self.cseq, self.dim = list(cseq), dim
        self.is_discrete = any(c.is_discrete for c in self.cseq)
        self.event_dim = max(c.event_dim for c in self.cseq) + (dim < 0)

    def check(self, value: Any) -> Any:
        pairs = zip(self.cseq, value.unbind(self.dim), strict=True)
        return COMPOSED["stack"]([c.check(v) for c, v in pairs], self.dim)


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: a value must be in the support of every component. base: that support."""

    def __init__(self, base: Constraint):
        super().__init__(f"MixtureSameFamilyConstraint({base})")
        self.base, self.is_discrete, self.event_dim = base, base.is_discrete, base.event_dim

    def check(self, value: Any) -> Any:
        # [..., components], and all over them
        return self.base.check(value.unsqueeze(value.ndim - self.event_dim)).all(-1)


def _is_integer(x: Any) -> Any:
    # integers: all True, in the value's shape
    return x == x.floor() if x.dtype.is_float else x == x


def greater_than(lower_bound: Any) -> Constraint:
    """Values above lower_bound."""
    return Constraint(f"greater_than({lower_bound})", lambda x: x > lower_bound, lower_bound=lower_bound)


def greater_than_eq(lower_bound: Any) -> Constraint:
    """Values not below lower_bound."""
    return Constraint(f"greater_than_eq({lower_bound})", lambda x: x >= lower_bound, lower_bound=lower_bound)


def less_than(upper_bound: Any) -> Constraint:
    """Values below upper_bound."""
    return Constraint(f"less_than({upper_bound})", lambda x: x < upper_bound, upper_bound=upper_bound)


def _bounded(
    name: str, rule: Rule, low: Tensor | float, high: Tensor | float, **attributes: Any
) -> Constraint:
    return Constraint(f"{name}({low}, {high})", rule, lower_bound=low, upper_bound=high, **attributes)


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Values from lower_bound to upper_bound, both included."""
    return _bounded("interval", lambda x: (x >= lower_bound) & (x <= upper_bound), lower_bound, upper_bound)


def half_open_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Values from lower_bound up to but not including upper_bound."""
    return _bounded(
        "half_open_interval", lambda x: (x >= lower_bound) & (x < upper_bound), lower_bound, upper_bound
    )


def integer_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Integers from lower_bound to upper_bound, both included."""
    rule: Rule = lambda x: _is_integer(x) & (x >= lower_bound) & (x <= upper_bound)  # noqa: E731
    return _bounded("integer_interval", rule, lower_bound, upper_bound, is_discrete=True)


def multinomial(upper_bound: Any) -> Constraint:
    """Non-negative counts whose sum is at most upper_bound."""
    rule: Rule = lambda x: (x >= 0).all(-1) & (x.sum(-1) <= upper_bound)  # noqa: E731
    name = f"multinomial({upper_bound})"
    return Constraint(name, rule, is_discrete=True, event_dim=1, upper_bound=upper_bound)


def _is_symmetric(x: Any) -> Any:
    # float32 tolerances: a product such as A A^T is symmetric up to rounding only
    return all_last((x - x.mT).abs() <= 1e-5 + 1e-4 * x.abs(), 2)


def _is_square(x: Any) -> Any:
    is_square = x.shape[-2] == x.shape[-1]
    return Tensor.full(x.shape[:-2], is_square, device=x.device)


def _is_lower(x: Any) -> Any:
    return all_last(x.tril() == x, 2)


def _is_cholesky(x: Any) -> Any:
    return _is_lower(x) & (x.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _is_semidefinite(x: Any) -> Any:
    return _is_symmetric(x) & (COMPOSED["linalg_eigvalsh"](x) >= 0).all(-1)


def _is_definite(x: Any) -> Any:
    # info is 0 if the factorisation succeeds: cheaper than eigenvalues, as in torch
    return _is_symmetric(x) & (COMPOSED["linalg_cholesky_ex"](x)[1] == 0)


def _has_unit_rows(x: Any) -> Any:
    return _is_cholesky(x) & (((x * x).sum(-1) - 1).abs() <= 1e-4).all(-1)


dependent = _Dependent("dependent")
boolean = Constraint("boolean", lambda x: (x == 0) | (x == 1), is_discrete=True)
one_hot = Constraint(
    "one_hot", lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1), is_discrete=True, event_dim=1
)
real = Constraint("real", lambda x: x == x)  # excludes NaN, allows infinities, as torch does
real_vector = independent(real, 1)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
nonnegative_integer = Constraint("nonnegative_integer", lambda x: _is_integer(x) & (x >= 0), is_discrete=True)
positive_integer = Constraint("positive_integer", lambda x: _is_integer(x) & (x >= 1), is_discrete=True)
unit_interval = interval(0.0, 1.0)
simplex = Constraint("simplex", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-5), event_dim=1)
square = Constraint("square", _is_square, event_dim=2)
symmetric = Constraint("symmetric", _is_symmetric, event_dim=2)
positive_semidefinite = Constraint("positive_semidefinite", _is_semidefinite, event_dim=2)
positive_definite = Constraint("positive_definite", _is_definite, event_dim=2)
lower_triangular = Constraint("lower_triangular", _is_lower, event_dim=2)
lower_cholesky = Constraint("lower_cholesky", _is_cholesky, event_dim=2)
corr_cholesky = Constraint("corr_cholesky", _has_unit_rows, event_dim=2)
