"""Autocast and the default dtype: which dtype an operation's tensors are cast to before it runs."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

from . import dtype as dt
from .dtype import DTYPES, DType, DTypeLike, as_dtype, bfloat16, float16, float32, float64
from .modes import Switch, depend_on
from .tree import is_sequence, rebuild

P = ParamSpec("P")
R = TypeVar("R")

KINDS = {"gpu": "gpu", "cuda": "gpu", "mps": "gpu", "cpu": "cpu"}  # device_type -> kind of device
DEFAULTS = {"gpu": float16, "cpu": bfloat16}  # as in PyTorch
Rule = Callable[[list[DType], DType], DType]  # (operands' dtypes, autocast dtype) -> dtype to compute in
RULES: dict[str, Rule] = {}  # of each op; see ops/autocast.py


class Lower(NamedTuple):
    """The 16-bit dtype of each kind of device; None without autocast."""

    gpu: DType | None = None
    cpu: DType | None = None


NONE = Lower()
lower: ContextVar[Lower] = ContextVar("autocast", default=NONE)


class _Plain:
    """The value of `lower` while operations take tensors unchanged.

    If the default dtype isn't float32, it is another object than the `lower` that a user's call sees. That
    identifies the outermost operation, whose result is cast to the default dtype.
    """

    __slots__ = ("lower",)

    def __init__(self) -> None:
        self.lower = NONE

    get = staticmethod(dt.get_default_dtype)


plain = _Plain()
depend_on(plain)
# (name, args, kw) -> the result of an operation that a class or mode overrides, else NOT_TAKEN (overrides.py)
intercept: Callable[[str, tuple[Any, ...], dict[str, Any]], Any] | None = None
NOT_TAKEN: Any = object()
heard: ContextVar[Callable[[str, Any], None] | None] = ContextVar("heard", default=None)  # operation, result


class autocast(Switch):
    """Inside this context (or decorated function), products compute in 16 bits, and operations that need the
    range of float32 compute in float32.

    Weights keep their dtype, and so do their gradients. `device_type` is "gpu" ("cuda", "mps"), "cpu", or
    None for both; enabled=False turns autocast off on these. `dtype` is float16 or bfloat16; the default is
    float16, and bfloat16 for "cpu". Raises ValueError for others. A gradient computes in the dtype of its
    operation, wherever `backward` is called.
    cache_enabled: accepted and ignored: a graph computes equal casts once.
    """

    switch = lower

    def __init__(
        self,
        device_type: str | None = None,
        dtype: DTypeLike | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ):
        self.arguments = device_type, dtype, enabled
        self.kinds = ("gpu", "cpu") if device_type is None else (kind_of(device_type, "autocast"),)
        self.dtype = DEFAULTS[self.kinds[0]] if dtype is None else as_dtype(dtype)
        if enabled and self.dtype not in (float16, bfloat16):
            rule = "the dtype must be float16 or bfloat16: leave autocast out for other dtypes"
            raise ValueError(f"autocast(dtype={self.dtype.name}): {rule}")
        self.enabled = bool(enabled)
        self.before: list[Any] = []

    def __enter__(self) -> None:
        self.before.append(lower.get())
        dtype = self.dtype if self.enabled else None
        # Only the kinds named here change: an outer context keeps its effect on other devices.
        lower.set(lower.get()._replace(**dict.fromkeys(self.kinds, dtype)))

    def __call__(self, f: Callable[P, R]) -> Callable[P, R]:
        again, arguments = type(self), self.arguments

        @wraps(f)
        def run(*args: P.args, **kw: P.kwargs) -> R:
            with again(*arguments):
                return f(*args, **kw)

        return run


class in_full(Switch):
    """Inside this context (or decorated function), operations compute in float32 where autocast would cast:
    the reference that autocast is compared with."""

    switch = lower

    def __init__(self):
        super().__init__(Lower(float32, float32))


@contextmanager
def without_autocast() -> Generator[None]:
    """Inside this context, operations take tensors unchanged and create float32: it turns off autocast and
    another default dtype."""
    before, floats = lower.set(plain.lower), dt.inside.set(float32)
    try:
        yield
    finally:
        lower.reset(before)
        dt.inside.reset(floats)


def set_default(dtype: DType) -> None:
    """Change the default dtype; TypeError if it is not a float dtype."""
    if not dtype.is_float:
        rule = "takes a float dtype: set_default_integer is for integers"
        raise TypeError(f"set_default_dtype({dtype!r}): {rule}")
    dt.set_default_float(dtype)
    plain.lower = NONE if dtype is float32 and intercept is None else Lower()


def kind_of(device_type: Any, call: str) -> str:
    """The kind of device that a name means; ValueError for unknown names."""
    if device_type not in KINDS:
        rule = f"unknown device type: use one of {', '.join(map(repr, KINDS))}"
        raise ValueError(f"{call}({device_type!r}): {rule}")
    return KINDS[device_type]


def is_autocast_enabled(device_type: str = "gpu") -> bool:
    """Whether autocast is on for such devices. ValueError for unknown devices.

    device_type: "gpu" ("cuda", "mps") or "cpu".
    """
    return getattr(lower.get(), kind_of(device_type, "is_autocast_enabled")) is not None


def get_autocast_dtype(device_type: str = "gpu") -> DType:
    """The dtype of products under autocast; without autocast, the default one of the device.

    ValueError for unknown devices.

    device_type: "gpu" ("cuda", "mps") or "cpu".
    """
    kind = kind_of(device_type, "get_autocast_dtype")
    return getattr(lower.get(), kind) or DEFAULTS[kind]


# whether an argument of a failed call is not a tensor but overrides operations; see overrides.py
has_override: Callable[[tuple[Any, ...], dict[str, Any]], bool] | None = None


def overridden(error: Exception, name: str, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    """The result of a failed operation from an argument that is not a tensor but overrides operations.
    Without one, the error is raised."""
    if has_override is not None and has_override(args, kw) and intercept is not None:
        taken = intercept(name, args, kw)
        if taken is not NOT_TAKEN:
            return taken
    raise error from None


def call_under_rule(f: Callable[..., Any], name: str, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    """Call an operation under the rule of its name. Operations inside it take tensors unchanged."""
    if intercept is not None and (taken := intercept(name, args, kw)) is not NOT_TAKEN:
        return taken
    rule, dtypes = RULES.get(name), lower.get()
    before = lower.set(plain.lower)
    try:
        # With out= the result must have the dtype of out, so operands keep theirs.
        if rule is not None and kw.get("out") is None:
            args, kw = _cast_operands(rule, dtypes, args, kw)
        in_float32 = dt.get_default_dtype() is float32
        result = f(args, kw) if in_float32 else _in_default(f, args, kw)
    finally:
        lower.reset(before)
    if (listener := heard.get()) is not None:
        listener(name, result)
    return result


def _in_default(f: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    """Call an operation and cast its result to the default dtype, unless an operand or argument determines
    another one. Inside it computes in float32 or wider: positions and sums do not fit 16 bits."""
    default, is_free = dt.get_default_dtype(), not any(map(_says_dtype, [*args, *kw.items()]))
    before = dt.inside.set(float64 if is_free and default is float64 else float32)
    try:
        result = f(args, kw)
        return _cast_results(result, default) if is_free else result
    finally:
        dt.inside.reset(before)


def _says_dtype(x: Any) -> bool:
    """Whether an argument determines a float dtype: a dtype, its name, or a tensor of floats."""
    if is_sequence(x):
        return any(map(_says_dtype, x))
    if isinstance(x, DType) or getattr(getattr(x, "dtype", None), "kind", "") in ("f", "c"):
        return True
    return isinstance(x, str) and x in DTYPES


def _cast_results(result: Any, to: DType) -> Any:
    """Cast results from float32 to another dtype; a leaf that requires gradients stays a leaf."""
    if is_sequence(result):
        return rebuild(result, [_cast_results(part, to) for part in result])
    if getattr(result, "dtype", None) is not float32:
        return result
    if result.requires_grad and result.is_leaf:
        return result.detach().to(to).requires_grad_()
    return result.to(to)


def apply_rule(f: Callable[P, R]) -> Callable[P, R]:
    """Apply autocast's rule of its name to a function outside the op table."""

    def run(args: tuple[Any, ...], kw: dict[str, Any]) -> R:
        return f(*args, **kw)

    @wraps(f)
    def call(*args: P.args, **kw: P.kwargs) -> R:
        return f(*args, **kw) if lower.get() is plain.lower else call_under_rule(run, f.__name__, args, kw)

    return call


