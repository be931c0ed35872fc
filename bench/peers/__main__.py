"""Turns `python -m peers SIDE MODEL DATA` into that contestant's process (see `peers.protocol`)."""

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple


class Package(NamedTuple):
    """A contestant's modules (numpy apart; the first is named like its distribution), and how to get them."""

    modules: tuple[str, ...]
    install: str
    given: str = "workload"  # the module of this package that reads DATA


TINYGRAD = Package(("tinygrad", "pydawn"), "pip install numpy tinygrad==0.14.0 dawn-python==0.3.0")
PACKAGES = {
    "flambeau": Package(("flambeau",), "pip install -e ."),
    "tinygrad": TINYGRAD,
    "tinygrad_networks": TINYGRAD._replace(given="networks"),
    "ferrotensor": Package(("ferrotensor",), "pip install numpy ferrotensor==0.3.0"),
    "torch": Package(("torch",), "pip install numpy torch==2.13.0"),
}


def main(side: str, model: str, data: str) -> None:
    """Trains until the parent is done; a contestant that is not installed says so and ends."""
    say = private_stdout()
    package = PACKAGES[side]
    try:
        # imported here, since these need numpy
        serve = import_module("peers.protocol").serve
        task = import_module(f"peers.{package.given}").read(Path(data), model)
        start = import_module(f"peers.{side}_side").start
        serve(package.modules[0], task, start, say)
    except ModuleNotFoundError as error:
        if error.name not in ("numpy", *package.modules):
            raise
        say({"unavailable": f"not installed (no module {error.name}): {package.install}"})


def private_stdout() -> Callable[[dict], None]:
    """Keeps stdout for the protocol: what a library prints, from C too, goes to stderr."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(message: dict) -> None:
        channel.write(json.dumps(message) + "\n")
        channel.flush()

    return say


if __name__ == "__main__":
    main(*sys.argv[1:])
