"""What a function may depend on: rows of (function, what changes it), for plain and recorded calls.

A row is a function without arguments that makes both anew: `call(x)`, or `call(x, *more)` where `change`
gives more arguments, and `change(k)`, after which a plain call gives something else for another k.
"""

# ruff: noqa: B008, E731, RUF023, UP018
import array
import builtins
import collections
import contextlib
import contextvars
import copy
import dataclasses
import enum
import functools
import itertools
import math
import operator
import os
import random
import sys
import threading
import time
import types
import weakref
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import flambeau as fb
from flambeau import nn, optim

ROWS: dict[str, Any] = {}
CONFIG = ModuleType("watched_config")
CONFIG.k, CONFIG.sub = 1.0, SimpleNamespace(k=1.0)
CONFIG.inner = ModuleType("watched_config.inner")
CONFIG.inner.k = 1.0
sys.modules["watched_config"], sys.modules["watched_config.inner"] = CONFIG, CONFIG.inner
K: Any = 1.0
TABLE = {"k": 1.0}
LOCAL = threading.local()
FORWARD, ABS = nn.ReLU.forward, abs
VARIABLE = contextvars.ContextVar("VARIABLE", default=1.0)
TIMES = lambda x, k: x * k


class Base:
    k = 1.0

    @classmethod
    def of(cls, x):
        return x * cls.k

    @staticmethod
    def twice(x):
        return x * Base.k

    def scaled(self, x):
        return x * self.k


class Derived(Base):
    pass


class Meta(type):
    k = 1.0

    @property
    def rate(cls):
        return cls.k * Meta.k


class Made(metaclass=Meta):
    pass


class Mode(enum.Enum):
    SLOW = 1
    FAST = 2


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Options:
    k: float = 1.0
    more: dict = dataclasses.field(default_factory=dict)


class Slotted:
    __slots__ = ("k", "__hidden")

    def __init__(self, k=1.0):
        self.k = self.__hidden = k

    def hide(self, k):
        self.__hidden = k

    def hidden(self):
        return self.__hidden


class Cell:
    """A descriptor whose value is kept in itself."""

    value = 1.0

    def __get__(self, owner, kind=None):
        return self.value


class Named:
    """Gives attributes of a dict."""

    def __init__(self):
        self.held = {"k": 1.0}

    def __getattr__(self, name):
        if name.startswith("_") or name not in self.held:
            raise AttributeError(name)
        return self.held[name]


class Own:
    """Gives every attribute by a function of its own."""

    def __init__(self):
        self.held = {"k": 1.0}

    def __getattribute__(self, name):
        held = object.__getattribute__(self, "held")
        return held[name] if name in held else object.__getattribute__(self, name)


class Things(list):
    k = 1.0


class Words(dict):
    k = 1.0


class Rate(float):
    k = 1.0


class Count:
    """Counts by its own operators."""

    def __init__(self):
        self.k = 1.0

    def __iter__(self):
        yield self.k

    def __len__(self):
        return int(self.k)

    def __getitem__(self, at):
        return self.k + at

    def __call__(self, x):
        return x * self.k

    def __enter__(self):
        return self.k

    def __exit__(self, *_):
        return False

    def __rmul__(self, x):
        return x * self.k

    def __contains__(self, k):
        return k < self.k

    def __float__(self):
        return self.k

    def __bool__(self):
        return self.k > 2


class Layer(nn.Module):
    scale = 1.0

    def __init__(self):
        self.k = 1.0

    def forward(self, x):
        return x * self.k * self.scale


def row(make):
    ROWS[make.__name__] = make
    return make


def held(name, make, call, change):
    """A row of what a closure holds."""

    def both():
        thing = make()
        return (lambda x: call(x, thing)), (lambda k: change(thing, k))

    ROWS[name] = both


def put(thing, k):
    thing.k = k


def times_k(x, thing):
    return x * thing.k


