"""Module, a tree of parameters, buffers and modules with PyTorch's names."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any, NamedTuple, Self
from warnings import warn

from ..capture.compile import compile_call
from ..core.dtype import DType, as_dtype, bfloat16, float16, float32
from ..core.modes import no_grad
from ..core.node import describe
from ..core.printing import table_in_html
from ..core.warn_once import NO_GRAD_KEPT, note
from ..errors import TypeError, ValueError, nearest, suggest
from ..runtime.state import with_next_run
from ..tensor import Tensor, tensor
from . import hooks, placement, routes
from .hooks import ModuleHook, RemovableHandle
from .parameter import Buffer, Parameter, is_lazy


class Keys(NamedTuple):
    """The result of load_state_dict: names without a tensor, and tensors without a name in the module."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Module:
    """A layer or a model: set parameters and modules as attributes, write `forward`, call the module."""

    training: bool
    keeps_dtype: frozenset[str] = frozenset()  # names of buffers that `to`, `half` and the like do not cast
    _buffer_names: dict[str, bool]  # whether it is persistent
    _kinds: dict[str, type]  # Parameter or Module: the kind of each name, also while its value is None
    _hooks: hooks.Kinds

    def __new__(cls, *_args: Any, **_kw: Any) -> Self:
        self = super().__new__(cls)  # in __new__, so that a subclass need not call super().__init__()
        vars(self).update(training=True, _buffer_names={}, _kinds={}, _hooks={})
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute. A parameter, buffer or module comes after the others of its kind, and its name
        keeps its place while it is None. TypeError for another value under the name of one of them."""
        # The kind of the new value, and that of the name: what a name holds may be None, but not change
        # silently.
        kind, before = next((kind for kind in KINDS if isinstance(value, kind)), None), self._kind(name)
        # before: the kind that the name had; a member of another kind must be deleted first.
        if before is not None and (kind, before) not in REPLACED:
            self._check_value(name, value, before)
        has_setter = hasattr(getattr(type(self), name, None), "__set__")  # which decides
        if kind is not None and not has_setter:
            self._register(name, kind)
            if isinstance(value, Buffer):
                self._buffer_names[name] = value.persistent
        object.__setattr__(self, name, value)

    def _kind(self, name: str) -> type | None:
        """The kind of a name: Parameter, Buffer or Module; None for a plain attribute."""
        return self._kinds.get(name) or (Buffer if name in self._buffer_names else None)

    def _check_value(self, name: str, value: Any, kind: type) -> None:
        """TypeError for a value that can't replace a parameter, buffer or module."""
        if value is None or (kind is Buffer and isinstance(value, Tensor)):
            return
        kind_name, cure = KINDS[kind]
        cure = cure.format(name)
        raise TypeError(f"{type(self).__name__}.{name} = {describe(value)}: {name} is a {kind_name}: {cure}")

    def _register(self, name: str, kind: type) -> None:
        """Record the kind of a name; a name of a new kind comes after the others of that kind."""
        if self._kind(name) is kind:
            return
        # Popped and set again by __setattr__, so that vars() lists it after the others of its kind.
        vars(self).pop(name, None)
        self._buffer_names.pop(name, None)
        self._kinds.pop(name, None)
        if kind is not Buffer:
            self._kinds[name] = kind

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy or a pickle; each copy has its own record of kinds."""
        own = {"_buffer_names": dict(state["_buffer_names"]), "_kinds": dict(state["_kinds"])}
        vars(self).update({**state, **own})

    def __delattr__(self, name: str) -> None:
        self._buffer_names.pop(name, None)
        self._kinds.pop(name, None)
        object.__delattr__(self, name)

    def _cast(self, dtype: Any) -> None:
        """Cast a new layer, unless dtype is None: initial values are drawn in float32."""
        if dtype is not None:
            self.to(as_dtype(dtype))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's outputs; subclasses implement it."""
        raise NotImplementedError(f"{type(self).__name__}(...): it has no forward: define forward(self, x)")

    def __call__(self, *args: Any, **kw: Any) -> Any:
        # most modules have no hook: a plain call
        return hooks.call(self, args, kw) if hooks.has_hooks(self) else self.forward(*args, **kw)

    # --- parameters, buffers, modules ---

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Set a tensor that is state but not a parameter; state_dict omits it unless persistent. ValueError
        for a name that is invalid or taken."""
        self._check_name("register_buffer", name, name in self._buffer_names)
        self._register(name, Buffer)
        self._buffer_names[name] = persistent
        object.__setattr__(self, name, tensor)
        if tensor is not None:
            # Its value is computed with the next run, not each time something reads the buffer.
            with_next_run(tensor)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Set a parameter, which may be None; raises as register_buffer does, and TypeError for another
        tensor."""
        self._check_name("register_parameter", name, self._kinds.get(name) is Parameter)
        # users pass others
        if param is not None and not isinstance(param, Parameter):  # pyright: ignore[reportUnnecessaryIsInstance]
            call = f"register_parameter({name!r}, {describe(param)})"
            raise TypeError(f"{call}: takes a Parameter or None: pass nn.Parameter(t)")
        self._register(name, Parameter)
        setattr(self, name, param)

    def add_module(self, name: str, module: "Module | None") -> None:
        """Set a module inside this one; raises as register_buffer does, and TypeError for an object that is
        not a module."""
        self._check_name("add_module", name, self._kinds.get(name) is Module)
        if module is not None:
            check_module(self, module)
        self._register(name, Module)
        setattr(self, name, module)

    register_module = add_module

    def _check_name(self, call: str, name: str, same_kind: bool) -> None:
        """ValueError for a name with a dot, none, or one that means something else already."""
        # users pass others
        if not isinstance(name, str) or not name or "." in name:  # pyright: ignore[reportUnnecessaryIsInstance]
            rule = "a name must be a non-empty string without dots: choose another"
            raise ValueError(f"{call}({name!r}): {rule}")
        if hasattr(self, name) and not same_kind and vars(self).get(name, 0) is not None:
            rule = f"{type(self).__name__} already has an attribute of that name: choose another"
            raise ValueError(f"{call}({name!r}): {rule}")

    def _own(self, kind: type) -> Iterator[tuple[str, Any]]:
        """(name, value) of the module's own parameters (kind Parameter), buffers (Tensor) or modules
        (Module)."""
        # A buffer is a plain tensor, a parameter a subclass of it: the record of buffers tells them apart.
        # list(): callers may set attributes meanwhile.
        for name, value in list(vars(self).items()):
            if isinstance(value, kind) and (name in self._buffer_names) == (kind is Tensor):
                yield name, value

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        """(name, module) of the modules directly inside, each once."""
        return _once(self._own(Module))

    def children(self) -> Iterator["Module"]:
        """The modules directly inside, each once."""
        return (m for _, m in self.named_children())

    def _tree(self, prefix: str = "") -> Iterator[tuple[str, "Module"]]:
        """(prefix of its names, module) for this module and all inside, a shared one each time."""
        yield prefix, self
        for name, m in self._own(Module):
            yield from m._tree(f"{prefix}{name}.")

    def _inside_out(self) -> Iterator["Module"]:
        """All modules inside, a shared one each time, then this one."""
        for _, m in self._own(Module):
            yield from m._inside_out()
        yield self

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, "Module"]]:
        """(dotted name, module) for this module, whose name is the prefix, and all inside, each once.

        memo: modules to leave out; the returned ones are added. remove_duplicate: a shared module is returned
        once.
        """
        pairs = ((name[:-1], m) for name, m in self._tree(_with_dot(prefix)))  # without the last dot
        return _once(pairs, memo) if remove_duplicate else pairs

    def modules(self) -> Iterator["Module"]:
        """This module and all inside, each once."""
        return (m for _, m in self.named_modules())

    def _named(self, kind: type, prefix: str, recurse: bool, once: bool) -> Iterator[tuple[str, Any]]:
        owners = self._tree(_with_dot(prefix)) if recurse else [(_with_dot(prefix), self)]
        pairs = ((name + last, t) for name, m in owners for last, t in m._own(kind))
        return _once(pairs) if once else pairs

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter) for all parameters, a shared one once.

        prefix: the start of all names; recurse: include modules inside; remove_duplicate: a shared one is
        returned once.
        """
        return self._named(Parameter, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, a shared one once. recurse: include modules inside."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(dotted name, tensor) for all buffers; arguments are those of named_parameters."""
        return self._named(Tensor, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers. recurse: include modules inside."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> "Module":
        """The module of a dotted name, this one for ""; AttributeError suggests similar names."""
        return self._look_up("get_submodule", target, dict(self.named_modules(remove_duplicate=False)))

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name; raises as get_submodule does."""
        return self._look_up("get_parameter", target, dict(self.named_parameters(remove_duplicate=False)))

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name; raises as get_submodule does."""
        return self._look_up("get_buffer", target, dict(self.named_buffers(remove_duplicate=False)))

    def set_submodule(self, target: str, module: "Module", strict: bool = False) -> None:
        """Replace the module of a dotted name; AttributeError if the module around it is missing, and with
        `strict` if there is none to replace."""
        if not target:
            raise ValueError("set_submodule(''): a module can't replace itself: pass a name")
        check_module(self, module)
        if strict:
            self.get_submodule(target)
        owner, _, name = target.rpartition(".")
        setattr(self.get_submodule(owner), name, module)

    def _look_up(self, call: str, target: str, known: dict[str, Any]) -> Any:
        if target not in known:
            kind_name = call.removeprefix("get_")
            raise AttributeError(
                f"{call}({target!r}): {type(self).__name__} has no {kind_name} of that name"
                f"{suggest(target, list(known))}"
            )
        return known[target]

    def num_parameters(self) -> int:
        """The number of elements of all parameters."""
        return sum(p.numel() for p in self.parameters())

    # --- hooks ---

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args) before each forward; its result, if not None, replaces the arguments.

        with_kwargs: call hook(module, args, kwargs), which may return both. prepend: call it before other
        hooks. Returns a handle whose remove() unregisters the hook.
        """
        return hooks.register(self._hooks, "forward_pre", ModuleHook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call hook(module, args, output) after each forward; its result, if not None, replaces the output.

        with_kwargs: call hook(module, args, kwargs, output). always_call: also if forward raises, with None
        for the output. prepend: call it before other hooks. Returns a handle whose remove() unregisters the
        hook.
        """
        return hooks.register(self._hooks, "forward", ModuleHook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call hook(module, grad_output) when backward has the outputs' gradients; its result, if not None,
        replaces them.

        It is called while backward builds the gradients' graph, with lazy tensors. prepend: call it before
        other hooks. Returns a handle whose remove() unregisters the hook.
        """
        return hooks.register(self._hooks, "backward_pre", ModuleHook(hook), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) when backward has the inputs' gradients; its result, if
        not None, replaces the inputs' gradients.

        It is called while backward builds the gradients' graph, with lazy tensors. prepend: call it before
        other hooks. Returns a handle whose remove() unregisters the hook.
        """
        return hooks.register(self._hooks, "backward", ModuleHook(hook), prepend)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, prefix, keep_vars) before state_dict collects the module's tensors."""
        return hooks.register(self._hooks, "state_dict_pre", ModuleHook(hook))

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, local_metadata) when state_dict has the tensors of the module
        and of those inside; it may change the dict. local_metadata: an empty dict."""
        return hooks.register(self._hooks, "state_dict", ModuleHook(hook))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs) before load_state_dict looks up the module's tensors; it may change the dict, which is a
        copy. The last four are empty."""
        return hooks.register(self._hooks, "load_state_dict_pre", ModuleHook(hook))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, keys) after load_state_dict, with the keys that it returns."""
        return hooks.register(self._hooks, "load_state_dict", ModuleHook(hook))

    # --- conversions of the whole tree ---

    def apply(self, f: Callable[["Module"], Any]) -> Self:
        """Call f with every module inside, then with this one; returns self."""
        for m in self.children():
            m.apply(f)
        f(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode (or eval mode), which dropout and batch norm read, by calling `train` of all
        modules inside; returns self. ValueError for an object that is not a bool."""
        if not isinstance(mode, bool):  # pyright: ignore[reportUnnecessaryIsInstance]  # users pass others
            raise ValueError(
                f"{type(self).__name__}.train({mode!r}): it must be True or False: pass one of them"
            )
        self.training = mode
        for m in self.children():
            m.train(mode)
        return self

    def eval(self) -> Self:
        """The same as train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set requires_grad of all parameters; returns self."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def to(self, *args: Any, device: Any = None, dtype: Any = None, non_blocking: bool = False) -> Self:
        """Move parameters and buffers to a device, and the floats among them to a dtype; the tensors stay the
        same objects. Returns self.

        to(device), to(dtype), to(device, dtype), to(tensor). non_blocking: accepted and ignored.

        Several devices: to({"blocks.0-5": "gpu:0", "blocks.6-11": "gpu:1", "*": "gpu:0"}) places submodules
        and tensors by name (with ranges and patterns; "*" is the rest), to("split:gpu:0,gpu:1") by bytes. The
        arguments of a placed module are moved to its device. ValueError lists the names that match nothing,
        and the tensors that no name or several match, or that two devices would share.
        """
        for a in args:
            if isinstance(a, Tensor):
                device, dtype = a.device, a.dtype
            elif isinstance(a, DType | type):
                dtype = a
            elif a is not None and not isinstance(a, bool):  # a bool is PyTorch's non_blocking
                device = a
        dtype = None if dtype is None else as_dtype(dtype)
        if dtype is not None and not dtype.is_float:
            raise TypeError(
                f"{type(self).__name__}.to({dtype}): parameters must be floats: pass a float dtype"
            )
        # keeps_dtype names buffers such as rotary tables, which lose too much in 16 bits.
        kept = {id(getattr(m, name)) for m in self.modules() for name in m.keeps_dtype}
        places = placement.place(self, device) if placement.is_placement(device) else {}
        if device is not None and not places:
            routes.unroute(self)
        for t in [*self.parameters(), *self.buffers()]:
            wanted, is_cast = t.requires_grad, t.dtype.is_float and id(t) not in kept
            where, cast_to = places.get(id(t), device), dtype if is_cast else None
            if is_lazy(t):  # it has no value yet
                t.move_to(where, cast_to)
                continue
            # A new node in the same tensor object: optimisers and other modules may hold it.
            t.node = t.detach().to(where, cast_to).node
            t.requires_grad_(wanted)
            with_next_run(t)
        return self

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move parameters and buffers to a device without their values, which are zeros until something
        initialises or loads them; returns self.

        The way out of device "meta". recurse: include the modules inside.
        """
        for t in [*self.parameters(recurse), *self.buffers(recurse)]:
            wanted = t.requires_grad
            t.node = Tensor.zeros(*t.shape, dtype=t.dtype, device=device).node
            t.requires_grad_(wanted)
            with_next_run(t)
        return self

    def cpu(self) -> Self:
        """Parameters and buffers on the NumPy device; returns self."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> Self:
        """Parameters and buffers on the GPU, by PyTorch's name for it; returns self."""
        return self.to("cuda" if device is None else device)

    def type(self, dst_type: Any) -> Self:
        """Parameters and float buffers in a dtype; returns self."""
        return self.to(dtype=dst_type)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Do nothing and warn once: tensors store no gradients; each backward() returns its own.

        set_to_none: accepted and ignored.
        """
        note(NO_GRAD_KEPT)

    def compile(self, *example: Any, train: bool = False, **kw: Any) -> int:
        """Plan and compile the kernels of a call with inputs like these, without running it; returns their
        number.

        The first call with such inputs then takes no longer than later ones. train: include the gradients of
        the result's sum with respect to the parameters. Pipelines are compiled several at once, with a bar on
        a terminal.
        """

        def call() -> Any:
            y = self(*example, **kw)
            # Results and gradients are outputs of one plan, as in a training step.
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

    def double(self) -> Self:
        """Parameters and float buffers as float64; returns self."""
        return self.to(dtype="float64")

    # --- state ---

    def _state(self) -> dict[str, Tensor]:
        """The tensors themselves by name: of each module its parameters, its buffers, then those of modules
        inside."""
        return {name: getattr(m, last) for name, m, last in self._places("")}

    def _places(self, prefix: str) -> Iterator[tuple[str, "Module", str]]:
        """(name in the state_dict, module, name in that module) of each tensor."""
        for name, _ in self._own_state():
            yield prefix + name, self, name
        for name, m in self._own(Module):
            yield from m._places(f"{prefix}{name}.")

    def _own_state(self) -> Iterator[tuple[str, Tensor]]:
        """(name, tensor) of the module's own parameters, then of its own persistent buffers."""
        for kind in (Parameter, Tensor):
            yield from ((name, t) for name, t in self._own(kind) if self._buffer_names.get(name, True))

    def state_dict(
        self, *, destination: dict[str, Tensor] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Tensor]:
        """Parameters and buffers by PyTorch's names, in its layouts, with their current values.

        destination: a dict to add them to; prefix: the start of all names; keep_vars: return the tensors
        themselves, not their current values.
        """
        hooks.run_hooks(self, "state_dict_pre", self, prefix, keep_vars)
        state = {} if destination is None else destination
        for name, t in self._own_state():
            state[prefix + name] = t if keep_vars else tensor(t)
        for name, m in self._own(Module):  # by its own `state_dict`, if a subclass defines one
            m.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        hooks.run_hooks(self, "state_dict", self, state, prefix, {})
        return state

    def load_state_dict(
        self,
        state_dict: Mapping[str, Any],
        strict: bool = True,
        assign: bool = False,
        *,
        rename: Iterable[tuple[str, str]] = (),
    ) -> Keys:
        """Take the values of tensors or arrays by name.

        assign: use the given tensors themselves, with their dtypes and devices. rename: (regular expression,
        replacement) pairs that re.sub applies to the given names, in order. ValueError lists every name that
        is missing or unexpected (both only if strict), of another shape or not a tensor; nothing is loaded
        then.
        """
        state = _rename(state_dict, rename)
        for name, m in self._tree():
            hooks.run_hooks(m, "load_state_dict_pre", m, state, name, {}, strict, [], [], [])
        own, places = self._state(), {name: (m, last) for name, m, last in self._places("")}
        keys = Keys([n for n in own if n not in state], [n for n in state if n not in own])
        # e.g. a nested dict, or a number
        strange = [n for n in own if n in state and not hasattr(state[n], "shape")]
        bad = [n for n in own if n in state and n not in strange and _differ(own[n], state[n])]
        problems = _list_names("missing", keys.missing_keys, lambda n: repr(n)) if strict else []
        if strict:
            known = keys.missing_keys or list(own)
            problems += _list_names(
                "unexpected", keys.unexpected_keys, lambda n: _describe_unexpected(n, known)
            )
        problems += _list_names("of another shape", bad, lambda n: _shapes(n, own[n], state[n]))
        problems += _list_names("no tensor", strange, lambda n: f"{n!r} is {describe(state[n])}")
        if problems:
            cure = "use a state_dict of the same model" + ("" if bad or strange else ", or strict=False")
            # A checkpoint often holds the state_dict in a dict with other things.
            inside = next((n for n in state if isinstance(state[n], Mapping) and own.keys() & state[n]), None)
            cure = cure if inside is None else f"pass the object at {inside!r}"
            raise ValueError(f"load_state_dict({len(state)} tensors): {'; '.join(problems)}: {cure}")
        with no_grad():  # own tensors may require gradients
            for name in [n for n in own if n in state]:
                _load(*places[name], state[name], assign)
        for m in self._inside_out():
            hooks.run_hooks(m, "load_state_dict", m, keys)
        return keys

    def share_memory(self) -> Self:
        """Raise TypeError: GPU memory belongs to one process."""
        rule = "a device's memory belongs to one process: send state_dict(), or save(path) and load(path)"
        raise TypeError(f"{type(self).__name__}.share_memory(): {rule}")

    def save(self, path: Any) -> None:
        """Write state_dict to a .safetensors file; FlambeauError if it can't be written."""
        from ..io.safetensors import save_file

        save_file(self.state_dict(), path)

    def load(self, path: Any, strict: bool = True, *, rename: Iterable[tuple[str, str]] = ()) -> Keys:
        """Load a file that fb.load reads, or the model in a checkpoint of a Learner; errors are those of
        load_state_dict, or name the file.

        rename: as in load_state_dict.
        """
        from ..io.checkpoint import load_model_state

        return self.load_state_dict(load_model_state(path), strict, rename=rename)

    # --- printing ---

    def extra_repr(self) -> str:
        """The text in parentheses when the module is printed."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = [line.replace("\n", "\n  ") for line in self._lines()]
        if not lines:
            return f"{type(self).__name__}({extra})"
        return "\n  ".join([f"{type(self).__name__}(", *([extra] if extra else []), *lines]) + "\n)"

    def _repr_html_(self) -> str:
        """The HTML for a notebook: the printed modules, and a table of the parameters."""
        named = list(self.named_parameters())
        rows = [(name, p.dtype.name, list(p.shape), p.requires_grad) for name, p in named]
        caption = f"{sum(p.numel() for _, p in named):,} parameters in {len(named)} tensors"
        heads = ("parameter", "dtype", "shape", "requires_grad")
        return f"<pre>{escape(repr(self))}</pre>{table_in_html(caption, heads, rows)}"

    def _lines(self) -> list[str]:
        """The printed lines of the modules directly inside."""
        named = ((name, m) for name, m in vars(self).items() if self._kinds.get(name) is Module)
        return [f"({name}): {m!r}" for name, m in named]


KINDS = {  # the kinds of members: the name, and the advice in errors
    Buffer: ("buffer", "assign a tensor or None, or delete it first (`del module.{0}`)"),
    Parameter: (
        "parameter",
        "change it in place inside no_grad (`{0}.copy_(t)`), or assign nn.Parameter(t)",
    ),
    Module: ("module", "assign an nn.Module or None, or delete it first (`del module.{0}`)"),
}

# (new, old) kinds for which an assignment replaces the member; otherwise the user must delete it first
REPLACED = {(kind, kind) for kind in KINDS} | {(Parameter, Module), (Parameter, Buffer), (Module, Buffer)}


def own_members(module: Module, kind: type) -> Iterator[tuple[str, Any]]:
    """(name, value) of the parameters, buffers or modules that are attributes of a module."""
    return module._own(kind)  # pyright: ignore[reportPrivateUsage]  # users' modules shall not see it


def tree_of(module: Module) -> Iterator[tuple[str, Module]]:
    """(prefix of its names, module) for a module and all inside, a shared one each time."""
    return module._tree()  # pyright: ignore[reportPrivateUsage]  # users' modules shall not see it


def _once(pairs: Iterable[tuple[str, Any]], seen: set[Any] | None = None) -> Iterator[tuple[str, Any]]:
    seen = set() if seen is None else seen
    for name, value in pairs:
        if value not in seen:  # tensors and modules are hashed by identity
            seen.add(value)
            yield name, value


def _with_dot(prefix: str) -> str:
    return f"{prefix}." if prefix else ""


OLD_SCALAR = ((), (1,))  # PyTorch before 0.4 saved 0-d tensors as [1]


def _differ(own: Tensor, value: Any) -> bool:
    shape = tuple(value.shape)
    return not is_lazy(own) and shape != own.shape and (own.shape, shape) != OLD_SCALAR


def _load(owner: Module, name: str, loaded: Any, assign: bool) -> None:
    """Copy loaded values into a module's tensor, or with `assign` replace the tensor."""
    own = getattr(owner, name)
    if own.is_meta and not assign and not getattr(loaded, "is_meta", False):
        rule = f"{name!r} is on the meta device, where values are lost: pass assign=True"
        warn(f"load_state_dict(...): {rule}", stacklevel=3)
    if is_lazy(own):
        # A lazy parameter takes its shape from the file.
        own.materialize(tuple(loaded.shape))
    if not assign:
        # PyTorch before 0.4 saved 0-d tensors as [1]
        own.assign_(loaded[0] if (own.shape, tuple(loaded.shape)) == OLD_SCALAR else loaded)
        return
    value = loaded if isinstance(loaded, Tensor) else tensor(loaded, device=own.device)
    # A plain tensor under a parameter's name becomes a parameter and keeps the old one's requires_grad.
    if isinstance(own, Parameter):
        value = value if isinstance(value, Parameter) else Parameter(value.detach(), own.requires_grad)
    setattr(owner, name, value)


