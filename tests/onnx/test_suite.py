"""onnx's own cases through its Backend interface, on NumPy, in this process.

The twins that are written out (`_expanded`) and the pools' cases, which take 10 s to be made, run by
scripts/onnx_scoreboard.py alone, as all cases on a GPU do.
"""

import pytest
from helpers import onnx_cases

KNOWN = {  # what can't pass, and why
    "test_loop16_seq_none": "the suite's own comparison takes no sequence of 0-d arrays",
    **dict.fromkeys(
        ("test_bernoulli", "test_bernoulli_double", "test_bernoulli_seed"), "draws of NumPy's generator"
    ),
    **dict.fromkeys(
        (f"test_training_dropout{end}" for end in ("", "_mask", "_default", "_default_mask")),
        "draws of NumPy's generator",
    ),
    **dict.fromkeys(
        ("test_dft_inverse", "test_dft_inverse_opset19"), "rounding of NumPy's where the truth is 0: 2e-7"
    ),
}


@pytest.fixture(scope="module")
def cases():
    found = onnx_cases.cases(every=False)
    return {name: case for name, case in found.items() if "_expanded" not in name}


@pytest.mark.parametrize("half", [0, 1])
def test_cases_pass(cases, half):
    chosen = list(cases)[half::2]
    results = {name: onnx_cases.run(cases[name], "CPU") for name in chosen}
    failed = {name: why for name, why in results.items() if why}
    assert failed.keys() == KNOWN.keys() & set(chosen), failed


def test_a_case_that_gives_other_numbers_fails(cases, monkeypatch):
    from flambeau.onnx.operators.table import TABLE

    (row,) = TABLE["", "Add"]
    monkeypatch.setitem(TABLE, ("", "Add"), [row.__class__(**{**vars(row), "function": lambda a, b: a - b})])
    assert "Not equal to tolerance" in onnx_cases.run(cases["test_add"], "CPU")
