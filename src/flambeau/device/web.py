"""The browser's device: the seam's calls on navigator.gpu, by web/executor.js. The only import of js and
pyodide."""

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
from .pool import Pool
from .protocol import Caches

REPLAY, FREE, FORGET = 3, 4, 5  # commands of executor.js beside those of commands.py
STORAGE, UNIFORM = 0x80 | 0x04 | 0x08, 0x40 | 0x08
PARAMS_WINDOW = 1024  # how many bytes of Params a kernel sees
INBOX = 1 << 16  # bytes of a call; more cross in an array of their own
INBOXES_KEPT = 64
RAISED = {"CompileError": KernelError, "CommandError": KernelError}  # the other names are DeviceErrors
ADVICE = {
    "DeviceLost": "the GPU was lost ({}), and its contents are lost: `await fb.open_device()` opens it again",
    "OutOfMemory": "out of memory ({}): use a smaller batch",
    "CompileError": "the kernel does not compile: {}",
    "CommandError": "the browser rejected a command: {}",
    "NoAdapter": "{}",
}


_opened: list["WebDevice"] = []


async def open_device() -> "WebDevice":
    """The page's GPU, opened at the first call and after a loss; DeviceError says what is missing."""
    if not _opened or _opened[0].lost:
        executor = await _call(await _module(), "open")
        if not _opened or _opened[0].lost:  # another task may have been quicker
            _opened[:] = [WebDevice(executor)]
    return _opened[0]


def open_now() -> "WebDevice":
    """The page's GPU, without await: where it is open, or where this call may wait."""
    ffi: Any = import_module("pyodide.ffi")
    if _opened and not _opened[0].lost:
        return _opened[0]
    if ffi.can_run_sync():
        return ffi.run_sync(open_device())
    raise DeviceError("device: the page's GPU is not open: `await fb.open_device()` before the first tensor")


async def _module() -> Any:
    """The module executor.js: the worker's of our site, else from this package's own copy of it."""
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
    """An error of executor.js as the package's own."""
    name, text = getattr(e, "name", ""), getattr(e, "message", str(e))
    return RAISED.get(name, DeviceError)(f"gpu: {ADVICE.get(name, '{}').format(text)}")


class WebDevice(Caches):
    """The page's GPU. Buffers and pipelines are numbers of executor.js; only reads wait."""

    kind: Literal["gpu"] = "gpu"
    adapter = identity = None  # a page has no driver names
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
        # one look-up each: a JS attribute costs as much as the call
        self.faults, self.doubts = 0, Doubts()  # where kernels note faults, and which values are of them
        self._alloc, self._write = executor.alloc, executor.write
        self._submit, self._replay = executor.submit, executor.replay

    def __repr__(self) -> str:
        return self.name

    @property
    def lost(self) -> str | None:
        """Why the device is gone, or None."""
        why = self._executor.lost
        # JavaScript's null is an object with a __bool__ of Pyodide's own, a stranger's code to a recording
        return why if isinstance(why, str) else None

    @property
    def can_wait(self) -> bool:
        """Whether the code that runs now may wait for the GPU (JavaScript entered it so that it can)."""
        can_run_sync: Any = import_module("pyodide.ffi").can_run_sync

        return can_run_sync()

    def check(self) -> None:
        """DeviceError if the device was lost."""
        self._call_js(self._executor.check)

    def after_fork(self) -> None:
        """Nothing: pages do not fork."""

    def _call_js(self, call: Any, *args: Any) -> Any:
        try:
            return call(*args)
        except self._error as e:
            raise error_of(e) from None

    def _array(self, data: memoryview) -> Any:
        """Words or bytes as a typed array of JavaScript's, good for one call.

        The array is reused for the next one of its length: an allocation costs ten times the copy.
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
        """A buffer's number. Reading what was written to one that did not fit raises DeviceError."""
        if asked > self.max_binding:
            raise DeviceError(
                f"alloc({asked:,} bytes): {self.name} binds at most {self.max_binding:,} bytes a tensor:"
                " split the tensor"
            )
        return self._alloc(min(size, self.max_binding), usage)

    def free(self, handle: int) -> None:
        """Give the memory back after the next submit."""
        self.ends.extend((FREE, handle))

    def size_of(self, handle: int) -> int:
        """The bytes of a buffer."""
        return self._executor.sizeOf(handle)

    def uniform(self, size: int) -> int:
        """A buffer for the Params of a plan."""
        return self.alloc(size + PARAMS_WINDOW, size, UNIFORM)

    def write(self, handle: int, data: Any) -> None:
        """Copy host bytes to the start of a buffer; the copy is done when this returns."""
        view = memoryview(data).cast("B")
        if view.nbytes:
            self._call_js(self._write, handle, self._array(view))

    def fetch(self, asked: list[tuple[int, int]]) -> "Fetch":
        """Begin to read several buffers, as they are after all that was submitted before, in one go."""
        words = self._words([w for pair in asked for w in pair])
        return Fetch(self._call_js(self._executor.read, words), [n for _, n in asked])

    def read(self, asked: list[tuple[int, int]]) -> list[memoryview]:
        """The bytes of several buffers; FlambeauError if this call may not wait."""
        return self.fetch(asked).wait()

    def wait(self) -> None:
        """Return when everything submitted is done."""
        run_sync: Any = import_module("pyodide.ffi").run_sync

        run_sync(_run_in_page("wait", _call(self._executor, "wait")))

    # --- kernels ---

    def pipeline(self, wgsl: str, label: str, inputs: int, outputs: int = 1, proven: bool = False) -> int:
        """Begin to compile; reading what a bad kernel was to make raises KernelError. Browsers always check
        indices."""
        number = self._executor.pipeline(wgsl, label, inputs, outputs)
        if not self.faults and DECLARED in wgsl:
            self.faults = self._executor.faults
        return number

    def compiled(self, pipeline: int) -> None:
        """Nothing: a page that waited would keep the browser from compiling."""

    def outputs_of(self, pipeline: int) -> int:
        """How many buffers a pipeline writes: the last that it binds."""
        return self._executor.outputsOf(pipeline)

    def prepare(self, *parts: Any) -> "Prepared":
        """What `submit` takes in place of lists of commands (or prepared ones) that come again and again."""
        return Prepared(self, self._executor.prepare(self._to_js(array("I", _join(parts)))), parts)

    def submit(self, *parts: Any) -> None:
        """Run flat lists of commands (or prepared ones): one number or list to JavaScript, one encoder, one
        submit."""
        if len(parts) == 1 and not self.ends and isinstance(parts[0], Prepared):
            return self._call_js(self._replay, parts[0].number)
        words, ends = _join(parts), len(self.ends)
        words += self.ends[:ends]
        self._call_js(self._submit, self._words(words))
        del self.ends[:ends]  # sent; those that came meanwhile are not

    def enqueue(self, *parts: Any) -> None:
        """`submit`: the browser's own process collects commands."""
        self.submit(*parts)

    def keep_pace(self) -> None:
        """Nothing: a page can't wait here."""

    def timestamps(self, *parts: Any) -> "Stamps":
        """`submit` with each kernel, and each run of copies, in passes of their own, and when the GPU began
        and ended them; reading them raises where it has no timestamps."""
        return Stamps(self._call_js(self._executor.timestamps, self._to_js(array("I", flat(parts)))))


