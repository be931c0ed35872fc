"""Gradients and second gradients of every row, against slopes of the NumPy reference in float64."""

import numpy as np
import pytest
from helpers.compare import values
from helpers.draws import in_turn
from helpers.gradients import GRADS, check_gradient, check_linear, check_second
from helpers.inputs import with_kernels
from rows import ROWS, unary

import flambeau as fb
from flambeau.core.op import COMPOSED, OPS, Op
from flambeau.nn import functional as F

SECOND = [n for n, r in ROWS.items() if r.grads > 1]
KERNELS_OF_SECOND = with_kernels(SECOND, first=1)


# by kernels: each op that has some, and in turn a third of the ops that are composed of them
BY_KERNELS = {*(n for n in GRADS if n in OPS), *in_turn([n for n in GRADS if n in COMPOSED], 3)}
DEVICES = [(name, kind) for name in GRADS for kind in ("gpu", "cpu") if kind == "cpu" or name in BY_KERNELS]


@pytest.mark.parametrize(("name", "device"), DEVICES, indirect=["device"])
@pytest.mark.share(5, only=["gpu"])
def test_gradient(name, device):
    check_gradient(name, ROWS[name], device)


@pytest.mark.parametrize("name", SECOND)
@pytest.mark.share(5)
def test_second_gradient(name, gpu):
    """Of composed ops a share by kernels, the others by NumPy: the graph is the same."""
    check_second(name, ROWS[name], gpu if name in KERNELS_OF_SECOND else "cpu")


@pytest.mark.parametrize("name", GRADS)
@pytest.mark.share(2)
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


def test_second_slopes_at_places(device):
    """Of functions that bend there, though they are written by sizes; PyTorch's numbers."""
    made = [
        (lambda x: F.logsigmoid(x), [0.0], [-0.25]),
        (lambda x: F.binary_cross_entropy_with_logits(x, x.detach()), [0.0], [0.25]),
        (lambda x: F.huber_loss(x, x.detach() * 0), [0.0, 0.5, 1.0, 2.0], [0.25, 0.25, 0, 0]),
        (lambda x: fb.linalg.vector_norm(x), [3.0, 0.0, 4.0], [0.128 - 0.096, 0.2, 0.072 - 0.096]),
        (lambda x: x.logaddexp2(x.detach()), [1.0], [np.log(2) / 4]),
        (lambda x: x.cumprod(0)[-1], [0.0, 2.0, 3.0], [5.0, 3.0, 2.0]),
        (lambda x: fb.ones(1, device=device).scatter_reduce(0, fb.zeros(3, dtype=fb.int64, device=device), x,
                                                            "prod"), [0.0, 2.0, 3.0], [5.0, 3.0, 2.0]),
        (lambda x: F.elu(x), [0.0, -1.0], [0.0, np.exp(-1)]),
        (lambda x: x**0, [0.0, 1.0], [0.0, 0.0]),
    ]  # fmt: skip
    for i, (f, at, want) in enumerate(made):
        x = leaf(at, device)
        first = fb.autograd.grad(f(x).sum(), [x], create_graph=True)[0]
        found = fb.autograd.grad(first.sum(), [x], allow_unused=True)[0] if first.requires_grad else None
        np.testing.assert_allclose(0 if found is None else found.numpy(), want, atol=2e-6, err_msg=str(i))


def test_what_others_do_not_change_has_the_slope_zero(device):
    """Zeros, and not a loss that depends on nothing: as PyTorch's."""
    made = [
        lambda x: x.div(2, rounding_mode="floor"), lambda x: x.div(0, rounding_mode="trunc"),
        lambda x: fb.fill(x, 2.0), lambda x: (x * 2).zero_(), lambda x: (x * 2).copy_(x.detach()),
        lambda x: fb.linalg.matrix_power(x, 0), lambda x: x.floor() * 1e30 * 1e30,
        lambda x: (x * 1).uniform_(),
        lambda x: x.abs().clamp(0, 1).bernoulli(), lambda x: fb.poisson(x.abs()),
    ]  # fmt: skip
    x = leaf([[1.5, -2.0], [0.0, 3.0]], device)
    for i, f in enumerate(made):
        found = fb.autograd.grad(f(x).sum(), [x])[0]
        assert not found.numpy().any(), i
    assert fb.autograd.grad(fb.nextafter(x, x.detach() + 1).sum(), [x])[0].tolist() == [[1, 1], [1, 1]]


