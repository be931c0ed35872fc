"""DiLoCo beside synchronous training over a slow link: busy share, bytes, and the loss at equal tokens.

    python bench/diloco.py [--steps 2000] [--every 500] [--wire int8] [--megabits 100] [--delay 80]
        [--features 64] [--layers 2] [--sync-steps 8] [--device cpu]

A GPT on characters of this repository's pages, trained by two workers in two network namespaces with a link
of that rate and delay (see slow_link.py; needs root). The busy share is the time outside of exchanges. The
synchronous side makes few steps over the link, for its bytes and times; its loss is that of all steps with
the same batches by one worker, whose bits are those of two.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from slow_link import ADDRESSES, slow_link

from flambeau.distributed.wire import TOKEN

ROOT = Path(__file__).resolve().parent.parent
SEED, TOKENS, BATCH, WORKERS = 5, 64, 16, 2


def corpus() -> tuple[np.ndarray, int]:
    """The characters of the pages as numbers, and how many there are."""
    text = "".join(p.read_text(encoding="utf-8") for p in sorted((ROOT / "docs").glob("*.md")))
    letters = {c: i for i, c in enumerate(sorted(set(text)))}
    return np.array([letters[c] for c in text], np.int32), len(letters)


def draw(text: np.ndarray, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """n parts of the text, and their next characters."""
    starts = rng.integers(0, len(text) - TOKENS - 1, n)
    parts = np.stack([text[s : s + TOKENS + 1] for s in starts])
    return parts[:, :-1], parts[:, 1:]


def train(options: argparse.Namespace) -> dict:
    from parallel import gpt_of

    import flambeau as fb
    from flambeau import distributed, nn

    distributed.init_process_group()
    group = distributed.get_default_group()
    text, words = corpus()
    held = len(text) // 10
    fb.manual_seed(SEED)
    size = {"features": options.features, "tokens": TOKENS, "words": words, "layers": options.layers}
    model = gpt_of(size, nn)
    optimizer = fb.optim.AdamW(model.parameters(), lr=1e-3)

    def loss_of(x, y):
        return nn.functional.cross_entropy(model(x).flatten(0, -2), y.flatten())

    @fb.jit
    def step(x, y):
        grads = loss_of(x, y).backward()
        optimizer.step(grads)
        return grads.loss

    is_far = options.side == "diloco"
    if is_far:
        outer = distributed.DiLoCo(optimizer, every=options.every, wire=options.wire)
    else:
        outer = distributed.wrap(optimizer, model)
    exchanging = 0.0

    def exchange(loss):
        nonlocal exchanging
        fb.synchronize()  # what is computed until then is no part of the exchange
        began = time.perf_counter()
        exchange_now(loss)
        exchanging += time.perf_counter() - began

    if is_far:
        exchange_now, outer.exchange = outer.exchange, exchange
    steps = options.sync_steps if options.side == "sync" else options.steps
    rng = np.random.default_rng(SEED + (1 + group.rank if is_far else 0))
    begin = time.perf_counter()
    for _ in range(steps):
        x, y = (fb.tensor(p) for p in draw(text[held:], rng, BATCH if is_far else BATCH * WORKERS))
        if is_far:
            outer.after_step(step(x, y))
        else:
            outer.step(loss_of, x, y)
    fb.synchronize()
    seconds = time.perf_counter() - begin
    rng = np.random.default_rng(SEED)
    with fb.no_grad():
        losses = [loss_of(*(fb.tensor(p) for p in draw(text[:held], rng, 64))).item() for _ in range(8)]
    sent = outer.sent if is_far else outer.sums.sent
    distributed.destroy_process_group()
    return {
        "busy": 1 - exchanging / seconds,
        "bytes": sent / steps,
        "loss": float(np.mean(losses)),
        "seconds": seconds / steps,
        "parameters": sum(p.numel() for p in model.parameters()),
    }


def run(side: str, options: argparse.Namespace, hosts: Sequence[list[str]]) -> dict:
    """Train one side, with a worker on each host; returns the result of rank 0."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        names = ("steps", "sync_steps", "every", "wire", "features", "layers")
        arguments = [f"--{n.replace('_', '-')}={getattr(options, n)}" for n in names]
        arguments += ["--side", side, "--out", str(out)]
        environment = {"OMP_NUM_THREADS": "1"} | os.environ | {TOKEN: secrets.token_hex()}
        environment |= {"FLAMBEAU_DEVICE": options.device} if options.device else {}
        workers = []
        for rank, begin in enumerate(hosts):
            command = [*begin, sys.executable, "-m", "flambeau", "launch", "--devices", "1"]
            command += ["--hosts", str(len(hosts)), "--rank", str(rank)]
            command += ["--master", ADDRESSES[0]] if len(hosts) > 1 else []
            workers.append(subprocess.Popen([*command, __file__, *arguments], env=environment))
        if any([worker.wait() for worker in workers]):
            sys.exit(1)
        return json.loads(out.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--sync-steps", type=int, default=8, help="of the synchronous side over the link")
    parser.add_argument("--every", type=int, default=500)
    parser.add_argument("--wire", default="int8")
    parser.add_argument("--megabits", type=float, default=100.0)
    parser.add_argument("--delay", type=float, default=80.0)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--device")
    parser.add_argument("--side", choices=("diloco", "sync", "near"))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.side:
        result = train(options)
        if os.environ["RANK"] == "0":
            options.out.write_text(json.dumps(result))
        return
    with slow_link(options.megabits, options.delay) as hosts:
        far, sync = run("diloco", options, hosts), run("sync", options, hosts)
    near = run("near", options, [[]])
    link = f"{options.megabits:g} Mbit/s, {options.delay:g} ms"
    print(f"{far['parameters']:,} parameters, {options.steps} steps, {link}")
    print(
        f"every {options.every}, {options.wire}: busy {far['busy']:.1%}, {1e3 * far['seconds']:.1f} ms a step"
    )
    times = sync["bytes"] / far["bytes"]
    print(f"synchronous: {1e3 * sync['seconds']:.1f} ms a step, {times:.0f} times the bytes")
    more = far["loss"] / near["loss"] - 1
    print(f"loss of held text {far['loss']:.4f}, synchronous {near['loss']:.4f}: {more:+.2%}")


if __name__ == "__main__":
    main()
