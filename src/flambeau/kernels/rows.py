"""Builds one kernel of several reductions over the same rows and the ops around them; it reads rows once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple, Protocol

from ..core import choose
from ..core.node import Node
from ..core.shape import Shape, contiguous_strides
from .emit import (
    Bindings,
    BoundTwice,
    Naming,
    Quantities,
    below,
    can_widen,
    check_bindings,
    coordinates,
    emit_from,
    fitting,
    label,
    naming_over,
    spread_grid,
)
from .ir import Kernel, Shader, WgslFunction, out_name
from .lower import OwnRows, PlanContext, Trace, collapse_domain
from .window import line_of

WORKGROUP = 64, 128  # threads on a software adapter, on a GPU: two rows or more where they are short
# On a GPU: a row of at most this many reads is shared by this many threads, each holding its part of them
THREADS_OF_A_ROW = ((4, 1), (32, 8), (128, 32), (1024, 128), (4096, 256))
NARROW = 5  # reads of single elements up to which fewer threads a row would read too far apart
PREFETCH = 4  # reads under way where rows are read again
HELD_REGISTERS = 128  # 32-bit ones of a thread that may hold elements of its row
READS_HELD = 16  # the most reads of a row that a thread holds
# The number of rows from which one workgroup, or one thread, per row fills an adapter; fewer long rows are
# staged.
ROWS_FILL, LONG_ROW = 64, 65536


class RowVariant(NamedTuple):
    """How a kernel computes rows, and how many threads share a row.

    kind: "registers", threads hold a row's elements; "loop", threads read the row again in each phase;
    "online", the same, but one phase computes a running maximum and its sum of exponentials; "staged", a
    kernel for each reduction.
    """

    kind: str
    lanes: int = 0

    def __str__(self) -> str:
        return f"{self.kind}{self.lanes or ''}"


STAGED = RowVariant("staged")


class Group(Protocol):
    """A group of nodes over the same rows.

    key: how many rows, and their length. nodes: all nodes of the group, inputs first. outputs: those that are
    stored.
    """

    @property
    def key(self) -> tuple[int, int]: ...

    @property
    def nodes(self) -> Sequence[Node]: ...

    @property
    def outputs(self) -> Sequence[Node]: ...


def domain_of(group: Group) -> tuple[Shape, int]:
    """The rows' shape in the finest dims of the group's nodes, and the number of kept dims."""
    rows, length = group.key
    marks = {1, length, rows * length}
    for n in group.nodes:
        shape = n.inputs[0].shape if n.op.kind == "reduce" else n.shape
        size = 1 if prod(shape) == rows * length else length
        for s in reversed(shape):
            size *= s
            marks.add(size)
    # Each mark is where a dim of some node ends, counted in elements from the innermost dim. If no shape has
    # them all as dims, the kernel has two dims: rows, and elements of a row.
    boundaries = sorted(marks)
    if any(b % a for a, b in pairwise(boundaries)):
        boundaries = sorted({1, length, rows * length})
    sizes = [b // a for a, b in pairwise(boundaries)]
    row_dims = sum(e > length for e in boundaries)
    return tuple(reversed(sizes)), row_dims


@dataclass
class Phase:
    """The work between two barriers: elements to hold in registers, then reductions."""

    registers: list[int]
    reductions: list[tuple[Node, int]]  # each, and the step that it reduces


class Form(NamedTuple):
    """How many threads share a row, how many reads each holds (0: rows are read again in each phase), whether
    sums follow a running maximum, and how many reads are in flight."""

    lanes: int
    reads: int
    online: bool
    prefetch: int


def row_kernel(plan: PlanContext, group: Group) -> list[Kernel] | None:
    """The group's kernel; None where another form is better."""
    try:
        kernel = fitting(RowBuilder(plan, group).kernel)
    except BoundTwice:
        return None
    return kernel and [kernel]