def test_slopes_that_many_have(device):
    x = leaf([3.0, 1.0, 1.0, 2.0, 1.0], device)
    assert np.allclose(x.median().backward()[x].numpy(), [0, 1 / 3, 1 / 3, 0, 1 / 3])
    assert np.allclose(x.nanmedian().backward()[x].numpy(), [0, 1 / 3, 1 / 3, 0, 1 / 3])
    q, y = leaf([0.25, 0.5, 0.9], device), leaf([5.0, 1.0, 2.0, 9.0], device)
    grads = (y.quantile(q) * fb.tensor([1.0, 10.0, 100.0], device=device)).sum().backward()
    assert np.allclose(grads[q].numpy(), [3, 90, 1200], atol=1e-4)
    assert np.allclose(grads[y].numpy(), [5 + 30, 0.25, 0.75 + 5, 70], atol=1e-4)
    places = fb.tensor([[1, 1, 2]], device=device)
    given = leaf([[5.0, 6.0, 7.0]], device)
    weights = fb.arange(6, device=device).float()
    found = (F.max_unpool1d(given, places, 2) * weights).sum().backward()[given]
    assert found.tolist() == [[1, 1, 2]]
    low, x = leaf([0.0, 1.0], device), leaf([-1.0, -1.0], device)
    grads = x.clamp(low, leaf([0.0, 2.0], device)).sum().backward()
    assert grads[low].tolist() == [0, 1]
    p = leaf([0.0, 1.0], device)
    found = F.binary_cross_entropy(p, fb.tensor([1.0, 1.0], device=device), reduction="sum").backward()[p]
    assert np.allclose(found.numpy(), [-1e12, 0])


def test_jvp_where_slopes_end(device):
    x, v = fb.tensor([[1.0, 1.0], [1.0, 3.0]], device=device), fb.ones(2, 2, device=device)
    v = v * fb.tensor([1.0, 2.0], device=device)
    assert np.allclose(fb.func.jvp(lambda t: t.std(1), (x,), (v,))[1].numpy(), [0, np.sqrt(0.5)], atol=1e-6)
    found = fb.func.jvp(lambda t: t.logcumsumexp(1), (x,), (v,))[1].numpy()
    assert np.allclose(found, [[1, 1.5], [1, 1 + 1 / (1 + np.exp(-2))]], atol=1e-6)


def test_gradients_by_what_was_written_since(device):
    """They are those by the old value; by a parameter that is used before and after, both together."""
    p = leaf([1.0, 2.0], device)
    loss = (p**3).sum()
    p.data.mul_(2)
    assert fb.autograd.grad(loss, [p], retain_graph=True)[0].tolist() == [3, 12]
    assert loss.backward(inputs=[p], retain_graph=True)[p].tolist() == loss.backward()[p].tolist() == [3, 12]
    first = (p * p).sum()
    with fb.no_grad():
        p.mul_(10)
    both = first + (p * 5).sum()
    assert fb.autograd.grad(both, [p], retain_graph=True)[0].tolist() == [9, 13]
    assert both.backward(inputs=[p], retain_graph=True)[p].tolist() == both.backward()[p].tolist() == [9, 13]


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


