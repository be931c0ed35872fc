"""Batches of runs into the seconds of one."""

from collections.abc import Callable
from statistics import median
from time import perf_counter

WARM = 0.12  # seconds of work before a GPU is measured: an idle one runs at a fraction of its clock
SETTLED = 0.03  # how far two batches may lie apart when it is warm
ROUNDS = 5  # at least
MOST = 1 << 16  # runs in a short batch
LONG = 3  # times as many runs as a short batch has


def per_run(batch: Callable[[int], object], budget: float, warm: bool) -> float:
    """Seconds of one run among many that follow each other without a pause.

    batch(n) queues n runs and waits for them. A long batch less a short one is runs alone: what a batch costs
    once, commands before the first run and the wait after the last, is in both. It is nothing beside runs as
    long as a batch. budget: seconds of the short batches. warm: begin with work, as GPUs need it.
    """

    def timed(n: int) -> float:
        begin = perf_counter()
        batch(n)
        return perf_counter() - begin

    timed(1)
    n, took = 1, timed(1)
    while took < budget / 8 and n < MOST:
        n = min(max(2 * n, int(n * budget / 6 / max(took, 1e-6))), 16 * n, MOST)
        took = timed(n)
    spent, last, now = 0.0, 0.0, took
    while warm and (spent < WARM or (abs(now / last - 1) > SETTLED and spent < 8 * WARM)):
        last, now = now, timed(n)
        spent += now
    if n == 1:
        return median(timed(1) for _ in range(ROUNDS))
    short, long = [], []
    while sum(short) < budget or len(short) < ROUNDS:
        short.append(timed(n))
        long.append(timed(LONG * n))
    return max(median(long) - median(short), 0.0) / (LONG - 1) / n or median(long) / LONG / n
