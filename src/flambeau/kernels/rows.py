"""Groups of reductions over the same rows, and what is made of them, into one kernel that reads rows once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple, Protocol

from ..core import choose
from ..core.node import Node
from ..core.shape import Shape, contiguous_strides
from .ir import Bindings, Function, Kernel, Quantities, Shader, Stored, out_name
from .kernel import label, spread_grid
from .lower import Move, NeedStore, Raw, Trace, collapse_domain, view_through
from .vectorize import below
from .window import line_of

WORKGROUP = 64, 128  # threads on a software adapter, on a GPU: two rows or more where they are short
# On a GPU: a row of at most so many reads is shared by so many threads, each holding its part of them
LANES = ((4, 1), (32, 8), (128, 32), (1024, 128), (4096, 256))
AHEAD = 4  # reads under way where rows are read anew
HELD = 128  # 32-bit registers of a thread that may hold elements of its row
LONG, FEW = 65536, 64  # rows at least this long, and fewer than so many, are reduced by many workgroups each
STAGED = "staged"  # the variant that is no kernel of this kind


class Group(Protocol):
    """What one kernel computes of the same rows.

    key: how many rows, and how long they are. nodes: all that is computed, inputs first; reduces: the
    reductions of them; outputs: those that are stored.
    """

    @property
    def key(self) -> tuple[int, int]: ...

    @property
    def nodes(self) -> Sequence[Node]: ...

    @property
    def reduces(self) -> Sequence[Node]: ...

    @property
    def outputs(self) -> Sequence[Node]: ...


class RowTrace(Trace):
    """A trace over rows in which the group's own reductions are known."""

    def __init__(self, planner: Stored, domain: Shape, kept: int, group: Group):
        super().__init__(planner, domain, outputs=len(group.outputs), can_check=True)
        self.members = {id(n) for n in group.reduces}
        row = contiguous_strides(domain[:kept])
        self.own = (*row, *(0,) * (len(domain) - kept))

    def _trace(self, node: Node, chain: tuple[Move, ...], depth: int) -> int:
        if id(node) not in self.members:
            return super()._trace(node, chain, depth)
        view = view_through(node.shape, chain)
        steps = zip(view.index.strides, self.own, self.domain, strict=True)
        if view.bounds or view.index.offset or any(s != o for s, o, n in steps if n > 1):
            raise NeedStore(node, "it is read for other rows")
        return self._add(Raw("stat", node.dtype, node))


