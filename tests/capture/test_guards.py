"""Which attributes of an object a recorded function depends on: those that its code names, or all of them."""

import copy
import random
import weakref
from collections import namedtuple
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import flambeau as fb
from flambeau.capture.guards import Watch


def numbers(*values):
    return fb.tensor(list(values))


def doubled(trainer, x):
    return x * trainer.rate


class Origin:
    rate: float

    def scaled(self, x):
        return x * self.rate


class Trainer(Origin):
    """Reads `rate` alone in `plain`, in other ways in the other methods; `steps` is named by none of them."""

    one = 1.0

    def __init__(self):
        self.rate, self.steps, self.items = 2.0, 0, {"rate": 2.0}
        self.inner = SimpleNamespace(rate=2.0)
        self.me: Any = None

    def plain(self, x):
        return x * self.rate

    def by_method(self, x):
        return self.plain(x)

    def by_nested(self, x):
        return (lambda y: sum([self.rate * y for _ in "a"]))(x)

    def by_item(self, x):
        return x * self.items["rate"]

    def by_inner(self, x):
        return x * self.inner.rate

    def by_getattr(self, x):
        return x * getattr(self, "".join(["ra", "te"]))

    def by_dict(self, x):
        return x * self.__dict__["".join(["ra", "te"])]

    def by_vars(self, x):
        return x * vars(self)["".join(["ra", "te"])]

    def by_helper(self, x):
        return doubled(self, x)

    def by_copy(self, x):
        return x * next(iter(vars(copy.copy(self)).values()))

    def by_property(self, x):
        return x * self.current

    def by_other_name(self, x):
        me = self
        return x * me.rate

    def by_iteration(self, x):
        return x * sum(self)

    def by_super(self, x):
        return super().scaled(x)

    def by_class(self, x):
        return x * self.rate * self.__class__.one

    def by_every(self, *args):
        return args[0] * self.rate

    def by_loose_method(self, x):
        return next(map(self.plain, [x]))

    def by_set(self, x):
        setattr(SimpleNamespace(), "a", 1)  # noqa: B010
        return x * self.rate

    @property
    def current(self):
        return self.rate

    def __iter__(self):
        yield self.rate

    @fb.jit
    def recorded(self, x):
        return x * self.rate


copy.copy(Trainer())  # the first time, Python keeps something in the class
BY = [name for name in vars(Trainer) if name.startswith("by_")]
NARROW = ["plain", "by_method", "by_nested", "by_item", "by_inner", "by_every"]


def change(trainer):
    trainer.rate = trainer.items["rate"] = trainer.inner.rate = 5.0


def recordings(call):
    return {p for kept in call.programs.values() for p in kept}


def anew(call, *args):
    """What a call gives, and whether it recorded."""
    before = recordings(call)
    return call(*args).item(), recordings(call) != before


@pytest.mark.parametrize("name", ["plain", *BY])
def test_a_named_attribute_is_seen(name):
    trainer = Trainer()
    call = fb.jit(getattr(trainer, name))
    assert [anew(call, numbers(v)) for v in (3.0, 4.0)] == [(6, True), (8, False)]
    change(trainer)
    assert anew(call, numbers(3.0)) == (15, True)


@pytest.mark.parametrize("name", NARROW)
def test_an_attribute_that_no_code_names_is_none_of_it(name):
    trainer = Trainer()
    call = fb.jit(getattr(trainer, name))
    call(numbers(3.0))
    for v in range(5):
        trainer.steps += 1
        vars(trainer)["other"] = v
        assert anew(call, numbers(float(v))) == (2 * v, False)


@pytest.mark.parametrize("name", [n for n in BY if n not in NARROW])
def test_any_attribute_counts_where_code_may_reach_all(name):
    trainer = Trainer()
    call = fb.jit(getattr(trainer, name))
    call(numbers(3.0))
    trainer.steps += 1
    assert anew(call, numbers(3.0)) == (6, True)


def in_a_closure():
    trainer = Trainer()
    return fb.jit(lambda x: trainer.by_method(x)), trainer


