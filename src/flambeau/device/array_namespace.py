"""Array libraries (NumPy, torch, CuPy, JAX and others) as one namespace with the array API's names."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache, partial
from importlib import import_module
from typing import Any

from ..errors import DeviceError

# library -> the module of its array API functions
MODULES = {
    "numpy": "numpy",
    "torch": "array_api_compat.torch",
    "cupy": "array_api_compat.cupy",
    "jax": "jax.numpy",
    "array_api_strict": "array_api_strict",
}
# The array API's name -> NumPy's: NumPy 1.26 has only the second, other libraries only the first.
NUMPY = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "bool": "bool_",
    "concat": "concatenate",
    "permute_dims": "transpose",
    "pow": "power",
}
STANDARD = {**{v: k for k, v in NUMPY.items()}, "bitwise_not": "bitwise_invert"}
WIDER = {
    "torch": {"uint16": "int32", "uint32": "int64", "uint64": "int64"}
}  # types that a library hardly computes with
CREATING = ("arange", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros")


@cache
def module_of(library: str) -> Any:
    """Import the library's functions; DeviceError says what to install."""
    try:
        return import_module(MODULES[library])
    except ImportError as e:
        if library == "numpy":
            raise
        need = f"pip install {library.replace('_', '-')}"
        need = "pip install 'flambeau[arrays]'" if "array_api_compat" in str(e) else need
        raise DeviceError(f"device({library!r}): can't be loaded ({e}): {need}") from e


class Namespace:
    """The `xp` of references: a library's functions, and our own (OWN) for those it lacks."""

    def __init__(self, library: str, where: str = ""):
        self.library, self.module = library, module_of(library)
        self.is_numpy = library == "numpy"
        self.place = device_named(library, where)
        self.fault: Any = None  # an index out of range in the current op (see `faults`)

    def __getattr__(self, name: str) -> Any:
        function = self._find(name)
        setattr(self, name, function)  # the next lookup skips __getattr__
        return function

    def _find(self, name: str) -> Any:
        own = OWN.get((self.library, name)) or (None if hasattr(self.module, name) else OWN.get(("", name)))
        if own is not None:
            return partial(own, self)
        if name in ("float64", "int64"):  # JAX has names of dtypes that it may not support
            return self.dtype(name)
        names = (name, NUMPY.get(name)) if self.is_numpy else (STANDARD.get(name, name), name)
        function = next((getattr(self.module, n) for n in names if n and hasattr(self.module, n)), None)
        if function is None:
            raise AttributeError(f"{self.library} has no {name}")
        if self.is_numpy or not callable(function) or isinstance(function, type):
            return function
        return self._with_place(function) if name in CREATING else self._with_dtype(function)

    def _with_dtype(self, f: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kw: Any):
            if isinstance(kw.get("dtype"), str):
                kw["dtype"] = self.dtype(kw["dtype"])
            return f(*args, **kw)

        return call

    def _with_place(self, f: Callable[..., Any]) -> Callable[..., Any]:
        return self._with_dtype(
            f if self.place is None else lambda *a, **kw: f(*a, **{"device": self.place, **kw})
        )

    def dtype(self, name: Any) -> Any:
        """Return the library's dtype of that name, or a wider one if it can't compute with it."""
        if not isinstance(name, str):
            return name
        if self.library == "jax" and "64" in name and not import_module("jax").config.jax_enable_x64:
            raise NotImplementedError(f"jax has no {name} unless jax_enable_x64 is set")
        name = str(WIDER.get(self.library, {}).get(name, name))
        return getattr(self.module, name if hasattr(self.module, name) else NUMPY[name])

    def astype(self, x: Any, dtype: Any) -> Any:
        """Cast to a dtype or its name, rounding towards 0; returns x itself if it has that dtype."""
        target = self.dtype(dtype)
        if self.is_numpy:
            return x.astype(target, copy=False)
        return x if x.dtype == target else self.module.astype(x, target)

    def name_of(self, x: Any) -> str:
        """Return the name of an array's dtype."""
        return str(x.dtype).rpartition(".")[2]

    def kind(self, x: Any) -> str:
        """Return the kind of an array's dtype: f, i, u, b or c."""
        name = self.name_of(x)
        return "u" if name.startswith("uint") else name[0]

    def errstate(self, **kw: Any) -> Any:
        """Return the context for evaluating an op: without NumPy's warnings about infinities and NaN, and
        with JAX's products in f32 (its default on GPUs is tf32)."""
        if self.library == "jax":
            return import_module("jax").default_matmul_precision("highest")
        return self.module.errstate(**kw) if self.is_numpy else nullcontext()

    def contiguous(self, x: Any) -> Any:
        """Return an array that does not keep a larger one alive."""
        if self.is_numpy:
            return self.module.ascontiguousarray(x).reshape(x.shape)
        return x.contiguous() if self.library == "torch" else x

    def from_host(self, array: Any) -> Any:
        """Convert a NumPy array to the library's, sharing memory if possible."""
        if self.is_numpy:
            return array
        wider = WIDER.get(self.library, {}).get(array.dtype.name)
        array = array if wider is None else array.astype(wider)
        if self.library == "torch":
            array = array if array.flags.writeable else array.copy()
            return self.module.from_numpy(array).to(self.place)
        return (
            self.module.asarray(array)
            if self.place is None
            else self.module.asarray(array, device=self.place)
        )

    def to_host(self, x: Any) -> Any:
        """Convert the library's array to NumPy's, sharing memory if possible."""
        import numpy as np

        if self.library == "torch":
            return x.detach().cpu().numpy()
        return x.get() if self.library == "cupy" else np.asarray(x)


