"""Gradients and second gradients of a row, against slopes of its reference in float64."""

import numpy as np
from rows import ROWS, Row

import flambeau as fb
from helpers.compare import values
from helpers.inputs import arrays, host, tensors

GRADS = [n for n, r in ROWS.items() if r.grads]


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


def check_linear(name, row: Row, device, seed=13):
    """The gradient's own gradient by what comes back, taken at 0, is the product that the gradient is."""
    given, u, _, weights = setting(row, seed)
    xs = leaves(given, device)
    y, grad = row.compute(name, *xs), fb.autograd.grad
    back = fb.tensor(weights.astype("f4") - 1, device=device)  # of both signs
    start = fb.zeros(*y.shape, device=device, requires_grad=True)
    floats = [(x, fb.tensor(d.astype("f4"), device=device)) for x, d in zip(xs, u) if d is not None]
    by = [x for x, _ in floats]
    first = grad([y], by, [back], retain_graph=True, allow_unused=True)
    at_zero = grad([y], by, [start], create_graph=True, allow_unused=True)
    each = [(g * d).sum().item() for g, (_, d) in zip(first, floats) if g is not None]
    ends = [(g, d) for g, (_, d) in zip(at_zero, floats) if g is not None and g.requires_grad]
    pushed = grad([g for g, _ in ends], [start], [d for _, d in ends], allow_unused=True)[0] if ends else None
    found, want = 0.0 if pushed is None else (pushed * back).sum().item(), sum(each)
    scale = max(1.0, *map(abs, each)) if each else 1.0
    assert abs(found - want) <= FIRST_TOL * scale, f"{name} is not linear: {found} at 0, and not {want}"