def as_an_argument():
    trainer, call = Trainer(), fb.jit(lambda t, x, *, u: x * t.rate * (u.rate / t.rate))
    bound = lambda x: call(trainer, x, u=trainer)  # noqa: E731
    bound.programs = call.programs
    return bound, trainer


def as_a_recorded_method():
    trainer = Trainer()
    bound = lambda x: trainer.recorded(x)  # noqa: E731
    bound.programs = Trainer.recorded.programs
    return bound, trainer


GLOBAL = Trainer()


def in_a_global():
    change(GLOBAL)
    GLOBAL.rate = 2.0
    return fb.jit(lambda x: sum([x * GLOBAL.rate for _ in "a"])), GLOBAL


@pytest.mark.parametrize("make", [in_a_closure, as_an_argument, as_a_recorded_method, in_a_global])
def test_where_the_object_is(make):
    call, trainer = make()
    assert anew(call, numbers(3.0)) == (6, True)
    trainer.steps += 1
    assert anew(call, numbers(4.0)) == (8, False)
    trainer.rate = 5.0
    assert anew(call, numbers(3.0)) == (15, True)


def test_an_object_passed_on_counts_whole():
    trainer = Trainer()
    call = fb.jit(lambda x: doubled(trainer, x))
    call(numbers(3.0))
    trainer.steps += 1
    assert anew(call, numbers(3.0)) == (6, True)


def test_an_object_found_by_another_way_too():
    trainer = Trainer()
    held = [trainer]
    call = fb.jit(lambda x: x * trainer.rate * len(vars(held[0])))
    first, _ = anew(call, numbers(1.0))
    vars(trainer)["more"] = 1
    assert anew(call, numbers(1.0)) == (first + 2, True)


def test_an_object_found_by_a_weak_reference_is_not_recorded(capsys):
    trainer = Trainer()
    trainer.me = weakref.ref(trainer)
    call = fb.jit(lambda x: x * (trainer.me().steps + 1))
    assert anew(call, numbers(3.0)) == (3, False)
    trainer.steps = 1
    assert anew(call, numbers(3.0)) == (6, False)
    assert "it uses trainer.me, of the class weakref.ReferenceType" in capsys.readouterr().err


class Sizes(NamedTuple):
    heads: float
    width: int = 4


@pytest.mark.parametrize("has_type", [True, False], ids=["NamedTuple", "namedtuple"])
def test_the_fields_of_a_named_tuple_are_watched(capsys, monkeypatch, has_type):
    kind = Sizes if has_type else namedtuple("Pair", "heads width")
    keeper = SimpleNamespace(sizes=kind(2.0, 4))
    call = fb.jit(lambda x: x * keeper.sizes.heads)
    for _ in range(3):
        assert call(numbers(3.0)).tolist() == [6.0]
    assert len(recordings(call)) == 1 and "unrecorded" not in capsys.readouterr().err
    keeper.sizes = keeper.sizes._replace(heads=5.0)
    assert call(numbers(3.0)).tolist() == [15.0]
    monkeypatch.setattr(kind, "heads", property(lambda self: 7.0))
    assert call(numbers(3.0)).tolist() == [21.0]


def test_an_attribute_that_comes_to_hide_a_constant_of_the_class():
    class Scaled:
        factor = 2.0

        def step(self, x):
            return x * self.factor

    scaled = Scaled()
    call = fb.jit(scaled.step)
    assert anew(call, numbers(3.0)) == (6, True)
    scaled.factor = 5.0
    assert anew(call, numbers(3.0)) == (15, True)


def test_a_method_that_counts_runs_unrecorded(capsys):
    class Keeper:
        steps = 0

        def step(self, x):
            self.steps += 1
            return x * 2

    keeper = Keeper()
    call = fb.jit(keeper.step)
    assert [call(numbers(v)).item() for v in (1.0, 2.0, 3.0, 4.0, 5.0)] == [2, 4, 6, 8, 10]
    assert keeper.steps == 5
    assert "jit(step): runs unrecorded: it changes" in capsys.readouterr().err