class RowBuilder:
    """One kernel over rows in the making."""

    def __init__(self, plan: PlanContext, group: Group):
        self.plan, self.group = plan, group
        self.domain, self.kept = domain_of(group)
        self.outputs = tuple(group.outputs)
        self.members = {id(n): n for n in group.nodes if n.op.kind == "reduce"}
        self.trace = trace = Trace(plan, self.domain, outputs=len(self.outputs), can_check=True)
        self.rows, self.length = group.key
        along = len(self.domain) - self.kept
        # A reduction of these rows has one element per row, read at these strides.
        row = (*contiguous_strides(self.domain[: self.kept]), *(0,) * along)
        trace.rows = OwnRows(self.members, row)
        self.results: list[tuple[Node, int]] = []
        todo: list[int] = []
        for n in self.outputs:
            todo.append(trace.value_over_rows(n, self.kept))
            self.results.append((n, todo[-1]))
        self.values: dict[int, int] = {}  # id of a reduction -> the step that it reduces
        # The step of a result or of a reduced value -> all steps below it.
        self.below: dict[int, list[int]] = {}
        while todo:  # reductions that results, or other reductions, need
            root = todo.pop()
            self.below[root] = below(trace.steps, root)
            for s in self.below[root]:
                node = trace.steps[s].node
                if trace.steps[s].kind == "stat" and id(node) not in self.values:
                    self.values[id(node)] = trace.value_over_rows(node.inputs[0], self.kept)
                    todo.append(self.values[id(node)])
        groups = (0,) * self.kept + (1,) * along
        self.runs, self.sizes = collapse_domain(self.domain, trace.affines, groups)
        self.outer = [i for i, r in enumerate(self.runs) if r[0] < self.kept]
        self.inner = [i for i, r in enumerate(self.runs) if r[0] >= self.kept]

    def is_full(self, step: int) -> bool:
        """Whether a step's value changes along a row."""
        view = self.trace.steps[step].view
        along = [d for d in range(self.kept, len(self.domain)) if self.domain[d] > 1]
        return view is not None and any([a.strides[d] for a in view.affines for d in along])

    # --- phases ---

    def levels(self) -> dict[int, int]:
        """After how many other reductions of the row each can begin."""
        level: dict[int, int] = {}
        for i in self.values:
            self._find_level(self.members[i], level)
        return level

    def _find_level(self, node: Node, level: dict[int, int]) -> int:
        """Enter a reduction's level, and those of the reductions that it needs."""
        if id(node) not in level:
            steps = [self.trace.steps[s] for s in self.below[self.values[id(node)]]]
            stats = [s.node for s in steps if s.kind == "stat"]
            # Softmax: its maximum has level 0, the sum of exponentials level 1, the result is the last phase.
            level[id(node)] = max((1 + self._find_level(n, level) for n in stats), default=0)
        return level[id(node)]

    def followers(self) -> dict[int, Node]:
        """Sums of exp(x - the largest x), by their ids, with that maximum: one pass along a row can update
        both, rescaling the sum when the maximum grows (Milakov and Gimelshein, 2018)."""
        steps, followers = self.trace.steps, dict[int, Node]()
        for i, level in self.values.items():
            e = steps[level]
            if self.members[i].op.monoid != "sum" or e.name != "exp" or e.dtype.short != "f32":
                continue
            away = steps[e.args[0]]  # x - max
            top = steps[away.args[1]] if away.name == "sub" else e
            is_max = top.kind == "stat" and top.node.op.monoid == "max"
            if is_max and self.values[id(top.node)] == away.args[0]:
                followers[i] = top.node
        return followers

    def phases(self, hold: bool, online: bool = False) -> list[Phase]:
        """Reductions by level, and the results as the last phase; each with the shared values that it is the
        first to read. online: sums that can follow a maximum are in its phase."""
        level = self.levels()
        last = 1 + max(level.values(), default=-1)
        if online:
            level |= {i: level[id(top)] for i, top in self.followers().items()}
        phases = [Phase([], []) for _ in range(last + 1)]
        for i, phase in level.items():
            phases[phase].reductions.append((self.members[i], self.values[i]))
        if hold:
            for step, readers in self.readers(phases):
                if self.trace.steps[step].kind == "load" and len(readers) > 1 and self.is_full(step):
                    # Held from the first phase that reads it; later phases don't read it from memory.
                    phases[min(readers)].registers.append(step)
        return phases

    def readers(self, phases: list[Phase]) -> list[tuple[int, set[int]]]:
        """Each step, in order, and the phases that need it."""
        phases_of: dict[int, set[int]] = {}
        results = [step for _, step in self.results]
        for index, phase in enumerate(phases):
            roots = results if phase is phases[-1] else [step for _, step in phase.reductions]
            for root in roots:
                for s in self.below[root]:
                    phases_of.setdefault(s, set()).add(index)
        return sorted(phases_of.items())

    # --- shape of the kernel ---

    def can_widen(self) -> bool:
        last = bool(self.inner) and self.sizes[-1] % 4 == 0
        return last and can_widen(self.trace.steps, self.runs, self.sizes)

    def choose_layout(self, width: int) -> Form | None:
        """How the threads of a row share it; None if separate kernels are better."""
        limits, reads = self.plan.limits, self.length // width
        phases = self.phases(True)
        held = sum(len(p.registers) for p in phases)  # values of each element of a row
        if limits.software:
            variants, default = self.on_software(len(phases) * reads * self.trace.turns)
        else:
            variants, default = self.on_gpu(reads, width, max(held, 1))
        kind, lanes = choose.choose(limits, "rows", (_power(reads), width, held), variants, default)
        if kind == STAGED.kind:
            return None
        # A power of two, so that few row lengths need a shader of their own.
        held_reads = _power(-(-reads // lanes)) if kind == "registers" else 0
        return Form(lanes, held_reads, kind == "online", 1 if limits.software else PREFETCH)

    def on_software(self, turns: int) -> tuple[list[RowVariant], RowVariant]:
        """The variants that fit a software adapter, and the rule's choice: one thread per row, if there are
        enough rows. Not if neighbouring rows share inputs: then each reduction reads them for four rows."""
        if turns > self.plan.limits.turns:
            return [STAGED], STAGED
        loop = RowVariant("loop", 1)
        if self.rows < ROWS_FILL or line_of(self.trace.steps, self.runs, self.sizes, self.kept):
            return [STAGED, loop], STAGED
        return [STAGED, loop], loop

    def on_gpu(self, reads: int, width: int, held: int) -> tuple[list[RowVariant], RowVariant]:
        """The same for a GPU: rows are held in registers if they fit. held: the values of each element."""
        loop = RowVariant("online" if self.followers() else "loop", 256)
        variants = [STAGED, *dict.fromkeys((RowVariant("loop", 128), RowVariant("loop", 256), loop))]
        for lanes in (1, 8, 32, 64, 128, 256):
            each = _power(-(-reads // lanes))  # reads a thread
            if each * width * held <= HELD_REGISTERS and each <= READS_HELD:
                variants.append(RowVariant("registers", lanes))
        fit = [RowVariant("registers", n) for most, n in THREADS_OF_A_ROW if reads <= most][:1]
        if width == 1 and reads > NARROW:
            # A thread takes four reads of single elements for one of a four: 100,000 rows of 101 take
            # 36 us with 8 threads a row, 39 with 32, 49 with 64, 77 with 128 (softmax, H200, 2026-11-27).
            lanes_wanted = max(reads // 4, NARROW)
            more = [RowVariant("registers", n) for most, n in THREADS_OF_A_ROW if lanes_wanted <= most]
            fit = [v for v in more if v in variants] or fit
        usual = next(iter(fit), STAGED)
        many = self.rows >= ROWS_FILL or self.length < LONG_ROW
        return variants, usual if usual in variants and usual != STAGED else loop if many else STAGED

    def kernel(self, narrow: bool) -> Kernel | None:
        plan = self.plan
        width = 4 if not narrow and self.can_widen() else 1
        if any(n.dtype.is_packed and (width == 1 or not self.is_long(n)) for n in self.outputs):
            return None  # packed types are written in whole words
        form = self.choose_layout(width)
        if form is None:
            return None
        lanes = form.lanes
        q, b = Quantities(), Bindings()
        # Short rows share a workgroup, `threads // lanes` of them.
        threads = max(WORKGROUP[not plan.limits.software], lanes)
        # a single read per row needs no bounds check, and its names no suffix
        reads = form.reads or form.prefetch
        places = (("", 0),) if lanes * reads == 1 else tuple([(f"_{j}", j * lanes) for j in range(reads)])
        steps, sizes = steps_of(lanes), [("row_dim", self.sizes[i]) for i in self.outer[1:]]
        dims = [("dim", self.sizes[i]) for i in self.inner[1:]]
        own = coordinates(len(self.outer), "c", "row")
        along = coordinates(len(self.inner), "r", "k" if lanes * reads == 1 else "column")
        coords = own + along
        grid = spread_grid(-(-self.rows // (threads // lanes)), plan.limits.groups)
        options: dict[str, Any] = {
            "rows": q.add("rows", self.rows),
            "length": q.add("length", self.length),
            "line": q.add("line", grid[0]),
            "lanes": lanes,
            "across": threads // lanes,
            "reads_held": form.reads,
            "width": width,
            "places": places,
            "turn": reads * lanes * width,
            "steps": steps,
            "row_dims": tuple(q.add_all(sizes)),
            "dims": tuple(q.add_all(dims)),
            "own": tuple(coords[: len(self.outer)]),
            "along": tuple(coords[len(self.outer) :]),
        }
        naming = naming_over(self.runs, coords, b, q, width)
        row_functions = RowFunctions(self, naming, width, form)
        check_bindings(b, self.trace.most)
        options |= row_functions.options(lanes)
        # partials: [threads] of 4 bytes for each reduction of a phase.
        if 4 * threads * len(options["partials"]) > plan.limits.workgroup_memory:
            return None
        outs = tuple((n.dtype.short, width if self.is_long(n) else 1) for n in self.outputs)
        shader = Shader(
            "reduce/rows.wgsl",
            tuple(q.names),
            tuple(b.kinds),
            outs,
            (threads, 1, 1),
            tuple(row_functions.functions),
            tuple(sorted(options.items())),
        )
        # In the order of the graph, so that equal plans have equal names.
        heads = sorted((self.members[i] for i in self.values), key=lambda n: plan.index[id(n)])
        written = tuple([plan.index[id(n)] for n in self.outputs])
        name = label("+".join([n.op.monoid for n in heads]), self.trace.steps)
        return Kernel(name, shader, tuple(b.values), written, tuple(q.values), grid)

    def is_long(self, node: Node) -> bool:
        """Whether an output has an element for each of a row."""
        return prod(node.shape) > self.rows


class RowReduction(NamedTuple):
    """A reduction as the template sees it: its variable, its op, the function of an element and the array in
    which lanes join; for a sum of exponentials also the maximum that it follows."""

    name: str
    op: str
    dtype: str
    function: str
    partials: str
    top: str = ""


class RowFunctions:
    """The WGSL functions of a kernel over rows, phase by phase."""

    def __init__(self, build: RowBuilder, naming: Naming, width: int, form: Form):
        self.build, self.trace, self.width, self.naming = build, build.trace, width, naming
        self.single_naming = replace(naming, inner=None)  # one element, where `naming` has four neighbours
        self.followers = build.followers() if form.online else {}
        self.functions: list[tuple[str, WgslFunction]] = []
        self.names: Counter[str] = Counter()
        self.held: set[int] = set()  # steps whose values lanes hold by now
        self.partials: dict[str, str] = {}
        self.phases = [self.phase(p) for p in build.phases(form.reads > 0, form.online)]
        self.full, self.single = list[tuple[str, str]](), list[tuple[str, str]]()
        for i, (n, step) in enumerate(build.results):
            if build.is_long(n):
                self.full.append((out_name(i), self.add("full", step, width)))
            else:
                self.single.append((out_name(i), self.add("one", step, 1)))

    def phase(self, phase: Phase) -> tuple[tuple[tuple[str, str], ...], tuple[RowReduction, ...]]:
        held, reductions = list[tuple[str, str]](), list[RowReduction]()
        counts, names = Counter[str](), dict[int, str]()
        for s in phase.registers:
            held.append((f"t{s}", self.add("element", s, self.width)))
            # Functions that are added after this take the element as an argument instead of reading it.
            self.held.add(s)
        for node, step in phase.reductions:
            dtype = node.dtype.short
            partials = f"partials_{dtype}{counts[dtype] or ''}"
            counts[dtype] += 1
            self.partials[partials] = dtype
            top = self.followers.get(id(node))
            function = "" if top else self.add("value", step, self.width)
            name = names[id(node)] = self.new_name("row_" + node.op.monoid)
            follows = names[id(top)] if top else ""
            reductions.append(RowReduction(name, node.op.monoid, dtype, function, partials, follows))
        self.naming.stats.update(names)
        return tuple(held), tuple(reductions)

    def new_name(self, name: str) -> str:
        """A name that is not yet used, numbered from the second one on."""
        self.names[name] += 1
        return name if self.names[name] == 1 else f"{name}{self.names[name] - 1}"

    def add(self, kind: str, root: int, width: int) -> str:
        """Add the function of a step. Held elements and results of the row's reductions are its arguments."""
        name = self.new_name(kind)
        naming = self.naming if width > 1 else self.single_naming
        self.functions.append((name, emit_from(self.trace.steps, naming, root, self.held)))
        return name

    def options(self, lanes: int) -> dict[str, Any]:
        # A thread that has a row alone joins with no other.
        partials = tuple(self.partials.items()) if lanes > 1 else ()
        phases = tuple(p for p in self.phases if any(p))
        return {
            "phases": phases,
            "partials": partials,
            "full": tuple(self.full),
            "single": tuple(self.single),
        }


def _power(n: int) -> int:
    """The power of two at or above n."""
    return 1 << max(n - 1, 0).bit_length()


def steps_of(lanes: int) -> tuple[tuple[int, int], ...]:
    """How lanes join in a tree, four at a time if possible: (remaining lanes, how many each joins)."""
    steps: list[tuple[int, int]] = []
    while lanes > 1:
        count = 4 if lanes % 4 == 0 else 2
        lanes //= count
        steps.append((lanes, count))
    return tuple(steps)
