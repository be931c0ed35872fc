"""Gradients and second gradients of every row, against slopes of the NumPy reference in float64."""

import numpy as np
import pytest
from rows import ROWS, Row, unary
from test_ops import arrays, host, tensors, values

import flambeau as fb

GRADS = [n for n, r in ROWS.items() if r.grads]
SECOND = [n for n, r in ROWS.items() if r.grads > 1]
NEAR, FIRST_TOL, SECOND_TOL = 1e-3, 2e-4, 2e-3


def setting(row: Row, seed: int):
    """Inputs, two random directions for each float input, and weights that make the result one number."""
    rng = np.random.default_rng(seed)
    given = arrays(row, rng)
    u, v = ([rng.normal(size=a.shape) if a.dtype.kind == "f" else None for a in given] for _ in range(2))
    weights = rng.uniform(0.5, 1.5, np.shape(row.expected(*map(host, given))))
    return given, u, v, weights


def moved(row: Row, given, weights, *steps):
    """The weighted sum of the reference at the inputs moved by each (direction, how far)."""
    at = [host(a) for a in given]
    for direction, t in steps:
        at = [a if d is None else a + t * d for a, d in zip(at, direction)]
    return float((row.expected(*at) * weights).sum())


def slope(row: Row, given, v, weights, h=NEAR):
    """d/dv by the five-point formula."""
    at = [moved(row, given, weights, (v, k * h)) for k in (-2, -1, 1, 2)]
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h)


def bend(row: Row, given, u, v, weights, h=NEAR):
    """d/du d/dv, to fourth order in h from two steps of second order."""

    def crossed(h):
        signs = [(a, b) for a in (1, -1) for b in (1, -1)]
        return sum(a * b * moved(row, given, weights, (u, a * h), (v, b * h)) for a, b in signs) / (4 * h * h)

    return (4 * crossed(h) - crossed(2 * h)) / 3


def weighted(y, weights):
    return (y * fb.tensor(weights.astype("f4"), device=y.device)).sum()


def along(grads, xs, directions):
    """Sum of gradient * direction over the inputs that have both; an absent gradient is zero."""
    parts = [
        (grads[x] * fb.tensor(d.astype("f4"), device=x.device)).sum()
        for x, d in zip(xs, directions)
        if d is not None and x in grads
    ]
    return sum(parts[1:], parts[0]) if parts else None


def leaves(given, device):
    return [t.requires_grad_() if t.dtype is fb.float32 else t for t in tensors(given, device)]


def check_gradient(name, row: Row, device, seed=11):
    given, _, v, weights = setting(row, seed)
    xs = leaves(given, device)
    loss = weighted(row.compute(name, *xs), weights)
    grads = loss.backward()
    shown = [grads[x] for x in xs if x in grads]
    found, *each = values(along(grads, xs, v), *shown)
    for g, x in zip(each, (x for x in xs if x in grads)):
        assert g.shape == x.shape and np.isfinite(g).all()
    want = slope(row, given, v, weights)
    scale = max(1.0, *(float(np.abs(g).sum()) for g in each))
    assert abs(float(found) - want) <= FIRST_TOL * scale, f"{name}: slope {float(found)}, not {want}"


def check_second(name, row: Row, device, seed=12):
    given, u, v, weights = setting(row, seed)
    xs = leaves(given, device)
    grads = weighted(row.compute(name, *xs), weights).backward(create_graph=True)
    first = along(grads, xs, u)
    want = bend(row, given, u, v, weights)
    if not first.requires_grad:  # linear in every input
        assert abs(want) < SECOND_TOL, f"{name}: bend {want}, but the gradient is constant"
        return
    second = first.backward()
    parts = along(second, xs, v)
    found = 0.0 if parts is None else parts.item()
    assert abs(found - want) <= SECOND_TOL * max(1.0, abs(want)), f"{name}: bend {found}, not {want}"


@pytest.mark.parametrize("name", GRADS)
def test_gradient(name, device):
    check_gradient(name, ROWS[name], device)


@pytest.mark.parametrize("name", SECOND)
def test_second_gradient(name, gpu):
    check_second(name, ROWS[name], gpu)


def test_a_wrong_gradient_is_caught(device):
    from flambeau.core.op import Op

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
