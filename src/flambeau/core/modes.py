"""Switches of a thread (or task): whether gradients flow, which values are kept for them, how products
compute."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from inspect import isgeneratorfunction
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

KEEP = ("auto", "none", "balanced")
PRECISIONS = ("highest", "high", "medium")
_grad = ContextVar("grad", default=True)  # one per thread, and per task in a browser
_kept = ContextVar("kept", default="auto")
_precision = ContextVar("precision", default="highest")
_anomaly = ContextVar("anomaly", default=False)
_kernels = ContextVar("kernels", default=False)


def is_grad_enabled() -> bool:
    """Whether results of operations in this thread require gradients if their inputs do."""
    return _grad.get()


def checkpoint_strategy() -> str:
    """The checkpointing strategy of this thread's backward passes."""
    return _kept.get()


def computes_on_host(device: Any) -> bool:
    """Whether a device computes node by node with arrays, and does not only plan kernels."""
    return device.kind == "cpu" and not _kernels.get()


@contextmanager
def for_kernels() -> Generator[None]:
    """Let operations in this block have the forms for kernels, also on a CPU that only plans them."""
    token = _kernels.set(True)
    try:
        yield
    finally:
        _kernels.reset(token)


class Switch:
    """Sets a switch of this thread for a `with` block or a decorated function."""

    switch: ContextVar[Any] = _grad

    def __init__(self, value: Any):
        self.value: Any = value
        self.before: list[Any] = []

    def __enter__(self) -> None:
        self.before.append(self.switch.get())
        self.switch.set(self.value)

    def __exit__(self, *_: Any) -> None:
        self.switch.set(self.before.pop())

    def __call__(self, f: Callable[P, R]) -> Callable[P, R]:
        switch, value = self.switch, self.value

        def again() -> Switch:
            # A new context for each call: a decorated function may be recursive or run in several threads.
            inside = Switch(value)
            inside.switch = switch
            return inside

        if isgeneratorfunction(f):
            return _switch_generator(again, f)

        @wraps(f)
        def run(*args: P.args, **kw: P.kwargs) -> R:
            with again():
                return f(*args, **kw)

        return run


def _switch_generator(context: Callable[[], Switch], f: Callable[P, Any]) -> Callable[P, Any]:
    """A generator function whose code runs inside a context, and its caller's outside."""

    @wraps(f)
    def run(*args: P.args, **kw: P.kwargs) -> Any:
        steps: Any = f(*args, **kw)
        result: Any = None
        error: BaseException | None = None
        while True:
            try:
                with context():
                    item = steps.send(result) if error is None else steps.throw(error)
            except StopIteration as e:
                return e.value
            result = error = None
            try:
                result = yield item  # pyright: ignore[reportUnknownVariableType]  # of any generator
            except GeneratorExit:
                with context():
                    steps.close()
                raise
            except BaseException as e:
                error = e

    return run


def settings() -> tuple[Any, ...]:
    """The values of all switches. A recording depends on them."""
    return tuple([get() for get in _getters()])


@cache
def _getters() -> list[Callable[[], Any]]:
    return [switch.get for switch in switches()]


@cache
def switches() -> tuple[Any, ...]:
    """All switches that `settings` reads."""
    return tuple(dict.fromkeys([*(kind.switch for kind in Switch.__subclasses__()), *_others]))


_others: list[Any] = []


def depend_on(switch: Any) -> None:
    """Let recordings depend on `switch.get()` as well. Called while the package is imported."""
    _others.append(switch)


class no_grad(Switch):
    """Inside this context (or decorated function), results do not require gradients."""

    def __init__(self):
        super().__init__(False)


class enable_grad(Switch):
    """Inside this context (or decorated function), gradients flow, even within no_grad."""

    def __init__(self):
        super().__init__(True)


class inference_mode(Switch):
    """The same as no_grad (or enable_grad, with mode=False): tensors have no version counters to save."""

    def __init__(self, mode: bool = True):
        super().__init__(not mode)


class set_grad_enabled(Switch):
    """Gradients on (mode=True) or off from this call on; as a context or decorator, until its end."""

    def __init__(self, mode: bool):
        super().__init__(bool(mode))
        self.earlier = _grad.get()
        _grad.set(self.value)

    def __enter__(self) -> None:
        self.before.append(self.earlier)
        _grad.set(self.value)

    def __call__(self, f: Callable[P, R]) -> Callable[P, R]:
        _grad.set(self.earlier)  # as a decorator, it applies to the function only
        return super().__call__(f)


class detect_anomaly(Switch):
    """Inside this context (or decorated function), a gradient with NaN raises a FlambeauError that names the
    operation whose gradient computed it. Each backward pass waits for every gradient: use it for debugging.
    """

    switch = _anomaly

    def __init__(self):
        super().__init__(True)


class set_detect_anomaly(Switch):
    """detect_anomaly on or off from this call on; as a context or decorator, until its end.

    mode: whether it is on.
    """

    switch = _anomaly

    def __init__(self, mode: bool):
        super().__init__(bool(mode))
        self.earlier = _anomaly.get()
        _anomaly.set(self.value)

    def __enter__(self) -> None:
        self.before.append(self.earlier)
        _anomaly.set(self.value)

    def __call__(self, f: Callable[P, R]) -> Callable[P, R]:
        _anomaly.set(self.earlier)  # the function alone is switched
        return super().__call__(f)


def is_anomaly_enabled() -> bool:
    """Whether backward passes of this thread check for NaN."""
    return _anomaly.get()


class checkpointing(Switch):
    """Which values of the forward pass backward passes inside this context keep.

    "none": every value that a gradient needs is kept until the gradient has used it. "balanced": values that
    elementwise operations can compute from other kept values are recomputed instead. "auto", the default:
    "balanced" in recorded calls (`fb.jit`), which search for such values once, "none" elsewhere.

    strategy: one of these names
    Raises ValueError if the strategy is unknown.
    """

    switch = _kept

    def __init__(self, strategy: str):
        if strategy not in KEEP:
            choices = ", ".join(map(repr, KEEP))
            raise ValueError(f"checkpointing({strategy!r}): unknown strategy: use one of {choices}")
        super().__init__(strategy)


class set_matmul_precision(Switch):
    """How products of float32 matrices (and convolutions) compute from this call on; as a context or
    decorator, until its end. It has no effect on adapters without matrix units that Flambeau can use.

    "highest": in float32. "high": each factor as two float16, three products on matrix units; the relative
    error of the result (in norm) is at most 2e-5 for random factors, 1e-4 for factors of one sign. "medium":
    each factor as one float16, error 5e-4. Factors are scaled by a power of two, so that no float32
    overflows. Elements below 2^-38 (with "medium" 2^-28) of the largest element of their matrix may be lost,
    and with "high" infinities become NaN.

    precision: one of these names
    Raises ValueError if the precision is unknown.
    """

    switch = _precision

    def __init__(self, precision: str):
        if precision not in PRECISIONS:
            rule = "unknown precision: use 'highest', 'high' or 'medium'"
            raise ValueError(f"set_matmul_precision({precision!r}): {rule}")
        super().__init__(precision)
        self.earlier = _precision.get()
        _precision.set(precision)

    def __enter__(self) -> None:
        self.before.append(self.earlier)
        _precision.set(self.value)

    def __call__(self, f: Callable[P, R]) -> Callable[P, R]:
        _precision.set(self.earlier)  # the function alone is switched
        return super().__call__(f)


def get_matmul_precision() -> str:
    """The precision set by set_matmul_precision: "highest", "high" or "medium"."""
    return _precision.get()
