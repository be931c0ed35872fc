"""Programs: the commands of one recorded call, replayed without graphs, planning or rendering."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from sys import getrefcount
from types import SimpleNamespace
from typing import Any, NamedTuple
from weakref import ref

from ..autodiff.backward import Gradients
from ..core.commands import TO, commands, copy_command, dispatches, fill
from ..core.dtype import DType
from ..core.events import enqueue, stage, submit
from ..core.faults import doubt_of
from ..core.interrupts import uninterrupted
from ..core.limits import MachineSpeed
from ..core.node import Node, describe, toposort
from ..core.op import OPS
from ..core.shape import Shape
from ..core.tree import leaves, like
from ..device.memory import Pool
from ..fusion.buffers import lifetimes
from ..fusion.plan import Cost
from ..ops.random import Noted
from ..runtime import memory, run
from ..runtime.pipeline import Compiled, part_of, patch_params, submits_of, word_of
from ..runtime.writes import update_views
from ..tensor import Tensor
from .bindings import Placeholder, Submit
from .guards import Watch
from .invariants import compute_invariants
from .recorder import Recorder

# A program without state of at most this many kernels, which take a GPU less time than a submit takes the
# host, may share the next submit. Each kernel takes at least START seconds.
LIGHT_KERNELS, LIGHT_SECONDS, START = 16, 40e-6, 2e-6


def _references(t: Any) -> int:
    return getrefcount(t.node)


# references counted by exactly this expression if only the tensor holds the node
HELD = _references(SimpleNamespace(node=object()))


class State(NamedTuple):
    """A tensor that the call assigns to. The commands read its value at `place`."""

    tensor: Tensor
    place: Any
    kind: tuple[Any, ...]  # shape, dtype, and whether it is a parameter


def kind_of(n: Node) -> tuple[Any, ...]:
    return n.shape, n.dtype, n.param is None


class Draws:
    """The random draws of a call, as offsets from its generators' positions at the start."""

    def __init__(self, draws: list[Any], noted: Noted):
        self.of = [
            (source, blocks, [(d, d.at - noted.begins[source]) for d in draws if d.source is source])
            for source, blocks in noted.blocks.items()
            if blocks
        ]

    def renew(self, taken: list[tuple[Any, int, int]]) -> None:
        """Advance each generator by the numbers that the call draws, used or not, and append (generator,
        begin, end) to `taken`."""
        for source, blocks, draws in self.of:
            first = source.take(4 * blocks)
            taken.append((source, first.block, first.block + blocks))
            for draw, begin in draws:
                draw.words = first.at_block(first.block + begin)


class Segment(NamedTuple):
    """A part of a program that is submitted on its own: the costs of its kernels, its commands, and the
    positions of the results that are complete after it."""

    works: tuple[Cost, ...]
    submit: Submit
    ready: tuple[int, ...]


class Moves:
    """The changes that a replay makes to nodes and tensors after its submit. A replay that fails before
    changes nothing."""

    __slots__ = ("drawn", "left", "stays", "words")

    def __init__(self) -> None:
        self.drawn: list[tuple[Any, int, int]] = []  # a generator, begin, end
        self.words: list[int] = []  # copies that come before the commands
        self.left: dict[Node, Any] = {}  # old nodes with other holders -> their new buffers
        self.stays: list[tuple[Tensor, Any, Any]] = []  # with places and doubts

    def undraw(self) -> None:
        """Return unused numbers to the generators, unless more were drawn since."""
        for source, begin, end in self.drawn:
            seed, offset = source.get_state()
            if offset == end:
                source.set_state((seed, begin))

    def buffer_of(self, n: Node) -> Any:
        """Return the buffer of a node's value after the copies."""
        return self.left.get(n, n.buffer)

    def leave(self, old: Node | None, place: Any, pool: Pool) -> None:
        """Copy a value that other tensors share to a separate buffer."""
        if old is not None and self.buffer_of(old) is place:
            self.left[old] = buffer = pool.take(place.nbytes)
            buffer.doubt = place.doubt
            self.words += copy_command(place, buffer)


