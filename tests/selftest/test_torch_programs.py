"""Random programs beside torch: the same lines on its tensors, values and gradients, on all kinds of kernels.

A few of each family in every run, then as many with a new seed as fit into FLAMBEAU_GRID_SECONDS (25).
FLAMBEAU_GRID_SEED is that seed, FLAMBEAU_GRID_CASE one program, as a difference tells it.
"""

import os
import re
import time
from contextlib import nullcontext
from zlib import crc32

import numpy as np
import pytest
from grids.compare import KERNELS
from helpers.by_torch import ByTorch, Told
from helpers.kernels import planned_for
from helpers.planted import DEAR, X, plain, planted, wrong_flip
from helpers.timed import MOST, SECONDS, SEED

import flambeau as fb
from flambeau.core.op import OPS
from flambeau.device import get_device
from flambeau.selftest import FAMILIES, compare, drawn, reference
from flambeau.selftest.compare import Right, differing, right_of
from flambeau.selftest.programs import Line, Program

KINDS = (*FAMILIES, "random programs")
FIXED = len(KERNELS)  # programs of each kind, each for another class of kernels
SHARE = 1e-6  # of a device's bound: float64 rounds 2**29 times finer than float32
NOISE = 1e-12  # of float64 where a device is exact
# what jumps where a number is whole: there float64's noise is as far as a device's, so its whole bound holds
JUMPS = re.compile(r"floor|ceil|trunc|round|sign|frac|remainder|fmod|//|%")


def the(seed: int, kind: str, number: int) -> Program:
    """Program `number` of a kind by a seed."""
    structure, sizes = np.random.default_rng([seed, crc32(kind.encode()), number]).integers(1 << 31, size=2)
    return drawn(kind, int(structure), int(sizes))


def torch_is_wrong(told: Told, rights: list[Right], share: float = SHARE) -> str:
    """Where torch and NumPy, both in float64, differ by more than their noise."""
    for right in rights:
        got = told.values.get(right.name)
        if got is None:  # a slope that torch has none of
            continue
        if got.shape != right.value.shape:
            return f"torch's {right.name} has shape {got.shape}, NumPy's {right.value.shape}"
        wrong = differing(got, right.value, share * right.error + NOISE * (1 + finite(right.value)))
        if wrong is not None:
            return f"torch's {right.name} is {wrong}"
    return ""


def finite(value: np.ndarray) -> np.ndarray:
    """Sizes of numbers, 0 for those that have none."""
    return np.where(np.isfinite(value), np.abs(value), 0)


def compared(torch, program: Program, kernels: str) -> tuple[str, Told]:
    """What differs between torch, NumPy and us, or an empty text, and what torch told."""
    (rights,) = right_of(program)
    told = ByTorch(torch, program).run()
    wrong = torch_is_wrong(told, rights, 1.0 if JUMPS.search(program.source()) else SHARE)
    if not wrong:
        # of an exact value, as of a row of equal numbers that is normalised, torch's has float64's rounding
        noisy = [r._replace(error=r.error + NOISE * (1 + finite(r.value))) for r in rights]
        by_torch = [r._replace(value=told.values.get(r.name, r.value)) for r in noisy]
        device = get_device("cpu" if kernels == "cpu" else None)
        gpu = device.kind == "gpu"
        way = "as one graph" if gpu else "on NumPy's device"
        with planned_for(device, software=kernels == "software") if gpu else nullcontext():
            found, _ = compare.first_difference(program, device, way, [by_torch], {})
        wrong = str(found or "")
    return wrong and f"{wrong}\n{program.source()}\n{program.says()}", told