# --- modules, classes, functions ---

FRESH = {
    "a module": lambda: types.ModuleType("m"),
    "a class": lambda: type("C", (), {"k": 1.0}),
    "a class below another": lambda: type("C", (Base,), {}),
    "an object": lambda: SimpleNamespace(k=1.0),
    "an object of a class": lambda: Derived(),
    "a dataclass": Options,
    "a layer": Layer,
    "a function": lambda: lambda: None,
    "a list with attributes": Things,
    "a dict with attributes": Words,
    "a number with attributes": lambda: Rate(2.0),
    "slots": Slotted,
    "a tensor": lambda: fb.ones(1),
    "a parameter": lambda: nn.Parameter(fb.ones(1)),
    "an optimizer": lambda: optim.SGD([nn.Parameter(fb.ones(1))], lr=0.1),
    "a proxy of a dict": lambda: SimpleNamespace(),
    "a thread's own": threading.local,
}


def fresh(name):
    thing = FRESH[name]()
    put(thing, 1.0)
    return thing


for name in FRESH:
    make = functools.partial(fresh, name)
    held(f"{name}, in a closure", make, times_k, put)
    held(f"{name}, in a list", lambda make=make: [make()], lambda x, t: x * t[0].k, lambda t, k: put(t[0], k))
    held(
        f"{name}, in a dict", lambda make=make: {"a": make()}, lambda x, t: x * t["a"].k,
        lambda t, k: put(t["a"], k),
    )  # fmt: skip
    held(
        f"{name}, in an attribute", lambda make=make: SimpleNamespace(a=make()), lambda x, t: x * t.a.k,
        lambda t, k: put(t.a, k),
    )  # fmt: skip

    def as_argument(make=make):
        thing = make()
        return times_k, lambda k: (put(thing, k), (thing,))[1]

    def as_local(make=make):
        thing = make()

        def call(x):
            other = thing
            return (lambda: x * other.k)()

        return call, functools.partial(put, thing)

    def as_default(make=make):
        thing = make()
        return (lambda x, t=thing: x * t.k), functools.partial(put, thing)

    def by_getattr(make=make):
        thing = make()
        return (lambda x: x * getattr(thing, "".join(["k"]))), functools.partial(put, thing)

    ROWS[f"{name}, as an argument"], ROWS[f"{name}, as a local"] = as_argument, as_local
    ROWS[f"{name}, as a default"], ROWS[f"{name}, by getattr"] = as_default, by_getattr


@row
def a_global():
    def change(k):
        global K
        K = k

    return (lambda x: x * K), change


@row
def a_global_of_a_helper():
    def helper(x):
        return x * K

    return (lambda x: helper(x)), a_global()[1]


@row
def a_global_that_hides_a_builtin():
    def change(k):
        if k > 2:
            globals()["float"] = lambda v: 7.0
        else:
            globals().pop("float", None)

    return (lambda x: x * float(1.0)), change


@row
def globals_by_text():
    return (lambda x: x * globals()["".join(["K"])]), a_global()[1]


@row
def evaluated():
    return (lambda x: x * eval("K")), a_global()[1]


@row
def a_module_attribute():
    return (lambda x: x * CONFIG.k), functools.partial(put, CONFIG)


@row
def a_module_in_a_module():
    return (lambda x: x * CONFIG.inner.k), functools.partial(put, CONFIG.inner)


@row
def an_object_in_a_module():
    return (lambda x: x * CONFIG.sub.k), functools.partial(put, CONFIG.sub)


@row
def imported_inside():
    def call(x):
        import watched_config

        return x * watched_config.k

    return call, functools.partial(put, CONFIG)


@row
def a_name_imported_inside():
    def call(x):
        from watched_config import k

        return x * k

    return call, functools.partial(put, CONFIG)


@row
def a_part_imported_inside():
    def call(x):
        import watched_config.inner as inner

        return x * inner.k

    return call, functools.partial(put, CONFIG.inner)


