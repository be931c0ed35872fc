"""vmap against a loop over examples and against torch.func: values, gradients, every kind of node, errors."""

import numpy as np
import pytest
from helpers.compare import values

import flambeau as fb
from flambeau import nn

F = fb.nn.functional
RNG = np.random.default_rng(7)


def draw(*sizes):
    return RNG.normal(size=sizes).astype("f4")


def places(high, *sizes):
    return RNG.integers(0, high, sizes)


def functional(m):
    return F if m is fb else m.nn.functional


def vmap(m):
    return fb.vmap if m is fb else m.func.vmap


SPD = (lambda a: a @ a.transpose(0, 2, 1) + 3 * np.eye(3, dtype="f4"))(draw(4, 3, 3))
# name: (function of a module and of one example's arguments, arguments, in_dims, out_dims)
CASES = {
    "matmul": (lambda m, x, y: x @ y, [draw(5, 3, 2), draw(5, 2, 4)], 0, 0),
    "shared": (lambda m, x, y: x @ y, [draw(3, 5), draw(3, 4)], (1, None), 1),
    "broadcast": (lambda m, x, y: x + y, [draw(5, 3), draw(5, 2, 3)], 0, 0),
    "scalars": (lambda m, x, y: x * y, [draw(5), draw(2, 3)], (0, None), 2),
    "softmax": (lambda m, x: (x.softmax(-1) * x.sort()[0]).sum() + x.cumsum(0)[1], [draw(5, 3)], 0, 0),
    "index": (lambda m, x: x[1:, None].flip(0), [draw(5, 3)], 0, 0),
    "cat": (lambda m, x, y: m.cat([x, y], -1), [draw(5, 3), draw(2)], (0, None), 0),
    "pad": (lambda m, x: functional(m).pad(x, (1, 2)), [draw(5, 3)], 0, 0),
    "conv": (lambda m, x, w: functional(m).conv1d(x, w), [draw(4, 2, 3, 5), draw(3, 3, 2)], (0, None), 0),
    "filters": (lambda m, x, w: functional(m).conv1d(x, w), [draw(2, 3, 5), draw(4, 3, 3, 2)], (None, 0), 0),
    "pool": (lambda m, x: functional(m).max_pool2d(x, 2), [draw(4, 1, 2, 4, 4)], 0, 0),
    "layer_norm": (lambda m, x: functional(m).layer_norm(x, (3,)), [draw(5, 2, 3)], 0, 0),
    "inverse": (lambda m, x: m.linalg.inv(x), [SPD], 0, 0),
    "cholesky": (lambda m, x: m.linalg.cholesky(x), [SPD], 0, 0),
    "eigvalsh": (lambda m, x: m.linalg.eigvalsh(x), [SPD], 0, 0),
    "gather": (lambda m, x, i: x.gather(0, i), [draw(5, 4), places(4, 5, 2)], 0, 0),
    "rows": (lambda m, x, i: x[i], [draw(5, 4, 3), places(4, 5, 2)], 0, 0),
    "index_add": (lambda m, x, i, s: x.index_add(0, i, s), [draw(5, 4), places(4, 5, 2), draw(5, 2)], 0, 0),
    "prod": (lambda m, x: x.prod(-1) + x.var(0), [draw(5, 3, 3)], 0, -1),
    "attention": (
        lambda m, x, y: functional(m).scaled_dot_product_attention(x, y, y),
        [draw(3, 2, 4, 8), draw(3, 2, 4, 8)],
        0,
        0,
    ),
    "cross_entropy": (
        lambda m, x, t: functional(m).cross_entropy(x, t),
        [draw(5, 4, 3), places(3, 5, 4)],
        0,
        0,
    ),
    "nested": (
        lambda m, x, y: vmap(m)(lambda a: vmap(m)(lambda b: (a * b).sum())(y))(x),
        [draw(3, 4, 2), draw(3, 5, 2)],
        0,
        0,
    ),
    "write": (lambda m, x: (lambda y: (y.__setitem__(0, y[1] * 2), y)[1])(x * 1), [draw(5, 4)], 0, 0),
    "grad": (lambda m, x: m.func.grad(lambda x: (x.sin() * x.softmax(0)).sum())(x), [draw(5, 4)], 0, 0),
    "jvp": (lambda m, x: m.func.jvp(lambda x: x.sin() * x.prod(), (x,), (x,))[1], [draw(5, 4)], 0, 0),
}
CASES = {name: (f, [*arrays], i, o) for name, (f, arrays, i, o) in CASES.items()}


def by_flambeau(name, device):
    """(result, gradients of a weighted sum of it by all floats)."""
    f, arrays, in_dims, out_dims = CASES[name]
    given = [fb.tensor(a, device=device, requires_grad=a.dtype == "f4") for a in arrays]
    out = fb.vmap(lambda *a: f(fb, *a), in_dims, out_dims)(*given)
    loss = (out * fb.tensor(weights(out.shape), device=device)).sum()
    y, *grads = values(out, *fb.autograd.grad(loss, [t for t in given if t.requires_grad]))
    return y, grads


