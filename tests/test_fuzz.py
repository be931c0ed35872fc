"""Random programs give the same on a GPU as one graph, twice in one, on a GPU op by op, and on NumPy.

FLAMBEAU_FUZZ is how many programs are tried (2,000), FLAMBEAU_FUZZ_SEED which ones.
"""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from programs import Bound, Program, Value, programs
from test_ops import values

import flambeau as fb

COUNT = int(os.environ.get("FLAMBEAU_FUZZ", "2000"))
SEED = int(os.environ.get("FLAMBEAU_FUZZ_SEED", "1"))
TESTS = 8  # which workers share
SETTINGS = settings(
    max_examples=max(COUNT // TESTS, 1), deadline=None, database=None, report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink),
)  # fmt: skip


def differences(program: Program, found: list[np.ndarray], results: list[Value], what: str) -> str:
    """Where values are not those of NumPy, in a text with the program; an empty string where all are."""
    with np.errstate(all="ignore"):
        want = values(*(program.run("cpu")[v.name] for v in results))
    for got, right, v in zip(found, want, results):
        got, right = (a.astype("f8") for a in (got, right))
        assert got.shape == right.shape == v.shape
        # each of the two may be off by the bound; below float16's and float32's least they may be zero
        bad = ~(np.abs(got - right) <= 2 * v.bound.error + 1e-30)
        if bad.any():
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            bound = f"not {right[at]} within {2 * v.bound.error:.1e}"
            return f"{what}, {v.name}{list(at)}: {got[at]}, {bound} of\n{program}"
    return ""


def check(program: Program, gpu) -> None:
    results = program.results()
    scopes = {"as one graph": program.run(gpu), "op by op": program.run(gpu, lambda t: t.realize())}
    scopes["written twice"] = program.run(gpu, given=scopes["as one graph"])
    found = values(*(scope[v.name] for scope in scopes.values() for v in results))  # one submit and one read
    for i, what in enumerate(scopes):
        wrong = differences(program, found[i * len(results) : (i + 1) * len(results)], results, what)
        assert not wrong, "\n" + wrong


@pytest.mark.parametrize("part", range(TESTS))
def test_programs(part, gpu):
    @seed(SEED * 1000 + part)
    @SETTINGS
    @given(programs())
    def run(program):
        check(program, gpu)

    run()


def test_a_wrong_value_is_found(gpu):
    made = Program({"v0": np.float32([1, 2])}, ["v1 = v0 * 2"])
    two = fb.tensor([1.0, 2.0], device="cpu")
    made.values = [Value(f"v{i}", two, Bound(4.0, 0.25, 0.0)) for i in range(2)]
    assert [v.name for v in made.results()] == ["v1"]
    check(made, gpu)
    said = differences(made, [np.float32([2, 4.5])], made.results(), "doctored")
    assert said.startswith("doctored, v1[1]: 4.5, not 4.0 within 0.0e+00 of") and said.endswith("v1 = v0 * 2")
