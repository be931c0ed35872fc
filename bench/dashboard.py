"""What renderers and loggers cost a training: processor time a step at 1,000 a second, and waits for the GPU.

python bench/dashboard.py [--seconds 10] [--steps 300] [--no-learner]

The stream is what a Learner tells at that speed: values of 16 steps together, progress ten times a second.
Its events are given at their time, on a terminal of its own (a pty that is read), and the processor time of
the whole process counts: that of its threads too, which hold the interpreter that the training needs; not
that of the dashboard's other process. Then a Learner makes the same steps with and without all of them, and
what crosses the device's seam is counted. On a busy machine all of it is more: the first line tells.
"""

import argparse
import os
import sys
import tempfile
import time
import timeit
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import flambeau as fb
from flambeau import data, nn, optim
from flambeau.learner import CSV, JSONL, Dashboard, Learner, LogCalls, PlainLines, TensorBoard, Widget, losses
from flambeau.learner.events import EpochStarted, Event, Progress, RunEnded, RunStarted, Values

RATE, WINDOW, PACE = 1000, 16, 100  # steps a second, of a read, between two of Progress
GOAL = 5e-6  # seconds a step: 0.5% of a millisecond
ROUNDS = 3


class Counted:
    """An object with wandb's calls, which counts."""

    def __init__(self):
        self.calls = 0

    def log(self, values: dict, step: int) -> None:
        self.calls += 1

    def finish(self) -> None:
        pass


def stream(directory: str, steps: int) -> Iterator[tuple[float, Event]]:
    """(seconds since the start, event) of an epoch of so many steps."""
    began = time.time()
    yield 0.0, RunStarted("bench", directory, "none", 1, 1, 0, False, {})
    yield 0.0, EpochStarted("train", 0, 1, steps)
    for step in range(WINDOW, steps + 1, WINDOW):
        now, own = step / RATE, range(step - WINDOW, step)
        values = {"loss": [1 / (s + 1.1) for s in own], "lr": [1e-3 + s * 1e-9 for s in own]}
        yield now, Values("train", 0, list(own), values, at=began + now)
        if step % PACE < WINDOW:
            waits = {"data": now * 0.1, "host": now * 0.7, "gpu": 0.0, "read": now * 0.01}
            yield now, Progress("train", 0, step, steps, step, step * 64, now, waits, 1 << 28, at=began + now)
    yield steps / RATE, RunEnded("done", steps, "", at=began + steps / RATE)


def played(renderers: list[Callable[[Event], Any]], steps: int, directory: str) -> tuple[float, float]:
    """Seconds of the processor, and seconds inside the calls, of a stream at its pace."""
    events = list(stream(directory, steps))
    for renderer in renderers:
        renderer(events[0][1])  # opens files, starts the dashboard's process: once a run
    began, used, inside = time.perf_counter(), time.process_time(), 0.0
    for at, event in events[1:-1]:  # the end waits for the dashboard, once a run
        time.sleep(max(0.0, began + at - time.perf_counter()))
        before = time.perf_counter()
        for renderer in renderers:
            renderer(event)
        inside += time.perf_counter() - before
    used = time.process_time() - used
    for renderer in renderers:
        renderer(events[-1][1])
    return used, inside


def on_a_terminal() -> None:
    """Standard input, output and error become a terminal that a thread reads."""
    ours, theirs = os.openpty()
    os.set_inheritable(theirs, True)
    child = os.fork()
    if child == 0:  # the reader: a process, so that its time is not this one's
        os.close(theirs)
        try:
            while os.read(ours, 1 << 16):
                pass
        except OSError:
            pass
        os._exit(0)
    os.close(ours)
    for fd in (0, 1, 2):
        os.dup2(theirs, fd)
    os.close(theirs)