def weights(shape):
    return np.cos(np.arange(np.prod(shape))).reshape(shape).astype("f4")


def by_loop(name):
    """The same by a loop over examples, on NumPy."""
    f, arrays, in_dims, out_dims = CASES[name]
    given = [fb.tensor(a, device="cpu", requires_grad=a.dtype == "f4") for a in arrays]
    dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(arrays)
    n = next(a.shape[d] for a, d in zip(arrays, dims) if d is not None)
    rows = [[x if d is None else x.select(d, i) for x, d in zip(given, dims)] for i in range(n)]
    out = fb.stack([f(fb, *row) for row in rows]).movedim(0, out_dims)
    loss = (out * fb.tensor(weights(out.shape), device="cpu")).sum()
    y, *grads = values(out, *fb.autograd.grad(loss, [t for t in given if t.requires_grad]))
    return y, grads


def same(found, wanted):
    for got, want in zip([found[0], *found[1]], [wanted[0], *wanted[1]], strict=True):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_as_a_loop(name):
    same(by_flambeau(name, "cpu"), by_loop(name))


@pytest.mark.parametrize("name", ["conv", "rows", "attention", "grad"])
def test_by_kernels(gpu, name):
    same(by_flambeau(name, gpu), by_loop(name))


@pytest.mark.parametrize("name", CASES)
def test_as_torch(torch, name):
    f, arrays, in_dims, out_dims = CASES[name]
    given = [torch.tensor(a, requires_grad=bool(a.dtype == "f4")) for a in arrays]
    out = torch.func.vmap(lambda *a: f(torch, *a), in_dims, out_dims)(*given)
    loss = (out * torch.tensor(weights(tuple(out.shape)))).sum()
    grads = torch.autograd.grad(loss, [t for t in given if t.requires_grad])
    same(by_flambeau(name, "cpu"), (out.detach().numpy(), [g.numpy() for g in grads]))


def test_products_of_a_batch_are_one_kernel():
    """A batch of products is one kernel, not one for each example."""
    x, y = fb.ones(6, 3, 2).realize(), fb.ones(2, 4).realize()
    assert len(fb.vmap(lambda x: (x @ y).relu())(x).plan()) == 1


def test_gradients_of_each_example():
    fb.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).to("cpu"), draw(5, 3)
    params = {name: p.detach() for name, p in model.named_parameters()}

    def loss(params, x):
        return fb.func.functional_call(model, params, (x,)).square().sum()

    given = fb.tensor(x, device="cpu")
    each = fb.vmap(fb.grad(loss), in_dims=(None, 0))(params, given)
    for i in range(5):
        alone = model(given[i]).square().sum().backward()
        for name, p in model.named_parameters():
            assert np.allclose(each[name][i].numpy(), alone[p].numpy(), atol=1e-5)


def test_an_ensemble():
    models = [nn.Linear(3, 2).to("cpu") for _ in range(4)]
    params, buffers = fb.func.stack_module_state(models)
    assert buffers == {} and params["weight"].shape == (4, 2, 3) and params["weight"].requires_grad
    x = fb.tensor(draw(5, 3), device="cpu")
    call = lambda p, x: fb.func.functional_call(models[0], p, x)  # noqa: E731
    found = fb.vmap(call, (0, None))(params, x)
    assert np.allclose(found.numpy(), np.stack([m(x).numpy() for m in models]), atol=1e-6)
    grads = found.sum().backward()
    assert grads[params["bias"]].tolist() == [[5, 5]] * 4


def test_containers_chunks_and_keywords():
    a, b = fb.tensor(draw(5, 3), device="cpu"), fb.tensor(draw(3, 5), device="cpu")
    f = lambda p, k, scale: {"sum": p["a"] + p["b"], "scaled": (k * scale,)}  # noqa: E731
    call = fb.vmap(f, in_dims=({"a": 0, "b": 1}, None), out_dims={"sum": 1, "scaled": (0,)}, chunk_size=2)
    made = call({"a": a, "b": b}, 2.0, scale=a)
    assert np.allclose(made["sum"].numpy(), a.numpy().T + b.numpy())
    assert np.allclose(made["scaled"][0].numpy(), 2 * a.numpy())
    same_for_all = fb.vmap(lambda x, y: (x, y * 2), in_dims=(0, None), out_dims=(0, None))(a, b)
    assert np.allclose(same_for_all[1].numpy(), 2 * b.numpy())
    assert fb.vmap(lambda x: x.sum())(fb.ones(0, 3, device="cpu")).shape == (0,)


