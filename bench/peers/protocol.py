"""Turns a contestant's `start(task)` into answers, JSON lines on stdout, to JSON lines on stdin.

First line:  {"name", "version", "adapter", "setup_ms", "first_step_ms"}, or {"unavailable": why}: it ends.
{"cmd": "losses", "steps": n}   ->  {"losses": [the first n steps' losses]}, running those not yet run
{"cmd": "round", "seconds": s}  ->  {"steps": n, "seconds": t, "median_ms": m}: one step that does not count,
                                    then whole steps for at least s seconds
{"cmd": "stop"}, or the end of stdin, ends the process.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from _measure import timed

Step = Callable[[], float]  # trains on the batch once and returns the loss as a Python number
# of what the file holds: (adapter's name, a step); imports its framework inside
Start = Callable[[Any], tuple[str, Step]]
Say = Callable[[dict], None]


class Unsupported(Exception):
    """A contestant cannot do this model on this machine; the text says why."""


def serve(package: str, task: Any, start: Start, say: Say) -> None:
    """Runs a contestant, whose distribution is `package`, till its parent is done."""
    try:
        step, losses = first_step(package, task, start, say)
    except Unsupported as error:
        say({"unavailable": str(error)})
    else:
        answer(step, losses, say)


def first_step(package: str, task: Any, start: Start, say: Say) -> tuple[Step, list[float]]:
    """Sets up (imports included), makes the first step, and says how long both took, in ms."""
    begin = time.perf_counter()
    adapter, step = start(task)
    ready = time.perf_counter()
    losses = [step()]
    times = {"setup_ms": (ready - begin) * 1e3, "first_step_ms": (time.perf_counter() - ready) * 1e3}
    say({"name": package, "version": installed(package), "adapter": adapter, **times})
    return step, losses


def installed(package: str) -> str:
    """A distribution's version; "source" where it is only on the path."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "source"


def answer(step: Step, losses: list[float], say: Say) -> None:
    """Answers the parent's commands; `losses` holds those of the steps made so far."""
    for line in sys.stdin:
        command = json.loads(line)
        match command["cmd"]:
            case "losses":
                losses += [step() for _ in range(command["steps"] - len(losses))]
                say({"losses": losses[: command["steps"]]})
            case "round":
                say(timed(step, command["seconds"])._asdict())
            case "stop":
                return
