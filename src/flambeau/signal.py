"""Windows under the names of torch.signal.windows."""

from collections.abc import Callable
from inspect import unwrap
from types import SimpleNamespace
from typing import Any

from .core.op import COMPOSED
from .core.spelling import without_effect
from .errors import ValueError
from .ops.fft.signal import window_dtype
from .tensor import Tensor

PREFIX = "signal_windows_"
OLDER = {
    "bartlett": COMPOSED["bartlett_window"],
    "blackman": COMPOSED["blackman_window"],
    "hamming": COMPOSED["hamming_window"],
    "hann": COMPOSED["hann_window"],
}

SYMMETRIC = """M: how many points
sym: symmetric, for filters; else a period of a longer window, for spectra
Raises ValueError where dtype is neither float32 nor float64."""


def _by_symmetry(window: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def symmetric(
        M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Tensor:
        dtype = window_dtype(dtype)
        return window(M, not sym, dtype=dtype, device=device, requires_grad=requires_grad)

    symmetric.__doc__ = f"{(unwrap(window).__doc__ or '').partition(chr(10))[0]}\n\n{SYMMETRIC}"
    return without_effect(symmetric)


@without_effect
def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Kaiser's window. -> [M]

    M: how many points
    beta: how far down its sides go
    sym: symmetric, for filters; else a period of a longer window, for spectra
    Raises ValueError where beta is negative; where dtype is neither float32 nor float64.
    """
    if beta < 0:
        raise ValueError(f"kaiser({M}, beta={beta}): beta is negative: give 0 or more")
    dtype = window_dtype(dtype)
    return COMPOSED["kaiser_window"](
        M, not sym, beta, dtype=dtype, device=device, requires_grad=requires_grad
    )


windows = SimpleNamespace(
    kaiser=kaiser,
    **{name: _by_symmetry(f) for name, f in OLDER.items()},
    **{n.removeprefix(PREFIX): f for n, f in COMPOSED.items() if n.startswith(PREFIX)},
)
__all__ = ["windows"]
