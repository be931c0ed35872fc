"""Values read from devices, and held to what they should be."""

import numpy as np

from flambeau.core.host import to_numpy
from flambeau.runtime.run import read


def values(*tensors) -> list[np.ndarray]:
    """The values of several tensors with one submit and one wait."""
    return [to_numpy(raw, t.shape, t.dtype) for raw, t in zip(read(list(tensors)), tensors)]


def check(got, want, tol, what=""):
    """Equal within tol, relative above 1 and absolute below; NaN equals NaN, infinity infinity."""
    want = np.asarray(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, not {want.shape}"
    bad = ~close(got, want, tol)
    assert not bad.any(), (
        f"{what}: got {got[bad][:4]}, want {want[bad][:4]} at {np.argwhere(bad)[:4].tolist()}"
    )


def close(got, want, tol):
    if got.dtype.kind != "f":
        return np.asarray(got) == want
    got, want = got.astype("f8"), want.astype("f8")
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(got - want) <= tol * np.maximum(1, np.abs(want))
        huge = np.isinf(got) & (got == np.sign(want) * np.inf) & (np.abs(want) > 3.4e38)
    return near | (got == want) | (np.isnan(got) & np.isnan(want)) | huge
