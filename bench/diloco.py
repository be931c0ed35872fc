"""DiLoCo beside synchronous training over a slow link: busy share, bytes, and the loss at equal tokens.

    python bench/diloco.py [--workers 2] [--steps 400] [--every 50] [--wire int8] [--megabits 100]
        [--delay 80] [--features 64] [--layers 2] [--device cpu]

A GPT on characters of this repository's pages. The link is modelled: each collective also waits for its delay
(milliseconds, there and back) and for its bytes at the rate, in the process itself; the kernels of containers
often lack `tc netem`. Between two exchanges nothing is sent, so the busy share is that of the time outside of
collectives. Each side is a new run of `flambeau launch`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
SEED, TOKENS, BATCH = 5, 64, 16


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


class SlowLink:
    """Makes a group's collectives take as long as over a slow link, and counts the seconds in them."""

    def __init__(self, group, megabits: float, delay: float):
        self.rate, self.delay, self.seconds, self.bytes = megabits * 1e6 / 8, delay / 1e3, 0.0, 0
        for name in ("all_to_all", "all_gather"):
            setattr(group, name, self.wrapped(getattr(group, name), group, name))

    def wrapped(self, call, group, name):
        def run(outputs, given, *, async_op=False):
            begin = time.perf_counter()
            if name == "all_gather":
                sent = (group.size - 1) * given.nbytes
            else:
                sent = sum(a.nbytes for r, a in enumerate(given) if r != group.rank)
            call(outputs, given)
            self.bytes += sent
            time.sleep(self.delay + sent / self.rate)
            self.seconds += time.perf_counter() - begin

        return run


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
    link = SlowLink(group, options.megabits, options.delay)
    rng = np.random.default_rng(SEED + (1 + group.rank if is_far else 0))
    begin = time.perf_counter()
    for _ in range(options.steps if is_far else options.sync_steps):
        x, y = (fb.tensor(p) for p in draw(text[held:], rng, BATCH if is_far else BATCH * group.size))
        if is_far:
            outer.after_step(step(x, y))
        else:
            outer.step(loss_of, x, y)
    fb.synchronize()
    seconds = time.perf_counter() - begin
    count, rng = (options.steps if is_far else options.sync_steps), np.random.default_rng(SEED)
    with fb.no_grad():
        losses = [loss_of(*(fb.tensor(p) for p in draw(text[:held], rng, 64))).item() for _ in range(8)]
    distributed.destroy_process_group()
    busy = 1 - link.seconds / seconds
    return {
        "busy": busy,
        "bytes": link.bytes / count,
        "loss": float(np.mean(losses)),
        "seconds": seconds / count,
    }


def run(side: str, options: argparse.Namespace) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        names = ("steps", "sync_steps", "every", "wire", "megabits", "delay", "features", "layers")
        arguments = [f"--{n.replace('_', '-')}={getattr(options, n)}" for n in names]
        command = [sys.executable, "-m", "flambeau", "launch", "--devices", str(options.workers), __file__]
        environment = {"OMP_NUM_THREADS": "1"} | os.environ
        environment |= {"FLAMBEAU_DEVICE": options.device} if options.device else {}
        subprocess.run([*command, "--side", side, "--out", str(out), *arguments], env=environment, check=True)
        return json.loads(out.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--sync-steps", type=int, help="of the synchronous side; default: as many as --steps")
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--wire", default="int8")
    parser.add_argument("--megabits", type=float, default=100.0)
    parser.add_argument("--delay", type=float, default=80.0)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--device")
    parser.add_argument("--side", choices=("diloco", "sync"))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    options.sync_steps = options.sync_steps or options.steps
    if options.side:
        result = train(options)
        if os.environ["RANK"] == "0":
            options.out.write_text(json.dumps(result))
        return
    results = {side: run(side, options) for side in ("diloco", "sync")}
    print("side     ms/step  busy    bytes a step  loss of held text")
    for side, r in results.items():
        print(f"{side:<8} {r['seconds'] * 1e3:<8.1f} {r['busy']:<7.1%} {r['bytes']:<13.0f} {r['loss']:.4f}")
    print(f"bytes: {results['sync']['bytes'] / max(results['diloco']['bytes'], 1):.0f} times fewer")


if __name__ == "__main__":
    main()