@row
def a_module_put_in_its_place():
    def call(x):
        import watched_other

        return x * watched_other.k

    def change(k):
        sys.modules["watched_other"] = ModuleType("watched_other")
        sys.modules["watched_other"].k = k

    return call, change


@row
def a_module_by_its_name():
    return (lambda x: x * sys.modules["watched_config"].k), functools.partial(put, CONFIG)


@row
def an_inherited_constant():
    return (lambda x: x * Derived.k), functools.partial(put, Base)


@row
def a_constant_that_hides_another():
    def change(k):
        Base.k = 1.0
        if k > 2:
            Derived.k = k
        elif "k" in vars(Derived):
            del Derived.k

    return (lambda x: x * Derived().k), change


@row
def a_class_method():
    return (lambda x: Base.of(x)), functools.partial(put, Base)


@row
def a_class_method_of_a_class_below():
    return (lambda x: Derived.of(x)), functools.partial(put, Base)


@row
def a_class_method_itself():
    return Base.of, functools.partial(put, Base)


@row
def a_static_method():
    return (lambda x: Base.twice(x)), functools.partial(put, Base)


@row
def a_class_by_type():
    thing = Base()
    return (lambda x: x * type(thing).k), functools.partial(put, Base)


@row
def a_class_by_an_object():
    thing = Base()
    return (lambda x: x * thing.__class__.k), functools.partial(put, Base)


@row
def a_metaclass():
    return (lambda x: x * Made.rate), functools.partial(put, Meta)


@row
def a_class_of_a_metaclass():
    return (lambda x: x * Made.rate), functools.partial(put, Made)


@row
def a_class_made_inside():
    def call(x):
        class Inner(Base):
            pass

        return Inner.of(x)

    return call, functools.partial(put, Base)


@row
def an_object_made_inside():
    return (lambda x: Derived().scaled(x)), functools.partial(put, Base)


@row
def a_method_of_another_class():
    def change(k):
        Base.scaled = lambda self, x: x * k

    thing = Base()
    return (lambda x: thing.scaled(x)), change


@row
def another_class():
    thing = Base()
    kinds = {k: type("T", (Base,), {"k": k}) for k in (1.0, 2.0, 3.0, 4.0)}

    def change(k):
        thing.__class__ = kinds[k]

    return (lambda x: thing.scaled(x)), change


@row
def another_dict():
    thing = Base()

    def change(k):
        thing.__dict__ = {"k": k}

    return (lambda x: x * thing.k), change


@row
def another_forward():
    layer = Layer()

    def change(k):
        layer.forward = lambda x: x * k

    return (lambda x: layer(x)), change


@row
def another_forward_of_the_class():
    kind = type("L", (Layer,), {})
    layer = kind()

    def change(k):
        kind.forward = lambda self, x: x * k

    return (lambda x: layer(x)), change


@row
def another_forward_of_ours():
    layer = nn.ReLU()

    def change(k):
        nn.ReLU.forward = FORWARD if k == 1.0 else lambda self, x: x * k

    return layer, change


@row
def a_scale_of_a_layers_class():
    layer = Layer()
    return (lambda x: layer(x)), lambda k: setattr(Layer, "scale", k)


@row
def other_layers():
    parts = nn.Sequential(Layer(), nn.ReLU())

    def change(k):
        first, last = (Layer(), nn.ReLU()) if k % 2 else (nn.ReLU(), Layer())
        for name in ("0", "1"):
            delattr(parts, name)
        for part in (first, last):
            part.k = k
            setattr(parts, str(len(parts)), part)

    return (lambda x: parts(x - 2)), change


@row
def the_order_of_layers():
    first, last = Layer(), nn.ReLU()
    first.k = -1.0
    parts = nn.Sequential(first, last)

    def change(k):
        for name, part in (("0", first), ("1", last))[:: 1 if k % 2 else -1]:
            delattr(parts, name)
            setattr(parts, name, part)

    return (lambda x: parts(x)), change


