"""`@pytest.mark.share(n)`: a run takes one of n parts of a test's cases, or a whole file once in n runs.

As `pytestmark` the mark is of a file. On a function it counts the function's cases; only=["gpu"] leaves those
without such a parameter in every run. FLAMBEAU_TURN says whose turn it is, and FLAMBEAU_GRID=2 takes all, as
for `in_turn`. Tests named on the command line (FILE::TEST, or -k) always run. Where `in_turn` draws a
test's cases as well, choose numbers of runs without a common divisor: otherwise some cases only have their
turn after ROUND runs.

In the packages of ON_BOTH a test that asks for `device` runs on NumPy always and on the adapter in turn,
unless it has a mark itself (share(1) runs always).
"""

import zlib
from collections import Counter

import pytest

from helpers.draws import TIMES, TURN

# runs of which one takes a test's adapter: kernels of ops have tests of their own (test_value, kernels/)
ON_BOTH = {
    "ops": 7,  # coprime with the shares of in_turn there
    **dict.fromkeys(("autodiff", "core", "distributions", "learner", "legalize", "metrics", "models"), 5),
    **dict.fromkeys(("nn", "onnx", "optim", "vision"), 5),
}
ROUND = 24  # runs after which marks go on by one: most numbers of runs divide it
COUNT = "tests of other turns"  # the name of a number that a worker of xdist hands over
OTHERS = pytest.StashKey[int]()


def pytest_configure(config):
    config.addinivalue_line("markers", "share(n, only=, first=): runs in one of n runs, by FLAMBEAU_TURN")
    config.stash[OTHERS] = 0


def parameters_of(item) -> set[str]:
    return {*item.callspec.id.split("-")} if hasattr(item, "callspec") else set()


def marks_of(item) -> list[tuple[pytest.Item | pytest.Collector, pytest.Mark]]:
    """The marks of an item with what carries them, or the mark that ON_BOTH stands for."""
    marks = list(item.iter_markers_with_node("share"))
    runs, fixtures = ON_BOTH.get(item.path.parent.name), {*item.fixturenames}
    if runs and not marks and fixtures & {"device", "kernels"} and not fixtures & {"torch", "jax"}:
        marks = [(item, pytest.mark.share(runs, only=("gpu", "software")).mark)]
    return marks


def has_turn(item, counted: Counter) -> bool:
    """Whether each mark of an item has this turn. Without `first`, its name decides where it begins."""
    turn = True
    for node, mark in marks_of(item):
        if (only := mark.kwargs.get("only")) and not parameters_of(item) & {*only}:
            continue
        name = item.nodeid.partition("[")[0] if isinstance(node, pytest.Function) else node.nodeid
        place = TURN + TURN // ROUND + mark.kwargs.get("first", zlib.crc32(name.encode()))
        if isinstance(node, pytest.Function):
            place += counted[name]
            counted[name] += 1
        turn = turn and place % mark.args[0] == 0
    return turn


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if TIMES > 1 or config.option.keyword or any("::" in arg for arg in config.args):
        return
    counted = Counter()
    taken = [(item, has_turn(item, counted)) for item in items]
    others = [item for item, turn in taken if not turn]
    items[:] = [item for item, turn in taken if turn]
    config.hook.pytest_deselected(items=others)
    config.stash[OTHERS] = len(others)
    if hasattr(config, "workeroutput"):
        config.workeroutput[COUNT] = len(others)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    node.config.stash[OTHERS] = getattr(node, "workeroutput", {}).get(COUNT, 0)


def pytest_terminal_summary(terminalreporter, config):
    if count := config.stash[OTHERS]:
        terminalreporter.write_line(f"{count:,} tests are for other turns: FLAMBEAU_GRID=2 takes all")
