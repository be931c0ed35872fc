"""Guards: collect everything that a function depends on besides its arguments, and detect changes."""

import builtins
import gc
import os
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import _GeneratorContextManager  # pyright: ignore[reportPrivateUsage]
from contextvars import ContextVar
from functools import _lru_cache_wrapper, cached_property, partial  # pyright: ignore[reportPrivateUsage]
from importlib.util import resolve_name
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any, cast

from ..autodiff import hooks
from ..core.modes import switches
from ..ops.random import Generator
from ..runtime.state import shared
from ..tensor import HostScalar, Tensor
from .bytecode import codes_of, modules_taken_whole, names_of, taken_of
from .snapshots import Snapshot, is_equal
from .watchable import (
    CONTENT,
    STDLIB,
    VALUES,
    class_of,
    has_known_parts,
    has_own_reading,
    is_fixed,
    is_known,
    is_library,
    is_plain,
    library_of,
    name_of,
    slots_of,
)

LONG = 5_000  # the most elements of a watched container
LARGE = 1 << 16  # the most bytes of a watched array
MOST = 50_000  # the most watched Python objects
OWN = ("__defaults__", "__kwdefaults__", "__code__")
# methods of a user's classes that our own code calls
CALLED = {"forward", "__call__", "backward", "setup_context", "vjp", "jvp", "update", "__wrapped__"}
MAKING = ("__init__", "__new__", "__init_subclass__", "__set_name__", "__post_init__", "__del__")
NO_STATE = (
    "__dict__",
    "__weakref__",
    "__doc__",
    "__module__",
    "__annotations__",
    "__abstractmethods__",
    "_abc_impl",
)
DRAWS = "it draws from Python's or NumPy's random numbers: draw from flambeau's"
CURE = "keep its result in a tensor, or pass it as an argument"


