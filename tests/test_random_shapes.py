"""The benchmark of random shapes: every family agrees with torch, and its figures are the right ones."""

import math
import sys

import numpy as np
import pytest
from helpers.paths import ROOT

import flambeau as fb

sys.path.append(str(ROOT / "bench"))
random_shapes = pytest.importorskip("random_shapes")


@pytest.fixture
def sides(torch):
    """Both libraries on the processor: NumPy's device compiles nothing."""
    yield random_shapes.Sides("cpu", "cpu")
    fb.set_default_device(None)


@pytest.mark.parametrize("family", random_shapes.FAMILIES)
def test_programs_agree_with_torch(sides, family):
    draw = random_shapes.Draw(7, random_shapes.SIZES["small"])
    texts = set()
    for name, make in random_shapes.programs(draw, [family], 3):
        program = make(draw)
        _, _, gap = sides.values(program)
        assert name == family and gap <= program.tolerance, program.text
        texts.add(program.text)
    assert len(texts) > 1


def test_a_seed_draws_the_same_programs():
    def texts(seed: int) -> list[str]:
        draw = random_shapes.Draw(seed, random_shapes.SIZES["small"])
        return [make(draw).text for _, make in random_shapes.programs(draw, list(random_shapes.FAMILIES), 20)]

    assert texts(1) == texts(1) != texts(2)


def test_the_summary_has_the_median_and_the_worst_twentieth():
    slow = [random_shapes.Result("fft", "", 50e-6, 500e-6), random_shapes.Result("fft", "", 50e-6, 250e-6)]
    fast = [random_shapes.Result("sort", "", 10e-6, 5e-6)] * 38
    rows = random_shapes.summary(slow + fast)
    assert rows[:2] == [("all", "40", "2.00", "0.15"), ("torch over 40 us", "2", "0.15", "0.10")]


def test_differences_of_values():
    a, nan = np.ones(3, "f4"), np.array([1, np.nan, 1], "f4")
    assert random_shapes.difference([a, nan], [a, nan]) == 0
    assert math.isclose(random_shapes.difference([a * 2], [a * 4]), 0.5)
    assert random_shapes.difference([nan], [a]) == random_shapes.difference([a[:2]], [a]) == math.inf