@row
def code():
    def call(x):
        return x * 1.0

    codes = {k: eval(f"lambda x: x * {k}").__code__ for k in (1.0, 2.0, 3.0, 4.0)}

    def change(k):
        call.__code__ = codes[k]

    return (lambda x: call(x)), change


@row
def defaults():
    def call(x, k=1.0, *, j=1.0):
        return x * k * j

    def change(k):
        call.__defaults__, call.__kwdefaults__ = (k,), {"j": k}

    return (lambda x: call(x)), change


@row
def a_wrapped_function():
    thing = Base()

    def wrapper(f):
        @functools.wraps(f)
        def call(*args):
            return f(*args) * thing.k

        return call

    return wrapper(lambda x: x + 1), functools.partial(put, thing)


@row
def a_partial_function():
    options = {"k": 1.0}
    return functools.partial(lambda x, o: x * o["k"], o=options), lambda k: options.update(k=k)


@row
def a_bound_method():
    thing = Base()
    times = thing.scaled
    return (lambda x: times(x)), functools.partial(put, thing)


@row
def a_bound_method_of_a_dict():
    table = {"k": 1.0}
    get = table.get
    return (lambda x: x * get("k")), lambda k: table.update(k=k)


@row
def an_attribute_getter():
    thing, get = Base(), operator.attrgetter("k")
    return (lambda x: x * get(thing)), functools.partial(put, thing)


@row
def a_cached_function():
    thing = Base()
    cached = functools.lru_cache(lambda: thing.k)

    def change(k):
        thing.k = k
        cached.cache_clear()

    return (lambda x: x * cached()), change


@row
def a_cached_property():
    class Kept:
        source = 1.0

        @functools.cached_property
        def k(self):
            return self.source

    thing = Kept()

    def change(k):
        thing.source = k
        vars(thing).pop("k", None)

    return (lambda x: x * thing.k), change


@row
def a_single_dispatch():
    @functools.singledispatch
    def factor(v):
        return 1.0

    return (lambda x: x * factor(3)), lambda k: factor.register(int, lambda v: k)


@row
def a_context_manager():
    thing = Base()

    @contextlib.contextmanager
    def opened():
        yield thing.k

    def call(x):
        with opened() as k:
            return x * k

    return call, functools.partial(put, thing)


# --- protocols ---

held("__getattr__", Named, times_k, lambda t, k: t.held.update(k=k))
held("__getattribute__", Own, times_k, lambda t, k: t.held.update(k=k))
held("__iter__", Count, lambda x, t: x * sum(t), put)
held("__len__", Count, lambda x, t: x * len(t), put)
held("__getitem__", Count, lambda x, t: x * t[0], put)
held("__call__", Count, lambda x, t: t(x), put)
held("__rmul__", Count, lambda x, t: t.__rmul__(x), put)
held("__contains__", Count, lambda x, t: x if 1.5 in t else x + 1, put)
held("__float__", Count, lambda x, t: x * float(t), put)
held("__bool__", Count, lambda x, t: x if t else x + 1, put)
held("slots, hidden", Slotted, lambda x, t: x * t.hidden(), lambda t, k: t.hide(k))
held("vars", Base, lambda x, t: x * vars(t)["".join("k")] if vars(t) else x, put)
held("a copy", Base, lambda x, t: x * copy.copy(t).k, put)
held("a deep copy", Base, lambda x, t: x * copy.deepcopy(t).k, put)
held("dataclasses.replace", Options, lambda x, t: x * dataclasses.replace(t, more={}).k, put)
held("hasattr", SimpleNamespace, lambda x, t: x if hasattr(t, "k") else x + 1, put)


@row
def with_an_object():
    thing = Count()

    def call(x):
        with thing as k:
            return x * k

    return call, functools.partial(put, thing)


