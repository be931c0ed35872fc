"""Functions into layers: their arguments after the inputs are given when the layer is made."""

from collections.abc import Callable
from inspect import Parameter as Argument
from inspect import Signature, signature
from typing import Any

from ..core.node import describe
from ..core.op import Op
from ..core.out import IN_PLACE
from ..tensor import Tensor
from .module import Module


def _operands(function: Callable) -> list[Argument]:
    """The arguments of an op or a function; a method's self is `input`."""
    if isinstance(function, Op) and function.prepare is None:
        return [Argument(name, Argument.POSITIONAL_OR_KEYWORD) for name in function.operand_names]
    called: Any = function.prepare if isinstance(function, Op) else function
    arguments = signature(called).parameters.values()
    return [p.replace(name="input") if p.name == "self" else p for p in arguments]


def _sign(method: Callable, arguments: list[Argument], result: Any) -> None:
    """Give a method that takes anything the signature that is shown to users."""
    own = Argument("self", Argument.POSITIONAL_OR_KEYWORD)
    vars(method)["__signature__"] = Signature([own, *arguments], return_annotation=result)


def layer(
    name: str,
    function: Callable,
    inputs: int = 1,
    last: tuple[str, ...] = (),
    shows_all: bool = False,
    called: tuple[str, ...] = (),
    **defaults: Any,
) -> type[Any]:
    """Make a module class of a function: its arguments after the inputs are given when the module is made.

    `last` are arguments that PyTorch's layer has behind the others, in another order than its function;
    `called` those that a call is given, behind the inputs.
    Of functions that take `inplace`, so does the layer. Printed are arguments that are not the usual ones,
    or all (`shows_all`) where PyTorch prints them.
    """
    settings = [] if isinstance(function, Op) else _operands(function)[inputs:]
    call_rules = Signature([*_operands(function)[:inputs], *(p for p in settings if p.name in called)])
    settings = [p for p in settings if p.name not in called]
    settings.sort(key=lambda p: p.name in last)
    rules = Signature([p.replace(default=defaults.get(p.name, p.default)) for p in settings])

    places = sum(p.kind is not p.KEYWORD_ONLY for p in settings)

    takes = (function.name if isinstance(function, Op) else function.__name__) in IN_PLACE

    def __init__(self, *args, **kw):
        self.inplace = takes and bool(kw.pop("inplace", args[places] if len(args) > places else False))
        try:
            bound = rules.bind(*args[:places], **kw)
            if args[places + takes :]:
                raise TypeError("too many positional arguments")
        except TypeError as e:
            shown = ", ".join([*map(describe, args), *(f"{k}={describe(v)}" for k, v in kw.items())])
            raise TypeError(f"{name}({shown}): {e}: it takes {rules}") from None
        bound.apply_defaults()
        for key, value in bound.arguments.items():
            self.register_buffer(key, value) if isinstance(value, Tensor) else setattr(self, key, value)

    def forward(self, *tensors):
        given = {p.name: getattr(self, p.name) for p in settings}
        return function(*tensors, **given, inplace=True) if self.inplace else function(*tensors, **given)

    def forward_with_more(self, *values, **named):
        given = call_rules.bind(*values, **named).arguments
        return function(**given, **{p.name: getattr(self, p.name) for p in settings})

    def extra_repr(self):
        pairs = [(p, getattr(self, p.name)) for p in (*settings, inplace)]
        return ", ".join(
            f"{p.name}={v!r}"
            for p, v in pairs
            if not isinstance(v, Tensor) and ((shows_all and p is not inplace) or v != p.default)
        )

    inplace = Argument("inplace", Argument.POSITIONAL_OR_KEYWORD, default=False, annotation=bool)
    given = [*rules.parameters.values(), *([inplace] if takes else [])]
    given.sort(key=lambda p: p.kind is p.KEYWORD_ONLY)
    _sign(__init__, given, None)
    called_as = forward_with_more if called else forward
    _sign(called_as, [*call_rules.parameters.values()], Tensor)
    doc = function.doc if isinstance(function, Op) else function.__doc__
    members = {"__init__": __init__, "forward": called_as, "extra_repr": extra_repr, "__doc__": doc}
    return type(name, (Module,), {**members, "__module__": "flambeau.nn", "__signature__": Signature(given)})
