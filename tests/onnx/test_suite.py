"""onnx's own cases through its Backend interface, in this process.

On NumPy all, but the twins that are written out (`_expanded`), of which a run takes a sixteenth by the
commit's turn. On a GPU (in CI a software adapter, which compiles each kernel anew) 1 of 128 by the turn. The
pools' cases, which take 10 s to be made, run by scripts/onnx_scoreboard.py alone, which has all on both.
"""

import pytest
from helpers import onnx_cases
from helpers.draws import in_turn

DRAWN = "draws of NumPy's generator"
KNOWN = {  # what can't pass, and why
    **dict.fromkeys(
        (f"test_resize_downsample_scales_{mode}_align_corners" for mode in ("linear", "cubic")),
        "its corners go by scale times size, those of ONNX Runtime and PyTorch by the output's size",
    ),
    "test_loop16_seq_none": "the suite's own comparison takes no sequence of 0-d arrays",
    **dict.fromkeys(("test_bernoulli", "test_bernoulli_double", "test_bernoulli_seed"), DRAWN),
    **dict.fromkeys(
        (f"test_training_dropout{end}" for end in ("", "_mask", "_default", "_default_mask")), DRAWN
    ),
    **dict.fromkeys(
        ("test_dft_inverse", "test_dft_inverse_opset19"), "rounding of NumPy's where the truth is 0: 2e-7"
    ),
}
EXPANDED = {
    **dict.fromkeys((f"test_bernoulli{end}_expanded" for end in ("", "_double", "_seed")), DRAWN),
    "test_attention_4d_causal_fp16_expanded": "two of 192 elements are a float16's step off",
}


@pytest.fixture(scope="module")
def cases():
    return onnx_cases.cases(every=False)


def check(cases: dict, chosen: list[str], device: str = "CPU") -> None:
    results = {name: onnx_cases.run(cases[name], device) for name in chosen}
    failed = {name: why for name, why in results.items() if why}
    assert failed.keys() == (KNOWN | EXPANDED).keys() & set(chosen), failed


@pytest.mark.parametrize("half", [0, 1])
def test_cases_pass(cases, half):
    check(cases, [name for name in cases if "_expanded" not in name][half::2])


def test_expanded_cases_pass(cases):
    check(cases, in_turn([name for name in cases if "_expanded" in name], 16))


def test_cases_pass_on_a_gpu(cases, gpu):
    check(cases, in_turn(cases, 128), "CUDA")


def test_a_case_that_gives_other_numbers_fails(cases, monkeypatch):
    from flambeau.onnx.operators.table import TABLE

    (row,) = TABLE["", "Add"]
    monkeypatch.setitem(TABLE, ("", "Add"), [row.__class__(**{**vars(row), "function": lambda a, b: a - b})])
    assert "Not equal to tolerance" in onnx_cases.run(cases["test_add"], "CPU")
