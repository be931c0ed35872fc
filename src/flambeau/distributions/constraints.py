"""Where parameters and values may lie: each constraint checks tensors, and says how many of the last dims it
is about."""

from collections.abc import Callable
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


class Constraint:
    """A set that tensors may lie in. `check(value)` is True for each element (or vector, or matrix) inside.

    event_dim: how many of the last dims belong together. is_discrete: whether it has whole numbers alone.
    """

    is_discrete = False
    event_dim = 0

    def __init__(self, name: str = "", rule: Callable[[Any], Any] | None = None, **facts: Any):
        self.name, self.rule = name or type(self).__name__, rule
        for key, value in facts.items():
            setattr(self, key, value)

    def check(self, value: Any) -> Any:
        """Whether each element is inside. [..., *event] -> [...]"""
        assert self.rule is not None
        return self.rule(value)

    def __repr__(self) -> str:
        return self.name


class _Dependent(Constraint):
    """Where values lie follows from parameters."""

    def check(self, value: Any) -> Any:
        raise ValueError(f"check(...): {self.name} follows from parameters: ask the distribution's support")

    def __call__(self, *, is_discrete: bool = False, event_dim: int = 0) -> "_Dependent":
        return _Dependent("dependent", is_discrete=is_discrete, event_dim=event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint follows from parameters, and so can't be checked by itself."""
    return isinstance(getattr(constraint, "base", constraint), _Dependent)


class dependent_property(property):
    """A property of a distribution that is a constraint made of its parameters."""

    def __init__(self, fn: Callable | None = None, *, is_discrete: bool = False, event_dim: int = 0):
        super().__init__(fn)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable) -> "dependent_property":
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


class independent(Constraint):
    """A constraint whose last dims count as one event: all elements must be inside.

    base: the constraint of the elements. count: how many dims more.
    """

    def __init__(self, base: Constraint, count: int):
        super().__init__(f"independent({base}, {count})")
        self.base, self.count = base, count
        self.is_discrete, self.event_dim = base.is_discrete, base.event_dim + count

    def check(self, value: Any) -> Any:
        return all_last(self.base.check(value), self.count)


def all_last(found: Any, count: int) -> Any:
    """all over the last dims."""
    return found.reshape(*found.shape[: found.ndim - count], -1).all(-1) if count else found


class cat(Constraint):
    """Constraints of parts that lie one behind the other along a dim.

    cseq: the constraints. lengths: how long each part is.
    """

    def __init__(self, cseq: Any, dim: int = 0, lengths: Any = None):
        super().__init__("cat")
        self.cseq, self.dim = list(cseq), dim
        self.lengths = list(lengths) if lengths is not None else [1] * len(self.cseq)
        self.is_discrete = any(c.is_discrete for c in self.cseq)
        self.event_dim = max(c.event_dim for c in self.cseq)

    def check(self, value: Any) -> Any:
        parts, start = [], 0
        for constraint, n in zip(self.cseq, self.lengths, strict=True):
            parts.append(constraint.check(value.narrow(self.dim, start, n)))
            start += n
        return COMPOSED["cat"](parts, self.dim)


