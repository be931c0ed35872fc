"""What a `with autocast` block says into the dtypes that operations are given their tensors in."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

from . import dtype as dt
from .dtype import DTYPES, DType, as_dtype, bfloat16, float16, float32, float64
from .modes import Switch, depend_on

P = ParamSpec("P")
R = TypeVar("R")

KINDS = {"gpu": "gpu", "cuda": "gpu", "mps": "gpu", "cpu": "cpu"}  # device_type: what a device's kind is
DEFAULTS = {"gpu": float16, "cpu": bfloat16}  # as in PyTorch
RULES: dict[str, Callable[[list[DType], DType], DType]] = {}  # op: what it is computed in; ops/autocast.py


class Lower(NamedTuple):
    """The dtype of 16 bits on the devices of each kind; None where there is no autocast."""

    gpu: DType | None = None
    cpu: DType | None = None


NONE = Lower()
lower: ContextVar[Lower] = ContextVar("autocast", default=NONE)


class _Plain:
    """What `lower` is where operations take tensors as they are. With a default dtype but float32 it is
    another object than what a user's calls find: so the outermost operation is known, and its result becomes
    of that dtype."""

    __slots__ = ("lower",)

    def __init__(self) -> None:
        self.lower = NONE

    def get(self) -> DType:
        return dt.get_default_dtype()


plain = _Plain()
depend_on(plain)
heard: ContextVar[Callable[[str, Any], None] | None] = ContextVar("heard", default=None)  # operation, result


class autocast(Switch):
    """Products inside this context (or decorated function) take their operands in 16 bits, and operations
    that need the range of float32 take theirs in float32.

    Weights stay what they are, and their gradients are of their dtype. `device_type` is "gpu" ("cuda",
    "mps"), "cpu", or None for both; with enabled=False there is no autocast on these. `dtype` is float16 or
    bfloat16: without, float16, and bfloat16 for "cpu". ValueError for others. Gradients are taken as
    operations were computed, wherever `backward` is called.
    cache_enabled: taken, and of no meaning: a graph computes equal casts once.
    """

    switch = lower

    def __init__(
        self,
        device_type: str | None = None,
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ):
        self.given = device_type, dtype, enabled
        self.kinds = ("gpu", "cpu") if device_type is None else (kind_of(device_type, "autocast"),)
        self.dtype = DEFAULTS[self.kinds[0]] if dtype is None else as_dtype(dtype)
        if enabled and self.dtype not in (float16, bfloat16):
            rule = "takes float16 or bfloat16: leave autocast out for others"
            raise ValueError(f"autocast(dtype={self.dtype.name}): {rule}")
        self.enabled = bool(enabled)
        self.before: list[Any] = []

    def __enter__(self) -> None:
        self.before.append(lower.get())
        made = self.dtype if self.enabled else None
        lower.set(lower.get()._replace(**dict.fromkeys(self.kinds, made)))

    def __call__(self, f: Callable[P, R]) -> Callable[P, R]:
        given = self.given

        @wraps(f)
        def run(*args: P.args, **kw: P.kwargs) -> R:
            with autocast(*given):
                return f(*args, **kw)

        return run


class in_full(Switch):
    """Inside this context (or decorated function) operations take the tensors that autocast would cast in
    float32: what it is compared with."""

    switch = lower

    def __init__(self):
        super().__init__(Lower(float32, float32))


@contextmanager
def as_given() -> Iterator[None]:
    """Inside this context operations take tensors as they are, and make float32: what autocast was for is
    over, and so is another default dtype."""
    before, floats = lower.set(plain.lower), dt.inside.set(float32)
    try:
        yield
    finally:
        lower.reset(before)
        dt.inside.reset(floats)


def set_default(dtype: DType) -> None:
    """Another default dtype; TypeError for what is no float."""
    if not dtype.is_float:
        rule = "takes a float dtype: set_default_integer is for integers"
        raise TypeError(f"set_default_dtype({dtype!r}): {rule}")
    dt.set_default_float(dtype)
    plain.lower = NONE if dtype is float32 else Lower()


def kind_of(device_type: Any, call: str) -> str:
    """The kind of the devices that a name means; ValueError for others."""
    if device_type not in KINDS:
        rule = f"unknown device type: use one of {', '.join(map(repr, KINDS))}"
        raise ValueError(f"{call}({device_type!r}): {rule}")
    return KINDS[device_type]


def is_autocast_enabled(device_type: str = "gpu") -> bool:
    """Whether operations on such devices are under autocast. ValueError for unknown devices.

    device_type: "gpu" ("cuda", "mps") or "cpu".
    """
    return getattr(lower.get(), kind_of(device_type, "is_autocast_enabled")) is not None


def get_autocast_dtype(device_type: str = "gpu") -> DType:
    """The dtype that products are taken in under autocast; outside of it the one that is the default.
    ValueError for unknown devices.

    device_type: "gpu" ("cuda", "mps") or "cpu".
    """
    kind = kind_of(device_type, "get_autocast_dtype")
    return getattr(lower.get(), kind) or DEFAULTS[kind]


def called(f: Callable[..., Any], name: str, args: tuple, kw: dict[str, Any]) -> Any:
    """An operation's result by the rule of its name. What it is made of takes its tensors as they come."""
    rule, given = RULES.get(name), lower.get()
    before = lower.set(plain.lower)
    try:
        if rule is not None and kw.get("out") is None:
            args, kw = _operands(rule, given, args, kw)
        made = f(args, kw) if plain.lower is NONE else _in_default(f, args, kw)
    finally:
        lower.reset(before)
    if (listener := heard.get()) is not None:
        listener(name, made)
    return made


