"""Snapshots: keep the values of cells, containers and attributes, and detect whether any has changed."""

from collections.abc import Callable, Iterable
from itertools import chain
from operator import call, getitem, is_
from typing import Any, NamedTuple

from .watchable import VALUES, class_of

GONE = (KeyError, AttributeError, ValueError)  # kinds of locations: an item, an attribute, a cell's content
TOGETHER = 500  # the most locations that one generated function compares
CALL: Any = call


class Location(NamedTuple):
    """The location of a value: an item or an attribute of an object, or its class."""

    name: str
    thing: Any
    key: Any
    get: Callable[[Any, Any], Any]

    def text(self, i: int) -> str:
        """Return the Python expression of the location, where object and key number i are t{i} and k{i}."""
        if self.get is getitem:
            return f"t{i}[{self.key!r}]" if type(self.key) is str else f"t{i}[k{i}]"
        return f"t{i}.{self.key}" if self.get is getattr else f"type(t{i})"


class Look(NamedTuple):
    """A function that returns several values of an object."""

    name: str
    get: Callable[[Any], Iterable[Any]]
    thing: Any


class Snapshot:
    """Current values and their locations. Taken once, and compared before every replay.

    Most are compared by a generated Python function: `t0['a'] is v0 and ...`.
    """

    def __init__(self) -> None:
        self.places: list[Location] = []
        self.named: list[tuple[str, Any]] = []  # dicts with string keys whose order matters
        self.ordered: list[Look] = []  # iteration results
        self.contents: list[Look] = []  # values that are new objects at each read, compared by equality
        self.absents: list[tuple[str, Callable[..., Any], frozenset[str]]] = []
        self.sized: list[Any] = []

    # --- values to compare ---

    def attributes(self, name: str, thing: Any, *keys: str) -> None:
        """Some attributes of an object."""
        self.places += [Location(name, thing, key, getattr) for key in keys]

    def items(self, name: str, d: Any, keys: Iterable[Any]) -> None:
        """Some items of a dict."""
        self.places += [Location(name, d, key, getitem) for key in keys]

    def dict(self, name: str, d: Any) -> None:
        """All items of a dict, in order."""
        if all(type(k) is str for k in d):
            self.items(name, d, d)
            self.named.append((name, d))
        else:
            self.order(name, d)
            self.ordered.append(Look(name, iter, d.values()))

    def object(self, name: str, thing: Any) -> None:
        """All attributes in an object's own dict."""
        self.attributes(name, thing, "__dict__")
        self.dict(name, vars(thing))

    def kind(self, name: str, thing: Any) -> None:
        """The class of an object."""
        self.places.append(Location(name, thing, "__class__", _kind))

    def order(self, name: str, things: Any, get: Callable[..., Any] = iter) -> None:
        """The items of a container, in iteration order."""
        self.ordered.append(Look(name, get, things))
        self.sized.append(things)

    def returned(self, name: str, get: Callable[[Any], tuple[Any, ...]], thing: Any) -> None:
        """A tuple of values that a function returns for an object."""
        self.ordered.append(Look(name, get, thing))

    def content(self, name: str, get: Callable[[Any], Any], thing: Any) -> None:
        """A value that is a new object each time, compared by equality."""
        self.contents.append(Look(name, get, thing))

    def absent(self, name: str, d: Any, names: Iterable[str]) -> None:
        """Keys that a dict must not have."""
        self.absents.append((name, d.keys().isdisjoint, frozenset(names)))

    def size(self, thing: Any) -> None:
        """The length of a container."""
        self.sized.append(thing)

    # --- comparing ---

    def take(self) -> None:
        """Keep the current values."""
        self._gets, self._things = [k.get for k in self.ordered], [k.thing for k in self.ordered]
        self._dicts = [d for _, d in self.named]
        self._each = [list(d) for d in self._dicts]
        self._keys = list(chain.from_iterable(self._each))
        self._sizes = list(map(len, self.sized))
        self._disjoint, self._missing = [a[1] for a in self.absents], [a[2] for a in self.absents]
        self._equal = [k.get(k.thing) for k in self.contents]
        self._values = [p.get(p.thing, p.key) for p in self.places]
        self._keep([[*k.get(k.thing)] for k in self.ordered])
        starts = range(0, len(self._values), TOGETHER)
        self._written = [
            _check(self.places[i : i + TOGETHER], self._values[i : i + TOGETHER]) for i in starts
        ]
        self._checks: list[Callable[[], bool]] = list(self._written)
        sorts = [
            (self._dicts, self._same_keys),
            (self.sized, self._same_sizes),
            (self.ordered, self._same_order),
        ]
        sorts += [(self.absents, self._still_absent), (self.contents, self._same_content)]
        self._checks += [check for things, check in sorts if things]

    def _keep(self, orders: list[list[Any]]) -> None:
        self._orders, self._flat = orders, list(chain.from_iterable(orders))

    def same(self) -> bool:
        """Whether every value is the same object as before."""
        try:
            for check in self._checks:
                if not check():
                    return False
        except GONE:
            return False
        return True

    def _same_keys(self) -> bool:
        return list(chain.from_iterable(self._dicts)) == self._keys

    def _same_sizes(self) -> bool:
        return list(map(len, self.sized)) == self._sizes

    def _same_order(self) -> bool:  # of as many as before: their sizes are compared first
        return all(map(is_, chain.from_iterable(map(CALL, self._gets, self._things)), self._flat))

    def _still_absent(self) -> bool:
        return all(map(CALL, self._disjoint, self._missing))

    def _same_content(self) -> bool:
        return [k.get(k.thing) for k in self.contents] == self._equal

    def which(self) -> str | None:
        """Return the name of the first value that has changed. Equal values are updated to the current
        objects."""
        orders: list[list[Any]] = []
        values: list[Any] = []
        for place, was in zip(self.places, self._values, strict=True):
            try:
                values.append(place.get(place.thing, place.key))
            except GONE:
                return _describe_place(place)
            if not is_equal(values[-1], was):
                return _describe_place(place)
        for look, was in zip(self.ordered, self._orders, strict=True):
            orders.append([*look.get(look.thing)])
            if len(orders[-1]) != len(was) or not all(map(is_equal, orders[-1], was)):
                return look.name or "a list"
        for (name, d), was in zip(self.named, self._each, strict=True):
            if list(d) != was:
                return name or "a dict"
        for look, was in zip(self.contents, self._equal, strict=True):
            if look.get(look.thing) != was:
                return look.name or "an array"
        for name, is_disjoint, names in self.absents:
            if not is_disjoint(names):
                return name
        if not self._same_sizes():
            return "how many attributes a class or a function has"
        for i, value in enumerate(values):
            self._written[i // TOGETHER].__globals__[f"v{i % TOGETHER}"] = value
        self._values = values
        self._keep(orders)
        return None


def _kind(thing: Any, _: Any) -> type:
    return class_of(thing)


def _check(places: list[Location], values: list[Any]) -> Callable[[], bool]:
    """Generate the function that tests whether these values are at these locations."""
    names: dict[str, Any] = {}
    for i, (place, value) in enumerate(zip(places, values, strict=True)):
        names |= {f"t{i}": place.thing, f"k{i}": place.key, f"v{i}": value}
    parts = [f"{place.text(i)} is v{i}" for i, place in enumerate(places)]
    exec(f"def check(): return {' and '.join(parts)}", names)
    return names["check"]


def _describe_place(place: Location) -> str:
    last = "" if place.key in ("cell_contents", "__dict__") else str(place.key)
    return ".".join(filter(None, (place.name, last)))


def is_equal(a: Any, b: Any) -> bool:
    """Whether two values are the same object, or equal plain values of one type; -0.0 differs from 0.0."""
    kind = class_of(a)
    if a is b or kind is not class_of(b) or kind not in VALUES:
        return a is b
    return a == b and (kind not in (float, complex) or str(a) == str(b))
