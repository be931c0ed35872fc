"""Do workers that are killed (SIGKILL) at drawn moments change a bit of the weights?

    python bench/worker_kills.py [--kills 50] [--steps 200] [--workers 4] [--pause 0.2] [--device cpu]
        [--seed 0]

First the weights after all steps on 1, 2 and as many workers, undisturbed. Then a run of
`flambeau launch --elastic` whose workers are killed one by one, each drawn, at a drawn moment while two or
more live, and replaced. Prints the hash of each run's weights, and the longest step of any worker that came
to the end. Exit code 1 if a hash differs, or the run ended before all kills.
"""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from hashlib import sha256

BATCH = 32


def work(options: argparse.Namespace) -> None:
    """Be a worker: train from the step that the others are at, and print the hash of the weights."""
    import numpy as np

    import flambeau as fb
    from flambeau import distributed, nn

    distributed.init_process_group(timeout=120)
    fb.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 300), nn.ReLU(),
        nn.Linear(300, 5),
    )  # fmt: skip
    optimizer = distributed.wrap(fb.optim.AdamW(model.parameters(), lr=1e-3), model)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((options.steps, BATCH, 20)).astype("f")
    y = rng.integers(0, 5, (options.steps, BATCH)).astype("i4")
    print("joined", os.getpid(), optimizer.count, flush=True)
    longest = 0.0
    while (count := optimizer.count) < options.steps:
        began = time.perf_counter()
        inputs, targets = fb.tensor(x[count]), fb.tensor(y[count])
        optimizer.step(lambda a, b: nn.functional.cross_entropy(model(a), b), inputs, targets)
        longest = max(longest, time.perf_counter() - began)
        print("step", optimizer.count, flush=True)
        time.sleep(options.pause)
    digest = sha256(b"".join(t.numpy().tobytes() for t in model.state_dict().values()))
    print("ended", digest.hexdigest()[:16], f"{longest:.3f}", flush=True)
    distributed.destroy_process_group()


class Run:
    """A run of `flambeau launch`, and what its workers print."""

    def __init__(self, options: argparse.Namespace, workers: int, pause: float, restarts: int = 0):
        command = [sys.executable, "-m", "flambeau", "launch", "--devices", str(workers), "--elastic"]
        command += ["--max-restarts", str(restarts), __file__, "--work", "--steps", str(options.steps)]
        environment = {"OMP_NUM_THREADS": "1"} | os.environ | {"FLAMBEAU_DEVICE": options.device}
        self.process = subprocess.Popen(
            [*command, "--pause", str(pause)], env=environment, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        self.living: dict[int, int] = {}  # the process of each place
        self.digests: set[str] = set()
        self.ended, self.longest, self.step = 0, 0.0, 0
        self.threads = [threading.Thread(target=read) for read in (self._read, self._drain)]
        for thread in self.threads:
            thread.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            place, word, *values = re.match(r"\[(\d+)\] (\w+) ?(.*)", line).groups()
            values = values[0].split()
            if word == "joined":
                self.living[int(place)] = int(values[0])
            elif word == "step":
                self.step = max(self.step, int(values[0]))
            elif word == "ended":
                self.living.pop(int(place), None)
                self.digests.add(values[0])
                self.ended, self.longest = self.ended + 1, max(self.longest, float(values[1]))

    def _drain(self) -> None:
        self.errors = self.process.stderr.read()

    def finish(self) -> None:
        """Wait for the end. SystemExit if no worker came to it."""
        self.process.wait()
        for thread in self.threads:
            thread.join()
        if not self.digests:
            sys.exit(f"a run failed:\n{self.errors[-4000:]}")


def kill(run: Run, options: argparse.Namespace) -> tuple[int, int]:
    """Kill workers of a run until it ends. Returns the kills, and those of them that met rank 0's process."""
    draw, kills, of_first = random.Random(options.seed), 0, 0
    while kills < options.kills and run.process.poll() is None and not run.ended:
        time.sleep(draw.random() * 2 * options.pause)
        living = dict(run.living)
        if len(living) < 2:
            continue
        place = draw.choice(sorted(living))
        run.living.pop(place, None)
        try:
            os.kill(living[place], signal.SIGKILL)
        except ProcessLookupError:  # it came to its end
            continue
        kills, of_first = kills + 1, of_first + (place == 0)
    return kills, of_first


def main() -> None:
    """Run all and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--pause", type=float, default=0.2, help="seconds after each step of the killed run")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", action="store_true")
    options = parser.parse_args()
    if options.work:
        return work(options)
    digests: set[str] = set()
    for workers in sorted({1, 2, options.workers}):
        run = Run(options, workers, 0.0)
        run.finish()
        digests |= run.digests
        print(f"{workers} workers, undisturbed: {' '.join(run.digests)}", flush=True)
    run = Run(options, options.workers, options.pause, 2 * options.kills)
    kills, of_first = kill(run, options)
    run.finish()
    digests |= run.digests
    print(
        f"{options.workers} workers, {kills} kills ({of_first} of the first): {' '.join(run.digests)};"
        f" {run.ended} came to the end, longest step {run.longest:.2f} s"
    )
    sys.exit(len(digests) > 1 or kills < options.kills)


if __name__ == "__main__":
    main()
