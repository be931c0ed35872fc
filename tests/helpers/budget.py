"""Processor time of the tests by package, beside what each may take: printed at the end of a whole run.

It fails nothing: a slower machine, or a driver that has no cache of compiled kernels yet, is no fault of a
change. A package that is far over its budget where the others are not is where tests became expensive.

Seconds were measured in a whole run on 2026-11-28 (FLAMBEAU_TURN=1878), with SwiftShader, on two idle cores.
What runs in turn differs from run to run: a package may be a fifth over, and browser a half. The
processes of the browser count as they run. Of kernels and ops most is the software driver compiling what GPUs
run.

FLAMBEAU_TEST_SECONDS names a file that takes each test's seconds, the largest first.
"""

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

BUDGET = {  # package: seconds
    "array_api": 3, "autodiff": 19, "browser": 263, "capture": 23, "cli": 23, "codegen": 30, "core": 34,
    "data": 6, "device": 19, "distributed": 20, "distributions": 4, "export": 22, "fusion": 45, "hub": 1,
    "inspector": 11, "io": 5, "kernels": 94, "learner": 37, "legalize": 3, "metrics": 13, "models": 52,
    "named": 5, "nn": 17, "onnx": 21, "ops": 177, "optim": 14, "porting": 4, "profiling": 5, "remote": 10,
    "rl": 12, "runtime": 35, "sanitizer": 11, "selftest": 11, "serve": 8, "site": 26, "tabs": 4,
    "tests": 75, "tokenizers": 2, "torch_mode": 18, "tune": 13, "vision": 7, "wgsl_reader": 1,
}  # fmt: skip
SECONDS = "processor seconds"  # the name of a report's property
BEGAN = pytest.StashKey[float]()


def used(item) -> float:
    """Processor seconds of this process, its threads and the children that it waited for; for a page's
    test also of the browser, which nobody waits for."""
    return sum(os.times()[:4]) + (of_descendants() if package_of(item.nodeid) == "browser" else 0)


def of_descendants() -> float:
    """Processor seconds of the living processes below this one, and of those that they waited for (Linux)."""
    parents, seconds = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = path.read_text().rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(fields[1])
            seconds[int(path.parent.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    ours, below = set(), {os.getpid()}
    while below:
        below = {pid for pid, parent in parents.items() if parent in below} - ours
        ours |= below
    return sum(seconds[pid] for pid in ours)


def package_of(nodeid: str) -> str:
    """The folder of a test below tests/; "tests" for those that lie there."""
    _, *folders, _ = Path(nodeid.partition("::")[0]).parts
    return folders[0] if folders else "tests"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    item.stash[BEGAN] = used(item)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    if call.when == "teardown":
        item.user_properties.append((SECONDS, max(used(item) - item.stash[BEGAN], 0.0)))


def pytest_terminal_summary(terminalreporter):
    reports = [report for kind in terminalreporter.stats.values() for report in kind]
    ended = [r for r in reports if getattr(r, "when", "") == "teardown"]
    tests = {r.nodeid: dict(r.user_properties).get(SECONDS, 0.0) for r in ended}
    packages = Counter()
    for nodeid, seconds in tests.items():
        packages[package_of(nodeid)] += seconds
    for name, seconds in packages.most_common() if set(BUDGET) == set(packages) else ():
        terminalreporter.write_line(f"{name:<12}{seconds:7.0f} s of processor time of {BUDGET[name]:4}")
    if path := os.environ.get("FLAMBEAU_TEST_SECONDS"):
        rows = sorted(((seconds, nodeid) for nodeid, seconds in tests.items()), reverse=True)
        Path(path).write_text("".join(f"{seconds:.2f} {nodeid}\n" for seconds, nodeid in rows))