class Watch:
    """The values that a function reads from closures, globals, defaults and attributes, as they are now.

    Every reachable value is followed. If the complete state of one is not known, `trouble` has the reason and
    the call is not recorded. Of modules, classes, and objects of which code only reads attributes, only the
    names that some code reads from any object are watched.

    ran: the code that ran in an earlier call; only this is followed. A call whose watched values are the same
    runs the same code, since all that decides which code runs is read by code that ran before.
    """

    def __init__(
        self,
        function: Any,
        args: tuple[Any, ...],
        kw: dict[str, Any],
        objects: list[Any],
        ran: set[CodeType] | None = None,
    ):
        self.ran = ran
        self._whole: set[int] = set()  # modules that code holds other than to read an attribute by its name
        self.tensors: list[Tensor] = []
        self.generators: list[Generator] = []
        self.codes: set[CodeType] = set()  # code that may run, as far as known
        self.trouble = ""  # why no recording can serve
        self.snapshot = Snapshot()
        self._kinds: list[tuple[Any, ...]] = []  # of the tensors
        self._marks_seen = -1  # the count of requires_grad_ calls when these were visited
        self._visited: dict[int, Any] = {id(o): o for o in objects if type(o) in VALUES}
        # visited objects, kept alive so that their ids stay unique
        # objects of which only some names are followed
        self._followed: dict[int, tuple[str, Any, dict[str, Any], set[str]]] = {}
        self._attributes, self._all_attributes = set(CALLED), False
        self._classes: dict[type, set[str]] = {}
        self._constructed: set[type] = set()  # classes that code refers to: it may instantiate them
        self._globals: set[tuple[int, str]] = set()
        # keys of dicts, visited together
        self._dict_keys: dict[tuple[str, int], tuple[Any, dict[str, None]]] = {}
        # of modules: names that resolve to builtins
        self._missing: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self._numbers: list[tuple[HostScalar, Any]] = []
        self._queue: list[tuple[str, Any]] = [("", function)]
        self._visit_arguments(function, args, kw, list(objects))
        self._follow_all()
        self._look_at_keys()
        if len(self._visited) > MOST:
            self._refuse(f"it depends on more than {MOST:,} Python objects")
        if not self.trouble:
            self.snapshot.take()
            self._kinds = [_kind(t) for t in self.tensors]

    def changed(self) -> str | None:
        """Return the name of a value that has changed; None if none has."""
        if self._marks_seen != shared.marks:
            if self._kinds != [_kind(t) for t in self.tensors]:
                return "which tensors have requires_grad or a hook"
            self._marks_seen = shared.marks
        for scalar, value in self._numbers:
            if not is_equal(scalar.held, value):
                return "a HostScalar's value (an optimizer's lr) that it reads as a number"
        return None if self.snapshot.same() else self.snapshot.which()

    def number(self, scalar: HostScalar) -> None:
        """Record that the function reads the value of a HostScalar as a Python number."""
        self._numbers.append((scalar, scalar.held))

    def _follow_all(self) -> None:
        # To a fixed point: new code names attributes, for which classes and modules that were visited before
        # have to be looked at again for those. It terminates, since each name and object is visited once.
        while self._queue and not self.trouble:
            while self._queue and not self.trouble:
                self._visit(*self._queue.pop())
            for kind in list(self._classes):
                self._visit_class(kind)
            for part in list(self._followed.values()):
                self._visit_followed(*part)

    def _look_at_keys(self) -> None:
        # Only now are all names known that code uses. Absence counts as well: a new attribute of an
        # instance hides its class's, and a new global hides a builtin.
        """Watch the collected keys of dicts, and the absence of names that would hide others."""
        for (name, _), (d, keys) in self._dict_keys.items():
            self.snapshot.items(name, d, keys)
        for name, thing, d, _ in self._followed.values():
            if isinstance(thing, FunctionType):
                self.snapshot.size(d)
            elif self._is_partly_read(thing):
                self.snapshot.absent(name or "an attribute", d, self._attributes - d.keys())
        for d, names in self._missing.values():
            self.snapshot.absent(", ".join(sorted(names)), d, names)

    def _is_partly_read(self, thing: Any) -> bool:
        """Whether only the attributes that code names are watched; of objects used in other ways, all are."""
        return (
            not is_library(thing.__name__)
            if isinstance(thing, ModuleType)
            else id(thing) not in self._visited
        )

    def _refuse(self, why: str) -> None:
        self.trouble = self.trouble or why

    # --- visiting ---

    def _visit(self, name: str, value: Any) -> None:
        # An allow-list: a handler for Python's own types, then classes whose whole state Python can show.
        # Anything else is refused, never passed over: a value that changes unseen would make a replay wrong
        # in silence.
        kind = class_of(value)
        if kind in VALUES or id(value) in self._visited:
            return
        if len(self._visited) > MOST:
            return self._queue.clear()
        self._visited[id(value)] = value
        visit = next((HANDLERS[k] for k in kind.__mro__ if k in HANDLERS), None) if _is_ours(kind) else None
        visit = visit or HANDLERS.get(kind)
        if visit is None and self.ran is not None:
            visit = next((HANDLERS_OF_RUN[k] for k in kind.__mro__ if k in HANDLERS_OF_RUN), None)
        if visit is not None:
            visit(self, name, value)
        elif issubclass(kind, type):
            self._constructed |= {value, *value.__mro__}
            self._add_classes(value)
        elif name_of(kind) in CONTENT:
            self._content(name, value)
        elif getattr(kind, "is_unwatched", False) and is_library(kind.__module__):
            return  # one of our classes declares that its state follows from watched values
        elif not is_fixed(kind) and not kind.__module__.startswith("flambeau.device"):
            self._object(name, value) if self._is_known(kind) else self._unknown(name, value)

    def _is_known(self, kind: type) -> bool:
        """Whether the state of its objects can be watched. A function that reads its attributes is followed
        if all that runs is known."""
        if self.ran is not None and has_known_parts(kind):
            return not has_own_reading(kind) or not any(base in kind.__mro__ for base in BASES)
        return is_known(kind)

    def visit_switch(self, name: str, value: ContextVar[Any]) -> None:
        """Skip no_grad, autocast and similar switches, which are part of a recording's key."""
        if any(value is switch for switch in switches()):
            return
        if self.ran is None:
            return self._unknown(name, value)
        self.snapshot.returned(name, _content_of, value)
        self._queue += [(name, v) for v in _content_of(value) if v is not value]

    def _unknown(self, name: str, value: Any) -> None:
        kind = class_of(value)
        if library_of(kind) == "random" or kind.__module__.startswith("numpy.random"):
            return self._refuse(DRAWS)
        if isinstance(value, Iterator):
            cure = "an iterator: pass its items as arguments"
        else:
            cure = f"of the class {name_of(kind).removeprefix('builtins.')}, which can't be watched: {CURE}"
        self._refuse(f"it uses {name or 'such an object'}, {cure}")

    def _content(self, name: str, value: Any) -> None:
        has_objects = getattr(getattr(value, "dtype", None), "hasobject", False)
        nbytes = value.nbytes if hasattr(value, "nbytes") else memoryview(value).nbytes
        if has_objects or nbytes > LARGE:  # arrays of ml_dtypes have no memoryview
            rule = f"an array of more than {LARGE:,} bytes, or of objects, which is not watched"
            return self._refuse(f"it uses {name}, {rule}: make it a tensor, or an argument")
        self.snapshot.content(name, CONTENT[name_of(class_of(value))], value)

    def visit_tensor(self, name: str, t: Tensor) -> None:
        self.tensors.append(t)
        self.snapshot.size(vars(t))
        more = [k for k in vars(t) if k != "node"]
        if more:
            self._items(name, vars(t), more)
        if not is_library(type(t).__module__):
            self._add_classes(type(t))

    def _items(self, name: str, d: Any, keys: list[Any], follow: bool = True) -> None:
        """Watch some of the values of a dict."""
        if keys:
            self._dict_keys.setdefault((name, id(d)), (d, {}))[1].update(dict.fromkeys(keys))
            self._queue += [(f"{name}.{k}" if name else str(k), d[k]) for k in keys if follow]

    def visit_dict(self, name: str, d: Any) -> None:
        if d is sys.modules:
            return self._refuse("it uses sys.modules, which can read any name: refer to names directly")
        if self._is_short(name, d):
            self.snapshot.dict(name, d)
            self._enter_all(name, d)
            self._queue += [(name, getattr(d, "default_factory", None))]

    def visit_proxy(self, name: str, d: Any) -> None:
        if self._is_short(name, d):
            self.snapshot.order(name, d)
            self.snapshot.order(name, d.values())
            self._enter_all(name, d)

    def _enter_all(self, name: str, d: Any) -> None:
        self._queue += [(name, k) for k in d if type(k) not in VALUES]
        self._queue += [(_describe_item(name, k), v) for k, v in d.items()]

    def visit_sequence(self, name: str, values: Any) -> None:
        is_fixed = isinstance(values, tuple | frozenset)
        if is_fixed or self._is_short(name, values):
            if not is_fixed:
                self.snapshot.order(name, values)
            self._queue += [(f"{name}[{i}]", v) for i, v in enumerate(cast("Sequence[Any]", values))]

    def _is_short(self, name: str, values: Any) -> bool:
        if len(values) > LONG:
            self._refuse(f"it uses {name}, of more than {LONG:,} elements: {CURE}")
        return not self.trouble

    def _object(self, name: str, value: Any) -> None:
        kind = class_of(value)
        self.snapshot.kind(name, value)
        if kind.__dictoffset__:
            self.snapshot.object(name, value)
            attributes: dict[str, Any] = object.__getattribute__(value, "__dict__")
            self._queue += [(f"{name}.{k}" if name else k, v) for k, v in attributes.items()]
        for slot in slots_of(kind):
            self.snapshot.returned(f"{name}.{slot.__name__}", partial(_slot, slot), value)
            self._queue += [(f"{name}.{slot.__name__}", v) for v in _slot(slot, value) if v is not slot]
        base: Any = next((k for k in BASES if k in kind.__mro__), None)
        if base is not None and self._is_short(name, value):
            # a user's class may override the methods of the base class
            methods: list[Any] = [base.__iter__, *([cast("Any", base).values] if base is dict else [])]
            for get in methods:
                self.snapshot.order(name, value, get)
                self._queue += [(f"{name}[...]", v) for v in get(value)]
        self._add_classes(kind)

    def visit_context(self, name: str, value: Any) -> None:
        """Visit what makes a new context manager at each call; one that is entered itself loses it."""
        parts = ("func", "args", "kwds")
        self.snapshot.attributes(name, value, *parts)
        if not all(hasattr(value, part) for part in parts):
            return self._unknown(name, value)
        self._queue += [(name, getattr(value, part)) for part in parts]

    def visit_descriptor(self, name: str, value: Any) -> None:
        """Visit a descriptor of a class that derives from property or the like."""
        self.visit_wrapper(name, value)
        self._add_classes(class_of(value))
        if class_of(value).__dictoffset__:
            attributes: dict[str, Any] = object.__getattribute__(value, "__dict__")
            self.snapshot.dict(name, attributes)
            self._queue += [(f"{name}.{k}", v) for k, v in attributes.items()]

    def visit_environment(self, name: str, value: Any) -> None:
        """Visit the variables of the environment."""
        self.snapshot.dict(name, value._data)  # encoded

    def visit_cached(self, name: str, value: Any) -> None:
        """Visit a function with kept results (functools.lru_cache): it computes when it is called with other
        arguments, or when its results are deleted."""
        self.snapshot.returned(name, _computed_by, value)
        self._queue += [(name, value.__wrapped__), *((name, v) for v in _kept_by(value))]

    def visit_bound(self, name: str, value: MethodType) -> None:
        self._queue.append((name, value.__func__))
        code = getattr(recorded_by(value.__func__), "__code__", None)
        if code is None or not code.co_argcount:
            return self._queue.append((name, value.__self__))
        self._follow_variable(name, value.__self__, code, code.co_varnames[0], False)

    def visit_method_of_c(self, name: str, value: Any) -> None:
        owner = value.__self__
        if owner is not None and not isinstance(owner, ModuleType | type):
            self._queue.append((name, owner))

    def visit_partial(self, name: str, value: Any) -> None:
        parts = value.func, value.args, value.keywords, value.__dict__
        self._queue += [(name, part) for part in parts]

    def visit_wrapper(self, name: str, value: Any) -> None:
        """Visit the functions of a descriptor."""
        functions = (getattr(value, n, None) for n in ("__func__", "fget", "fset", "fdel", "func"))
        self._queue += [(name, f) for f in functions if f is not None]

    def _visit_arguments(self, f: Any, args: tuple[Any, ...], kw: dict[str, Any], objects: list[Any]) -> None:
        """Visit the objects among the arguments: as the code uses their parameters, or completely if it
        is unknown."""
        bound, f = isinstance(f, MethodType), getattr(f, "__func__", f)
        if isinstance(f, FunctionType):
            code = f.__code__
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            direct = [*zip(names[bound : code.co_argcount], args, strict=False)]
            for name, value in [*direct, *((k, v) for k, v in kw.items() if k in names)]:
                index = next((i for i, o in enumerate(objects) if o is value), None)
                if index is not None:
                    self._follow_variable(name, objects.pop(index), code, name, False)
        self._queue += [("an argument", o) for o in objects]

    def _follow_variable(
        self, name: str, value: Any, code: CodeType, variable: str, everywhere: bool
    ) -> None:
        """Follow an object as far as the code that holds it in a variable uses it."""
        # If code only reads a variable's attributes by name (and calls methods that do the same), only these
        # attributes are watched. The object's other attributes
        # may then change at every call without a new recording. Else the whole object is watched.
        kind = class_of(value)
        is_container = any(base in BASES for base in kind.__mro__)
        is_watched_whole = is_container or kind in HANDLERS or kind in VALUES or _is_ours(kind)
        if is_watched_whole or not is_plain(kind):
            return self._queue.append((name, value))
        taken = _taken_names(kind, code, variable, everywhere)
        if taken is None:
            return self._queue.append((name, value))
        self._attributes |= taken
        self.snapshot.kind(name, value)
        self.snapshot.attributes(name, value, "__dict__")
        self._followed.setdefault(id(value), (name, value, value.__dict__, set()))
        self._add_classes(kind)

    def _visit_followed(self, name: str, thing: Any, d: Any, seen: set[str]) -> None:
        """Watch the attributes of an object that some code names."""
        # Called again whenever more names are known. `_all_attributes` is set where code computes names
        # (getattr, vars): then every attribute counts.
        is_object = not isinstance(thing, ModuleType | FunctionType)
        if is_object and id(thing) in self._visited:
            return None
        if is_object and self._all_attributes:
            return self._queue.append((name, thing))
        all_names = self._all_attributes
        if all_names and isinstance(thing, ModuleType):
            if self.ran is not None and id(thing) not in self._whole:
                all_names = False  # it is never a value, so no computed name is read from it
            elif self.ran is not None or not is_library(thing.__name__):
                rule = f"it computes attribute names, perhaps of module {name}: write the names out"
                return self._refuse(rule)
        names = [n for n in d if (all_names or n in self._attributes) and n not in seen]
        seen.update(names)
        if self.ran is not None and isinstance(
            thing, ModuleType
        ):  # its modules are values where code has them
            inner = [n for n in names if isinstance(d[n], ModuleType)]
            names = [n for n in names if not isinstance(d[n], ModuleType)]
            self._items(name, d, inner, follow=False)
            for n in inner:
                self._name_module(f"{name}.{n}", d[n])
        for start in range(0, len(names), LONG):
            self._items(name, d, names[start : start + LONG])

    # --- classes, functions and modules ---

    def _add_classes(self, kind: type) -> None:
        for k in [*kind.__mro__, *type.mro(type(kind))]:
            if k not in self._classes and library_of(k) not in STDLIB | {"numpy"}:
                self._classes[k] = set()
                if library_of(k) != "flambeau":
                    self.snapshot.size(vars(k))

    def _visit_class(self, kind: type) -> None:
        """Watch the attributes of a class that some code names, or that Python or our code may use."""
        seen, members = self._classes[kind], vars(kind)
        if library_of(kind) == "flambeau":
            return self._visit_our_class(kind, seen)
        is_ours = any(library_of(k) == "flambeau" for k in kind.__mro__)
        unasked = seen if kind in self._constructed else seen.union(MAKING)
        names = [n for n, v in members.items() if n not in unasked and self._is_read(n, v, is_ours)]
        seen.update(names)
        self._items(kind.__name__, members, names)

    def _visit_our_class(self, kind: type, seen: set[str]) -> None:
        """Visit one of our classes: a layer's forward may be replaced; our own is known."""
        if "forward" in vars(kind) and not seen:
            seen.add("forward")
            forward = vars(kind)["forward"]
            self.snapshot.attributes(kind.__name__, kind, "forward")
            if not is_library(getattr(forward, "__module__", None)):
                self._queue.append((f"{kind.__name__}.forward", forward))

    def _is_read(self, name: str, value: Any, ours: bool) -> bool:
        if name in NO_STATE:
            return False
        is_special = name.startswith("__") and name.endswith("__")
        is_named = is_special or self._all_attributes or name in self._attributes
        return is_named or (ours and not callable(value))

    def visit_function(self, name: str, f: FunctionType) -> None:
        recorded = recorded_by(f)
        if recorded is not f:  # a separately recorded function
            return self._queue.append((name, recorded))
        if (
            self.ran is not None
            and f.__code__ not in self.ran
            and not is_library(f.__globals__.get("__name__"))
        ):
            return None  # the function itself is compared where it was found
        for cell, free in zip(f.__closure__ or (), f.__code__.co_freevars, strict=True):
            try:
                content = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
            self.snapshot.attributes(free, cell, "cell_contents")
            self._follow_variable(free, content, f.__code__, free, False)
        self.snapshot.attributes(name or f.__name__, f, *OWN)
        self._queue += [(name, values) for values in (f.__defaults__, f.__kwdefaults__) if values]
        self._queue += [(name, w) for w in (vars(f).get("__wrapped__"),) if w is not None]
        if not is_library(f.__globals__.get("__name__")):
            self.codes.update(codes_of(f.__code__))
            self._followed.setdefault(id(f), (name, f, vars(f), set()))
            self._code(f)

    def _code(self, f: FunctionType) -> None:
        names = names_of(f.__code__)
        if self.ran is not None:
            self._queue += [(m.__name__, m) for m in modules_taken_whole(f.__code__, f.__globals__)]
        if names.anywhere:
            self._refuse(
                f"{f.__name__} uses {names.anywhere}, which can read any name: refer to names directly"
            )
        self._attributes |= names.attributes
        self._all_attributes |= names.all_of_objects
        for name, level in names.modules:
            full = resolve_name("." * level + name, f.__globals__.get("__package__")) if level else name
            for module in {full, full.partition(".")[0]}:
                if module in sys.modules:
                    self._items("", sys.modules, [module], follow=self.ran is None)
                    self._name_module(module, sys.modules[module])
        self._visit_globals(f.__globals__, names.used, f.__code__)

    def _visit_globals(self, scope: dict[str, Any], used: frozenset[tuple[str, str]], code: CodeType) -> None:
        taken = {name for name, attribute in used if attribute}
        for name, attribute in sorted(used):
            if name not in scope:
                self._missing.setdefault(id(scope), (scope, set()))[1].add(name)
                if name in vars(builtins):
                    self._items("", vars(builtins), [name])
                continue
            value = scope[name]
            if not attribute:
                self._global(scope, name)
                if not isinstance(value, ModuleType) or (name not in taken and self.ran is None):
                    self._follow_variable(name, value, code, name, True)
            elif isinstance(value, ModuleType):
                self._visit_module_name(name, value, attribute)

    def _global(self, scope: dict[str, Any], name: str) -> None:
        if (id(scope), name) not in self._globals:
            self._globals.add((id(scope), name))
            self._items("", scope, [name], follow=False)

    def _visit_module_name(self, name: str, module: ModuleType, attribute: str) -> None:
        members = vars(module)
        if (id(members), attribute) in self._globals:
            return
        self._globals.add((id(members), attribute))
        self._visited.setdefault(id(members), members)
        value = members.get(attribute)
        if attribute in members:
            self._items(
                name, members, [attribute], follow=self.ran is None or not isinstance(value, ModuleType)
            )
            self._name_module(f"{name}.{attribute}", value)
        elif self.ran is None:
            self._queue.append((name, module))
        else:
            self._name_module(name, module)

    def _name_module(self, name: str, module: Any) -> None:
        """Watch what code reads of a module by name. A method of the module's own class has it whole."""
        if self.ran is None or not isinstance(module, ModuleType):
            return
        kinds = [k for k in class_of(module).__mro__ if not is_library(k.__module__)]
        if any(getattr(v, "__code__", None) in self.ran for k in kinds for v in vars(k).values()):
            self._whole.add(id(module))
        self._follow_module(name, module)

    def visit_module(self, name: str, module: ModuleType) -> None:
        """Visit a module that code refers to other than by a global name."""
        self._whole.add(id(module))
        self._follow_module(name, module)

    def _follow_module(self, name: str, module: ModuleType) -> None:
        self._add_classes(type(module))
        self._attributes.add("__getattr__")
        self._followed.setdefault(id(module), (name, module, vars(module), set()))