@row
def a_descriptor():
    kind = type("C", (), {"k": Cell()})
    thing = kind()
    return (lambda x: x * thing.k), lambda k: setattr(vars(kind)["k"], "value", k)


@row
def a_property():
    class Kept:
        source = 1.0

        @property
        def k(self):
            return self.source

    thing = Kept()
    return (lambda x: x * thing.k), lambda k: setattr(thing, "source", k)


@row
def an_enum():
    options = SimpleNamespace(mode=Mode.SLOW)

    def change(k):
        options.mode = Mode.FAST if k > 2 else Mode.SLOW

    return (lambda x: x * options.mode.value if options.mode is Mode.FAST else x + 1), change


@row
def match_of_a_class():
    thing = Options()

    def call(x):
        match thing:
            case Options(k=1.0):
                return x + 1
            case Options(k=k):
                return x * k

    return call, functools.partial(put, thing)


# --- containers ---

held("a dict's order", lambda: {"a": 2.0, "b": 3.0},
     lambda x, d: functools.reduce(lambda y, v: y * 2 + v, d.values(), x),
     lambda d, k: d.update(a=d.pop("a")) if k % 2 else d.update(b=d.pop("b")))  # fmt: skip
held("a dict's order of names", lambda: {"a": 2.0, "b": 2.0},
     lambda x, d: x * 2 if next(iter(d)) == "a" else x,
     lambda d, k: d.update(a=d.pop("a")) if k % 2 else d.update(b=d.pop("b")))  # fmt: skip
held("an ordered dict", lambda: collections.OrderedDict(a=2.0, b=3.0),
     lambda x, d: functools.reduce(lambda y, v: y * 2 + v, d.values(), x),
     lambda d, k: d.move_to_end("a" if k % 2 else "b"))  # fmt: skip
held(
    "a default dict",
    lambda: collections.defaultdict(float),
    lambda x, d: x * d["k"],
    lambda d, k: d.update(k=k),
)
held("a counter", collections.Counter, lambda x, d: x * d["k"], lambda d, k: d.update(k=int(k)))
held("a chain of dicts", lambda: collections.ChainMap({}, {"k": 1.0}), lambda x, d: x * d["k"],
     lambda d, k: d.maps[1].update(k=k))  # fmt: skip
held("numbers as keys", lambda: {1: 1.0}, lambda x, d: x * d[1], lambda d, k: d.update({1: k}))
held("a tensor in a dict", lambda: {"k": fb.ones(1)}, lambda x, d: x * d["k"],
     lambda d, k: d.update(k=fb.full((1,), k)))  # fmt: skip
held("a list", lambda: [1.0], lambda x, t: x * t[0], lambda t, k: t.__setitem__(0, k))
held("a list that grows", list, lambda x, t: x * len(t), lambda t, k: t.append(k))
held("a list of lists", lambda: [[1.0]], lambda x, t: x * t[0][0], lambda t, k: t[0].__setitem__(0, k))
held("a long list", lambda: [1.0] * 3000, lambda x, t: x * t[-1], lambda t, k: t.__setitem__(-1, k))
held("a very long list", lambda: [1.0] * 30_000, lambda x, t: x * t[-1], lambda t, k: t.__setitem__(-1, k))
held("a set", set, lambda x, t: x * sum(t), lambda t, k: t.add(k))
held("a deque", collections.deque, lambda x, t: x * sum(t), lambda t, k: t.append(k))
held("a tuple's list", lambda: ([1.0],), lambda x, t: x * t[0][0], lambda t, k: t[0].__setitem__(0, k))
held(
    "a named tuple's list",
    lambda: Pair([1.0], 2),
    lambda x, t: x * t.a[0],
    lambda t, k: t.a.__setitem__(0, k),
)
held("a list of its own kind", lambda: Things([1.0]), lambda x, t: x * t[0], lambda t, k: t.__setitem__(0, k))
held("a dict of its own kind", lambda: Words(k=1.0), lambda x, t: x * t["k"], lambda t, k: t.update(k=k))
held(
    "bytes that change", lambda: bytearray(b"1"), lambda x, t: x * t[0], lambda t, k: t.__setitem__(0, int(k))
)
held("a view of memory", lambda: memoryview(bytearray(b"1")), lambda x, t: x * t[0],
     lambda t, k: t.__setitem__(0, int(k)))  # fmt: skip
