"""Rewrites finished kernels to read other buffers or use other names."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod

from .ir import Kernel, WgslFunction, WgslIndex, WgslStep, numbers_of

READS = ("load", "gather", "pieces")  # the kinds of steps that read a buffer


def input_name(place: int) -> str:
    """The template's name for the buffer at a position of a kernel's inputs."""
    return f"in{place}"


class MapReads:
    """How a finished map reads its inputs."""

    def __init__(self, k: Kernel):
        self.kernel, self.numbers = k, numbers_of(k)
        options = dict(k.shader.options)
        dims = options["dims"]
        # The first name may be empty: the first size follows from the number of elements.
        rest = [self.numbers[name] for name in dims[1:]]
        self.sizes = [self.numbers[options["size"]] // max(prod(rest), 1), *rest] if dims else []

    def of(self, value: int) -> Iterator[tuple[WgslFunction, WgslStep]]:
        """The steps that read a value, each with its function."""
        name = input_name(self.kernel.inputs.index(value))
        for _, f in self.kernel.shader.functions:
            yield from ((f, s) for s in f.steps if s.name == name and s.kind in READS)

    def is_in_order(self, f: WgslFunction, step: WgslStep) -> bool:
        """Whether a load's index counts the elements of the map in order."""
        assert step.index is not None
        # Row-major order: from the innermost coordinate, each stride is the product of the sizes inside of
        # it.
        terms, stride = dict(step.index.terms), 1
        if step.index.offset or len(f.coords) != len(self.sizes):
            return False
        for coordinate, size in zip(reversed(f.coords), reversed(self.sizes), strict=True):
            name = terms.pop(coordinate, None)
            actual = 0 if name is None else 1 if name == "1" else self.numbers[name]
            if size > 1 and actual != stride:
                return False
            stride *= size
        return not terms


def rename(f: WgslFunction, buffers: dict[str, str], params: dict[str, str] | None = None) -> WgslFunction:
    """A function with buffers and Params renamed; names that are in neither table stay."""
    words = params or {}

    def index(i: WgslIndex | None) -> WgslIndex | None:
        if i is None:
            return None
        return WgslIndex(tuple((c, words.get(s, s)) for c, s in i.terms), words.get(i.offset, i.offset))

    def step(s: WgslStep) -> WgslStep:
        if s.kind == "op":  # it names neither buffers nor Params
            return s
        names = buffers if s.kind in READS else words
        tests = tuple(t._replace(position=index(t.position), size=words.get(t.size, t.size)) for t in s.tests)
        extra = tuple(words.get(e, e) if isinstance(e, str) else e for e in s.extra)
        return s._replace(name=names.get(s.name, s.name), index=index(s.index), tests=tests, extra=extra)

    return f._replace(steps=tuple(map(step, f.steps)))


def without_input(k: Kernel, value: int, name: str) -> Kernel:
    """A kernel that reads a value from the buffer of this name, not from an input."""
    return _without_place(k, k.inputs.index(value), name)


def without_unused(k: Kernel) -> Kernel:
    """A map without steps that no result depends on, and without buffers that only they read."""
    ((name, f),) = k.shader.functions
    needed = {result for result, _ in f.results} or {f.result}
    steps: list[WgslStep] = []
    for s in reversed(f.steps):
        # A check of indices has no reader, but reports faults.
        if s.var in needed or s.kind == "inside":
            needed.update(s.args)
            steps.append(s)
    f = f._replace(steps=tuple(reversed(steps)))
    k = replace(k, shader=replace(k.shader, functions=((name, f),)))
    read = {s.name for s in steps if s.kind in READS}
    unread = [i for i in range(len(k.inputs)) if input_name(i) not in read]
    for i in reversed(unread):  # from the last, since inputs behind it are renumbered
        k = _without_place(k, i, "")
    return k


def _without_place(k: Kernel, place: int, name: str) -> Kernel:
    names = {input_name(place): name}
    names |= {input_name(i): input_name(i - 1) for i in range(place + 1, len(k.inputs))}
    functions = tuple((function, rename(f, names)) for function, f in k.shader.functions)
    bindings = k.shader.bindings[:place] + k.shader.bindings[place + 1 :]
    shader = replace(k.shader, bindings=bindings, functions=functions)
    return replace(k, shader=shader, inputs=k.inputs[:place] + k.inputs[place + 1 :])


def with_input(k: Kernel, value: int, other: int, change: Callable[[WgslStep], WgslStep]) -> Kernel:
    """A kernel that binds `other` in place of `value`; change: rewrites each step that reads it."""
    place = k.inputs.index(value)
    name = input_name(place)
    functions: list[tuple[str, WgslFunction]] = []
    for function, f in k.shader.functions:
        steps = (change(s) if s.name == name and s.kind in READS else s for s in f.steps)
        functions.append((function, f._replace(steps=tuple(steps))))
    inputs = (*k.inputs[:place], other, *k.inputs[place + 1 :])
    return replace(k, shader=replace(k.shader, functions=tuple(functions)), inputs=inputs)
