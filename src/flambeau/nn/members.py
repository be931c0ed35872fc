"""The members of a module: its parameters, buffers and modules by name, also as PyTorch's dicts.

A member is an attribute of its module; `_member_kinds` and `_buffer_persistence` say which attributes are
members.
The functions here take a module, and are not its methods: a user's module may have methods of these names.
"""

from collections.abc import ItemsView, Iterator, KeysView, MutableMapping, MutableSet, ValuesView
from typing import Any

from .parameter import Buffer


class Owner:
    """The base of Module, and the kind of those members that are modules."""

    def get_extra_state(self) -> Any:
        """The value that state_dict stores under "_extra_state"; subclasses may define it, with
        set_extra_state."""
        raise NotImplementedError(
            f"{type(self).__name__}.get_extra_state(): it has no extra state: define it"
        )

    def set_extra_state(self, state: Any) -> None:
        """Take what get_extra_state returned; subclasses define both."""
        raise NotImplementedError(
            f"{type(self).__name__}.set_extra_state(): it has no extra state: define it"
        )


def kind_of(module: Any, name: str) -> type | None:
    """The kind of a name: Parameter, Buffer or Owner; None for a plain attribute."""
    return module._member_kinds.get(name) or (Buffer if name in module._buffer_persistence else None)


def register(module: Any, name: str, kind: type) -> None:
    """Record the kind of a name; a name of a new kind comes after the others of that kind."""
    if kind_of(module, name) is kind:
        return
    # Popped and set again by __setattr__, so that vars() lists it after the others of its kind.
    module.__dict__.pop(name, None)
    module._buffer_persistence.pop(name, None)
    module._member_kinds.pop(name, None)
    if kind is not Buffer:
        module._member_kinds[name] = kind


def slots_of(module: Any, kind: type) -> list[tuple[str, Any]]:
    """(name, value) of the module's own members of a kind, in order; the value may be None."""
    attributes: dict[str, Any] = module.__dict__
    return [(name, value) for name, value in attributes.items() if kind_of(module, name) is kind]


def own_members(module: Any, kind: type) -> Iterator[tuple[str, Any]]:
    """(name, value) of the module's own parameters, buffers or modules, without those that are None."""
    return ((name, value) for name, value in slots_of(module, kind) if value is not None)


class Members(MutableMapping[str, Any]):
    """The parameters, buffers or modules of a module as PyTorch's dict of them, which may hold None. A change
    of the dict changes the module; values are not checked."""

    def __init__(self, module: Any, kind: type):
        self.module, self.kind = module, kind

    def __getitem__(self, name: str) -> Any:
        if kind_of(self.module, name) is not self.kind:
            raise KeyError(name)
        return self.module.__dict__[name]

    def __setitem__(self, name: str, value: Any) -> None:
        register(self.module, name, self.kind)
        if self.kind is Buffer:
            self.module._buffer_persistence.setdefault(name, getattr(value, "persistent", True))
        vars(self.module)[name] = value

    def __delitem__(self, name: str) -> None:
        self[name]  # KeyError for an unknown name
        delattr(self.module, name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in slots_of(self.module, self.kind)])

    def __len__(self) -> int:
        return len(slots_of(self.module, self.kind))

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))

    # views of a dict, which can be reversed; a change after the call does not reach them
    def keys(self) -> KeysView[str]:
        """The names, in order."""
        return self.copy().keys()

    def values(self) -> ValuesView[Any]:
        """The members, in order."""
        return self.copy().values()

    def items(self) -> ItemsView[str, Any]:
        """Names and members, in order."""
        return self.copy().items()

    def copy(self) -> dict[str, Any]:
        """A dict of the members, which later changes do not reach."""
        return dict(slots_of(self.module, self.kind))

    def __repr__(self) -> str:
        return repr(self.copy())


class NonPersistent(MutableSet[str]):
    """The names of a module's buffers that state_dict omits."""

    def __init__(self, module: Any):
        self.persistence: dict[str, bool] = module._buffer_persistence

    def __contains__(self, name: object) -> bool:
        return any(name == own for own in self)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, persistent in self.persistence.items() if not persistent])

    def __len__(self) -> int:
        return list(self.persistence.values()).count(False)

    def add(self, value: str) -> None:
        """Let state_dict omit a buffer."""
        self.persistence[value] = False

    def discard(self, value: str) -> None:
        """Let state_dict have a buffer."""
        if value in self.persistence:
            self.persistence[value] = True


def replace_members(module: Any, kind: type, values: Any) -> None:
    """Make these the members of a kind: `module._parameters = OrderedDict()`."""
    members, named = Members(module, kind), dict(values)
    members.clear()
    members.update(named)
