"""Turns a model of digits into a table of how many training steps a second each framework makes of it here.

python bench/mnist_step.py --model mnist --rounds 5 --seconds 3 --python-peers .venv-peers/bin/python
"""

import argparse
import json
import os
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from _measure import Timing, interleave, number, rates, ratio, show_table
from peers.child import Child, PeerError, is_one_adapter, peers_python
from peers.workload import MODELS, gflop_per_step, write

SIDES = ("flambeau", "tinygrad", "ferrotensor", "torch")
WEBGPU_PEERS = ("tinygrad", "ferrotensor")
GOAL = 1.5  # times the faster WebGPU peer
LOSS_STEPS, LOSS_TOLERANCE = 20, 1e-3
COLUMNS = (
    "contestant", "steps/s", "worst..best", "ms/step", "GFLOP/s", "vs first", "set-up ms", "first step ms",
    f"loss {LOSS_STEPS}", "loss off by",
)  # fmt: skip


@dataclass
class Entry:
    """One contestant of a run: its process, what it said, and what was measured."""

    side: str
    child: Child | None = None
    ready: dict = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    trouble: str = ""
    off: float = 0.0  # largest difference to the reference's losses
    timings: list[Timing] = field(default_factory=list)


def main() -> int:
    """Measures each model asked for; exit code 1 where a contestant failed or trained something else."""
    options = parse()
    results = {model: measure(model, options) for model in options.model}
    if options.json:
        partial = options.json.with_name(options.json.name + ".part")
        partial.write_text(json.dumps(results, indent=1) + "\n")
        os.replace(partial, options.json)
    return int(any(row["failed"] for rows in results.values() for row in rows))


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Training steps per second of the same model, side by side.")
    parser.add_argument("--model", nargs="+", choices=MODELS, default=["mnist", "mlp"])
    parser.add_argument("--only", nargs="+", choices=SIDES, default=SIDES, help="contestants")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of one contestant in one round")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--python-peers", default=peers_python(), help="the peers' interpreter [%(default)s]")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    for name in ("batch", "rounds"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} {getattr(options, name)}: give at least 1")
    return options


def measure(model: str, options: argparse.Namespace) -> list[dict]:
    """Starts the contestants, checks that they train the same, times them in rounds, prints the table."""
    with ExitStack() as stack:
        data = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "task.npz"
        write(data, model, options.batch, options.seed)
        entries = [Entry(side) for side in dict.fromkeys(options.only)]
        for entry in entries:
            python = sys.executable if entry.side == "flambeau" else os.path.abspath(options.python_peers)
            prepare(entry, stack, python, model, data)
        compare_losses(entries)
        race([entry for entry in entries if not entry.trouble], options)
    work = gflop_per_step(model, options.batch)
    report(f"{model}: batch {options.batch}, {work:.3g} GFLOP a step, {options.rounds} rounds", entries, work)
    return [as_json(entry, work) for entry in entries]


def prepare(entry: Entry, stack: ExitStack, python: str, model: str, data: Path) -> None:
    """Starts a contestant and has it make its first steps, alone; `entry.trouble` keeps what goes wrong."""
    try:
        entry.child = stack.enter_context(Child([python, "-m", "peers", entry.side, model, str(data)]))
        entry.ready = entry.child.ready()
        entry.trouble = entry.ready.get("unavailable", "")
        if not entry.trouble:
            entry.losses = entry.child.losses(LOSS_STEPS)
    except PeerError as error:
        entry.trouble = f"failed: {error}"


def compare_losses(entries: list[Entry]) -> None:
    """Fails contestants whose losses leave torch's (without torch, the first's) by over LOSS_TOLERANCE."""
    running = [entry for entry in entries if not entry.trouble]
    if not running:
        return
    reference = next((entry for entry in running if entry.side == "torch"), running[0])
    for entry in running:
        gaps = [abs(a - b) for a, b in zip(entry.losses, reference.losses, strict=True)]
        entry.off = max(gaps) if all(gap == gap for gap in gaps) else float("nan")
        if not entry.off <= LOSS_TOLERANCE:
            last = f"{entry.losses[-1]:.4f}, {reference.side}'s {reference.losses[-1]:.4f}"
            gap = f"(off by up to {entry.off:.1e}): not the same work"
            entry.trouble = f"failed: loss of step {LOSS_STEPS} is {last} {gap}"


def race(running: list[Entry], options: argparse.Namespace) -> None:
    """Times contestants in turn; one that stops on the way is told off and the others go on."""
    while running:
        contestants = {entry.side: turn(entry) for entry in running}
        try:
            results = interleave(contestants, options.rounds, options.seconds)
        except PeerError:
            running = [entry for entry in running if not entry.trouble]
            continue
        for entry in running:
            entry.timings = results[entry.side]
        return


def turn(entry: Entry):
    """A contestant's round, which notes why it failed before it raises PeerError."""

    def run(seconds: float) -> Timing:
        assert entry.child
        try:
            return entry.child.round(seconds)
        except PeerError as error:
            entry.trouble = f"failed: {error}"
            raise

    return run


def report(title: str, entries: list[Entry], work: float) -> None:
    """Prints the table, adapters and versions, contestants that are missing, and how far the goal is."""
    raced = [entry for entry in entries if entry.timings]
    if raced:
        show_table(title, COLUMNS, [table_row(entry, raced[0], work) for entry in raced])
    else:
        print(f"\n{title}: no contestant ran")
    for entry in raced:
        print(f"{entry.side}: {entry.ready['name']} {entry.ready['version']} on {entry.ready['adapter']}")
    for entry in entries:
        if entry.trouble:
            print(f"{entry.side}: {entry.trouble}")
    report_goal(raced)


def report_goal(raced: list[Entry]) -> None:
    """Prints Flambeau's speed as a multiple of the fastest WebGPU peer's, if both ran on one adapter."""
    ours = next((entry for entry in raced if entry.side == "flambeau"), None)
    theirs = [entry for entry in raced if entry.side in WEBGPU_PEERS]
    if not ours or not theirs:
        return
    fastest = max(theirs, key=lambda entry: rates(entry.timings)[0])
    if not is_one_adapter(ours.ready["adapter"], fastest.ready["adapter"]):
        print(f"flambeau and {fastest.side} ran on different adapters: not compared")
        return
    times = ratio(ours.timings, fastest.timings)
    print(f"flambeau is {times:.2f}x {fastest.side}, the fastest WebGPU peer here (goal: {GOAL}x)")


def table_row(entry: Entry, first: Entry, work: float) -> list[str]:
    """One line of the table, in the order of COLUMNS."""
    middle, worst, best = rates(entry.timings)
    return [
        entry.side,
        number(middle),
        f"{number(worst)}..{number(best)}",
        number(1e3 / middle),
        number(work * middle),
        f"{number(ratio(entry.timings, first.timings))}x",
        number(entry.ready["setup_ms"]),
        number(entry.ready["first_step_ms"]),
        f"{entry.losses[-1]:.4f}",
        number(entry.off),
    ]


def as_json(entry: Entry, work: float) -> dict:
    """What a contestant said and did, for a file."""
    return {
        "contestant": entry.side,
        "failed": entry.trouble.startswith("failed"),
        "trouble": entry.trouble,
        **entry.ready,
        "losses": entry.losses,
        "gflop_per_step": work,
        "rounds": [timing._asdict() for timing in entry.timings],
    }


if __name__ == "__main__":
    sys.exit(main())
