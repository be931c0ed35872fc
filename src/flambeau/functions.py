"""The op table as functions: fb.exp(x) is x.exp(), and the few functions that are no methods."""

from collections.abc import Sequence
from threading import Lock
from typing import Any

from . import ops
from .core.docstrings import explained
from .core.dtype import DTYPES, DType, as_dtype, combine, dtype_of_scalar, promote
from .core.events import stage
from .core.host import to_list
from .core.op import COMPOSED, OPS, Op, result_of
from .device import get_device
from .errors import TypeError, ValueError
from .ops.creation import (
    arange,
    cartesian_prod,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    logspace,
    meshgrid,
    ones,
    ones_like,
    tril_indices,
    triu_indices,
    vander,
    zeros,
    zeros_like,
)
from .ops.distribution import (
    bernoulli,
    cauchy,
    exponential,
    geometric,
    gumbel,
    laplace,
    log_normal,
    multinomial,
    normal,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
    uniform,
)
from .runtime import readback, run
from .runtime.exchange import shared
from .tensor import Tensor, tensor


def as_tensor(data: Any, dtype=None, device=None) -> Tensor:
    """A tensor of data; a tensor that is as wanted is returned itself. TypeError for an unknown dtype."""
    if isinstance(data, Tensor):
        return data.to(device, None if dtype is None else as_dtype(dtype))
    return tensor(data, dtype, device)


@explained
def from_numpy(ndarray: Any, device=None) -> Tensor:
    """A tensor of a NumPy array, copied."""
    return tensor(ndarray, device=device)


@explained
def from_dlpack(ext_tensor: Any, device=None) -> Tensor:
    """A tensor of another library's array. On an array device the memory is shared, and not to be written to;
    a GPU copies what the host can read."""
    if isinstance(ext_tensor, Tensor):
        return ext_tensor if device is None else ext_tensor.to(device)
    to = get_device(device)
    library = to if to.kind == "cpu" else get_device("cpu")
    assert library.kind == "cpu"
    array = library.xp.from_dlpack(ext_tensor)
    if to.kind != "cpu" or to.xp.name_of(array) not in DTYPES:
        return tensor(array if to.kind != "cpu" else to.xp.to_host(array), device=to)
    return Tensor(shared(array, DTYPES[to.xp.name_of(array)], to))


def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None) -> Tensor:
    """`input` where the condition is true, else `other`; of a condition alone its nonzero(as_tuple=True).

    [...], [...], [...] -> [...]. out: a tensor that takes the result, and is returned. TypeError where one
    of input and other is missing.
    """
    if input is None and other is None:
        found: Any = condition.nonzero(as_tuple=True)
        return found
    if input is None or other is None:
        raise TypeError("where(): takes a condition, or that with input and other: give both")
    chosen: Any = OPS["where"](condition, input, other, **({} if out is None else {"out": out}))
    return chosen


def result_type(*tensors: Any) -> DType:
    """The dtype that an operation on tensors and numbers has, by PyTorch's rules: those with dims promote,
    0-d tensors and then numbers only where their category (bool, integer, float) is higher.

    ValueError where nothing is given.
    """
    nodes = [t.node for t in tensors if isinstance(t, Tensor)]
    scalars = [dtype_of_scalar(t) for t in tensors if not isinstance(t, Tensor)]
    found = combine(result_of(nodes), promote(*scalars) if scalars else None)
    if found is None:
        raise ValueError("result_type(): needs at least one tensor or number")
    return found


def is_floating_point(input: Tensor) -> bool:
    """Whether a tensor's elements are floats."""
    return input.is_floating_point()


