"""Runs the self-test in the worker, case after case: what the page asks for, and the file that it offers."""

import copy
from math import prod

from pyodide.ffi import can_run_sync  # type: ignore[import-not-found]

import flambeau as fb
from flambeau.device import get_device
from flambeau.runtime.run import Readback
from flambeau.selftest import (
    EVERY,
    Selftest,
    compare,
    edges,
    failure_report,
    families,
    loop,
    mixed,
    program_builder,
    report,
)

LARGEST = 1 << 11  # elements of an input, and twice as many of a result: NumPy is here written in Python
SHRINKING = 30.0  # seconds at most
# a worker has one thread, and the small NumPy has not what lines on edges say
FAMILIES = [name for name in EVERY if name != loop.THREADS and name not in edges.FAMILIES]
DRAWS = 500  # tries to draw a case that is small enough


class TooLarge(Exception):
    """A case that this page does not try."""


class Builder(program_builder.Builder):
    """Programs of small inputs."""

    def input(self, shape, dtype, kind="quarters", top=2):
        if prod(shape) > LARGEST:
            raise TooLarge
        return super().input(shape, dtype, kind, top)


families.Builder = mixed.Builder = Builder
families.MANY = 2 * LARGEST
failure_report.SHOWN = LARGEST  # random numbers are others than NumPy's: a file names them all


class Small(Selftest):
    """The self-test of cases that are not too large for this page."""

    def case(self, family):
        for _ in range(DRAWS):
            try:
                return super().case(family)
            except TooLarge:
                continue
        raise fb.FlambeauError(f"no small case in {DRAWS} draws")

    def state(self) -> dict:
        return copy.deepcopy({k: v for k, v in self.__dict__.items() if k != "device"})


class Waits(BaseException):
    """A read that has to wait for the GPU, where Python can't wait inside a call."""


async def again(work):
    """What `work` gives; it is done anew with what a read waited for, until there is nothing to wait for."""
    came: list = []
    while True:
        rest = iter(came)

        def read(tensors, rest=rest):
            for values in rest:
                return values
            raise Waits(tensors)

        compare.read = read
        try:
            return work()
        except Waits as wait:
            came.append(await Readback(wait.args[0]).arrive())


READ, SMALLER = compare.read, loop.smaller
test: Small


def begin(seed: int, names: list[str]) -> None:
    """Start over. The same seed and families draw the same cases."""
    global test
    test = Small(get_device(), seed, [n for n in FAMILIES if n in names] or FAMILIES)


async def step() -> dict:
    """Try one case; what the table shows, what was found, and why the GPU is gone if it is."""
    if can_run_sync():
        compare.read = READ
        loop.smaller = lambda program, wrong, device, seconds: SMALLER(program, wrong, device, SHRINKING)
        test.step()
    else:
        before = test.state()
        loop.smaller = lambda program, wrong, *_: (program, wrong)  # it would begin anew at each read

        def work() -> None:
            test.__dict__.update(copy.deepcopy(before))
            test.step()

        await again(work)
    return {"rows": rows(), "found": found(), "lost": test.device.lost or ""}


def rows() -> list[list]:
    return [
        [name, t.tried, t.differences, round(t.worst, 2), len(t.variants)] for name, t in test.tallies.items()
    ]


def found() -> list[str]:
    return [f"{program.family}: {wrong}" for program, wrong in test.found]


def file() -> str:
    """All that is needed to look into what was found."""
    return report(test.found, test.device, test.seed)
