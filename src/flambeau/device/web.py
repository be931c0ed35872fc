"""The browser's device: implements the Protocol `Gpu` on navigator.gpu, by web/executor.js. Only this
module imports js and pyodide."""

import threading
from array import array
from contextlib import suppress
from importlib import import_module
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Literal

from ..core.commands import flat
from ..core.faults import DECLARED, Doubts
from ..core.files import web_file
from ..core.limits import SOFTWARE_TURNS, Limits
from ..core.lru_cache import Recent
from ..errors import DeviceError, FlambeauError, KernelError
from . import lanes_of
from .memory import Pool
from .protocol import Caches

REPLAY, FREE, FORGET = 3, 4, 5  # commands of executor.js in addition to those of commands.py
STORAGE, UNIFORM = 0x80 | 0x04 | 0x08, 0x40 | 0x08
PARAMS_WINDOW = 1024  # bytes of Params that a kernel binds
INBOX = 1 << 16  # bytes passed in a call; larger data is passed in a separate array
INBOXES_KEPT = 64
RAISED = {"CompileError": KernelError, "CommandError": KernelError}  # all other names are DeviceErrors
ADVICE = {
    "DeviceLost": "the GPU was lost ({}), and its contents are lost: `await fb.open_device()` opens it again",
    "OutOfMemory": "out of memory ({}): use a smaller batch",
    "CompileError": "the kernel does not compile: {}",
    "CommandError": "the browser rejected a command: {}",
    "NoAdapter": "{}",
}


_opened: list["WebDevice"] = []


async def open_device() -> "WebDevice":
    """Open the page's GPU at the first call and after a loss; DeviceError says what is missing."""
    if not _opened or _opened[0].lost:
        executor = await _call(await _module(), "open")
        if not _opened or _opened[0].lost:  # another task may have opened it
            _opened[:] = [WebDevice(executor)]
    return _opened[0]


def open_now() -> "WebDevice":
    """Return the page's GPU without await, if it is open or this call may wait."""
    ffi: Any = import_module("pyodide.ffi")
    if _opened and not _opened[0].lost:
        return _opened[0]
    if ffi.can_run_sync():
        return ffi.run_sync(open_device())
    raise DeviceError("device: the page's GPU is not open: `await fb.open_device()` before the first tensor")


async def _module() -> Any:
    """Return the module executor.js: that of our site's worker, else the package's copy."""
    with suppress(ImportError):
        return import_module("flambeau_page").executor
    js: Any = import_module("js")
    run_js: Any = import_module("pyodide.code").run_js
    to_js: Any = import_module("pyodide.ffi").to_js

    text = web_file("executor.js").read_text(encoding="utf-8")
    options = to_js({"type": "text/javascript"}, dict_converter=run_js("Object.fromEntries"))
    url = js.URL.createObjectURL(js.Blob.new(to_js([text]), options))
    try:
        return await run_js("(url) => import(url)")(url)
    finally:
        js.URL.revokeObjectURL(url)


async def _call(target: Any, name: str, *args: Any) -> Any:
    JsException: Any = import_module("pyodide.ffi").JsException

    try:
        return await getattr(target, name)(*args)
    except JsException as e:
        raise error_of(e) from None


def error_of(e: Any) -> FlambeauError:
    """Convert an error of executor.js to the package's error."""
    name, text = getattr(e, "name", ""), getattr(e, "message", str(e))
    return RAISED.get(name, DeviceError)(f"gpu: {ADVICE.get(name, '{}').format(text)}")


