"""Gradients and second gradients of every row, against slopes of the NumPy reference in float64."""

import numpy as np
import pytest
from helpers.compare import values
from helpers.gradients import GRADS, check_gradient, check_linear, check_second
from helpers.inputs import with_kernels
from rows import ROWS, unary

import flambeau as fb
from flambeau.core.op import Op

SECOND = [n for n, r in ROWS.items() if r.grads > 1]
KERNELS_OF_SECOND = with_kernels(SECOND, first=1)


@pytest.mark.parametrize("name", GRADS)
def test_gradient(name, device):
    check_gradient(name, ROWS[name], device)


@pytest.mark.parametrize("name", SECOND)
def test_second_gradient(name, gpu):
    """Of composed ops a share by kernels, the others by NumPy: the graph is the same."""
    check_second(name, ROWS[name], gpu if name in KERNELS_OF_SECOND else "cpu")


@pytest.mark.parametrize("name", GRADS)
def test_gradient_is_linear_in_what_comes_back(name):
    """jvp is the gradient's gradient by what comes back, at 0, where a rule by its sign has none."""
    check_linear(name, ROWS[name], "cpu")


def test_a_gradient_by_signs_is_caught():
    op = Op("elementwise", xp=lambda xp, x: xp.exp(x), grad=lambda g, y, x: [(g > 0).where(g, 0) * y - y * 0])
    object.__setattr__(op, "name", "exp")
    with pytest.raises(AssertionError, match="not linear"):
        check_linear("exp", unary(np.exp, call=op), "cpu")


def test_a_wrong_gradient_is_caught(device):
    right = Op("elementwise", xp=lambda xp, x: xp.exp(x), grad=lambda g, y, x: [g * y])
    wrong = Op("elementwise", xp=lambda xp, x: xp.exp(x), grad=lambda g, y, x: [g * y * 1.002])
    late = Op("elementwise", xp=lambda xp, x: xp.exp(x), grad=lambda g, y, x: [g * y.detach()])
    for op in (right, wrong, late):
        object.__setattr__(op, "name", "exp")
    check_gradient("exp", unary(np.exp, call=right), device)
    check_second("exp", unary(np.exp, call=right), device)
    check_gradient("exp", unary(np.exp, call=late), device)
    with pytest.raises(AssertionError, match="slope"):
        check_gradient("exp", unary(np.exp, call=wrong), device)
    with pytest.raises(AssertionError, match="bend"):
        check_second("exp", unary(np.exp, call=late), device)


def leaf(array, device):
    return fb.tensor(np.asarray(array, "f4"), device=device, requires_grad=True)


def test_broadcast_inputs_sum_their_gradients(device):
    x, y = leaf(np.ones((3, 1)), device), leaf(np.ones(4), device)
    grads = (x * y * 2).sum().backward()
    gx, gy = values(grads[x], grads[y])
    assert gx.tolist() == [[8.0]] * 3 and gy.tolist() == [6.0] * 4


def test_a_tensor_used_twice_gets_both_parts(device):
    x = leaf([1.0, 2.0, 3.0], device)
    grads = (x * x + x.exp() * 0 + x).sum().backward()
    assert grads[x].tolist() == [3.0, 5.0, 7.0]


def test_gradients_at_kinks(device):
    """Where there is no slope, PyTorch's choice: relu 0, abs 0, equal elements share maximum's and amax's."""
    x, y = leaf([0.0, 2.0, 2.0], device), leaf([0.0, 2.0, 1.0], device)
    made = [
        (x.relu().sum().backward()[x], [0, 1, 1]),
        (x.abs().sum().backward()[x], [0, 1, 1]),
        (x.maximum(y).sum().backward()[y], [0.5, 0.5, 0]),
        (x.minimum(y).sum().backward()[x], [0.5, 0.5, 0]),
        (x.amax().backward()[x], [0, 0.5, 0.5]),
        (x.max(0)[0].backward()[x], [0, 1, 0]),
        (x.min(0)[0].backward()[x], [1, 0, 0]),
        (x.prod().backward()[x], [4, 0, 0]),
        (x.clamp(0, 2).sum().backward()[x], [1, 1, 1]),
        ((x**2).sum().backward()[x], [0, 4, 4]),
        ((x**1).sum().backward()[x], [1, 1, 1]),
    ]
    for got, (_, want) in zip(values(*(g for g, _ in made)), made):
        assert got.tolist() == want


def test_pow_at_zero(device):
    x, y = leaf([0.0, 0.0, 2.0, -2.0], device), leaf([2.0, 0.0, 3.0, 2.0], device)
    grads = (x**y).sum().backward()
    gx, gy = values(grads[x], grads[y])
    assert gx.tolist() == [0.0, 0.0, 12.0, -4.0]
    assert np.allclose(gy[:3], [0, 0, 8 * np.log(2)], atol=1e-5)


def test_prod_with_zeros(device):
    x = leaf([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, 3.0]], device)
    grads = x.prod(1).sum().backward()
    assert grads[x].tolist() == [[6.0, 0.0, 0.0], [0.0, 0.0, 0.0], [6.0, 3.0, 2.0]]


def test_no_grad_detach_and_integers_take_no_part(device):
    x = leaf([1.0, 2.0], device)
    with fb.no_grad():
        assert not (x * 2).requires_grad
    assert not x.detach().requires_grad and not x.int().requires_grad and not (x > 1).requires_grad
    grads = (x * x.detach()).sum().backward()
    assert grads[x].tolist() == [1.0, 2.0]


def test_third_gradient(device):
    x = leaf([0.5, 1.5], device)
    g = (x**4).sum().backward(create_graph=True)[x]
    g2 = g.sum().backward(create_graph=True)[x]
    g3 = g2.sum().backward()[x]
    assert np.allclose(g3.numpy(), 24 * np.array([0.5, 1.5]), rtol=1e-5)


def test_gradients_container(device):
    x, y, z = (leaf([1.0], device) for _ in range(3))
    grads = (x * y).sum().backward()
    assert len(grads) == 2 and x in grads and z not in grads and grads.get(z) is None
    assert sorted(g.item() for g in grads.map(lambda g: g * 3)) == [3.0, 3.0]
    with pytest.raises(KeyError) as e:
        grads[z]
    assert e.value.args[0] == "grads[f32[1]]: the loss does not depend on it: check requires_grad and detach"
