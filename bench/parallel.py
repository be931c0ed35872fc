"""Data parallel training on several devices of one host, beside torch's DistributedDataParallel.

    python bench/parallel.py [--network gpt cnn] [--workers 1 2 4] [--size card] [--wires float32 float16]
        [--sides ours torch] [--steps 20] [--device cpu] [--stages]
    python bench/parallel.py --exchange 496 [--workers 2 4] [--steps 10] [--device cpu]
        [--set sums.ROUND=16777216]

Weak scaling: each worker has the same batch, whatever their number, and the efficiency is the rate per worker
beside that of one worker of the same side in the same run. `--size card` is for GPUs: GPT-2 124M with 16 k
tokens a worker a step, and a CNN of about 10 ms a step. torch uses NCCL on CUDA devices, gloo on the CPU.
Each contestant is a new process of `flambeau launch` (or torchrun), one after the other.

--stages prints the least, the median and the most milliseconds of rank 0's steps, and where the time goes
(medians): until the device has computed the last gradients, from then until all sums are on the device, and
the optimiser; then the stages of the exchange, which run side by side: read (device to shared memory, after
the device), wait (for other workers), add, and write (shared memory to device). "computed" is what a stage's
thread computed of it.
--set changes constants of flambeau.distributed (or staging.NAME) in all workers.
--exchange MB only exchanges that many megabytes of gradients, of GPT-2's sizes, between the workers.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np

SIZES = {
    "tiny": {
        "gpt": {"layers": 2, "features": 32, "tokens": 64, "batch": 8, "words": 128},
        "cnn": {"width": 8, "side": 16, "batch": 16},
    },
    "card": {
        "gpt": {"layers": 12, "features": 768, "tokens": 1024, "batch": 16, "words": 50257},
        "cnn": {"width": 64, "side": 32, "batch": 256},
    },
}
SEED = 7
WARM = 6  # steps before those that are timed: the first record, and the next ones still take memory


def batch_of(network: str, size: dict, workers: int):
    """The batch of all workers."""
    rng = np.random.default_rng(SEED)
    n = size["batch"] * workers
    if network == "gpt":
        tokens = rng.integers(0, size["words"], (n, size["tokens"] + 1))
        return tokens[:, :-1].astype("i4"), tokens[:, 1:].astype("i4")
    side = size["side"]
    return rng.standard_normal((n, 3, side, side)).astype("f"), rng.integers(0, 10, n).astype("i4")


def ours(network: str, size: dict, options: argparse.Namespace) -> dict:
    """Steps of this process's worker, in a script that `flambeau launch` started."""
    import flambeau as fb
    from flambeau import distributed, nn

    distributed.init_process_group()
    group = distributed.get_default_group()
    fb.manual_seed(SEED)
    functional = nn.functional
    model = model_of(network, size, nn)

    def loss_of(x, y):
        out = model(x)
        return functional.cross_entropy(out.flatten(0, -2), y.flatten())

    optimizer = distributed.wrap(
        fb.optim.AdamW(model.parameters(), lr=1e-4), model, shards=options.shards, wire=options.wire
    )
    batch = [fb.tensor(part) for part in batch_of(network, size, group.size)]
    losses = [optimizer.step(loss_of, *batch) for _ in range(WARM)]
    ends = [time.perf_counter()]
    for _ in range(options.steps):
        losses.append(optimizer.step(loss_of, *batch))
        ends.append(time.perf_counter())
    fb.synchronize()
    seconds = (time.perf_counter() - ends[0]) / options.steps
    sent = optimizer.sums.sent / (options.steps + WARM)
    stages = stages_of(optimizer.sums, lambda: optimizer.step(loss_of, *batch), 8) if options.stages else {}
    each = [1e3 * (end - begin) for begin, end in pairwise(ends)]
    stages |= {"least": min(each), "median": median(each), "most": max(each)} if options.stages else {}
    distributed.destroy_process_group()
    return {
        "seconds": seconds,
        "sent": sent,
        "first": losses[0],
        "last": losses[-1],
        "stages": stages,
        "each": each,
    }


