"""The interface of devices, and the caches that each device owns.

There are two kinds: devices that run kernels (a GPU, native or in a browser), and devices that evaluate op
after op by an array library. `device.kind` distinguishes them, for type checkers as well.
"""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from ..core.faults import Doubts
    from ..core.limits import Limits
    from ..core.node import Node
    from ..kernels.ir import Shader
    from ..profiling.meter import Meter
    from ..profiling.roofline import Ceilings
    from ..runtime.pipeline import Compiled
    from .adapters import Adapter
    from .memory import Pool
    from .tuned import AdapterIdentity


class Caches:
    """The base class of devices: caches that other packages keep per device."""

    name: str
    holds_values = True  # False for "meta", which has only shapes and dtypes

    def __init__(self) -> None:
        self.plans: dict[tuple[Any, ...], Compiled] = {}  # by the structure of a graph
        self.pipelines: dict[Shader, int] = {}
        # pipelines of saved programs, by (text, number of inputs, number of outputs)
        self.saved_pipelines: dict[tuple[str, int, int], int] = {}
        self.ceilings: Ceilings | None = None  # set when they are measured
        self.meter: Meter | None = None  # set when the clock is tested

    def __repr__(self) -> str:
        return self.name

    @property
    def type(self) -> str:
        """ "gpu", "cpu", or the array library: the first part of the name."""
        return self.name.partition(":")[0]

    @property
    def index(self) -> int | None:
        """A GPU's number; None for other devices."""
        from . import number_of

        return number_of(self)

    def __enter__(self) -> Any:
        """Make it the default device until the block ends."""
        from . import default

        default.enter(self)
        return self

    def __exit__(self, *_: Any) -> None:
        from . import default

        default.leave()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as its name, with which tensors are pickled."""
        from . import reopen

        return reopen, (self.name,)


class Arriving(Protocol):
    """A pending read from a device."""

    def wait(self) -> list[Any]:
        """Block until the values have arrived, and return them."""
        ...

    async def arrive(self) -> list[Any]:
        """`wait` for async code."""
        ...


class Ticket(Arriving, Protocol):
    """The pending times of one submit: (begin, end) of each span in ns of the GPU's clock."""

    submitted: int  # time of the submit, in ns of the host's clock


@runtime_checkable
class Common(Protocol):
    """The interface of every device."""

    name: str
    holds_values: bool
    limits: "Limits"
    plans: "dict[tuple[Any, ...], Compiled]"

    @property
    def type(self) -> str:
        """ "gpu", "cpu", or the array library."""
        ...

    @property
    def index(self) -> int | None:
        """The number of a GPU, None of others."""
        ...

    @property
    def lock(self) -> AbstractContextManager[Any, Any]:
        """Held from taking the first buffer of a run to the submit of its commands."""
        ...

    @property
    def lost(self) -> str | None:
        """The reason of the device's loss, or None."""
        ...

    @property
    def can_wait(self) -> bool:
        """Whether the calling code may block until the device is ready."""
        ...

    @property
    def adapter(self) -> "Adapter | None":
        """The adapter that was opened; None in a browser, which does not report it."""
        ...

    @property
    def identity(self) -> "AdapterIdentity | None":
        """The identity for which measurements on this device are stored; None if none are."""
        ...

    @property
    def pool(self) -> "Pool | None":
        """The pool of its memory; None if an array library manages it."""
        ...

    def wait(self) -> None:
        """Block until everything submitted is done."""
        ...

    def keep_pace(self) -> None:
        """Block, without the lock, while too many submits are pending."""
        ...

    def after_fork(self) -> None:
        """Make the device usable in a forked child process."""
        ...


@runtime_checkable
class Gpu(Common, Protocol):
    """A device that runs kernels. Integers stand for buffers and pipelines; commands are flat lists (see
    core/commands.py)."""

    kind: Literal["gpu"]
    max_binding: int  # bytes of the largest buffer that a kernel can bind
    faults: int  # the buffer in which kernels record faults; 0 before the first such kernel
    doubts: "Doubts"  # the values that may depend on such faults
    compilers: int  # how many kernels are compiled in parallel
    pipelines: "dict[Shader, int]"
    saved_pipelines: dict[tuple[str, int, int], int]
    ceilings: "Ceilings | None"
    meter: "Meter | None"

    @property
    def pool(self) -> "Pool":
        """The pool of its memory."""
        ...

    def check(self) -> None:
        """DeviceError if the device was lost."""
        ...

    def alloc(self, size: int, asked: int) -> int:
        """Allocate a buffer and return its number. DeviceError, here or at its read, if `asked` bytes do not
        fit."""
        ...

    def uniform(self, size: int) -> int:
        """Allocate a buffer for the Params of a plan."""
        ...

    def free(self, handle: int) -> None:
        """Free a buffer."""
        ...

    def size_of(self, handle: int) -> int:
        """The size of a buffer in bytes."""
        ...

    def write(self, handle: int, data: Any) -> None:
        """Copy host bytes to the start of a buffer; the copy is done when this returns."""
        ...

    def fetch(self, asked: list[tuple[int, int]]) -> Arriving:
        """Begin to read (buffer, bytes) with their content after all previous submits."""
        ...

    def read(self, asked: list[tuple[int, int]]) -> list[Any]:
        """`fetch`, and wait for it."""
        ...

    def pipeline(self, wgsl: str, label: str, inputs: int, outputs: int = 1, proven: bool = False) -> int:
        """Begin to compile WGSL that binds `inputs` buffers to read and then `outputs` to write. proven: its
        accesses were proven to be in bounds, so it may run without checks."""
        ...

    def compiled(self, pipeline: int) -> Any:
        """Wait until a pipeline is compiled, if the device can wait; KernelError if the driver rejects it."""
        ...

    def outputs_of(self, pipeline: int) -> int:
        """The number of buffers that a pipeline writes; they are bound last."""
        ...

    def prepare(self, *parts: Any) -> Any:
        """A prepared form of lists of commands (or prepared ones) that are submitted repeatedly."""
        ...

    def submit(self, *parts: Any) -> None:
        """Run lists of commands (or prepared ones), in order."""
        ...

    def enqueue(self, seconds: float, *parts: Any) -> None:
        """`submit`, maybe together with later commands. seconds: an estimate of the GPU's time for them."""
        ...

    def timestamps(self, *parts: Any) -> Ticket:
        """`submit` with the times of each kernel and of adjacent copies. DeviceError, here or when they are
        read, if the device has no timestamps."""
        ...


@runtime_checkable
class Arrays(Common, Protocol):
    """A device that evaluates each op by its reference. `array` of a value is the library's array."""

    kind: Literal["cpu"]
    xp: Any  # the library's Namespace
    numpy: Any  # NumPy's Namespace, for functions that the library lacks

    def compute(self, roots: "list[Node]", order: "list[Node] | None" = None) -> None:
        """Compute the values of the roots."""
        ...

    def store(self, data: Any, shape: Any, dtype: Any) -> Any:
        """Copy host data to a new value."""
        ...

    def load(self, array: Any, dtype: Any) -> bytes:
        """The bytes of a value in the layout of a GPU's buffer."""
        ...

    def hold(self, array: Any) -> Any:
        """A value that holds an array of the library."""
        ...

    def take(self, array: Any, device: Any, dtype: Any) -> Any:
        """Convert a value of another array device to one of this device."""
        ...


Device = Gpu | Arrays