def domain_of(group: Group) -> tuple[Shape, int]:
    """The rows' shape, in the finest dims that the group's nodes have, and how many of them are kept."""
    rows, length = group.key
    marks = {1, length, rows * length}
    for n in group.nodes:
        shape = n.inputs[0].shape if n.op.kind == "reduce" else n.shape
        size = 1 if prod(shape) == rows * length else length
        for s in reversed(shape):
            size *= s
            marks.add(size)
    ends = sorted(marks)
    if any(b % a for a, b in pairwise(ends)):
        ends = sorted({1, length, rows * length})
    sizes = [b // a for a, b in pairwise(ends)]
    kept = sum(e > length for e in ends)
    return tuple(reversed(sizes)), kept


@dataclass
class Phase:
    """What is done between two barriers: values to hold, and then reductions."""

    held: list[int]
    stats: list[tuple[Node, int]]  # the reduction, and the step that it reduces


class Form(NamedTuple):
    """How many threads share a row, how many reads each holds (0: none, rows are read anew in each phase),
    whether sums follow a maximum, and how many reads are under way."""

    lanes: int
    regs: int
    once: bool
    ahead: int


def row_kernel(planner: Stored, group: Group) -> list[Kernel] | None:
    """The group's kernel; None where another form is better."""
    return _Build(planner, group).kernel()


class _Build:
    """One kernel over rows in the making."""

    def __init__(self, planner: Stored, group: Group):
        self.planner, self.group = planner, group
        self.domain, self.kept = domain_of(group)
        self.trace = trace = RowTrace(planner, self.domain, self.kept, group)
        self.rows, self.length = group.key
        self.results = [(n, self.traced(n)) for n in group.outputs]
        self.values: dict[int, int] = {}  # id of a reduction -> the step that it reduces
        todo = [r for _, r in self.results]
        self.members = {id(n): n for n in group.reduces}
        while todo:  # reductions that results, or other reductions, need
            for s in below(trace.steps, todo.pop()):
                node = trace.steps[s].node
                if trace.steps[s].kind == "stat" and id(node) not in self.values:
                    self.values[id(node)] = self.traced(node.inputs[0])
                    todo.append(self.values[id(node)])
        groups = (0,) * self.kept + (1,) * (len(self.domain) - self.kept)
        self.runs, self.sizes = collapse_domain(self.domain, trace.affines(), groups)
        self.outer = [i for i, r in enumerate(self.runs) if r[0] < self.kept]
        self.inner = [i for i, r in enumerate(self.runs) if r[0] >= self.kept]

    def traced(self, node: Node) -> int:
        """The step of a node, seen over the whole rows."""
        chain: tuple[Move, ...] = (
            () if node.shape == self.domain else (Move("reshape", (self.domain,), node),)
        )
        if prod(node.shape) != prod(self.domain):
            row = (*self.domain[: self.kept], *(1,) * (len(self.domain) - self.kept))
            chain = (Move("reshape", (row,), node), Move("expand", (self.domain,), None))
        return self.trace.value(node, chain)

    def is_full(self, step: int) -> bool:
        """Whether what a step reads differs along a row."""
        views = self.trace.steps[step].view.affines()  # type: ignore[union-attr]
        along = [d for d in range(self.kept, len(self.domain)) if self.domain[d] > 1]
        return any(a.strides[d] for a in views for d in along)

    # --- phases ---

    def levels(self) -> dict[int, int]:
        """After how many other reductions of the row each can begin."""
        level: dict[int, int] = {}

        def of(node: Node) -> int:
            if id(node) not in level:
                made_of = below(self.trace.steps, self.values[id(node)])
                stats = [self.trace.steps[s].node for s in made_of if self.trace.steps[s].kind == "stat"]
                level[id(node)] = max((1 + of(n) for n in stats), default=0)
            return level[id(node)]

        for i in self.values:
            of(self.members[i])
        return level

    def followers(self) -> dict[int, Node]:
        """Sums of exp(x - the largest x), by their ids, and the largest that they follow: one turn along a
        row can keep both, scaling the sum where the largest grows (Milakov and Gimelshein, 2018)."""
        steps, found = self.trace.steps, {}
        for i, at in self.values.items():
            e = steps[at]
            if self.members[i].op.name != "_sum" or e.name != "exp" or e.dtype.short != "f32":
                continue
            away = steps[e.args[0]]
            top = steps[away.args[1]] if away.name == "sub" else e
            is_max = top.kind == "stat" and top.node.op.name == "_max"
            if is_max and self.values[id(top.node)] == away.args[0]:
                found[i] = top.node
        return found

    def phases(self, hold: bool, once: bool = False) -> list[Phase]:
        """Reductions by level, and the results as the last phase; each with what it is the first to read of
        what several of them read. once: sums that can follow a maximum are beside it."""
        level = self.levels()
        last = 1 + max(level.values(), default=-1)
        if once:
            level |= {i: level[id(top)] for i, top in self.followers().items()}
        made = [Phase([], []) for _ in range(last + 1)]
        for i, at in level.items():
            made[at].stats.append((self.members[i], self.values[i]))
        if hold:
            readers: dict[int, set[int]] = {}
            for at, phase in enumerate(made):
                roots = [s for _, s in phase.stats] if at < last else [s for _, s in self.results]
                for root in roots:
                    for s in below(self.trace.steps, root):
                        readers.setdefault(s, set()).add(at)
            for s, at in sorted(readers.items()):
                if self.trace.steps[s].kind == "load" and len(at) > 1 and self.is_full(s):
                    made[min(at)].held.append(s)
        return made

    # --- shape of the kernel ---

    def can_widen(self) -> bool:
        last = bool(self.inner) and self.sizes[-1] % 4 == 0
        return last and self.trace.can_widen(self.runs, self.sizes)

    def form(self, width: int) -> Form | None:
        """How the threads of a row go about it; None where they are no kernel of this kind."""
        limits, reads = self.planner.limits, self.length // width
        phases = self.phases(True)
        turns = len(phases) * reads * self.trace.turns
        held = sum(len(p.held) for p in phases)
        names, default = [STAGED], STAGED
        if limits.software:
            if turns <= limits.turns:
                names.append("loop1")
                default = "loop1" if self.rows >= FEW else STAGED
            if line_of(self.trace.steps, self.runs, self.sizes, self.kept):
                default = STAGED  # neighbouring rows share what they read: each reduction reads it for four
        else:
            names += ["loop128", "loop256"]
            anew = "once256" if self.followers() else "loop256"
            names += [anew] * (anew not in names)
            default = anew if self.rows >= FEW or self.length < LONG else STAGED
            for lanes in (1, 8, 32, 64, 128, 256):
                each = _power(-(-reads // lanes))
                if each * width * max(held, 1) <= HELD and each <= 16:
                    names.append(f"held{lanes}")
            usual = next((f"held{n}" for most, n in LANES if reads <= most), "")
            default = usual if usual in names else default
        bucket = (_power(reads), width, held)
        name = choose.choose(limits, "rows", bucket, names, default)
        if name == STAGED:
            return None
        kind, lanes = name[:4], int(name[4:])
        held_reads = _power(-(-reads // lanes)) if kind == "held" else 0
        return Form(lanes, held_reads, kind == "once", 1 if limits.software else AHEAD)

    def kernel(self, narrow: bool = False) -> list[Kernel] | None:
        planner = self.planner
        width = 4 if not narrow and self.can_widen() else 1
        if any(n.dtype.is_packed and (width == 1 or not self.is_long(n)) for n in self.group.outputs):
            return None  # packed types are written in whole words
        form = self.form(width)
        if form is None:
            return None
        lanes = form.lanes
        q, b = Quantities(), Bindings()
        threads = max(WORKGROUP[not planner.limits.software], lanes)
        coords = [f"c{i}" for i in self.outer] + [f"r{i}" for i in range(len(self.inner))]
        grid = spread_grid(-(-self.rows // (threads // lanes)), planner.limits.groups)
        options: dict[str, Any] = {
            "rows": q.add("rows", self.rows),
            "length": q.add("length", self.length),
            "line": q.add("line", grid[0]),
            "lanes": lanes,
            "across": threads // lanes,
            "regs": form.regs,
            "width": width,
            "ahead": form.ahead,
            "steps": steps_of(lanes),
            "row_dims": tuple(q.add("row_dim", self.sizes[i]) for i in self.outer[1:]),
            "dims": tuple(q.add("dim", self.sizes[i]) for i in self.inner[1:]),
            "own": tuple(coords[: len(self.outer)]),
            "along": tuple(coords[len(self.outer) :]),
        }
        made = _Functions(self, coords, b, q, width, form)
        if len(b.values) > self.trace.most:
            return None if narrow else self.kernel(narrow=True)  # a buffer read in two ways is bound twice
        options |= made.options(lanes)
        if 4 * threads * len(options["boxes"]) > planner.limits.workgroup_memory:
            return None
        outs = tuple((n.dtype.short, width if self.is_long(n) else 1) for n in self.group.outputs)
        shader = Shader(
            "reduce/rows.wgsl",
            tuple(q.names),
            tuple(b.kinds),
            outs,
            (threads, 1, 1),
            tuple(made.functions),
            tuple(sorted(options.items())),
        )
        heads = sorted((self.members[i] for i in self.values), key=lambda n: planner.index[id(n)])
        name = label("+".join(n.op.name[1:] for n in heads), self.trace)
        written = tuple(planner.index[id(n)] for n in self.group.outputs)
        return [Kernel(name, shader, tuple(b.values), written, tuple(q.values), grid)]

    def is_long(self, node: Node) -> bool:
        """Whether an output has an element for each of a row."""
        return prod(node.shape) > self.rows


class Stat(NamedTuple):
    """A reduction as the template sees it: its variable, its op, what it adds up and where lanes join it; of
    a sum of exponentials also which maximum it follows."""

    name: str
    op: str
    dtype: str
    function: str
    box: str
    top: str = ""


class _Functions:
    """The WGSL functions of a kernel over rows, phase by phase."""

    def __init__(self, build: _Build, coords, b: Bindings, q: Quantities, width: int, form: Form):
        self.build, self.trace, self.width = build, build.trace, width
        self.followers = build.followers() if form.once else {}
        self.where = build.runs, coords, b, q
        self.functions: list[tuple[str, Function]] = []
        self.held: set[int] = set()  # steps whose values lanes hold by now
        self.names: dict[int, str] = {}  # id of a reduction -> the variable that has it
        self.boxes: dict[str, str] = {}
        self.phases = [self.phase(p) for p in build.phases(form.regs > 0, form.once)]
        self.full, self.single = [], []
        for i, (n, step) in enumerate(build.results):
            if build.is_long(n):
                self.full.append((out_name(i), self.add("full", step, width)))
            else:
                self.single.append((out_name(i), self.add("row", step, 1)))

    def phase(self, phase: Phase) -> tuple:
        held, stats, taken, names = [], [], Counter(), {}
        for s in phase.held:
            held.append((f"t{s}", self.add("read", s, self.width)))
            self.held.add(s)
        for node, step in phase.stats:
            dtype = node.dtype.short
            box = f"box_{dtype}_{taken[dtype]}"
            taken[dtype] += 1
            self.boxes[box] = dtype
            top = self.followers.get(id(node))
            function = "" if top else self.add("value", step, self.width)
            name = names[id(node)] = f"s{len(self.names) + len(stats)}"
            stats.append(Stat(name, node.op.name[1:], dtype, function, box, names[id(top)] if top else ""))
        self.names |= names
        return tuple(held), tuple(stats)

    def add(self, kind: str, root: int, width: int) -> str:
        """The function of a step, which is given what lanes hold and what the row's reductions came to."""
        steps, given, stats = below(self.trace.steps, root, self.held), [], {}
        for s in steps:
            raw = self.trace.steps[s]
            if s in self.held:
                given.append((f"t{s}", raw.dtype.short, width))
            elif raw.kind == "stat":
                raw.name = self.names[id(raw.node)]
                stats[raw.name] = raw.dtype.short
        given += [(name, dtype, 1) for name, dtype in stats.items()]
        name = f"{kind}{len(self.functions)}"
        own = [s for s in steps if s not in self.held]
        self.functions.append((name, self.trace.part(own, given, *self.where, root, width)))
        return name

    def options(self, lanes: int) -> dict[str, Any]:
        boxes = tuple(self.boxes.items()) if lanes > 1 else ()
        phases = tuple(p for p in self.phases if any(p))
        return {"phases": phases, "boxes": boxes, "full": tuple(self.full), "single": tuple(self.single)}


def _power(n: int) -> int:
    """The power of two at or above n."""
    return 1 << max(n - 1, 0).bit_length()


def steps_of(lanes: int) -> tuple[tuple[int, int], ...]:
    """How lanes join in a tree, four at a time where that goes: (lanes left, how many each joins)."""
    steps = []
    while lanes > 1:
        count = 4 if lanes % 4 == 0 else 2
        lanes //= count
        steps.append((lanes, count))
    return tuple(steps)
