"""A row of the op test table under autocast, ours and PyTorch's for CUDA, into the dtypes that come out."""

import numpy as np
from rows import ROWS

import flambeau as fb
from flambeau.core.dtype import DTYPES
from flambeau.core.op import COMPOSED, OPS
from helpers.inputs import main_kind

PATTERNS = ("ff", "hh", "hf", "fh")  # the first and the other float inputs: float32 or float16
LETTERS = {"f": "float32", "h": "float16"}
# PyTorch has factors and spectra of float16 where ours are float32
FACTORS = ("linalg_", "fft_", "cholesky", "qr", "svd", "complex", "polar", "view_as_complex", "geqrf", "lu_")


def function(torch, name):
    """PyTorch's operation of a name, or None."""
    for prefix, space in (("linalg_", torch.linalg), ("fft_", torch.fft)):
        if name.startswith(prefix):
            return getattr(space, name.removeprefix(prefix), None)
    spaces = (torch, torch.nn.functional, torch.special, torch.Tensor)
    return next((getattr(s, name) for s in spaces if hasattr(s, name)), None)


def both(torch, theirs, name, pattern):
    """The dtypes of PyTorch's results and of ours; None where one refuses the row."""
    row, draw = ROWS[name], np.random.default_rng(1)
    main, arrays = main_kind(row), []
    for i in row.inputs:
        a = np.abs(i.make(draw))
        arrays.append((a.astype("i8") if a.dtype.kind in "iu" else a, i.kind == main == "f"))
    floats = iter(pattern + pattern[-1] * len(arrays))
    given = [LETTERS[next(floats)] if is_float else None for _, is_float in arrays]
    if pattern in ("hf", "fh") and given.count(None) > len(given) - 2:
        return None, None
    ts = [
        torch.empty(a.shape, device="cuda", dtype=getattr(torch, d or str(a.dtype)))
        for (a, _), d in zip(arrays, given, strict=True)
    ]
    want = attempt(lambda: theirs(*ts, **row.attrs))
    if want is None:
        return None, None
    xs = [fb.tensor(a, device="cpu") for a, _ in arrays]
    xs = [x if d is None else x.to(DTYPES[d]) for x, d in zip(xs, given, strict=True)]
    with fb.autocast(dtype=fb.float16):
        return want, attempt(lambda: (OPS.get(name) or COMPOSED[name])(*xs, **row.attrs))


def is_factor(name, want):
    """Whether PyTorch computes in float16 what GPUs compute in float32 at least."""
    return name.startswith(FACTORS) and any(d in ("float16", "complex32") for d in want)


def attempt(call):
    try:
        return [str(y.dtype).split(".")[-1] for y in flat(call())]
    except Exception:  # whatever a library refuses with
        return None


def flat(y):
    if isinstance(y, tuple | list):
        return [t for part in y for t in flat(part)]
    return [y] if hasattr(y, "dtype") else []
