"""The buffers, kernels and programs of one client on a server, and the check of every command.

A driver may crash on commands that break WebGPU's rules. So each number, size, offset and grid is checked
here before a driver sees it. A failure that is not a protocol violation (a kernel that does not compile)
marks the values that it should have written as bad, and reading one raises its error.
"""

from array import array
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..core.commands import (
    BUFFERS,
    BYTES,
    COPY,
    COPY_WORDS,
    COUNT,
    DISPATCH,
    FROM,
    GRID,
    OFFSET,
    PARAMS,
    PIPELINE,
    TO,
)
from ..core.limits import Limits
from ..errors import FlambeauError
from .messages import REPLAY, REPLAY_WORDS, TEXT_MOST, UNIFORM_MOST, Rejected, apply_patch
from .served import PARAMS_ALIGN, PARAMS_WINDOW, SMALLEST, ServedDevice

MOST_KEPT = 1 << 30  # bytes of texts and programs of a client
MOST_OBJECTS = 1 << 20  # buffers of a client, kernels and programs
WORD_COST = 64  # bytes of host memory for a word of a kept program, about


class ClientBuffer:
    """A buffer of a client."""

    __slots__ = ("content", "handle", "programs", "size")

    def __init__(self, handle: int, size: int, is_uniform: bool):
        self.handle, self.size = handle, size
        self.content = bytearray() if is_uniform else None  # the content, for patches
        self.programs: set[int] = set()  # the programs that use it


class KernelText(NamedTuple):
    """A kernel as a client sends it."""

    text: str
    label: str
    inputs: int
    outputs: int
    faults: int  # the buffer for faults, or 0
    proven: bool


class ClientKernel(NamedTuple):
    """A kernel of a client. error: why it does not run."""

    number: int
    buffers: int  # that a dispatch names
    outputs: int  # the last of these, written
    faults: int  # the buffer that is bound after them, or 0
    error: FlambeauError | None = None


class ClientProgram:
    """Commands that a client replays."""

    __slots__ = ("buffers", "error", "prepared", "words")

    def __init__(self, words: "array[int]", buffers: set[int]):
        self.words, self.buffers = words, buffers  # those of programs that it replays are among its words
        self.prepared: Any = None
        self.error: FlambeauError | None = None


