"""Types of the rules that the decorators of ops take, for type checkers.

A rule takes an op's inputs by position and its attributes by keyword. A lambda gets the types of its
parameters from the alternative with as many parameters. A function with other parameters (`*inputs`,
keywords) is an `AnyRule`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Required, TypeAlias, TypedDict, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..device.array_namespace import Namespace
    from ..tensor import Tensor
    from .dtype import DType
    from .op import Launch
    from .shape import Shape

    Result = TypeVar("Result", covariant=True)

    class AnyRule(Protocol[Result]):
        """A function of any parameters. It is overloaded so that pyright infers no lambda from it."""

        @overload
        def __call__(self, *inputs: Any, **attrs: Any) -> Result: ...
        @overload
        def __call__(  # pyright: ignore[reportOverlappingOverload]: see above
            self, first: Any, /, *inputs: Any, **attrs: Any
        ) -> Result: ...

    # (g, y, *inputs, **attrs): a gradient, or None, for each input
    Gradients: TypeAlias = Sequence[Tensor | None]
    Gradient: TypeAlias = (
        Callable[[Tensor, Tensor, Tensor], Gradients]
        | Callable[[Tensor, Tensor, Tensor, Any], Gradients]
        | Callable[[Tensor, Tensor, Tensor, Any, Any], Gradients]
        | Callable[[Tensor, Tensor, Tensor, Any, Any, Any], Gradients]
        | AnyRule[Gradients]
    )
    # (g, y, *inputs), of an op without attributes
    OperandGradient: TypeAlias = (
        Callable[[Tensor, Tensor, Tensor], Gradients]
        | Callable[[Tensor, Tensor, Tensor, Tensor], Gradients]
        | Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Gradients]
        | AnyRule[Gradients]
    )
    # (xp, *arrays, **attrs): an array, of the library that `xp` stands for
    Array: TypeAlias = Any
    Reference: TypeAlias = (
        Callable[[Namespace, Array], Array]
        | Callable[[Namespace, Array, Any], Array]
        | Callable[[Namespace, Array, Any, Any], Array]
        | Callable[[Namespace, Array, Any, Any, Any], Array]
        | AnyRule[Array]
    )
    ShapeRule: TypeAlias = (
        Callable[[Shape], Shape]
        | Callable[[Shape, Any], Shape]
        | Callable[[Shape, Any, Any], Shape]
        | Callable[[Shape, Any, Any, Any], Shape]
        | AnyRule[Shape]
    )
    DTypeRule: TypeAlias = (
        Callable[[DType], DType]
        | Callable[[DType, Any], DType]
        | Callable[[DType, Any, Any], DType]
        | Callable[[DType, Any, Any, Any], DType]
        | AnyRule[DType]
    )
    # the dtype of all operands, or of each
    OperandRule: TypeAlias = (
        Callable[[DType], DType | tuple[DType, ...]]
        | Callable[[DType, DType], DType | tuple[DType, ...]]
        | Callable[[DType, DType, DType], DType | tuple[DType, ...]]
        | AnyRule[DType | tuple[DType, ...]]
    )
    # of an op's signature form: (inputs, attrs), or the result of another op
    Prepared: TypeAlias = tuple[Sequence[Any], dict[str, Any]] | Tensor
    # (limits, *nodes, **attrs)
    LaunchRule: TypeAlias = Callable[..., Sequence[Launch]]

    class OperandRules(TypedDict, total=False):
        """Fields of `Op` that elementwise ops seldom set."""

        operands: OperandRule
        holomorphic: bool
        refusal: str

    class Rules(OperandRules, total=False):
        """Fields of `Op` that a decorator passes on."""

        xp: Required[Reference]
        grad: Gradient | None
        shape: ShapeRule
        dtype: DTypeRule
        launch: LaunchRule
        cost: int
        order: str
        part: str
        reads_packed: bool
        packs: bool
        dtypes: str
        monoid: str
