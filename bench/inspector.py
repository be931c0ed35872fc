"""A cold `flambeau inspect` of a 12-layer GPT's training step to a page: seconds and bytes; and whether its
kernels' times add up to the step's.

python bench/inspector.py [--width 64] [--runs 3]
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import flambeau as fb
from flambeau import optim
from flambeau.models.benchmarked import Size, gpt
from flambeau.nn import functional as F

PREDICTED = (10.0, 1.5)  # seconds on two cores, MB: the goals
BATCH = 2


def made(width: int):
    """The step of a GPT with 12 layers, and what it is called with."""
    model = gpt(fb, Size(12, width, 4, 512, 64))
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)

    @fb.jit
    def step(ids, wanted):
        loss = F.cross_entropy(model(ids).flatten(0, 1), wanted.flatten())
        optimizer.step(loss.backward())
        return loss

    ids = fb.randint(0, 512, (BATCH, 65))
    return step, ids[:, :-1].realize(), ids[:, 1:].realize()


def cold(width: int) -> None:
    """The command as a user gives it, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        page, data = Path(folder, "step.html"), Path(folder, "step.json")
        words = ["inspect", f"{__file__}::inspected", "--html", page, "--json", data, "--rows", "5"]
        begin = time.perf_counter()
        ran = subprocess.run(
            [sys.executable, "-m", "flambeau", *words, "--", "--width", str(width), "--step"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        took = time.perf_counter() - begin
        print(re.sub(r"(?m)^wrote.*\n", "", ran.stdout))
        sizes = [p.stat().st_size / 1e6 for p in (page, data)]
    goals = f"goals {PREDICTED[0]} s, {PREDICTED[1]} MB"
    print(f"cold: {took:.1f} s to a page of {sizes[0]:.2f} MB ({goals}); {sizes[1]:.2f} MB of JSON")


def sums(width: int, runs: int) -> None:
    """The kernels of a step beside the time that the step takes when nobody looks."""
    step, *given = made(width)
    device = fb.get_default_device()
    for _ in range(3):
        step(*given)
    device.wait()
    times = []
    for _ in range(2 * runs + 1):
        begin = time.perf_counter()
        step(*given)
        device.wait()
        times.append(time.perf_counter() - begin)
    later = fb.inspect(step, *given, runs=runs + 3).calls[-1]
    parts = ", ".join(f"{name} {s * 1e3:.1f}" for name, s in later.parts.items())
    told, kernels = sum(later.parts.values()) / min(times), later.parts["kernels"] / min(times)
    print(f"step {min(times) * 1e3:.1f} ms: {parts}: {told:.2f} of it, the kernels alone {kernels:.2f}")


def inspected(step, given):
    """What `flambeau inspect` looks at."""
    return step(*given)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--step", action="store_true", help="One step: what the command is called for.")
    args = parser.parse_args()
    if args.step:
        step, *given = made(args.width)
        inspected(step, given)
        return
    cold(args.width)
    sums(args.width, args.runs)


if __name__ == "__main__":
    main()
