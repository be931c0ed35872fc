"""Facts about torch: its version, its settings, and the folders of its files."""

import os
from pathlib import Path
from typing import Any

from .table import VERSION


def show() -> str:
    """torch.__config__.show(): the text that describes a build."""
    return f"Flambeau, as PyTorch {VERSION}\n  - Kernels: WGSL on WebGPU, NumPy on the CPU\n"


def parallel_info() -> str:
    """torch.__config__.parallel_info(): the threads of the CPU device, which are NumPy's."""
    return f"NumPy's threads: {os.environ.get('OPENBLAS_NUM_THREADS') or os.cpu_count()}\n"


def torch_home() -> str:
    """The folder of torch's caches: TORCH_HOME, or torch in XDG_CACHE_HOME or ~/.cache."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return str(Path(os.environ.get("TORCH_HOME", str(Path(cache) / "torch"))).expanduser())


_get_torch_home = torch_home


def _default_to_fused_or_foreach(  # pyright: ignore[reportUnusedFunction]  # torch.optim.optimizer has this name
    params: Any, differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Whether optimisers choose torch's fused, or its foreach form: neither, as one plan updates all."""
    return False, False
