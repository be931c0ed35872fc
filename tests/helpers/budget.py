"""Processor time of the tests by package, beside what each may take: printed at the end of a whole run.

It fails nothing: a slower machine, or a driver that has no cache of compiled kernels yet, is no fault of a
change. A package that is far over its budget where the others are not is where tests became dear.

Seconds are of one whole run on 2026-11-26, which took 663, and a twentieth more: SwiftShader, two idle
threads of one core. What a browser's own processes take is in them where a test waited for its end: the last
test of the browser's package has a minute of them. Of kernels and ops most is the software driver compiling
what GPUs run.

FLAMBEAU_TEST_SECONDS names a file that takes each test's seconds, the dearest first.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

BUDGET = {  # package: seconds
    "autodiff": 12, "browser": 94, "capture": 17, "cli": 27, "codegen": 35, "core": 20,
    "data": 3, "device": 7, "distributions": 3, "export": 8, "fusion": 26, "hub": 1, "inspector": 6,
    "io": 2, "kernels": 84, "learner": 19, "metrics": 7, "models": 13, "nn": 20, "onnx": 7, "ops": 172,
    "optim": 12, "porting": 2, "profiling": 2, "runtime": 24, "sanitizer": 7, "selftest": 20,
    "tests": 50, "tune": 16, "vision": 4, "wgsl_reader": 1,
}  # fmt: skip
SECONDS = "processor seconds"  # the name of a report's property
BEGAN = pytest.StashKey[float]()


def used() -> float:
    """Processor seconds of this process, of all its threads and of the children that it waited for."""
    return sum(os.times()[:4])


def package_of(nodeid: str) -> str:
    """The folder of a test below tests/; "tests" for those that lie there."""
    _, *folders, _ = Path(nodeid.partition("::")[0]).parts
    return folders[0] if folders else "tests"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    item.stash[BEGAN] = used()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    if call.when == "teardown":
        item.user_properties.append((SECONDS, used() - item.stash[BEGAN]))


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
