"""torch.backends: reports that PyTorch's libraries are not available, and has settings without effect."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from . import gpus


def is_available() -> bool:
    """False: kernels are WGSL, not a library's."""
    return False


is_built = is_macos13_or_newer = is_macos_or_newer = is_available


def version() -> None:
    """None: the library is not used."""


@contextmanager
def flags(*_args: Any, **_kw: Any) -> Generator[None]:
    """A block with other settings, which have no effect."""
    yield


def set_flags(*_args: Any, **_kw: Any) -> tuple[Any, ...]:
    """The settings before, which have no effect."""
    return ()


def is_cuda_built() -> bool:
    """Whether there is a GPU."""
    return gpus.is_available()


class _Products:
    """torch.backends.cuda.matmul: settings that have no effect and keep their values."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    fp32_precision = "none"


class _PlanCache:
    """torch.backends.cuda.cufft_plan_cache: sizes of a cache that is not there."""

    size, max_size = 0, 0

    def clear(self) -> None:
        """Do nothing."""

    def __getitem__(self, device: Any) -> "_PlanCache":
        return self


matmul, cufft_plan_cache = _Products(), _PlanCache()