def stages_of(sums, step, steps: int) -> dict[str, float]:
    """Milliseconds of each part of a step, medians."""
    import flambeau as fb
    from flambeau.distributed.exchange import StageTimes

    rows = []
    for _ in range(steps):
        sums.times = times = StageTimes()
        fb.synchronize()
        begin = time.perf_counter()
        step()
        fb.synchronize()
        end = time.perf_counter()
        computed = max(times.computed, begin)
        finished = max(times.finished, computed)
        parts = {"step": end - begin, "compute": computed - begin, "exposed": finished - computed}
        computed_by = {f"{name} (computed)": seconds for name, seconds in times.processor.items()}
        rows.append(parts | {"update": end - finished} | times.seconds | computed_by)
    sums.times = None
    slowest = 1e3 * max(row["step"] for row in rows)
    medians = {name: 1e3 * median(row.get(name, 0.0) for row in rows) for name in rows[0]}
    return medians | {"slowest step": slowest}


def set_constants(assignments: list[str]) -> None:
    """Change constants of modules, NAME=VALUE each."""
    for assignment in assignments:
        name, value = assignment.split("=")
        module, constant = name.rsplit(".", 1)
        package = "flambeau.device" if module == "staging" else "flambeau.distributed"
        place = importlib.import_module(f"{package}.{module}")
        kind = type(getattr(place, constant))
        setattr(place, constant, kind(float(value)))


def exchange(network: str, size: dict, options: argparse.Namespace) -> dict:
    """Steps that exchange constant gradients between this process and the others of its launch."""
    import flambeau as fb
    from flambeau import distributed
    from flambeau.distributed.carrier import TensorSlice
    from flambeau.distributed.sums import ParallelOptions, ShardSum, Sums

    distributed.init_process_group()
    group = distributed.get_default_group()
    count = int(options.exchange * 1e6) // 4
    # GPT-2's: the words are a third, and each of 12 blocks has four matrices.
    sizes = [count * 31 // 100, *(count * 69 // 100 * part // 144 for part in (3, 1, 4, 4) * 12)]
    params = [fb.zeros(n) for n in sizes]
    grads = [fb.full((n,), float(group.rank + 1)) for n in sizes]
    loss = fb.zeros(1)[0]
    fb.realize(*params, *grads, loss)
    names = [str(i) for i in range(len(sizes))]
    sums = Sums(group, params, [], names, ParallelOptions(wire=options.wire, shards=max(8, group.size)))
    sums.carrier.threads.count = options.threads or sums.carrier.threads.count
    sums.flushes = sums.flushes if options.flushes < 0 else bool(options.flushes)

    def step():
        return sums.total(lambda _: ShardSum(dict(enumerate(grads)), loss), None)

    total = [step() for _ in range(3)][-1]
    wanted = float(sum(range(1, group.size + 1)))
    last = [float(v[-1].item()) for v in total.values.values()]
    if options.wire == "float32" and set(last) != {wanted}:
        raise SystemExit(f"sums are {set(last)}, not {wanted}")
    del total
    stages = stages_of(sums, step, options.steps)
    seconds = stages["step"] / 1e3
    # The two directions alone, all workers at once.
    part = [TensorSlice(grads[0], 0, 0, 1 << 22)] if sizes[0] >= 1 << 22 else []
    host, carrier = group.empty(1 << 22), sums.carrier
    landing = carrier.land((1 << 22,))
    for name, transfer in (
        (
            ("read", lambda: carrier.read(part, 1 << 22).wait(host)),
            ("write", lambda: carrier.write([TensorSlice(landing, 0, 0, 1 << 22)], [host])),
        )
        if part
        else ()
    ):
        group.barrier()
        times = []
        for _ in range(20):
            begin = time.perf_counter()
            transfer()
            times.append(time.perf_counter() - begin)
        stages[f"{name} alone GB/s"] = host.nbytes / median(times) / 1e9
    stages |= {"threads": carrier.threads.count, "flushes": sums.flushes}
    group.barrier()
    distributed.destroy_process_group()
    return {
        "seconds": seconds,
        "sent": sums.sent / (options.steps + 3),
        "first": 0.0,
        "last": 0.0,
        "stages": stages,
    }


def model_of(network: str, size: dict, nn):
    """A model of layers that both sides have under the same names; `nn` is flambeau.nn or torch.nn."""
    if network == "gpt":
        return gpt_of(size, nn)
    layers, width = [], size["width"]
    for inputs, outputs in ((3, width), (width, 2 * width), (2 * width, 4 * width)):
        layers += [
            nn.Conv2d(inputs, outputs, 3, padding=1),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, 10))