class WebDevice(Caches):
    """The page's GPU. Numbers of executor.js stand for buffers and pipelines; only reads wait."""

    kind: Literal["gpu"] = "gpu"
    adapter = identity = None  # pages can't read driver names
    compilers = 1

    def __init__(self, executor: Any):
        ffi: Any = import_module("pyodide.ffi")
        super().__init__()
        self._executor, self._to_js, self._error = executor, ffi.to_js, ffi.JsException
        self.name = f"gpu:{executor.name} (WebGPU)"
        self.lock = threading.RLock()
        turns = SOFTWARE_TURNS if executor.software else Limits.turns
        lanes = lanes_of(executor.name)
        self.limits = Limits(
            bundle_buffers=executor.bundleBuffers,
            groups=executor.groups,
            software=executor.software,
            turns=turns,
            lanes=lanes,
        )
        self.max_binding = executor.maxBinding
        self.pool = Pool(self)
        self.ends: list[int] = []  # FREE and FORGET, sent with the next submit
        self._inboxes: Recent[tuple[str, int], Any] = Recent()
        # looked up once: reading a JS attribute costs as much as the call
        # the buffer in which kernels record faults, and the values that may depend on them
        self.faults, self.doubts = 0, Doubts()
        self._alloc, self._write = executor.alloc, executor.write
        self._submit, self._replay = executor.submit, executor.replay

    @property
    def lost(self) -> str | None:
        """The reason of the device's loss, or None."""
        reason = self._executor.lost
        # JavaScript's null is an object with Pyodide's __bool__, which a recording could not follow
        return reason if isinstance(reason, str) else None

    @property
    def can_wait(self) -> bool:
        """Whether the running code may wait for the GPU, which depends on how JavaScript called it."""
        can_run_sync: Any = import_module("pyodide.ffi").can_run_sync

        return can_run_sync()

    def check(self) -> None:
        """DeviceError if the device was lost."""
        self._call_js(self._executor.check)

    def after_fork(self) -> None:
        """Do nothing: pages do not fork."""

    def _call_js(self, call: Any, *args: Any) -> Any:
        try:
            return call(*args)
        except self._error as e:
            raise error_of(e) from None

    def _array(self, data: memoryview) -> Any:
        """Convert words or bytes to a JavaScript typed array, valid for one call.

        The next call with data of this length reuses the array: an allocation costs ten times as much as
        the copy.
        """
        if not 0 < data.nbytes <= INBOX:
            return self._to_js(data)
        key = data.format, len(data)
        inbox = self._inboxes.get(key)
        if inbox is None:
            return self._inboxes.keep(key, self._to_js(data), INBOXES_KEPT)
        inbox.assign(data)
        return inbox

    def _words(self, words: list[int]) -> Any:
        return self._array(memoryview(array("I", words)))

    # --- memory ---

    def alloc(self, size: int, asked: int, usage: int = STORAGE) -> int:
        """Allocate a buffer and return its number. If it did not fit, reading it raises DeviceError."""
        if asked > self.max_binding:
            raise DeviceError(
                f"alloc({asked:,} bytes): {self.name} binds at most {self.max_binding:,} bytes a tensor:"
                " split the tensor"
            )
        return self._alloc(min(size, self.max_binding), usage)

    def free(self, handle: int) -> None:
        """Free the memory after the next submit."""
        self.ends.extend((FREE, handle))

    def size_of(self, handle: int) -> int:
        """Return the size of a buffer in bytes."""
        return self._executor.sizeOf(handle)

    def uniform(self, size: int) -> int:
        """Allocate a buffer for the Params of a plan."""
        return self.alloc(size + PARAMS_WINDOW, size, UNIFORM)

    def write(self, handle: int, data: Any) -> None:
        """Copy host bytes to the start of a buffer; the copy is done when this returns."""
        view = memoryview(data).cast("B")
        if view.nbytes:
            self._call_js(self._write, handle, self._array(view))

    def fetch(self, asked: list[tuple[int, int]]) -> "Fetch":
        """Begin to read several buffers in one call, after all previous submits."""
        words = self._words([w for pair in asked for w in pair])
        return Fetch(self._call_js(self._executor.read, words), [n for _, n in asked])

    def read(self, asked: list[tuple[int, int]]) -> list[memoryview]:
        """Read several buffers; FlambeauError if this call may not wait."""
        return self.fetch(asked).wait()

    def wait(self) -> None:
        """Wait until everything submitted is done."""
        run_sync: Any = import_module("pyodide.ffi").run_sync

        run_sync(run_in_page("wait", _call(self._executor, "wait")))

    # --- kernels ---

    def pipeline(self, wgsl: str, label: str, inputs: int, outputs: int = 1, proven: bool = False) -> int:
        """Begin to compile. Reading the result of an invalid kernel raises KernelError. Browsers always
        check indices."""
        number = self._executor.pipeline(wgsl, label, inputs, outputs)
        if not self.faults and DECLARED in wgsl:
            self.faults = self._executor.faults
        return number

    def compiled(self, pipeline: int) -> None:
        """Do nothing: a waiting page would keep the browser from compiling."""

    def outputs_of(self, pipeline: int) -> int:
        """Return the number of buffers that a pipeline writes, which are bound last."""
        return self._executor.outputsOf(pipeline)

    def prepare(self, *parts: Any) -> "Prepared":
        """Prepare lists of commands (or prepared ones) for repeated submits."""
        return Prepared(self, self._executor.prepare(self._to_js(array("I", _join(parts)))), parts)

    def submit(self, *parts: Any) -> None:
        """Run flat lists of commands (or prepared ones) with one call of JavaScript, one encoder and one
        submit."""
        if len(parts) == 1 and not self.ends and isinstance(parts[0], Prepared):
            return self._call_js(self._replay, parts[0].number)
        words, ends = _join(parts), len(self.ends)
        words += self.ends[:ends]
        self._call_js(self._submit, self._words(words))
        del self.ends[:ends]  # drop the sent commands, not those added meanwhile

    def enqueue(self, seconds: float, *parts: Any) -> None:
        """Submit at once: the browser's GPU process batches commands."""
        self.submit(*parts)

    def keep_pace(self) -> None:
        """Do nothing: a page can't wait here."""

    def timestamps(self, *parts: Any) -> "Stamps":
        """`submit` with a separate pass for each kernel and each run of copies; returns when the GPU began
        and ended them. Reading these raises without timestamps."""
        return Stamps(self._call_js(self._executor.timestamps, self._to_js(array("I", flat(parts)))))


