"""PyTorch's torch.backends, as far as scripts ask it: whether there is a GPU, and settings."""

from typing import Any, NoReturn

from . import cuda as _cuda
from .core.warn_once import note

CUDNN = "fb.backends.cudnn: settings of cuDNN have no effect here: remove the line"
TF32 = "fb.set_matmul_precision('high') does what allow_tf32 does"


class _Gpu:
    """What torch.backends.cuda and .mps are asked."""

    def is_available(self) -> bool:
        """Whether there is a GPU, as fb.cuda.is_available()."""
        return _cuda.is_available()

    is_built = is_available


class _Matmul:
    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"backends.cuda.matmul.{name} = {value!r}: {TF32}")


class _Cudnn:
    """Scripts set benchmark, deterministic and enabled; what is set is kept, and read by nobody."""

    enabled, benchmark, deterministic = False, False, True

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_tf32":
            raise AttributeError(f"backends.cudnn.{name} = {value!r}: {TF32}")
        note(CUDNN)
        object.__setattr__(self, name, value)

    def is_available(self) -> bool:
        """False: kernels are WGSL."""
        return False


class _Cuda(_Gpu):
    matmul = _Matmul()


cuda, mps, cudnn = _Cuda(), _Gpu(), _Cudnn()
__all__ = ["cuda", "cudnn", "mps"]
