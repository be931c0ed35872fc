"""Random programs give the same on a GPU as one graph, op by op and recorded, and on NumPy.

FLAMBEAU_FUZZ is how many programs there are (36, of which a third is computed by the kernels of GPUs); each
run takes half of them. FLAMBEAU_FUZZ_SEED says which ones.
"""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.draws import in_turn
from helpers.kernels import planned_for
from helpers.planted import DEAR, X, plain, planted, wrong_flip

import flambeau as fb
from flambeau.core.op import OPS
from flambeau.runtime import pipeline
from flambeau.selftest import (
    FAMILIES,
    Selftest,
    check,
    compare,
    drawn,
    pointwise,
    random_program,
    report,
    script,
    shrink,
    smaller,
)
from flambeau.selftest.bounds import evaluate
from flambeau.selftest.compare import WAYS, asked_of, differing, largest_share, right_of, variants
from flambeau.selftest.families import NOT_FINITE
from flambeau.selftest.program_builder import Builder, Value
from flambeau.selftest.programs import Input, Line, Program, call_program, round_to

COUNT = int(os.environ.get("FLAMBEAU_FUZZ", "36"))
SEED = int(os.environ.get("FLAMBEAU_FUZZ_SEED", "1"))
CLASSES = {"software": True, "gpu": False}
PARTS = 6  # which workers share; a third of them for the kernels of GPUs
LINES = 12


def wrongs(program, device, ways, forced=None):
    """What is wrong with a program, made small, with a script; an empty text where nothing is."""
    wrong, _ = check(program, device, ways, forced)
    if wrong is None:
        return ""
    program, wrong = smaller(program, wrong, device, 30)
    return f"\n{wrong}\n{script(program, wrong, device)}"


@pytest.mark.parametrize("part", in_turn(range(PARTS), 2))
@pytest.mark.share(5)
def test_programs(part, gpu):
    for i, seed in enumerate(range(SEED * 100_003 + part, SEED * 100_003 + COUNT, PARTS)):
        program = random_program(seed, LINES)
        with planned_for(gpu, software=part % 3 < 2):
            wrong = wrongs(program if part % 3 < 2 else plain(program), gpu, (WAYS[i % 3],))
            assert not wrong, wrong


@pytest.mark.parametrize(
    ("family", "kernels"), [(f, k) for i, f in enumerate(FAMILIES) for k in in_turn(CLASSES, 2, first=i)]
)
@pytest.mark.share(5)
def test_families(family, kernels, gpu):
    with planned_for(gpu, CLASSES[kernels]):
        program = drawn(family, SEED, SEED + CLASSES[kernels])
        wrong = wrongs(plain(program) if family in DEAR and kernels == "gpu" else program, gpu, WAYS[:1])
        assert not wrong, wrong


# --- what finds a fault ---


def test_a_doctored_kernel_is_found_and_made_small(gpu, monkeypatch):
    render = pipeline.render
    monkeypatch.setattr(pipeline, "render", lambda shader: render(shader).replace("abs(", "0.999 * abs("))
    gpu.pipelines.clear()
    with planned_for(gpu, software=True):
        program = planted("v2.abs()", "np.abs(v2)", by=("v0",))
        wrong, _ = check(program, gpu, WAYS[:1])
        assert wrong is not None and wrong.name == "v4" and wrong.elements.total > 200
        program, wrong = smaller(program, wrong, gpu)
        text = report([(program, wrong)], gpu, 7)
    gpu.pipelines.clear()
    assert [(x.text, x.says) for x in program.lines] == [("v2.abs()", "np.abs(v2)")]
    assert [i.shape for i in program.inputs] == [(1, 1)] and not program.by
    assert "fn main" in text and "seed      7" in text and str(wrong) in text


