"""All-reduce between processes of this host: shared memory, sockets, and torch's gloo where it is installed.

python bench/all_reduce.py [--ranks 2 4] [--megabytes 1 16 64] [--dtype float32] [--seconds 2]

Prints milliseconds and GB/s of the array (bytes of one rank's array / time, the slowest rank), medians of
rounds in which the ways take turns.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np


def worker(options) -> None:
    """One rank: the ways take turns, so that other load on the machine meets all of them."""
    from datetime import timedelta

    from flambeau import distributed
    from flambeau.distributed.rendezvous import Worker

    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    ways = {}
    for number, (name, shared) in enumerate((("shared memory", True), ("sockets", False))):
        if rank == 0:
            server = distributed.StoreServer(host, port + number)
        store = distributed.Store(host, port + number)
        group = Worker(store, "", rank, size, shared).join(60)
        ways[name] = group.all_reduce
        if number == 0:
            first = group
    if find_spec("torch") is not None:
        import torch
        import torch.distributed as peer

        torch.set_num_threads(1)
        address = f"tcp://{host}:{port + 2}"
        peer.init_process_group(
            "gloo", init_method=address, rank=rank, world_size=size, timeout=timedelta(seconds=60)
        )
        ways[f"torch {torch.__version__} gloo"] = lambda array: peer.all_reduce(torch.from_numpy(array))
    for megabytes in options.megabytes:
        array = np.zeros(int(megabytes * 1e6) // np.dtype(options.dtype).itemsize, options.dtype)
        lent = first.empty(array.shape, options.dtype)
        lent[...] = 0
        ways["lent array"] = lambda _, lent=lent: first.all_reduce(lent)
        times = {name: [] for name in ways}
        rounds = 0
        slowest = np.zeros(1)
        began = time.perf_counter()
        while slowest[0] < options.seconds or rounds < 5:
            for name, all_reduce in ways.items():
                first.barrier()
                start = time.perf_counter()
                all_reduce(array)
                took = np.array([time.perf_counter() - start])
                first.all_reduce(took, distributed.ReduceOp.MAX)
                times[name].append(float(took[0]))
            rounds += 1
            slowest[0] = time.perf_counter() - began
            first.all_reduce(slowest, distributed.ReduceOp.MAX)
        for name, seconds in times.items() if rank == 0 else ():
            median = statistics.median(seconds)
            rate = array.nbytes / median / 1e9
            case = f"{size} ranks {megabytes:6g} MB {options.dtype}"
            print(f"{case}  {name:<24}{median * 1e3:9.2f} ms{rate:7.2f} GB/s", flush=True)
    first.barrier()
    if rank == 0:
        server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="All-reduce between processes of this host.")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--megabytes", type=float, nargs="+", default=[0.004, 1, 16, 64])
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each size")
    parser.add_argument("--port", type=int, default=29600)
    options = parser.parse_args()
    if "RANK" in os.environ:
        return worker(options)
    for size in options.ranks:
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(options.port), "WORLD_SIZE": str(size)}
        rows = [os.environ | place | {"RANK": str(rank), "OMP_NUM_THREADS": "1"} for rank in range(size)]
        children = [subprocess.Popen([sys.executable, *sys.argv], env=row) for row in rows]
        if any([child.wait() for child in children]):
            sys.exit(1)
    return None


if __name__ == "__main__":
    main()