class Objects:
    """The objects of one client on a device. Methods are called with the device's lock held."""

    def __init__(self, device: ServedDevice, memory: int | None):
        self.device, self.memory = device, memory
        self.limits: Limits = device.limits
        self.buffers: dict[int, ClientBuffer] = {}
        self.kernels: dict[int, ClientKernel] = {}
        self.programs: dict[int, ClientProgram] = {}
        self.bad: dict[int, FlambeauError] = {}  # buffers without a value, and why
        self.used = self.kept = 0  # bytes of buffers; of texts and programs

    # --- buffers ---

    def alloc(self, number: int, size: int, is_uniform: bool) -> None:
        """Allocate a buffer. If the driver can't, reading it raises the error."""
        self._check_new(number, self.buffers, "buffer")
        most = UNIFORM_MOST if is_uniform else self.device.max_binding
        if size % 4 or not SMALLEST <= size <= most:
            raise Rejected(
                f"remote: a buffer of {size:,} bytes: must be {SMALLEST} to {most:,}, a multiple of 4"
            )
        if self.memory is not None and self.used + size > self.memory:
            raise Rejected(
                f"remote: {self.used + size:,} bytes of buffers: the server's "
                f"limit for a client is {self.memory:,}"
            )
        handle = 0
        try:
            handle = self.device.alloc_cleared(size, is_uniform)
        except FlambeauError as e:
            self.bad[number] = e
        self.buffers[number] = ClientBuffer(handle, size, is_uniform)
        self.used += size

    def buffer(self, number: int) -> ClientBuffer:
        """The buffer of a number; Rejected if the client has none."""
        buffer = self.buffers.get(number)
        if buffer is None:
            raise Rejected(f"remote: no buffer has the number {number:,}")
        return buffer

    def write(self, number: int, data: Any) -> None:
        """Write the start of a buffer, whose size was checked before the data were received."""
        buffer = self.buffer(number)
        if buffer.content is not None:
            buffer.content[: len(data)] = data
        if buffer.handle:
            self.device.write(buffer.handle, data)
            self.bad.pop(number, None)

    def patch(self, number: int, words: "array[int]") -> None:
        """Change words of a buffer of Params that was written before."""
        buffer = self.buffer(number)
        if buffer.content is None:
            raise Rejected(f"remote: buffer {number:,} holds no Params: write all of it")
        apply_patch(words, buffer.content)
        if buffer.handle:
            self.device.write(buffer.handle, buffer.content)

    def free(self, numbers: Iterable[int]) -> None:
        """Free buffers, and forget the programs that use them."""
        for number in numbers:
            buffer = self.buffer(number)
            self.forget([p for p in buffer.programs if p in self.programs])
            del self.buffers[number]
            self.bad.pop(number, None)
            self.used -= buffer.size
            if buffer.handle:
                self.device.free(buffer.handle)

    def free_all(self) -> None:
        """Free everything when the connection ends."""
        self.programs.clear()
        buffers, self.buffers = self.buffers, {}
        for buffer in buffers.values():
            self.used -= buffer.size
            if buffer.handle:
                self.device.free(buffer.handle)
        self.device.release([kernel.number for kernel in self.kernels.values() if kernel.number >= 0])
        self.kernels.clear()

    def readable(self, asked: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Check a client's reads, and return them with the device's numbers; or the error of a bad value."""
        checked: list[tuple[int, int]] = []
        for number, n in asked:
            buffer = self.buffer(number)
            if n > buffer.size or buffer.content is not None:
                raise Rejected(
                    f"remote: can't read {n:,} bytes of buffer {number:,}, which has {buffer.size:,}"
                )
            checked.append((buffer.handle, n))
        for number, _ in asked:
            if (error := self.bad.get(number)) is not None:
                raise error
        return checked

    # --- kernels and programs ---

    def add_kernel(self, number: int, sent: KernelText) -> None:
        """Begin to compile a kernel. Its error is kept, for the values that it should compute."""
        self._check_new(number, self.kernels, "kernel")
        text, label, inputs, outputs, faults, proven = sent
        bound, most = inputs + outputs + bool(faults), self.limits.bundle_buffers
        if not outputs or bound > most or len(text) > TEXT_MOST:
            raise Rejected(
                f"remote: a kernel with {bound} buffers and {len(text):,} bytes of WGSL: the limit is {most}"
            )
        if faults and self.buffer(faults).content is not None:
            raise Rejected("remote: the fault buffer must not be a Params (uniform) buffer")
        self._keep(len(text))
        compiled, error = -1, None
        try:
            compiled = self.device.kernel(text, label, inputs, outputs + bool(faults), proven)
        except FlambeauError as e:
            error = e
        self.kernels[number] = ClientKernel(compiled, inputs + outputs, outputs, faults, error)

    def add_program(self, number: int, words: "array[int]") -> None:
        """Keep commands to replay them."""
        self._check_new(number, self.programs, "program")
        used: set[int] = set()
        parts = self.check(words, used)
        program = ClientProgram(self._flat(words), used)
        try:
            program.error = self._error_in(words)
            if program.error is None:
                program.prepared = self.device.prepare(*parts)
        except FlambeauError as e:
            program.error = e
        self.programs[number] = program
        for buffer in used:
            self.buffers[buffer].programs.add(number)

    def forget(self, numbers: Iterable[int]) -> None:
        """Drop programs. A client forgets programs that went with their buffers too."""
        for number in numbers:
            program = self.programs.pop(number, None)
            if program is not None:
                self.kept -= WORD_COST * len(program.words)
                for used in program.buffers:
                    self.buffers[used].programs.discard(number)

    def submit(self, words: "array[int]") -> None:
        """Run commands."""
        parts = self.check(words, set())
        error = self._error_in(words)
        if error is None:
            try:
                self.device.submit(*parts)
            except FlambeauError as e:
                self.device.check()  # a lost device ends the connection
                error = e
        if error is not None or self.bad:
            self._spread(words, error)

    def timestamps(self, words: "array[int]") -> Any:
        """Run commands, and return the pending times of the kernels; or the error of a command that can't
        run."""
        parts = self.check(words, set())
        if (error := self._error_in(words)) is not None:
            raise error
        return self.device.timestamps(*parts)

    def check(self, words: "array[int]", used: set[int]) -> list[Any]:
        """Check commands, and return them with the device's numbers, as parts for `submit`. `used` gets the
        buffers that they name."""
        parts: list[Any] = []
        out: list[int] = []
        i, n = 0, len(words)
        while i < n:
            kind = words[i]
            if kind == DISPATCH:
                i = self._check_dispatch(words, i, out, used)
            elif kind == COPY and i + COPY_WORDS <= n:
                i = self._check_copy(words, i, out, used)
            elif kind == REPLAY and i + REPLAY_WORDS <= n:
                program = self._program(words[i + 1])
                used |= program.buffers
                if out:
                    parts.append(out)
                    out = []
                parts.append(program.prepared)
                i += REPLAY_WORDS
            else:
                raise Rejected(f"remote: word {i:,} of {n:,} is not a command")
        return [*parts, out] if out else parts

    def _check_dispatch(self, words: "array[int]", i: int, out: list[int], used: set[int]) -> int:
        """Check a kernel's command, append it to `out` and return the start of the next one."""
        n, buffers = len(words), self.buffers
        end = i + BUFFERS + words[i + COUNT] if i + BUFFERS <= n else n + 1
        if end > n:
            raise Rejected("remote: the commands end inside a dispatch")
        kernel = self.kernels.get(words[i + PIPELINE])
        params = buffers.get(words[i + PARAMS])
        if kernel is None or params is None or params.content is None:
            raise Rejected("remote: a command names a kernel or a buffer of Params that does not exist")
        if words[i + COUNT] != kernel.buffers:
            raise Rejected(f"remote: a kernel needs {kernel.buffers} buffers, got {words[i + COUNT]}")
        offset = words[i + OFFSET]
        if offset % PARAMS_ALIGN or offset + PARAMS_WINDOW > params.size:
            raise Rejected(f"remote: Params at byte {offset:,} of a buffer of {params.size:,}")
        grid = words[i + GRID : i + COUNT]
        if max(grid) > self.limits.groups:
            raise Rejected(
                f"remote: a grid of {grid.tolist()}: the adapter's limit is {self.limits.groups:,}"
            )
        bound = words[i + BUFFERS : end].tolist()
        if kernel.faults:
            bound.append(kernel.faults)
        used.update(bound)
        used.add(words[i + PARAMS])
        handles: list[int] = []
        for number in bound:
            buffer = buffers.get(number)
            if buffer is None or buffer.content is not None:
                raise Rejected(
                    f"remote: a kernel names buffer {number:,}, which does not exist or holds Params"
                )
            handles.append(buffer.handle)
        first = kernel.buffers - kernel.outputs
        if len(set(bound[first:]).difference(bound[:first])) < len(bound) - first:
            raise Rejected("remote: a kernel both reads and writes a buffer")
        out += (DISPATCH, kernel.number, params.handle, offset, *grid, len(handles), *handles)
        return end

    def _check_copy(self, words: "array[int]", i: int, out: list[int], used: set[int]) -> int:
        """Check a copy, append it to `out` and return the start of the next command."""
        source, target = (self.buffer(words[i + field]) for field in (FROM, TO))
        n = words[i + BYTES]
        if source is target or source.content is not None or target.content is not None:
            raise Rejected("remote: a copy must not be within one buffer or involve Params")
        if n % 4 or n > source.size or n > target.size:
            raise Rejected(
                f"remote: a copy of {n:,} bytes does not fit buffers of {source.size:,} and {target.size:,}"
            )
        used.update(words[i + FROM : i + BYTES])
        out += (COPY, source.handle, target.handle, n)
        return i + COPY_WORDS

    def _flat(self, words: "array[int]") -> "array[int]":
        """Checked commands with the programs' commands in place, since programs may be deleted before they
        run."""
        spans = list(_commands(words))
        parts = [
            self.programs[words[i + 1]].words if kind == REPLAY else words[i:end] for i, end, kind in spans
        ]
        self._keep(WORD_COST * sum(map(len, parts)))
        flat = array("I")
        for part in parts:
            flat += part
        return flat

    def _program(self, number: int) -> ClientProgram:
        program = self.programs.get(number)
        if program is None:
            raise Rejected(f"remote: no program has the number {number:,}, or one of its buffers was freed")
        return program

    def _check_new(self, number: int, known: dict[int, Any], kind: str) -> None:
        if not number or number in known or len(known) >= MOST_OBJECTS:
            raise Rejected(
                f"remote: {kind} {number:,} already exists, or the limit of {MOST_OBJECTS:,} is reached"
            )

    def _keep(self, cost: int) -> None:
        self.kept += cost
        if self.kept > MOST_KEPT:
            raise Rejected(
                f"remote: shaders and programs of {self.kept:,} bytes: the "
                f"limit for a client is {MOST_KEPT:,}"
            )

    # --- values without a result ---

    def _error_in(self, words: "array[int]") -> FlambeauError | None:
        """The error of the first kernel, program or allocation among checked commands that can't run."""
        for i, end, kind in _commands(words):
            if kind == REPLAY:
                error = self.programs[words[i + 1]].error
            elif kind == DISPATCH:
                error = self.kernels[words[i + PIPELINE]].error or self._missing(words[i + BUFFERS : end])
            else:
                error = self._missing(words[i + FROM : i + BYTES])
            if error is not None:
                return error
        return None

    def _missing(self, numbers: "array[int]") -> FlambeauError | None:
        """The error of the first buffer that was not allocated."""
        return next((self.bad[b] for b in numbers if not self.buffers[b].handle), None)

    def _spread(self, words: "array[int]", error: FlambeauError | None) -> None:
        """Mark values computed from bad values as bad; with an error, all values that the commands write."""
        for i, end, kind in _commands(words):
            if kind == REPLAY:
                self._spread(self.programs[words[i + 1]].words, error)
                continue
            if kind == DISPATCH:
                first, last = end - self.kernels[words[i + PIPELINE]].outputs, end
                read = words[i + BUFFERS : first]
            else:
                first, last = i + TO, i + BYTES
                read = words[i + FROM : i + TO]
            reason = error or next((self.bad[b] for b in read if b in self.bad), None)
            for written in words[first:last]:
                if reason is not None:
                    self.bad[written] = reason
                elif self.buffers[written].handle:
                    self.bad.pop(written, None)


def _commands(words: "array[int]") -> Iterable[tuple[int, int, int]]:
    """The start, end and kind of each of checked commands."""
    i, n = 0, len(words)
    while i < n:
        kind = words[i]
        if kind == DISPATCH:
            end = i + BUFFERS + words[i + COUNT]
        else:
            end = i + (COPY_WORDS if kind == COPY else REPLAY_WORDS)
        yield i, end, kind
        i = end
