"""Watching: a function becomes all that it depends on besides its arguments, and whether that has changed."""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache, partial
from operator import attrgetter, is_, itemgetter
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from . import run
from .bytecode import REACHING, names_of, taken_of
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
OBJECT = ("__getattribute__", "__setattr__", "__delattr__")
OWN = attrgetter("__defaults__", "__kwdefaults__", "__code__")
CONTENT = attrgetter("cell_contents", "cell_contents")  # twice: once alone would give no tuple
END = object()
GONE = (KeyError, AttributeError, ValueError)  # of what is looked at, an item, an attribute, a cell's content


class Watch:
    """The values that a function reads from closures, globals, defaults and attributes, as they are now.

    Attributes of objects and modules, and what lists and dicts hold, are followed as far as they go; arrays,
    sequences longer than `LONG` and objects that are not Python's own are told apart by identity alone. Of an
    object that code does nothing with but to take attributes, those that some code names are followed.
    """

    def __init__(self, function: Any, args: tuple, kw: dict[str, Any], objects: list):
        self.tensors: list[Tensor] = []
        self.trouble = ""  # why no recording can serve
        self._looks: list[tuple[str, Callable, Any]] = []  # what gives a tuple of values, and of what
        self._keys: dict[tuple[str, int], tuple[Any, list]] = {}  # of dicts, to be looked at together
        self._sized: list[tuple[str, Any, int]] = []  # of which the length is compared
        self._kinds: list[tuple] = []  # of the tensors
        self._marks = -1  # the count of requires_grad_ when these were looked at
        self._held: dict[int, Any] = {}  # what was visited, and must keep its identity
        self._parts: dict[int, tuple[str, Any, set[str]]] = {}  # objects of which names are followed
        self._attributes, self._classes, self._globals = {"forward", "__call__"}, [], {}
        self._todo = [("", function)]
        self._given(function, args, kw, list(objects))
        while self._todo and not self.trouble:
            while self._todo and not self.trouble:
                self._visit(*self._todo.pop())
            for kind in self._classes:
                self._of_class(kind)
            for part in self._parts.values():
                self._of_part(*part)
        for name, value, _ in self._parts.values():
            if id(value) not in self._held:
                self._absent(name, vars(value))
        for (name, _), (d, keys) in self._keys.items():  # the last twice: one key alone would give no tuple
            self._looks.append((name, itemgetter(*keys, keys[-1]), d))
        self._was = [get(thing) for _, get, thing in self._looks]
        self._values = [value for was in self._was for value in was]
        self._kinds = [_kind(t) for t in self.tensors]
        if len(self._held) > MOST:
            self.trouble = f"it depends on more than {MOST:,} Python objects"

    def changed(self) -> str | None:
        """The name of a value that is another one now; None where all are as they were."""
        if self._marks != run.marks[0]:
            if self._kinds != [_kind(t) for t in self.tensors]:
                return "what requires_grad"
            self._marks = run.marks[0]
        values: list[Any] = []
        try:
            for _, get, thing in self._looks:
                values += get(thing)
        except GONE:
            return self._which()
        if len(values) != len(self._values) or not all(map(is_, values, self._values)):
            return self._which()
        for _, thing, size in self._sized:
            if len(thing) != size:
                return self._which()
        return None

    def _which(self) -> str | None:
        """What of it is not equal to what it was; what is equal is taken as it is now."""
        for name, thing, size in self._sized:
            if len(thing) != size:
                return name or "a dict"
        found = []
        for (name, get, thing), was in zip(self._looks, self._was, strict=True):
            try:
                now = get(thing)
            except GONE:
                return name or "a dict"
            if len(now) != len(was):
                return name
            keys = get.__reduce__()[1] if isinstance(get, itemgetter) else [""] * len(now)
            for key, a, b in zip(keys, now, was, strict=True):
                if not _is_equal(a, b):
                    return ".".join(filter(None, (name, str(key))))
            found.append(now)
        self._was, self._values = found, [value for now in found for value in now]
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
            self._bound(name, value)
        elif isinstance(value, dict):
            self._dict(name, value, list(value), len(value))
        elif isinstance(value, list | tuple | set | frozenset | deque):
            self._sequence(name, value)
        elif not isinstance(value, ModuleType) and not _is_opaque(type(value)):
            self._object(name, value)

    def _dict(self, name: str, d: Any, keys: list, count: int | None, follow: bool = True) -> None:
        if count is not None:
            self._sized.append((name, d, count))
        if keys and len(keys) <= LONG:
            self._keys.setdefault((name, id(d)), (d, []))[1].extend(keys)
            self._todo += [(f"{name}.{k}" if name else str(k), d[k]) for k in keys if follow]

    def _sequence(self, name: str, values: Any) -> None:
        if len(values) > LONG:
            self._sized.append((name, values, len(values)))
            return
        if not isinstance(values, tuple | frozenset):
            self._looks.append((name, _ended, values))
        self._todo += [(f"{name}[{i}]", v) for i, v in enumerate(values)]

    def _bound(self, name: str, value: Any) -> None:
        if isinstance(value, partial):
            return self._todo.extend((name, part) for part in (value.func, value.args, value.keywords))
        self._todo.append((name, value.__func__))
        code = getattr(_plain(value.__func__), "__code__", None)
        if code is None or not code.co_argcount:
            return self._todo.append((name, value.__self__))
        self._reach(name, value.__self__, code, code.co_varnames[0], False)

    def _given(self, f: Any, args: tuple, kw: dict[str, Any], objects: list) -> None:
        """The objects among the arguments: as the parameters they become are used, all of those elsewhere."""
        bound, f = isinstance(f, MethodType), getattr(f, "__func__", f)
        if isinstance(f, FunctionType):
            code = f.__code__
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            direct = [*zip(names[bound : code.co_argcount], args, strict=False)]
            for name, value in [*direct, *((k, v) for k, v in kw.items() if k in names)]:
                at = next((i for i, o in enumerate(objects) if o is value), None)
                if at is not None:
                    self._reach(name, objects.pop(at), code, name, False)
        self._todo += [("", o) for o in objects]

    def _reach(self, name: str, value: Any, code: CodeType, variable: str, everywhere: bool) -> None:
        """Follow an object as far as code goes that has it in a variable."""
        taken = _all_taken(type(value), code, variable, everywhere) if _is_plain(value) else None
        if taken is None:
            return self._todo.append((name, value))
        self._attributes |= taken
        self._parts.setdefault(id(value), (name, value, set()))
        self._add_classes(value)

    def _of_part(self, name: str, value: Any, seen: set[str]) -> None:
        """The attributes of an object that somebody's code names."""
        if id(value) in self._held or "" in seen:
            return
        if not REACHING.isdisjoint(self._attributes):
            seen.add("")
            return self._todo.append((name, value))
        names = [n for n in vars(value) if n in self._attributes and n not in seen]
        seen.update(names)
        for at in range(0, len(names), LONG):
            self._dict(name, vars(value), names[at : at + LONG], None)

    def _absent(self, name: str, d: dict[str, Any]) -> None:
        """See when an object gets an attribute that is named, and was none of its own before."""
        absent = frozenset(self._attributes) - d.keys()
        self._looks.append((name or "an attribute", partial(_has_none, absent), d))

    def _object(self, name: str, value: Any) -> None:
        inside = getattr(value, "__dict__", None)
        if isinstance(inside, dict):
            self._dict(name, inside, list(inside), len(inside))
        names = [s for s in _slots(type(value)) if hasattr(value, s)]
        if names:
            self._looks.append((name, attrgetter(*names, names[-1]), value))
            self._todo += [(f"{name}.{s}", getattr(value, s)) for s in names]
        self._todo += [(name, f) for f in (getattr(value, "__wrapped__", None),) if f is not None]
        self._add_classes(value)

    def _add_classes(self, value: Any) -> None:
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
            self._looks.append((free, CONTENT, cell))
            self._enter(free, content, f.__code__, False)
        self._looks.append((name or f.__name__, OWN, f))
        for values in (f.__defaults__, f.__kwdefaults__, getattr(f, "__wrapped__", None)):
            if values is not None:
                self._todo.append((name, values))
        if str(f.__globals__.get("__name__")).partition(".")[0] not in LIBRARIES:
            used, attributes = names_of(f.__code__)
            self._attributes |= attributes
            self._of_globals(f.__globals__, used, f.__code__)

    def _of_globals(self, scope: dict[str, Any], used: frozenset[tuple[str, str]], code: CodeType) -> None:
        seen = self._globals.setdefault(id(scope), set())
        for name, attribute in used:
            if name not in scope:
                continue
            value = scope[name]
            if not attribute:
                self._enter(name, value, code, True)
            if (name, attribute) in seen:
                continue
            seen.add((name, attribute))
            if not attribute:
                self._dict("", scope, [name], None, follow=False)
            elif _is_namespace(value) and attribute in vars(value):
                self._dict(name, vars(value), [attribute], None)

    def _enter(self, name: str, value: Any, code: CodeType, everywhere: bool) -> None:
        if isinstance(value, Iterator) and not isinstance(value, Tensor):
            self.trouble = f"it uses {name}, an iterator: give what comes from it as an argument"
        self._reach(name, value, code, name, everywhere)

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