DEFINITE = [[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 5.0]]
REFUSED = {  # argument: the call, whose gradient by it is not implemented, as in PyTorch
    "geqrf input": lambda x: fb.geqrf(x).tau,
    "ldl_factor A": lambda x: fb.linalg.ldl_factor(x).LD,
    "ldl_solve B": lambda x: fb.linalg.ldl_solve(*fb.linalg.ldl_factor(x.detach()), x),
    "lobpcg A": lambda x: fb.lobpcg(x, 1).eigenvalues,
    "histogram input": lambda x: fb.histogram(x, 3).hist,
    "histogramdd input": lambda x: fb.histogramdd(x, 2).bin_edges[0],
    "binomial prob": lambda x: fb.binomial(fb.full_like(x, 9), x / 9),
    "igamma input": lambda x: fb.igamma(x, x.detach() + 1),
    "igammac input": lambda x: fb.igammac(x, x.detach() + 1),
    "zeta input": lambda x: fb.special.zeta(x + 1, x.detach()),
}


@pytest.mark.parametrize("call", REFUSED)
def test_a_gradient_that_is_not_implemented_is_refused(call):
    """It must not be dropped beside the gradient of another path."""
    name, argument = call.split()
    x = leaf(DEFINITE, "cpu")
    y = REFUSED[call](x)
    rule = f"backward: {name} has no gradient by {argument}: pass it {argument}.detach()"
    with pytest.raises(RuntimeError) as e:
        (y.sum() + x.sum()).backward(retain_graph=True)
    assert isinstance(e.value, NotImplementedError) and str(e.value) == rule
    other = leaf([2.0], "cpu")  # a gradient by another tensor needs no rule
    assert fb.autograd.grad((y * other).sum(), [other])[0].shape == (1,)


NOWHERE = {  # values that are written or joined nowhere: their gradient is 0, as in PyTorch
    "scatter": lambda x, v, none: x.scatter(0, none, v),
    "scatter_add": lambda x, v, none: x.scatter_add(0, none, v),
    "index_add": lambda x, v, none: x.index_add(0, none, v),
    "index_put": lambda x, v, none: x.index_put((none,), v),
    "slice_scatter": lambda x, v, none: x.slice_scatter(v, 0, 2, 2),
    "masked": lambda x, v, none: x.slice_assign(x > 9, v.sum()),
    "cat": lambda x, v, none: fb.cat([x, v]),
    "stack": lambda x, v, none: fb.cat([x.unsqueeze(1), fb.stack([v, v])[:, :0].mT.reshape(2, 0)], 1),
}


@pytest.mark.parametrize("name", NOWHERE)
def test_values_that_are_written_nowhere(name):
    x, values = leaf([1.0, 2.0], "cpu"), fb.zeros(0, device="cpu").requires_grad_()
    y = NOWHERE[name](x * 3, values, fb.zeros(0, dtype=fb.int64, device="cpu"))
    of_x, of_values = fb.autograd.grad((y * y).sum(), [x, values])
    assert of_x.tolist() == [18, 36] and of_values.tolist() == []


def test_matrices_without_elements_keep_their_gradients():
    a = fb.zeros(0, 0, device="cpu").requires_grad_()
    for y in (*fb.linalg.slogdet(a), fb.linalg.pinv(a)):
        assert fb.autograd.grad(y.sum(), [a])[0].shape == (0, 0)
    assert fb.linalg.cond(fb.zeros(2, 0, 0, device="cpu")).tolist() == [0, 0]
    sign = fb.linalg.slogdet(leaf(DEFINITE, "cpu")).sign
    assert sign.requires_grad


def test_counts_of_differences_have_gradients_0():
    """A distance with p = 0 is a step function."""
    x = leaf(DEFINITE, "cpu")
    for y in (fb.cdist(x, x * 2, p=0.0), fb.nn.functional.pdist(x, 0.0)):
        assert fb.autograd.grad(y.sum(), [x])[0].tolist() == [[0.0] * 3] * 3


def test_a_function_may_return_none_for_default_arguments():
    class Scale(fb.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor=3.0):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None

    x = leaf([1.0], "cpu")
    assert fb.autograd.grad(Scale.apply(x), [x])[0].tolist() == [3]
