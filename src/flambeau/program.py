"""Programs: the commands of one recorded call, replayed without graphs, planning or rendering."""

import functools
from array import array
from sys import getrefcount
from typing import Any

from . import run
from .commands import COPY, DISPATCH
from .device import get_device
from .device.pool import Pool
from .node import Node, next_serial, toposort
from .op import OPS
from .pipeline import Compiled, word_of
from .stages import stage, submit
from .tensor import Tensor, tensor
from .work import Work

PROGRAMS_KEPT = 16
HELD_BY_US = (
    3  # references to a state's node when only its tensor holds it: the tensor, a local name, the question
)


class Recorder:
    """Listens to the runs of one call: collects their commands, and owns the memory that they use."""

    name, dry = "jit", False  # dry: nothing runs at all, on any device

    def __init__(self, device: Any):
        self.device, self.pool, self.paused = device, Pool(device, device.pool), False
        self.start = next_serial()
        self.words: list[int] = []
        self.works: tuple[Work, ...] = ()
        self.params = array("I")
        self.params_at: list[int] = []  # where in words the buffer of Params is named
        self.patches: list[tuple[int, Any, int, str]] = []
        self.reads: dict[int, Node] = {}  # nodes from before the call whose values it uses
        self.assigned: dict[int, tuple[Tensor, Node]] = {}

    def settle(self, device: Any, roots: list[Node], run_now) -> None:
        """Compute first what was made before the call: replaying must not make it again."""
        old = made_before(roots, self.start)
        if old:
            self.paused = True
            try:
                run_now(device, old)
            finally:
                self.paused = False
            roots[:] = [n for n in roots if n.buffer is None]

    def add(self, compiled: Compiled, order: list[Node]) -> None:
        """Take a run's commands over, with a place of its own for its Params."""
        shift, base = 4 * len(self.params), len(self.params)
        at = len(self.words)
        self.words += compiled.words
        for place in compiled.uniform_slots:
            self.params_at.append(at + place)
            self.words[at + place + 1] += shift
        self.params.extend(compiled.params)
        for p in compiled.patches:
            source = order[p.node].scalars[0]
            if hasattr(source, "value") or hasattr(source, "renew"):
                self.patches.append((base + p.word, source, p.part, p.format))
        self.works += compiled.works
        self.reads |= {id(order[i]): order[i] for i in compiled.plan.leaves}

    def note(self, t: Tensor, old: Node) -> None:
        """A tensor is assigned to: after every replay its new value must be where the old one was."""
        if id(t) not in self.assigned:
            self.assigned[id(t)] = (t, old)


def made_before(roots: list[Node], start: int) -> list[Node]:
    """The nodes below serial number `start`, without their values, that the graph is built on."""
    old: dict[int, Node] = {}
    for n in toposort(roots):
        if n.serial < start:
            continue
        for x in n.inputs:
            if x.buffer is None and x.serial < start and not _is_constant(x):
                old[id(x)] = x
    old |= {id(n): n for n in roots if n.serial < start and n.buffer is None}
    return list(old.values())


def _is_constant(n: Node) -> bool:
    if n.op.kind == "movement":
        return _is_constant(n.inputs[0])
    return n.op.name in ("constant", "iota")


