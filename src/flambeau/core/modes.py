"""A thread's (or task's) switches into what operations remember: whether gradients flow, what is kept."""

from collections.abc import Callable
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

KEEP = ("auto", "none", "balanced")
PRECISIONS = ("highest", "high", "medium")
_grad = ContextVar("grad", default=True)  # a thread has its own, and so has a task of a browser's page
_kept = ContextVar("kept", default="auto")
_precision = ContextVar("precision", default="highest")
_anomaly = ContextVar("anomaly", default=False)


def is_grad_enabled() -> bool:
    """Whether results of operations in this thread take part in gradients."""
    return _grad.get()


def kept() -> str:
    """Which checkpointing this thread's backward passes use."""
    return _kept.get()


class Switch:
    """A value of this thread for the time of a `with` block or of a decorated function."""

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

        @wraps(f)
        def run(*args: P.args, **kw: P.kwargs) -> R:
            inside = Switch(value)
            inside.switch = switch
            with inside:
                return f(*args, **kw)

        return run


def settings() -> tuple[Any, ...]:
    """What every switch is set to: what a recording depends on."""
    return tuple([switch.get() for switch in switches()])


@cache
def switches() -> tuple[Any, ...]:
    """All that `settings` asks."""
    return tuple(dict.fromkeys([*(kind.switch for kind in Switch.__subclasses__()), *_others]))


_others: list[Any] = []


def depend_on(switch: Any) -> None:
    """Let recordings depend on what `switch.get()` gives as well; called while the package is imported."""
    _others.append(switch)


class no_grad(Switch):
    """Inside this context (or decorated function) results take no part in gradients."""

    def __init__(self):
        super().__init__(False)


class enable_grad(Switch):
    """Inside this context (or decorated function) gradients flow again, even within no_grad."""

    def __init__(self):
        super().__init__(True)


class inference_mode(Switch):
    """The same as no_grad (or enable_grad, with mode=False): there are no version counters to save."""

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
        _grad.set(self.earlier)  # the function alone is switched
        return super().__call__(f)


class detect_anomaly(Switch):
    """Inside this context (or decorated function) a gradient with NaN is a FlambeauError that names the
    operation whose gradient made it. Each backward pass waits for every gradient: for looking into a failure.
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
    """Whether backward passes of this thread look for NaN."""
    return _anomaly.get()


class checkpointing(Switch):
    """What backward passes inside this context keep of the forward pass.

    "none": every value that gradients need is kept until they have used it. "balanced": values made by
    elementwise operations from others that are kept anyway are computed a second time instead. "auto", the
    default: "balanced" in recorded calls (`fb.jit`), which look for such values once, "none" elsewhere.

    strategy: one of these names
    Raises ValueError where the strategy is unknown.
    """

    switch = _kept

    def __init__(self, strategy: str):
        if strategy not in KEEP:
            known = ", ".join(map(repr, KEEP))
            raise ValueError(f"checkpointing({strategy!r}): unknown strategy: use one of {known}")
        super().__init__(strategy)


class set_matmul_precision(Switch):
    """How products of float32 matrices (and convolutions) are made from this call on; as a context or
    decorator, until its end. Where an adapter has no matrix units that we can use, it changes nothing.

    "highest": in float32. "high": each factor as two float16, three products on matrix units, relative error
    of the result (in norm) at most 2e-5 for random factors, 1e-4 for those of one sign. "medium": each factor
    as one float16, error 5e-4. Factors are scaled by a power of two, so that no size of float32 overflows;
    what is less than 2^-38 (with "medium" 2^-28) of the largest element of its matrix may be lost, and with
    "high" infinities become NaN.

    precision: the name of one
    Raises ValueError where the precision is unknown.
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
    """What set_matmul_precision was called with: "highest", "high" or "medium"."""
    return _precision.get()
