"""Processor time of tests by package, beside the budget of each: a table at the end of a run.

Processor time and not the clock's, which depends on how many workers there are. It still grows by half where
others keep the processor busy: the budgets are of a quiet one. What other processes take (browsers, a Python
of its own) counts for the test that waits for their end.
"""

import os
import time
from collections import Counter

import pytest

BUDGETS: dict[str, int] = {}  # package: seconds
SPENT = pytest.StashKey[Counter]()
OUTSIDE = "starting, collecting"
FEW = 4  # a run of fewer packages has nothing to say of the whole


def now() -> float:
    """Seconds that this process and those that it has waited for have had."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def package_of(test: str) -> str:
    """The folder of a test below tests/; of a file right there "tests"."""
    folders = test.partition("::")[0].split("/")[:-1]
    return "/".join(folders[1:2] or folders)


def table(spent: Counter) -> list[str]:
    """Package, tests, seconds, budget: the dearest first."""
    seconds, tests = Counter(), Counter()
    for test, took in spent.items():
        name = test if test == OUTSIDE else package_of(test)
        seconds[name] += took
        tests[name] += test != OUTSIDE
    rows = [(name, tests[name], took, BUDGETS.get(name, 0)) for name, took in seconds.most_common()]
    rows.append(("all", sum(tests.values()), sum(seconds.values()), sum(BUDGETS.values())))
    return [
        f"{name:<22} {count:>6,} {took:>7.1f} {budget or '':>7} {'over' if took > budget else ''}".rstrip()
        for name, count, took, budget in rows
    ]


def pytest_addoption(parser):
    parser.addoption(
        "--dearest", type=int, default=0, metavar="N", help="print the N tests that take longest"
    )


def pytest_configure(config):
    config.stash[SPENT] = Counter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    before = now()
    result = yield
    item.config.stash[SPENT][item.nodeid] += now() - before
    return result


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    spent = session.config.stash[SPENT]
    if session.config.pluginmanager.hasplugin("dsession"):  # its children are workers, which count themselves
        spent[OUTSIDE] += time.process_time()
        return
    spent[OUTSIDE] += now() - sum(spent.values())
    if hasattr(session.config, "workeroutput"):  # a worker of xdist, which has no summary of its own
        session.config.workeroutput["spent"] = dict(spent)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    node.config.stash[SPENT].update(getattr(node, "workeroutput", {}).get("spent", {}))


def pytest_terminal_summary(terminalreporter, config):
    spent = config.stash[SPENT]
    if len({package_of(test) for test in spent}) > FEW and not config.getoption("quick"):
        heads = f"{'package':<22} {'tests':>6} {'seconds':>7} {'budget':>7}  of processor time"
        terminalreporter.write_line("\n".join([heads, *table(spent)]))
    for test, took in spent.most_common(config.getoption("dearest")):
        terminalreporter.write_line(f"{took:8.2f} s {test}")
