"""Times a run: chooses the number of runs in a batch, warms up a GPU, and measures the time per run."""

from collections.abc import Callable
from math import inf
from statistics import median
from time import perf_counter

WARM = 0.12  # seconds of warm-up: an idle GPU runs at a fraction of its clock
SETTLED = 0.03  # the largest relative difference of two batches of a warm GPU
ROUNDS = 5  # the least batches of each length
MOST = 1 << 16  # the most runs in a short batch
LONG = 3  # a long batch has this many times the runs of a short one


def runs_to_fill(timed: Callable[[int], float], target: float, most: int = MOST) -> tuple[int, float]:
    """Find how many runs take about `target` seconds: at least half of that, or `most` runs. Returns the
    number and its time."""
    n, took = 1, timed(1)
    while took < target / 2 and n < most:
        # At most 16 times as many: the first runs may be slower than the rest.
        n = min(max(2 * n, int(n * target / max(took, 1e-6))), 16 * n, most)
        took = timed(n)
    return n, took


def warm_up(timed: Callable[[], float], spent: float, most: float) -> None:
    """Keep a GPU busy until its clock is stable, or for `most` seconds. spent: seconds of earlier work."""
    last, now = inf, timed()
    spent += now
    while spent < WARM or (abs(now / last - 1) > SETTLED and spent < most):
        last, now = now, timed()
        spent += now


def per_run(batch: Callable[[int], object], budget: float, warm: bool) -> float:
    """Return the seconds per run among many consecutive runs.

    batch(n) queues n runs and waits for them. The difference of a long and a short batch contains only
    runs, because the fixed cost of a batch (commands before the first run, the wait after the last)
    cancels. If a run is as long as a batch, that cost is negligible. budget: seconds of the short
    batches. warm: warm up first.
    """

    def timed(n: int) -> float:
        begin = perf_counter()
        batch(n)
        return perf_counter() - begin

    timed(1)
    n, _ = runs_to_fill(timed, budget / 6)
    if warm:
        warm_up(lambda: timed(n), 0.0, 8 * WARM)
    if n == 1:
        return median(timed(1) for _ in range(ROUNDS))
    long: list[float] = []
    short: list[float] = []
    while sum(short) < budget or len(short) < ROUNDS:
        short.append(timed(n))
        long.append(timed(LONG * n))
    # Noise can make the difference 0 or negative for tiny runs: the long batch alone is then an upper
    # bound.
    return max(median(long) - median(short), 0.0) / (LONG - 1) / n or median(long) / LONG / n
