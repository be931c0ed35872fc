"""Profiles a block of a program: its kernels, the host's stages, the memory, and the device's ceilings."""

from contextlib import AbstractContextManager
from pathlib import Path
from time import perf_counter_ns
from typing import Any, NamedTuple

from ..core import events
from ..device import DeviceLike, get_device
from ..device.protocol import Gpu
from ..errors import FlambeauError
from ..fusion.plan import Cost
from . import chrome_trace, report
from .meter import Meter, Span, meter_of, one_listener
from .roofline import Ceilings, ceilings_of
from .stages import Stages

__all__ = ["Ceilings", "Cost", "Profile", "Span", "profile"]


class Sample(NamedTuple):
    """The memory after a submit: bytes in use, their peak since the previous submit, bytes from the
    driver."""

    time: int
    live: int
    peak: int
    reserved: int


class Profile:
    """The measurements of a `with fb.profile() as p:` block; print it, or read its lists.

    kernels: a Span for each kernel; stages: a Stage for each part of the host's work; memory: a Sample for
    each submit; ceilings: the device's maximum rates; how: the kernels were timed by "timestamps" or
    "repeats"; overhead: seconds that profiling itself took.
    """

    def __init__(self, device: DeviceLike | None = None):
        self.device = get_device(device)
        self.kernels: list[Span] = []
        self._host = Stages()
        self.stages = self._host.rows
        self.memory: list[Sample] = []
        self.begin = self.end = 0
        self.ceilings: Ceilings | None = None
        self.how, self.why = "", ""
        self._meters: dict[Any, Meter] = {}
        self._peaks: dict[Any, int] = {}  # device -> its pool's peak before the block, in bytes
        self._mark = 0.0  # ns that recording adds to a stage

    # --- the block ---

    def __enter__(self) -> "Profile":
        self._refuse_another()
        if self.device.kind == "gpu":
            self.ceilings = ceilings_of(self.device)
            self._meter(self.device)
            self.device.wait()
        self._mark = self._cost_of_stage()
        with one_listener:
            self._refuse_another()
            events.listener = self
        self.begin = perf_counter_ns()
        return self

    @staticmethod
    def _refuse_another() -> None:
        if events.listener is not None:
            raise FlambeauError("profile: another profile is running: end it first")

    def __exit__(self, *_: Any) -> None:
        self.end = perf_counter_ns()
        with one_listener:
            events.listener = None
        for device, meter in list(self._meters.items()):
            device.wait()
            self.kernels += meter.finish()
            pool = device.pool
            # The pool's peak was restarted for each submit: restore the highest.
            pool.peak = max(pool.peak, self._peaks.pop(device))
        self.kernels.sort(key=lambda s: s.begin)

    def _meter(self, device: Gpu) -> Meter:
        meter = self._meters.get(device)
        if meter is None:
            meter = self._meters[device] = meter_of(device)
            if device is self.device:
                self.how, self.why = meter.how, meter.why
            self._peaks[device], device.pool.peak = device.pool.peak, device.pool.live
        return meter

    def _cost_of_stage(self, count: int = 200) -> float:
        begin = perf_counter_ns()
        for _ in range(count):
            with self.stage("cost"):
                pass
        took = perf_counter_ns() - begin
        self.stages.clear()
        return took / count

    # --- the listener of core/events.py ---

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Return a context that times a stage of this thread's work."""
        return self._host.stage(name)

    def submit(self, device: Gpu, works: tuple[Any, ...], parts: tuple[Any, ...]) -> None:
        """Run commands, and time them."""
        meter = self._meter(device)
        if meter.how == "repeats":
            with self.stage("profiling"):
                self.kernels += meter.submit(works, parts)
        else:
            with self.stage("submit"):
                self.kernels += meter.submit(works, parts)
        pool = device.pool
        self.memory.append(Sample(perf_counter_ns(), pool.live, pool.peak, pool.reserved))
        pool.peak = pool.live

    # --- results ---

    @property
    def wall(self) -> float:
        """The duration of the block in seconds."""
        return (self.end - self.begin) / 1e9

    @property
    def gpu(self) -> float:
        """The seconds for which the GPU ran kernels and copies."""
        return sum(s.seconds for s in self.kernels)

    @property
    def overhead(self) -> float:
        """The seconds of the block that profiling itself took: timestamps, extra passes, repeats."""
        marks = len(self.stages) * self._mark / 1e9
        if self.how == "repeats":
            return marks + sum(s.own for s in self.stages if s.name == "profiling") / 1e9 - self.gpu
        return marks + sum(m.each for m in self._meters.values()) * len(self.kernels)

    def host(self) -> dict[str, tuple[int, float]]:
        """Return the count and seconds of each stage of the host's work; "python" is the time outside of all
        stages."""
        out: dict[str, tuple[int, float]] = {}
        for s in self.stages:
            n, t = out.get(s.name, (0, 0.0))
            out[s.name] = n + 1, t + s.own / 1e9
        # `own` times exclude inner stages, so that nothing is counted twice.
        named = sum(t for _, t in out.values())
        return {"python": (1, max(self.wall - named, 0.0))} | out

    def __repr__(self) -> str:
        return f"Profile({self.device}, {len(self.kernels)} kernels, {self.wall:.4g} s)"

    def __str__(self) -> str:
        return report.text(self)

    def chrome_trace(self, path: str | Path) -> None:
        """Write the block as a trace for Perfetto (ui.perfetto.dev) and chrome://tracing."""
        chrome_trace.write(self, Path(path))


def profile(device: DeviceLike | None = None) -> Profile:
    """Profile the block `with fb.profile() as p:`: each kernel's GPU time, bytes, operations and fraction of
    the adapter's measured ceilings; the host's stages; the memory. See `print(p)` and
    `p.chrome_trace(path)`."""
    return Profile(device)