held("an array of Python's", lambda: array.array("d", [1.0]), lambda x, t: x * t[0],
     lambda t, k: t.__setitem__(0, k))  # fmt: skip
held("an array", lambda: np.ones(3), lambda x, t: x * float(t[0]), lambda t, k: t.fill(k))
held("an array as a tensor", lambda: np.ones(1, "f4"), lambda x, t: x * fb.tensor(t), lambda t, k: t.fill(k))
held("a large array", lambda: np.ones(1 << 20), lambda x, t: x * float(t[0]), lambda t, k: t.fill(k))
held("an array of objects", lambda: np.array([[1.0]], dtype=object), lambda x, t: x * t[0, 0],
     lambda t, k: t.fill(k))  # fmt: skip
held("an item of an array in a namespace", lambda: SimpleNamespace(a=np.ones(1)), lambda x, t: x * t.a.item(),
     lambda t, k: t.a.fill(k))  # fmt: skip


@row
def a_view_of_a_dict():
    table = {"k": 1.0}
    view = types.MappingProxyType(table)
    return (lambda x: x * view["k"]), lambda k: table.update(k=k)


@row
def a_view_of_values():
    table = {"k": 1.0}
    view = table.values()
    return (lambda x: x * sum(view)), lambda k: table.update(k=k)


# --- what moves on by itself, and what the world around knows ---


def numbered():
    return iter([float(k) for k in range(1, 40)])


def counting():
    k = 0.0
    while True:
        more = yield k
        k += more or 1.0


def nothing(k):
    return None


@row
def an_iterator():
    it = numbered()
    return (lambda x: x * next(it)), nothing


@row
def an_iterator_in_an_attribute():
    thing = SimpleNamespace(it=numbered())
    return (lambda x: x * next(thing.it)), nothing


@row
def an_iterator_in_a_list():
    things = [numbered()]
    return (lambda x: x * next(things[0])), nothing


@row
def a_bound_next():
    step = numbered().__next__
    return (lambda x: x * step()), nothing


@row
def a_generator():
    it = counting()
    return (lambda x: x * next(it)), nothing


@row
def a_generator_s_send():
    it = counting()
    next(it)
    send = it.send
    return (lambda x: x * send(2.0)), nothing


@row
def a_count():
    count = itertools.count(1)
    return (lambda x: x * next(count)), nothing


@row
def a_default_that_counts():
    def call(x, count=itertools.count(1).__next__):
        return x * count()

    return call, nothing


@row
def an_object_that_is_an_iterator():
    class Steps:
        k = 0.0

        def __iter__(self):
            return self

        def __next__(self):
            self.k += 1
            return self.k

    steps = Steps()
    return (lambda x: x * next(steps)), nothing


@row
def a_counter_in_a_closure():
    k = 0.0

    def call(x):
        nonlocal k
        k += 1
        return x * k

    return call, nothing


@row
def a_counter_of_a_class():
    kind = type("C", (), {"k": 0.0})

    def call(x):
        kind.k += 1
        return x * kind.k

    return call, nothing


@row
def a_counter_in_a_function():
    def call(x):
        call.k = getattr(call, "k", 0.0) + 1
        return x * call.k

    return call, nothing


