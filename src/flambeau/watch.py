"""Watching: a function becomes all that it depends on besides its arguments, and whether that has changed."""

import dis
import sys
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache, partial
from operator import attrgetter, is_, itemgetter
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from . import run
from .dtype import DType
from .op import Op
from .ops.random import Generator
from .tensor import HostScalar, Tensor

LONG = 1000  # longer sequences are watched by their length alone
MOST = 50_000  # Python objects that are looked at
PLAIN = (int, float, complex, str, bytes, type(None), range, slice, DType, Op, type, type(...))
SEEN = (*PLAIN, HostScalar, Generator)  # these change, and a replay sees it
LIBRARIES = frozenset(sys.stdlib_module_names) - {"__main__"} | {"flambeau", "numpy"}
OPAQUE = LIBRARIES - {"flambeau", "types", "argparse", "collections"}  # their objects change by use


class Watch:
    """The values that a function reads from closures, globals, defaults and attributes, as they are now.

    Attributes of objects and modules, and what lists and dicts hold, are followed as far as they go; arrays,
    sequences longer than `LONG` and objects that are not Python's own are told apart by identity alone.
    """

    def __init__(self, function: Any, given: Any):
        self.tensors: list[Tensor] = []
        self.trouble = ""  # why no recording can serve
        self._dicts: list[tuple[str, Any, int | None, Any, tuple]] = []  # of the values behind keys
        self._others: list[tuple[str, Callable, tuple]] = []  # of what a call gives now
        self._kinds: list[tuple] = []  # of the tensors
        self._marks = -1  # the count of requires_grad_ when these were looked at
        self._held: dict[int, Any] = {}  # what was visited, and must keep its identity
        self._attributes, self._classes, self._globals = {"forward", "__call__"}, [], {}
        self._todo = [("", function), ("", given)]
        while self._todo and not self.trouble:
            while self._todo and not self.trouble:
                self._visit(*self._todo.pop())
            for kind in self._classes:
                self._of_class(kind)
        self._kinds = [_kind(t) for t in self.tensors]
        if len(self._held) > MOST:
            self.trouble = f"it depends on more than {MOST:,} Python objects"

    def changed(self) -> str | None:
        """The name of a value that is another one now; None where all are as they were."""
        if self._marks != run.marks[0]:
            if self._kinds != [_kind(t) for t in self.tensors]:
                return "what requires_grad"
            self._marks = run.marks[0]
        for name, d, count, get, was in self._dicts:
            if count is not None and len(d) != count:
                return name or "a dict"
            try:
                now = get(d)
            except KeyError:
                return name or "a dict"
            if not all(map(is_, now, was)):
                keys = get.__reduce__()[1]
                for key, a, b in zip(keys, now, was, strict=True):
                    if not _is_equal(a, b):
                        return f"{name}.{key}" if name else str(key)
        for name, get, was in self._others:
            now = get()
            if len(now) != len(was) or not all(map(_is_equal, now, was)):
                return name
        return None

    # --- looking ---

    def _visit(self, name: str, value: Any) -> None:
        if isinstance(value, SEEN) or id(value) in self._held:
            return
        if len(self._held) > MOST:
            self._todo.clear()
            return
        self._held[id(value)] = value
        if isinstance(value, Tensor):
            self.tensors.append(value)
        elif isinstance(value, FunctionType):
            self._function(name, value)
        elif isinstance(value, MethodType | partial):
            parts = (
                ("__func__", "__self__") if isinstance(value, MethodType) else ("func", "args", "keywords")
            )
            self._todo += [(name, getattr(value, part)) for part in parts]
        elif isinstance(value, dict):
            self._dict(name, value, list(value), len(value))
        elif isinstance(value, list | tuple | set | frozenset | deque):
            self._sequence(name, value)
        elif not isinstance(value, ModuleType) and not _is_opaque(type(value)):
            self._object(name, value)

    def _dict(self, name: str, d: Any, keys: list, count: int | None) -> None:
        if keys and len(keys) <= LONG:
            get = itemgetter(*keys, keys[-1])  # the last twice: one key alone would give no tuple
            self._dicts.append((name, d, count, get, get(d)))
            self._todo += [(f"{name}.{k}" if name else str(k), d[k]) for k in keys]
        elif count is not None:
            self._others.append((name, lambda: (len(d),), (len(d),)))

    def _sequence(self, name: str, values: Any) -> None:
        if len(values) > LONG:
            self._others.append((name, lambda: (len(values),), (len(values),)))
            return
        if not isinstance(values, tuple | frozenset):
            self._others.append((name, lambda: tuple(values), tuple(values)))
        self._todo += [(f"{name}[{i}]", v) for i, v in enumerate(values)]

    def _object(self, name: str, value: Any) -> None:
        inside = getattr(value, "__dict__", None)
        if isinstance(inside, dict):
            self._dict(name, inside, list(inside), len(inside))
        names = [s for s in _slots(type(value)) if hasattr(value, s)]
        if names:
            get = attrgetter(*names, names[-1])
            self._others.append((name, lambda: get(value), get(value)))
            self._todo += [(f"{name}.{s}", getattr(value, s)) for s in names]
        self._todo += [(name, f) for f in (getattr(value, "__wrapped__", None),) if f is not None]
        for kind in type(value).__mro__:
            if _library(kind) not in LIBRARIES and kind not in self._classes:
                self._classes.append(kind)

    def _function(self, name: str, f: FunctionType) -> None:
        if "programs" in vars(f):  # a recorded function of its own
            return self._todo.append((name, f.__wrapped__))  # type: ignore[attr-defined]
        for cell, free in zip(f.__closure__ or (), f.__code__.co_freevars, strict=True):
            try:
                content = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
            self._others.append((free, partial(_content, cell), (content,)))
            self._enter(free, content)
        get = attrgetter("__defaults__", "__kwdefaults__", "__code__")
        self._others.append((name or f.__name__, lambda: get(f), get(f)))
        for values in (f.__defaults__, f.__kwdefaults__, getattr(f, "__wrapped__", None)):
            if values is not None:
                self._todo.append((name, values))
        if str(f.__globals__.get("__name__")).partition(".")[0] not in LIBRARIES:
            used, attributes = _names(f.__code__)
            self._attributes |= attributes
            self._of_globals(f.__globals__, used)

    def _of_globals(self, scope: dict[str, Any], used: frozenset[tuple[str, str]]) -> None:
        seen = self._globals.setdefault(id(scope), set())
        for name, attribute in used:
            if name not in scope or (name, attribute) in seen:
                continue
            seen.add((name, attribute))
            value = scope[name]
            if not attribute:
                self._dict("", scope, [name], None)
                self._enter(name, value)
            elif _is_namespace(value) and attribute in vars(value):
                self._dict(name, vars(value), [attribute], None)

    def _enter(self, name: str, value: Any) -> None:
        if isinstance(value, Iterator) and not isinstance(value, Tensor):
            self.trouble = f"it uses {name}, an iterator: give what comes from it as an argument"
        self._todo.append((name, value))

    def _of_class(self, kind: type) -> None:
        """The methods and constants of a class that somebody's code names."""
        seen = self._globals.setdefault(id(kind), set())
        for name, value in list(vars(kind).items()):
            if name not in self._attributes or name in seen:
                continue
            seen.add(name)
            self._dict(kind.__name__, vars(kind), [name], None)
            inner = getattr(value, "fget", None) or getattr(value, "__func__", None)
            if inner is not None:
                self._todo.append((name, inner))


