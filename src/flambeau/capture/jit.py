"""jit: records the first calls of a function, and replays them at later calls."""

import gc
import random
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import wraps
from math import inf
from operator import is_
from time import perf_counter
from typing import Any, NamedTuple, ParamSpec, TypeVar
from weakref import ref

from ..core.events import counted, stage
from ..core.garbage import paused
from ..core.interrupts import uninterrupted
from ..core.lru_cache import Recent
from ..core.modes import is_grad_enabled, settings
from ..core.node import Node
from ..core.op import OPS
from ..core.tree import Branch, leaves
from ..device import get_device
from ..device.memory import Pool
from ..device.protocol import Gpu
from ..ops.random import Generator
from ..runtime import run
from ..runtime.state import overhear, overhear_with, record_with, thread
from ..runtime.transfers import SEVERAL
from ..tensor import Tensor, tensor
from .bindings import Placeholder
from .check import difference, signature, undo
from .guards import DRAWS, Watch
from .observers import CodeThatRan, Listener
from .program import Moves, Program, parts_of
from .recorder import ASSIGNED, Recorder, held_nodes

PROGRAMS_KEPT = 16  # the most recordings of one function, by arguments
VARIANTS_KEPT = 4  # the most recordings of each, by other dependencies of the function
PATIENCE = 10.0  # seconds that a call waits for another thread's recording before it runs unrecorded
OTHERS = "another thread writes its inputs or reads its results at the same time: keep the threads apart"
BY_VALUE = frozenset([int, float, complex, str, bytes, bool, type(None)])
GRAPH = "gradients flow to inputs of its arguments: take gradients inside"
CHECKED = (2, 4, 8, 64, 1024, 10**6, 10**9)  # calls that are checked, if that is cheap enough then
CHECKS: dict[str, Callable[[int], float]] = {  # after call n: the next call to check
    "sometimes": lambda n: next((call for call in CHECKED if call > n), inf),
    "always": lambda n: n + 1,
    "never": lambda n: inf,
}
CHECKS_SHARE = 0.01  # share of the time since the first call that checks may take; others are postponed
# A recording examines each function that runs inside, a check does not: the first check should take this
# fraction of the recorded call (measured for ResNet-50's training step: a quarter to a tenth).
CHECK_SHARE = 0.2
TRIES = 3  # useless recordings in a row after which a function is no longer recorded
NONE: Any = object()  # a sentinel that no function returns
P = ParamSpec("P")
R = TypeVar("R")
_recording = threading.RLock()  # the lock held while a call is recorded


def jit(fn: Callable[P, R], *, check: str = "sometimes") -> Callable[P, R]:
    """Record the kernels of a call, and replay them at later calls without Python graphs, planning or
    rendering.

    Tensors and arrays among the arguments, also inside lists, tuples and dicts, may change from call to
    call; a new shape or dtype records again. Parameters and all other tensors from outside of the call are
    read and assigned in place: every replay updates parameters, optimiser state and random
    numbers as the function does. All other values that the function can reach are compared before every
    replay: other arguments, closures, globals, attributes, whether gradients flow. Put a number that
    changes into a tensor or a HostScalar. A function that can reach values that can't be compared (a
    file, an iterator), that reads a tensor's value, or that changes its own dependencies runs unrecorded,
    and a line on stderr says so. Results have no graph: compute gradients inside. On the CPU device the
    function simply runs.

    Calls 2, 4, 8, 64, 1,024 and 1,000,000 also run the function without a GPU and compare what it would
    compute with the recording; a line reports differences. Checks take at most 1 % of the time since the
    first call; others are postponed. `check` may be "always", for tests, or "never".

    fn: the function
    Raises ValueError if check is unknown.
    """
    if check not in CHECKS:
        raise ValueError(f"jit(check={check!r}): unknown: use one of {', '.join(map(repr, CHECKS))}")
    return _recorded(fn, Recordings(fn, check))