SHOWN = 20  # names listed in an error; only these are compared with all names for suggestions


def _list_names(title: str, names: list[str], text_of: Callable[[str], str]) -> list[str]:
    shown = [text_of(n) for n in names[:SHOWN]] + [f"and {len(names) - SHOWN} more"] * (len(names) > SHOWN)
    return [f"{len(names)} {title}: " + ", ".join(shown)] if names else []


def _rename(state: Mapping[str, Any], rename: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Rename tensors. ValueError if two get the same name, or a pattern is not valid."""
    pairs = list(rename)
    out: dict[str, Any] = {}
    for name, value in state.items():
        new = name
        for pattern, text in pairs:
            try:
                new = re.sub(pattern, text, new)
            except re.error as e:
                raise ValueError(f"load_state_dict(rename=[({pattern!r}, {text!r})]): {e}") from None
        if new in out:
            raise ValueError(f"load_state_dict(rename=...): {name!r} and another name both become {new!r}")
        out[new] = value
    return out


def _describe_unexpected(name: str, known: list[str]) -> str:
    hint = nearest(name, known)
    return f"{name!r} ({hint})" if hint else repr(name)


def _shapes(name: str, own: Tensor, value: Any) -> str:
    return f"{name!r} is {describe(own)}, got {list(value.shape)}"


def check_module(owner: Module, module: Any) -> Module:
    """Return the module; TypeError for other values."""
    if not isinstance(module, Module):
        name = type(owner).__name__
        raise TypeError(f"{name}({describe(module)}): takes modules: pass an nn.Module, e.g. nn.ReLU()")
    return module