class Tried:
    """What was tried: texts of differences, and lines that torch ran."""

    def __init__(self, torch):
        self.torch, self.wrong, self.programs, self.lines, self.refused = torch, [], 0, 0, []

    def program(self, seed: int, kind: str, number: int) -> None:
        kernels = KERNELS[number % len(KERNELS)]
        program = the(seed, kind, number)
        if kind in DEAR and kernels == "gpu":
            program = plain(program)
        text, told = compared(self.torch, program, kernels)
        self.programs, self.lines = self.programs + 1, self.lines + len(program.lines)
        self.refused += [r for r in told.refused if not r.startswith("slopes: ")]
        if text:
            key = f"{seed}/{kind}/{number}"
            again = f"FLAMBEAU_GRID_CASE='{key}' ./run test --torch -k one_program"
            self.wrong.append(f"{kind} on {kernels}: {text}\n    {again}")

    def tell(self, record_property) -> None:
        """What conftest.py adds up and prints, and what is wrong."""
        record_property("lines", self.lines)
        record_property("lines by torch", self.lines - len(self.refused))
        assert not self.wrong, "\n".join(["", *self.wrong])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:::torch")
def test_fixed_programs(torch, opened, kind, record_property):
    tried = Tried(torch)
    for number in range(FIXED):
        tried.program(1, kind, number)
    tried.tell(record_property)
    assert len(tried.refused) <= tried.lines / 3, tried.refused  # or little would be compared


@pytest.mark.filterwarnings("ignore:::torch")
def test_new_programs(torch, users_driver, record_property):
    tried, end, number = Tried(torch), time.monotonic() + SECONDS, 0
    while time.monotonic() < end and len(tried.wrong) < MOST:
        for i in np.random.default_rng([SEED, number]).permutation(len(KINDS)):
            if time.monotonic() >= end:
                break
            tried.program(SEED, KINDS[i], number + int(i))
        number += 1
    record_property("new cases", tried.programs)
    tried.tell(record_property)


@pytest.mark.filterwarnings("ignore:::torch")
def test_one_program(torch, users_driver, record_property):
    """What FLAMBEAU_GRID_CASE names; a program of the fixed set where nothing does."""
    seed, kind, number = os.environ.get("FLAMBEAU_GRID_CASE", "1/dtypes/0").split("/")
    if kind not in KINDS:
        pytest.fail(f"FLAMBEAU_GRID_CASE names {kind}, no program: use -k one_case")
    tried = Tried(torch)
    tried.program(int(seed), kind, int(number))
    tried.tell(record_property)


# --- what finds a fault ---


def test_a_wrong_op_is_found(torch, monkeypatch):
    program = planted("v2.flip(0)", "np.flip(v2, 0)")
    assert not compared(torch, program, "cpu")[0]
    monkeypatch.setattr(fb.Tensor, "flip", wrong_flip)
    assert compared(torch, program, "cpu")[0].startswith("on NumPy's device: v4 is ")


def test_a_wrong_gradient_is_found(torch, monkeypatch):
    program = planted("v2.sin()", "np.sin(v2)", by=("v0", "v1"))
    assert not compared(torch, program, "cpu")[0]
    monkeypatch.setitem(OPS["sin"].__dict__, "grad", lambda g, y, x: [g * x.cos() * 1.0001])
    assert compared(torch, program, "cpu")[0].startswith("torch's by_v0 is ")


def test_a_wrong_reference_is_found(torch, monkeypatch):
    program = planted("v2.sigmoid()", "ref.sigmoid(v2)")
    monkeypatch.setattr(reference, "sigmoid", lambda x: 0.5 + 0.5 * np.tanh(0.500001 * x))
    assert compared(torch, program, "cpu")[0].startswith("torch's v4 is ")


def test_a_line_that_torch_lacks_has_numpys_value(torch):
    lines = (Line("v1", "v0[::-1]", "v0[::-1]"), Line("v2", "v1.cumsum(0)", "v1.cumsum(0)"))
    told = ByTorch(torch, Program((X,), lines, ("v2",), ("v0",))).run()
    assert [r[:7] for r in told.refused] == ["v0[::-1]"[:7]] and set(told.values) == {"v2"}
    np.testing.assert_array_equal(told.values["v2"], X.array()[::-1].cumsum(0))