class Program:
    """One recorded call: the placeholders of its inputs, its commands, the state that it updates and its
    results."""

    def __init__(
        self,
        recorder: Recorder,
        watch: Watch,
        pool: Pool,
        inputs: list[Node],
        roots: list[Node],
        asked: set[Node],
        parts: tuple[list[Tensor], Callable[..., Any]],
    ):
        self.device, self.watch, self.pool = pool.device, watch, pool
        outputs, self.rebuild = parts
        self.calls = 1  # calls that it served, including the recorded one
        self.is_playing = False  # a signal handler may call the function during its replay
        self.due: float = 0  # the number of the next call to check
        self.check_cost = 0.0  # expected seconds of a check
        self.signature: dict[str, Any] = {}
        self.drawn, before, self.start = recorder.drawn, recorder.before, recorder.start
        self.fixed = recorder.fixed
        self.states: list[State] = []
        restored = self._settle_places(before, asked)
        self.inputs = [Placeholder(i, n.nbytes, pool) for i, n in enumerate(inputs)]
        for n, placeholder in zip(inputs, self.inputs, strict=True):
            n.buffer = placeholder
        dying = {id(old) for _, old in before} - {id(t.node) for t in outputs}
        self._compile(roots, dying, inputs, outputs)
        self.outputs = self._sources(outputs)
        self.carry = self._carry()
        self.assigned = {id(t) for t, _, _ in self.states}
        self.holds = {place.handle for _, place, _ in self.states}  # the buffers that the commands write
        for old, buffer in restored:
            old.buffer = buffer
        for t, place, _ in self.states:
            self._stay(t, place)

    def spare(self, before: list[ref[Node]]) -> None:
        """After the first play: copy the states' new values for other holders of their nodes."""
        left: list[tuple[Node, Any]] = []
        words: list[int] = []
        for (_, place, _), old in zip(self.states, before, strict=True):
            if (node := old()) is not None:
                left.append((node, self.device.pool.take(place.nbytes)))
                left[-1][1].doubt = place.doubt
                words += copy_command(place, left[-1][1])
        if words:
            submit(self.device, (), words)
        for node, buffer in left:
            node.buffer = buffer

    def __del__(self):
        if getattr(self, "uniform", 0):
            self.device.pool.end(self.uniform)

    def _sources(self, outputs: list[Tensor]) -> list[tuple[Any, bool, tuple[Any, ...], Any]]:
        """Return for each result its source in the commands, whether it fills that placeholder itself (an
        argument does so before, and a result that occurs twice), its shape and dtype."""
        seen: set[Any] = set(self.inputs)
        sources: list[tuple[Any, bool, Shape, Any]] = []
        for t in outputs:
            source = t.node.buffer
            sources.append((source, isinstance(source, Placeholder) and source not in seen, t.shape, t.dtype))
            seen.add(source)
        assert sum(fills for _, fills, _, _ in sources) == self.count - len(self.inputs)
        return sources

    def _settle_places(self, before: list[tuple[Tensor, Node]], asked: set[Node]) -> list[tuple[Node, Any]]:
        """Choose the buffer of each state: the buffer of the old value, or a copy if that value may be
        read later."""
        restored: list[tuple[Node, Any]] = []
        words: list[int] = []
        for t, old in before:
            place = value = old.buffer
            if old in asked or value.shared:
                restored.append((old, value))
                place = self.device.pool.take(old.nbytes)
                place.doubt = value.doubt
                words += copy_command(value, place)
            self.states.append(State(t, place, kind_of(t.node)))
        if words:
            submit(self.device, (), words)
        for (_, old), (_, place, _) in zip(before, self.states, strict=True):
            old.buffer = place
        return restored

    def _results(self, plan: Any, roots: list[Node], outputs: list[Tensor]) -> dict[int, Placeholder]:
        """Make a placeholder for each result that kernels may write directly into the caller's buffer, by
        the first value in its buffer."""
        _, _, first = lifetimes(plan)
        sizes, leaves = dict(plan.stored), set(plan.leaves)
        output_nodes = {id(t.node) for t in outputs}
        results: dict[int, Placeholder] = {}
        for n, value in zip(roots, plan.roots, strict=True):
            top: Any = first.get(value, value)
            if (
                id(n) in output_nodes
                and top not in leaves
                and sizes[top] == sizes[value]
                and top not in results
            ):
                # compare sizes: this root may be the first part of the value, and another root all of it
                results[top] = Placeholder(len(self.inputs) + len(results), sizes[value], self.pool)
        return results

    def _compile(self, roots: list[Node], dying: set[int], inputs: list[Node], outputs: list[Tensor]) -> None:
        compute_invariants(self.device, roots, self.start)
        order = toposort(roots)
        places = frozenset(i for i, n in enumerate(order) if id(n) in dying)
        with stage("key"):
            key = run.graph_key(roots, order, places)
        compiled = run.plan_for(self.device, roots, order, key, places).own(self.device)
        try:
            self._fill(compiled, order, inputs, roots, outputs, places)
        finally:
            compiled.is_running = False

    def _fill(
        self,
        compiled: Compiled,
        order: list[Node],
        inputs: list[Node],
        roots: list[Node],
        outputs: list[Tensor],
        places: frozenset[int],
    ) -> None:
        """Take over the buffers and Params of a plan's commands."""
        results = self._results(compiled.plan, roots, outputs)
        buffers = memory.allocate_planned(compiled, order, self.pool, results)
        run.give(roots, compiled.plan.roots, buffers)
        # it does not own the buffers of leaves and results, nor those of values written over them
        others = {id(buffers[v]) for v in (*compiled.plan.leaves, *results)}
        self.taken = list({id(b): b for b in buffers.values() if id(b) not in others}.values())
        patch_params(compiled.params, compiled.patches, order)
        self.words, self.params = list(compiled.words), array("I", compiled.params)
        self.checks = compiled.checks
        self.uniform = self.device.uniform(4 * len(self.params)) if self.params else 0
        for slot in compiled.uniform_slots:
            self.words[slot] = self.uniform
        draws = list({s: None for n in order for s in n.scalars if hasattr(s, "source")})
        self.draws = Draws(draws, self.drawn)
        # the words of each host number: many kernels read one learning rate
        patches: dict[tuple[Any, ...], list[int]] = {}
        for p in compiled.patches:
            source = order[p.node].scalars[0]
            if hasattr(source, "value") or hasattr(source, "words"):
                patches.setdefault((source, p.part, p.format), []).append(p.word)
        self.patches = list(patches.items())
        arguments = {id(n) for n in inputs}
        leaves = [order[i] for i in compiled.plan.leaves if i not in places]
        self._find_reads([n for n in leaves if id(n) not in arguments])
        self.count = len(self.inputs) + len(results)  # of placeholders
        costs = compiled.plan.costs
        is_short = len(costs) <= LIGHT_KERNELS
        self.submits = [(works, Submit(words, is_short)) for works, words in submits_of(compiled, self.words)]
        self.sent, self.is_compiled = b"", False
        self.seconds = gpu_seconds(costs, self.device.limits.machine)
        is_small = is_short and self.seconds <= LIGHT_SECONDS
        has_state = bool(self.states or self.patches or self.draws.of)
        self.is_light = is_small and not has_state and len(self.submits) == 1

    def _find_reads(self, leaves: list[Node]) -> None:
        """Find the values that the commands read: tensors from before the call, and the call's constants."""
        tensors = {id(t.node): t for t in self.watch.tensors}
        self.reads = [(tensors[id(n)], n.buffer) for n in leaves if id(n) in tensors]
        self.constants = [n for n in leaves if id(n) not in tensors]

    def _carry(self) -> list[int]:
        """Return the commands that copy the states' new values to their buffers, unless they are already
        there."""
        self.moved = [(t.node.buffer, place) for t, place, _ in self.states if t.node.buffer is not place]
        words: list[int] = []
        todo = list(self.moved)
        while todo:  # first move values out of places that are overwritten
            ready = next((i for i, m in enumerate(todo) if all(s is not m[1] for s, _ in todo)), None)
            if ready is None:  # a cycle of places: break it with a temporary buffer
                source, place = todo.pop()
                aside = self.pool.take(source.nbytes)
                words += copy_command(source, aside)
                todo.append((aside, place))
                self.moved.append((aside, place))
            else:
                words += copy_command(*todo.pop(ready))
        return words

    def _leaf(self, buffer: Any, shape: Shape, dtype: DType, param: Any = None) -> Node:
        node = Node(OPS["buffer"], (), {}, shape, dtype, self.device)
        node.buffer, node.param, node.requires_grad = buffer, param, param is not None
        return node

    def changed(self) -> str | None:
        """Return the name of a dependency that has changed; None if a replay equals a call."""
        for t, buffer in self.reads:
            if t.node.buffer is not buffer:
                return describe(t)
        for t, place, kind in self.states:
            if t.node.buffer is not place and kind_of(t.node) != kind:
                return describe(t)
        for t, node in self.fixed:
            if t.node is not node:
                return describe(t)
        for n in self.constants:
            if n.replaced:
                return "a tensor"
        return self.watch.changed()

    def assigns_to(self, tensors: list[Tensor]) -> bool:
        """Whether one of the arguments is a tensor that the call assigns to."""
        return not self.assigned.isdisjoint(map(id, tensors))

    def _settle_states(self, moves: Moves) -> None:
        """Before a replay: copy values assigned from outside to their places, and save old values that
        others hold."""
        pool, left = self.device.pool, moves.left
        for t, place, _ in self.states:
            buffer: Any = t.node.buffer
            if buffer is place and not left and getrefcount(t.node) <= HELD:
                continue
            if buffer is None:
                run.realize(t)
            buffer = moves.buffer_of(t.node)
            if buffer is not place:
                moves.leave(place.last(), place, pool)
                moves.words += copy_command(buffer, place)
                moves.stays.append((t, place, buffer.doubt))
            elif getrefcount(t.node) > HELD:
                moves.leave(t.node, place, pool)
                moves.stays.append((t, place, place.doubt))

    def move_states(self, moves: Moves) -> None:
        """Update nodes and tensors after the copies are submitted."""
        moves.drawn = []
        for old, buffer in moves.left.items():
            old.buffer, old.replaced = buffer, True
        for t, place, doubt in moves.stays:
            place.doubt = doubt
            self._stay(t, place)

    def _stay(self, t: Tensor, place: Any) -> None:
        """Record that the tensor's value is at its place."""
        t.node = self._leaf(place, t.shape, t.dtype, t.node.param)
        place.last = ref(t.node)

    def play(self, nodes: list[Node], moves: Moves) -> Any:
        """Run the commands on these arguments, with new buffers for the results."""
        device = self.device
        held, out, after, filled = self.bind(nodes, moves)
        # prepare everything that may fail before the first submit, so that no replay stops halfway
        submits = [(works, section.prepare(device, filled)) for works, section in self.submits]
        if after:
            works, parts = submits[-1]
            submits[-1] = works, [*parts, after]
        (works, parts), *rest = submits
        submit(device, works, *([moves.words, *parts] if moves.words else parts))
        if moves.stays or moves.drawn:
            self.move_states(moves)
        for works, parts in rest:
            submit(device, works, *parts)
        del held
        if device.faults:
            self.note_doubts(nodes, out)
        return self.rebuild(out)

    def begin(self, moves: Moves) -> None:
        """Draw random numbers, and copy states and host numbers to their buffers."""
        self.draws.renew(moves.drawn)
        self._settle_states(moves)
        if self.patches:
            self._put_numbers()

    def bind(
        self, nodes: list[Node], moves: Moves
    ) -> tuple[list[Any], list[Tensor], list[int], tuple[int, ...]]:
        """Return the objects that must live until the submit, the results, the final copies into them, and
        the handles for the placeholders."""
        placeholders = [0] * self.count
        held = self._take_in(nodes, placeholders, moves.words, moves.left)
        out, after = self._results_of(placeholders)
        if not self.is_compiled:
            self._await_kernels()
        if self.patches or not self.sent:
            self._send_params()
        filled = tuple(placeholders)
        if self.carry:
            after += fill(self.carry, filled)
        return held, out, after, filled

    def note_doubts(self, nodes: list[Node], out: list[Tensor]) -> None:
        """Find whether the results may depend on indices out of range (see `faults`)."""
        places = [place for _, place, _ in self.states]
        inputs = (*(n.buffer for n in (*nodes, *self.constants)), *(b for _, b in self.reads), *places)
        doubt = doubt_of(self.device, self.checks, inputs)
        for buffer in (*places, *(t.node.buffer for t in out)):
            buffer.doubt = doubt

    def _await_kernels(self) -> None:
        """Wait for the compilation of kernels, so that one that the driver rejects leaves the state
        unchanged."""
        if self.states:
            for command in dispatches(self.words):
                self.device.compiled(command.pipeline)
        self.is_compiled = True

    def _put_numbers(self) -> None:
        """Write the current host numbers into Params."""
        for (source, part, wgsl), places in self.patches:
            bits = word_of(part_of(source, part), wgsl)
            for slot in places:
                self.params[slot] = bits

    def _send_params(self) -> None:
        now = self.params.tobytes()
        if now != self.sent:
            self.sent = b""  # unknown if the write is interrupted
            with stage("write"):
                self.device.write(self.uniform, now)
            self.sent = now

    def _play_light(self, nodes: list[Node]) -> Any:
        """Replay a program without state: a failure has nothing to undo."""
        device, placeholders, words = self.device, [0] * self.count, list[int]()
        held = self._take_in(nodes, placeholders, words, {})
        out, after = self._results_of(placeholders)
        works, section = self.submits[0]
        parts = section.prepare(device, tuple(placeholders))
        if words or after:
            parts = [part for part in (words, *parts, after) if part]
        enqueue(device, works, self.seconds, *parts)
        del held
        if device.faults:
            self.note_doubts(nodes, out)
        return self.rebuild(out)

    def _take_in(
        self, nodes: list[Node], filled: list[int], words: list[int], left: dict[Node, Any]
    ) -> list[Any]:
        """Fill the arguments' placeholders, with copies (appended to `words`) of arguments that the
        commands must not read directly. Returns the copies. left: nodes whose values are moved first."""
        copies: list[Any] = []
        for i, n in enumerate(nodes):
            placeholder, buffer = self.inputs[i], left.get(n, n.buffer) if left else n.buffer
            if buffer.handle in self.holds:
                bound = placeholder.place or self.device.pool.take(placeholder.nbytes)
            else:
                bound = placeholder.buffer_for(buffer)
            if bound is not buffer:
                copies.append(bound)
                words += copy_command(buffer, bound)
            filled[i] = bound.handle
        return copies

    def _results_of(self, filled: list[int]) -> tuple[list[Tensor], list[int]]:
        """Make tensors for the results, and the copies into those that the commands do not write."""
        after: list[int] = []
        out: list[Tensor] = []
        for source, fills, shape, dtype in self.outputs:
            buffer = self.device.pool.take(source.nbytes)
            out.append(Tensor(self._leaf(buffer, shape, dtype)))
            if fills:
                bound = source.buffer_for(buffer)
                filled[~source.handle] = bound.handle
                if bound is buffer:
                    continue
            after += fill(copy_command(source, buffer), filled)
        return out, after

    def replay(self, nodes: list[Node]) -> Any:
        """Run the recorded commands on new inputs. The caller holds the device's lock, so that no other
        call changes draws, numbers or state meanwhile."""
        if self.is_light:
            return self._play_light(nodes)
        moves = Moves()
        with uninterrupted():
            self.is_playing = True
            try:
                self.begin(moves)
                result = self.play(nodes, moves)
            except BaseException:
                moves.undraw()
                raise
            finally:
                self.is_playing = False
            for t, _, _ in self.states:
                if t.link is not None:
                    update_views(t, t.node)
            return result

    def __len__(self) -> int:
        """The number of kernels of a replay."""
        return len(dispatches(self.words))


