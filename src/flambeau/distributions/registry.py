"""biject_to and transform_to: a constraint into a map from the real numbers onto it."""

from collections.abc import Callable
from typing import Any

from . import transforms
from .constraints import Constraint

# names (up to a bracket) of constraints: their map; torch has two tables, of which one holds one-to-one maps
BIJECTIONS: dict[str, Callable[[Any], Any]] = {}
MAPS: dict[str, Callable[[Any], Any]] = {}


class ConstraintRegistry:
    """The map onto a constraint; more by `register`. constraint: one of distributions.constraints."""

    def __init__(self, name: str, table: dict[str, Callable[[Any], Any]]):
        self.name, self._table = name, table

    def register(self, constraint: Constraint, factory: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Declare the map onto constraints of this kind. factory: from the constraint to the map."""
        self._table[kind_of(constraint)] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Any:
        factory = self._table.get(kind_of(constraint))
        if factory is None:
            raise NotImplementedError(f"{self.name}({constraint!r}): no map is registered: use register")
        return factory(constraint)


def kind_of(constraint: Any) -> str:
    return repr(constraint).partition("(")[0]


def _shifted(c: Any) -> Any:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(c.lower_bound, 1)]
    )


def _below(c: Any) -> Any:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(c.upper_bound, -1)]
    )


def _between(c: Any) -> Any:
    scale = c.upper_bound - c.lower_bound
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(c.lower_bound, scale)]
    )


biject_to = ConstraintRegistry("biject_to", BIJECTIONS)
transform_to = ConstraintRegistry("transform_to", MAPS)
for _registry in (biject_to, transform_to):
    for _kind, _factory in {
        "real": lambda c: transforms.identity_transform,
        "greater_than": _shifted,
        "greater_than_eq": _shifted,
        "less_than": _below,
        "interval": _between,
        "half_open_interval": _between,
        "lower_cholesky": lambda c: transforms.LowerCholeskyTransform(),
        "positive_definite": lambda c: transforms.PositiveDefiniteTransform(),
        "positive_semidefinite": lambda c: transforms.PositiveDefiniteTransform(),
        "corr_cholesky": lambda c: transforms.CorrCholeskyTransform(),
        "simplex": lambda c: transforms.StickBreakingTransform(),
    }.items():
        _registry._table[_kind] = _factory
    _registry._table["independent"] = lambda c, of=_registry: transforms.IndependentTransform(
        of(c.base), c.count
    )
    _registry._table["cat"] = lambda c, of=_registry: transforms.CatTransform(
        [of(part) for part in c.cseq], c.dim, c.lengths
    )
    _registry._table["stack"] = lambda c, of=_registry: transforms.StackTransform(
        [of(part) for part in c.cseq], c.dim
    )
MAPS["simplex"] = lambda c: transforms.SoftmaxTransform()