def gpt_of(size: dict, nn):
    """GPT-2's shape: learned positions, layer norm first, tied head."""
    features, tokens = size["features"], size["tokens"]
    heads = max(features // 64, 2)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(features), nn.LayerNorm(features)
            self.qkv, self.out = nn.Linear(features, 3 * features), nn.Linear(features, features)
            self.up, self.down = nn.Linear(features, 4 * features), nn.Linear(4 * features, features)

        def forward(self, x):
            b, n, d = x.shape
            q, k, v = (
                self.qkv(self.first(x)).reshape(b, n, 3, heads, d // heads).permute(2, 0, 3, 1, 4).unbind(0)
            )
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.permute(0, 2, 1, 3).reshape(b, n, d))
            return x + self.down(nn.functional.gelu(self.up(self.second(x))))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(size["words"], features), nn.Embedding(tokens, features)
            self.blocks = nn.Sequential(*(Block() for _ in range(size["layers"])))
            self.last = nn.LayerNorm(features)
            for p in self.parameters():
                if p.ndim > 1:
                    nn.init.normal_(p, std=0.02)

        def forward(self, x):
            y = self.blocks(self.words(x) + self.places.weight[: x.shape[1]])
            return nn.functional.linear(self.last(y), self.words.weight)

    return Gpt()


def theirs(network: str, size: dict, options: argparse.Namespace) -> dict:
    """The same by torch, in a script that torchrun started."""
    import torch
    import torch.distributed
    from torch.nn import functional

    cuda = torch.cuda.is_available()
    torch.distributed.init_process_group("nccl" if cuda else "gloo")
    rank, workers = torch.distributed.get_rank(), torch.distributed.get_world_size()
    place = f"cuda:{rank}" if cuda else "cpu"
    torch.manual_seed(SEED)
    model = model_of(network, size, torch.nn)
    model = torch.nn.parallel.DistributedDataParallel(model.to(place))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    part = slice(rank * size["batch"], (rank + 1) * size["batch"])
    x, y = (torch.tensor(a[part], device=place) for a in batch_of(network, size, workers))
    x, y = x.long() if network == "gpt" else x, y.long()

    def step() -> float:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()
        return loss

    losses = [step().item() for _ in range(WARM)]
    begin = time.perf_counter()
    last = [step() for _ in range(options.steps)][-1].item()
    if cuda:
        torch.cuda.synchronize()
    seconds = (time.perf_counter() - begin) / options.steps
    torch.distributed.destroy_process_group()
    return {"seconds": seconds, "sent": 0, "first": losses[0], "last": last}


SIDES = {"ours": ours, "torch": theirs, "exchange": exchange}


def contestant(side: str, workers: int, arguments: list[str], device: str | None) -> dict | None:
    """Run one contestant; the result of its rank 0, or None if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        command = {
            "ours": [sys.executable, "-m", "flambeau", "launch", "--devices", str(workers)],
            "exchange": [sys.executable, "-m", "flambeau", "launch", "--devices", str(workers)],
            "torch": [
                sys.executable,
                "-m",
                "torch.distributed.run",
                "--standalone",
                "--nproc-per-node",
                str(workers),
            ],
        }[side]
        environment = {"OMP_NUM_THREADS": "1"} | os.environ | ({"FLAMBEAU_DEVICE": device} if device else {})
        command += [__file__, "--side", side, "--out", str(out), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if not out.exists():
            errors = [line for line in done.stderr.splitlines() if "Error" in line]
            print(f"{side} on {workers}: failed: {' '.join(errors[:1])}")
            return None
        return json.loads(out.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--network", nargs="+", choices=("gpt", "cnn"), default=["gpt", "cnn"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--sides", nargs="+", choices=("ours", "torch"), default=["ours", "torch"])
    parser.add_argument("--wires", nargs="+", default=["float32"])
    parser.add_argument("--wire", default="float32")
    parser.add_argument("--shards", type=int, default=8, help="4 where no more than 4 workers are compared")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--device", help="of all workers, as FLAMBEAU_DEVICE; default: an adapter each")
    parser.add_argument("--stages", action="store_true", help="print the milliseconds of each stage")
    parser.add_argument("--exchange", type=float, help="MB of gradients to exchange, and nothing else")
    parser.add_argument("--threads", type=int, default=0, help="of each pass of --exchange; 0: as usual")
    parser.add_argument("--flushes", type=int, default=-1, help="whether --exchange flushes subnormal sums")
    parser.add_argument("--set", nargs="+", default=[], metavar="MODULE.NAME=VALUE", help="of constants")
    parser.add_argument(
        "--switch", type=float, default=0.005, help="seconds until a thread must give the GIL"
    )
    parser.add_argument("--side", choices=SIDES)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.side:
        set_constants(options.set)
        result = SIDES[options.side](options.network[0], SIZES[options.size][options.network[0]], options)
        if os.environ.get("RANK", "0") == "0":
            options.out.write_text(json.dumps(result))
        return
    constants = ["--set", *options.set] if options.set else []
    if options.exchange:
        for workers in options.workers:
            arguments = ["--exchange", str(options.exchange), "--steps", str(options.steps)]
            arguments += ["--wire", options.wire, "--threads", str(options.threads)]
            arguments += ["--flushes", str(options.flushes), *constants]
            result = contestant("exchange", workers, arguments, options.device)
            if result is not None:
                print(
                    f"{options.exchange:g} MB between {workers} workers: {text_of(result['stages'])}",
                    flush=True,
                )
        return
    print("network  side           workers  ms/step  scaling  MB sent a step  loss")
    for network in options.network:
        for side, wire in [
            (s, w) for s in options.sides for w in (options.wires if s == "ours" else ["float32"])
        ]:
            alone = 0.0
            for workers in options.workers:
                arguments = ["--network", network, "--size", options.size, "--steps", str(options.steps)]
                arguments += ["--wire", wire, "--shards", str(options.shards)]
                arguments += ["--stages"] * options.stages
                arguments += constants
                result = contestant(side, workers, arguments, options.device)
                if result is None:
                    continue
                alone = alone or result["seconds"]
                scaling = workers * alone / result["seconds"] / options.workers[0]
                name = side if side == "torch" else f"{side} {wire}"
                print(
                    f"{network:<8} {name:<14} {workers:<8} {result['seconds'] * 1e3:<8.1f} {scaling:<8.2f}"
                    f" {result['sent'] / 1e6:<15.2f} {result['last']:.4f}", flush=True,
                )  # fmt: skip
                if result.get("stages"):
                    print(f"         ms: {text_of(result['stages'])}")
                    print(f"         steps: {' '.join(f'{ms:.0f}' for ms in result['each'])}", flush=True)


def text_of(stages: dict[str, float]) -> str:
    """The stages in one line."""
    return ", ".join(f"{name} {value:.1f}" for name, value in stages.items())


if __name__ == "__main__":
    main()