held("random.Random", lambda: random.Random(3), lambda x, r: x * r.random(), lambda r, k: None)
held("random.Random's method", lambda: random.Random(3).random, lambda x, r: x * r(), lambda r, k: None)
held("random.Random in an attribute", lambda: SimpleNamespace(r=random.Random(3)),
     lambda x, t: x * t.r.choice([1.0, 2.0, 3.0]), lambda r, k: None)  # fmt: skip
held(
    "NumPy's generator",
    lambda: np.random.default_rng(3),
    lambda x, r: x * float(r.random()),
    lambda r, k: None,
)
held(
    "NumPy's random state",
    lambda: np.random.RandomState(3),
    lambda x, r: x * float(r.rand()),
    lambda r, k: None,
)


@row
def python_s_random_numbers():
    return (lambda x: (random.seed(time_of(x)), x * random.random())[1]), nothing


def time_of(x):
    return x.shape[0]


@row
def numpy_s_random_numbers():
    def change(k):
        np.random.seed(int(k))

    return (lambda x: x * float(np.random.rand() > 2) + float(np.random.get_state()[1][0] % 99)), change


@row
def a_weak_reference():
    thing = Base()
    ref, keep = weakref.ref(thing), [thing]
    return (lambda x, keep=keep: x * ref().k), functools.partial(put, thing)


@row
def a_weak_proxy():
    thing = Base()
    ref = weakref.proxy(thing)
    return (lambda x, keep=thing: x * ref.k), functools.partial(put, thing)


@row
def a_context_variable():
    return (lambda x: x * VARIABLE.get()), VARIABLE.set


@row
def a_threads_own_global():
    LOCAL.k = 1.0
    return (lambda x: x * LOCAL.k), functools.partial(put, LOCAL)


@row
def the_environment():
    def change(k):
        os.environ["WATCHED"] = str(k)

    return (lambda x: x * float(os.environ["WATCHED"])), change


@row
def the_environment_by_getenv():
    return (lambda x: x * float(os.getenv("WATCHED", "1"))), the_environment()[1]


@row
def arguments_of_the_program():
    def change(k):
        sys.argv[-1:] = [str(k)]

    return (lambda x: x * float(sys.argv[-1])), change


@row
def a_clock():
    def change(k):
        time.time = lambda: k

    return (lambda x: x * time.time()), change


@row
def a_closed_over_clock():
    times = iter([1.0, 2.0, 3.0] * 9)
    clock = lambda: next(times)
    return (lambda x: x * clock()), nothing


@row
def a_function_of_the_standard_library():
    def change(k):
        math.watched = k

    return (lambda x: x * math.watched), change


@row
def a_builtin_put_in_its_place():
    def change(k):
        builtins.abs = ABS if k == 1.0 else lambda v: k

    return (lambda x: x * abs(-1.0)), change


# --- ours ---


@row
def a_learning_rate():
    rate = optim.SGD([nn.Parameter(fb.ones(1))], lr=0.1)
    return (lambda x: x * rate.lr), lambda k: setattr(rate, "lr", k)


@row
def a_learning_rate_that_is_tested():
    rate = optim.SGD([nn.Parameter(fb.ones(1))], lr=0.1)
    return (lambda x: x * 2 if rate.lr > 2 else x), lambda k: setattr(rate, "lr", k)


@row
def a_host_scalar_s_value():
    scalar = fb.HostScalar(1.0)
    return (lambda x: x * scalar.value), lambda k: setattr(scalar, "value", k)


@row
def a_host_scalar():
    scalar = fb.HostScalar(1.0)
    return (lambda x: x * fb.tensor([1.0]) * 0 + x), lambda k: setattr(scalar, "value", k)


@row
def a_weight_decay():
    weight = nn.Parameter(fb.ones(1))
    opt = optim.SGD([weight], lr=0.5, momentum=0.5)

    def call(x):
        opt.step((weight * x).sum().backward())
        return weight + 0

    return call, lambda k: setattr(opt, "weight_decay", k)


