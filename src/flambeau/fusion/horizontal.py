"""Small kernels that nobody waits for into one: an optimiser's updates, a range of the workgroups each."""

from itertools import accumulate
from math import prod
from typing import Any

from ..kernels.ir import MAPS, Function, Index, Kernel, Shader, Step, numbers_of, out_name
from .inplace import READS

SMALL = 1 << 23  # bytes that a kernel of a bundle reads and writes at most: larger ones fill a GPU alone
HELD = 1 << 24, 16  # bytes of temporaries that wait for a bundle at most; and what part of all values
MEMBERS, WORDS = 16, 240  # kernels of a bundle; words of Params


def gathered(
    kernels: tuple[Kernel, ...], sizes: dict[int, int], there: set[int], dying: frozenset[int], limits: Any
) -> list[list[Kernel]]:
    """The kernels in order, by bundles: those whose results no kernel reads wait for the last of theirs.

    there: values that need no room while others wait; dying: those of them that may be written over.
    """
    read = {v for k in kernels for v in k.inputs}
    open_: list[int] = []
    most = min(HELD[0], sum(sizes.values()) // HELD[1])
    group: dict[int, list[int]] = {}  # kernel -> the kernels of its bundle
    for i, k in enumerate(kernels):
        if not _is_small(k, sizes) or any(v in read for v in k.outputs):
            continue
        if not open_ or not _fits([kernels[j] for j in (*open_, i)], sizes, there, dying, most, limits):
            open_ = []
        open_.append(i)
        group[i] = open_
    made = []
    for i in range(len(kernels)):
        members = group.get(i, [i])
        if members[-1] == i:
            made.append([kernels[j] for j in members])
    return made


def _is_small(k: Kernel, sizes: dict[int, int]) -> bool:
    moved = sum(sizes.get(v, 0) for v in (*k.inputs, *k.outputs))
    return k.shader.kind in MAPS and k.instead is None and moved <= SMALL and prod(k.grid) < 4096


def _fits(members: list[Kernel], sizes, there: set[int], dying: frozenset[int], most: int, limits) -> bool:
    """Whether one kernel can bind, and be told, what these are (results are written over what dies where
    that goes), and at most so many bytes wait for it."""
    inputs = {v for k in members for v in k.inputs}
    over = sum(min(len(set(k.inputs) & dying), len(k.outputs)) for k in members)
    bound = len(inputs) + sum(len(k.outputs) for k in members) - over
    held = sum(sizes.get(v, 0) for v in inputs - there)
    words = sum(len(k.quantities) + 1 for k in members)
    bound += any(k.shader.checks for k in members)
    return len(members) <= MEMBERS and words <= WORDS and held <= most and bound <= limits.bundle_buffers


def bundled(members: list[Kernel], limits: Any) -> list[Kernel]:
    """One kernel that does the work of several; several where that binds too much, or where one writes over
    what another reads."""
    runs: list[list[Kernel]] = []
    for k in members:
        if not runs or not _are_apart([*runs[-1], k]) or _bound([*runs[-1], k]) > limits.bundle_buffers:
            runs.append([])
        runs[-1].append(k)
    return [_bundle(run) if len(run) > 1 else run[0] for run in runs]


def _bound(members: list[Kernel]) -> int:
    """How many buffers they bind."""
    inputs = {b for k in members for b in zip(k.inputs, k.shader.bindings, strict=True)}
    return len(inputs) + sum(len(k.outputs) for k in members) + any(k.shader.checks for k in members)


def _are_apart(members: list[Kernel]) -> bool:
    over = [{x for _, x in k.over} for k in members]
    reads = [set(k.inputs) for k in members]
    return not any(
        over[i] & (reads[j] | over[j]) for i in range(len(members)) for j in range(len(members)) if i != j
    )


def _bundle(members: list[Kernel]) -> Kernel:
    made = _Bundle()
    segments = [made.add(k) for k in members]
    ends = list(accumulate(prod(k.grid) for k in members))
    names = [made.word(f"end_{i}", "u32", end) for i, end in enumerate(ends)]
    kinds = tuple(kind for _, kind in made.bound)
    shader = Shader(
        "map/map_bundle.wgsl",
        tuple(made.params),
        kinds,
        tuple(made.outs),
        members[0].shader.workgroup,
        tuple(made.functions),
        (("segments", tuple(segments)), ("ends", tuple(names))),
        "map_bundle",
    )
    return Kernel(
        f"{members[0].name} and {len(members) - 1} more",
        shader,
        tuple(v for v, _ in made.bound),
        tuple(v for k in members for v in k.outputs),
        tuple(made.quantities),
        (ends[-1], 1, 1),
        over=tuple(pair for k in members for pair in k.over),
        ends=", ".join(dict.fromkeys(k.ends for k in members)),
        parts=tuple(members),
    )


class _Bundle:
    """What the members of a bundle bind and are told, under names of its own."""

    def __init__(self):
        self.params: list[tuple[str, str]] = []
        self.quantities: list[Any] = []
        self.known: dict[tuple, str] = {}  # a host number and its type -> its name
        self.bound: dict[tuple, str] = {}  # (value, kind) -> the name of its binding
        self.outs: list[tuple[str, int]] = []
        self.functions: list[tuple[str, Function]] = []

    def word(self, name: str, wgsl: str, value: Any) -> str:
        """The name of a quantity; host numbers that several read are told once."""
        if isinstance(value, tuple):
            name = self.known.setdefault((value, wgsl), name)
            if name in (n for n, _ in self.params):
                return name
        self.params.append((name, wgsl))
        self.quantities.append(value)
        return name

    def add(self, k: Kernel) -> tuple:
        """The segment of a kernel: its function, and what the template asks for."""
        at = len(self.functions)
        words = {name: self.word(f"{name}_{at}", wgsl, numbers_of(k)[name]) for name, wgsl in k.shader.params}
        buffers = {
            f"in{i}": self.bound.setdefault(bound, f"in{len(self.bound)}")
            for i, bound in enumerate(zip(k.inputs, k.shader.bindings, strict=True))
        }
        outs = [out_name(len(self.outs) + i) for i in range(len(k.outputs))]
        buffers |= {out_name(i): name for i, name in enumerate(outs)}
        self.outs += k.shader.outs
        ((_, f),), options = k.shader.functions, dict(k.shader.options)
        self.functions.append((f"value{at}", _renamed(f, words, buffers, f"Results{at}")))
        dims = tuple(words[name] for name in options["dims"])
        return f"value{at}", words[options["size"]], dims, tuple(outs), k.shader.outs[0][1]


def _renamed(f: Function, words: dict[str, str], buffers: dict[str, str], results: str) -> Function:
    def index(i: Index | None) -> Index | None:
        if i is None:
            return None
        return Index(tuple((c, words.get(s, s)) for c, s in i.terms), words.get(i.offset, i.offset))

    def step(s: Step) -> Step:
        if s.kind == "op":
            return s
        names = buffers if s.kind in READS else words
        tests = tuple(t._replace(position=index(t.position), size=words[t.size]) for t in s.tests)
        extra = tuple(words.get(e, e) if isinstance(e, str) else e for e in s.extra)
        return s._replace(name=names.get(s.name, s.name), index=index(s.index), tests=tests, extra=extra)

    steps = tuple(map(step, f.steps))
    return f._replace(steps=steps, result=results if f.results else f.result)