def device_named(library: str, where: str) -> Any:
    """Return a library's own device: "cuda:1" for torch, the number for CuPy."""
    if library == "torch":
        return where or "cpu"
    if library == "cupy":
        return module_of("cupy").cuda.Device(int(where or 0))
    if library == "jax" and where:
        kind, _, number = where.partition(":")
        return import_module("jax").devices(kind)[int(number or 0)]
    return None


# --- functions that libraries lack, from functions that all have
# ----------------------------------------------------------------------------


def _pad(xp: Namespace, x: Any, widths: Any, constant_values: Any = 0) -> Any:
    for axis, (before, after) in enumerate(widths):
        edges: list[list[Any]] = []
        for n in (before, after):
            shape = (*x.shape[:axis], n, *x.shape[axis + 1 :])
            edges.append([xp.full(shape, constant_values, dtype=x.dtype)] if n else [])
        x = xp.concat([*edges[0], x, *edges[1]], axis=axis) if before or after else x
    return x


def _windows(xp: Namespace, x: Any, spans: tuple[int, ...], axis: tuple[int, ...]) -> Any:
    """Return the sliding windows of `span` neighbours along each axis, in new last dims."""
    for a, span in zip(axis, spans, strict=True):
        n = x.shape[a] - span + 1
        cut = [(*(slice(None),) * a, slice(k, k + n), ...) for k in range(span)]
        x = xp.stack([x[c] for c in cut], axis=-1)
    return x


def _numpy_windows(xp: Namespace, x: Any, spans: tuple[int, ...], axis: tuple[int, ...]) -> Any:
    return xp.module.lib.stride_tricks.sliding_window_view(x, spans, axis=axis)


def _torch_windows(xp: Namespace, x: Any, spans: tuple[int, ...], axis: tuple[int, ...]) -> Any:
    for a, span in zip(axis, spans, strict=True):
        x = x.unfold(a, span, 1)
    return x


def _einsum(xp: Namespace, terms: str, *parts: Any, optimize: bool = True) -> Any:
    """Compute einsum of two operands by a broadcast product and a sum."""
    ins, out = terms.split("->")
    letters = out + "".join(sorted(set(ins) - set(out) - {","}))
    total = None
    for term, x in zip(ins.split(","), parts, strict=True):
        order = sorted(range(len(term)), key=lambda i: letters.index(term[i]))
        shape = [x.shape[term.index(c)] if c in term else 1 for c in letters]
        x = xp.reshape(xp.permute_dims(x, tuple(order)), tuple(shape))
        total = x if total is None else total * x
    summed = tuple(range(len(out), len(letters)))
    return xp.sum(total, axis=summed) if summed else total


def _take_along_axis(xp: Namespace, x: Any, index: Any, axis: int) -> Any:
    """Compute take_along_axis by flat positions."""
    flat = xp.zeros(index.shape, dtype="int64")
    for d, n in enumerate(x.shape):
        shape = tuple(-1 if e == d else 1 for e in range(index.ndim))
        positions = xp.astype(index, "int64") if d == axis else xp.reshape(xp.arange(index.shape[d]), shape)
        flat = flat * n + positions
    return xp.reshape(xp.take(xp.reshape(x, (-1,)), xp.reshape(flat, (-1,)), axis=0), index.shape)


def _exp2(xp: Namespace, x: Any) -> Any:
    return xp.pow(xp.full(x.shape, 2.0, dtype=x.dtype), x)


def _fmod(xp: Namespace, x: Any, y: Any) -> Any:
    remainder = x - xp.trunc(x / y) * y
    return xp.astype(remainder, x.dtype)


