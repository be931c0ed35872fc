"""Metrics of a run itself: rewards and episodes, rates, and the load of the host and the device."""

import os
import re
import time
from functools import cache
from pathlib import Path
from typing import Any

from ..core.dtype import float32
from ..device import DeviceLike
from ..functions import memory, stack
from ..optim.optimizer import Optimizer
from ..tensor import Tensor
from .aggregation import Latest
from .inputs import check_count, refuse
from .metric import BATCHES, Metric
from .states import mean_of, plus, precise

# Linux: the folder of sensors, the file with a sensor's name, and its readings in 0.001 degrees Celsius
SENSORS = [
    ("/sys/class/hwmon", "name", "temp*_input"),
    ("/sys/class/thermal", "type", "temp"),
]
# Names of the drivers of Intel's, AMD's and ARM's sensors.
OF_CPU = re.compile("cpu|coretemp|k10temp|zenpower|pkg_temp")


class EpisodeMean(Metric):
    """The mean over finished episodes of the sum of a value over their steps."""

    higher_is_better = True
    takes = "rewards and ends of episodes"

    def __init__(self, num_envs: int = 1, device: DeviceLike | None = None):
        super().__init__(device)
        check_count(self.name, "num_envs", num_envs, 1)
        self.num_envs = num_envs
        self.add_state("so_far", Tensor.zeros((num_envs,), dtype=float32, device=self.device), "sum")
        self.add_state("sums", precise(2, device=self.device), "precise")

    def add(self, reward: Tensor, done: Tensor) -> None:
        """Count a step of each environment. [num_envs] both"""
        for values in (reward, done):
            if values.shape != (self.num_envs,):
                refuse(self, reward, done, f"has num_envs={self.num_envs}: pass [{self.num_envs}]")
        # The sum of a finished episode moves from `so_far` to `sums`; `where` does it for all environments
        # at once.
        done = done != 0
        now = self.states["so_far"] + reward.to(float32)
        finished = stack([done.where(now, 0.0).sum(), done.sum().to(float32)])
        self.states["sums"].replace_(plus(self.states["sums"], finished))
        self.states["so_far"].replace_(done.where(0.0, now))

    def compute(self) -> Any:
        """Return the mean; NaN before the first episode ends."""
        return mean_of(self.states["sums"])


class CumulativeReward(EpisodeMean):
    """The mean over episodes of the sum of rewards. num_envs: the number of environments that step together.

    Raises ValueError if an argument is not valid.
    """

    def update(self, reward: Tensor, done: Tensor) -> None:
        """Count a step by its rewards, and whether it finished the episode. [num_envs] both; ValueError for
        other shapes."""
        self.add(reward, done)


class EpisodeLength(EpisodeMean):
    """The mean number of steps of an episode. num_envs: the number of environments that step together.

    Raises ValueError if an argument is not valid.
    """

    def update(self, done: Tensor) -> None:
        """Count a step by whether it finished the episode. [num_envs]; ValueError for another shape."""
        # The length is the sum of a reward of 1 per step.
        self.add(done * 0 + 1, done)


class ExplorationRate(Latest):
    """The current fraction of random actions."""


class LearningRate(Latest):
    """The current learning rate: of `update(optimizer.lr)`, or of an `optimizer`, which each update reads
    whatever its arguments are. A Learner passes its own optimizer.

    update raises TypeError for a tensor, or for several numbers.
    """

    takes = BATCHES

    def __init__(self, optimizer: Optimizer | None = None, device: DeviceLike | None = None):
        super().__init__(device)
        self.optimizer = optimizer

    def follow(self, optimizer: Optimizer) -> None:
        """Read this optimizer if none was passed."""
        self.optimizer = optimizer if self.optimizer is None else self.optimizer

    def update(self, *values: Any, **kw: Any) -> None:
        """Store the optimizer's rate, else the number passed; TypeError for a tensor, or for several
        numbers."""
        super().update(*(values if self.optimizer is None else (self.optimizer.lr,)))


