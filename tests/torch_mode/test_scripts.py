"""Scripts written for PyTorch, and small jobs of its libraries, run unchanged and print the same numbers as
under torch."""

import pytest
from helpers.borrowed import JOBS, SCRIPTS, compare, finish, printed, start

WITHIN = 1e-3  # of a number's size: both compute in float32, in another order of sums


@pytest.mark.share(4)
@pytest.mark.parametrize("name", SCRIPTS)
def test_prints_what_torch_printed(name):
    compare(finish(start(SCRIPTS[name], by_torch=False)), printed()[name], WITHIN)


@pytest.mark.share(7)
@pytest.mark.parametrize("name", [*SCRIPTS, *JOBS])
def test_prints_what_torch_prints(name, torch):
    path = (SCRIPTS | JOBS)[name]
    real, ours = start(path, by_torch=True), start(path, by_torch=False)
    compare(finish(ours), finish(real), WITHIN)
