"""Transforms, custom gradients, checkpoints and containers of gradients, against closed forms."""

import gc
import threading
from typing import NamedTuple

import numpy as np
import pytest
from helpers.compare import values

import flambeau as fb
from flambeau import nn, optim


def near(got, want, tol=1e-5):
    return np.allclose(got.numpy() if isinstance(got, fb.Tensor) else got, want, rtol=tol, atol=tol)


@pytest.fixture
def x(device):
    return fb.tensor([0.5, 1.5, -1.0], device=device)


def wave(x):
    return (x.sin() * x).sum()


X = np.array([0.5, 1.5, -1.0])
SLOPE, BEND = np.cos(X) * X + np.sin(X), 2 * np.cos(X) - np.sin(X) * X


# --- functions of functions ---


def test_grad_and_value_and_grad(x):
    value, g = fb.value_and_grad(wave)(x)
    assert near(value, (np.sin(X) * X).sum()) and near(g, SLOPE)
    assert near(fb.grad(wave)(x), SLOPE)
    assert not value.requires_grad and not g.requires_grad and not x.requires_grad


def test_grad_takes_numbers_and_aux():
    assert fb.grad(lambda a: a * a * a)(2.0).item() == 12
    (value, aux), g = fb.value_and_grad(lambda a: (a * a, {"twice": a * 2}), has_aux=True)(3.0)
    assert (value.item(), aux["twice"].item(), g.item()) == (9, 6, 6) and not aux["twice"].requires_grad
    g, aux = fb.grad(lambda a: (a * a, "seen"), has_aux=True)(3.0)
    assert (g.item(), aux) == (6, "seen")


class Pair(NamedTuple):
    w: fb.Tensor
    rest: dict


def test_grad_by_containers_and_several_arguments(x):
    def f(p, y, scale=1.0):
        return (p.w * y + p.rest["b"][0]).sum() * scale

    p = Pair(x, {"b": [x * 2], "unused": (x,)})
    g, gy = fb.grad(f, argnums=(0, -1))(p, x + 1)
    assert isinstance(g, Pair) and near(g.w, X + 1) and near(g.rest["b"][0], 1) and near(gy, X)
    assert near(g.rest["unused"][0], 0)
    assert near(fb.grad(f)(p, x, scale=3.0).rest["b"][0], 3)


def test_grad_of_grad_and_no_confusion(x):
    assert near(fb.grad(lambda x: fb.grad(wave)(x).sum())(x), BEND)
    inner = lambda x: x * fb.grad(lambda y: x + y)(fb.tensor(1.0, device=x.device))  # noqa: E731
    assert fb.grad(inner)(fb.tensor(3.0, device=x.device)).item() == 1
    third = fb.grad(fb.grad(fb.grad(lambda a: a**4)))
    assert near(third(fb.tensor(2.0, device=x.device)), 48)


def test_grad_joins_what_is_outside(x):
    """As in torch.func: the result depends on parameters outside, and on x where it wants gradients."""
    w = fb.tensor([1.0, 2.0, 3.0], device=x.device, requires_grad=True)
    g = fb.grad(lambda x: (w * x * x).sum())(x)
    assert near(g.sum().backward()[w], 2 * X)
    x.requires_grad_()
    assert near(fb.grad(wave)(x).sum().backward()[x], BEND)
    with fb.no_grad():
        alone = fb.grad(wave)(x)
    assert near(alone, SLOPE) and not alone.requires_grad


def test_grad_by_a_module(device):
    fb.manual_seed(0)
    model, x = (
        nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).to(device),
        fb.ones(5, 3, device=device),
    )
    loss = lambda model, x: model(x).square().mean()  # noqa: E731
    value, grads = fb.value_and_grad(loss)(model, x)
    plain = loss(model, x).backward()
    assert all(near(grads[p], plain[p].numpy()) for p in model.parameters())
    assert not value.requires_grad and len(grads) == 4
    grads, gx = fb.grad(loss, (0, 1))(model, x)
    assert gx.shape == (5, 3)
    optim.SGD(model.parameters(), lr=0.1).step(grads)
    assert loss(model, x).item() < value.item()
    length = lambda m: sum((g * g).sum() for g in fb.grad(loss)(m, x))  # noqa: E731
    twice = fb.grad(length)(model)
    h = 1e-2
    p = model[2].bias
    assert isinstance(p, fb.Tensor)
    at = p.detach().clone()
    ends = []
    for step in (h, -h):
        p.assign_(at + step)
        ends.append(length(model).item())
    p.assign_(at)
    assert near(twice[p], (ends[0] - ends[1]) / (2 * h), 1e-2)