def _ended(values: Any) -> tuple:
    """What looks at several lists, one behind the other, must not take for the same: [a], [] and [], [a]."""
    return (*values, END)


def _has_none(absent: frozenset[str], d: dict[str, Any]) -> tuple[bool]:
    return (d.keys().isdisjoint(absent),)


def _plain(f: Any) -> Any:
    """What a recorded function of its own records."""
    return f.__wrapped__ if isinstance(f, FunctionType) and "programs" in vars(f) else f


def _is_plain(value: Any) -> bool:
    """Whether its attributes are what its dict and its classes hold, and nothing else."""
    kind = type(value)
    return (
        not isinstance(value, SEEN)
        and not _is_opaque(kind)
        and not hasattr(kind, "__getattr__")
        and all(getattr(kind, n) is getattr(object, n) for n in OBJECT)
        and type(getattr(value, "__dict__", None)) is dict
    )


def _all_taken(kind: type, code: CodeType, variable: str, everywhere: bool) -> frozenset[str] | None:
    """The attributes that code takes of an object in a variable, and the methods that it calls of their own;
    None where it does anything else with it."""
    names, todo, done = set(), [(code, variable, everywhere)], set()
    while todo:
        at = todo.pop()
        if at in done:
            continue
        done.add(at)
        taken = taken_of(*at)
        if taken is None:
            return None
        for name, called in taken:
            names.add(name)
            found = next((vars(k)[name] for k in kind.__mro__ if name in vars(k)), None)
            method = _plain(found)
            if isinstance(method, FunctionType) and called and method.__code__.co_argcount:
                todo.append((method.__code__, method.__code__.co_varnames[0], False))
            elif not isinstance(found, staticmethod | classmethod) and hasattr(type(found), "__get__"):
                return None
    return frozenset(names)


def _kind(t: Tensor) -> tuple:
    return t.node.param is None, t.node.dtype, t.node.shape


def _is_equal(a: Any, b: Any) -> bool:
    """The same object, or plain values of one type that are equal; -0.0 is not 0.0."""
    if a is b or type(a) is not type(b) or not isinstance(a, PLAIN):
        return a is b
    return a == b and (not isinstance(a, float | complex) or str(a) == str(b))


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