class Program:
    """One recorded call: its inputs' places, its commands, the state that it carries on and its results."""

    def __init__(self, recorder: Recorder, inputs: list[Any], outputs: list[Tensor], rebuild):
        self.device, self.pool, self.inputs, self.rebuild = recorder.device, recorder.pool, inputs, rebuild
        self.params, self.patches, self.works = recorder.params, recorder.patches, recorder.works
        self.outputs = [(t.node.buffer, t.shape, t.dtype) for t in outputs]
        self.reads, self.words = dict(recorder.reads), recorder.words
        self.states: list[tuple[Tensor, Any]] = []
        self.carry = self._carry(recorder)
        self.words += self.carry
        draws = {id(s): s for _, s, _, _ in self.patches if hasattr(s, "renew")}
        self.draws = sorted(draws.values(), key=lambda d: (d.words[3], d.words[2]))
        self.uniform = self.device.uniform(4 * len(self.params)) if self.params else 0
        for place in recorder.params_at:
            self.words[place] = self.uniform
        self.sent, self.prepared = b"", None

    def __del__(self):
        if getattr(self, "uniform", 0):
            self.device.free(self.uniform)

    def _carry(self, recorder: Recorder) -> list[int]:
        """Give assigned tensors places of the program's own; copies there end every replay."""
        moves, places = [], {}
        # not the recording's: what is free there is written by the commands
        self.state_pool = Pool(self.device, self.device.pool)
        for t, old in recorder.assigned.values():
            if old.serial >= recorder.start or old.buffer is None:
                continue  # made inside the call: nothing to carry on
            place = places[old.buffer.handle] = self.state_pool.take(old.buffer.nbytes)
            self.reads.pop(id(old), None)
            moves.append((t.node.buffer, place))
            self.states.append((t, place))
            t.node = self._leaf(place, t.shape, t.dtype, t.node.param)
        self._rename({h: b.handle for h, b in places.items()})
        return [w for a, b in moves for w in (COPY, a.handle, b.handle, _whole(b.nbytes))]

    def _leaf(self, buffer: Any, shape, dtype, param=None) -> Node:
        node = Node(OPS["buffer"], (), {}, shape, dtype, self.device)
        node.buffer, node.param, node.requires_grad = buffer, param, param is not None
        return node

    def _rename(self, handles: dict[int, int]) -> None:
        """Let the commands use the program's places for its state."""
        words, i = self.words, 0
        while i < len(words):
            end = i + 8 + words[i + 7]
            for j in range(i + 8, end):
                words[j] = handles.get(words[j], words[j])
            i = end

    def is_current(self) -> bool:
        """Whether everything that the call read, but does not carry on itself, still is its tensor's
        value."""
        return not any(n.replaced for n in self.reads.values())

    def _settle_states(self) -> list[int]:
        """Before a replay: take in values assigned from outside, and leave the old value to whoever holds
        its node."""
        words: list[int] = []
        for t, place in self.states:
            if t.node.buffer is None:
                run.realize(t)
            node: Any = t.node
            if node.buffer is not place:
                words += (COPY, node.buffer.handle, place.handle, _whole(place.nbytes))
            elif getrefcount(node) > HELD_BY_US:
                node.buffer = self.device.pool.take(place.nbytes)
                words += (COPY, place.handle, node.buffer.handle, _whole(place.nbytes))
            else:
                continue
            t.node = self._leaf(place, t.shape, t.dtype, node.param)
        return words

    def results(self, *parts) -> Any:
        """Run the commands, with the results copied to buffers of their own."""
        out, words = [], []
        for source, shape, dtype in self.outputs:
            node = self._leaf(self.device.pool.take(source.nbytes), shape, dtype)
            if source.nbytes:
                words += (COPY, source.handle, node.buffer.handle, _whole(source.nbytes))
            out.append(Tensor(node))
        submit(self.device, self.works, *parts, words)
        return self.rebuild(out)

    def replay(self, given: list[Tensor]) -> Any:
        """Run the recorded commands on new inputs."""
        words = self._settle_states()
        for t, place in zip(given, self.inputs, strict=True):
            words += (COPY, t.node.buffer.handle, place.handle, _whole(place.nbytes))
        for draw in self.draws:
            draw.renew()
        params = self.params
        for word, source, part, wgsl in self.patches:
            value = source.words[part] if hasattr(source, "renew") else source.value
            params[word] = word_of(value, wgsl)
        now = params.tobytes()
        with self.device.lock:
            if now != self.sent and self.params:
                with stage("write"):
                    self.device.write(self.uniform, now)
                self.sent = now
            if self.prepared is None:
                self.prepared = self.device.prepare(self.words)
            return self.results(words, self.prepared)

    def __len__(self) -> int:
        """How many kernels a replay runs."""
        words, i, n = self.words, 0, 0
        while i < len(words):
            n += words[i] == DISPATCH
            i += 8 + words[i + 7] if words[i] == DISPATCH else 4
        return n