def test_random_numbers():
    x = fb.zeros(64, 8, device="cpu")
    f = lambda x: x + fb.rand_like(x)  # noqa: E731
    same = fb.vmap(f, randomness="same")(x).numpy()
    assert (same == same[:1]).all() and (same[0] != same[0, 0]).any()
    other = fb.vmap(f, randomness="different")(x).numpy()
    assert len(np.unique(other)) > 500
    assert fb.vmap(lambda x, r: x + r, (0, None))(x, fb.rand(8, device="cpu")).shape == (
        64,
        8,
    )  # drawn outside


class Doubled(fb.autograd.Function):
    """A gradient that is none: seen to be called."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x)
        return x * y

    @staticmethod
    def backward(ctx, g):
        return g * 100 * ctx.saved_tensors[0], g


def test_gradients_of_ones_own_are_kept():
    x, y = (fb.tensor([1.0, 2.0], device="cpu", requires_grad=True) for _ in range(2))
    grads = fb.vmap(Doubled.apply, (0, None))(x, y).sum().backward()
    assert grads[x].tolist() == [200, 400]  # summed over the two that each x was multiplied with
    assert grads[y].tolist() == [2, 2]


def test_errors():
    x = fb.ones(3, 2, device="cpu")
    call = lambda *a, **kw: fb.vmap(*a, **kw)  # noqa: E731
    cases = [
        (lambda: call(lambda x: x, randomness="no"),
         "vmap(randomness='no'): unknown: use one of 'error', 'different', 'same'"),
        (lambda: call(lambda x: x, chunk_size=0), "vmap(chunk_size=0): a chunk has at least one example"),
        (lambda: call(lambda x: x, (0, 1))(x), "vmap(in_dims=(0, 1)): 1 arguments: pass one for each"),
        (lambda: call(lambda x: x, None)(x),
         "vmap(...): no argument is mapped: pass at least one in_dims that is not None"),
        (lambda: call(lambda x: x, 2)(x), "vmap(...): in_dims is 2 for f32[3, 2], which has 2 dims"),
        (lambda: call(lambda x: x)(1.0), "vmap(...): in_dims is 0 for 1.0, which is not a tensor: pass None"),
        (lambda: call(lambda x: x)([x, x.t()]),
         "vmap(...): sizes of the mapped dims differ: [2, 3] of [f32[3, 2], f32[2, 3]]"),
        (lambda: call(lambda x: x, ((0,),))([x, x]),
         "vmap(...): dims (0,) do not match the structure of [f32[3, 2], f32[3, 2]]"),
        (lambda: call(lambda x: 1)(x), "vmap(...): the function returned 1: return tensors"),
        (lambda: call(lambda x: x, out_dims=None)(x),
         "vmap(out_dims=None): the result f32[2] is not the same for all examples"),
        (lambda: call(lambda x: fb.rand_like(x))(x),
         "vmap(...): the function draws random numbers: pass randomness='different', or 'same' for equal"
         " numbers"),
        (lambda: call(lambda x: x.sum().item())(x),
         "vmap: the function reads the value of an example or leaks it: only tensor operations can be mapped:"
         " don't use item(), bool() or print inside"),
    ]  # fmt: skip
    for run, told in cases:
        with pytest.raises((ValueError, TypeError, fb.FlambeauError)) as caught:
            run()
        assert str(caught.value) == told
    with pytest.raises(fb.FlambeauError, match="reads the value of an example"):
        fb.vmap(lambda x: x.sum().item())(fb.ones(3, 2))


def test_errors_of_modules():
    model = nn.Linear(3, 2).to("cpu")
    cases = [
        (lambda: fb.func.functional_call(model, {"weigth": model.weight}, ()),
         "functional_call(Linear): no tensor is named 'weigth': did you mean 'weight'?"),
        (lambda: fb.func.functional_call(model, {}, (), strict=True),
         "functional_call(Linear): strict=True, but ['weight', 'bias'] are missing"),
        (lambda: fb.func.stack_module_state([]), "stack_module_state([]): needs at least one model"),
        (lambda: fb.func.stack_module_state([model, nn.ReLU()]),
         "stack_module_state(...): Linear, ReLU: all must be of one class, in one mode"),
        (lambda: fb.func.stack_module_state([model, nn.Linear(4, 2)]),
         "stack_module_state(...): shapes differ: [f32[2, 3], f32[2, 4]]"),
    ]  # fmt: skip
    for run, told in cases:
        with pytest.raises(ValueError) as caught:
            run()
        assert str(caught.value) == told


def test_tied_weights_are_replaced_together():
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)).to("cpu")
    model[1].weight = model[0].weight
    x, two = fb.ones(1, 2, device="cpu"), fb.eye(2, device="cpu") * 2
    assert fb.func.functional_call(model, {"0.weight": two}, x).tolist() == [[4, 4]]
    kept = fb.func.functional_call(model, {"0.weight": two}, x, tie_weights=False)
    assert np.allclose(kept.numpy(), 2 * model[1](x).numpy()) and isinstance(model[0].weight, nn.Parameter)