def test_what_a_method_keeps_without_reading_it_is_kept_at_each_call():
    class Keeper:
        def step(self, x):
            self.last = x * 2
            return x + 1

    keeper = Keeper()
    call = fb.jit(keeper.step)
    for v in (1.0, 2.0, 3.0, 4.0, 5.0):
        assert call(numbers(v)).item() == v + 1
        assert keeper.last.item() == 2 * v


def test_a_class_with_attributes_of_its_own_making():
    class Proxy:
        def __init__(self):
            self.hidden = {"rate": 2.0}

        def __getattr__(self, name):
            if name not in self.hidden:
                raise AttributeError(name)
            return self.hidden[name]

        def step(self, x):
            return x * self.rate

    proxy = Proxy()
    call = fb.jit(proxy.step)
    assert anew(call, numbers(3.0)) == (6, True)
    proxy.hidden["rate"] = 5.0
    assert anew(call, numbers(3.0)) == (15, True)


def picture(value: Any) -> Any:
    """What a value is: containers by who they are and what they hold, the rest by type and value."""
    held = {list: list, dict: lambda d: list(d.items()), SimpleNamespace: lambda o: list(vars(o).items())}
    if type(value) is tuple:
        return tuple(map(picture, value))
    if type(value) not in held:
        return type(value), value
    return id(value), [picture(part) for part in held[type(value)](value)]


def grown(draw: random.Random, kept: list, depth: int = 0) -> Any:
    """A nested value; `kept` gets its containers."""
    if depth == 3 or draw.random() < 0.3:
        return draw.choice([0, 1, True, None, 0.5, "a", 1000 + draw.randrange(2)])
    parts = [grown(draw, kept, depth + 1) for _ in range(draw.randrange(3))]
    named = dict(zip("ab", parts, strict=False))
    kept.append(draw.choice([parts, named, SimpleNamespace(**named)]))
    return kept[-1]


def altered(draw: random.Random, containers: list) -> None:
    """Change one container, perhaps by what another loses, perhaps to what it is already."""
    at, new = draw.choice(containers), draw.choice([0, 1, 0.5, "a", int("1000")])
    if isinstance(at, list):
        lists = [c for c in containers if isinstance(c, list) and c]
        if lists and draw.random() < 0.7:
            new = draw.choice(lists).pop()
        at.insert(draw.randrange(len(at) + 1), new)
    else:
        inside, name = at if isinstance(at, dict) else vars(at), draw.choice("ab")
        inside.pop(name, None)
        if draw.random() < 0.7:
            inside[name] = new


@pytest.mark.parametrize("seed", range(5))
def test_whatever_changes_is_seen_and_nothing_else(seed):
    draw, seen = random.Random(seed), [0, 0]
    for _ in range(150):
        containers: list[Any] = []
        root = [grown(draw, containers) for _ in range(3)]
        containers.append(root)
        watch = Watch(lambda: root, (), {}, [])  # noqa: B023
        before = picture(root)
        for _ in range(3):
            altered(draw, containers)
            changed = picture(root) != before
            seen[changed] += 1
            assert (watch.changed() is not None) is changed, root
    assert min(seen) > 20


def test_arrays_of_small_floats_are_watched(gpu):
    """ml_dtypes' arrays give no memoryview, and their dtypes of one width look alike to NumPy."""
    import ml_dtypes

    kept = {"w": np.array([1, 2], ml_dtypes.float8_e4m3fn)}

    def scaled(x):
        return x * float(kept["w"].astype("f4")[0])

    run = fb.jit(scaled)
    x = fb.ones(2, device=gpu)
    for value, dtype in ((1, "float8_e4m3fn"), (1, "float8_e4m3fn"), (3, "float8_e4m3fn"), (3, "int4")):
        kept["w"][...] = value
        kept["w"] = kept["w"].astype(getattr(ml_dtypes, dtype))
        assert run(x).tolist() == [value, value]
    codes = kept["w"] = np.array([56, 56], "u1").view(ml_dtypes.float8_e4m3fn)
    assert run(x).tolist() == [1, 1]
    kept["w"] = codes.view(ml_dtypes.float8_e5m2)  # the same bytes
    assert run(x).tolist() == [0.5, 0.5]