@row
def a_mode():
    layer = nn.Sequential(nn.Dropout(1.0))
    return (lambda x: layer(x)), lambda k: layer.train(k > 2)


@row
def a_recorded_function():
    thing = Base()
    inner = fb.jit(lambda x: x * thing.k)
    return (lambda x: inner(x) + 1), functools.partial(put, thing)


@row
def a_gradient_of_a_recorded_function():
    thing = Base()
    return fb.grad(fb.jit(lambda x: (x * x * thing.k).sum())), functools.partial(put, thing)


@row
def a_gradient():
    thing = Base()
    return fb.grad(lambda x: (x * x * thing.k).sum()), functools.partial(put, thing)


@row
def a_function_with_its_own_gradient():
    thing = Base()

    class Scaled(fb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * thing.k

        @staticmethod
        def backward(ctx, g):
            return g * thing.k * 2

    weight = fb.ones(1, requires_grad=True)

    def call(x):
        return (Scaled.apply(weight) * x).sum().backward()[weight]

    return call, functools.partial(put, thing)


@row
def an_optimizer_of_the_user_s():
    weight = nn.Parameter(fb.ones(1))

    class Falling(optim.Optimizer):
        k = 1.0

        def update(self, p, g, s, o):
            return p - g * self.k

    opt = Falling([weight], {"lr": 1.0})

    def call(x):
        opt.step((weight * x).sum().backward())
        return weight + 0

    return call, lambda k: setattr(Falling, "k", k)


# --- arguments that the function changes ---


@row
def an_argument_that_grows():
    given = [fb.ones(1)]

    def call(x, given):
        given.append(given[0] * 2)
        return x * len(given)

    return call, lambda k: (given,)


@row
def an_argument_that_counts():
    given = {}

    def call(x, given):
        given["hits"] = given.get("hits", 0) + 1
        return x * given["hits"]

    return call, lambda k: (given,)


@row
def an_argument_that_is_emptied():
    given = [1.0] * 20

    def call(x, given):
        given.pop()
        return x * len(given)

    return call, lambda k: (given,)


@row
def a_tensor_put_in_an_argument():
    given = {"a": fb.ones(1)}

    def call(x, given):
        given["a"] = given["a"] + x
        return given["a"] * 1

    return call, lambda k: (given,)


@row
def an_array_in_an_argument_that_grows():
    given = {"a": [np.ones(1, "f4")]}

    def call(x, given):
        given["a"].append(2.0)
        return x * len(given["a"])

    return call, lambda k: (given,)


@row
def an_argument_that_is_kept():
    kept = []

    def call(x, given):
        kept.append(given)
        return x * len(kept) * kept[0]["a"]

    return call, lambda k: ({"a": fb.full((1,), k)},)


for name, values in {
    "numbers": (1, 1.0, True, 2),
    "zeros": (0.0, -0.0, 0, False),
    "texts": ("a", "b", "a", "c"),
    "bytes": (b"1", b"22", b"1", b"333"),
    "slices": (slice(0, 1), slice(0, 2), slice(1, 2), slice(0, 1)),
    "ranges": (range(1), range(2), range(3), range(1)),
    "tuples": ((1,), (1, 2), (1.0,), ()),
    "rates": (Rate(1.0), Rate(2.0), Rate(2.0), Rate(3.0)),
    "enums": (Mode.SLOW, Mode.FAST, Mode.SLOW, Mode.FAST),
    "complex numbers": (1j, 2j, complex(0.0, -1.0), 1j),
    "dtypes": (fb.float32, fb.int32, fb.float16, fb.float32),
}.items():

    def given(values=values):
        return told, lambda k: (copy.copy(values[int(k) - 1]),)

    ROWS[f"an argument of {name}"] = given


def told(x, value):
    """x, made another by each value."""
    return x + (sum(map(ord, f"{type(value).__name__}{value!r}")) % 1009)