def _describe_item(owner: str, key: Any) -> str:
    """Describe a watched item. Tensors as keys are not printed, which would wait for their values."""
    text = str(key) if type(key) in VALUES else f"[{type(key).__name__}]"
    return f"{owner}.{text}" if owner else text


def _content_of(variable: ContextVar[Any]) -> tuple[Any, ...]:
    """Return the value of a context variable; the variable itself if it has none."""
    return (variable.get(variable),)


def _slot(slot: Any, value: Any) -> tuple[Any, ...]:
    """Return the value of an object's slot; the slot itself if it is empty."""
    try:
        return (slot.__get__(value),)
    except AttributeError:
        return (slot,)


def recorded_by(f: Any) -> Any:
    """Return the function that a separately recorded function wraps."""
    is_recorded = isinstance(f, FunctionType) and f.__globals__.get("__name__") == "flambeau.capture.jit"
    return f.__wrapped__ if is_recorded and "__wrapped__" in vars(f) else f  # type: ignore[attr-defined]


def _taken_names(kind: type, code: CodeType, variable: str, everywhere: bool) -> frozenset[str] | None:
    """Find the attributes that code reads from an object in a variable, including those that the called
    methods read.
    None if it uses the object in any other way."""
    names: set[str] = set()
    done: set[tuple[CodeType, str, bool]] = set()
    todo = [(code, variable, everywhere)]
    while todo:
        code_and_name = todo.pop()
        if code_and_name in done:
            continue
        done.add(code_and_name)
        taken = taken_of(*code_and_name)
        if taken is None:
            return None
        for name, called in taken:
            names.add(name)
            member = next((vars(k)[name] for k in kind.__mro__ if name in vars(k)), None)
            method = recorded_by(member)
            if isinstance(method, FunctionType) and called and method.__code__.co_argcount:
                todo.append((method.__code__, method.__code__.co_varnames[0], False))
            elif not isinstance(member, staticmethod | classmethod) and hasattr(class_of(member), "__get__"):
                return None
    return frozenset(names)