def test_vjp_and_jvp(x):
    out, pull, aux = fb.vjp(lambda a, b: (a.exp() * b, "aux"), x, x + 1, has_aux=True)
    ga, gb = pull(fb.ones(3, device=x.device))
    assert aux == "aux" and near(out, np.exp(X) * (X + 1))
    assert near(ga, np.exp(X) * (X + 1)) and near(gb, np.exp(X))
    (_, _two), (moved, other) = fb.jvp(lambda a, b: [a.exp() * b, a * a], (x, x + 1), (x, x * 0 + 2))
    assert near(moved, np.exp(X) * (X + 1) * X + np.exp(X) * 2) and near(other, 2 * X * X)
    _, still = fb.jvp(lambda a: a * 0 + 1, (x,), (x,))
    assert near(still, 0)
    assert near(fb.jvp(fb.grad(wave), (x,), (x,))[1], BEND * X)


def test_jacobians(x):
    def f(x):
        return fb.stack([x[0] * x[1], x[2].exp(), x.sum(), x[0]])

    want = [[X[1], X[0], 0], [0, 0, np.exp(X[2])], [1, 1, 1], [1, 0, 0]]
    assert near(fb.jacrev(f)(x), want) and near(fb.jacfwd(f)(x), want) and fb.jacobian is fb.jacrev
    m = fb.jacrev(lambda a, b: {"y": a.reshape(3, 1) @ b}, argnums=(0, 1))(x, fb.ones(1, 2, device=x.device))
    assert m["y"][0].shape == (3, 2, 3) and m["y"][1].shape == (3, 2, 1, 2)
    assert near(m["y"][0], np.einsum("ik,j->ijk", np.eye(3), np.ones(2)))
    forward = fb.jacfwd(lambda a, b: a.reshape(3, 1) @ b, argnums=1)(x, fb.ones(1, 2, device=x.device))
    assert near(forward, m["y"][1].numpy())


def test_hessians(x):
    def f(x):
        return x[0] ** 2 * x[1] + (x[1] * x[2]).sin()

    a, b, c = X
    s, k = np.sin(b * c), np.cos(b * c)
    want = np.array([[2 * b, 2 * a, 0], [2 * a, -c * c * s, k - b * c * s], [0, k - b * c * s, -b * b * s]])
    assert near(fb.hessian(f)(x), want)
    assert near(fb.hvp(f, x, x + 1), want @ (X + 1))
    left, right = fb.hvp(lambda p, q: (p * p * q).sum(), (x, x), (x, x))
    assert near(left, 4 * X * X) and near(right, 2 * X * X)


def test_transforms_say_what_is_wrong(x):
    cases = [
        (lambda: fb.grad(lambda x: x)(x), "grad(...): got f32[3]: the function must return one number: use"),
        (
            lambda: fb.grad(wave)(x.int()),
            "grad(...): an argument holds i32[3]: only floats and complex numbers have gradients",
        ),
        (lambda: fb.grad(wave, 1)(x), "grad(...): argnums=1, but 1 positional arguments were passed"),
        (
            lambda: fb.func.grad_and_value(lambda x: x)(x),
            "grad_and_value(...): got f32[3]: the function must return one number: use",
        ),
        (lambda: fb.value_and_grad(wave, 1)(x), "value_and_grad(...): argnums=1, but 1 positional arguments"),
        (lambda: fb.jvp(wave, (x,), ()), "jvp(...): 1 primals but 0 tangents: pass one for each"),
        (lambda: fb.vjp(wave, x)[1](x), "vjp_fn([f32[3]]): the function returned [f32[]]: pass gradients of"),
        (lambda: fb.jvp(wave, (x,), (x[:1],)), "jvp(...): tangents [f32[1]]: a tangent has the shape of"),
    ]
    for call, text in cases:
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
        assert str(caught.value).startswith(text)


# --- torch.autograd's names ---


