"""Hooks of modules: functions called before or after forward, backward, state_dict and load_state_dict."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from ..core.declare import stand_for
from ..core.handle import RemovableHandle, hang
from ..core.op import Op
from ..core.tree import is_tuple
from ..errors import TypeError, ValueError
from ..ops.join import cat
from ..tensor import Tensor


class ModuleHook(NamedTuple):
    """A hook function with its options."""

    call: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False


Kinds = dict[str, dict[int, ModuleHook]]  # the kinds of hooks
everywhere: Kinds = {}  # hooks of all modules


def register(kinds: Kinds, kind: str, hook: ModuleHook, prepend: bool = False) -> RemovableHandle:
    """Register a hook after the others of its kind, or with `prepend` before them."""
    hooks = kinds.setdefault(kind, {})
    # A dict keeps the order of insertion: with `prepend` the others are inserted again after the hook.
    others = dict(hooks) if prepend else {}
    if prepend:
        hooks.clear()
    handle = hang(hooks, hook)
    hooks.update(others)
    return handle


def own_hooks(module: Any, kind: str) -> dict[int, ModuleHook]:
    """The hooks of one kind that were registered on the module, by key."""
    return module._module_hooks.get(kind, {})


def of(module: Any, kind: str) -> list[ModuleHook]:
    """The hooks of a kind, hooks of all modules first."""
    return [*everywhere.get(kind, {}).values(), *own_hooks(module, kind).values()]


def has_hooks(module: Any) -> bool:
    """Whether a call of the module has hooks to call."""
    return bool(module._module_hooks or everywhere)


def call(module: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    """Run module(*args, **kw) with all its hooks."""
    pending = of(module, "forward")  # a hook that has run is not called again if a later one raises
    try:
        args, kw = _run_pre_hooks(module, args, kw)
        gradients = _Gradients(module)
        args = gradients.through(args, "inputs") if gradients else args
        out = module.forward(*args, **kw)
        while pending:
            hook = pending.pop(0)
            replacement = hook.call(*((module, args, kw, out) if hook.with_kwargs else (module, args, out)))
            out = out if replacement is None else replacement
        return gradients.connect_outputs(out) if gradients else out
    except Exception:
        for hook in (h for h in pending if h.always_call):  # always_call: after a failed call too
            hook.call(*((module, args, kw, None) if hook.with_kwargs else (module, args, None)))
        raise


def _run_pre_hooks(
    module: Any, args: tuple[Any, ...], kw: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments after the forward pre-hooks."""
    for hook in of(module, "forward_pre"):
        if not hook.with_kwargs:
            replacement = hook.call(module, args)
            args = args if replacement is None else _as_tuple(replacement)
            continue
        replacement = hook.call(module, args, kw)
        if replacement is None:
            continue
        if not (is_tuple(replacement) and len(replacement) == 2):
            raise TypeError(
                f"{type(module).__name__}: a forward pre-hook with_kwargs=True returned"
                f" {type(replacement).__name__}: return None or (args, kwargs)"
            )
        args, kw = replacement
    return args, kw


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if is_tuple(value) else (value,)


