"""Results that share a graph: reading them one by one costs what reading them together does."""

import numpy as np
import pytest

import flambeau as fb
from flambeau.func import jvp, value_and_grad, vjp


def kernels_of(call):
    """How many kernels a call runs."""
    with fb.profile() as p:
        call()
    return len(p.kernels)


class Chain:
    """Six layers, whose gradients are one chain."""

    def __init__(self, device):
        numbers = np.random.default_rng(0)
        arrays = numbers.standard_normal((6, 8, 8)).astype("f")
        self.weights = [fb.tensor(a, device=device) for a in arrays]
        self.params = [w.clone().requires_grad_() for w in self.weights]
        fb.realize(*self.weights, *self.params)

    def loss(self, *weights):
        y = weights[0]
        for w in weights[1:]:
            y = (y @ w).tanh()
        return y.square().sum()

    def backward(self):
        loss = self.loss(*self.params)
        return loss, loss.backward()


@pytest.fixture(scope="module")
def chain(gpu):
    return Chain(gpu)


def mapped(chain):
    return chain.backward()[1].map(lambda g: g * 1).values()


def mapped_in_place(chain):
    return chain.backward()[1].map_(lambda g: g * 1).values()


def by_autograd(chain):
    return fb.autograd.grad(chain.loss(*chain.params), chain.params)


def by_vjp(chain):
    value, pull = vjp(chain.loss, *chain.weights)
    return pull(fb.ones_like(value))


# The gradients by the weights in the order of `params`, by each function that gives them.
WAYS = {
    "backward": lambda chain: chain.backward()[1].values(),
    "the loss too": lambda chain: (pair := chain.backward())[1].values() + [pair[0]],
    "map": mapped,
    "map_": mapped_in_place,
    "sum": lambda chain: (chain.backward()[1] + chain.backward()[1]).values(),
    "autograd.grad": by_autograd,
    "vjp": by_vjp,
    "value_and_grad": lambda chain: value_and_grad(chain.loss, (0, 1, 2, 3, 4, 5))(*chain.weights)[1],
    "jvp": lambda chain: jvp(chain.loss, tuple(chain.weights), tuple(chain.weights)),
}


@pytest.mark.parametrize("way", WAYS)
def test_reading_gradients_one_by_one_runs_each_kernel_once(chain, way):
    together = kernels_of(lambda: fb.realize(*WAYS[way](chain)))
    assert kernels_of(lambda: [g.numpy() for g in WAYS[way](chain)]) == together


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.share(5)
def test_values_read_one_by_one_are_those_read_together(device, way):
    chain = Chain(device)
    expected = WAYS[way](chain)
    fb.realize(*expected)
    for g, e in zip(WAYS[way](chain), expected, strict=True):
        np.testing.assert_allclose(g.numpy(), e.numpy(), rtol=1e-5, atol=1e-5)


OPS = {
    "svd": lambda x: fb.linalg.svd(x),
    "topk": lambda x: x.topk(2),
    "max": lambda x: x.max(1),
    "chunk": lambda x: (x @ x).chunk(4),
}


@pytest.mark.parametrize("name", OPS)
def test_outputs_of_an_op_read_one_by_one(gpu, name):
    x = fb.tensor(np.random.default_rng(1).standard_normal((8, 8)).astype("f"), device=gpu)
    together = kernels_of(lambda: fb.realize(*OPS[name](x + 1)))
    assert kernels_of(lambda: [t.numpy() for t in OPS[name](x + 1)]) == together
    for t, e in zip(OPS[name](x + 1), OPS[name](x.to("cpu") + 1), strict=True):
        np.testing.assert_allclose(abs(t.numpy()), abs(e.numpy()), rtol=1e-4, atol=1e-4)


def test_pieces_of_a_long_split_are_computed_alone(gpu):
    pieces = (fb.ones(40, device=gpu) + 1).unbind(0)
    assert kernels_of(pieces[0].numpy) == 1 and pieces[1].node.buffer is None


def test_what_nobody_holds_is_not_computed(chain):
    all_of_them = kernels_of(lambda: fb.realize(*chain.backward()[1].values()))
    last = chain.params[-1]
    # five products forward, the slope of the last one and its product: none of the chain's other slopes
    assert kernels_of(lambda: chain.backward()[1][last].numpy()) == 7 < all_of_them


def test_norms_read_one_by_one_take_two_backward_passes(chain):
    def norms():
        _, g = chain.backward()
        for p in chain.params:
            g[p].square().sum().numpy()

    once = kernels_of(lambda: fb.realize(*chain.backward()[1].values()))
    assert kernels_of(norms) <= 2 * (once + len(chain.params))


def test_steps_of_two_optimizers_store_no_gradients(chain):
    half = len(chain.params) // 2
    params = [p.detach().clone().requires_grad_() for p in chain.params]
    first, second = fb.optim.SGD(params[:half], lr=0.1), fb.optim.SGD(params[half:], lr=0.1)
    g = chain.loss(*params).backward()
    first.step(g)
    second.step(g)
    assert all(t.node.buffer is None for t in g)


@pytest.mark.usefixtures("collected")
def test_memory_of_a_loop_that_reads_gradients_does_not_grow(chain):
    gpu = chain.params[0].device

    def step():
        _, g = chain.backward()
        for p in chain.params:
            g[p].numpy()

    step()
    before = fb.memory(gpu)["live"]
    for _ in range(3):
        step()
    assert fb.memory(gpu)["live"] == before


def test_a_written_gradient_is_no_sibling_any_more(device):
    chain = Chain(device)
    _, g = chain.backward()
    first, second = g[chain.params[0]], g[chain.params[1]]
    expected = first.clone().numpy()
    _, g = chain.backward()
    first, second = g[chain.params[0]], g[chain.params[1]]
    first += 1.0
    second.numpy()
    np.testing.assert_allclose(first.numpy(), expected + 1, rtol=1e-5, atol=1e-5)