def _kind(t: Tensor) -> tuple[Any, ...]:
    return t.node.param is None, t.node.dtype, t.node.shape, tuple(hooks.hooks_of(t.node))


def _is_ours(kind: type) -> bool:
    return issubclass(kind, Tensor | HostScalar | Generator | ModuleType)


def _computed_by(cached: Any) -> tuple[int, int]:
    """How often a function with kept results computed one, and how many it keeps."""
    info = cached.cache_info()
    return info.misses, info.currsize


def _kept_by(cached: Any) -> list[Any]:
    """The results that a function keeps: values of its dict, or of the links in it."""
    dicts = [cast("dict[Any, Any]", d) for d in gc.get_referents(cached) if class_of(d) is dict]
    values = [v for d in dicts for v in d.values()]
    return [v for value in values for v in (gc.get_referents(value) if _is_link(value) else [value])]


def _is_link(value: Any) -> bool:
    return class_of(value).__name__ == "_lru_list_elem"


BASES = (dict, list, tuple, set, frozenset, deque)
HANDLERS: dict[type, Callable[[Watch, str, Any], None]] = {
    Tensor: Watch.visit_tensor,
    HostScalar: lambda watch, name, value: None,
    Generator: lambda watch, name, value: watch.generators.append(value),
    ModuleType: Watch.visit_module,
    FunctionType: Watch.visit_function,
    MethodType: Watch.visit_bound,
    BuiltinFunctionType: Watch.visit_method_of_c,
    MethodWrapperType: Watch.visit_method_of_c,
    partial: Watch.visit_partial,
    dict: Watch.visit_dict,
    defaultdict: Watch.visit_dict,
    OrderedDict: Watch.visit_dict,
    MappingProxyType: Watch.visit_proxy,
    ContextVar: Watch.visit_switch,
    **dict.fromkeys((list, tuple, set, frozenset, deque), Watch.visit_sequence),
    **dict.fromkeys((staticmethod, classmethod, property, cached_property), Watch.visit_wrapper),
}
HANDLERS_OF_RUN: dict[type, Callable[[Watch, str, Any], None]] = {
    _GeneratorContextManager: Watch.visit_context,
    _lru_cache_wrapper: Watch.visit_cached,
    type(os.environ): Watch.visit_environment,
    **dict.fromkeys((property, cached_property, staticmethod, classmethod), Watch.visit_descriptor),
}
