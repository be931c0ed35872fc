"""Measures the constants of `flambeau.distributed.scaling` here, and compares its prediction with real steps.

python bench/scaling.py [--mb 16] [--seconds 0.06] [--workers 1 2 4] [--steps 12] [--device cpu]

A worker's device is played by a pause: a step of `shards` pauses and gradients of `mb` megabytes, exchanged
by `flambeau.distributed.wrap` between processes of this host. With --device gpu the gradients are on an
adapter.
Prints the constants, then seconds of a step measured and predicted for each number of workers.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from statistics import median

import numpy as np

SHARDS, TENSORS = 4, 4
ROUNDS = 2  # runs of each number of workers, the least of which counts: other processes disturb


def seconds_of(call, repeats: int = 7) -> float:
    """The least seconds of a call."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def constants(device: str, nbytes: int) -> dict[str, float]:
    """Bytes per second of a read, a write (as an exchange of two workers makes them) and a copy."""
    import flambeau as fb
    from flambeau.distributed.carrier import CopyThreads, TensorSlice, carrier_of
    from flambeau.distributed.exchange import TreeAdd

    count = nbytes // 4
    host = np.ones(count, np.float32)
    target = np.empty_like(host)
    x = fb.tensor(host, device=device).realize()
    carrier = carrier_of(x.device, CopyThreads(2))
    adder = TreeAdd([[(0, 1)], [(1, 2)]], 2, range(2), carrier.threads)
    landing = carrier.land((count,))
    return {
        "read": nbytes / seconds_of(lambda: carrier.read([TensorSlice(x, 0, 0, count)], count).wait(target)),
        "write": nbytes / seconds_of(lambda: carrier.write([TensorSlice(landing, 0, 0, count)], [host])),
        "add": nbytes / seconds_of(lambda: adder.add([host, host], target)),
        "copy": nbytes / seconds_of(lambda: np.copyto(target, host)),
    }


def work(options: argparse.Namespace) -> None:
    """A worker: prints the seconds of its steps, and of a message, as JSON from rank 0."""
    import flambeau as fb
    from flambeau import distributed as d
    from flambeau.autodiff.backward import Gradients

    group = d.init_process_group(init_method=f"tcp://127.0.0.1:{options.port}", rank=options.rank,
                                 world_size=options.size) or d.get_default_group()  # fmt: skip
    count = options.mb * (1 << 20) // 4 // TENSORS
    params = [fb.zeros(count, device=options.device).requires_grad_() for _ in range(TENSORS)]
    slopes = [fb.ones(count, device=options.device) * 1e-3 for _ in params]
    fb.realize(*params, *slopes)
    optimizer = d.wrap(fb.optim.SGD(params, lr=1e-3), shards=options.shards)
    x = np.ones((options.shards, 1), np.float32)
    loss = fb.zeros(1, device=options.device)[0]

    def function(_):
        time.sleep(options.seconds)
        by_key = {p.node.param: s for p, s in zip(params, slopes, strict=True)}
        return Gradients(by_key, loss)

    times = []
    for _ in range(options.steps + 2):
        begin = time.perf_counter()
        optimizer.step(function, x)
        times.append(time.perf_counter() - begin)
    small = [np.zeros(8, np.float32) for _ in range(group.size)]
    begin = time.perf_counter()
    for _ in range(50):
        group.all_to_all([np.empty_like(s) for s in small], small)
    message = (time.perf_counter() - begin) / 50 / max(group.size - 1, 1)
    if not options.rank:
        print(json.dumps({"step": median(times[2:]), "least": min(times[2:]), "message": message}))
    group.barrier()
    d.destroy_process_group()


def run(options: argparse.Namespace, size: int, shards: int, pause: float | None = None) -> dict[str, float]:
    """Steps of `size` processes."""
    pause = options.seconds if pause is None else pause
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    flags = ["--port", port, "--size", size, "--shards", shards, "--mb", options.mb, "--steps", options.steps,
             "--seconds", pause, "--device", options.device]  # fmt: skip
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, "--rank", str(rank), *map(str, flags)],
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for rank in range(size)
    ]
    outputs = [p.communicate(timeout=300)[0] for p in processes]
    return json.loads(outputs[0])


def least_of(options: argparse.Namespace, size: int, shards: int, pause: float | None = None) -> float:
    """The least seconds of a step in several runs."""
    return min(run(options, size, shards, pause)["least"] for _ in range(ROUNDS))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=0.06)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--device", default="cpu")
    for name in ("rank", "size", "port", "shards"):
        parser.add_argument(f"--{name}", type=int, default=-1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank >= 0:
        return work(options)
    from flambeau.distributed.scaling import Machine, WorkerStep, predict

    nbytes = options.mb << 20
    rates = constants(options.device, nbytes)
    # what a step takes beside its pauses
    one, twice = (
        min(run(options, 1, shards, pause=0.0)["least"] for _ in range(ROUNDS))
        for shards in (SHARDS, 2 * SHARDS)
    )
    pair = run(options, 2, SHARDS, pause=0.0)
    machine = Machine(**rates, cores=os.cpu_count() or 1, message=pair["message"])
    print({name: float(f"{value:.3g}") for name, value in machine._asdict().items()})
    shard = options.seconds + max(twice - one, 0.0) / SHARDS
    fixed = max(one - max(twice - one, 0.0), 0.0)
    print(f"a shard {shard * 1e3:.1f} ms, the rest of a step {fixed * 1e3:.1f} ms")
    alone = 0.0
    for size in options.workers:
        measured = least_of(options, size, SHARDS)
        alone = alone or measured
        step = predict(WorkerStep(nbytes, SHARDS / size * shard, fixed), machine, devices=size)
        error = step.step / measured - 1
        times = f"measured {measured * 1e3:6.1f} ms, predicted {step.step * 1e3:6.1f} ms ({error:+.0%})"
        speedups = f"speedup {alone / measured:.2f}, predicted {alone / step.step:.2f}"
        print(f"{size} workers: {times}, {speedups}")
    return None


if __name__ == "__main__":
    main()
