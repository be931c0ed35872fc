"""Processor time of the tests by package, beside what each may take: printed at the end of a whole run.

It fails nothing: a slower machine, or a driver that has no cache of compiled kernels yet, is no fault of a
change. A package that is far over its budget where the others are not is where tests became expensive.

Seconds are of a whole run on 2026-11-28, and a little more: SwiftShader, on two threads of one core that nine
others used too. Those of browser, cli, codegen, learner, nn, ops and optim are estimates: of these
packages fewer cases run since, and what they took is subtracted. On that core a test takes about 1.3 times as
long as on an idle machine. What runs in turn differs from run to run: a package may be a fifth over. The
processes of the browser count as they run. Of kernels and ops most is the software driver compiling what
GPUs run.

FLAMBEAU_TEST_SECONDS names a file that takes each test's seconds, the largest first.
"""

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

BUDGET = {  # package: seconds
    "array_api": 2, "autodiff": 7, "browser": 95, "capture": 12, "cli": 17, "codegen": 16, "core": 14,
    "data": 4, "device": 11, "distributed": 14, "distributions": 3, "export": 5, "fusion": 20,
    "hub": 1, "inspector": 5,
    "io": 3, "kernels": 33, "learner": 19, "legalize": 3, "metrics": 6, "models": 8, "named": 9, "nn": 10,
    "onnx": 12, "ops": 78, "optim": 9, "porting": 3, "profiling": 3, "remote": 8, "rl": 4, "runtime": 17,
    "sanitizer": 7, "selftest": 9, "serve": 5, "site": 6, "tabs": 3, "tests": 38,
    "tokenizers": 4, "torch_mode": 11, "tune": 9,
    "vision": 3, "wgsl_reader": 1,
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