def _whole(nbytes: int) -> int:
    return -(-nbytes // 4) * 4


def jit(fn):
    """Record the kernels of a call and replay them after: no Python graph, planning or rendering in the loop.

    Tensors (and arrays) among the arguments may change from call to call; a new shape or dtype records
    anew. Other
    arguments are compared by value: pass a changing number as a tensor, or hold it in a HostScalar.
    Parameters,
    optimiser state and random numbers move on at every replay as they do in the function. A value can't be
    read
    inside. On the CPU device the function simply runs.
    """
    programs: dict[Any, Program] = {}

    @functools.wraps(fn)
    def call(*args, **kw):
        if getattr(run._local, "recorder", None) is not None:
            return fn(*args, **kw)
        given, key = _arguments(args, kw)
        device = next((t.device for t in given), None) or get_device()
        if device.kind == "cpu":
            return fn(*args, **kw)
        run.realize(*given)
        program = programs.pop(key, None)
        if program is not None and program.is_current():
            programs[key] = program
            with stage("replay"):
                return program.replay(given)
        programs[key], out = _record(fn, device, given, args, kw)
        if len(programs) > PROGRAMS_KEPT:
            programs.pop(next(iter(programs)))
        return out

    call.programs = programs  # type: ignore[attr-defined]
    return call


def _arguments(args, kw) -> tuple[list[Tensor], tuple]:
    """The tensors among the arguments, and what has to be equal for a recording to serve."""
    given, key = [], []
    for name, value in [*enumerate(args), *sorted(kw.items())]:
        if isinstance(value, Tensor) or hasattr(value, "__array__"):
            value = value if isinstance(value, Tensor) else tensor(value)
            given.append(value)
            key.append((name, value.shape, value.dtype.short, value.device.name))
        else:
            key.append((name, value if isinstance(value, int | float | str | bool | None) else id(value)))
    return given, tuple(key)


def _record(fn, device: Any, given: list[Tensor], args, kw) -> tuple[Program, Any]:
    recorder = Recorder(device)
    places, words, stand_ins = [], [], []
    for t in given:
        node = Node(OPS["buffer"], (), {}, t.shape, t.dtype, device)
        node.buffer = recorder.pool.take(node.nbytes)
        words += (COPY, t.node.buffer.handle, node.buffer.handle, _whole(node.nbytes))
        places.append(node.buffer)
        stand_ins.append(Tensor(node))
    if words:
        submit(device, (), words)
    rest = iter(stand_ins)
    swap = [next(rest) if isinstance(a, Tensor) or hasattr(a, "__array__") else a for a in args]
    swap_kw = {
        k: next(rest) if isinstance(v, Tensor) or hasattr(v, "__array__") else v
        for k, v in sorted(kw.items())
    }
    run._local.recorder = recorder
    try:
        result = fn(*swap, **swap_kw)
        outputs, rebuild = _flatten(result)
        run.realize(*outputs)
    finally:
        run._local.recorder = None
    program = Program(recorder, places, outputs, rebuild)
    return program, program.results(program.carry)


def _flatten(result: Any):
    """The tensors in a result (a tensor, None, or a tuple, list or dict of them), and how to put others
    in."""
    if isinstance(result, Tensor):
        return [result], lambda out: out[0]
    if result is None:
        return [], lambda out: None
    if isinstance(result, dict):
        return list(result.values()), lambda out: dict(zip(result, out, strict=True))
    if isinstance(result, tuple | list) and all(isinstance(t, Tensor) for t in result):
        kind = type(result)
        return list(result), kind
    raise TypeError(
        f"jit: a recorded function returns tensors (or a tuple, list or dict of them), not {type(result)}"
    )
