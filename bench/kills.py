"""How many of N runs that are killed (SIGKILL) at drawn moments end in the bits of a run that was not?

python bench/kills.py [--kills 60] [--device cpu] [--seed 0] [--autocast] [--accumulate 1]

A small network with dropout, a metric, a schedule and clipping; checkpoints every 3 steps (every one, where
several batches make a step). Moments: a time, a step, a batch of the validation, half of a checkpoint's
bytes, before it is proven, before its name is synced.
Each start takes 0, 1 or 4 workers. What is compared is a hash of parameters, optimiser, history, the epoch's
metrics and the place in the random numbers. Exit code 1 where one differs.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

EPOCHS, BATCH, EVERY = 3, 16, 3
STEPS = EPOCHS * 10


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def at_count(n: int, act):
    """A function that calls `act` at its n-th call."""
    calls = iter(range(1, 10**9))
    return lambda *given: act(*given) if next(calls) == n else None


def plan(moment: str, n: int) -> None:
    """Have this process die at the n-th of some moment of writing."""
    from flambeau.learner import checkpoints

    names = {"write": "write_through", "proof": "damage", "rename": "sync_folder"}
    if moment not in names:
        return
    before = getattr(checkpoints, names[moment])

    def half(part: Path, data: list[Any]) -> None:
        whole = b"".join(data)
        part.write_bytes(whole[: len(whole) // 2])
        die()

    dying = at_count(n, half if moment == "write" else die)

    def patched(*given):
        dying(*given)
        return before(*given)

    setattr(checkpoints, names[moment], patched)


def child(given: argparse.Namespace) -> None:
    """One run, which goes on where the directory's stopped; prints its hash."""
    import numpy as np

    import flambeau as fb
    from flambeau import data, nn, optim
    from flambeau.learner import Callback, Learner

    moment, n, is_cast = given.moment, given.n, given.autocast

    class DiesAtStep(Callback):
        def after_step(self, learner) -> None:
            if moment == "step" and learner.step == n:
                die()

    class Right:
        """How many are right: a metric of two numbers on the device."""

        name, higher_is_better = "right", True

        def __init__(self):
            self.count = fb.zeros(())

        def update(self, output, target):
            self.count.assign_(self.count + (output.argmax(1) == target).float().sum())

        def compute(self):
            return self.count.item()

        def reset(self):
            self.count.assign_(self.count * 0)

        def state_dict(self):
            return {"count": self.count}

        def load_state_dict(self, state_dict):
            self.count.assign_(state_dict["count"].to(self.count.device))

    fb.set_default_device(given.device)
    fb.manual_seed(0)
    plan(moment, n)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(BATCH * 10 - 3, 4)).astype("float32")
    y = (x[:, 0] > 0).astype("int64") + (x[:, 1] > 0)

    dying = at_count(n, die)

    class Valid:
        def __len__(self):
            return len(x)

        def __getitem__(self, i):
            if moment == "valid":
                dying()
            return x[i], y[i]

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3))
    optimizer = optim.Adam(model.parameters(), lr=0.01)

    class Cast(nn.Module):
        def __init__(self):
            self.inner = model

        def forward(self, x):
            with fb.autocast(dtype=fb.float16, enabled=is_cast):
                return self.inner(x).float()

    train = data.DataLoader(data.TensorDataset(x, y), BATCH, shuffle=True, num_workers=given.workers)
    learner = Learner(
        Cast(),
        optimizer,
        nn.CrossEntropyLoss(),
        metrics=[Right()],
        scheduler=optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS),
        clip=1.0,
        scaler=fb.GradScaler() if is_cast else None,
        accumulate=given.accumulate,
        directory=given.child,
        checkpoint_every=EVERY if given.accumulate == 1 else 1,
        best="valid_right",
        callbacks=[DiesAtStep()],
        renderers=[],
    )
    print("begun", flush=True)
    history = learner.fit(train, data.DataLoader(Valid(), 64), epochs=EPOCHS, resume=True)
    found = sha256(json.dumps([history, fb.get_rng_state()]).encode())
    state = optimizer.state_dict()["state"]
    tensors = [*model.state_dict().values(), *(t for s in state.values() for t in s.values())]
    for t in tensors:
        found.update(t.numpy().tobytes())
    print(found.hexdigest())


def start(directory: str, given: list[str], workers: int, moment: str = "none", n: int = 0) -> Any:
    words = ["--child", directory, "--workers", workers, "--moment", moment, "--n", n, *given]
    return subprocess.Popen(
        [sys.executable, __file__, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen) -> str:
    """The hash that a run prints; "" where it was killed. SystemExit where it failed."""
    out, err = process.communicate()
    if process.returncode == -signal.SIGKILL:
        return ""
    if process.returncode:
        sys.exit(f"a run failed:\n{err}")
    return out.split()[-1]


MOMENTS = {  # moment: the n-th of it, at most
    "time": 0,
    "step": STEPS,
    "valid": 3 * BATCH * 10 - 20,
    "write": 8,
    "proof": 12,
    "rename": 8,
}


def killed(directory: str, given: list[str], moment: str, draw: random.Random, counts: Counter) -> str:
    """One start that is to be killed; the hash where it was too late for that."""
    process = start(directory, given, draw.choice([0, 1, 4]), moment, draw.randint(1, MOMENTS[moment] or 1))
    if moment == "time":
        process.stdout.readline()  # begun
        time.sleep(draw.random() * 0.6)
        process.kill()
    found = finish(process)
    counts[moment if not found else "too late"] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--autocast", action="store_true", help="float16, with a GradScaler")
    parser.add_argument("--accumulate", type=int, default=1, help="batches a step")
    parser.add_argument("--child")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--moment", default="none")
    parser.add_argument("--n", type=int, default=0)
    given = parser.parse_args()
    if given.child:
        return child(given)
    words = ["--device", given.device, "--accumulate", str(given.accumulate)]
    words += ["--autocast"] * given.autocast
    draw, counts, differ, runs = random.Random(given.seed), Counter(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        whole = finish(start(f"{folder}/whole", words, 0))
        moments = list(MOMENTS) * given.kills  # each in turn
        while sum(counts.values()) - counts["too late"] < given.kills:
            runs += 1
            directory, found = f"{folder}/{runs}", ""
            for _ in range(min(draw.randint(1, 4), given.kills - sum(counts.values()) + counts["too late"])):
                found = killed(directory, words, moments.pop(0), draw, counts)
                if found:
                    break
            found = found or finish(start(directory, words, draw.choice([0, 1, 4])))
            differ += found != whole
    late = counts.pop("too late", 0)
    told = ", ".join(f"{name} {count}" for name, count in counts.items())
    print(f"{sum(counts.values())} kills ({told}; {late} came too late) in {runs} runs: {differ} differ")
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
