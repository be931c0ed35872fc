"""Seven hundred steps of training: memory, caches and the graph stay as they were after the first few."""

import gc
import resource

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn, optim
from flambeau.core.node import Node
from flambeau.runtime.pipeline import counters

F = nn.functional
STEPS, WARM = 700, 300
GROWTH = 16 << 10  # KiB that the process may take more: bind groups, up to those that are kept


def counts(device) -> dict[str, int]:
    """What may not grow: bytes of the device and nodes of the graph."""
    gc.collect()
    return {"bytes": device.pool.live, "nodes": sum(isinstance(o, Node) for o in gc.get_objects())}


@pytest.mark.parametrize("is_recorded", [True, False], ids=["recorded", "eager"])
@pytest.mark.share(5)
def test_steps_leave_nothing_behind(gpu, is_recorded):
    fb.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(64, 8)).astype("f4"), rng.integers(0, 3, 64).astype("i4")
    model.train()

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        optimizer.step(loss.backward())
        return loss

    run = fb.jit(step) if is_recorded else step
    total, losses, before, size = fb.zeros(()), [], {}, 0
    for i in range(STEPS):
        at = slice(i % 4 * 16, i % 4 * 16 + 16)
        loss = run(fb.tensor(x[at]), fb.tensor(y[at]))
        total = total + loss  # read once, after the last
        if i % 100 == 50:
            losses.append(loss.item())
        if i == WARM:
            total.item()
            before, size = counts(gpu), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if i == 2 * WARM:
            made = counters.plans, counters.compiles
    assert (counters.plans, counters.compiles) == made
    assert np.isfinite(total.item()) and losses[-1] < losses[0]
    del loss
    after, grown = counts(gpu), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - size
    assert grown < GROWTH
    assert {k: after[k] - n for k, n in before.items() if after[k] > n} == {}
