"""Loads a saved program as a function of tensors on a GPU."""

import json
import os
from array import array
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ..core.commands import Dispatch, copy_command
from ..core.dtype import SHORT
from ..core.events import emit, has_listener, submit
from ..core.faults import DECLARED, doubt_of
from ..core.files import read
from ..core.lru_cache import Recent
from ..core.node import Node, describe
from ..core.op import OPS
from ..core.tree import is_dict, is_mapping
from ..device import DeviceLike, get_device
from ..device.memory import Pool
from ..device.protocol import Device, Gpu
from ..errors import DeviceError, FlambeauError, suggest
from ..fusion.plan import Cost
from ..io.safetensors import load_tensors
from ..ops.random import generator
from ..runtime import run
from ..runtime.pipeline import PARAMS_ALIGN
from ..runtime.state import thread
from ..tensor import Tensor, tensor
from .check import LARGEST, Damaged, check
from .fit import value_of
from .inputs import Spec
from .save import FORMAT, KERNELS, MARK, PROGRAM, VERSION, WEIGHTS

LARGEST_STATE = 1 << 32  # bytes
SIZES_KEPT = 8  # batch sizes whose buffers and commands stay in memory


def load_program(folder: str | os.PathLike[str], device: DeviceLike | None = None) -> "SavedProgram":
    """Load the program in a folder of save_program, to call it with tensors or arrays.

    folder: its path; or a dict with the bytes of program.txt, kernels.wgsl and weights.safetensors by these
    names, for web pages. FlambeauError for a file that is missing, damaged or of another version; DeviceError
    without an adapter.
    """
    return SavedProgram(folder if is_mapping(folder) else Path(folder), get_device(device))


