"""The device of another machine: implements the Protocol `Gpu` by messages to its server.

Plans and WGSL are made here, for the limits of the server's adapter. Nothing waits for an answer but reads,
the first use of a user's WGSL, and a program that is many submits ahead. Prepared commands are sent once and
replayed by number.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ..core.commands import flat
from ..core.faults import BYTES, DECLARED, Doubts
from ..core.interrupts import uninterrupted
from ..core.limits import Limits, MachineSpeed, Unit
from ..core.tree import is_list
from ..device import drop
from ..device.memory import SMALLEST, Pool
from ..device.protocol import Caches
from ..errors import DeviceError, FlambeauError, KernelError, OutOfMemory
from . import messages as wire
from .handshake import Welcome

PARAMS_WINDOW = 1024  # bytes of Params that a kernel binds
LARGE = 1 << 16  # bytes of a payload that is sent without a copy
ACKNOWLEDGED = 8  # every so many submits ask for an answer
AHEAD = 2  # the most such answers that may be due: the submitting thread waits for the oldest
WAITING, SOON = 16, 100e-6  # calls that share a message at most; seconds between two calls of a loop
ANSWER_MOST = 1 << 24  # bytes of an answer without data


class Link(Protocol):
    """A connection."""

    timeout: float
    sent: int
    is_torn: bool  # whether a part of a message was sent

    @property
    def received(self) -> int:
        """The bytes received in all."""
        ...

    def send(self, *parts: Any) -> None:
        """Send bytes; OSError if the connection broke."""
        ...

    def start(self, device: Any) -> None:
        """Receive for a device: call its `expects`, `take` and `lose`."""
        ...

    @property
    def can_wait(self) -> bool:
        """Whether the running code may wait."""
        ...

    def block(self, answer: "Answer") -> None:
        """Wait until an answer is settled."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...

    def after_fork(self) -> None:
        """Release it in a forked child."""
        ...


class Answer:
    """A pending answer: `wait` for it, or `await arrive()`."""

    def __init__(self, device: "RemoteDevice", size: int | None):
        self.device, self.size = device, size  # the bytes of its data; None for another answer
        self.value: Any = None
        self.error: FlambeauError | None = None
        self._done = threading.Lock()  # held until the answer arrives
        self._done.acquire()
        self._calls: list[Callable[[], None]] = []

    def settle(self, value: Any, error: FlambeauError | None = None) -> None:
        """Store the answer, and wake its waiter. Called once."""
        self.value, self.error = value, error
        self._done.release()
        while self._calls:
            self._calls.pop()()

    @property
    def is_settled(self) -> bool:
        """Whether the answer has arrived."""
        return not self._done.locked()

    def wait(self) -> Any:
        """Block until the answer arrives; raises its error."""
        if not self.is_settled:
            self.device.link.block(self)
        return self.result()

    def block(self) -> None:
        """Block the thread until another one settles the answer."""
        with self._done:
            pass

    async def arrive(self) -> Any:
        """`wait` for async code."""
        asyncio: Any = import_module("asyncio")  # only awaiting code needs it; its import takes 15 ms
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def wake() -> None:
            if not future.done():
                future.set_result(None)

        def call() -> None:
            loop.call_soon_threadsafe(wake)

        self._calls.append(call)
        while not self.is_settled and not future.done():
            await asyncio.wait([future], timeout=self.device.link.timeout)
            self.device.check_silence()
        return self.result()

    def result(self) -> Any:
        """The answer; its error is raised."""
        if self.error is not None:
            raise self.error
        return self.value