class stack(Constraint):
    """Constraints of the slices along a dim. cseq: the constraints."""

    def __init__(self, cseq: Any, dim: int = 0):
        super().__init__("stack")
        self.cseq, self.dim = list(cseq), dim
        self.is_discrete = any(c.is_discrete for c in self.cseq)
        self.event_dim = max(c.event_dim for c in self.cseq) + (dim < 0)

    def check(self, value: Any) -> Any:
        pairs = zip(self.cseq, value.unbind(self.dim), strict=True)
        return COMPOSED["stack"]([c.check(v) for c, v in pairs], self.dim)


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: a value must be in those of all components. base: that of the components."""

    def __init__(self, base: Constraint):
        super().__init__(f"MixtureSameFamilyConstraint({base})")
        self.base, self.is_discrete, self.event_dim = base, base.is_discrete, base.event_dim

    def check(self, value: Any) -> Any:
        found = self.base.check(value.unsqueeze(value.ndim - self.event_dim))
        return found.all(-1)


def _whole(x: Any) -> Any:
    return x == x.floor() if x.dtype.is_float else x == x


def greater_than(lower_bound: Any) -> Constraint:
    """Above lower_bound."""
    return Constraint(f"greater_than({lower_bound})", lambda x: x > lower_bound, lower_bound=lower_bound)


def greater_than_eq(lower_bound: Any) -> Constraint:
    """From lower_bound on."""
    return Constraint(f"greater_than_eq({lower_bound})", lambda x: x >= lower_bound, lower_bound=lower_bound)


def less_than(upper_bound: Any) -> Constraint:
    """Below upper_bound."""
    return Constraint(f"less_than({upper_bound})", lambda x: x < upper_bound, upper_bound=upper_bound)


def _between(name: str, rule: Callable, low: Any, high: Any, **facts: Any) -> Constraint:
    return Constraint(f"{name}({low}, {high})", rule, lower_bound=low, upper_bound=high, **facts)


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """From lower_bound to upper_bound, both inside."""
    rule = lambda x: (x >= lower_bound) & (x <= upper_bound)  # noqa: E731
    return _between("interval", rule, lower_bound, upper_bound)


def half_open_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """From lower_bound to upper_bound, which is outside."""
    rule = lambda x: (x >= lower_bound) & (x < upper_bound)  # noqa: E731
    return _between("half_open_interval", rule, lower_bound, upper_bound)


def integer_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Whole numbers from lower_bound to upper_bound, both inside."""
    rule = lambda x: _whole(x) & (x >= lower_bound) & (x <= upper_bound)  # noqa: E731
    return _between("integer_interval", rule, lower_bound, upper_bound, is_discrete=True)


def multinomial(upper_bound: Any) -> Constraint:
    """Counts, from 0 on, that add up to at most upper_bound."""
    rule = lambda x: (x >= 0).all(-1) & (x.sum(-1) <= upper_bound)  # noqa: E731
    name = f"multinomial({upper_bound})"
    return Constraint(name, rule, is_discrete=True, event_dim=1, upper_bound=upper_bound)


def _is_symmetric(x: Any) -> Any:
    return all_last((x - x.mT).abs() <= 1e-5 + 1e-4 * x.abs(), 2)


def _is_square(x: Any) -> Any:
    same = x.shape[-2] == x.shape[-1]
    return Tensor.full(x.shape[:-2], same, device=x.device)


def _is_lower(x: Any) -> Any:
    return all_last(x.tril() == x, 2)


def _is_cholesky(x: Any) -> Any:
    return _is_lower(x) & (x.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _is_semidefinite(x: Any) -> Any:
    return _is_symmetric(x) & (COMPOSED["linalg_eigvalsh"](x) >= 0).all(-1)


def _is_definite(x: Any) -> Any:
    return _is_symmetric(x) & (COMPOSED["linalg_cholesky_ex"](x)[1] == 0)


def _has_unit_rows(x: Any) -> Any:
    return _is_cholesky(x) & (((x * x).sum(-1) - 1).abs() <= 1e-4).all(-1)


dependent = _Dependent("dependent")
boolean = Constraint("boolean", lambda x: (x == 0) | (x == 1), is_discrete=True)
one_hot = Constraint(
    "one_hot", lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1), is_discrete=True, event_dim=1
)
real = Constraint("real", lambda x: x == x)
real_vector = independent(real, 1)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
nonnegative_integer = Constraint("nonnegative_integer", lambda x: _whole(x) & (x >= 0), is_discrete=True)
positive_integer = Constraint("positive_integer", lambda x: _whole(x) & (x >= 1), is_discrete=True)
unit_interval = interval(0.0, 1.0)
simplex = Constraint("simplex", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-5), event_dim=1)
square = Constraint("square", _is_square, event_dim=2)
symmetric = Constraint("symmetric", _is_symmetric, event_dim=2)
positive_semidefinite = Constraint("positive_semidefinite", _is_semidefinite, event_dim=2)
positive_definite = Constraint("positive_definite", _is_definite, event_dim=2)
lower_triangular = Constraint("lower_triangular", _is_lower, event_dim=2)
lower_cholesky = Constraint("lower_cholesky", _is_cholesky, event_dim=2)
corr_cholesky = Constraint("corr_cholesky", _has_unit_rows, event_dim=2)
