"""jit: a function becomes one that is recorded at its first calls and replayed at later ones."""

import gc
import random
import sys
from collections import deque
from collections.abc import Callable, Iterable
from functools import wraps
from operator import is_
from typing import Any

from . import run
from .device import get_device
from .device.pool import Pool
from .gradmode import is_grad_enabled, settings
from .holes import Hole
from .listen import Listener
from .node import Node
from .op import OPS
from .ops.random import Generator
from .program import Program, parts_of
from .recorder import ASSIGNED, Recorder, held
from .stages import stage
from .tensor import Tensor, tensor
from .watch import DRAWS, Watch

PROGRAMS_KEPT = 16  # of one function, by arguments
VARIANTS_KEPT = 4  # of each, by what else the function depends on
SEVERAL = "it computes on several devices: record the parts on each"
BY_VALUE = frozenset([int, float, complex, str, bytes, bool, type(None)])
GRAPH = "gradients flow to what its arguments are made of: take gradients inside"
TRIES = 3  # recordings in a row that were of no use, before a function is left alone


def jit(fn: Callable) -> Callable:
    """Record the kernels of a call and replay them after: no Python graph, planning or rendering in the loop.

    Tensors and arrays among the arguments, also inside lists, tuples and dicts, may change from call to call;
    a new shape or dtype records anew. Parameters among them, and all that the function finds elsewhere, are
    read and assigned to where they are: parameters, optimiser state and random numbers move on at every
    replay as they do in the function. What else it depends on is compared before every replay: other
    arguments, closures, globals, attributes, whether gradients flow. A number that changes belongs in a
    tensor or a HostScalar. A function that reads a value, or changes what it depends on, runs unrecorded, and
    a line says so. Results have no graph: take gradients inside. On the CPU device the function simply runs.
    """
    recordings = Recordings(fn)

    @wraps(fn)
    def call(*args, **kw):
        if run._local.recorder is not None:
            return fn(*args, **kw)
        return recordings.call(args, kw)

    call.programs = recordings.programs  # type: ignore[attr-defined]
    return call


class Recordings:
    """What is kept of one function."""

    def __init__(self, fn: Callable):
        self.fn = fn
        self.programs: dict[Any, list[Program]] = {}  # by arguments, those used last at the end
        self.last: Program | None = None  # recorded or replayed: it stands at its place
        self.tries: dict[Any, int] = {}  # recordings in a row that were never replayed
        self.failures = 0  # calls in a row that were not recorded, of whatever arguments

    def call(self, args: tuple, kw: dict[str, Any]) -> Any:
        """Replay what was recorded for arguments like these, or record it, or just call the function."""
        arguments = Arguments(args, kw)
        key, given = arguments.key, arguments.tensors
        device = given[0].device if given else get_device()
        if device.kind == "cpu" or (self.tries and self._is_left_alone(key)):
            return self.fn(*args, **kw)
        if arguments.has_graph:
            self._gave_up(key, TRIES, GRAPH)
            return self.fn(*args, **kw)
        run.realize(*given)
        program, why = self._serving(key)
        if program is not None:
            if program.assigns_to(given):  # it reads its argument after that, perhaps
                return self.fn(*args, **kw)
            with stage("replay"):
                return program.replay(given)
        variants, self.last = self.programs.pop(key, []), None
        if why is not None and self._gave_up(key, 1, f"{why} changes from call to call: pass it as a tensor"):
            return self.fn(*args, **kw)
        program, out, trouble, certain = record(self.fn, device, arguments)
        if program is None:
            self._gave_up(key, TRIES if certain else 1, trouble)
            return out
        self.failures = 0
        self.last, self.programs[key] = program, [program, *variants[: VARIANTS_KEPT - 1]]
        if len(self.programs) > PROGRAMS_KEPT:
            self.programs.pop(next(iter(self.programs)))
        return out

    def _serving(self, key: Any) -> tuple[Program | None, str | None]:
        """The program that does what a call with such arguments does now; else what has changed, if any was
        recorded."""
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
        """Count a recording that was of no use; say so where there will be no other."""
        self.tries[key] = self.tries.get(key, 0) + more
        self.failures += key not in self.programs
        if self._is_left_alone(key):
            name = getattr(self.fn, "__name__", self.fn)
            print(f"flambeau: jit({name}): runs unrecorded: {why}", file=sys.stderr)
            return True
        return False