def test_autograd_grad(x):
    x.requires_grad_()
    y = x * 3
    z = y.exp()
    gy, gx = fb.autograd.grad(z.sum(), [y, x])
    assert near(gy, np.exp(3 * X)) and near(gx, 3 * np.exp(3 * X))
    z = (x * 3).exp()
    (g,) = fb.autograd.grad([z, z], x, [fb.ones(3, device=x.device), x.detach()], create_graph=True)
    assert near(g, 3 * np.exp(3 * X) * (1 + X))
    other = fb.tensor([1.0], device=x.device, requires_grad=True)
    g, none = fb.autograd.grad(wave(x), [x, other], allow_unused=True)
    assert none is None and near(g, SLOPE)
    assert near(fb.autograd.grad(wave(x), other, materialize_grads=True)[0], 0)
    with pytest.raises(ValueError) as caught:
        fb.autograd.grad(wave(x), other)
    told = "grad([f32[]], [f32[1]]): no output depends on f32[1]: pass allow_unused=True to get None"
    assert str(caught.value) == told
    with pytest.raises(ValueError, match=r"f32\[3\] has requires_grad=False: call requires_grad_\(\) first"):
        fb.autograd.grad(x.detach(), x)


def test_backward_of_many_numbers(x):
    x.requires_grad_()
    assert near((x * x).backward(x.detach())[x], 2 * X * X)
    with pytest.raises(ValueError) as caught:
        (x * x).backward(x[:1])
    told = "backward(f32[3], gradient=f32[1]): shapes differ: pass a tensor of shape [3]"
    assert str(caught.value) == told
    with pytest.raises(ValueError) as caught:
        (x * x).backward()
    told = "backward(f32[3]): the loss must be one number: use .sum() or .mean(), or pass gradient"
    assert str(caught.value) == told


def test_retain_graph(x):
    x.requires_grad_()
    loss = wave(x)
    first = loss.backward(retain_graph=True)[x]
    loss.item()
    second = loss.backward()[x]
    assert near(first, SLOPE) and near(second, SLOPE)
    loss.item()
    loss = wave(x)
    loss.backward()
    loss.item()
    with pytest.raises(ValueError) as caught:
        loss.backward()  # its value is there, and nobody said that the graph is wanted again
    assert str(caught.value) == (
        "backward(f32[]): the graph was freed by an earlier backward: pass retain_graph=True to that call"
    )


def test_modes_nest_and_end(x):
    x.requires_grad_()
    with fb.no_grad():
        assert not fb.is_grad_enabled() and not (x * 2).requires_grad
        with fb.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
    with fb.inference_mode(), fb.set_grad_enabled(True):
        assert (x * 2).requires_grad
    with fb.inference_mode(mode=False):
        assert fb.is_grad_enabled()
    fb.set_grad_enabled(False)
    assert not fb.is_grad_enabled()
    fb.set_grad_enabled(True)
    decorated = fb.no_grad()(lambda: fb.is_grad_enabled())
    assert not decorated() and fb.is_grad_enabled()
    with pytest.raises(RuntimeError), fb.no_grad():
        raise RuntimeError
    assert fb.is_grad_enabled()


# --- gradients as a container ---


def test_gradients_add_scale_and_change(x):
    x.requires_grad_()
    y = fb.tensor([2.0], device=x.device, requires_grad=True)
    total = (x * x).sum().backward() + (x * y).sum().backward() / 2
    assert near(total[x], 2 * X + 1) and near(total[y], X.sum() / 2)
    assert near(total.loss, (X * X).sum() + X.sum())
    assert near((total * 2)[x], 4 * X + 2) and len(total) == 2
    total[x] = x.detach() * 0
    assert near(total[x], 0) and near(total.remove(y), X.sum() / 2) and y not in total
    assert total.remove(y) is None
    with pytest.raises(ValueError) as caught:
        total[x] = y
    told = "replace(f32[3], f32[1]): shapes differ: a gradient has the shape of its tensor"
    assert str(caught.value) == told


def test_accumulated_batches_are_one_step(device):
    fb.manual_seed(3)
    model, data = nn.Linear(4, 2).to(device), fb.randn(8, 4, device=device)
    whole = model(data).square().mean().backward()
    total = None
    for part in fb.chunk(data, 4):
        found = model(part).square().mean().backward() / 4
        total = found if total is None else total.accumulate(found)
    assert total is not None
    assert near(total.loss, whole.loss.item()) and all(
        near(total[p], whole[p].numpy()) for p in model.parameters()
    )