def _tri(keep: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def triangle(xp: Namespace, x: Any, k: int = 0) -> Any:
        rows = xp.reshape(xp.arange(x.shape[-2]), (-1, 1))
        return xp.where(keep(xp.arange(x.shape[-1]), rows + k), x, xp.zeros_like(x))

    return triangle


def _torch_einsum(xp: Namespace, terms: str, *parts: Any, **_: Any) -> Any:
    return xp.module.einsum(terms, *parts)


def _torch_take_along_axis(xp: Namespace, x: Any, index: Any, axis: int) -> Any:
    return xp.module.take_along_dim(x, xp.astype(index, "int64"), axis)


def _logcumsumexp(xp: Namespace, x: Any, axis: int) -> Any:
    return xp.module.logaddexp.accumulate(x, axis=axis)


def _torch_logcumsumexp(xp: Namespace, x: Any, axis: int) -> Any:
    return xp.module.logcumsumexp(x, dim=axis)


def _stable_argsort(xp: Namespace, x: Any, axis: int = -1, stable: bool = True) -> Any:
    return xp.module.argsort(x, axis=axis, kind="stable")


def _append(xp: Namespace, a: Any, b: Any) -> Any:
    return xp.concat([a, xp.asarray(b, dtype=a.dtype).reshape(-1)])


def _torch_erf(xp: Namespace, x: Any) -> Any:
    return xp.module.special.erf(x)


def _erf(xp: Namespace, x: Any) -> Any:
    """Compute erf element by element with math.erf."""
    import math

    values = [math.erf(float(v)) for v in xp.reshape(x, (-1,))]
    return xp.reshape(xp.asarray(values, dtype=x.dtype), x.shape)


# Rational approximations of erf (Cody, 1969) as (numerator, denominator), highest power first: of erf(x) / x
# in x^2, up to 0.46875; of erfc(x) exp(x^2) in x, up to 4; of the rest of its expansion in 1 / x^2, above.
ERF_SMALL = (
    (
        1.85777706184603153e-1,
        3.16112374387056560,
        113.864154151050156,
        377.485237685302021,
        3209.37758913846947,
    ),
    (1.0, 23.6012909523441209, 244.024637934444173, 1282.61652607737228, 2844.23683343917062),
)
ERFC_MIDDLE = (
    (
        2.15311535474403846e-8, 0.564188496988670089, 8.88314979438837594, 66.1191906371416295,
        298.635138197400131, 881.952221241769090, 1712.04761263407058,
        2051.07837782607147, 1230.33935479799725,
    ),
    (
        1.0, 15.7449261107098347, 117.693950891312499, 537.181101862009858, 1621.38957456669019,
        3290.79923573345963, 4362.61909014324716, 3439.36767414372164, 1230.33935480374942,
    ),
)  # fmt: skip
ERFC_LARGE = (
    (
        0.0163153871373020978, 0.305326634961232344, 0.360344899949804439, 0.125781726111229246,
        0.0160837851487422766, 6.58749161529837803e-4,
    ),
    (
        1.0, 2.56852019228982242, 1.87295284992346725, 0.527905102951428412, 0.0605183413124413191,
        2.33520497626869185e-3,
    ),
)  # fmt: skip


def _numpy_erf(xp: Namespace, x: Any) -> Any:
    """Compute erf in float64 to 2e-16, 50 times as fast as math.erf element by element."""
    np = xp.module
    wide = np.asarray(x, np.float64)
    size = np.abs(wide)
    out = np.where(np.isnan(size), size, 1.0)  # from 6 on erf rounds to 1
    small, large = size <= 0.46875, (size > 4) & (size < 6)
    middle = (size > 0.46875) & (size <= 4)
    y = size[small]
    out[small] = y * _ratio(np, ERF_SMALL, y * y)
    y = size[middle]
    out[middle] = 1 - np.exp(-y * y) * _ratio(np, ERFC_MIDDLE, y)
    y = size[large]
    rest = 0.564189583547756287 - _ratio(np, ERFC_LARGE, 1 / (y * y)) / (y * y)  # 1 / sqrt(pi)
    out[large] = 1 - np.exp(-y * y) * rest / y
    return np.copysign(out, wide).astype(x.dtype)


def _ratio(np: Any, polynomials: tuple[tuple[float, ...], tuple[float, ...]], x: Any) -> Any:
    numerator, denominator = polynomials
    return np.polyval(numerator, x) / np.polyval(denominator, x)


# (library, or "" for all libraries without the function) -> function
OWN: dict[tuple[str, str], Callable[..., Any]] = {
    ("", "pad"): _pad,
    ("", "sliding_window_view"): _windows,
    ("numpy", "sliding_window_view"): _numpy_windows,
    ("torch", "sliding_window_view"): _torch_windows,
    ("torch", "einsum"): _torch_einsum,
    ("", "einsum"): _einsum,
    ("torch", "take_along_axis"): _torch_take_along_axis,
    ("", "take_along_axis"): _take_along_axis,
    ("numpy", "logcumsumexp"): _logcumsumexp,
    ("torch", "logcumsumexp"): _torch_logcumsumexp,
    ("jax", "logcumsumexp"): _logcumsumexp,
    ("numpy", "argsort"): _stable_argsort,
    ("", "exp2"): _exp2,
    ("", "fmod"): _fmod,
    ("", "tril"): _tri(lambda column, row: column <= row),
    ("", "triu"): _tri(lambda column, row: column >= row),
    ("", "append"): _append,
    ("", "erf"): _erf,
    ("numpy", "erf"): _numpy_erf,
    ("torch", "erf"): _torch_erf,
}