class SavedProgram:
    """A loaded program: a function of its inputs, which are passed in order or by name.

    `inputs` describes them, `batch` is the range of batch sizes. The result has the form of the original
    function's: a tensor, or a list or dict of tensors. It has no gradients. State, if it was saved with any,
    stays on the device from call to call; each loaded program has its own.
    """

    def __init__(self, source: Path | Mapping[str, Any], device: Device):
        location = "{...}" if isinstance(source, Mapping) else repr(str(source))
        self._source, self._call = source, f"load_program({location})"
        if device.kind != "gpu":
            self._fail(
                f"{device} runs no kernels: install a driver (flambeau doctor says which)", DeviceError
            )
        self.device = device
        self._program = self._read()
        texts = self._texts()
        self.inputs = [Spec(i["name"], SHORT[i["dtype"]], tuple(i["shape"])) for i in self._program["inputs"]]
        self.outputs = [(o["name"], SHORT[o["dtype"]]) for o in self._program["outputs"]]
        self.batch: tuple[int, int] = tuple(self._program["batch"])
        kernels = self._program["kernels"]
        expected = [(w["name"], SHORT[w["dtype"]], tuple(w["shape"])) for w in self._program["weights"]]
        self.plans = self._program["plans"]["software" if device.limits.software else "gpu"]
        #: the batch sizes that calls may have
        self.batches = [n for n, plan in enumerate(self.plans["plan_of"], self.batch[0]) if plan is not None]
        if len(texts) != len(kernels):
            problem = f"{PROGRAM} has {len(kernels)} kernels, {KERNELS} {len(texts)}"
            self._fail(f"{problem}: the files belong to different programs: save the program again")
        self.kernels = [(k["name"], text) for k, (_, text) in zip(kernels, texts, strict=True)]
        self.lines = [line for line, _ in texts]
        self.weights = self._load_weights(expected)
        self.states = self._states_of_program()
        self.reset()
        self._ready: Recent[int, _Ready] = Recent()  # by batch size

    def __repr__(self) -> str:
        return f"SavedProgram({', '.join(f'{i.name}={i}' for i in self.inputs)})"

    # --- files ---

    def _fail(self, rule: str, kind: type[Exception] = FlambeauError) -> NoReturn:
        raise kind(f"{self._call}: {rule}")

    def _bytes(self, name: str) -> Any:
        if isinstance(self._source, Mapping):
            return self._bytes_in(self._source, name)
        try:
            return read(self._source / name)
        except FileNotFoundError:
            self._fail(f"{name} is missing: pass a complete folder written by save_program")
        except OSError as e:
            self._fail(f"{name} can't be read: {e.strerror or e}")

    def _bytes_in(self, files: Mapping[str, Any], name: str) -> Any:
        if name not in files:
            self._fail(f"{name!r} is missing: pass the bytes of {PROGRAM}, {KERNELS} and {WEIGHTS}")
        try:
            return memoryview(files[name]).cast("B")
        except TypeError:
            self._fail(f"{name!r} is of type {type(files[name]).__name__}: pass the file's bytes", TypeError)

    def _text(self, name: str) -> str:
        try:
            return str(self._bytes(name), "utf-8")
        except UnicodeDecodeError as e:
            self._fail(f"{name} can't be read: {e}")

    def _read(self) -> dict[str, Any]:
        try:
            program = json.loads(self._text(PROGRAM))
        except (ValueError, RecursionError) as e:
            self._fail(f"{PROGRAM} is not JSON ({e}): save the program again")
        if not is_dict(program) or program.get("format") != FORMAT:
            self._fail(f"{PROGRAM} is not a saved program: pass a folder written by save_program")
        version = program.get("version")
        if version != VERSION:
            rule = f"{PROGRAM} has format version {version}, and this flambeau reads version {VERSION}"
            self._fail(
                f"{rule}: save the program again with this flambeau, or load it with the version"
                " that saved it"
            )
        try:
            check(program)
        except Damaged as e:
            self._fail(f"{PROGRAM} is damaged ({e}): save the program again")
        return program

    def _texts(self) -> list[tuple[int, str]]:
        """Return the kernels' WGSL in order, each with the number of its first line in the file."""
        # The lines serve error messages and the profiler, which refer to kernels.wgsl.
        head, *parts = self._text(KERNELS).split(f"{MARK} ")
        line = head.count("\n") + 2
        sections: list[tuple[int, str]] = []
        for part in parts:
            sections.append((line, part.partition("\n")[2]))
            line += part.count("\n")
        return sections

    def _load_weights(self, expected: list[Any]) -> list[Any]:
        weights = load_tensors(self._bytes(WEIGHTS), self.device, f"{self._call}: {WEIGHTS}")
        wrong: list[str] = []
        for name, dtype, shape in expected:
            t = weights.get(name)
            if t is None or (t.dtype, t.shape) != (dtype, shape):
                has = "missing" if t is None else describe(t)
                wrong.append(f"{name!r} is {has}, not {dtype.short}{list(shape)}")
        if wrong:
            self._fail(f"{WEIGHTS} belongs to another model: {'; '.join(wrong)}: save the program again")
        tensors = [weights[name] for name, _, _ in expected]
        nodes = [t.node for t in tensors]
        run.realize_nodes(nodes)
        return [n.buffer for n in nodes]

    # --- state ---

    def _states_of_program(self) -> list[Any]:
        """Return a buffer for each tensor of the state."""
        buffers: list[Any] = []
        for s in self._program["state"]:
            node = Node(OPS["buffer"], (), {}, tuple(s["shape"]), SHORT[s["dtype"]], self.device)
            if node.nbytes > LARGEST_STATE:
                self._fail(f"{PROGRAM} is damaged (state {s['name']!r} is too large): save the program again")
            buffers.append(self.device.pool.take(node.nbytes))
        return buffers

    def reset(self) -> None:
        """Set the state to its first values."""
        with self.device.lock:
            for s, buffer in zip(self._program["state"], self.states, strict=True):
                buffer.doubt = None
                if s["start"] is None:
                    self.device.write(buffer.handle, bytes(-(-buffer.nbytes // 4) * 4))
                else:
                    self.device.submit(copy_command(self.weights[int(s["start"][1:])], buffer))

    def state(self) -> dict[str, Tensor]:
        """Return copies of the state's present values by name."""
        tensors: dict[str, Tensor] = {}
        words: list[int] = []
        with self.device.lock:
            for s, buffer in zip(self._program["state"], self.states, strict=True):
                node = Node(OPS["buffer"], (), {}, tuple(s["shape"]), SHORT[s["dtype"]], self.device)
                node.buffer = self.device.pool.take(node.nbytes)
                node.buffer.doubt = buffer.doubt
                words += copy_command(buffer, node.buffer)
                tensors[s["name"]] = Tensor(node)
            if words:
                self.device.submit(words)
        return tensors

    # --- calling ---

    def __call__(self, *args: Any, **kw: Any) -> Any:
        if thread.recorder is not None:
            raise FlambeauError(f"{self}: a saved program can't be recorded: call it outside of jit")
        feeds = self._inputs_by_name(args, kw)
        try:
            return self._run([feeds[s.name] for s in self.inputs])
        except (ValueError, TypeError) as e:
            problem = ", ".join(f"{name}={describe(v)}" for name, v in feeds.items())
            raise type(e)(f"program({problem}): {e}") from None

    def _inputs_by_name(self, args: tuple[Any, ...], kw: dict[str, Any]) -> dict[str, Any]:
        """Return the inputs by name; TypeError for missing, unknown and extra ones."""
        names = [s.name for s in self.inputs]
        feeds = dict(zip(names, args))
        wrong = next((name for name in kw if name not in names or name in feeds), None)
        if len(args) > len(names):
            problem = f"{len(args)} inputs are more than its {len(names)}"
        elif wrong is not None:
            problem = (
                f"{wrong!r} is passed twice"
                if wrong in names
                else f"no input {wrong!r}{suggest(wrong, names)}"
            )
        elif len(feeds | kw) < len(names):
            problem = f"no {' and no '.join(repr(n) for n in names if n not in feeds | kw)}"
        else:
            return feeds | kw
        raise TypeError(f"program: {problem}: it takes {', '.join(f'{s.name}={s}' for s in self.inputs)}")

    def _run(self, values: list[Any]) -> Any:
        n = None
        tensors: list[Any | Tensor] = []
        for spec, value in zip(self.inputs, values, strict=True):
            t = value.to(self.device) if isinstance(value, Tensor) else tensor(value, device=self.device)
            n = self._batch_of(spec, t) if n is None else n
            if t.dtype is not spec.dtype:
                raise TypeError(f"{spec.name} is {t.dtype.short}, not {spec.dtype.short}: cast it")
            if t.shape != spec.at(n or 0):
                raise ValueError(f"{spec.name} is {describe(t)}, not {spec}{f' with N = {n}' if n else ''}")
            tensors.append(t)
        # A program without N has a single size, saved as 1.
        n, (low, high) = 1 if n is None else n, self.batch
        if not low <= n <= high:
            advice = f"split it, or save again with max_batch={n}" if n else "it takes at least 1"
            raise ValueError(f"a batch of {n}, and the program was saved for {low} to {high}: {advice}")
        if n not in self.batches:
            saved = ", ".join(map(str, self.batches))
            raise ValueError(f"a batch of {n}, and the program was saved for {saved}: split it")
        nodes = [t.node for t in tensors]
        run.realize_nodes(nodes)
        # Threads share the buffers of a batch size.
        with self.device.lock:
            ready = self._ready.keep(n, self._ready.get(n) or self._prepare(n), SIZES_KEPT)
            out = ready.run(nodes)
        self.device.keep_pace()
        if self._program["result"] == "dict":
            return dict(zip((name for name, _ in self.outputs), out, strict=True))
        return out if self._program["result"] == "list" else out[0]

    def _prepare(self, n: int) -> "_Ready":
        try:
            return _Ready(self, n)
        except FlambeauError:
            raise
        except Exception as e:  # the file is untrusted: its numbers may be impossible
            reason = f"{type(e).__name__}: {e}".splitlines()[0]
            self._fail(f"{PROGRAM} is damaged ({reason}): save the program again")

    @staticmethod
    def _batch_of(spec: Spec, t: Tensor) -> int | None:
        """Return the batch size of an input; None if its shape has none."""
        if len(t.shape) != len(spec.shape) or "N" not in spec.shape:
            return None
        return t.shape[spec.shape.index("N")]


class SavedDispatch(NamedTuple):
    """A dispatch of a saved program: its kernel's text and first line in the file, the number of buffers that
    it reads, and the bytes of each binding."""

    work: Cost
    text: str
    line: int
    reads: int
    sizes: tuple[int, ...]


class _Ready:
    """A program at one batch size: its buffers, and the commands to replay."""

    def __init__(self, program: SavedProgram, n: int):
        self.device = device = program.device
        self.checks = any(DECLARED in text for _, text in program.kernels)
        self.pool = Pool(device, device.pool)
        plan = program.plans["plans"][program.plans["plan_of"][n - program.batch[0]]]
        self.params = array("I")
        self.drawn: list[tuple[int, int, int]] = []  # (word of params, draw, word of the draw)
        self.begins = [  # the first block of each draw, relative to the call's
            within(value_of(e, n), LARGEST, "a draw") for e in plan["draws"]
        ]
        self.length = within(value_of(plan["drawn"], n), LARGEST, "a draw")
        buffers = {f"w{i}": b for i, b in enumerate(program.weights)}
        self.states = program.states
        buffers |= {f"s{i}": b for i, b in enumerate(self.states)}
        self.inputs: list[Any] = []  # buffers
        for i, spec in enumerate(program.inputs):
            node = Node(OPS["buffer"], (), {}, spec.at(n), spec.dtype, device)
            buffers[f"x{i}"] = self.pool.take(node.nbytes)
            self.inputs.append(buffers[f"x{i}"])
        sizes = {
            f"t{i}": within(value_of(e, n), LARGEST, "a size") for i, e in enumerate(plan["temporaries"])
        }
        count = sum(-(-len(s["params"]) // PARAMS_ALIGN) for s in (*plan["setup"], *plan["steps"]))
        self.uniform = device.uniform(4 * PARAMS_ALIGN * count) if count else 0
        # the commands of the setup, and of each call
        self.steps: tuple[list[SavedDispatch], list[SavedDispatch]] = [], []
        setup, words = self._words(program, plan, n, buffers, sizes)
        words += self._keep_states(plan, buffers)
        self.works = tuple([step.work for step in self.steps[1]])
        self.outputs = [
            (buffers[o["value"]], tuple(within(value_of(e, n), LARGEST, "a size") for e in o["shape"]), dtype)
            for o, (_, dtype) in zip(plan["outputs"], program.outputs, strict=True)
        ]
        for source, shape, dtype in self.outputs:
            within(prod(shape) * dtype.itemsize, source.size, "a result's size")
        self.prepared = device.prepare(words)
        if count:
            device.write(self.uniform, self.params.tobytes())
            self._send(0, setup)
        self.once = self._doubts_of(program, plan, buffers)

    def _keep_states(self, plan: dict[str, Any], buffers: dict[str, Any]) -> list[int]:
        """Return the commands that copy the state's new values to their buffers, unless they are there."""
        own = [f"s{i}" for i in range(len(self.states))]
        changed = {s for s, v in zip(own, plan["state"], strict=True) if s != v}
        words: list[int] = []
        # Values in buffers that these copies overwrite are first moved out of the way.
        for v in changed.intersection((*plan["state"], *(o["value"] for o in plan["outputs"]))):
            aside = self.pool.take(buffers[v].nbytes)
            words += copy_command(buffers[v], aside)
            buffers[v] = aside
        for v, place in zip(plan["state"], self.states, strict=True):
            if buffers[v] is not place:
                within(place.nbytes, buffers[v].size, "a state's size")
                words += copy_command(buffers[v], place)
        return words

    def _doubts_of(self, program: SavedProgram, plan: dict[str, Any], buffers: dict[str, Any]) -> list[Any]:
        """Return the buffers of the setup, with its index faults: these apply to each call."""
        checks = any(DECLARED in program.kernels[step["kernel"]][1] for step in plan["setup"])
        once = [buffers[v] for step in plan["setup"] for v in step["writes"]]
        for buffer in once:
            buffer.doubt = doubt_of(self.device, checks, [])
        return once

    def _words(
        self,
        program: SavedProgram,
        plan: dict[str, Any],
        n: int,
        buffers: dict[str, Any],
        sizes: dict[str, Any],
    ):
        """Return the commands that run once and those of each call. Temporaries with separate lifetimes share
        memory."""
        steps = [*plan["setup"], *plan["steps"]]
        # value -> the step of its last read
        last = {v: i for i, step in enumerate(steps) for v in step["reads"]}
        keep = (
            {o["value"] for o in plan["outputs"]}
            | set(plan["state"])
            | {v for step in plan["setup"] for v in step["writes"]}
        )
        words: tuple[list[int], list[int]] = [], []
        for i, step in enumerate(steps):
            offset = len(self.params)
            for e in step["params"]:
                if is_dict(e) and "draw" in e:
                    self.drawn.append((len(self.params), e["draw"], e["word"]))
                    e = 0
                # Negative integers as two's complement.
                self.params.append(value_of(e, n) & 0xFFFFFFFF)
            # The offset of a uniform binding must be a multiple of PARAMS_ALIGN words.
            self.params.extend([0] * (-len(self.params) % PARAMS_ALIGN))
            for v in step["writes"]:
                if v not in buffers:
                    buffers[v] = self.pool.take(sizes[v])
            kernel: int = step["kernel"]
            name, text = program.kernels[kernel]
            pipeline = _pipeline(self.device, text, name, len(step["reads"]), len(step["writes"]))
            x, y, z = (within(value_of(e, n), self.device.limits.groups, "a grid") for e in step["grid"])
            handles = [buffers[v].handle for v in (*step["reads"], *step["writes"])]
            command = Dispatch(pipeline, self.uniform, 4 * offset, (x, y, z), handles)
            words[i >= len(plan["setup"])].extend(command.words())
            reads, writes = ([buffers[v].nbytes for v in step[k]] for k in ("reads", "writes"))
            work, line = Cost(name, "", sum(reads), sum(writes), 0), program.lines[kernel]
            row = SavedDispatch(work, text, line, len(reads), (*reads, *writes))
            self.steps[i >= len(plan["setup"])].append(row)
            # Deleting the handle returns its memory to the pool, for the next temporary. Results and
            # constants stay.
            for v in set(step["reads"]):
                if v[0] == "t" and last[v] == i and v not in keep:
                    del buffers[v]
        return words

    def __del__(self):
        if getattr(self, "uniform", 0):
            self.device.pool.end(self.uniform)

    def _draw(self) -> None:
        """Reserve the call's part of the random stream, and write its words to Params."""
        begin = generator.take(4 * self.length)
        for word, draw, part in self.drawn:
            self.params[word] = begin.at_block(begin.block + self.begins[draw])[part]
        if self.drawn:
            self.device.write(self.uniform, self.params.tobytes())

    def _send(self, turn: int, *parts: Any) -> None:
        """Run the commands of the setup (0) or of a call (1). A listener runs them itself."""
        if has_listener("saved"):
            emit("saved", self.device, self.steps[turn], parts, self.params)
        elif turn:
            submit(self.device, self.works, *parts)
        else:
            self.device.submit(*parts)

    def run(self, nodes: list[Node]) -> list[Tensor]:
        if self.length:
            self._draw()
        before: list[int] = []
        for n, place in zip(nodes, self.inputs, strict=True):
            # Commands are prepared for fixed buffers, so inputs are copied in and outputs out; the caller
            # owns the copies.
            before += copy_command(n.buffer, place)
        after: list[int] = []
        out: list[Tensor] = []
        for source, shape, dtype in self.outputs:
            node = Node(OPS["buffer"], (), {}, shape, dtype, self.device)
            node.buffer = self.device.pool.take(node.nbytes)
            after += copy_command(source, node.buffer)
            out.append(Tensor(node))
        self._send(1, before, self.prepared, after)
        inputs = [*self.once, *self.states, *(n.buffer for n in nodes)]
        doubt = doubt_of(self.device, self.checks, inputs)
        for buffer in (*self.states, *(t.node.buffer for t in out)):
            buffer.doubt = doubt
        return out


def _pipeline(device: Gpu, text: str, name: str, inputs: int, outputs: int) -> int:
    """Return the device's pipeline of this text, compiled on first use."""
    cache, key = device.saved_pipelines, (text, inputs, outputs)
    if key not in cache:
        cache[key] = device.pipeline(text, name, inputs, outputs)
    return cache[key]


def within(value: int, most: int, name: str) -> int:
    """Return a number of 0 to `most`, else raise Damaged: some drivers end the process for larger ones."""
    if not 0 <= value <= most:
        raise Damaged(f"{name} of {value} is outside of 0 to {most}")
    return value
