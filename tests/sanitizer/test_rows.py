"""Rows of the op table, with their gradients, raise no alarm: some are drawn, with kernels of both classes.

`python -m helpers.sanitized`, with `tests` in PYTHONPATH, runs all of them: that takes half an hour.
"""

import pytest
from helpers.draws import draws, one_of
from helpers.kernels import planned_for
from helpers.sanitized import sanitized
from rows import TABLES

# families whose kernels a driver compiles within a second, with probes in them
QUICK = ("COUNT", "ELEMENTWISE", "INDEX", "JOIN", "LOSS", "MOVEMENT", "NUMERIC", "READS", "REDUCE", "WRITES")


@pytest.mark.parametrize("software", [True, False], ids=["software", "gpu"])
def test_no_alarm(software, gpu):
    tried = 0
    with planned_for(gpu, software=software), gpu:
        for name, rng in draws(f"sanitized {software}", 3):
            row = one_of(rng, list(TABLES[one_of(rng, QUICK)]))
            found = sanitized(row, gpu, int(rng.integers(1 << 16)))
            assert found.ok, f"{name}: {row}: {found}"
            tried += found.runs
    assert tried > 3