def _join(parts: tuple[Any, ...]) -> list[int]:
    """Concatenate lists of commands; prepared ones are referred to by number."""
    words: list[int] = []
    for part in parts:
        words += (REPLAY, part.number) if isinstance(part, Prepared) else part
    return words


class Prepared:
    """Commands that executor.js keeps during this object's lifetime. They may refer to other prepared
    ones."""

    def __init__(self, device: WebDevice, number: int, parts: tuple[Any, ...]):
        self.device, self.number, self.parts = device, number, parts

    @property
    def words(self) -> list[int]:
        return flat(self.parts)

    def __del__(self):
        self.device.ends.extend((FORGET, self.number))


class Stamps:
    """The pending times of one submit."""

    def __init__(self, promise: Any):
        self.promise, self.submitted = promise, perf_counter_ns()

    async def arrive(self) -> list[tuple[int, int]]:
        """Wait for (begin, end) of each span, in ns of the GPU's clock."""
        JsException: Any = import_module("pyodide.ffi").JsException

        try:
            times = (await self.promise).to_memoryview().cast("B").cast("Q").tolist()
        except JsException as e:
            raise error_of(e) from None
        return list(zip(times[::2], times[1::2], strict=True))

    def wait(self) -> list[tuple[int, int]]:
        run_sync: Any = import_module("pyodide.ffi").run_sync

        return run_sync(run_in_page("profile", self.arrive()))


class Fetch:
    """A pending read from the GPU: `await fetch.arrive()`, or `fetch.wait()` if this call may wait."""

    def __init__(self, promise: Any, sizes: list[int]):
        self.promise, self.sizes = promise, sizes

    async def arrive(self) -> list[memoryview]:
        JsException: Any = import_module("pyodide.ffi").JsException

        try:
            got = (await self.promise).to_memoryview()
        except JsException as e:
            raise error_of(e) from None
        offset = 0
        out: list[Any] = []
        for n in self.sizes:
            out.append(got[offset : offset + n])
            offset += -(-n // 4) * 4
        return out

    def wait(self) -> list[memoryview]:
        run_sync: Any = import_module("pyodide.ffi").run_sync

        return run_sync(run_in_page("read", self.arrive()))


def run_in_page(name: str, coroutine: Any) -> Any:
    """Run a coroutine by run_sync if possible; else raise an error with the alternative."""
    can_run_sync: Any = import_module("pyodide.ffi").can_run_sync

    if can_run_sync():
        return coroutine
    coroutine.close()
    raise FlambeauError(
        f"{name}: this call from JavaScript can't wait for the GPU: `await t.read()` or `await"
        " fb.read(t)`, or enter Python by runPythonAsync or callPromising"
    )


if TYPE_CHECKING:
    from .protocol import Gpu

    IS_A_DEVICE: type[Gpu] = WebDevice
