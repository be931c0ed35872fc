"""Training steps as they are planned, beside plans that compute repeats twice, cast alone and copy permutes.

python bench/repeats.py [--width 768 --layers 4 --batch 8 --length 512]
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

import flambeau as fb
from flambeau.device import get_device
from flambeau.fusion import planner, rewrite
from flambeau.fusion.rewrite import Merged, places_of
from flambeau.models.benchmarked import Size, draw_weights, gpt
from flambeau.nn import functional as F


def as_written(roots, order) -> Merged:
    """A graph as it was given."""
    return Merged(roots, order, places_of(order), order, {n: i for i, n in enumerate(order)}, {})


@contextmanager
def planned(graph_of: Callable) -> Iterator[None]:
    """Plan with another reading of graphs."""
    planner.graph_of = graph_of
    try:
        yield
    finally:
        planner.graph_of = rewrite.graph_of


def step_of(dtype, args) -> Callable:
    """A recorded step of a GPT whose weights have a dtype, by AdamW."""
    model = draw_weights(fb, gpt(fb, Size(args.layers, args.width, args.width // 64, 4096, args.length))).to(
        dtype
    )
    ids = np.random.default_rng(1).integers(0, 4096, (args.batch, args.length)).astype(np.int32)
    x, optimizer = fb.tensor(ids), fb.optim.AdamW(model.parameters(), lr=1e-4)

    @fb.jit
    def step(x):
        scores = model(x).float()
        loss = F.cross_entropy(scores.reshape(-1, 4096), x.reshape(-1))
        optimizer.step(loss.backward())
        return loss

    return lambda: step(x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, size in (("width", 768), ("layers", 4), ("batch", 8), ("length", 512), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=size)
    args, device = parser.parse_args(), get_device()
    for dtype in (fb.float32, fb.float16):
        calls, losses = {}, {}
        for name, graph_of in (("as written", as_written), ("planned", rewrite.graph_of)):
            with planned(graph_of):
                device.plans.clear()
                fb.manual_seed(0)
                calls[name] = step_of(dtype, args)
                losses[name] = [calls[name]().item() for _ in range(3)]
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(args.rounds):
            for name, call in calls.items():
                call(), device.wait()
                begin = time.perf_counter()
                for _ in range(4):
                    call()
                device.wait()
                times[name].append((time.perf_counter() - begin) / 4)
        for name, found in times.items():
            told = ", ".join(f"{x:.5f}" for x in losses[name])
            best, middle = min(found) * 1e3, statistics.median(found) * 1e3
            print(
                f"{dtype.name:8} {name:10} {middle:8.3f} ms a step, best {best:8.3f}; losses {told}",
                flush=True,
            )


if __name__ == "__main__":
    main()