def jit_what_ran(fn: Callable[P, R]) -> Callable[P, R]:
    """jit, for functions of libraries: where a function can reach what can't be compared, one call notes
    which code runs, and later ones compare what this code reads. Code that did not run then is recorded anew.
    """
    return _recorded(fn, Recordings(fn, "sometimes", ran=CodeThatRan()))


def _recorded(fn: Callable[P, R], recordings: "Recordings") -> Callable[P, R]:
    @wraps(fn)
    def call(*args: P.args, **kw: P.kwargs) -> R:
        if thread.recorder is not None or thread.computing is not None:
            return fn(*args, **kw)
        return recordings.call(args, kw)

    call.programs = recordings.programs  # type: ignore[attr-defined]
    return call


class Recordings:
    """The recordings of one function, by arguments. quiet: do not report why a call can't be recorded. ran:
    notes which code runs, where all that the function can reach can't be compared."""

    is_unwatched = True  # other recordings call this object in place of the function

    def __init__(
        self,
        fn: Callable[..., Any],
        check: str,
        quiet: bool = False,
        kept: int = PROGRAMS_KEPT,
        ran: CodeThatRan | None = None,
    ):
        self.ran = ran
        self.fn, self.next, self.quiet, self.kept = fn, CHECKS[check], quiet, kept
        self.share = CHECKS_SHARE if check == "sometimes" else inf
        self.born = inf  # when the function was first recorded
        self.checking = 0.0  # seconds that checks took
        self.misses = 0  # checks with an outdated recording
        self.programs: Recent[Any, list[Program]] = Recent()  # by arguments, those used last at the end
        self.last: Program | None = None  # the last program that was recorded or replayed
        self.tries: dict[Any, int] = {}  # recordings in a row that were never replayed
        self.failures = 0  # calls in a row that were not recorded, for any arguments
        self.home: Any = None  # the GPU of a function without tensors as arguments, if it is not the default

    def call(self, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
        """Replay the recording for such arguments, or record the call, or just call the function."""
        arguments = Arguments(args, kw)
        key, tensors = arguments.key, arguments.tensors
        device = tensors[0].device if tensors else self.home or get_device()
        if device.kind == "cpu":
            return self.fn(*args, **kw) if tensors or self.home else self._find_home(args, kw)
        if self.tries and self._is_left_alone(key):
            with counted("plain"):
                return self.fn(*args, **kw) if tensors or self.home else self._find_home(args, kw)
        if arguments.has_graph:
            self._gave_up(key, TRIES, GRAPH)
            return self.fn(*args, **kw)
        arguments.nodes = [t.node for t in tensors]
        run.realize_nodes(arguments.nodes)
        with device.lock:
            program, why = self._find_program(key)
            out = NONE if program is None else self._replay(program, arguments)
        if out is not NONE:
            device.keep_pace()
            return out
        if program is not None:  # it may read an argument after assigning to it, or is in use
            return self.fn(*args, **kw)
        # two recordings at a time would each record the other's computations
        if not _recording.acquire(blocking=False):
            if not _recording.acquire(timeout=PATIENCE):  # it may wait for this very call
                return self.fn(*args, **kw)
            _recording.release()
            return self.call(args, kw)
        try:
            with counted("record"):
                return self._record(device, arguments, why)
        finally:
            _recording.release()

    def _find_home(self, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
        """Call the function, and note on which GPU it computes: later calls are recorded there.

        A function without arguments may compute with tensors of a GPU where the CPU is the default device.
        """
        before, thread.gpu = thread.gpu, None
        try:
            result = self.fn(*args, **kw)
            on_gpus = (x.device for x in leaves(result) if isinstance(x, Tensor) and x.device.kind == "gpu")
            self.home = thread.gpu or next(on_gpus, None)  # its results may not be computed yet
        finally:
            thread.gpu = thread.gpu or before
        return result

    def _replay(self, program: Program, arguments: "Arguments") -> Any:
        """Replay a program that fits, after a check if one is due. Returns NONE if the program assigns to
        an argument, or if a signal handler calls it within its own replay. The caller holds the device's
        lock."""
        if program.is_playing or (program.assigned and program.assigns_to(arguments.tensors)):
            return NONE
        program.calls += 1
        if program.calls >= program.due and self._can_afford(program):
            outcome = self._check_replay(arguments.key, program, arguments)
            if outcome is not None:
                return self._keep(arguments.key, outcome)
        with stage("replay"):
            return program.replay(arguments.nodes)

    def _can_afford(self, program: Program) -> bool:
        """Whether one more check stays within the share of time for checks."""
        return self.checking + program.check_cost <= self.share * (perf_counter() - self.born)

    def _record(self, device: Gpu, arguments: "Arguments", why: str | None) -> Any:
        """Call and record the function. why: the reason that the existing recordings do not fit."""
        key, args, kw = arguments.key, arguments.args, arguments.kw
        self.born = min(self.born, perf_counter())
        if why is not None and self._gave_up(key, 1, f"{why} changes from call to call: pass it as a tensor"):
            self.programs.pop(key, None)
            return self.fn(*args, **kw)
        return self._keep(key, record(self.fn, device, arguments, self.ran))

    def _keep(self, key: Any, outcome: "Outcome") -> Any:
        """Store a recording, or the reason for none, and return the result of its call."""
        variants, self.last = self.programs.pop(key, []), None
        if outcome.program is None:
            self._gave_up(key, TRIES if outcome.certain else 1, outcome.trouble)
            return outcome.result
        self.failures, outcome.program.due = 0, self.next(1)
        self.last = outcome.program
        self.programs.keep(key, [outcome.program, *variants[: VARIANTS_KEPT - 1]], self.kept)
        return outcome.result

    def _check_replay(self, key: Any, program: Program, arguments: "Arguments") -> "Outcome | None":
        """Run the function and compare it with the recording. If they agree, the run is undone; else its
        result is returned. The caller holds the device's lock.

        It does not listen to the code that runs inside, which takes ten times as long: after a difference
        the next call is recorded.
        """
        start, program.due = perf_counter(), self.next(program.calls)
        with paused():
            call = Call(self.fn, program.device, arguments, program.watch, hears=False)
            changed = call.trouble or difference(program.signature, call.signature())
            if not changed:
                with uninterrupted():
                    undo(call.recorder)
        if not changed:
            program.check_cost = perf_counter() - start
            self.checking += program.check_cost
            return None
        self.programs[key].remove(program)
        if call.trouble:
            return call.finish()
        self.misses += 1
        then = "later calls run unrecorded" if self.misses >= TRIES else "recorded again"
        line = (
            f"call {program.calls} shows that {changed} changed for a reason that the guards do"
            f" not watch: {then}"
        )
        print(f"flambeau: jit({self._name}): {line}", file=sys.stderr)
        if self.misses >= TRIES:
            self.failures = self.tries[key] = TRIES
        run.realize(*call.outputs)
        return Outcome(None, call.result, "", False)

    @property
    def _name(self) -> Any:
        return getattr(self.fn, "__name__", self.fn)

    def _find_program(self, key: Any) -> tuple[Program | None, str | None]:
        """Return the program for a call with such arguments in the current state, or the name of the
        value that has changed since it was recorded."""
        why = None
        for program in self.programs.get(key, ()):
            why = program.changed()
            if why is None:
                if self.tries:
                    self.tries.pop(key, None)
                if program is not self.last:
                    self._put_first(key, program)
                return program, None
        return None, why

    def _put_first(self, key: Any, program: Program) -> None:
        self.last = program
        variants = self.programs[key] = self.programs.pop(key)
        variants.remove(program)
        variants.insert(0, program)

    def _is_left_alone(self, key: Any) -> bool:
        return self.failures >= TRIES or self.tries.get(key, 0) >= TRIES

    def _gave_up(self, key: Any, more: int, why: str) -> bool:
        """Count a useless recording, and report when no further one will be tried."""
        self.tries[key] = self.tries.get(key, 0) + more
        self.failures += key not in self.programs
        if self._is_left_alone(key) and why and not self.quiet:
            print(f"flambeau: jit({self._name}): runs unrecorded: {why}", file=sys.stderr)
        return self._is_left_alone(key)


class Arguments:
    """The tensors among the arguments, the key that a recording must have to fit, and the other objects.

    Parameters count as objects: a recorded call reads and assigns them in place.
    """

    def __init__(self, args: tuple[Any, ...], kw: dict[str, Any]):
        self.tensors: list[Tensor] = []
        self.nodes: list[Node] = []  # nodes of the tensors, once they have values
        self.objects: list[Any] = []
        self.has_graph = False  # some tensor has a gradient graph
        self.args, self.kw = args, kw
        key: list[Any] = [*settings(), len(args)]
        self._walk(args, key)
        if kw:
            key.append(tuple(kw))
            self._walk(kw.values(), key)
        if self.has_graph:
            self.has_graph = is_grad_enabled()
            key.append(self.has_graph)
        self.key = tuple(key)

    def _walk(self, values: Iterable[Any], key: list[Any]) -> None:
        for value in values:
            kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType] - type of Any
            if _is_input(value):
                value = value if kind is Tensor else tensor(value)
                self.tensors.append(value)
                node = value.node
                if node.requires_grad:
                    self.has_graph = True
                key += (node.shape, node.dtype.short, (node.device or get_device()).name)
            elif kind is list or kind is tuple:
                key += (kind, len(value))
                self._walk(value, key)
            elif kind is dict:
                key += (kind, tuple(value))
                self._walk(value.values(), key)
            elif kind in BY_VALUE:  # -0.0 is not 0.0, and NaN is NaN
                key += (kind, value if value and value == value else str(value))
            elif isinstance(value, Branch):
                key += (kind, value.static())
                self._walk(value.parts(), key)
            else:
                self.objects.append(value)
                key.append(id(value))

    def lent(self, give: Callable[[], Tensor]) -> "Lent":
        """Replace the tensors of the arguments by those that `give` makes from them."""
        return Lent(self.args, self.kw, give)


class Lent:
    """Arguments for one call: other tensors, put into the caller's own lists and dicts until the call
    ends."""

    def __init__(self, args: tuple[Any, ...], kw: dict[str, Any], give: Callable[[], Tensor]):
        self._give = give
        self._owners: dict[int, Any] = {}  # id of a lent tensor -> the caller's tensor
        self._were: list[tuple[Any, tuple[Any, ...]]] = []  # lists and dicts, with their original contents
        self.args, self.kw = tuple(map(self._lend, args)), {k: self._lend(v) for k, v in kw.items()}

    def _lend(self, value: Any) -> Any:
        kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType] - type of Any
        if _is_input(value):
            mine = self._give()
            self._owners[id(mine)] = value
            return mine
        if kind is tuple:
            mine = tuple(map(self._lend, value))
            return value if all(map(is_, mine, value)) else mine
        if isinstance(value, Branch):
            return value.with_parts(list(map(self._lend, value.parts())))
        if kind is list or kind is dict:
            self._were.append((value, _content(value)))
            for k, v in _items(value):
                mine = self._lend(v)
                if mine is not v:
                    self._owners[id(mine)] = v
                    value[k] = mine
        return value

    def restore(self) -> bool:
        """Restore the caller's tensors. Returns whether lists and dicts are otherwise unchanged."""
        for container, _ in self._were:
            for k, v in _items(container):
                if id(v) in self._owners:
                    container[k] = self._owners[id(v)]
        same = all(len(now := _content(c)) == len(was) and all(map(is_, now, was)) for c, was in self._were)
        self._owners, self._were = {}, []
        return same


