"""Ops of a user's own: they fuse, differentiate, run on every device and say what is wrong with them."""

import sys

import numpy as np
import pytest
from helpers.paths import ROOT

import flambeau as fb
from flambeau.testing import check_close, check_op


def cube(name="cube_of_mine", expression="{{ x }} * {{ x }} * {{ x }}", **kw):
    return fb.custom_op(
        name, inputs=["x"], expression=expression, reference=kw.pop("reference", lambda xp, x: x**3),
        grad=kw.pop("grad", lambda g, y, x: [g * x * x * 3]), **kw,
    )  # fmt: skip


X = np.random.default_rng(0).uniform(-2, 2, (5, 13)).astype("f4")

DOUBLE = """//% extends "launch.wgsl"
//% block work
  let i = group * 64u + lid.x;
  if (i < p.size) {
    out[i] = in0[i] * p.factor;
  }
//% endblock
"""


def double(name, text=DOUBLE):
    return fb.custom_op(
        name, inputs=["x"], kernel=text, reference=lambda xp, x: x * 2.5,
        launch=lambda limits, x: [
            fb.Launch("", (0,), -(-x.shape[0] // 64), {"size": x.shape[0], "factor": 2.5})
        ],
    )  # fmt: skip


def test_an_expression_is_an_op_like_any(device):
    op = cube()
    check_op(op, X, device=device)
    x = fb.tensor(X, device=device, requires_grad=True)
    first = op(x).sum().backward(create_graph=True)[x]
    second = first.sum().backward()[x]
    assert np.allclose(second.numpy(), 6 * X, atol=1e-5)
    assert np.allclose(op(x[::2, 1:]).numpy(), X[::2, 1:] ** 3, atol=1e-5)


def test_it_fuses_and_shows(gpu):
    plan = (cube("shown")(fb.tensor(X, device=gpu) + 1) * 2).relu().plan()
    assert [k.name for k in plan] == ["add+shown+mul+relu"]


def test_defined_again_it_is_another_op(gpu):
    x = fb.tensor(X, device=gpu)
    assert np.allclose(cube("twice")(x).numpy(), X**3, atol=1e-5)
    changed = cube("twice", "{{ x }} + {{ T }}(1)", reference=lambda xp, x: x + 1, grad=None)
    assert np.allclose(changed(x).numpy(), X + 1)


def test_a_kernel(device):
    op = double("two_and_a_half")
    given = np.arange(200, dtype="f4")
    check_op(op, given, device=device)
    x = fb.tensor(given, device=device)
    assert np.allclose((op(x[::2] + 1) - 1).numpy(), (given[::2] + 1) * 2.5 - 1)


def test_packed_types_are_widened_for_them(device):
    """A user's kernel or expression computes in 4 bytes, and knows nothing of how halves and bytes lie."""
    given = np.arange(99, dtype="f4")
    y = double("of_halves")(fb.tensor(given, fb.float16, device))
    assert y.dtype is fb.float16 and np.array_equal(y.numpy(), given * 2.5)
    bytes_ = fb.tensor(np.arange(99, dtype="i1"), device=device)
    cubed = cube("of_bytes")(bytes_)
    assert cubed.dtype is fb.int8 and np.array_equal(cubed.numpy(), bytes_.numpy() ** 3)


def test_a_wrong_kernel_or_gradient_is_caught(gpu):
    with pytest.raises(AssertionError, match="wrong_cube: value: .* more than 3e-06 apart"):
        check_op(cube("wrong_cube", "{{ x }} * {{ x }}"), X, device=gpu)
    with pytest.raises(AssertionError, match="wrong_slope: gradient gives slope"):
        check_op(cube("wrong_slope", grad=lambda g, y, x: [g * x * 3]), X, device=gpu)


def test_errors(gpu):
    with pytest.raises(ValueError) as e:
        cube("exp")
    assert str(e.value) == (
        "custom_op('exp'): the name is already used or is not an identifier: choose another"
    )
    with pytest.raises(ValueError) as e:
        fb.custom_op("half_done", inputs=["x"], kernel=DOUBLE, reference=lambda xp, x: x)
    assert str(e.value) == "custom_op('half_done'): pass either expression=, or kernel= and launch="
    with pytest.raises(fb.KernelError, match=r"torn\.wgsl:1: "):
        cube("torn", "{{ x ")
    with pytest.raises(fb.KernelError, match=r"misspelt: the kernel does not compile"):
        cube("misspelt", "cubed({{ x }})")(fb.tensor(X, device=gpu)).numpy()


def test_the_example_runs(gpu, capsys, monkeypatch):
    if "SwiftShader" in gpu.name:  # its sin, which the example calls, is off by 2.5e-4
        monkeypatch.setenv("FLAMBEAU_DEVICE", "gpu:llvmpipe")
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    monkeypatch.setattr(sys, "argv", ["custom_op.py"])
    import custom_op

    custom_op.main()
    assert "mul+add+snake+relu" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("grad", "told"),
    [
        (lambda g, y, a, b: g, "a Tensor"),
        (lambda g, y, a, b: [g], "1 gradients"),
        (lambda g, y, a, b: None, "a NoneType"),
    ],
)
def test_a_gradient_for_each_input_is_asked_for(grad, told):
    add = fb.custom_op("added", ["a", "b"], expression="{{ a }} + {{ b }}", reference=np.add, grad=grad)
    x = fb.ones(2, device="cpu", requires_grad=True)
    with pytest.raises(TypeError) as e:
        add(x, x).sum().backward()
    assert str(e.value) == (
        f"custom_op('added'): its grad returned {told}, and it has 2 inputs: return [g, g],"
        " with None for inputs without a gradient"
    )


def test_a_gradient_through_an_op_without_one_is_refused_by_name(device):
    op = fb.custom_op("slopeless", inputs=["x"], expression="{{ x }} * 2.0", reference=lambda xp, x: x * 2)
    x = fb.ones(1, device=device, requires_grad=True)
    with pytest.raises(TypeError, match=r"custom_op\('slopeless'\): it has no gradient"):
        (op(x) + x).sum().backward()
    assert (op(x.detach()) + x).sum().backward()[x].item() == 1
    with fb.no_grad():
        assert op(x).item() == 2


def test_a_name_that_is_no_input_is_refused_where_the_op_is_declared():
    with pytest.raises(fb.KernelError) as e:
        fb.custom_op("strange", ["x", "beta"], expression="{{ x }} * {{ betta }}", reference=lambda xp, *a: a)
    assert str(e.value) == (
        "custom_op('strange'): the expression has {{ betta }}, which is not an input: did you mean 'beta'?:"
        " use {{ x }}, {{ beta }}, {{ T }}"
    )


def test_an_expression_that_holds_for_one_element_only_is_found(gpu):
    """The condition is right for f32; of vec4<f32> the first element decides for all four."""
    text = "{{ x }} * {{ T }}({{ 'f32(%s > 0.0)' % x if T.width == 1 else 'f32(%s.x > 0.0)' % x }})"
    op = fb.custom_op("only_one", ["x"], expression=text, reference=lambda xp, x: x * (x > 0))
    check_close(op(fb.tensor([-1.0, 2.0, -3.0], device=gpu)).numpy(), np.float32([0, 2, 0]), 1e-6, "three")
    with pytest.raises(AssertionError, match=r"only_one: value of \[4\]: "):
        check_op(op, np.float32([1.0, -2.0, 3.0]), device=gpu)
