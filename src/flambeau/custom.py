"""Declares custom ops from a user's WGSL: an expression, which fuses, or opaque kernels."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from .codegen.render import add_template, undefined_names
from .core import dtype as dt
from .core.op import COMPOSED, OPS, Op
from .core.shape import broadcast
from .core.tree import is_sequence
from .errors import KernelError, suggest

_versions: dict[str, Iterator[int]] = {}


def custom_op(
    name: str,
    inputs: Sequence[str],
    *,
    reference: Callable[..., Any],
    expression: str | None = None,
    kernel: str | None = None,
    launch: Callable[..., Any] | None = None,
    grad: Callable[..., Any] | None = None,
    shape: Callable[..., Any] = broadcast,
    dtype: Callable[..., Any] | dt.DType = dt.promote,
    cost: int = 4,
    doc: str = "",
) -> Op:
    """Declare an op in WGSL (docs/custom_ops.md). Returns the op, a function of tensors.

    expression: the WGSL of one element with the inputs as {{ x }} and the type as {{ T }}; it fuses. kernel,
    launch: alternatively, a template that extends launch.wgsl, and a function (limits, *nodes, **attrs) -> a
    list of Launch, in which "" stands for that template. reference, grad, shape, dtype, cost: as in op.Op;
    doc: its docstring. A backward through an op without grad raises TypeError. ValueError for a name that is
    used or not an identifier; KernelError for a text that is not a template, or uses another name.
    """
    if not name.isidentifier() or name in OPS or name in COMPOSED:
        raise ValueError(
            f"custom_op({name!r}): the name is already used or is not an identifier: choose another"
        )
    # A kernel needs its launch; an expression is launched by the planner.
    if (expression is None) == (kernel is None) or (kernel is None) != (launch is None):
        raise ValueError(f"custom_op({name!r}): pass either expression=, or kernel= and launch=")
    version = next(_versions.setdefault(name, count()))
    # A name that is declared again, as in a notebook, gets a number: cached plans contain the name.
    unique = f"{name}_{version}" if version else name
    common: dict[str, Any] = {"name": unique, "doc": doc, "xp": reference, "cost": cost}
    common["grad"] = _check_count(name, grad) if grad else NoGradient(name)

    def same_dtype(*_: Any, **__: Any) -> Any:
        return dtype

    # A fixed dtype becomes a function, as Op expects.
    common |= {"shape": shape, "dtype": dtype if callable(dtype) else same_dtype}
    if expression is not None:
        add_template(f"{unique}.wgsl", _macro(inputs, expression))
        _check_names(name, inputs, expression)
        return Op("elementwise", operands=common["dtype"], operand_names=tuple(inputs), **common)
    assert kernel is not None and launch is not None
    add_template(f"{unique}.wgsl", kernel)
    return Op("opaque", launch=_name_template(launch, f"{unique}.wgsl"), **common)


class NoGradient:
    """The gradient rule of an op without a gradient: a call raises TypeError. It is false in a test."""

    def __init__(self, name: str):
        self.name = name

    def __bool__(self) -> bool:
        return False

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"custom_op({self.name!r}): it has no gradient: define it with grad=, or detach its inputs"
        )


def _check_count(name: str, grad: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a gradient rule with a check that it returns a gradient for each input."""

    def rule(g: Any, y: Any, *inputs: Any, **attrs: Any) -> Any:
        gradients = grad(g, y, *inputs, **attrs)
        count = len(gradients) if is_sequence(gradients) else None
        # None for inputs without a gradient counts too.
        if count == len(inputs):
            return gradients
        returned = f"a {type(gradients).__name__}" if count is None else f"{count} gradients"
        rule = (
            f"it has {len(inputs)} inputs: return [{', '.join('g' * len(inputs))}], with None"
            " for inputs without a gradient"
        )
        raise TypeError(f"custom_op({name!r}): its grad returned {returned}, and {rule}")

    return rule


def _macro(inputs: Sequence[str], expression: str) -> str:
    # Parentheses keep the expression's meaning inside of another.
    return f"{{% macro value(T, {', '.join(inputs)}) %}}({expression.strip()}){{% endmacro %}}\n"


def _check_names(name: str, inputs: Sequence[str], expression: str) -> None:
    """KernelError for a name in braces that is not an input."""
    for unknown in undefined_names(_macro(inputs, expression)):
        placeholders = ", ".join(f"{{{{ {n} }}}}" for n in (*inputs, "T"))
        rule = f"the expression has {{{{ {unknown} }}}}, which is not an input{suggest(unknown, inputs)}"
        raise KernelError(f"custom_op({name!r}): {rule}: use {placeholders}")


def _name_template(launch: Callable[..., Any], template: str) -> Callable[..., Any]:
    """Wrap a launch rule so that a Launch without a template gets the op's."""
    from dataclasses import replace

    def rule(limits: Any, *nodes: Any, **attrs: Any) -> list[Any]:
        return [replace(a, template=a.template or template) for a in launch(limits, *nodes, **attrs)]

    return rule
