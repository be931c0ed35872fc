"""Lists and dicts of modules and parameters, which register them with the enclosing module."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Self, cast

from ..core.node import describe
from ..core.tree import is_dict
from ..errors import IndexError, TypeError, ValueError
from ..tensor import Tensor
from .members import Owner, slots_of
from .module import Module, check_module, check_name
from .parameter import Parameter


class _Numbered(Module):
    """Base of Sequential and ModuleList: modules whose names are their indices."""

    def _renumber(self, modules: Sequence[Module | None]) -> Self:
        """Replace the modules by these, under the names "0", "1", ..."""
        for m in modules:
            _check_slot(self, m)
        # Names are removed and set again, so that vars() has them in the order of the list.
        for name, _ in slots_of(self, Owner):
            delattr(self, name)
        for i, m in enumerate(modules):
            self.add_module(str(i), m)
        return self

    def append(self, module: Module | None) -> Self:
        """Add a module at the end; returns self."""
        return self.insert(len(self), module)

    def extend(self, modules: Iterable[Module | None]) -> Self:
        """Add modules at the end; returns self."""
        for m in list(modules):
            self.append(m)
        return self

    def insert(self, index: int, module: Module | None) -> Self:
        """Insert a module before an index; returns self."""
        _check_slot(self, module)
        if index == len(self):  # nothing to renumber
            self.add_module(str(index), module)
            return self
        modules: list[Module | None] = list(self)
        modules.insert(index, module)
        return self._renumber(modules)

    def pop(self, key: int | slice) -> Any:
        """Remove and return the module at an index."""
        module = self[key]
        del self[key]
        return module

    def __len__(self) -> int:
        return len(slots_of(self, Owner))

    def __iter__(self) -> Iterator[Module]:
        return (m for _, m in slots_of(self, Owner))

    def __contains__(self, module: Any) -> bool:
        # identity: == of modules may be overridden, and a module is a member only if it is registered
        return any(m is module for m in self)

    def __getitem__(self, index: int | slice) -> Any:
        chosen = slots_of(self, Owner)[index]  # a pair, or a list of pairs for a slice
        return self._part(dict(chosen)) if isinstance(chosen, list) else chosen[1]

    def _part(self, chosen: dict[str, Module]) -> Any:
        return type(self)(list(chosen.values()))  # slices are new containers of the same modules

    def __setitem__(self, index: int, module: Module) -> None:
        _check_slot(self, module)
        setattr(self, slots_of(self, Owner)[index][0], module)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self)
        del modules[index]
        self._renumber(modules)

    def __add__(self, other: Iterable[Module]) -> Any:
        return self[:].extend(other)  # a new container: [:] copies

    def __iadd__(self, other: Iterable[Module]) -> Self:
        return self.extend(other)


def _check_slot(owner: Module, module: Any) -> Any:
    """Return a module, or None as a placeholder; TypeError for other values."""
    return None if module is None else check_module(owner, module)


class Sequential(_Numbered):
    """Call modules one after another; pass them, or one dict of name to module.

    modules: layers, in order
    Raises TypeError if one is not a module.
    """

    def __init__(self, *modules: Any):
        only = modules[0] if len(modules) == 1 else None
        # one dict keeps its names; positional modules are named by index, as in PyTorch
        for name, m in only.items() if is_dict(only) else enumerate(modules):
            self.add_module(str(name), _check_slot(self, m))

    def forward(self, input: Any) -> Any:
        for m in self:
            input = m(input)
        return input

    def _part(self, chosen: dict[str, Module]) -> "Sequential":
        return type(self)(chosen)  # under their names, as PyTorch has it

    def __mul__(self, n: int) -> Any:
        return self[:]._renumber(list(self) * _times(self, n))

    __rmul__ = __mul__

    def __imul__(self, n: int) -> Self:
        return self._renumber(list(self) * _times(self, n))


def _times(modules: Module, n: Any) -> int:
    if not isinstance(n, int) or n < 1:
        call = f"{type(modules).__name__} * {n!r}"
        raise ValueError(f"{call}: the count must be a positive integer: pass another value")
    return n


class ModuleList(_Numbered):
    """A list of modules that a module's parameters include; it has no forward."""

    def __init__(self, modules: Iterable[Module | None] | None = None):
        if modules is not None:
            self.extend(cast("Iterable[Module]", modules))  # None is a placeholder

    def _lines(self) -> list[str]:
        """The printed lines; equal neighbours share one line with their number."""
        lines: list[str] = []
        first = 0
        # PyTorch prints "(0-2): 3 x Linear(...)".
        for text, alike in groupby(map(repr, self)):
            n = len(list(alike))
            lines.append(f"({first}): {text}" if n == 1 else f"({first}-{first + n - 1}): {n} x {text}")
            first += n
        return lines

    def forward(self, input: Any) -> Any:
        rule = "it is a list, not a layer: call its modules, or use Sequential"
        raise TypeError(f"ModuleList({describe(input)}): {rule}")


