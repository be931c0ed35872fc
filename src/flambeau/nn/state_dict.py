"""Reading and writing the tensors of a tree of modules by name, by PyTorch's protocol."""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from warnings import warn

from ..core.modes import no_grad
from ..core.node import describe
from ..errors import ValueError, nearest
from ..tensor import Tensor, tensor
from . import hooks
from .members import Owner, own_members, slots_of
from .parameter import Buffer, Parameter, is_lazy

EXTRA = "_extra_state"  # the key of what get_extra_state returns


class Keys(NamedTuple):
    """The result of load_state_dict: names without a tensor, and tensors without a name in the module."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class StateDict(OrderedDict[str, Any]):
    """Tensors by name. `_metadata` has the version of each module, as in PyTorch."""

    _metadata: dict[str, dict[str, Any]]


class StateEntry(NamedTuple):
    """A tensor of a module that has a value to load."""

    key: str
    owner: Any
    name: str
    value: Any


class Loading(dict[str, Any]):
    """The values that one module and those inside may load. Their places are recorded and assigned together,
    once all names and shapes are known to be right."""

    places: list[StateEntry]
    states: list[tuple[Any, Any]]  # modules, and the extra states that they take

    def part(self, prefix: str) -> "Loading":
        """The values whose names begin with a prefix."""
        part = Loading((name, value) for name, value in self.items() if name.startswith(prefix))
        part.places, part.states = self.places, self.states
        return part


def own_state(module: Any) -> Iterator[tuple[str, Tensor]]:
    """(name, tensor) of the module's own parameters, then of its own persistent buffers."""
    for kind in (Parameter, Buffer):
        members = own_members(module, kind)
        yield from ((name, t) for name, t in members if module._buffer_persistence.get(name, True))


def has_extra_state(module: Any, method: str) -> bool:
    """Whether a module's class defines get_extra_state or set_extra_state."""
    return getattr(module.__class__, method) is not getattr(Owner, method)


def present_value(t: Tensor) -> Tensor:
    """The entry of a tensor in a state_dict: its value, which later steps keep. Torch mode has another."""
    return tensor(t)


def collect(module: Any, state: Any, prefix: str, keep_vars: bool) -> None:
    """Add a module's own tensors to a dict."""
    for name, t in own_state(module):
        state[prefix + name] = t if keep_vars else present_value(t)
    if has_extra_state(module, "get_extra_state"):
        state[prefix + EXTRA] = module.get_extra_state()


def find_places(
    module: Any,
    state: Any,
    prefix: str,
    messages: tuple[bool, list[str], list[str], list[str]],
) -> None:
    """Find the values of a module's own tensors, and assign or record them.

    messages: whether to list names, the missing and the unexpected ones, and errors
    """
    strict, missing, unexpected, errors = messages
    own = dict(own_state(module))
    for name in own:
        if prefix + name in state:
            _take(state, StateEntry(prefix + name, module, name, state[prefix + name]), errors)
        elif strict:
            missing.append(prefix + name)
    extra = has_extra_state(module, "set_extra_state")
    if extra and prefix + EXTRA in state:
        _take_extra(state, module, state[prefix + EXTRA])
    elif extra and strict:
        missing.append(prefix + EXTRA)
    if strict:
        inner = {name for name, _ in slots_of(module, Owner)}
        unexpected += [key for key in state if _is_unexpected(key, prefix, own, inner, extra)]


def _is_unexpected(key: str, prefix: str, own: Mapping[str, Any], inner: set[str], extra: bool) -> bool:
    """Whether a key that begins with the prefix names no tensor of the module and none inside."""
    if not key.startswith(prefix):
        return False
    first, dot, _ = key[len(prefix) :].partition(".")
    return first not in inner if dot else first not in own and not (extra and first == EXTRA)


def _take(state: Any, place: StateEntry, errors: list[str]) -> None:
    if isinstance(state, Loading):
        return state.places.append(place)
    # A class passed another dict to its base: the tensors to assign are not recorded.
    own = getattr(place.owner, place.name)
    if not hasattr(place.value, "shape"):
        errors.append(f"{place.key!r} is {describe(place.value)}")
    elif _shapes_differ(own, place.value):
        errors.append(_shapes(place))
    else:
        assign(place, False)


def _take_extra(state: Any, module: Any, value: Any) -> None:
    if isinstance(state, Loading):
        return state.states.append((module, value))
    module.set_extra_state(value)