def _content(cell: Any) -> tuple:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _kind(t: Tensor) -> tuple:
    return t.node.param is None, t.node.dtype, t.node.shape


def _is_equal(a: Any, b: Any) -> bool:
    """The same object, or plain values of one type that are equal."""
    return a is b or (type(a) is type(b) and isinstance(a, PLAIN) and a == b)


def _library(thing: Any) -> str:
    """The package that a class comes from, or that a module is in."""
    name = thing.__name__ if isinstance(thing, ModuleType) else thing.__module__
    return str(name).partition(".")[0]


def _is_namespace(value: Any) -> bool:
    """Whether it is a module or a class of the user's, where constants may stand."""
    return isinstance(value, ModuleType | type) and _library(value) not in LIBRARIES


def _is_opaque(kind: type) -> bool:
    return _library(kind) in OPAQUE or kind.__module__.startswith("flambeau.device")


@cache
def _slots(kind: type) -> tuple[str, ...]:
    own = [vars(k).get("__slots__") for k in kind.__mro__ if _library(k) not in LIBRARIES]
    return tuple(s for slots in own for s in _listed(slots) if not s.startswith("__"))


def _listed(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots or ())


@cache
def _names(code: CodeType) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
    """The globals that code reads, each with the attribute that is taken of it there ("" for none), and all
    attributes that it takes of anything; of the functions inside as well."""
    used, attributes, before = set(), set(), ""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            attributes.add(step.argval)
            if before:
                used.add((before, step.argval))
        before = step.argval if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") else ""
        if before:
            used.add((before, ""))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more, further = _names(inner)
            used |= more
            attributes |= further
    return frozenset(used), frozenset(attributes)
