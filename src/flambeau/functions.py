"""The op table as functions: fb.exp(x) is x.exp(), and the few functions that are no methods."""

from typing import Any

from . import ops, run
from .device import get_device
from .dtype import float32
from .op import COMPOSED, Op
from .ops.random import rand, randint, randn
from .tensor import Tensor

full, zeros, ones, arange = Tensor.full, Tensor.zeros, Tensor.ones, Tensor.arange


def empty(*shape, dtype=float32, device=None) -> Tensor:
    """A tensor whose values are not to be relied on (zeros). (2, 3) -> [2, 3]"""
    return zeros(*shape, dtype=dtype, device=device)


def eye(n: int, m: int | None = None, device=None) -> Tensor:
    """Ones on the diagonal. n -> [n, n] (or [n, m])"""
    rows, columns = arange(n, device=device).unsqueeze(1), arange(n if m is None else m, device=device)
    return (rows == columns).float()


def linspace(start: float, end: float, steps: int, device=None) -> Tensor:
    """`steps` numbers from start to end, both included. -> [steps]"""
    return arange(steps, device=device).float() * ((end - start) / max(steps - 1, 1)) + start


def zeros_like(x: Tensor) -> Tensor:
    """Zeros of the shape, dtype and device of x."""
    return full(x.shape, 0, x.dtype, x.device)


def ones_like(x: Tensor) -> Tensor:
    """Ones of the shape, dtype and device of x."""
    return full(x.shape, 1, x.dtype, x.device)


def full_like(x: Tensor, value) -> Tensor:
    """One number in the shape, dtype and device of x."""
    return full(x.shape, value, x.dtype, x.device)


def rand_like(x: Tensor) -> Tensor:
    """Uniform in [0, 1) in the shape and on the device of x."""
    return rand(*x.shape, device=x.device)


def randn_like(x: Tensor) -> Tensor:
    """Standard normal in the shape and on the device of x."""
    return randn(*x.shape, device=x.device)


def where(condition: Tensor, input: Any, other: Any) -> Tensor:
    """`input` where the condition is true, else `other`. [...], [...], [...] -> [...]"""
    return condition.where(input, other)


def realize(*tensors: Tensor) -> None:
    """Run what several tensors need in one submit, without waiting for it."""
    run.realize(*tensors)


def read(*tensors: Tensor) -> list:
    """The values of several tensors as nested lists, with one wait."""
    from .host import to_list

    return [to_list(raw, t.shape, t.dtype) for raw, t in zip(run.read(list(tensors)), tensors, strict=True)]


def synchronize(device: Any = None) -> None:
    """Return when everything submitted to the device is done."""
    get_device(device).wait()


def memory(device: Any = None) -> dict[str, int]:
    """Bytes in use now (live), at most so far (peak), taken from the driver (reserved), and how often it
    was asked."""
    pool = getattr(get_device(device), "pool", None)
    names = ("live", "peak", "reserved", "allocations")
    return {n: getattr(pool, n, 0) for n in names}


def _table() -> dict[str, Any]:
    """Every public entry of the families, and the composed functions that are no methods."""
    found: dict[str, Any] = {}
    for family in ops.FAMILIES:
        for name, entry in vars(family).items():
            if not name.startswith("_") and (isinstance(entry, Op) or callable(entry)):
                found[name] = entry
    return found | {name: COMPOSED[name] for name in ops.names("FUNCTIONS")}


globals().update({k: v for k, v in _table().items() if k not in globals()})
__all__ = sorted(
    {
        "arange", "empty", "eye", "full", "full_like", "linspace", "memory", "ones", "ones_like", "rand",
        "rand_like", "randint", "randn", "randn_like", "read", "realize", "synchronize", "where", "zeros",
        "zeros_like", *_table(),
    }
)  # fmt: skip
