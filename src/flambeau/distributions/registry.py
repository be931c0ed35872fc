"""biject_to and transform_to: the map from the real numbers onto the set of a constraint."""

from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from . import transforms
from .constraints import Constraint

Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """Finds the map onto a constraint; `register` adds maps. constraint: one of distributions.constraints."""

    def __init__(self, name: str):
        self.name = name
        self.table: dict[str, Factory] = {}  # by the constraint's name without bounds: "greater_than"

    def register(self, constraint: Constraint, factory: Factory) -> Factory:
        """Declare the map onto constraints of this kind. factory: from a constraint to its map."""
        self.table[kind_of(constraint)] = factory
        return factory

    def __call__(self, constraint: Constraint) -> transforms.Transform:
        factory = self.table.get(kind_of(constraint))
        if factory is None:
            raise NotImplementedError(f"{self.name}({constraint!r}): no map is registered: use register")
        return factory(constraint)


def kind_of(constraint: Any) -> str:
    """Return the name of a constraint, without its bounds."""
    return repr(constraint).partition("(")[0]


def _compose_affine(
    first: transforms.Transform, loc: Tensor | float, scale: Tensor | float
) -> transforms.Transform:
    return transforms.ComposeTransform([first, transforms.AffineTransform(loc, scale)])


def _transform_above(c: Any) -> transforms.Transform:
    return _compose_affine(transforms.ExpTransform(), c.lower_bound, 1)


def _transform_below(c: Any) -> transforms.Transform:
    return _compose_affine(transforms.ExpTransform(), c.upper_bound, -1)


def _transform_between(c: Any) -> transforms.Transform:
    return _compose_affine(transforms.SigmoidTransform(), c.lower_bound, c.upper_bound - c.lower_bound)


def _factories(of: ConstraintRegistry) -> dict[str, Factory]:
    """Return the maps that both tables have. of: the registry that finds the maps of nested constraints."""
    return {
        "real": lambda c: transforms.identity_transform,
        "greater_than": _transform_above,
        "greater_than_eq": _transform_above,
        "less_than": _transform_below,
        "interval": _transform_between,
        "half_open_interval": _transform_between,
        "lower_cholesky": lambda c: transforms.LowerCholeskyTransform(),
        "positive_definite": lambda c: transforms.PositiveDefiniteTransform(),
        "positive_semidefinite": lambda c: transforms.PositiveDefiniteTransform(),
        "corr_cholesky": lambda c: transforms.CorrCholeskyTransform(),
        "simplex": lambda c: transforms.StickBreakingTransform(),
        "independent": lambda c: transforms.IndependentTransform(of(c.base), c.count),
        "cat": lambda c: transforms.CatTransform([of(part) for part in c.cseq], c.dim, c.lengths),
        "stack": lambda c: transforms.StackTransform([of(part) for part in c.cseq], c.dim),
    }


biject_to, transform_to = ConstraintRegistry("biject_to"), ConstraintRegistry("transform_to")
for _registry in (biject_to, transform_to):
    _registry.table.update(_factories(_registry))
# need not be one-to-one: softmax is cheaper than stick breaking, and mostly elementwise
transform_to.table["simplex"] = lambda c: transforms.SoftmaxTransform()
