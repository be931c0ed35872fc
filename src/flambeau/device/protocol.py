"""The device seam: what the package asks of a device, and what is kept with each.

There are two kinds: those that run kernels (a GPU, native or the page's), and those that evaluate op after op
on an array library. `device.kind` tells them apart, for pyright too.
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
    from .pool import Pool
    from .tuned import AdapterIdentity


class Caches:
    """What others keep with a device, since it holds for that one alone; every device is one."""

    name: str

    def __init__(self):
        self.plans: dict[tuple[Any, ...], Compiled] = {}  # by the structure of a graph
        self.pipelines: dict[Shader, int] = {}
        self.saved_pipelines: dict[
            tuple[str, int, int], int
        ] = {}  # saved programs': by text, inputs, outputs
        self.ceilings: Ceilings | None = None  # once they are measured
        self.meter: Meter | None = None  # once its clock is tested

    @property
    def type(self) -> str:
        """ "gpu", "cpu", or the array library: what stands first in its name."""
        return self.name.partition(":")[0]

    @property
    def index(self) -> int | None:
        """The number of a GPU, None of others."""
        from . import number_of

        return number_of(self)

    def __enter__(self) -> Any:
        """Tensors that name no device are made here until the block ends."""
        from . import default

        default.enter(self)
        return self

    def __exit__(self, *_: Any) -> None:
        from . import default

        default.leave()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """By its name: what is pickled with a tensor."""
        from . import reopened

        return reopened, (self.name,)


class Arriving(Protocol):
    """What is on its way from a device."""

    def wait(self) -> list[Any]:
        """It, as soon as it is there."""
        ...

    async def arrive(self) -> list[Any]:
        """It, for who can't wait."""
        ...


class Ticket(Arriving, Protocol):
    """The times of one submit, on their way: (begin, end) of each span in ns of the GPU's own clock."""

    submitted: int  # when, in ns of the host's clock


@runtime_checkable
class Common(Protocol):
    """What every device answers."""

    name: str
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
        """Held from the first buffer that is taken to the submit of the commands that name it."""
        ...

    @property
    def lost(self) -> str | None:
        """Why the device is gone, or None."""
        ...

    @property
    def can_wait(self) -> bool:
        """Whether the code that runs now may wait for the device."""
        ...

    @property
    def adapter(self) -> "Adapter | None":
        """What was opened, where a driver tells of it: not in a page."""
        ...

    @property
    def identity(self) -> "AdapterIdentity | None":
        """What measurements hold for that are made here; None where none is kept."""
        ...

    @property
    def pool(self) -> "Pool | None":
        """Its memory; None where an array library has it."""
        ...

    def wait(self) -> None:
        """Return when everything submitted is done."""
        ...

    def keep_pace(self) -> None:
        """Wait while too many submits are under way, without the lock."""
        ...

    def after_fork(self) -> None:
        """In a forked child: become what can be used there."""
        ...


@runtime_checkable
class Gpu(Common, Protocol):
    """A device that runs kernels. Buffers and pipelines are its numbers for them; commands are flat lists of
    core/commands.py."""

    kind: Literal["gpu"]
    max_binding: int  # bytes of the largest buffer that a kernel can bind
    faults: int  # the buffer where kernels note indices outside their dim; 0 before there is such a kernel
    doubts: "Doubts"  # which values may be of such faults
    compilers: int  # how many kernels are compiled at once
    pipelines: "dict[Shader, int]"
    saved_pipelines: dict[tuple[str, int, int], int]
    ceilings: "Ceilings | None"
    meter: "Meter | None"

    @property
    def pool(self) -> "Pool":
        """Its memory."""
        ...

    def check(self) -> None:
        """DeviceError if the device was lost."""
        ...

    def alloc(self, size: int, asked: int) -> int:
        """A buffer's number; DeviceError, here or when it is read, where `asked` bytes do not fit."""
        ...

    def uniform(self, size: int) -> int:
        """A buffer for the Params of a plan."""
        ...

    def free(self, handle: int) -> None:
        """Give a buffer's memory back."""
        ...

    def size_of(self, handle: int) -> int:
        """The bytes of a buffer."""
        ...

    def write(self, handle: int, data: Any) -> None:
        """Copy host bytes to the start of a buffer; the copy is done when this returns."""
        ...

    def fetch(self, asked: list[tuple[int, int]]) -> Arriving:
        """Begin to read (buffer, bytes) as they are after all that was submitted before."""
        ...

    def read(self, asked: list[tuple[int, int]]) -> list[Any]:
        """`fetch`, waited for."""
        ...

    def pipeline(self, wgsl: str, label: str, inputs: int, outputs: int = 1, proven: bool = False) -> int:
        """Begin to compile WGSL that reads `inputs` buffers and then writes `outputs`; proven to stay in
        them, it may run without checks."""
        ...

    def compiled(self, pipeline: int) -> Any:
        """Wait until a pipeline is compiled, where that is possible; KernelError where it is refused."""
        ...

    def outputs_of(self, pipeline: int) -> int:
        """How many buffers a pipeline writes: the last that it binds."""
        ...

    def prepare(self, *parts: Any) -> Any:
        """What `submit` takes in place of lists of commands (or prepared ones) that come again and again."""
        ...

    def submit(self, *parts: Any) -> None:
        """Run lists of commands (or prepared ones), in order."""
        ...

    def timestamps(self, *parts: Any) -> Ticket:
        """`submit` with the times of each kernel and each run of copies; DeviceError, here or when they are
        read, where the device has none."""
        ...


@runtime_checkable
class Arrays(Common, Protocol):
    """A device that evaluates each op by its reference. A value has the library's array as its `array`."""

    kind: Literal["cpu"]
    xp: Any  # the library's Namespace
    numpy: Any  # NumPy's, for what the library can't do

    def compute(self, roots: "list[Node]") -> None:
        """Give every root its value."""
        ...

    def store(self, data: Any, shape: Any, dtype: Any) -> Any:
        """Host data as a value of its own."""
        ...

    def load(self, array: Any, dtype: Any) -> bytes:
        """A value's bytes as a GPU would store them."""
        ...

    def hold(self, array: Any) -> Any:
        """An array of the library's as a value."""
        ...

    def take(self, array: Any, device: Any, dtype: Any) -> Any:
        """Another array device's value as one of this one's."""
        ...


Device = Gpu | Arrays