class RemoteDevice(Caches):
    """A GPU of another machine, behind a connection. It identifies buffers and kernels by its own numbers.

    link: the connection
    name: "remote:host:port", by which `get_device` finds it
    welcome: the server's description of its adapter and limits

    Raises DeviceError if welcome does not describe a device.
    """

    kind: Literal["gpu"] = "gpu"
    adapter = identity = None

    def __init__(self, link: Link, name: str, welcome: Welcome):
        super().__init__()
        self.link, self.name = link, name
        self.address = name.partition(":")[2]
        described = welcome.described
        self.adapter_name, self.memory = str(described.get("name")), welcome.memory
        self.limits = limits_from(described)
        self.max_binding, self.compilers = int(described["max_binding"]), int(described["compilers"])
        self.lock = threading.RLock()
        self.lost: str | None = None
        self.heard = time.monotonic()  # when the server last sent something
        self.faults, self.doubts = 0, Doubts()
        self.pool = Pool(self)
        self._numbers = 0  # of buffers, kernels, programs and requests
        self._sizes: dict[int, int] = {}
        self._used = 0  # bytes of these buffers
        self._contents: dict[int, bytes] = {}  # contents of buffers of Params
        self._outputs: dict[int, int] = {}  # by kernel
        self._unknown: list[int] = []  # kernels that the server was not asked about
        self._wrong: dict[int, KernelError] = {}
        self._answers: dict[int, Answer] = {}
        self._acknowledged: deque[Answer] = deque()
        self._out, self._freed = bytearray(), list[int]()
        self.forgotten: deque[int] = deque()  # programs that any thread dropped
        self._submits = self._waiting = 0
        self._enqueued = 0.0
        link.start(self)

    def __repr__(self) -> str:
        return self.name

    @property
    def index(self) -> int | None:
        """None: numbers count this machine's GPUs."""
        return None

    # --- the connection ---

    @property
    def can_wait(self) -> bool:
        """Whether the calling code may block until an answer comes."""
        return self.link.can_wait

    @property
    def traffic(self) -> tuple[int, int]:
        """The bytes sent and received since the connection began."""
        return self.link.sent, self.link.received

    def expects(self, kind: int, id: int, n: int) -> bool:
        """Whether a message may come, before memory is allocated for it."""
        self.heard = time.monotonic()
        if kind in (wire.ALIVE, wire.ERROR) and not id:
            return n <= wire.SMALL
        answer = self._answers.get(id)
        if answer is None or kind not in (wire.DATA, wire.DONE, wire.ERROR):
            return False
        return n == answer.size if kind == wire.DATA else n <= ANSWER_MOST

    def take(self, kind: int, id: int, payload: Any) -> None:
        """Take an expected message."""
        if kind == wire.ALIVE:
            return
        if not id:
            return self.lose(str(wire.error_of(payload)))
        answer = self._answers.pop(id, None)
        if answer is None:  # lost meanwhile
            return
        if kind == wire.ERROR:
            answer.settle(None, wire.error_of(payload))
        else:
            answer.settle(payload)

    def lose(self, why: str) -> None:
        """Record the loss of the connection. Every call, and every answer that is due, raises it."""
        if self.lost is None:
            self.lost = why
        self.link.close()
        for id in list(self._answers):
            if (answer := self._answers.pop(id, None)) is not None:
                answer.settle(None, self._loss_error())

    def is_alive(self) -> bool:
        """Whether the server has sent something lately."""
        return time.monotonic() - self.heard <= self.link.timeout

    def check_silence(self) -> None:
        """Lose a server that has been silent for too long."""
        if self._answers and not self.is_alive():
            self.lose(f"no sign of life from the server for {self.link.timeout:g} s")

    def check(self) -> None:
        """DeviceError if the connection was lost."""
        if self.lost is not None:
            raise self._loss_error()

    def _loss_error(self) -> DeviceError:
        advice = f"its values are lost: flambeau.remote.connect({self.address!r}) connects again"
        return DeviceError(f"{self.name} was lost ({self.lost}): {advice}")

    def close(self) -> None:
        """Close the connection: the server frees all memory, and the next use of the name reconnects."""
        drop(self)
        self.lose("it was closed")

    def after_fork(self) -> None:
        """In a forked child, make all calls raise: the connection belongs to the parent."""
        self.lock, self.lost = threading.RLock(), "it was opened before a fork"
        self._answers = {}
        self.link.after_fork()

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _put(self, kind: int, id: int, payload: Any = b"") -> None:
        """Add a message to those to be sent. The caller holds the lock."""
        self.check()
        out = self._out
        if self._freed:
            freed, self._freed = wire.bytes_of(self._freed), []
            out += wire.HEADER.pack(len(freed), wire.FREE, 0) + freed
        if self.forgotten:
            self._forget(out)
        header = wire.HEADER.pack(len(payload), kind, id)
        if len(payload) < LARGE:
            out += header + payload
        else:
            self._flush(header, payload)

    def _forget(self, out: bytearray) -> None:
        numbers: list[int] = []
        while self.forgotten:
            numbers.append(self.forgotten.popleft())
        forgotten = wire.bytes_of(numbers)
        out += wire.HEADER.pack(len(forgotten), wire.FORGET, 0) + forgotten

    def _flush(self, *more: Any) -> None:
        """Send the messages. The caller holds the lock."""
        with uninterrupted():  # half a message would end the connection
            out, self._out, self._waiting = self._out, bytearray(), 0
            try:
                self.link.send(out, *more)
            except OSError as e:
                self.lose(f"the connection broke: {e}")
                self.check()
            except BaseException:
                if self.link.is_torn:
                    self.lose("sending was interrupted")
                raise

    def _ask(self, kind: int, payload: Any = b"", size: int | None = None) -> Answer:
        """Send a request, and return its pending answer."""
        with self.lock:
            id, answer = self._number(), Answer(self, size)
            self._put_request(kind, id, payload, answer)
            self._flush()
        return answer

    def _put_request(self, kind: int, id: int, payload: Any, answer: Answer) -> None:
        if not self._answers:
            self.heard = time.monotonic()  # silence counts from now on
        self._answers[id] = answer
        try:
            self._put(kind, id, payload)
        except BaseException:
            self._answers.pop(id, None)
            raise

    # --- memory ---

    def alloc(self, size: int, asked: int) -> int:
        """Allocate a buffer and return its number; DeviceError with the sizes if the server refuses."""
        if asked > self.max_binding:
            raise DeviceError(
                f"alloc({asked:,} bytes): {self.name} binds at most {self.max_binding:,} bytes a tensor:"
                " split the tensor"
            )
        return self._alloc(min(size, self.max_binding), asked, False)

    def uniform(self, size: int) -> int:
        """Allocate a buffer for the Params of a plan."""
        handle = self._alloc(size + PARAMS_WINDOW, size, True)
        self._contents[handle] = b""
        return handle

    def _alloc(self, size: int, asked: int, is_uniform: bool) -> int:
        size = max(-(-size // 4) * 4, SMALLEST)
        with self.lock:
            self.check()
            if self.memory is not None and self._used + size > self.memory:
                self.pool.trim()
                if self._used + size > self.memory:
                    live = f"{self._used:,} bytes are in use"
                    reason = f"the server gives a client {self.memory:,}"
                    raise OutOfMemory(
                        f"alloc({asked:,} bytes): {self.name} is out of memory, {live}: use a smaller batch"
                        f" ({reason})",
                        reason=reason,
                    )
            handle = self._number()
            self._put(wire.ALLOC, handle, wire.ALLOCATED.pack(size, is_uniform))
            self._sizes[handle] = size
            self._used += size
        return handle

    def free(self, handle: int) -> None:
        """Free a buffer."""
        with self.lock:
            size = self._sizes.pop(handle, 0)
            if size:
                self._used -= size
                self._contents.pop(handle, None)
                self._freed.append(handle)

    def size_of(self, handle: int) -> int:
        """Return the size of a buffer in bytes."""
        return self._sizes[handle]

    def write(self, handle: int, data: Any) -> None:
        """Copy host bytes to the start of a buffer; the copy is done when this returns. Of Params only the
        changed words are sent."""
        view = memoryview(data).cast("B")
        with self.lock:
            if (before := self._contents.get(handle)) is not None:
                now = bytes(view)
                patch = wire.patch_of(before, now)
                self._contents[handle] = b""  # unknown if the send is interrupted
                self._put(wire.WRITE, handle, now) if patch is None else self._put(wire.PATCH, handle, patch)
                self._contents[handle] = now
                return
            if view.nbytes % 4:
                view = memoryview(bytes(view).ljust(-(-view.nbytes // 4) * 4, b"\0"))
            if view.nbytes:
                self._put(wire.WRITE, handle, view)

    def fetch(self, asked: list[tuple[int, int]]) -> "Fetch":
        """Begin to read several buffers, after all previous submits."""
        once = list(dict.fromkeys(asked))
        pairs = b"".join([wire.PAIR.pack(*pair) for pair in once])
        return Fetch(self._ask(wire.READ, pairs, _total(once)), asked)

    def read(self, asked: list[tuple[int, int]]) -> list[Any]:
        """Read several buffers after all previous submits."""
        return self.fetch(asked).wait()

    def wait(self) -> None:
        """Wait until everything submitted is done."""
        self._ask(wire.WAIT).wait()

    # --- kernels ---

    def pipeline(self, wgsl: str, label: str, inputs: int, outputs: int = 1, proven: bool = False) -> int:
        """Send WGSL, which the server begins to compile. Reading a value of an invalid kernel raises
        KernelError."""
        with self.lock:
            checks = DECLARED in wgsl
            if checks and not self.faults:
                faults = self.alloc(BYTES, BYTES)
                self.write(faults, bytes(BYTES))
                self.faults = faults
            number, name = self._number(), label.encode()
            head = wire.KERNEL_HEAD.pack(inputs, outputs, self.faults * checks, proven, len(name))
            self._put(wire.KERNEL, number, head + name + wgsl.encode())
            self._outputs[number] = outputs
            self._unknown.append(number)
            if len(self._out) > LARGE:
                self._flush()  # it compiles while more are rendered
        return number

    def compiled(self, pipeline: int) -> Any:
        """Wait until a pipeline is compiled; KernelError if the driver rejects it."""
        if pipeline in self._unknown and self.can_wait:
            with self.lock:
                unknown, self._unknown = self._unknown, []
                answer = self._ask(wire.CHECK, wire.bytes_of(unknown))
            wrong = wire.read_json(answer.wait())
            self._wrong.update({int(number): KernelError(str(text)) for number, text in wrong.items()})
        if (error := self._wrong.get(pipeline)) is not None:
            raise error

    def outputs_of(self, pipeline: int) -> int:
        """Return the number of buffers that a pipeline writes, which are bound last."""
        return self._outputs[pipeline]

    def prepare(self, *parts: Any) -> "Prepared":
        """Send lists of commands (or prepared ones) once, to be replayed by number."""
        with self.lock:
            number = self._number()
            self._put(wire.PROGRAM, number, wire.bytes_of(wire.join(parts)))
        return Prepared(self, number, parts)

    def submit(self, *parts: Any) -> None:
        """Run flat lists of commands (or prepared ones)."""
        with self.lock:
            self._add_submit(parts)
            self._flush()

    def enqueue(self, seconds: float, *parts: Any) -> None:
        """`submit`, in a loop of short calls up to 16 in one message."""
        with self.lock:
            self._add_submit(parts)
            self._waiting += 1
            before, self._enqueued = self._enqueued, time.perf_counter()
            if self._waiting >= WAITING or self._enqueued - before > SOON:
                self._flush()

    def _add_submit(self, parts: tuple[Any, ...]) -> None:
        words = wire.bytes_of(wire.join(parts))
        self._submits += 1
        if self._submits % ACKNOWLEDGED:
            return self._put(wire.SUBMIT, 0, words)
        id, answer = self._number(), Answer(self, None)
        self._put_request(wire.SUBMIT, id, words, answer)
        self._acknowledged.append(answer)

    def keep_pace(self) -> None:
        """Wait while the server is many submits behind."""
        due = self._acknowledged
        while len(due) > AHEAD and self.can_wait:
            due.popleft().wait()

    def timestamps(self, *parts: Any) -> "Stamps":
        """`submit` with the times of each kernel and of adjacent copies; reading them raises DeviceError if
        the server's device has no timestamps."""
        submitted = time.perf_counter_ns()
        return Stamps(self._ask(wire.TIMES, wire.bytes_of(flat(parts))), submitted)


class Prepared:
    """Commands that the server keeps during this object's lifetime. They may refer to other prepared ones."""

    def __init__(self, device: RemoteDevice, number: int, parts: tuple[Any, ...]):
        self.device, self.number, self.parts = device, number, parts

    @property
    def words(self) -> list[int]:
        """The commands as one list."""
        return flat(self.parts)

    def __del__(self):
        self.device.forgotten.append(self.number)


class Fetch:
    """A pending read: `wait` for it, or `await arrive()`."""

    def __init__(self, answer: Answer, asked: list[tuple[int, int]]):
        self.answer, self.asked = answer, asked

    def wait(self) -> list[Any]:
        """Wait for the bytes of all buffers."""
        return self._split(self.answer.wait())

    async def arrive(self) -> list[Any]:
        """Wait for the bytes of all buffers while other tasks run."""
        return self._split(await self.answer.arrive())

    def _split(self, data: Any) -> list[Any]:
        view, offset = memoryview(data).toreadonly(), 0
        parts: dict[tuple[int, int], Any] = {}
        for pair in dict.fromkeys(self.asked):
            parts[pair] = view[offset : offset + pair[1]]
            offset += pair[1]
        return [parts[pair] for pair in self.asked]


class Stamps:
    """The pending times of one submit."""

    def __init__(self, answer: Answer, submitted: int):
        self.answer, self.submitted = answer, submitted

    def wait(self) -> list[tuple[int, int]]:
        """Wait for (begin, end) of each span, in ns of the GPU's clock."""
        return _times(self.answer.wait())

    async def arrive(self) -> list[tuple[int, int]]:
        """`wait` for async code."""
        return _times(await self.answer.arrive())


def _times(payload: Any) -> list[tuple[int, int]]:
    return [(int(begin), int(end)) for begin, end in wire.read_json(payload)["times"]]


def _total(asked: list[tuple[int, int]]) -> int:
    return sum(n for _, n in asked)


def limits_from(described: dict[str, Any]) -> Limits:
    """The limits of a server's device; DeviceError if they are not understood."""
    try:
        return _limits_from(described)
    except (AttributeError, KeyError, TypeError, ValueError) as e:
        raise DeviceError(f"remote: the server's description of its device is invalid ({e!r})") from None


def _limits_from(described: dict[str, Any]) -> Limits:
    sent: dict[str, Any] = dict(described["limits"])
    default = Limits()
    for name, value in sent.items():
        if name not in ("matrix", "pace") and type(value) is not type(getattr(default, name)):
            raise TypeError(f"limit {name} is {value!r}")
    operations, nbytes = sent.pop("pace")
    units = tuple(Unit(str(kind), *map(int, rest)) for kind, *rest in sent.pop("matrix"))
    cores, *speeds = described["machine"]
    return Limits(
        **sent,
        pace=(float(operations), float(nbytes)),
        matrix=units,
        machine=MachineSpeed(int(cores), *map(float, speeds)),
        tuned={_as_tuples(key): str(value) for key, value in described["tuned"]},
    )


def _as_tuples(value: Any) -> Any:
    """Lists of JSON as the tuples that they were."""
    return tuple(map(_as_tuples, value)) if is_list(value) else value


if TYPE_CHECKING:
    from ..device.protocol import Gpu

    IS_A_DEVICE: type[Gpu] = RemoteDevice