class HostMean(Metric):
    """The mean of a measurement of the host, one at each update. `update` ignores its arguments."""

    def __init__(self):
        super().__init__("cpu")
        self.add_state("total", 0.0, "sum")
        self.add_state("updates", 0, "sum")

    def measure(self) -> float:
        """Return the current measurement."""
        raise NotImplementedError

    def update(self, *args: Any, **kw: Any) -> None:
        """Measure once."""
        self.states["total"] += self.measure()
        self.states["updates"] += 1

    def compute(self) -> float:
        """Return the mean; NaN before the first update."""
        return self.states["total"] / self.states["updates"] if self.states["updates"] else float("nan")


class CpuMemory(HostMean):
    """Bytes of main memory that this process uses; OSError if the system does not report them."""

    def measure(self) -> float:
        try:
            with open("/proc/self/statm", encoding="ascii") as f:
                # statm: sizes in pages; the second is the resident set
                return float(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            return self._peak()

    def _peak(self) -> float:
        """Return the peak use, for systems that do not report the current one."""
        try:
            import resource
        except ImportError:
            rule = "this system does not report the memory of a process: leave the metric out"
            raise OSError(f"{self.name}.update(): {rule}") from None
        # macOS: ru_maxrss is in bytes there (Linux, which has /proc, counts in kilobytes)
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


class CpuTemperature(HostMean):
    """Degrees Celsius of the processor's hottest sensor, as Linux reports it. OSError if it reports none."""

    def measure(self) -> float:
        readings = find_cpu_sensors(tuple(SENSORS))
        if not readings:
            rule = "this system has no processor temperature sensor: leave the metric out"
            raise OSError(f"{self.name}.update(): {rule}")
        return max(int(path.read_text()) for path in readings) / 1000


@cache
def find_cpu_sensors(sensors: tuple[tuple[str, str, str], ...]) -> list[Path]:
    """Find the files of the processor's sensors, once."""
    return [
        path
        for folder, name, inputs in sensors
        for sensor in sorted(Path(folder).glob("*"))
        if (sensor / name).is_file() and OF_CPU.search((sensor / name).read_text())
        for path in sensor.glob(inputs)
    ]


class GpuMemory(HostMean):
    """Bytes in use on a device (None: the default one), from fb.memory."""

    def __init__(self, device: DeviceLike | None = None):
        super().__init__()
        self.watched = device

    def measure(self) -> float:
        return float(memory(self.watched)["live"])


class RateMetric(Metric):
    """An amount per second since the first update or `reset`."""

    def __init__(self):
        super().__init__("cpu")
        self.add_state("amount", 0.0, "sum")
        self.add_state("seconds", 0.0, "sum")
        self.started: tuple[float, float] | None = None

    def clock(self) -> float:
        """Return a running count of the host; its increase is added to the amount."""
        return 0.0

    def update(self, *args: Any, **kw: Any) -> None:
        """Add the amount and the seconds since the last update."""
        now = time.perf_counter(), self.clock()
        if self.started is not None:
            self.states["seconds"] += now[0] - self.started[0]
            # the first update only starts the clock, since it has no interval before it
            self.states["amount"] += now[1] - self.started[1] + self.update_amount(*args, **kw)
        self.started = now

    def update_amount(self, *args: Any, **kw: Any) -> float:
        """Return the amount of one update."""
        return 0.0

    def reset(self) -> None:
        """Reset; counting starts now."""
        # The time since the last update must not count as part of the next epoch.
        super().reset()
        self.started = time.perf_counter(), self.clock()

    def compute(self) -> float:
        """Return the ratio; NaN before the second update."""
        return self.states["amount"] / self.states["seconds"] if self.states["seconds"] else float("nan")


class IterationSpeed(RateMetric):
    """Updates per second."""

    higher_is_better = True

    def update_amount(self, *args: Any, **kw: Any) -> float:
        return 1.0


class CpuUse(RateMetric):
    """Processor seconds per second of all threads of this process: 2.0 is two full cores."""

    def clock(self) -> float:
        # User and system time of all threads, so that the rate may exceed 1.
        return time.process_time()