def load(
    root: Any, state_dict: Mapping[str, Any], strict: bool, replaces: bool, rename: Iterable[tuple[str, str]]
) -> Keys:
    """Assign values by name to the tensors of a tree of modules. ValueError lists what does not fit.

    replaces: the given tensors replace the module's tensors
    """
    versions: dict[str, Any] = getattr(state_dict, "_metadata", None) or {}
    state, keys, errors = Loading(_rename(state_dict, rename)), Keys([], []), list[str]()
    state.places, state.states = [], []

    def visit(module: Any, part: Loading, prefix: str) -> None:
        version: dict[str, Any] = versions.get(prefix[:-1], {})
        if replaces:
            version = {**version, "assign_to_params_buffers": True}
        module._load_from_state_dict(part, prefix, version, True, *keys, errors)
        for name, m in own_members(module, Owner):
            visit(m, part.part(f"{prefix}{name}."), f"{prefix}{name}.")

    def assign_all() -> None:
        with no_grad():  # own tensors may require gradients
            for place in state.places:
                assign(place, replaces)
            for module, value in state.states:
                module.set_extra_state(value)

    visit(root, state, "")
    strange = [p for p in state.places if not hasattr(p.value, "shape")]  # e.g. a nested dict, or a number
    bad = [p for p in state.places if p not in strange and _shapes_differ(getattr(p.owner, p.name), p.value)]
    # Hooks may remove names from the lists, and read the values: they run first if there are any.
    after = [m for m in inside_out(root) if hooks.own_hooks(m, "load_state_dict")]
    runs_hooks = bool(after) and not (strange or bad or errors)
    if runs_hooks:
        assign_all()
        for m in after:
            hooks.run_hooks(m, "load_state_dict", m, keys)
    problems = _name_problems(root, state, keys) if strict else []
    problems += _list_names("of another shape", bad, _shapes)
    problems += _list_names("no tensor", strange, lambda p: f"{p.key!r} is {describe(p.value)}")
    problems += errors
    if problems:
        cure = "use a state_dict of the same model" + ("" if bad or strange else ", or strict=False")
        # A checkpoint often nests the state_dict in a dict with other entries.
        names = root.state_dict(keep_vars=True).keys()
        inside = next((n for n in state if isinstance(state[n], Mapping) and names & state[n].keys()), None)
        cure = cure if inside is None else f"pass the object at {inside!r}"
        raise ValueError(f"load_state_dict({len(state)} tensors): {'; '.join(problems)}: {cure}")
    if not runs_hooks:
        assign_all()
    return keys


def inside_out(module: Any) -> Iterator[Any]:
    """All modules inside, a shared one each time, then this one."""
    for _, m in own_members(module, Owner):
        yield from inside_out(m)
    yield module


def _name_problems(root: Any, state: Loading, keys: Keys) -> list[str]:
    names = keys.missing_keys or [place.key for place in state.places]
    return [
        *_list_names("missing", keys.missing_keys, lambda n: repr(n)),
        *_list_names("unexpected", keys.unexpected_keys, lambda n: _describe_unexpected(n, names)),
    ]


OLD_SCALAR = ((), (1,))  # PyTorch before 0.4 saved 0-d tensors as [1]


def _shapes_differ(own: Tensor, value: Any) -> bool:
    shape = tuple(value.shape)
    return not is_lazy(own) and shape != own.shape and (own.shape, shape) != OLD_SCALAR


def assign(place: StateEntry, replaces: bool) -> None:
    """Copy a loaded value into a module's tensor, or replace the tensor."""
    owner, name, loaded = place.owner, place.name, place.value
    own = getattr(owner, name)
    if own.is_meta and not replaces and not getattr(loaded, "is_meta", False):
        rule = f"{name!r} is on the meta device, where values are lost: pass assign=True"
        warn(f"load_state_dict(...): {rule}", stacklevel=3)
    if is_lazy(own):
        # A lazy parameter takes its shape from the file.
        own.materialize(tuple(loaded.shape))
    if not replaces:
        # PyTorch before 0.4 saved 0-d tensors as [1]
        own.assign_(loaded[0] if (own.shape, tuple(loaded.shape)) == OLD_SCALAR else loaded)
        return
    value = loaded if isinstance(loaded, Tensor) else tensor(loaded, device=own.device)
    # A plain tensor under a parameter's name becomes a parameter and keeps the old one's requires_grad.
    if isinstance(own, Parameter):
        value = value if isinstance(value, Parameter) else Parameter(value.detach(), own.requires_grad)
    setattr(owner, name, value)


SHOWN = 20  # names listed in an error; only these are compared with all names for suggestions


def _list_names(title: str, names: list[Any], text_of: Callable[[Any], str]) -> list[str]:
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


def _shapes(place: StateEntry) -> str:
    own = getattr(place.owner, place.name)
    return f"{place.key!r} is {describe(own)}, got {list(place.value.shape)}"