def contestants() -> dict[str, Callable[[], list]]:
    quiet = open(os.devnull, "w")  # noqa: SIM115 - as long as the process
    return {
        "nothing": list,
        "plain lines": lambda: [PlainLines(quiet)],
        "dashboard": lambda: [Dashboard()],
        "notebook": lambda: [Widget(lambda what, display_id: Handle())],
        "JSONL": lambda: [JSONL()],
        "CSV": lambda: [CSV()],
        "TensorBoard": lambda: [TensorBoard()],
        "wandb's calls": lambda: [LogCalls(Counted())],
        "dashboard + JSONL": lambda: [Dashboard(), JSONL()],
    }


class Handle:
    """A notebook's output that draws what it is given."""

    def update(self, what: Any) -> None:
        what._repr_html_()


def costs(seconds: float, say: Callable[[str], None]) -> bool:
    """A table; whether the default pair meets the goal."""
    steps, found = round(seconds * RATE), {}
    for _ in range(ROUNDS):
        for name, make in contestants().items():
            with tempfile.TemporaryDirectory() as folder:
                found.setdefault(name, []).append(played(make(), steps, folder))
    base = min(used for used, _ in found["nothing"])
    say(f"{'':<18}  processor     of 1 ms   in the calls")
    for name, rounds in found.items():
        own = (min(used for used, _ in rounds) - base) / steps  # of the round that was disturbed least
        inside = min(i for _, i in rounds) / steps
        say(f"{name:<18}  {own * 1e6:6.2f} us  {own / 1e-3:8.2%}     {inside * 1e6:6.2f} us")
    own = (min(u for u, _ in found["dashboard + JSONL"]) - base) / steps
    say(f"goal: dashboard + JSONL below {GOAL * 1e6:.0f} us a step: {'met' if own < GOAL else 'missed'}")
    return own < GOAL


def crossings(renderers: list, steps: int, directory: str | None) -> Counter:
    """What crosses the device's seam in so many steps of a Learner: reads, waits, submits."""
    losses.SECONDS = float("inf")  # reads by the number of steps alone, or a slow machine has more of them
    device, counted = fb.get_default_device(), Counter()
    kind = type(device)
    kept = {name: getattr(kind, name) for name in ("read", "fetch", "wait")}

    def counting(name: str):
        def call(self, *args):
            counted[name] += 1
            return kept[name](self, *args)

        return call

    fb.manual_seed(0)
    x = fb.randn(steps * 8, 4)
    model = nn.Linear(4, 1)
    learner = Learner(model, optim.SGD(model.parameters(), lr=0.01), nn.MSELoss(), renderers=renderers)
    loader = data.DataLoader(data.TensorDataset(x, x[:, :1]), 8)
    fb.realize(x)
    for name in kept:
        setattr(kind, name, counting(name))
    try:
        learner.fit(loader, epochs=1)
    finally:
        for name, method in kept.items():
            setattr(kind, name, method)
    return counted


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--no-learner", action="store_true", help="the costs alone, which need no GPU")
    args = parser.parse_args()
    out = os.fdopen(os.dup(1), "w")
    os.environ["TERM"] = "xterm-256color"
    on_a_terminal()

    def say(line: str) -> None:
        print(line, file=out, flush=True)

    loop = min(timeit.repeat("for i in range(1000): i * 2", number=100, repeat=5)) / 100
    say(f"the interpreter: {loop * 1e6:.0f} us a thousand turns of a loop (20 to 40 on an idle machine)")
    met = costs(args.seconds, say)
    if args.no_learner:
        return int(not met)
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        all_ = [Dashboard(), JSONL(there / "e.jsonl"), CSV(there / "m.csv"), TensorBoard(there / "tb")]
        without, with_ = crossings([], args.steps, None), crossings(all_, args.steps, folder)
    say(f"{args.steps} steps of a Learner on {fb.get_default_device()}: at the seam {dict(without)} without, "
        f"{dict(with_)} with all: {'no more' if with_ == without else 'MORE'}")  # fmt: skip
    return int(not met or with_ != without)


if __name__ == "__main__":
    sys.exit(main())