class _Named:
    """Base of ModuleDict and ParameterDict: a dict whose values are attributes."""

    def _inside(self) -> Iterator[tuple[str, Any]]:
        raise NotImplementedError

    def keys(self) -> Any:
        """The names, in order."""
        return dict(self._inside()).keys()

    def values(self) -> Any:
        """The values, in order."""
        return dict(self._inside()).values()

    def items(self) -> Any:
        """(name, value) pairs, in order."""
        return dict(self._inside()).items()

    def pop(self, key: str) -> Any:
        """Remove and return the value of a name; KeyError for an unknown name."""
        value = self[key]
        del self[key]
        return value

    def clear(self) -> None:
        """Remove all."""
        for key in list(self.keys()):
            del self[key]

    def update(self, values: Any) -> None:
        """Set the values of a dict, or of pairs."""
        for key, value in values.items() if hasattr(values, "items") else values:
            self[key] = value

    def __getitem__(self, key: str) -> Any:
        return dict(self._inside())[key]

    def __setitem__(self, key: str, value: Any) -> None:
        raise NotImplementedError

    def __delitem__(self, key: str) -> None:
        self[key]  # KeyError for an unknown name
        delattr(self, key)

    def __len__(self) -> int:
        return len(self.keys())

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, key: Any) -> bool:
        return key in self.keys()


class ModuleDict(_Named, Module):
    """Modules by name, which a module's parameters include; it has no forward.

    modules: a dict of them, or (name, module) pairs.
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None):
        if modules is not None:
            self.update(modules)

    def _inside(self) -> Iterator[tuple[str, Any]]:
        return iter(slots_of(self, Owner))

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, _check_slot(self, module))

    def forward(self, input: Any) -> Any:
        rule = "it is a dict, not a layer: call its modules"
        raise TypeError(f"ModuleDict({describe(input)}): {rule}")


def _as_kept(value: Any) -> Any:
    """Convert tensors to parameters; other values are returned unchanged."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterList(Module):
    """A list of parameters that a module's parameters include; plain tensors become parameters.

    values: the tensors.
    """

    def __init__(self, values: Iterable[Any] | None = None):
        self._size = 0
        if values is not None:
            self.extend(values)

    def append(self, value: Any) -> Self:
        """Add a parameter at the end; returns self."""
        setattr(self, str(self._size), _as_kept(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add parameters at the end; returns self."""
        for value in values:
            self.append(value)
        return self

    def _place(self, index: int) -> str:
        if not -self._size <= index < self._size:
            raise IndexError(f"ParameterList[{index}]: the index is out of range: the length is {self._size}")
        return str(index % self._size)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return ParameterList(list(self)[index])
        return getattr(self, self._place(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._place(index), _as_kept(value))

    def pop(self, index: int = -1) -> Any:
        """Remove and return the parameter at an index, by default the last."""
        parameters = list(self)
        # checks the index before anything is deleted
        self._place(index)
        value = parameters.pop(index)
        # All are set again: names must be consecutive, and vars() keeps the order.
        for i in range(self._size):
            delattr(self, str(i))
        self._size = 0
        self.extend(parameters)
        return value

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([getattr(self, str(i)) for i in range(self._size)])

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def extra_repr(self) -> str:
        return "".join(f"\n  ({i}): {_line(p)}" for i, p in enumerate(self)) + ("\n" if len(self) else "")


class ParameterDict(_Named, Module):
    """Parameters by name, which a module's parameters include; plain tensors become parameters.

    parameters: a dict of them, which is sorted by name as in PyTorch; or an OrderedDict, another
    ParameterDict or (name, tensor) pairs, which keep their order.
    """

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None):
        self._names: list[str] = []
        if parameters is not None:
            self.update(parameters)

    def _inside(self) -> Iterator[tuple[str, Any]]:
        return ((name, getattr(self, name)) for name in self._names)

    def __setitem__(self, key: str, value: Any) -> None:
        # a parameter's name may not be that of another attribute, such as a method
        check_name(self, "ParameterDict", key, key in self._names)
        setattr(self, key, _as_kept(value))
        if key not in self._names:
            self._names.append(key)

    def update(self, values: Any) -> None:
        is_unordered = isinstance(values, Mapping) and not isinstance(values, OrderedDict)
        rows = cast("Mapping[str, Any]", values)
        # PyTorch sorts a plain dict's names; others have an order that the user chose
        super().update([(name, rows[name]) for name in sorted(rows)] if is_unordered else rows)

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        self._names.remove(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter of a name, or `default`."""
        return dict(self.items()).get(key, default)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The parameter of a name; sets `default` if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last (name, parameter)."""
        name = self._names[-1]
        return name, self.pop(name)

    def copy(self) -> "ParameterDict":
        """Another dict of the same parameters."""
        return ParameterDict(self.items())

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> "ParameterDict":
        """A dict of these names, each with the same parameter."""
        return ParameterDict((key, default) for key in keys)

    def __or__(self, other: "ParameterDict") -> "ParameterDict":
        # a new dict; entries of `other` replace equal names
        return ParameterDict({**dict(self.items()), **dict(other.items())}.items())

    def __ior__(self, other: "ParameterDict") -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return "".join(f"\n  ({k}): {_line(p)}" for k, p in self.items()) + ("\n" if len(self) else "")


def _line(value: Any) -> str:
    return f"Parameter of {describe(value)}" if isinstance(value, Tensor) else repr(value)