def _items(container: list[Any] | dict[Any, Any]) -> list[tuple[Any, Any]]:
    return list(container.items() if isinstance(container, dict) else enumerate(container))


def _content(container: list[Any] | dict[Any, Any]) -> tuple[Any, ...]:
    return (*container, *container.values()) if isinstance(container, dict) else tuple(container)


def _is_input(value: Any) -> bool:
    """Whether it is a plain tensor or array: not a parameter, and without attributes."""
    if type(value) is Tensor:
        return value.node.param is None and len(value.__dict__) == 1
    return not isinstance(value, Tensor) and hasattr(value, "__array__")


class Outcome(NamedTuple):
    """The outcome of a call: its recording, if any, its result, the reason for no recording, and whether
    the next call will fail in the same way."""

    program: Program | None
    result: Any
    trouble: str
    certain: bool


def record(
    fn: Callable[..., Any], device: Gpu, arguments: Arguments, ran: CodeThatRan | None = None
) -> Outcome:
    """Call a function and record it."""
    several = any(t.device is not device for t in arguments.tensors)
    codes = None if ran is None else ran.codes
    watch = None if several else Watch(fn, arguments.args, arguments.kw, arguments.objects, codes)
    if watch is None or watch.trouble:
        trouble = SEVERAL if watch is None else watch.trouble
        with ran if watch and ran else nullcontext():
            result = fn(*arguments.args, **arguments.kw)
        return Outcome(None, result, trouble, watch is None or ran is None)
    with overhear(), paused():
        call = Call(fn, device, arguments, watch, listed=True)
        if ran is not None and ran.codes is not None and call.listener is not None:
            ran.codes |= call.listener.unknown
        with device.lock:  # no thread computes or assigns while the program is built
            return call.finish()