# --- gradients of one's own ---


class Cube(fb.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        y = x * x
        ctx.scale = scale
        ctx.save_for_backward(x)
        return y * x * scale

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x * x * 3 * ctx.scale, None


class Exp(fb.autograd.Function):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


class Halves(fb.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        assert ctx.needs_input_grad == (True, False)
        out = x * y, x + y, x > y
        ctx.mark_non_differentiable(out[2])
        ctx.save_for_backward(x, y)
        return out

    @staticmethod
    def backward(ctx, g, h, _):
        x, y = ctx.saved_tensors
        return g * y + h, g * x + h


def test_functions_differentiate_twice(x):
    x.requires_grad_()
    for f, want, slope, bend in (
        (lambda x: Cube.apply(x, 2.0), 2 * X**3, 6 * X**2, 12 * X),
        (Exp.apply, np.exp(X), np.exp(X), np.exp(X)),
    ):
        y = f(x)
        g = y.sum().backward(create_graph=True)[x]
        assert near(y, want) and near(g, slope) and near(g.sum().backward()[x], bend)
        assert near(fb.grad(lambda x, f=f: fb.grad(lambda x: f(x).sum())(x).sum())(x.detach()), bend)


def test_functions_with_several_outputs(x):
    x.requires_grad_()
    a, b, c = Halves.apply(x, x.detach() * 2)
    assert not c.requires_grad and near((a * 3 + b).sum().backward()[x], 6 * X + 1)


def test_functions_say_what_is_wrong(x):
    class Short(fb.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g

    x.requires_grad_()
    with pytest.raises(ValueError) as caught:
        Short.apply(x, x).sum().backward()
    told = (
        "Short: backward returned 1 gradients for 2 arguments: return one for each, with None for"
        " inputs without a gradient"
    )
    assert str(caught.value) == told


def test_a_function_fuses(gpu):
    x = fb.tensor(X.astype("f4"), device=gpu)
    assert len((Cube.apply(x + 1, 2.0) * 2).plan()) == 1


# --- checkpoints ---


def deep(x, w, wrap, segments=6, layers=3):
    """Layers that no kernel holds together, all by the same one; each is read by its gradient."""

    def segment(h):
        for _ in range(layers):
            h = (h @ w).relu()
        return h

    for _ in range(segments):
        x = wrap(segment, x)
    return x


def plain(f, *args):
    return f(*args)


def peak_of(device, f):
    """The most bytes in use while f runs, above what was in use before."""
    gc.collect()
    pool = device.pool
    before = pool.peak = pool.live
    f()
    return pool.peak - before


def test_a_checkpoint_lowers_the_peak(gpu):
    x = fb.tensor(np.linspace(0.1, 1, 1 << 16, dtype="f4").reshape(-1, 16), device=gpu, requires_grad=True)
    w = fb.tensor(np.random.default_rng(0).uniform(-0.4, 0.5, (16, 16)).astype("f4"), device=gpu)
    found, peaks = {}, {}

    def run(wrap):
        found[wrap] = deep(x, w, wrap).sum().backward()[x].numpy()

    for wrap in (plain, fb.checkpoint):
        peaks[wrap] = peak_of(gpu, lambda wrap=wrap: run(wrap))
    assert np.array_equal(found[plain], found[fb.checkpoint])
    assert peaks[fb.checkpoint] < 0.6 * peaks[plain], peaks


@pytest.mark.share(3, only=["gpu"])
def test_a_checkpoint_with_parameters_and_dropout(device):
    def run(wrap):
        fb.manual_seed(5)
        blocks = [
            nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5), nn.BatchNorm1d(6), nn.GELU()) for _ in range(4)
        ]
        model, x = nn.Sequential(*blocks).to(device), fb.randn(9, 6, device=device)
        x.requires_grad_()
        h = x
        for block in blocks:
            h = wrap(block, h)
        grads = (h * h).sum().backward(create_graph=True)
        second = (grads[x] ** 2).sum().backward()
        everything = [x, *model.parameters()]
        some = [*(grads[t] for t in everything), *(second.get(t) for t in everything)]
        return values(*(t for t in some if t is not None), *model.buffers())  # a plan, not one of each

    once, again = run(plain), run(fb.checkpoint)
    assert len(once) == len(again) > 20
    # the other plan may add in another order, and four batch norms in a row enlarge the difference
    assert all(near(a, b, 1e-4) for a, b in zip(once, again))


def test_a_checkpoint_in_a_recorded_step(gpu):
    def train(wrap):
        fb.manual_seed(1)
        model = nn.Sequential(nn.Linear(4, 16), nn.GELU(), nn.Dropout(0.2), nn.Linear(16, 1)).to(gpu)
        x = fb.randn(32, 4, device=gpu)
        optimizer = optim.SGD(model.parameters(), lr=0.05)

        @fb.jit
        def step(x):
            loss = wrap(model, x).square().mean()
            optimizer.step(loss.backward())
            return loss

        return [step(x).item() for _ in range(5)]

    assert near(train(plain), train(fb.checkpoint))


def test_a_checkpoint_runs_its_kernels_again(gpu):
    w = fb.randn(64, 64, device=gpu).requires_grad_()
    f = lambda x: (x @ w).tanh() @ w  # noqa: E731
    x = fb.randn(64, 64, device=gpu).realize()
    fb.realize(w)
    counts = []
    for wrap in (plain, fb.checkpoint):
        loss = wrap(f, x).sum()
        counts.append(len(fb.cat([loss.reshape(1), loss.backward()[w].reshape(-1)]).plan()))
    assert counts[1] == counts[0] + 1, counts


def perceptron(device, depth=8, width=256):
    fb.manual_seed(2)
    layers = [part for _ in range(depth) for part in (nn.Linear(width, width), nn.GELU())]
    model = nn.Sequential(*layers).to(device)
    fb.realize(*model.parameters())
    return model


@pytest.mark.share(5)
def test_balanced_checkpointing_lowers_the_peak(gpu):
    model = perceptron(gpu)
    x = fb.randn(512, 256, device=gpu).realize()
    found, peaks = {}, {}

    def run(strategy):
        with fb.checkpointing(strategy):
            loss = model(x).square().mean()
            grads = loss.backward()
        fb.realize(loss, *grads)
        found[strategy] = [g.numpy() for g in grads]

    for strategy in ("none", "balanced"):
        peaks[strategy] = peak_of(gpu, lambda s=strategy: run(s))
    assert all(near(a, b) for a, b in zip(found["none"], found["balanced"]))
    assert peaks["balanced"] < 0.8 * peaks["none"], peaks


def test_an_unknown_strategy():
    with pytest.raises(ValueError) as caught:
        fb.checkpointing("sometimes")
    known = "use one of 'auto', 'none', 'balanced'"
    assert str(caught.value) == f"checkpointing('sometimes'): unknown strategy: {known}"


@pytest.mark.share(5)
def test_recorded_calls_are_balanced(gpu):
    model = perceptron(gpu, depth=3)
    x = fb.randn(512, 256, device=gpu).realize()

    def kept(strategy):
        def call(x):
            return tuple(model(x).square().mean().backward())

        with fb.checkpointing(strategy):
            recorded = fb.jit(call)
            recorded(x)
            (program,) = [p for found in recorded.programs.values() for p in found]
            return sum(b.nbytes for b in program.taken), [g.numpy() for g in recorded(x)]

    least, first = kept("balanced")
    chosen, second = kept("auto")
    most, third = kept("none")
    assert chosen == least < most
    assert all(near(a, b) and near(a, c) for a, b, c in zip(first, second, third))


# --- threads ---


def test_threads_differentiate_at_once(device):
    fb.manual_seed(4)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3)).to(device)
    inputs = [fb.randn(5, 8, device=device) for _ in range(4)]
    wanted = [[g.numpy() for g in (model(x) ** (i + 1)).sum().backward()] for i, x in enumerate(inputs)]
    found, wrong = {}, []

    def work(i):
        try:
            for _ in range(5):
                grads = (model(inputs[i]) ** (i + 1)).sum().backward()
                found[i] = [grads[p].numpy() for p in model.parameters()]
                assert fb.is_grad_enabled()
                with fb.no_grad():
                    assert not model(inputs[i]).requires_grad
        except Exception as e:  # shown by the assertion below
            wrong.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    for i, want in enumerate(wanted):
        assert sorted(g.shape for g in found[i]) == sorted(g.shape for g in want)
        assert near(sum(g.sum() for g in found[i]), sum(g.sum() for g in want), 1e-4)
