"""Module, a tree of parameters, buffers and modules with PyTorch's names."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any, Self

from ..capture.compile import compile_call
from ..core.dtype import DType, DTypeLike, as_dtype, bfloat16, float16, float32
from ..core.modes import no_grad
from ..core.node import describe
from ..core.printing import table_in_html
from ..core.warn_once import NO_GRAD_KEPT, note
from ..device import DeviceLike
from ..errors import TypeError, ValueError, suggest
from ..runtime.state import with_next_run
from ..tensor import Tensor
from . import hooks, placement, routes
from .hooks import ModuleHook, RemovableHandle
from .members import Members, NonPersistent, Owner, kind_of, own_members, register, replace_members
from .parameter import Buffer, Parameter, is_lazy
from .state_dict import Keys, StateDict, collect, find_places, load


class Module(Owner):
    """A layer or a model: set parameters and modules as attributes, write `forward`, call the module.

    TypeError for arguments that reach its own `__init__`, which has none.
    """

    training: bool
    call_super_init = False  # whether __init__ calls that of the next class in the order of bases
    dump_patches = False
    _version = 1  # of the names in a state_dict
    keeps_dtype: frozenset[str] = frozenset()  # names of buffers that `to`, `half` and the like do not cast
    # Each instance has its own; these are for a base whose __new__ sets attributes before.
    _buffer_persistence: dict[str, bool] = {}  # whether a buffer is in the state_dict
    # Parameter or Module: the kind of each name, also while its value is None
    _member_kinds: dict[str, type] = {}
    _module_hooks: hooks.Kinds

    def __new__(cls, *_args: Any, **_kw: Any) -> Self:
        # in __new__, so that a subclass need not call super().__init__()
        make: Any = super().__new__
        self = make(cls) if make is object.__new__ else make(cls, *_args, **_kw)
        self.__dict__.update(training=True, _buffer_persistence={}, _member_kinds={}, _module_hooks={})
        return self

    def __init__(self, *args: Any, **kw: Any):
        # As in PyTorch, the classes after Module in the order of bases are initialised by the user's class.
        if self.call_super_init:
            super().__init__(*args, **kw)
        elif args or kw:
            rule = "takes no arguments: leave them out, or set call_super_init"
            raise TypeError(f"Module.__init__({', '.join([*map(describe, args), *kw])}): {rule}")

    if not TYPE_CHECKING:  # a type checker shall report unknown names

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError: members are attributes. A user's class may call or override it."""
            if any(name in vars(base) for base in type(self).__mro__):
                return object.__getattribute__(self, name)  # a property that raised: its own error
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
            )

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute. A parameter, buffer or module comes after the others of its kind, and its name
        keeps its place while it is None. TypeError for a value of another kind under such a name."""
        # The kinds of the new value and of the name: a member may become None, but not silently another kind.
        kind, before = next((kind for kind in KINDS if isinstance(value, kind)), None), kind_of(self, name)
        # before: the kind that the name had; a member of another kind must be deleted first.
        if before is not None and (kind, before) not in REPLACED:
            _check_value(self, name, value, before)
        has_setter = hasattr(getattr(type(self), name, None), "__set__")  # which decides
        if kind is not None and not has_setter:
            register(self, name, kind)
            if isinstance(value, Buffer):
                self._buffer_persistence[name] = value.persistent
        object.__setattr__(self, name, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy or a pickle; each copy has its own record of kinds."""
        own = {
            "_buffer_persistence": dict(state["_buffer_persistence"]),
            "_member_kinds": dict(state["_member_kinds"]),
        }
        vars(self).update({**state, **own})

    def __delattr__(self, name: str) -> None:
        self._buffer_persistence.pop(name, None)
        self._member_kinds.pop(name, None)
        object.__delattr__(self, name)

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
        check_name(self, "register_buffer", name, name in self._buffer_persistence)
        register(self, name, Buffer)
        self._buffer_persistence[name] = persistent
        object.__setattr__(self, name, tensor)
        if tensor is not None:
            # Its value is computed with the next run, not each time something reads the buffer.
            with_next_run(tensor)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Set a parameter, which may be None; raises as register_buffer does, and TypeError for another
        tensor."""
        check_name(self, "register_parameter", name, self._member_kinds.get(name) is Parameter)
        # users pass others
        if param is not None and not isinstance(param, Parameter):  # pyright: ignore[reportUnnecessaryIsInstance]
            call = f"register_parameter({name!r}, {describe(param)})"
            raise TypeError(f"{call}: takes a Parameter or None: pass nn.Parameter(t)")
        register(self, name, Parameter)
        setattr(self, name, param)

    def add_module(self, name: str, module: "Module | None") -> None:
        """Set a module inside this one; raises as register_buffer does, and TypeError for an object that is
        not a module."""
        check_name(self, "add_module", name, self._member_kinds.get(name) is Owner)
        if module is not None:
            check_module(self, module)
        register(self, name, Owner)
        setattr(self, name, module)

    register_module = add_module

    @property
    def _parameters(self) -> Members:
        """The module's own parameters as a dict; a change of it changes the module."""
        return Members(self, Parameter)

    @_parameters.setter
    def _parameters(self, values: Any) -> None:
        replace_members(self, Parameter, values)

    @property
    def _buffers(self) -> Members:
        """The module's own buffers as a dict; a change of it changes the module."""
        return Members(self, Buffer)

    @_buffers.setter
    def _buffers(self, values: Any) -> None:
        replace_members(self, Buffer, values)

    @property
    def _modules(self) -> Members:
        """The modules directly inside as a dict; a change of it changes the module."""
        return Members(self, Owner)

    @_modules.setter
    def _modules(self, values: Any) -> None:
        replace_members(self, Owner, values)

    @property
    def _non_persistent_buffers_set(self) -> NonPersistent:
        """The names of buffers that state_dict omits, as a set that can be changed."""
        return NonPersistent(self)

    def _get_name(self) -> str:
        """The name of the class, which the printed text begins with."""
        return type(self).__name__

    def _named_members(
        self,
        get_members_fn: Callable[["Module"], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """(dotted name, value) for a function's results on each module, without None."""
        owners = tree_of(self, _with_dot(prefix)) if recurse else [(_with_dot(prefix), self)]
        pairs = ((f"{name}{k}", v) for name, m in owners for k, v in get_members_fn(m) if v is not None)
        return _skip_repeats(pairs) if remove_duplicate else pairs

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        """(name, module) of the modules directly inside, each once."""
        return _skip_repeats(own_members(self, Owner))

    def children(self) -> Iterator["Module"]:
        """The modules directly inside, each once."""
        return (m for _, m in self.named_children())

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, "Module"]]:
        """(dotted name, module) for this module, whose name is the prefix, and all inside, each once.

        memo: modules to leave out; the returned ones are added. remove_duplicate: a shared module is returned
        once.
        """
        pairs = ((name[:-1], m) for name, m in tree_of(self, _with_dot(prefix)))  # without the last dot
        return _skip_repeats(pairs, memo) if remove_duplicate else pairs

    def modules(self, remove_duplicate: bool = True) -> Iterator["Module"]:
        """This module and all submodules, each once (remove_duplicate=False: once per occurrence)."""
        return (m for _, m in self.named_modules(remove_duplicate=remove_duplicate))

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter) for all parameters, a shared one once.

        prefix: the start of all names; recurse: include modules inside; remove_duplicate: a shared one is
        returned once.
        """
        return _named_of_kind(self, Parameter, prefix, (recurse, remove_duplicate))

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, a shared one once. recurse: include modules inside."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(dotted name, tensor) for all buffers; arguments are those of named_parameters."""
        return _named_of_kind(self, Buffer, prefix, (recurse, remove_duplicate))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers. recurse: include modules inside."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> "Module":
        """The module of a dotted name, this one for ""; AttributeError suggests similar names."""
        return _look_up(self, "get_submodule", target, dict(self.named_modules(remove_duplicate=False)))

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name; raises as get_submodule does."""
        return _look_up(self, "get_parameter", target, dict(self.named_parameters(remove_duplicate=False)))

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name; raises as get_submodule does."""
        return _look_up(self, "get_buffer", target, dict(self.named_buffers(remove_duplicate=False)))

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
        return hooks.register(self._module_hooks, "forward_pre", ModuleHook(hook, with_kwargs), prepend)

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
        return hooks.register(
            self._module_hooks, "forward", ModuleHook(hook, with_kwargs, always_call), prepend
        )

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call hook(module, grad_output) when backward has the outputs' gradients; its result, if not None,
        replaces them.

        It is called while backward builds the gradients' graph, with lazy tensors. prepend: call it before
        other hooks. Returns a handle whose remove() unregisters the hook.
        """
        return hooks.register(self._module_hooks, "backward_pre", ModuleHook(hook), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) when backward has the inputs' gradients; its result, if
        not None, replaces the inputs' gradients.

        It is called while backward builds the gradients' graph, with lazy tensors. prepend: call it before
        other hooks. Returns a handle whose remove() unregisters the hook.
        """
        return hooks.register(self._module_hooks, "backward", ModuleHook(hook), prepend)

    register_backward_hook = register_full_backward_hook  # PyTorch's old name

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, prefix, keep_vars) before state_dict collects the module's tensors."""
        return hooks.register(self._module_hooks, "state_dict_pre", ModuleHook(hook))

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, local_metadata) when state_dict has the tensors of the module
        and of those inside; it may change the dict. local_metadata: the version of the module's names."""
        return hooks.register(self._module_hooks, "state_dict", ModuleHook(hook))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs) before load_state_dict looks up the module's tensors; it may change the dict, which is a
        copy with the names of this module and of those inside, and the lists."""
        return hooks.register(self._module_hooks, "load_state_dict_pre", ModuleHook(hook))

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """register_load_state_dict_pre_hook, whose hook gets the module only with `with_module`."""
        return self.register_load_state_dict_pre_hook(hook if with_module else _without_module(hook))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The same as register_state_dict_post_hook."""
        return self.register_state_dict_post_hook(hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, keys) after load_state_dict, with the keys that it returns."""
        return hooks.register(self._module_hooks, "load_state_dict", ModuleHook(hook))

    @property
    def _forward_hooks(self) -> dict[int, ModuleHook]:
        """The hooks of register_forward_hook by key, as PyTorch names them."""
        return self._module_hooks.setdefault("forward", {})

    @property
    def _forward_pre_hooks(self) -> dict[int, ModuleHook]:
        """The hooks of register_forward_pre_hook by key, as PyTorch names them."""
        return self._module_hooks.setdefault("forward_pre", {})

    @property
    def _backward_hooks(self) -> dict[int, ModuleHook]:
        """The hooks of register_full_backward_hook by key, as PyTorch names them."""
        return self._module_hooks.setdefault("backward", {})

    @property
    def _state_dict_hooks(self) -> dict[int, ModuleHook]:
        """The hooks of register_state_dict_post_hook by key, as PyTorch names them."""
        return self._module_hooks.setdefault("state_dict", {})

    @property
    def _load_state_dict_pre_hooks(self) -> dict[int, ModuleHook]:
        """The hooks of register_load_state_dict_pre_hook by key, as PyTorch names them."""
        return self._module_hooks.setdefault("load_state_dict_pre", {})

    # --- conversions of the whole tree ---

    def apply(self, fn: Callable[["Module"], Any]) -> Self:
        """Call fn with every module inside, then with this one; returns self."""
        for m in self.children():
            m.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the values of all parameters and buffers by fn(tensor); the tensors stay the same objects.
        `to` and the like call it; recurse: also those of modules inside."""
        for m in self.children() if recurse else ():
            m._apply(fn)
        for t in [t for kind in (Parameter, Buffer) for _, t in own_members(self, kind)]:
            requires_grad = t.requires_grad
            with no_grad():
                value = fn(t)
            if is_lazy(t):  # it has no value yet
                continue
            # A new node in the same tensor object: optimisers and other modules may hold it.
            t.node = (t.detach() if value is t else value).node
            t.requires_grad_(requires_grad)
            with_next_run(t)
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

    def to(
        self,
        *args: Any,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
        non_blocking: bool = False,
        memory_format: Any = None,
    ) -> Self:
        """Move parameters and buffers to a device, and the floats among them to a dtype; the tensors stay the
        same objects. Returns self.

        to(device), to(dtype), to(device, dtype), to(tensor). non_blocking, memory_format: accepted and
        ignored.

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
        uncast = {id(getattr(m, name)) for m in self.modules() for name in m.keeps_dtype}
        places = placement.place(self, device) if placement.is_placement(device) else {}
        if device is not None and not places:
            routes.unroute(self)

        def convert(t: Tensor) -> Tensor:
            is_cast = t.dtype.is_float and id(t) not in uncast
            where, cast_to = places.get(id(t), device), dtype if is_cast else None
            if is_lazy(t):  # it has no value yet
                lazy: Any = t
                lazy.move_to(where, cast_to)
                return t
            return t.to(where, cast_to)

        return self._apply(convert)

    def to_empty(self, *, device: DeviceLike | None, recurse: bool = True) -> Self:
        """Move parameters and buffers to a device without their values, which are zeros until something
        initialises or loads them; returns self.

        The way out of device "meta". recurse: include the modules inside.
        """
        return self._apply(lambda t: Tensor.zeros(*t.shape, dtype=t.dtype, device=device), recurse)

    def cpu(self) -> Self:
        """Parameters and buffers on the NumPy device; returns self."""
        return self.to("cpu")

    def cuda(self, device: DeviceLike | None = None) -> Self:
        """Parameters and buffers on the GPU, by PyTorch's name for it; returns self."""
        return self.to("cuda" if device is None else device)

    def type(self, dst_type: DTypeLike) -> Self:
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

    def state_dict(
        self,
        *args: Any,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """Parameters and buffers by PyTorch's names, in its layouts, with their current values.

        destination: a dict to add them to; prefix: the start of all names; keep_vars: return the tensors
        themselves, not their current values. args: the same three by position.
        """
        if args:
            three: Any = (*args, *(destination, prefix, keep_vars)[len(args) :])
            destination, prefix, keep_vars = three
        hooks.run_hooks(self, "state_dict_pre", self, prefix, keep_vars)
        state: Any = destination
        if state is None:
            state = StateDict()
            state._metadata = dict[str, Any]()
        metadata = {"version": self._version}
        if hasattr(state, "_metadata"):
            state._metadata[prefix[:-1]] = metadata
        self._save_to_state_dict(state, prefix, keep_vars)
        for name, m in own_members(self, Owner):  # by its own `state_dict`, if a subclass defines one
            m.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        hooks.run_hooks(self, "state_dict", self, state, prefix, metadata)
        return state

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Add the module's own tensors to a dict: state_dict calls it for every module."""
        collect(self, destination, prefix, keep_vars)

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
        return load(self, state_dict, strict, assign, rename)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        *lists: list[str],
        **named: list[str],
    ) -> None:
        """Take the values of the module's own tensors: load_state_dict calls it for every module.

        lists: missing_keys, unexpected_keys and error_msgs, by position or by name
        """
        arguments = {
            **dict(zip(("missing_keys", "unexpected_keys", "error_msgs"), lists, strict=False)),
            **named,
        }
        missing, unexpected, errors = (
            arguments["missing_keys"],
            arguments["unexpected_keys"],
            arguments["error_msgs"],
        )
        messages = strict, missing, unexpected, errors
        hooks.run_hooks(self, "load_state_dict_pre", self, state_dict, prefix, local_metadata, *messages)
        find_places(self, state_dict, prefix, messages)

    def share_memory(self) -> Self:
        """Raise TypeError: GPU memory belongs to one process."""
        rule = "a device's memory belongs to one process: send state_dict(), or save(path) and load(path)"
        raise TypeError(f"{type(self).__name__}.share_memory(): {rule}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write state_dict to a .safetensors file; FlambeauError if it can't be written."""
        from ..io.safetensors import save_file

        save_file(self.state_dict(), path)

    def load(
        self, path: str | os.PathLike[str], strict: bool = True, *, rename: Iterable[tuple[str, str]] = ()
    ) -> Keys:
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
        named = ((name, m) for name, m in vars(self).items() if self._member_kinds.get(name) is Owner)
        return [f"({name}): {m!r}" for name, m in named]


KINDS = {  # the kinds of members: the name, and the advice in errors
    Buffer: ("buffer", "assign a tensor or None, or delete it first (`del module.{0}`)"),
    Parameter: (
        "parameter",
        "change it in place inside no_grad (`{0}.copy_(t)`), or assign nn.Parameter(t)",
    ),
    Owner: ("module", "assign an nn.Module or None, or delete it first (`del module.{0}`)"),
}

# (new, old) kinds for which an assignment replaces the member; otherwise the user must delete it first
REPLACED = {(kind, kind) for kind in KINDS} | {(Parameter, Owner), (Parameter, Buffer), (Owner, Buffer)}


def _without_module(hook: Callable[..., Any]) -> Callable[..., Any]:
    """A hook that is called without its first argument, the module."""

    def call(_module: Module, *args: Any) -> Any:
        return hook(*args)

    return call


def tree_of(module: Module, prefix: str = "") -> Iterator[tuple[str, Module]]:
    """(prefix of its names, module) for a module and all inside, a shared one each time."""
    yield prefix, module
    for name, m in own_members(module, Owner):
        yield from tree_of(m, f"{prefix}{name}.")


def _named_of_kind(
    module: Module, kind: type, prefix: str, options: tuple[bool, bool]
) -> Iterator[tuple[str, Any]]:
    recurse, once = options
    owners = tree_of(module, _with_dot(prefix)) if recurse else [(_with_dot(prefix), module)]
    pairs = ((name + last, t) for name, m in owners for last, t in own_members(m, kind))
    return _skip_repeats(pairs) if once else pairs


def cast_layer(module: Module, dtype: DTypeLike | None) -> None:
    """Cast a new layer, unless dtype is None: initial values are drawn in float32."""
    if dtype is not None:
        module.to(as_dtype(dtype))


def _check_value(module: Any, name: str, value: Any, kind: type) -> None:
    """TypeError for a value that can't replace a parameter, buffer or module."""
    if value is None or (kind is Buffer and isinstance(value, Tensor)):
        return
    kind_name, cure = KINDS[kind]
    cure = cure.format(name)
    raise TypeError(f"{type(module).__name__}.{name} = {describe(value)}: {name} is a {kind_name}: {cure}")


def check_name(module: Any, call: str, name: str, same_kind: bool) -> None:
    """ValueError for a name with a dot, none, or one that means something else already."""
    # users pass others
    if not isinstance(name, str) or not name or "." in name:  # pyright: ignore[reportUnnecessaryIsInstance]
        rule = "a name must be a non-empty string without dots: choose another"
        raise ValueError(f"{call}({name!r}): {rule}")
    if hasattr(module, name) and not same_kind and module.__dict__.get(name, 0) is not None:
        rule = f"{type(module).__name__} already has an attribute of that name: choose another"
        raise ValueError(f"{call}({name!r}): {rule}")


def _look_up(module: Any, call: str, target: str, known: dict[str, Any]) -> Any:
    if target not in known:
        kind_name = call.removeprefix("get_")
        raise AttributeError(
            f"{call}({target!r}): {type(module).__name__} has no {kind_name} of that name"
            f"{suggest(target, list(known))}"
        )
    return known[target]


def _skip_repeats(
    pairs: Iterable[tuple[str, Any]], seen: set[Any] | None = None
) -> Iterator[tuple[str, Any]]:
    seen = set() if seen is None else seen
    for name, value in pairs:
        if value not in seen:  # tensors and modules are hashed by identity
            seen.add(value)
            yield name, value


def _with_dot(prefix: str) -> str:
    return f"{prefix}." if prefix else ""


def check_module(owner: Module, module: Any) -> Module:
    """Return the module; TypeError for other values."""
    if not isinstance(module, Module):
        name = type(owner).__name__
        raise TypeError(f"{name}({describe(module)}): takes modules: pass an nn.Module, e.g. nn.ReLU()")
    return module