class Arguments:
    """The tensors among the arguments, what has to be equal for a recording to serve, and the other objects.

    Parameters count as objects: a recorded call reads and assigns to them where they are.
    """

    def __init__(self, args: tuple, kw: dict[str, Any]):
        self.tensors: list[Tensor] = []
        self.objects: list[Any] = []
        self.has_graph = False  # gradients are taken of what some tensor is made of
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

    def _walk(self, values: Iterable, key: list) -> None:
        for value in values:
            kind = type(value)
            if _is_input(value):
                value = value if isinstance(value, Tensor) else tensor(value)
                self.tensors.append(value)
                node = value.node
                self.has_graph |= node.requires_grad
                key += (node.shape, node.dtype.short, value.device.name)
            elif kind is list or kind is tuple:
                key += (kind, len(value))
                self._walk(value, key)
            elif kind is dict:
                key += (kind, tuple(value))
                self._walk(value.values(), key)
            elif kind in BY_VALUE:  # -0.0 is not 0.0, and NaN is NaN
                key += (kind, value if value and value == value else str(value))
            else:
                self.objects.append(value)
                key.append(id(value))

    def lent(self, give: Callable[[], Tensor]) -> "Lent":
        """The arguments with the tensors that `give` makes in the places of these."""
        return Lent(self.args, self.kw, give)


class Lent:
    """Arguments for one call: other tensors, in the caller's own lists and dicts until it is over."""

    def __init__(self, args: tuple, kw: dict[str, Any], give: Callable[[], Tensor]):
        self._give = give
        self._owners: dict[int, Any] = {}  # of what was lent, by its id: what it stands for
        self._were: list[tuple[Any, tuple]] = []  # lists and dicts, and what they held
        self.args, self.kw = tuple(map(self._lend, args)), {k: self._lend(v) for k, v in kw.items()}

    def _lend(self, value: Any) -> Any:
        kind = type(value)
        if _is_input(value):
            mine = self._give()
            self._owners[id(mine)] = value
            return mine
        if kind is tuple:
            mine = tuple(map(self._lend, value))
            return value if all(map(is_, mine, value)) else mine
        if kind is list or kind is dict:
            self._were.append((value, _content(value)))
            for k, v in _items(value):
                mine = self._lend(v)
                if mine is not v:
                    self._owners[id(mine)] = v
                    value[k] = mine
        return value

    def restore(self) -> bool:
        """Put the caller's own back; whether nothing else has changed in lists and dicts."""
        for container, _ in self._were:
            for k, v in _items(container):
                if id(v) in self._owners:
                    container[k] = self._owners[id(v)]
        same = all(len(now := _content(c)) == len(was) and all(map(is_, now, was)) for c, was in self._were)
        self._owners, self._were = {}, []
        return same


def _items(container: Any) -> list[tuple[Any, Any]]:
    return list(container.items() if isinstance(container, dict) else enumerate(container))


def _content(container: Any) -> tuple:
    return (*container, *container.values()) if isinstance(container, dict) else tuple(container)


def _is_input(value: Any) -> bool:
    """Whether it is a tensor or an array, and nothing more: no parameter, and without attributes."""
    if type(value) is Tensor:
        return value.node.param is None and len(value.__dict__) == 1
    return not isinstance(value, Tensor) and hasattr(value, "__array__")


def record(fn: Callable, device: Any, arguments: Arguments) -> tuple[Program | None, Any, str, bool]:
    """Call a function and keep what it does: (program, result, "", False).

    (None, result, why, whether that will be so next time too) where it can't be replayed.
    """
    several = any(t.device is not device for t in arguments.tensors)
    watch = None if several else Watch(fn, arguments.args, arguments.kw, arguments.objects)
    if watch is None or watch.trouble:
        return None, fn(*arguments.args, **arguments.kw), SEVERAL if watch is None else watch.trouble, True
    call = Call(fn, device, arguments, watch)
    if not call.trouble:
        program, out = call.program()
        if program is not None:
            return program, out, "", False
    run.realize(*call.outputs)
    return None, call.result, call.trouble, call.certain


