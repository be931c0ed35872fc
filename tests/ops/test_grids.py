"""Public ops beside torch's on drawn arguments: values and gradients, on every class of kernels.

A fixed set of cases in every run, then as many with a new seed as fit into FLAMBEAU_GRID_SECONDS (25).
FLAMBEAU_GRID_SEED is that seed, FLAMBEAU_GRID_CASE one case, as a difference tells it.
"""

import os
import time
from zlib import crc32

import numpy as np
import pytest
from grids import GRIDS, WITHOUT, Case
from grids.compare import KERNELS, Refused
from helpers.draws import TURN
from helpers.scripts import script
from helpers.timed import MOST, SECONDS, SEED

ONLY = os.environ.get("FLAMBEAU_GRID_OPS", "").split()
PARTS = 2  # which workers share


def differences(torch, case: Case, kernels: tuple[str, ...]) -> list[str]:
    """A text of each class of kernels on which a case differs; of none where torch refuses the arguments."""
    try:
        case.expect(torch)
    except Refused as e:
        return [f"{case}: torch refuses it: {e}\n    {case.repeat}"]
    found = {k: text for k in kernels if (text := case.difference(k))}
    if found:
        case.allow_rounding(torch)
        found = {k: text for k in found if (text := case.difference(k))}
    return [f"{case} on {k}: {text}\n    {case.repeat}" for k, text in found.items()]


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.filterwarnings("ignore:::torch")
def test_fixed_cases(torch, opened, name, kernels):
    """Each on NumPy and on kernels of one sort, which differ for few ops: of the other in the next run."""
    row, gpus = GRIDS[name], kernels == "gpu"
    cases = [
        Case(name, row, 1, i)
        for i in range(row.fixed)
        if kernels == "cpu" or (i + TURN + crc32(name.encode())) % 2 == gpus
    ]
    wrong = [text for case in cases for text in differences(torch, case, (kernels,))]
    assert not wrong, "\n".join(["", *wrong])


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore:::torch")
def test_new_cases(torch, users_driver, part, record_property):
    names = sorted(set(ONLY) or GRIDS)[part::PARTS]
    end, wrong, number, tried = time.monotonic() + SECONDS, [], 0, 0
    while time.monotonic() < end and len(wrong) < MOST:
        for i in np.random.default_rng([SEED, part, number]).permutation(len(names)):
            if time.monotonic() >= end or len(wrong) >= MOST:
                break
            wrong += differences(torch, Case(names[i], GRIDS[names[i]], SEED, number), KERNELS)
            tried += 1
        number += 1
    record_property("new cases", tried)  # which conftest.py adds up and prints
    assert not wrong, "\n".join(["", *wrong, f"{len(wrong)} differences in {tried} cases of seed {SEED}"])


def test_one_case(torch, users_driver):
    """What FLAMBEAU_GRID_CASE names; a case of the fixed set where nothing does."""
    seed, name, number = os.environ.get("FLAMBEAU_GRID_CASE", "1/matmul/0").split("/")
    wrong = differences(torch, Case(name, GRIDS[name], int(seed), int(number)), KERNELS)
    assert not wrong, "\n".join(["", *wrong])


def test_a_slope_whose_terms_cancel_may_be_off_by_their_rounding(torch):
    """1,872 terms add up to -0.18, and torch's float32 is within 1e-9 of it, by chance."""
    case = Case("float_power", GRIDS["float_power"], 13032113, 0)
    case.expect(torch)
    before, size = list(case.bounds), abs(float(case.want[2].item()))
    case.allow_rounding(torch)
    assert case.bounds[:2] == before[:2], "a result, and a slope of single terms"
    assert before[2] < 1.1e-5 * size and 1.5 * before[2] < case.bounds[2] < 1e-4 * size


def test_every_operation_has_a_grid_or_a_reason():
    public = set(script("write_docs").public())
    assert not public - set(GRIDS) - set(WITHOUT), "ops without a grid"
    assert not set(GRIDS) & set(WITHOUT), "ops with a grid need no line in WITHOUT"
    assert not (set(GRIDS) | set(WITHOUT)) - public, "no op has such a name"


def test_the_same_seed_draws_the_same_case():
    for name, row in GRIDS.items():
        first, again = (Case(name, row, 5, 0) for _ in range(2))
        assert repr(first) == repr(again), name