def _join(parts: tuple[Any, ...]) -> list[int]:
    """Lists of commands as one, with what is prepared named by its number."""
    words: list[int] = []
    for part in parts:
        words += (REPLAY, part.number) if isinstance(part, Prepared) else part
    return words


class Prepared:
    """Commands that executor.js keeps for as long as this lives; they may name others that it holds."""

    def __init__(self, device: WebDevice, number: int, parts: tuple[Any, ...]):
        self.device, self.number, self.parts = device, number, parts

    @property
    def words(self) -> list[int]:
        return flat(self.parts)

    def __del__(self):
        self.device.ends.extend((FORGET, self.number))


class Stamps:
    """The times of one submit, on their way."""

    def __init__(self, promise: Any):
        self.promise, self.submitted = promise, perf_counter_ns()

    async def arrive(self) -> list[tuple[int, int]]:
        """(begin, end) of each span in ns of the GPU's own clock."""
        JsException: Any = import_module("pyodide.ffi").JsException

        try:
            times = (await self.promise).to_memoryview().cast("B").cast("Q").tolist()
        except JsException as e:
            raise error_of(e) from None
        return list(zip(times[::2], times[1::2], strict=True))

    def wait(self) -> list[tuple[int, int]]:
        run_sync: Any = import_module("pyodide.ffi").run_sync

        return run_sync(_run_in_page("profile", self.arrive()))


class Fetch:
    """Bytes on their way from the GPU: `await fetch.arrive()`, or `fetch.wait()` where that is possible."""

    def __init__(self, promise: Any, sizes: list[int]):
        self.promise, self.sizes = promise, sizes

    async def arrive(self) -> list[memoryview]:
        JsException: Any = import_module("pyodide.ffi").JsException

        try:
            got = (await self.promise).to_memoryview()
        except JsException as e:
            raise error_of(e) from None
        at = 0
        out: list[Any] = []
        for n in self.sizes:
            out.append(got[at : at + n])
            at += -(-n // 4) * 4
        return out

    def wait(self) -> list[memoryview]:
        run_sync: Any = import_module("pyodide.ffi").run_sync

        return run_sync(_run_in_page("read", self.arrive()))


def _run_in_page(name: str, coroutine: Any) -> Any:
    """The coroutine, where run_sync can take it; else an error that says what to do instead."""
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
