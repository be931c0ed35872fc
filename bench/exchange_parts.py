"""The speed of each pass of an exchange of gradients, alone and with all workers at once.

    flambeau launch --devices 2 bench/exchange_parts.py [--round 16] [--threads 1 2 4 8] [--rounds 12]

Rank 0 prints a row for each pass: GB/s of its output (the median of all rounds) with each number of threads,
while the other workers do the same; "alone" is with the last number of threads while they rest, and "faults"
counts the new pages of a pass. "mapped" is memory that the device copies to or from, "shared" memory that all
workers read.
"""

import argparse
import os
import resource
import time
from collections.abc import Callable
from statistics import median

import numpy as np

import flambeau as fb
from flambeau import distributed
from flambeau.distributed import exchange
from flambeau.distributed.carrier import CopyThreads, StagedCarrier, TensorSlice, _copies, carrier_of
from flambeau.distributed.exchange import TreeAdd
from flambeau.distributed.group import ProcessGroup
from flambeau.distributed.memory import host_key
from flambeau.distributed.sums import _flushes

Pass = tuple[str, int, Callable[[], object]]  # a name, bytes of its output, and what runs it


def describe_host() -> None:
    """Print what decides the speed of passes over memory."""
    facts = {"cores": str(os.cpu_count()), "shared memory": str(bool(host_key()))}
    for name in ("enabled", "shmem_enabled", "defrag"):
        try:
            with open(f"/sys/kernel/mm/transparent_hugepage/{name}") as file:
                facts[f"huge pages {name}"] = file.read().split("[")[1].split("]")[0]
        except (OSError, IndexError):
            facts[f"huge pages {name}"] = "?"
    with open("/proc/cpuinfo") as file:
        facts["processor"] = next((x.split(":")[1].strip() for x in file if x.startswith("model name")), "?")
    nodes = [n for n in os.listdir("/sys/devices/system/node") if n.startswith("node")] if os.path.isdir(
        "/sys/devices/system/node"
    ) else []  # fmt: skip
    facts["memory nodes"] = str(len(nodes))
    print(", ".join(f"{name}: {value}" for name, value in facts.items()))


