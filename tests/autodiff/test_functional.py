"""torch.autograd.functional, gradient checks, anomalies and batched starts: closed forms, then torch."""

import numpy as np
import pytest

import flambeau as fb

functional = fb.autograd.functional
X = np.array([0.5, 1.5, -1.0], "f4")


def given(*arrays, grad=False):
    return tuple(fb.tensor(a, device="cpu", requires_grad=grad) for a in arrays)


def energy(m):
    return lambda x, y: (x * x * y).sum() + (x * y).prod()


def outputs(m):
    return lambda x, y: (x * y, (x.exp() * y).sum())


def flat(tree):
    return [t for part in tree for t in flat(part)] if isinstance(tree, tuple | list) else [tree]


CALLS = {
    "jacobian": lambda f, m, a: f.jacobian(outputs(m), a),
    "jacobian forward": lambda f, m, a: f.jacobian(
        outputs(m), a, strategy="forward-mode", **({} if m is fb else {"vectorize": True})
    ),
    "jacobian of one": lambda f, m, a: f.jacobian(lambda x: x.exp() * x.sum(), a[0]),
    "hessian": lambda f, m, a: f.hessian(energy(m), a),
    "hessian of one": lambda f, m, a: f.hessian(lambda x: (x**3).sum(), a[0]),
    "vjp": lambda f, m, a: f.vjp(outputs(m), a, (a[0], a[1].sum())),
    "vjp of a number": lambda f, m, a: f.vjp(energy(m), a),
    "jvp": lambda f, m, a: f.jvp(outputs(m), a, (a[1], a[0])),
    "hvp": lambda f, m, a: f.hvp(energy(m), a, (a[1], a[0])),
    "vhp of one": lambda f, m, a: f.vhp(lambda x: (x**3).sum(), a[0], a[1]),
}


@pytest.mark.parametrize("name", CALLS)
def test_as_torch(torch, name):
    ours = flat(CALLS[name](functional, fb, given(X, X + 1)))
    theirs = flat(CALLS[name](torch.autograd.functional, torch, (torch.tensor(X), torch.tensor(X + 1))))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert a.shape == tuple(b.shape) and not a.requires_grad
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def test_closed_forms():
    (x,) = given(X)
    cube = lambda x: (x**3).sum()  # noqa: E731
    for strategy in ("reverse-mode", "forward-mode"):
        found = functional.hessian(cube, x, outer_jacobian_strategy=strategy)
        assert np.allclose(found.numpy(), np.diag(6 * X), atol=1e-5)
    value, moved = functional.hvp(cube, x, x)
    assert np.isclose(value.item(), (X**3).sum()) and np.allclose(moved.numpy(), 6 * X**2, atol=1e-5)
    _, slope = functional.jvp(lambda t: t * x, fb.tensor(2.0, device="cpu"))
    assert np.allclose(slope.numpy(), X)


def test_create_graph_joins():
    (x,) = given(X, grad=True)
    j = functional.jacobian(lambda x: (x**3).sum(), x, create_graph=True)
    assert np.allclose(j.sum().backward()[x].numpy(), 6 * X, atol=1e-5)
    assert not functional.jacobian(lambda x: (x**3).sum(), x).requires_grad


def test_functional_says_what_is_wrong():
    (x,) = given(X)
    cases = [
        (lambda: functional.jacobian(fb.exp, x, strategy="no"),
         "jacobian(strategy='no'): unknown strategy: use 'reverse-mode' or 'forward-mode'"),
        (lambda: functional.vjp(fb.exp, x), "vjp([f32[3]]): v is optional only for a scalar result: pass v"),
        (lambda: functional.jvp(fb.exp, x), "jvp([f32[3]]): v is optional only for a scalar result: pass v"),
    ]  # fmt: skip
    for call, told in cases:
        with pytest.raises(ValueError) as caught:
            call()
        assert str(caught.value) == told


def test_several_starts_at_once():
    (x,) = given(X, grad=True)
    y = x * x * x
    (g,) = fb.autograd.grad(y, x, fb.eye(3, device="cpu"), is_grads_batched=True, create_graph=True)
    assert np.allclose(g.numpy(), np.diag(3 * X**2), atol=1e-5)
    assert np.allclose(g.sum().backward()[x].numpy(), 6 * X, atol=1e-5)


class Wrong(fb.autograd.Function):
    """A square whose gradient is too small."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0] * 1.9


class WrongTwice(fb.autograd.Function):
    """A square whose gradient is right, and whose gradient's gradient is none."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].detach() * 2


def test_gradcheck():
    x, y = given(X, X + 2, grad=True)
    assert fb.autograd.gradcheck(lambda x, y: (x.sin() * y, x @ y, x > y), (x, y))
    assert fb.autograd.gradgradcheck(lambda x, y: (x * x).sin() * y, (x, y.detach()))
    assert not fb.autograd.gradcheck(Wrong.apply, x, raise_exception=False)
    with pytest.raises(fb.autograd.GradcheckError) as caught:
        fb.autograd.gradcheck(Wrong.apply, x)
    told = (
        "gradcheck(...): element 0 of output 0 with respect to element 0 of input 0: backward"
        " computes 0.95, finite differences 1"
    )
    assert str(caught.value) == told
    assert fb.autograd.gradcheck(WrongTwice.apply, x)
    with pytest.raises(fb.autograd.GradcheckError, match="backward computes 0, finite differences 2"):
        fb.autograd.gradgradcheck(WrongTwice.apply, x)
    with pytest.raises(ValueError) as error:
        fb.autograd.gradcheck(fb.exp, x.detach())
    assert str(error.value) == "gradcheck([f32[3]]): no input has requires_grad: call requires_grad_()"


def test_anomalies_are_found():
    (x,) = given(np.array([0.0, 1.0], "f4"), grad=True)
    assert np.isnan((x.sqrt() * 0).sum().backward()[x].numpy()[0])
    with fb.autograd.detect_anomaly(), pytest.raises(fb.FlambeauError) as caught:
        assert fb.autograd.is_anomaly_enabled()
        (x.sqrt() * 0).sum().backward()
    assert str(caught.value) == "backward(...): the gradient of sqrt(f32[2]) with respect to input 0 has NaN"
    with fb.autograd.detect_anomaly():
        assert (x * 2).sum().backward()[x].tolist() == [2, 2]
    fb.autograd.set_detect_anomaly(True)
    try:
        with pytest.raises(fb.FlambeauError, match="has NaN"):
            (x.sqrt() * 0).sum().backward()
    finally:
        fb.autograd.set_detect_anomaly(False)
    assert not fb.autograd.is_anomaly_enabled()


def test_linearize_and_the_order_of_grad_and_value():
    (x,) = given(X)
    g, value = fb.func.grad_and_value(lambda x: (x**3).sum())(x)
    assert np.allclose(g.numpy(), 3 * X**2, atol=1e-5) and np.isclose(value.item(), (X**3).sum())
    out, push = fb.func.linearize(lambda x: x**3, x)
    assert np.allclose(out.numpy(), X**3) and np.allclose(push(x).numpy(), 3 * X**3, atol=1e-5)
