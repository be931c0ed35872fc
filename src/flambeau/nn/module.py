"""Module, a tree of parameters, buffers and modules with PyTorch's names, and containers of modules."""

from collections.abc import Callable, Iterable, Iterator
from inspect import Parameter as Argument
from inspect import Signature, signature
from typing import Any, NamedTuple, Self

from ..capture.compile import compile_call
from ..core.docstrings import explained
from ..core.dtype import DType, bfloat16, float16, float32
from ..core.modes import no_grad
from ..core.node import describe
from ..core.op import Op
from ..errors import nearest
from ..runtime.state import with_next_run
from ..tensor import Tensor, tensor


@explained
class Parameter(Tensor):
    """A tensor that a module owns and that gradients are taken by. [...] -> [...]"""

    def __init__(self, data: Tensor, requires_grad: bool = True):
        super().__init__(data.node)
        self.requires_grad_(requires_grad)
        with_next_run(self)


class Keys(NamedTuple):
    """What load_state_dict found no tensor for, and what it had no use for."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Module:
    """A layer or a model: set parameters and modules as attributes, write `forward`, call the module."""

    training: bool
    _buffer_names: dict[str, bool]

    def __new__(cls, *_args: Any, **_kw: Any) -> Self:
        self = super().__new__(cls)  # here and not in __init__: a subclass need not call super().__init__()
        self.training, self._buffer_names = True, {}
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; TypeError for a plain tensor where a parameter is, which would be one no more."""
        is_plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
        if is_plain and isinstance(vars(self).get(name), Parameter):
            given = f"{type(self).__name__}.{name} = {describe(value)}"
            raise TypeError(
                f"{given}: {name} is a parameter: change it in place inside no_grad (`{name}.copy_(t)`),"
                " or give nn.Parameter(t)"
            )
        object.__setattr__(self, name, value)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; subclasses write it."""
        raise NotImplementedError(f"{type(self).__name__}(...): has no forward: define forward(self, x)")

    def __call__(self, *args: Any, **kw: Any) -> Any:
        return self.forward(*args, **kw)

    # --- what it is made of ---

    def register_buffer(self, name: str, value: Tensor | None, persistent: bool = True) -> None:
        """Set a tensor that is state but no parameter; state_dict leaves it out when not persistent."""
        self._buffer_names[name] = persistent
        setattr(self, name, value)
        if value is not None:
            with_next_run(value)

    def _own(self, kind: type) -> Iterator[tuple[str, Any]]:
        """(name, value) of its own parameters (kind Parameter), buffers (Tensor) or modules (Module)."""
        for name, value in list(vars(self).items()):
            if isinstance(value, kind) and (name in self._buffer_names) == (kind is Tensor):
                yield name, value

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        """(name, module) of the modules directly inside."""
        yield from self._own(Module)

    def children(self) -> Iterator["Module"]:
        """The modules directly inside."""
        return (m for _, m in self.named_children())

    def _tree(self, prefix: str = "") -> Iterator[tuple[str, "Module"]]:
        """(prefix of its names, module) for this module and all inside, a shared one each time."""
        yield prefix, self
        for name, m in self.named_children():
            yield from m._tree(f"{prefix}{name}.")

    def named_modules(self) -> Iterator[tuple[str, "Module"]]:
        """(dotted name, module) for this module, whose name is empty, and all inside, each once."""
        yield from _once((prefix[:-1], m) for prefix, m in self._tree())

    def modules(self) -> Iterator["Module"]:
        """This module and all inside, each once."""
        return (m for _, m in self.named_modules())

    def _named(self, kind: type) -> Iterator[tuple[str, Any]]:
        return _once((prefix + name, t) for prefix, m in self._tree() for name, t in m._own(kind))

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter) for all parameters, a shared one once."""
        return self._named(Parameter)

    def parameters(self) -> Iterator[Parameter]:
        """All parameters, a shared one once."""
        return (p for _, p in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """(dotted name, tensor) for all buffers."""
        return self._named(Tensor)

    def buffers(self) -> Iterator[Tensor]:
        """All buffers."""
        return (b for _, b in self.named_buffers())

    def num_parameters(self) -> int:
        """How many numbers the parameters hold."""
        return sum(p.numel() for p in self.parameters())

    # --- changing all of it ---

    def apply(self, f: Callable[["Module"], Any]) -> Self:
        """Call f with every module inside, then with this one; returns self."""
        for m in self.children():
            m.apply(f)
        f(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Choose how dropout and batch norm act, here and in all modules inside; returns self."""
        for m in self.modules():
            m.training = mode
        return self

    def eval(self) -> Self:
        """The same as train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Thaw (or freeze) all parameters; returns self."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def to(self, where: Any) -> Self:
        """Move parameters and buffers to a device, or the floats among them to a dtype; the tensors stay the
        same objects. Returns self."""
        is_dtype = isinstance(where, DType | type)
        for t in [*self.parameters(), *self.buffers()]:
            if is_dtype and not t.dtype.is_float:
                continue
            wanted = t.requires_grad
            t.node = t.detach().to(where).node
            t.requires_grad_(wanted)
            with_next_run(t)
        return self

    def compile(self, *example: Any, train: bool = False, **kw: Any) -> int:
        """Plan and compile what a call with inputs like these computes, without running it; the number of its
        kernels.

        The first call with such inputs then takes no longer than later ones. train: the gradients of the
        result's sum by the parameters too. Pipelines are compiled several at once, with a bar on a terminal.
        """

        def call() -> Any:
            y = self(*example, **kw)
            return [y, *y.sum().backward()] if train else y

        return compile_call(call)

    def half(self) -> Self:
        """Parameters and float buffers as float16; returns self."""
        return self.to(float16)

    def bfloat16(self) -> Self:
        """Parameters and float buffers as bfloat16; returns self."""
        return self.to(bfloat16)

    def float(self) -> Self:
        """Parameters and float buffers as float32; returns self."""
        return self.to(float32)

    # --- its state ---

    def _state(self) -> dict[str, Tensor]:
        """The live tensors by name: of each module its parameters, then its buffers, then those inside."""
        state: dict[str, Tensor] = {}
        self._collect("", state)
        return state

    def _collect(self, prefix: str, state: dict[str, Tensor]) -> None:
        for kind in (Parameter, Tensor):
            own = self._own(kind)
            state.update((prefix + name, t) for name, t in own if self._buffer_names.get(name, True))
        for name, m in self.named_children():
            m._collect(f"{prefix}{name}.", state)

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and buffers by PyTorch's names, in its layouts, with the values they have now."""
        return {name: tensor(t) for name, t in self._state().items()}

    def load_state_dict(self, state: dict[str, Any], strict: bool = True) -> Keys:
        """Take the values of tensors or arrays by name.

        ValueError lists all that is missing, unexpected (both only when strict) or of another shape, and
        nothing is loaded then.
        """
        own = self._state()
        keys = Keys([n for n in own if n not in state], [n for n in state if n not in own])
        bad = [n for n in own if n in state and tuple(state[n].shape) != own[n].shape]
        problems = _listed("missing", keys.missing_keys, lambda n: repr(n)) if strict else []
        if strict:
            known = keys.missing_keys or list(own)
            problems += _listed("unexpected", keys.unexpected_keys, lambda n: _unexpected(n, known))
        problems += _listed("of another shape", bad, lambda n: _shapes(n, own[n], state[n]))
        if problems:
            cure = "give a state_dict of the same model" + ("" if bad else ", or strict=False")
            raise ValueError(f"load_state_dict({len(state)} tensors): {'; '.join(problems)}: {cure}")
        with no_grad():
            for name in own.keys() & state.keys():
                own[name].assign_(state[name])
        return keys

    def save(self, path: Any) -> None:
        """Write state_dict to a .safetensors file; FlambeauError when it can't be written."""
        from ..io.safetensors import save_file

        save_file(self.state_dict(), path)

    def load(self, path: Any, strict: bool = True) -> Keys:
        """Take the values of a .safetensors file; errors as load_state_dict's, or naming the file."""
        from ..io.safetensors import load_file

        return self.load_state_dict(load_file(path, device="cpu"), strict)

    # --- printing ---

    def extra_repr(self) -> str:
        """What stands in the brackets when the module is printed."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): {m!r}".replace("\n", "\n  ") for name, m in self.named_children()]
        inside = "".join(f"\n  {line}" for line in lines)
        return f"{type(self).__name__}({self.extra_repr()}{inside + chr(10) if inside else ''})"


def _once(pairs: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    seen: set[int] = set()
    for name, value in pairs:
        if id(value) not in seen:
            seen.add(id(value))
            yield name, value


def _listed(what: str, names: list[str], tell: Callable[[str], str]) -> list[str]:
    return [f"{len(names)} {what}: " + ", ".join(map(tell, names))] if names else []


def _unexpected(name: str, known: list[str]) -> str:
    hint = nearest(name, known)
    return f"{name!r} ({hint})" if hint else repr(name)


def _shapes(name: str, own: Tensor, given: Any) -> str:
    return f"{name!r} is {describe(own)}, given {list(given.shape)}"


@explained
class Sequential(Module):
    """Modules one after another; give them, or one dict of name to module."""

    def __init__(self, *modules: Any):
        only = modules[0] if len(modules) == 1 else None
        for name, m in only.items() if isinstance(only, dict) else enumerate(modules):
            _check_module(self, m)
            setattr(self, str(name), m)

    def forward(self, x: Any) -> Any:
        for m in self.children():
            x = m(x)
        return x

    def append(self, module: Module) -> "Sequential":
        """Add a module at the end; returns self."""
        _check_module(self, module)
        setattr(self, str(len(self)), module)
        return self

    def __len__(self) -> int:
        return sum(1 for _ in self.children())

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __getitem__(self, index: int | slice) -> Any:
        chosen = list(self.children())[index]
        return type(self)(*chosen) if isinstance(chosen, list) else chosen


class ModuleList(Sequential):
    """A list of modules that a module's parameters include; it has no forward."""

    def __init__(self, modules: Iterable[Module] = ()):
        super().__init__(*modules)

    def forward(self, x: Any) -> Any:
        rule = "is a list, not a layer: call its modules, or use Sequential"
        raise TypeError(f"ModuleList({describe(x)}): {rule}")

    def __getitem__(self, index: int | slice) -> Any:
        chosen = list(self.children())[index]
        return ModuleList(chosen) if isinstance(chosen, list) else chosen


def _check_module(owner: Module, module: Any) -> None:
    if not isinstance(module, Module):
        name = type(owner).__name__
        raise TypeError(f"{name}({describe(module)}): takes modules: give an nn.Module, as nn.ReLU()")


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
    name: str, function: Callable, inputs: int = 1, last: tuple[str, ...] = (), **defaults: Any
) -> type[Any]:
    """Make a module class of a function: its arguments after the inputs are given when the module is made.

    `last` are arguments that PyTorch's layer has behind the others, in another order than its function.
    `inplace` is taken and has no meaning: the planner decides where values are kept.
    """
    settings = [] if isinstance(function, Op) else _operands(function)[inputs:]
    settings.sort(key=lambda p: p.name in last)
    rules = Signature([p.replace(default=defaults.get(p.name, p.default)) for p in settings])

    def __init__(self, *args, inplace: bool = False, **kw):
        try:
            bound = rules.bind(*args[: len(settings)], **kw)
            if args[len(settings) + 1 :]:
                raise TypeError("too many positional arguments")
        except TypeError as e:
            shown = ", ".join([*map(describe, args), *(f"{k}={describe(v)}" for k, v in kw.items())])
            raise TypeError(f"{name}({shown}): {e}: it takes {rules}") from None
        bound.apply_defaults()
        for key, value in bound.arguments.items():
            self.register_buffer(key, value) if isinstance(value, Tensor) else setattr(self, key, value)

    def forward(self, *tensors):
        return function(*tensors, **{p.name: getattr(self, p.name) for p in settings})

    def extra_repr(self):
        pairs = [(p, getattr(self, p.name)) for p in settings]
        return ", ".join(f"{p.name}={v!r}" for p, v in pairs if not isinstance(v, Tensor) and v != p.default)

    inplace = Argument("inplace", Argument.POSITIONAL_OR_KEYWORD, default=False, annotation=bool)
    _sign(__init__, [*rules.parameters.values(), inplace], None)
    _sign(forward, _operands(function)[:inputs], Tensor)
    doc = function.doc if isinstance(function, Op) else function.__doc__
    members = {"__init__": __init__, "forward": forward, "extra_repr": extra_repr, "__doc__": doc}
    return type(name, (Module,), {**members, "__module__": "flambeau.nn", "__signature__": rules})