def passes_of(group: ProcessGroup, carrier, count: int) -> list[Pass]:
    """Return the passes over a round of `count` elements."""
    threads, half, nbytes = carrier.threads, count // 2, 4 * count
    own, sums = group.empty((count,)), group.empty((count,))
    own[:] = 1.0
    sums[:] = 0.0
    private, other = np.zeros(count, np.float32), np.ones(count, np.float32)
    call = group.begin("parts")
    others = [r for r in range(group.size) if r != group.rank]
    call.send_whole(others, 0, own.view(np.uint8))
    peer = own
    if others:
        raw, _ = call.receive_whole((group.rank + 1) % group.size, 0, nbytes)
        peer = raw.view(np.float32)

    def add(
        parts: list[np.ndarray], out: np.ndarray, chunk: int = 0, **options: bool
    ) -> Callable[[], object]:
        tree = TreeAdd([[(0, 1)], [(1, 2)]], 2, range(2), threads, **options)

        def run() -> None:
            previous, exchange.CHUNK = exchange.CHUNK, chunk or exchange.CHUNK
            try:
                tree.add([p[:half] for p in parts], out[:half])
            finally:
                exchange.CHUNK = previous

        return run

    def after_peer(run: Callable[[], object]) -> Callable[[], object]:
        inner: list[float] = []

        def both() -> None:
            threads.copy(own, private)  # as in an exchange, the peer's values are new
            group.barrier()
            began = time.perf_counter()
            run()
            inner.append(time.perf_counter() - began)

        INNER[id(both)] = inner
        return both

    rows: list[Pass] = [
        ("private -> private", nbytes, lambda: threads.copy(private, other)),
        ("private -> shared", nbytes, lambda: threads.copy(own, private)),
        ("shared -> private", nbytes, lambda: threads.copy(private, own)),
        ("peer's shared -> private", nbytes, lambda: threads.copy(private, peer)),
        ("add private", nbytes // 2, add([private, other], private, checks=False)),
        ("add shared", nbytes // 2, add([own, own[half:]], sums, checks=False)),
        ("add shared, checked", nbytes // 2, add([own, own[half:]], sums)),
        ("add shared, chunks of 256 KB", nbytes // 2, add([own, own[half:]], sums, 1 << 16)),
        ("add shared, chunks of 4 MB", nbytes // 2, add([own, own[half:]], sums, 1 << 20)),
        ("add shared, checked, flushed", nbytes // 2, add([own, own[half:]], sums, flushes=True)),
        ("add own + peer's, checked", nbytes // 2, add([own, peer], sums)),
        ("peer's new -> private", nbytes, after_peer(lambda: threads.copy(private, peer))),
        ("add own + peer's new, checked", nbytes // 2, after_peer(add([own, peer], sums))),
        ("nothing, in threads", 0, lambda: threads.run(count, lambda first, end: None)),
    ]
    if isinstance(carrier, StagedCarrier):
        rows += device_passes(carrier, own, peer, count)
    return rows


def device_passes(carrier: StagedCarrier, own: np.ndarray, peer: np.ndarray, count: int) -> list[Pass]:
    """Return the passes between a device and mapped memory."""
    source = fb.full((count,), 1.0)
    fb.realize(source)
    landing, staging, nbytes = carrier.land((count,)), carrier.staging, 4 * count
    part, into = [TensorSlice(source, 0, 0, count)], [TensorSlice(landing, 0, 0, count)]
    held = np.zeros(count, np.float32)

    def read_only() -> None:
        pending = carrier.read(part, count)
        pending.pending.wait(lambda mapped: None)

    def read_into(target: np.ndarray) -> Callable[[], object]:
        def run() -> None:
            pending = carrier.read(part, count)
            while not pending.pending.mapping.is_done():
                pass
            began = time.perf_counter()
            pending.wait(target)
            inner.append(time.perf_counter() - began)

        inner = INNER[id(run)] = []
        return run

    def write_from(sources: list[np.ndarray]) -> Callable[[], object]:
        def run() -> None:
            carrier.write(into, sources)

        return run

    def write_only() -> None:
        staging.write(copies, nbytes, lambda mapped: None)

    copies = _copies(into)
    half = count // 2
    return [
        ("device -> mapped", nbytes, read_only),
        ("mapped -> private", nbytes, read_into(held)),
        ("mapped -> shared", nbytes, read_into(own)),
        ("device -> mapped -> shared", nbytes, lambda: carrier.read(part, count).wait(own)),
        ("mapped -> device", nbytes, write_only),
        ("private -> mapped -> device", nbytes, write_from([held])),
        ("shared, peer's -> mapped -> device", nbytes, write_from([own[:half], peer[half:]])),
    ]


INNER: dict[int, list[float]] = {}  # times of parts of a pass, by the function's id


def time_pass(run: Callable[[], object], rounds: int, group: ProcessGroup | None) -> float:
    """Return the median seconds of a pass."""
    times: list[float] = []
    run()
    if group is not None:
        group.barrier()
    for _ in range(rounds):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    fb.synchronize()
    inner = INNER.get(id(run))
    return median(inner[-rounds:] if inner else times)


def main() -> None:
    """Measure all passes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--round", type=float, default=16, help="MB of a round")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8])
    options = parser.parse_args()
    distributed.init_process_group()
    group = distributed.get_default_group()
    device = fb.zeros(1).device
    carrier = carrier_of(device, CopyThreads(group.size))
    count = int(options.round * (1 << 20)) // 4
    rows = passes_of(group, carrier, count)
    if group.rank == 0:
        describe_host()
        flushes = "flushed" if _flushes(device) else "kept"
        print(f"{device.name}: subnormal sums are {flushes}; rounds of {options.round:g} MB")
        numbers = "".join(f"{n:>8}" for n in options.threads)
        print(f"{'GB/s, with threads':<36}{numbers}   alone    faults")
    for name, nbytes, run in rows:
        text = f"{name:<36}"
        for n in options.threads:
            carrier.threads.count = n
            text += _rate(time_pass(run, options.rounds, group), nbytes)
        group.barrier()
        if group.rank == 0 and id(run) in INNER and "new" in name:
            print(text, flush=True)  # these need the other workers
        elif group.rank == 0:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            text += _rate(time_pass(run, options.rounds, None), nbytes)
            faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
            print(f"{text}{faults / (options.rounds + 1):>10.0f}", flush=True)
        group.barrier()
    distributed.destroy_process_group()


def _rate(seconds: float, nbytes: int) -> str:
    return f"{nbytes / seconds / 1e9:>8.1f}" if nbytes else f"{seconds * 1e6:>6.0f}us"


if __name__ == "__main__":
    main()
