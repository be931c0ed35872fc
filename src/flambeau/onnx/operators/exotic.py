"""Tensors into what no device holds: floats of 8 and 4 bits, integers of 4 and 2."""

from typing import Any

from ...tensor import Tensor
from ..convert import numpy_dtype


def to_exotic(x: Tensor, name: str, saturate: bool = True) -> Any:
    """A NumPy array of a dtype of ml_dtypes; floats beyond its range are its largest where it saturates."""
    import numpy as np

    dtype, array = numpy_dtype(name), x.numpy()
    if saturate and name.startswith("float8"):
        import ml_dtypes

        most = float(ml_dtypes.finfo(dtype).max)
        array = np.where(np.isnan(array), array, np.clip(array, -most, most))
    return array.astype(dtype)