class Call:
    """A call in a recorder: its result, its computations, and the reason if it can't be replayed.

    listed: other threads, which continue to run, report their assignments. hears: examine each function that
    runs inside, which makes the call ten times slower.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        device: Gpu,
        arguments: Arguments,
        watch: Watch,
        listed: bool = False,
        hears: bool = True,
    ):
        self.device, self.arguments, self.watch = device, arguments, watch
        self.pool = Pool(device, device.pool, exact=True)
        with device.lock:
            self.inputs = [_placeholder_node(n, device) for n in arguments.nodes]
        self.recorder = Recorder(device, watch.generators)
        if listed:
            overhear_with(self.recorder)
        self.listener, before = (
            Listener(watch.codes, watch.ran is not None) if hears else None,
            _random_states(),
        )
        self._run(fn)
        self.certain = bool(self.recorder.spoiled) and self.recorder.spoiled != ASSIGNED
        self.trouble = self.recorder.trouble or self._changes()
        if self.listener is not None:
            self.trouble = self.trouble or self.listener.trouble
        if before != _random_states() and not self.trouble:
            self.trouble, self.certain = DRAWS, True
        if not self.trouble:
            self.trouble = _recording_problem(device, self.recorder, self.outputs)
            self.certain = True

    def _run(self, fn: Callable[..., Any]) -> None:
        recorder, ours = self.recorder, list(map(Tensor, self.inputs))
        for inner, argument in zip(ours, self.arguments.tensors, strict=True):
            twins = recorder.twins.setdefault(id(argument), [argument])
            twins.append(inner)
            recorder.twins[id(inner)] = twins
        lent = self.arguments.lent(deque(ours).popleft)
        try:
            start = perf_counter()
            with record_with(recorder), recorder.drawn, self.listener or nullcontext():
                self.result = fn(*lent.args, **lent.kw)
            self.seconds = perf_counter() - start
            self.outputs, self.rebuild = parts_of(self.result)
        finally:
            recorder.twins = {}
            self.keeps_arguments = lent.restore()

    def _changes(self) -> str:
        name = self.watch.changed()
        if name is None and self.keeps_arguments:
            return ""
        return f"it changes {name or 'an argument'}: keep that in a tensor, or outside of it"

    def signature(self) -> dict[str, Any]:
        """Return the call's signature, which `check` compares."""
        self.roots = self.recorder.settle(self.outputs)
        return signature(self.recorder, self.watch, self.inputs, self.outputs, self.result, self.roots)

    def finish(self) -> Outcome:
        """Build a recording and play it for the result; without a recording, only compute the result."""
        for scalar in self.recorder.numbers:
            self.watch.number(scalar)
        if not self.trouble and self.recorder.is_disturbed(self.outputs):
            self.trouble, self.certain = OTHERS, False
        if not self.trouble:
            own_signature = self.signature()
            requested = self._asked_later()
            if requested.isdisjoint(self.inputs):
                with uninterrupted():  # a second Ctrl-C does not wait for the compilation of kernels
                    return self._build_program(own_signature, requested)
            self.trouble = "it stores an argument, or a value computed from one: return it instead"
        run.realize(*self.outputs)
        return Outcome(None, self.result, self.trouble, self.certain)

    def _asked_later(self) -> set[Node]:
        """Return the nodes that may be read later."""
        requested = held_nodes(self.roots, _own_references(self.recorder, self.inputs, self.outputs))
        if not requested.isdisjoint(self.inputs):
            gc.collect()  # frames of exceptions that the function caught hold references
            requested = held_nodes(self.roots, _own_references(self.recorder, self.inputs, self.outputs))
        return requested

    def _build_program(self, own_signature: dict[str, Any], asked: set[Node]) -> Outcome:
        parts, news = (self.outputs, self.rebuild), [ref(t.node) for t, _ in self.recorder.before]
        buffers = [(n, n.buffer) for n in (*self.inputs, *self.roots)]
        try:
            program = Program(self.recorder, self.watch, self.pool, self.inputs, self.roots, asked, parts)
            program.signature, program.check_cost = own_signature, CHECK_SHARE * self.seconds
            out = program.play(self.arguments.nodes, Moves())
        except BaseException:  # nothing is computed: the call changes nothing
            for n, buffer in buffers:
                n.buffer = buffer
            undo(self.recorder)
            raise
        del buffers
        for n in self.roots:
            run.release(n)
        states = {id(s.tensor) for s in program.states}
        for output, result in zip(self.outputs, parts_of(out)[0], strict=True):
            if isinstance(output.node.buffer, Placeholder):  # a holder of the node holds the value
                output.node.buffer = result.node.buffer
            if id(output) not in states:  # a holder of the node must not see the writes of replays
                output.node = result.node
        self.roots = []
        program.spare(news)
        return Outcome(program, out, "", False)