class _Gradients:
    """The backward hooks of one call, which may replace the gradients of its outputs and inputs."""

    def __init__(self, module: Any):
        self.module = module
        self.grad_output: tuple[Any, ...] = ()
        self.before, self.after = of(module, "backward_pre"), of(module, "backward")
        # for each side: the number of values, and the indices of those with gradients
        self.places: dict[str, tuple[int, list[int]]] = {}

    def __bool__(self) -> bool:
        return bool(self.before or self.after)

    def through(self, values: Sequence[Any], side: str) -> tuple[Any, ...]:
        """The same values; backward passes their gradients to of_inputs or of_outputs in one call."""
        places = [i for i, t in enumerate(values) if isinstance(t, Tensor) and t.requires_grad]
        self.places[side] = len(values), places
        # One gate for all values with gradients, since a hook gets them in one call.
        passed = gate([values[i] for i in places], getattr(self, f"of_{side}")) if places else []
        by_place = dict(zip(places, passed, strict=True))
        return tuple(by_place.get(i, v) for i, v in enumerate(values))

    def connect_outputs(self, out: Any) -> Any:
        """The outputs of forward (a tensor, or a tuple or list of them), connected to the backward hooks."""
        if isinstance(out, Tensor):
            return self.through((out,), "outputs")[0]
        # An output of another type, such as a dict, passes without backward hooks.
        return type(out)(self.through(out, "outputs")) if type(out) in (tuple, list) else out

    def of_outputs(self, grads: list[Any]) -> list[Any]:
        spread = _spread(grads, *self.places["outputs"])
        for hook in self.before:
            replacement = hook.call(self.module, spread)
            spread = spread if replacement is None else _as_tuple(replacement)
        self.grad_output = spread
        if not self.places["inputs"][1]:  # no gradient reaches the inputs, but the hooks run
            self.of_inputs([])
        return [spread[i] for i in self.places["outputs"][1]]

    def of_inputs(self, grads: list[Any]) -> list[Any]:
        spread = _spread(grads, *self.places["inputs"])
        for hook in self.after:
            replacement = hook.call(self.module, spread, self.grad_output)
            if replacement is None:
                continue
            gradients = _as_tuple(replacement)
            if len(gradients) != len(spread):
                raise ValueError(
                    f"{type(self.module).__name__}: a backward hook returned {len(gradients)} gradients"
                    f" for {len(spread)} inputs: return None, or one for each"
                )
            spread = gradients
        return [spread[i] for i in self.places["inputs"][1]]


def _spread(grads: list[Any], n: int, places: list[int]) -> tuple[Any, ...]:
    """A list of n gradients, None for values without one."""
    by_place = dict(zip(places, grads, strict=True))
    return tuple(by_place.get(i) for i in range(n))


def gate(tensors: list[Tensor], f: Callable[[list[Any]], list[Any]]) -> list[Tensor]:
    """The same values; their gradients pass through f(gradients) -> gradients in one call.

    Several tensors are concatenated to one vector and split again, since a node has one gradient.
    """
    if len(tensors) == 1:
        return [_gate(tensors[0], lambda g: f([g])[0])]
    ends = [0, *accumulate(t.numel() for t in tensors)]

    def join_gradients(g: Tensor) -> Tensor:
        parts = [_part(g, a, b, t) for a, b, t in zip(ends[:-1], ends[1:], tensors, strict=True)]
        return cat([x.to(g.dtype).reshape(-1) for x in f(parts)])

    joint = _gate(cat([t.reshape(-1) for t in tensors]), join_gradients)
    return [_part(joint, a, b, t) for a, b, t in zip(ends[:-1], ends[1:], tensors, strict=True)]


def _part(x: Tensor, a: int, b: int, like: Tensor) -> Tensor:
    return x.narrow(0, a, b - a).reshape(*like.shape).to(like.dtype)


def _identity(xp: Any, x: Any) -> Any:
    return x


def _gate(x: Tensor, f: Callable[[Tensor], Tensor]) -> Tensor:
    def gradient(g: Tensor, *_: Tensor) -> list[Tensor]:
        return [f(g)]

    # An identity whose gradient rule calls f: the planner sees through it.
    op = Op("composite", xp=_identity, grad=gradient, name="gate")
    return Tensor(stand_for(op, x.node, (x.node,), {}))


def run_hooks(module: Any, kind: str, *args: Any) -> None:
    """Call the module's own hooks of one kind, in order."""
    for hook in list(own_hooks(module, kind).values()):  # a hook may remove itself
        hook.call(*args)


# --- hooks of all modules, under PyTorch's names (torch.nn.modules.module) ---


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, args) before the forward of every module; see Module."""
    return register(everywhere, "forward_pre", ModuleHook(hook))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call hook(module, args, output) after the forward of every module; see Module."""
    return register(everywhere, "forward", ModuleHook(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, grad_output) when backward reaches the outputs of every module; see Module."""
    return register(everywhere, "backward_pre", ModuleHook(hook))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, grad_input, grad_output) when backward has the input gradients of every module; see
    Module."""
    return register(everywhere, "backward", ModuleHook(hook))
