"""torch.device, the name of a device, which opens nothing; Flambeau's devices in torch mode."""

from functools import wraps
from typing import Any

from ..core.dtype import PYTHON, DType, complex128, float64
from ..core.host import Doubles
from ..core.warn_once import silence
from ..device import ANY_MAKE, default, get_device
from ..device.protocol import Caches
from ..errors import DeviceError, TypeError
from ..tensor import Tensor
from .switch import add_patch, at_start

GPU_NAMES = ("cuda", "mps", "xpu", "gpu")
_KINDS = """
cpu cuda mps xpu meta mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan hpu mtia privateuseone
"""
KINDS = frozenset(_KINDS.split())


class _DeviceType(type):
    """isinstance(x, torch.device) is true for Flambeau's devices too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, Caches)


class TorchDevice(metaclass=_DeviceType):
    """The name of a device, such as torch.device("cuda", 0). It opens no device.

    type: "cpu", "cuda", ..., perhaps with a number, or another device. index: the number.
    """

    type: str
    index: int | None
    __slots__ = ("_entered", "index", "type")

    def __init__(self, type: Any = None, index: int | None = None, *, device: Any = None):
        spec = device if type is None else type
        if isinstance(spec, int) and not isinstance(spec, bool):
            spec, index = "cuda", spec
        if not isinstance(spec, str):
            kind, number = _facts(spec)
        else:
            kind, colon, digits = spec.partition(":")
            # Libraries compare `device.type == "cuda"` to choose the GPU's path.
            kind = "cuda" if kind == "gpu" else kind
            if kind not in KINDS or (colon and not digits.isdigit()):
                rule = f"unknown device: use one of {', '.join(sorted(KINDS))}, with or without a number"
                raise DeviceError(f"device({spec!r}): {rule}")
            number = int(digits) if colon else None
        object.__setattr__(self, "type", kind)
        object.__setattr__(self, "index", number if index is None else index)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"device.{name} = {value!r}: devices are immutable: create another one")

    @property
    def device(self) -> Any:
        """Flambeau's open device of this name: the object that `x.device` is. DeviceError if there is
        none."""
        if self.type in GPU_NAMES:
            return get_device("gpu" if self.index is None else f"gpu:{self.index}")
        return get_device(self.type)

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, TorchDevice):
            return NotImplemented
        return _facts(self) == _facts(other)

    def __hash__(self) -> int:
        return hash(_facts(self))

    def __enter__(self) -> Any:
        opened = get_device(self)
        default.enter(opened)
        return self

    def __exit__(self, *_: Any) -> None:
        default.leave()

    def __reduce__(self) -> tuple[Any, ...]:
        return TorchDevice, _facts(self)

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        number = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{number})"

    def __call__(self, function: Any) -> Any:
        """As a decorator: the device is the default one inside the function."""

        @wraps(function)
        def call(*args: Any, **kw: Any) -> Any:
            with self:
                return function(*args, **kw)

        return call


device = TorchDevice  # the name in pickles
TorchDevice.__name__ = TorchDevice.__qualname__ = "device"


def _facts(spec: Any) -> tuple[str, int | None]:
    """The type and number of a device or of a tensor's device."""
    if isinstance(spec, Caches):
        return (
            ("cuda", spec.index)
            if getattr(spec, "kind", "") == "gpu"
            else (spec.name.partition(":")[0], None)
        )
    if isinstance(spec, TorchDevice):
        return spec.type, spec.index
    if isinstance(spec, Tensor):
        return _facts(spec.device)
    raise TypeError(f"device({spec!r}): takes a name, a number or a device: use 'cpu' or 'cuda'")


def _type(self: Caches) -> str:
    """ "cpu" or "cuda"."""
    return _facts(self)[0]


def _is_equal(self: Caches, other: Any) -> Any:
    return _facts(self) == _facts(other) if isinstance(other, TorchDevice) else NotImplemented


def _hash(self: Caches) -> int:
    return hash(_facts(self))


def _text(self: Caches) -> str:
    return str(TorchDevice(self))


def _repr(self: Caches) -> str:
    return repr(TorchDevice(self))


def _dtype_repr(self: DType) -> str:
    return f"torch.{self.name}"


add_patch(DType, "__repr__", _dtype_repr)
add_patch(Caches, "type", property(_type))
for _name, _function in {"__eq__": _is_equal, "__hash__": _hash, "__str__": _text, "__repr__": _repr}.items():
    add_patch(Caches, _name, _function)


@at_start
def _use_torchs_python_types() -> Any:
    """As a dtype, Python's float is float64, and its complex complex128."""
    before = dict(PYTHON)
    PYTHON.update({float: float64, complex: complex128})

    def restore() -> None:
        PYTHON.update(before)

    return restore


@at_start
def _name_the_gpu() -> Any:
    """ "cuda" is the name of the GPU here, without the warning that it has elsewhere."""
    return silence(ANY_MAKE)


@at_start
def _use_the_cpu() -> Any:
    """The default device is the CPU, where NumPy is; afterwards it is the one before."""
    before = default.process
    try:
        default.process = get_device("cpu")
    except DeviceError:  # a page without NumPy
        return None

    def restore() -> None:
        default.process = before

    return restore


# torch.tensor(numpy.zeros(3)) has float64 on the CPU; GPUs lack it, so there it is float32
add_patch(Doubles, "are_kept", True)
