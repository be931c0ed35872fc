"""What a checkpoint takes from a training: rounds of steps, with one begun in them and without, in turns.

python bench/checkpoints.py [--device gpu] [--network gpt] [--steps 20] [--rounds 6] [--every 50]

Model, optimiser and batches are learner_loop.py's, the state is what a Learner writes. A round ends when its
steps have run; a checkpoint that is being written is waited for behind it, so the writing of its file lies
beside the steps as it does in a run. The fastest rounds count. Then the processor time of checkpoints without
steps beside them, and of steps: what a machine whose clock is too rough for the first pays at most, where its
processor is the device. Steps before the first round, and from time to time between rounds, leave behind the
calls at which a recording is made again (2, 4, 8, ...).
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from learner_loop import NETWORKS, loss_of, training

import flambeau as fb
from flambeau.learner.checkpoints import Checkpoints


class Loop:
    """Recorded steps, counted, and the state of their run."""

    def __init__(self, name: str):
        self.batches = [NETWORKS[name][1]() for _ in range(4)]
        fb.realize(*(t for pair in self.batches for t in pair))
        self.model, self.optimizer = training(name)
        self.calls = 0

        @fb.jit
        def step(x, y):
            loss = loss_of(self.model(x), y)
            self.optimizer.step(loss.backward())
            return loss

        self.step = step

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step(*self.batches[self.calls % 4])
            self.calls += 1

    def pass_recordings(self, coming: int) -> None:
        """Go on to where none of so many calls is the 2nd, 4th, 8th, ... one."""
        following = 1 << self.calls.bit_length()
        if self.calls + coming >= following:
            self.run(following - self.calls)

    def state(self) -> dict:
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default=None)
    parser.add_argument("--network", choices=NETWORKS, default="mlp")
    parser.add_argument("--steps", type=int, default=20, help="of a round [%(default)s]")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument(
        "--every", type=int, default=50, help="steps from one checkpoint to the next [%(default)s]"
    )
    given = parser.parse_args()
    if given.device:
        fb.set_default_device(given.device)
    loop, pairs = Loop(given.network), []
    with tempfile.TemporaryDirectory() as folder:
        checkpoints = Checkpoints(Path(folder), 2)

        def seconds(begun: bool) -> float:
            start = time.perf_counter()
            if begun:
                checkpoints.begin((0, loop.calls), loop.state(), [])
            loop.run(given.steps)
            fb.synchronize()
            taken = time.perf_counter() - start
            checkpoints.finish()
            return taken

        def processor(call: Callable[[], object]) -> float:
            fb.synchronize()
            start = time.process_time()
            call()
            fb.synchronize()
            return time.process_time() - start

        def alone() -> None:
            checkpoints.begin((0, loop.calls), loop.state(), [])
            checkpoints.finish()

        loop.run(128)
        seconds(True)  # the first one makes its staging buffers
        for turn in range(given.rounds):
            loop.pass_recordings(2 * given.steps)
            took = {begun: seconds(begun) for begun in ((False, True), (True, False))[turn % 2]}
            pairs.append((took[False], took[True]))
            without, beside = (1e3 * t for t in pairs[-1])
            print(
                f"{given.steps} steps {without:.1f} ms, with one {beside:.1f}: {beside - without:.1f} ms",
                flush=True,
            )
        costs = []
        for _ in range(10):
            loop.run(1)  # another step's state, or nothing is written
            costs.append(processor(alone))
        loop.pass_recordings(given.steps)
        of_step = processor(lambda: loop.run(given.steps)) / given.steps
    least, beside = (min(times) for times in zip(*pairs, strict=True))  # other work only adds to a round
    step, cost = least / given.steps, beside - least
    share = cost / (given.every * step)
    print(
        f"{fb.get_default_device()}: {1e3 * step:.2f} ms a step, {1e3 * cost:.1f} ms a checkpoint: "
        f"{100 * share:.2f} % of {given.every} steps"
    )
    share = median(costs) / (given.every * of_step)
    print(
        f"processor time: {1e3 * of_step:.2f} ms a step, {1e3 * median(costs):.1f} ms a checkpoint: "
        f"{100 * share:.2f} % of {given.every} steps"
    )


if __name__ == "__main__":
    main()