def test_a_wrong_op_is_found_and_its_script_shows_it(monkeypatch, tmp_path):
    monkeypatch.setattr(fb.Tensor, "flip", wrong_flip)
    program = planted("v2.flip(0)", "np.flip(v2, 0)")
    device = fb.tensor(0.0, device="cpu").device
    wrong, _ = check(program, device, WAYS[3:])
    assert wrong is not None and wrong.way == "on NumPy's device"
    program, wrong = smaller(program, wrong, device)
    assert [x.text for x in program.lines] == ["v2.flip(0)"]
    assert program.inputs[0].shape in ((5, 1), (6, 1), (9, 1))
    monkeypatch.undo()
    text = script(program, wrong, device)
    (tmp_path / "script.py").write_text(text)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.stdout.startswith("v3 differs by at most 0.0 of"), done.stderr


def test_a_wrong_gradient_is_found(monkeypatch):
    monkeypatch.setitem(OPS["sin"].__dict__, "grad", lambda g, y, x: [g * x.cos() * 1.01])
    program = planted("v2.sin()", "np.sin(v2)", by=("v0", "v1"))
    wrong, _ = check(program, fb.tensor(0.0, device="cpu").device, ())
    assert wrong is not None and wrong.way == "slopes"
    program, wrong = smaller(program, wrong, None)
    assert [x.text for x in program.lines] == ["v2.sin()"] and len(program.by) == 1


def test_equal_values_of_16_bits_have_slopes_too():
    """1 is where clamp's slope begins, and as small as what clamp made of the others: each has a part of the
    minimum's slope, but NumPy's loss does not change."""
    data = np.float64([0, 1.5, *[1] * 20, -2, 2])
    program = Program(
        (Input("v0", (24,), fb.bfloat16, data=data),),
        (Line("v1", "v0.clamp(1, 5).amin(0, True)", "np.clip(v0, 1, 5).min(0, keepdims=True)"),),
        ("v1",),
        ("v0",),
    )
    assert check(program, fb.tensor(0.0, device="cpu").device, WAYS[3:])[0] is None


def test_floats_past_255_are_whole_in_uint32():
    b = Builder(3)
    x = b.input((1,), fb.float32)
    said = {to: set() for to in (fb.uint8, fb.uint32)}
    for _ in range(200):
        text, says = pointwise.cast(b)
        for to, found in said.items():
            if text == f"{x.name}.abs().to(fb.{to.name})":
                found.add(float(eval(says, {"np": np, x.name: np.float64(344.5)})))
    assert said == {fb.uint8: {88.5}, fb.uint32: {344.5}}


def test_an_error_is_found():
    program = planted("v2.reshape(7)", "v2.reshape(7)")
    wrong, _ = check(program, fb.tensor(0.0, device="cpu").device, WAYS[3:])
    assert wrong is not None and wrong.error.startswith("ValueError: reshape(f32[37, 6], 7): 222 elements")


# --- what bounds say ---


def bound(make, *arrays):
    xs = [fb.tensor(np.asarray(a), device="cpu") for a in arrays]
    return evaluate([make(*xs).node])[0]


def test_bounds_of_exact_arithmetic_are_none():
    quarters = np.float32([[0.25, -1.5, 2], [1, 0.75, -0.5]])
    for make in (
        lambda x: x @ x.T,
        lambda x: (x * x - 3).sum(0),
        lambda x: x.cumsum(1).amax(),
        lambda x: x.half(),
    ):
        error = bound(make, quarters).error
        assert error is None or not error.any()
    assert bound(lambda x: x.half(), np.float32([0.1])).error[0] > 0
    assert bound(lambda x: x * x, np.float32([0.1])).error[0] > 0


def test_bounds_hold_for_sums_in_any_order():
    """-0.537 - 0.25 is exact, and then one rounding is left; the other way there are two."""
    first, second, third = np.float32([-0.5371066927909851]), np.float32([-0.25]), np.float32([-15.75])
    value, error, _ = bound(lambda x, y, z: (x + y) + z, first, second, third)
    other = (first + third) + second
    assert abs(other - value) <= error and error >= 2 * 2.0**-24 * abs(value)
    assert bound(lambda x, y, z: (x + y) + z, second, second, third).error is None