@explained
def is_tensor(obj: Any) -> bool:
    """Whether something is a tensor."""
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def is_complex(input: Tensor) -> bool:
    """Whether a tensor's elements are complex numbers."""
    return input.is_complex()


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has numbers below 0."""
    return input.is_signed()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the shapes are equal."""
    return input.is_same_size(other)


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not 0; runs the graph and waits."""
    return input.is_nonzero()


def realize(*tensors: Tensor) -> None:
    """Run what several tensors need in one submit, without waiting for it."""
    run.realize(*tensors)


class Reading(Sequence[Any]):
    """The values of several tensors as nested lists: a sequence, whose first use waits, or `await` it."""

    def __init__(self, tensors: tuple[Tensor, ...]):
        self._tensors, self._fetch = tensors, readback.Readback(list(tensors))
        self._lists: list | None = None
        self._lock = Lock()  # several threads may ask

    def _with(self, raw: list[Any]) -> list[Any]:
        if self._lists is None:
            pairs = zip(raw, self._tensors, strict=True)
            self._lists = [to_list(part, t.shape, t.dtype) for part, t in pairs]
        return self._lists

    def _waited(self) -> list[Any]:
        with self._lock:
            return self._lists if self._lists is not None else self._with(self._fetch.wait())

    async def _arrived(self) -> list[Any]:
        return self._with(await self._fetch.arrive())

    def __await__(self) -> Any:  # a Generator, whose name is that of random numbers in the stub
        return self._arrived().__await__()

    def __len__(self) -> int:
        return len(self._tensors)

    def __getitem__(self, i: Any) -> Any:
        return self._waited()[i]

    def __eq__(self, other: Any) -> bool:
        return self._waited() == (list(other) if isinstance(other, Reading) else other)

    def __repr__(self) -> str:
        return repr(self._waited())


def read(*tensors: Tensor) -> Reading:
    """The values of several tensors as nested lists, with one wait: `a, b = await fb.read(x, y)`.

    Without `await` it is a sequence whose first use waits, which a browser's main thread may refuse.
    """
    return Reading(tensors)


def synchronize(device: Any = None) -> None:
    """Return when everything submitted to the device is done."""
    with stage("wait"):
        get_device(device).wait()


def memory(device: Any = None) -> dict[str, int]:
    """Bytes in use now (live), at most so far (peak), taken from the driver (reserved), and how often it
    was asked."""
    pool, names = get_device(device).pool, ("live", "peak", "reserved", "allocations")
    return {n: getattr(pool, n) if pool else 0 for n in names}


def _table() -> dict[str, Any]:
    """Every public entry of the families but what is in place, and the composed functions that are no
    methods."""
    found: dict[str, Any] = {}
    for family in ops.FAMILIES:
        for name, entry in vars(family).items():
            if (
                not name.startswith("_")
                and not name.endswith("_")
                and (isinstance(entry, Op) or callable(entry))
            ):
                found[name] = entry
    return found | {name: COMPOSED[name] for name in (*ops.names("FUNCTIONS"), *FROM_NN)}


concat = concatenate = COMPOSED["cat"]
row_stack, trapz = COMPOSED["vstack"], COMPOSED["trapezoid"]
# functions of nn.functional that PyTorch has in the package as well, with the same arguments
FROM_NN = (
    "adaptive_avg_pool1d",
    "adaptive_max_pool1d",
    "alpha_dropout",
    "avg_pool1d",
    "celu",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_similarity",
    "dropout",
    "feature_alpha_dropout",
    "group_norm",
    "hardshrink",
    "layer_norm",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "prelu",
    "rms_norm",
    "rrelu",
    "selu",
    "threshold",
)
globals().update({k: v for k, v in _table().items() if k not in globals()})
__all__ = sorted(
    {
        "as_tensor",
        "concat",
        "concatenate",
        "from_dlpack",
        "from_numpy",
        "is_complex",
        "is_floating_point",
        "is_nonzero",
        "is_same_size",
        "is_signed",
        "is_tensor",
        "memory",
        "numel",
        "read",
        "realize",
        "result_type",
        "row_stack",
        "synchronize",
        "trapz",
        "where",
        *_table(),
    }
)
