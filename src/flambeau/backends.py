"""The parts of PyTorch's torch.backends that scripts use: whether a GPU is available, and settings."""

from typing import Any, NoReturn

from . import cuda as _cuda
from .core.warn_once import note

CUDNN = "fb.backends.cudnn: settings of cuDNN have no effect here: remove the line"
TF32 = "fb.set_matmul_precision('high') does what allow_tf32 does"


class _Gpu:
    """torch.backends.mps, and the base of .cuda."""

    def is_available(self) -> bool:
        """Whether a GPU is available, as fb.cuda.is_available()."""
        return _cuda.is_available()

    is_built = is_available


class _Matmul:
    def __setattr__(self, name: str, value: Any) -> NoReturn:
        # Unlike cuDNN's settings, precision changes results, so it is not ignored.
        raise AttributeError(f"backends.cuda.matmul.{name} = {value!r}: {TF32}")


class _Cudnn:
    """torch.backends.cudnn. Settings such as benchmark and deterministic are stored and have no effect."""

    # Scripts read these too; WGSL kernels are deterministic.
    enabled, benchmark, deterministic = False, False, True

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_tf32":
            raise AttributeError(f"backends.cudnn.{name} = {value!r}: {TF32}")
        note(CUDNN)
        object.__setattr__(self, name, value)

    def is_available(self) -> bool:
        """Return False: kernels are WGSL, not cuDNN's."""
        return False


class _Cuda(_Gpu):
    matmul = _Matmul()


cuda, mps, cudnn = _Cuda(), _Gpu(), _Cudnn()
__all__ = ["cuda", "cudnn", "mps"]