def in_lower(dtypes: list[DType], to: DType) -> DType:
    """The rule of products: 16 bits."""
    return to


def in_float32(dtypes: list[DType], to: DType) -> DType:
    """The rule of operations that overflow or cancel in 16 bits."""
    return float32


def in_widest(dtypes: list[DType], to: DType) -> DType:
    """The rule of operations that need operands of one dtype: the widest of them."""
    return dtypes[0] if dtypes.count(dtypes[0]) == len(dtypes) else float32


def _cast_operands(
    rule: Rule, dtypes: Lower, args: tuple[Any, ...], kw: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Cast the float tensors (except float64) among the arguments to the rule's dtype, if autocast is on for
    their device."""
    floats: list[Any] = []
    _collect_floats([*args, *kw.values()], floats)
    to = next((d for d in [getattr(dtypes, x.device.kind) for x in floats] if d is not None), None)
    if to is None:
        return args, kw
    cast = partial(_cast, to=rule([x.dtype for x in floats], to))
    return tuple(map(cast, args)), {k: cast(v) for k, v in kw.items()}


def _collect_floats(values: Any, floats: list[Any]) -> None:
    for x in values:
        if _is_float(x):
            floats.append(x)
        elif isinstance(x, list | tuple):
            _collect_floats(x, floats)


def _is_float(x: Any) -> bool:
    return isinstance(getattr(x, "dtype", None), DType) and x.dtype.is_float and x.dtype.itemsize <= 4


def _cast(x: Any, to: DType) -> Any:
    if is_sequence(x):
        return rebuild(x, [_cast(part, to) for part in x])
    return x.to(to) if _is_float(x) and x.dtype is not to else x