def test_bounds_grow_and_jumps_inside_them_are_unknown():
    third = np.float32([1 / 3, 0.25])
    assert bound(lambda x: ((x * 3) > 1).int(), third).error.tolist() == [2, 0]
    assert np.isinf(bound(lambda x: (x * 3 / 1).to(fb.int32), np.float32([1, 1 / 6])).error).tolist() == [
        True,
        False,
    ]
    near = bound(lambda x: x == x.amax().half(), np.float32([1 / 3, 0.333251953125, 0.25])).error
    assert np.isinf(near).tolist() == [True, True, False]
    far = bound(lambda x: (x * 0.1).sum(), np.ones(1000, "f4")).error
    assert 1e-6 < far < 1e-2
    assert bound(lambda x: 1 / (x * 0.1 - 0.1), np.float32([1])).error == np.inf


def test_what_is_no_number_is_known_and_so_is_an_infinity():
    odd = np.float32([[0.1, np.inf, 1], [np.nan, 0.1, 1], [0.1, 0.1, 0.1], [np.inf, -np.inf, 0.3]])
    for make in (
        lambda x: x * 0.1,
        lambda x: (x * 0.1).sum(1),
        lambda x: x @ fb.tensor(np.float32([0.1, 3, 2]), device="cpu"),
        lambda x: x.cumsum(1),
        lambda x: (x * 0.1).softmax(1),
        lambda x: x.half(),
    ):
        value, error, _ = bound(make, odd)
        assert not np.isfinite(value).all() and np.isfinite(error).all() and error[np.isfinite(value)].any()


def test_what_differs_and_by_how_many_bounds():
    right = np.float64([1, 2, np.nan, 4, np.inf]), np.float64([0, 0.1, 0, np.inf, 0])
    within = np.float32([1, 2.05, np.nan, 9, np.inf])
    assert differing(within, *right) is None and abs(largest_share(within, *right) - 0.5) < 1e-5
    wrong = differing(np.float32([1.0001, 2.2, 0, np.nan, 3e38]), *right)
    assert wrong is not None and wrong.where.tolist() == [True, True, True, False, True]
    assert wrong.at == (2,) and wrong.total == 4 and wrong.want != wrong.want
    whole = np.int64([1 << 60, 7, 7]), np.float64([0, 0, 1])
    wrong = differing(np.int64([(1 << 60) + 1, 7, 9]), *whole)
    assert wrong is not None and wrong.where.tolist() == [True, False, False]


# --- what draws ---


def test_what_is_not_finite_is_drawn_on_demand_and_found(monkeypatch):
    device = fb.tensor(0.0, device="cpu").device
    assert NOT_FINITE not in Selftest(device, 5).families
    monkeypatch.setattr(fb.Tensor, "nan_to_num", lambda x, *to: x)
    test = Selftest(device, 5, [NOT_FINITE])
    for _ in range(200):
        test.step()
        if test.found:
            break
    (program, wrong), *_ = test.found
    assert [line.text.partition("(")[0][-10:] for line in program.lines] == ["nan_to_num"]
    assert not np.isfinite(wrong.elements.got) and np.isfinite(wrong.elements.want)
    assert "inf" in script(program, wrong, device)
    assert wrong.repeats == "50 of 50 more runs differ"
    index = list(wrong.elements.at)
    assert f"# 50 of 50 more runs differ\n# wrong at {index}" in report([(program, wrong)], device, 5)


def test_a_race_differs_in_some_repeats_only(monkeypatch):
    device, calls = fb.tensor(0.0, device="cpu").device, itertools.count()
    program = drawn("elementwise", 3, 3)
    wrong = compare.Difference("on NumPy's device", "v1")
    difference = lambda *_: (wrong if next(calls) % 5 == 0 else None, 0.0)  # noqa: E731
    monkeypatch.setattr(compare, "first_difference", difference)
    assert compare.describe_repeats(program, wrong, device) == "10 of 50 more runs differ"
    assert compare.describe_repeats(program, wrong, device, seconds=0.0) == "1 of 1 more runs differ"
    assert compare.describe_repeats(program, compare.Difference("slopes", "v1"), device) == ""