class SegmentedPlay:
    """A replay that is submitted in segments: `result` is the call's result, and iteration submits the next
    segment, outside of the device's lock, and yields the positions of the results that are complete then. All
    segments must be submitted: iterate to the end.

    segments: of the program's commands: the costs of the kernels, the commands, and the positions of results
    that they complete.
    """

    def __init__(self, program: Program, nodes: list[Node], segments: Sequence[Segment]):
        """The caller holds the device's lock and knows that the program fits. Nothing is submitted yet."""
        self.program, moves = program, Moves()
        with uninterrupted():
            program.is_playing = True
            try:
                program.begin(moves)
                self._held, self.out, after, filled = program.bind(nodes, moves)
                copies = self._copies(after, segments)
                self._rest = [
                    (s.works, [*s.submit.prepare(program.device, filled), *([c] if c else [])], s.ready)
                    for s, c in zip(segments, copies, strict=True)
                ]
                self._leading_words, self._moves, self._nodes = moves.words, moves, nodes
            except BaseException:
                moves.undraw()
                program.is_playing = False
                raise
        self.result = program.rebuild(self.out)

    def _copies(self, after: list[int], segments: Sequence[Segment]) -> list[list[int]]:
        """Split the copies by the segments that complete their sources: states come after the last one."""
        segment_of = {i: n for n, segment in enumerate(segments) for i in segment.ready}
        of_buffer = {t.node.buffer.handle: segment_of[i] for i, t in enumerate(self.out)}
        copies: list[list[int]] = [[] for _ in segments]
        for begin, end in commands(after):
            copies[of_buffer.get(after[begin + TO], -1)] += after[begin:end]
        return copies

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        try:
            while self._rest:
                yield self._submit()
        finally:
            while self._rest:  # no replay stops halfway
                self._submit()

    def _submit(self) -> tuple[int, ...]:
        """Submit the next segment."""
        program = self.program
        with program.device.lock, uninterrupted():
            (works, parts, ready), *self._rest = self._rest
            words, self._leading_words = self._leading_words, []
            submit(program.device, works, *([words, *parts] if words else parts))
            if self._moves.stays or self._moves.drawn:
                program.move_states(self._moves)
                self._moves = Moves()
            if not self._rest:
                self._end()
        return ready

    def _end(self) -> None:
        program, self._held = self.program, []
        program.is_playing = False
        if program.device.faults:
            program.note_doubts(self._nodes, self.out)
        for t, _, _ in program.states:
            if t.link is not None:
                update_views(t, t.node)