class Call:
    """A call that was listened to: its result, what it computes, and why it can't be replayed, if so."""

    def __init__(self, fn: Callable, device: Any, arguments: Arguments, watch: Watch):
        self.device, self.arguments, self.watch = device, arguments, watch
        self.pool = Pool(device, device.pool, exact=True)
        self.inputs = [_standing(t.node, device) for t in arguments.tensors]
        self.recorder = Recorder(device, watch.generators)
        self.listener, before = Listener(watch.codes), _random_states()
        self._run(fn)
        self.certain = bool(self.recorder.spoiled) and self.recorder.spoiled != ASSIGNED
        self.trouble = self.recorder.spoiled or self._changes() or self.listener.trouble
        if before != _random_states() and not self.trouble:
            self.trouble, self.certain = DRAWS, True
        if not self.trouble:
            self.trouble = _mixed(device, self.recorder, self.outputs)
            self.certain = True

    def _run(self, fn: Callable) -> None:
        recorder, ours = self.recorder, list(map(Tensor, self.inputs))
        for mine, theirs in zip(ours, self.arguments.tensors, strict=True):
            twins = recorder.twins.setdefault(id(theirs), [theirs])
            twins.append(mine)
            recorder.twins[id(mine)] = twins
        lent = self.arguments.lent(deque(ours).popleft)
        run._local.recorder = recorder
        try:
            with self.listener:
                self.result = fn(*lent.args, **lent.kw)
            self.outputs, self.rebuild = parts_of(self.result)
        finally:
            run._local.recorder = None
            recorder.twins = {}
            self.keeps_arguments = lent.restore()

    def _changes(self) -> str:
        name = self.watch.changed()
        if name is None and self.keeps_arguments:
            return ""
        return f"it changes {name or 'an argument'}: keep that in a tensor, or outside of it"

    def program(self) -> tuple[Program | None, Any]:
        """What replays the call, and the call's result by its first play; None where that can't be."""
        recorder, inputs, outputs = self.recorder, self.inputs, self.outputs
        for scalar in recorder.numbers:
            self.watch.number(scalar)
        roots = recorder.settle(outputs)
        asked = held(roots, _known(recorder, inputs, outputs))
        if not asked.isdisjoint(inputs):
            gc.collect()  # frames of errors that the function caught hold what it held
            asked = held(roots, _known(recorder, inputs, outputs))
        if not asked.isdisjoint(inputs):
            self.trouble = "it keeps an argument, or what is made of one: return it"
            return None, None
        parts = outputs, self.rebuild
        program = Program(recorder, self.watch, self.pool, inputs, roots, asked, parts)
        out = program.play(self.arguments.tensors, [])
        states = {id(s.tensor) for s in program.states}
        for mine, theirs in zip(outputs, parts_of(out)[0], strict=True):
            if isinstance(mine.node.buffer, Hole):  # whoever holds the node holds the value
                mine.node.buffer = theirs.node.buffer
            if id(mine) not in states:  # whoever holds it must not see what replays write
                mine.node = theirs.node
        return program, out


def _standing(given: Node, device: Any) -> Node:
    """A node that stands for an argument while its function is recorded."""
    node = Node(OPS["buffer"], (), {}, given.shape, given.dtype, device)
    node.buffer = given.buffer
    node.buffer.shared = True  # a function that is not recorded after all may keep it
    return node


def _known(recorder: Recorder, inputs: list[Node], outputs: list[Tensor]) -> dict[int, int]:
    """The references that we hold ourselves, by id of the node."""
    known = {id(n): 1 for n in (*inputs, *(old for _, old in recorder.before))}
    for t in {id(t): t for t in outputs}.values():
        known[id(t.node)] = known.get(id(t.node), 0) + 1
    return known


def _mixed(device: Any, recorder: Recorder, outputs: list[Tensor]) -> str:
    """Why a recording of one device's commands is not all that the call does."""
    moved = [old for _, old in recorder.before]
    if any((n.device or device) is not device for n in [*moved, *(t.node for t in outputs)]):
        return SEVERAL
    return "it assigns to two tensors of one value: copy one" if len(set(moved)) < len(moved) else ""


def _random_states() -> tuple:
    numpy = sys.modules.get("numpy")
    name, keys, *rest = numpy.random.get_state() if numpy is not None else ("", b"")
    return random.getstate(), name, bytes(keys), rest, Generator.seedings