def _in_default(f: Callable[..., Any], args: tuple, kw: dict[str, Any]) -> Any:
    """A result in the default dtype, where no operand and no argument says another one. What makes it
    computes in float32 where that is wider: its places and sums would be lost in 16 bits."""
    default, is_free = dt.get_default_dtype(), not any(map(_says_dtype, [*args, *kw.items()]))
    before = dt.inside.set(float64 if is_free and default is float64 else float32)
    try:
        made = f(args, kw)
        return _settled(made, default) if is_free else made
    finally:
        dt.inside.reset(before)


def _says_dtype(x: Any) -> bool:
    """Whether an argument is a dtype, or floats of one."""
    if isinstance(x, list | tuple):
        return any(map(_says_dtype, x))
    if isinstance(x, DType) or getattr(getattr(x, "dtype", None), "kind", "") in ("f", "c"):
        return True
    return isinstance(x, str) and x in DTYPES


def _settled(made: Any, to: DType) -> Any:
    """Results of float32 in another dtype; a leaf that gradients are taken by stays one."""
    if isinstance(made, list | tuple):
        parts = [_settled(part, to) for part in made]
        return type(made)(*parts) if hasattr(made, "_fields") else type(made)(parts)
    if getattr(made, "dtype", None) is not float32:
        return made
    if made.requires_grad and made.is_leaf:
        return made.detach().to(to).requires_grad_()
    return made.to(to)


def ruled(f: Callable[P, R]) -> Callable[P, R]:
    """Have autocast treat a function that is none of the op table by the rule of its name."""

    def made(args: tuple, kw: dict[str, Any]) -> R:
        return f(*args, **kw)

    @wraps(f)
    def call(*args: P.args, **kw: P.kwargs) -> R:
        return f(*args, **kw) if lower.get() is plain.lower else called(made, f.__name__, args, kw)

    return call


def in_lower(dtypes: list[DType], to: DType) -> DType:
    """The rule of products: 16 bits."""
    return to


def in_float32(dtypes: list[DType], to: DType) -> DType:
    """The rule of what overflows or cancels in 16 bits."""
    return float32


def in_widest(dtypes: list[DType], to: DType) -> DType:
    """The rule of what needs operands of one dtype: the widest that there is."""
    return dtypes[0] if dtypes.count(dtypes[0]) == len(dtypes) else float32


def _operands(
    rule: Callable[[list[DType], DType], DType], given: Lower, args: tuple, kw: dict[str, Any]
) -> tuple[tuple, dict[str, Any]]:
    """Arguments with their float tensors (but float64) in the dtype of a rule, where autocast is for their
    device."""
    found: list[Any] = []
    _collect([*args, *kw.values()], found)
    to = next((d for d in [getattr(given, x.device.kind) for x in found] if d is not None), None)
    if to is None:
        return args, kw
    cast = partial(_cast, to=rule([x.dtype for x in found], to))
    return tuple(map(cast, args)), {k: cast(v) for k, v in kw.items()}


def _collect(values: Any, found: list[Any]) -> None:
    for x in values:
        if _is_float(x):
            found.append(x)
        elif isinstance(x, list | tuple):
            _collect(x, found)


def _is_float(x: Any) -> bool:
    return isinstance(getattr(x, "dtype", None), DType) and x.dtype.is_float and x.dtype.itemsize <= 4


def _cast(x: Any, to: DType) -> Any:
    if isinstance(x, list | tuple):
        parts = [_cast(part, to) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    return x.to(to) if _is_float(x) and x.dtype is not to else x