def _placeholder_node(argument: Node, device: Gpu) -> Node:
    """Make the node of an argument for the recording of its function."""
    node = Node(OPS["buffer"], (), {}, argument.shape, argument.dtype, device)
    node.buffer = argument.buffer
    node.buffer.shared = True  # if the recording fails, the function may keep the node
    return node


def _own_references(recorder: Recorder, inputs: list[Node], outputs: list[Tensor]) -> dict[int, int]:
    """Count our own references to nodes, by the node's id."""
    known = {id(n): 1 for n in (*inputs, *(old for _, old in recorder.before))}
    for t in {id(t): t for t in outputs}.values():
        known[id(t.node)] = known.get(id(t.node), 0) + 1
    return known


def _recording_problem(device: Gpu, recorder: Recorder, outputs: list[Tensor]) -> str:
    """Return the reason if the commands of one device are not the complete call."""
    moved = [old for _, old in recorder.before]
    if any((n.device or device) is not device for n in [*moved, *(t.node for t in outputs)]):
        return SEVERAL
    return "it assigns to two tensors that share a value: copy one" if len(set(moved)) < len(moved) else ""


def _random_states() -> tuple[Any, ...]:
    numpy = sys.modules.get("numpy")
    name, keys, *rest = numpy.random.get_state() if numpy is not None else ("", b"")
    return random.getstate(), name, bytes(keys), rest, Generator.seedings