def test_a_value_that_is_plain_already_is_not_tried_again():
    """Shrinking would replace a NaN with itself until its time is over."""
    for values in ([np.nan, 1], [np.inf, -np.inf], [0.25, 3]):
        tried = [Input("v0", (2,), fb.float32, data=np.float32(values))]
        while data := [*shrink.plain(tried[-1])]:
            tried.append(tried[-1]._replace(data=data[-1]))
            assert len(tried) < 5


def test_a_seed_draws_the_same():
    device = fb.tensor(0.0, device="cpu").device
    runs = [Selftest(device, 5) for _ in range(2)]
    for test in runs:
        for _ in range(20):
            test.step()
        assert not test.found
    assert [t.tried for t in runs[0].tallies.values()] == [t.tried for t in runs[1].tallies.values()]
    assert random_program(9) == random_program(9) and random_program(9) != random_program(8)


def test_the_same_lines_come_at_other_sizes():
    one, other = drawn("reductions", 3, 1), drawn("reductions", 3, 2)
    assert [x.name for x in one.lines] == [x.name for x in other.lines]
    assert one.inputs[0].shape != other.inputs[0].shape


def test_variants_are_forced(gpu, monkeypatch):
    program = Program((Input("v0", (3, 700), fb.float32),), (Line("v1", "v0.sum(1)", "v0.sum(1)"),), ("v1",))
    with planned_for(gpu, software=False):
        names = asked_of(program, gpu)["tree"]
        assert len(names) > 1
        before = gpu.limits
        for name in names:
            with variants(gpu, {"tree": name}):
                assert gpu.limits.tuned.get(("tree", "any size")) == name
            assert not wrongs(program, gpu, WAYS[:1], {"tree": name})
        assert gpu.limits is before


def test_states_go_on_from_call_to_call(gpu):
    pointwise = (
        Line("v1", "v0 * 2", "v0 * 2"),
        Line("v0", "v0.assign_(v1)", "v1"),
        Line("v2", "v0 + 1", "v0 + 1"),
    )
    twice = Program((X,), pointwise, ("v2",), states=("v0",))
    assert check(twice, gpu, ("recorded", "op by op")) == (None, 0.0)
    (first,), _, (last,) = call_program(twice, "cpu", 3)
    np.testing.assert_array_equal(last.numpy() - 1, 4 * (first.numpy() - 1))


def test_a_view_of_a_state_has_the_bound_of_its_call():
    """A later call writes the state, and the view would show that call's values."""
    lines = (Line("v1", "v1.assign_(v0)", "v0"), Line("v2", "v1.T", "v1.T"))
    inputs = Input("v0", (4, 3), fb.float16, "normal"), Input("v1", (4, 3), fb.bfloat16)
    for (right,) in right_of(Program(inputs, lines, ("v2",), states=("v1",)), 3):
        inexact = right.value != round_to(right.value, fb.bfloat16)
        np.testing.assert_allclose(right.error, inexact * 2.0**-8 * np.abs(right.value), rtol=2e-3)


def test_a_wide_integer_of_no_dims_meets_no_narrower_one():
    """It is cast to the narrower dtype first, as in PyTorch, and NumPy's maximum would see the wide one."""
    kinds = (("a", (), fb.int64), ("b", (2,), fb.int8), ("c", (2,), fb.int64))
    wide, narrow, many = (Value(n, fb.zeros(s, dtype=d, device="cpu"), np.zeros(s)) for n, s, d in kinds)
    assert not pointwise.of_alike(wide, narrow) and not pointwise.of_alike(narrow, wide)
    assert pointwise.of_alike(many, narrow)


def test_what_may_overflow_has_no_bound_behind_a_product():
    """Times 0, an infinity is NaN: in a contraction as in a product of elements."""
    narrow = {"dtype": fb.float16, "device": "cpu"}
    large, zeros = fb.tensor([60000.0, 1.0], **narrow), fb.tensor([[0.0, 0.0], [0.0, 1.0]], **narrow)
    doubled = large + large
    matrix, elements = evaluate([(zeros @ doubled).node, (zeros[0] * doubled).node])
    assert np.isnan((zeros @ doubled).numpy()).all() and np.isinf(matrix.error).all()
    assert np.isinf(elements.error).tolist() == [True, False]
