"""The operations of PyTorch's database on ours (helpers/opinfo.py), and what of them may differ."""

import pytest
from helpers import opinfo
from helpers.draws import in_turn

TABLE = opinfo.table()
KINDS = {"RAISED", "ACCEPTED", "CLASS", "ABSENT", "WRONG"}
SHARES = 16  # of all operations, on NumPy
KERNEL_SHARES = 64  # of all operations, by kernels


def ran(share: int, shares: int, device: str, kernels: str = "") -> list[opinfo.Outcome]:
    return list(opinfo.run(lambda names: names[share::shares], device, kernels))


def told(outcomes: list[opinfo.Outcome], kinds) -> str:
    """The findings of some kinds, one below the other."""
    return "\n".join(f"{o.name}: {f.text}" for o in outcomes for f in o.findings if f.kind in kinds(o))


def beyond(outcome: opinfo.Outcome) -> set[str]:
    """The kinds of an outcome that no reason is given for."""
    return set(outcome.kinds) - TABLE.kinds(outcome.name)


@pytest.mark.parametrize("share", in_turn(range(SHARES), 8))
def test_numpy_device(torch, share):
    outcomes = ran(share, SHARES, "cpu")
    assert not (new := told(outcomes, beyond)), new
    passed = {o.name: sorted(TABLE.kinds(o.name) - set(o.kinds)) for o in outcomes}
    passed = {name: kinds for name, kinds in passed.items() if kinds}
    assert not passed, f"these pass by now: take them out of tests/opinfo_differs.toml: {passed}"


@pytest.mark.parametrize("kernels", ["", "gpu"])
@pytest.mark.parametrize("share", in_turn(range(KERNEL_SHARES), KERNEL_SHARES))
def test_kernels(torch, gpu, share, kernels):
    outcomes = ran(share, KERNEL_SHARES, "gpu", kernels)
    assert not (new := told(outcomes, beyond)), new


def test_the_table_is_of_this_database(torch):
    names = set(opinfo.names())
    assert len(names) == TABLE.operations and not TABLE.names - names


def test_reasons_are_sentences():
    assert {kind for kind, _, _ in TABLE.reasons} <= KINDS
    assert not [why for _, why, _ in TABLE.reasons if len(why.split()) < 4 or why[-1] == "."]
    each = [(kind, name) for kind, _, names in TABLE.reasons for name in names]
    assert len(each) == len(set(each)), "a kind of difference has one reason"


def test_a_process_that_dies_is_one_finding(torch, monkeypatch):
    """The next operation runs in a new process."""
    monkeypatch.setenv("FLAMBEAU_OPINFO_DIES", "sin")
    dead, alive = opinfo.run(lambda names: ["sin", "cos"], "cpu")
    assert dead.kinds == ["CRASH"] and not alive.kinds and alive.tried > 9