def gpu_seconds(costs: Sequence[Cost], machine: MachineSpeed) -> float:
    """Estimate the seconds that a GPU takes for kernels at least, by its speeds (see `MachineSpeed`)."""
    nbytes, multiply_adds = sum([c.nbytes for c in costs]), sum([c.flops for c in costs]) / 2
    picoseconds = max(nbytes * machine.byte, multiply_adds * machine.multiply_add / machine.cores)
    return len(costs) * START + picoseconds * 1e-12


def parts_of(result: Any) -> tuple[list[Tensor], Callable[[list[Tensor]], Any]]:
    """Return the tensors in nested containers (and Gradients), and a function that rebuilds these with
    others."""
    if isinstance(result, Tensor):
        return [result], itemgetter(0)
    flat: list[Tensor] = []
    makers: list[Callable[..., Any]] = []
    for leaf in leaves(result):
        mine, maker = _part(leaf)
        flat += mine
        makers.append(maker)
    frame = like(result, [None] * len(makers))  # it keeps no reference to the result

    def rebuild(tensors: list[Tensor]) -> Any:
        rest = iter(tensors)
        return like(frame, [maker(rest) for maker in makers])

    return flat, rebuild


def _part(leaf: Any) -> tuple[list[Tensor], Callable[..., Any]]:
    if isinstance(leaf, Tensor):
        return [leaf], next
    if isinstance(leaf, Gradients):
        keys = list(leaf.by_key)

        def gradients(rest: Iterator[Any]) -> Gradients:
            return Gradients({k: next(rest) for k in keys}, next(rest))

        return [*leaf, leaf.loss], gradients
    if not isinstance(leaf, int | float | str | None):
        rule = "a recorded function returns tensors (or tuples, lists or dicts of them)"
        raise TypeError(f"jit: {rule}, not {type(leaf)}")

    def same(rest: Iterator[Any]) -> Any:
        return leaf

    return [], same
