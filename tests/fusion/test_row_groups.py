"""Reductions over the same rows and what is made of them: one kernel, in every variant, with the values of
NumPy."""

from itertools import pairwise

import numpy as np
import pytest
from helpers.draws import in_turn
from helpers.kernels import planned_for
from helpers.paper import PaperDevice
from helpers.plans import GPU, SOFTWARE, kernels_of, kinds_of, leaf, the_kernel_of

import flambeau as fb
from flambeau.fusion.planner import plan
from flambeau.nn import functional as F
from flambeau.selftest import check
from flambeau.selftest.compare import WAYS
from flambeau.selftest.programs import Input, Line, Program

VARIANTS = (
    "staged",
    "loop1",
    "loop128",
    "loop256",
    "online256",
    "registers1",
    "registers8",
    "registers32",
    "registers64",
    "registers128",
    "registers256",
)
CLASSES = {"gpu": GPU, "software": SOFTWARE}


def is_one_kernel(*tensors, writes=1, limits=GPU) -> bool:
    """Whether one kernel over rows computes them all."""
    k = the_kernel_of(*tensors, limits=limits)
    return k.kind == "rows" and k.writes == writes


X, W, B = leaf(96, 48), leaf(48, seed=1), leaf(48, seed=2)
IMAGE, CHANNELS = leaf(64, 8, 6, 6), leaf(8)
LABELS = fb.tensor(np.arange(96, dtype="i4") % 48).realize()


def by_hand(x):
    away = x - x.mean(1, keepdim=True)
    return away / (away.square().mean(1, keepdim=True) + 1e-5).sqrt() * W + B


STATISTICS = (
    lambda x: x.sum(1),
    lambda x: x.square().sum(1) + 1,
    lambda x: x.amax(1),
    lambda x: x.amin(1).exp(),
    lambda x: (x * 3).mean(1),
    lambda x: x.abs().sum(1),
    lambda x: x.std(1),
    lambda x: (x - x.mean(1, keepdim=True)).abs().amax(1),
    lambda x: x.softmax(1),
)


@pytest.mark.parametrize("software", [True, False])
@pytest.mark.parametrize("count", in_turn([7, 8, 9, 13, 16, 40], 2))
@pytest.mark.parametrize("tensors", [1, 2, 3])
@pytest.mark.share(5)
def test_more_statistics_than_a_kernel_binds(count, tensors, software, gpu):
    """Of one tensor, and of several whose rows meet in a statistic; as ever more outputs of one group."""
    rng = np.random.default_rng(count)
    arrays = [rng.normal(size=(5, 33)).astype("f4") for _ in range(tensors)]

    def statistics(device):
        xs = [fb.tensor(a, device=device) for a in arrays]
        xs = [x + y for x, y in pairwise(xs)] + xs
        return [STATISTICS[i % len(STATISTICS)](xs[i % len(xs)] * (1 + i // 9)) for i in range(count)]

    with planned_for(gpu, software):
        found = [np.asarray(v) for v in fb.read(*statistics(gpu))]
    for got, want in zip(found, statistics("cpu"), strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=2e-5, atol=1e-6)


ONE = {
    "softmax": lambda: X.softmax(1),
    "log_softmax": lambda: X.log_softmax(-1),
    "layer_norm": lambda: F.layer_norm(X, (48,), W, B),
    "layer norm by hand": lambda: by_hand(X),
    "rms_norm": lambda: F.rms_norm(X, (48,), W),
    "group_norm": lambda: F.group_norm(IMAGE, 4, CHANNELS, CHANNELS),
    "instance_norm": lambda: F.instance_norm(IMAGE),
    "over two dims": lambda: F.layer_norm(IMAGE, (6, 6)),
    "of a computed value": lambda: (X * 2 + 1).relu().softmax(1),
    "normalize": lambda: F.normalize(X),
    "cosine_similarity": lambda: F.cosine_similarity(X, X.flip(0)),
    "logsumexp": lambda: X.logsumexp(1),
    "var": lambda: X.var(1),
    "standardised": lambda: (X - X.mean(1, keepdim=True)) / X.std(1, keepdim=True),
}


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("adapter", CLASSES)
def test_is_one_kernel(name, adapter):
    assert is_one_kernel(ONE[name](), limits=CLASSES[adapter])


def test_siblings_are_one_kernel_with_several_outputs():
    assert is_one_kernel(X.sum(1), X.square().sum(1), X.amax(1), writes=3)
    assert is_one_kernel(*X.var_mean(1), writes=2)


def test_other_rows_are_not_taken_along():
    y = X.softmax(1)
    assert kinds_of(y.sum(0)) == ["rows", "tree"]
    total = X.sum(1)  # each row reads the next one's sum: no kernel could wait for that
    assert kinds_of(X / total.flip(0).unsqueeze(1)) == ["tree", "map"]


def test_a_gradients_rows_are_one_kernel():
    x = X.detach().requires_grad_().realize()
    for f in (lambda: x.softmax(1), lambda: x.log_softmax(1), lambda: F.rms_norm(x, (48,))):
        y = f().realize()
        assert is_one_kernel(y.backward(leaf(96, 48, seed=3), retain_graph=True)[x])
    loss = F.cross_entropy(x, LABELS)
    found = kernels_of(loss, loss.backward()[x])
    assert [k.writes for k in found if k.kind == "rows"] == [2] and len(found) == 3  # two of sums


def test_the_plan_says_why_kernels_end():
    text = repr((X.softmax(1) @ W).relu().plan())
    assert text.splitlines()[1].endswith("ends because")
    assert "contractions read buffers" in text and "it is a root" in text


def references():
    x, w, b = X.numpy().astype("f8"), W.numpy().astype("f8"), B.numpy().astype("f8")
    e = np.exp(x - x.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    away = x - x.mean(1, keepdims=True)
    norm = away / np.sqrt((away**2).mean(1, keepdims=True) + 1e-5)
    return {"softmax": p, "log_softmax": np.log(p), "layer_norm": norm * w + b}


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.share(5)
def test_every_variant_has_the_values(gpu, force, name):
    force(f"rows={name}")
    with planned_for(gpu, software=name == "loop1"):
        for op, want in references().items():
            y = ONE[op]()
            assert kinds_of(y, limits=gpu.limits)[0] == ("rows" if name != "staged" else "tree")
            assert np.allclose(y.numpy(), want, atol=3e-6), op
        odd = leaf(7, 1027).softmax(1)
        assert np.allclose(odd.sum(1).numpy(), 1, atol=1e-5)


@pytest.mark.parametrize("length", (2, 3, 16, 257, 1024, 4096, 9000, 20000))
@pytest.mark.parametrize("software", (False, True))
@pytest.mark.share(5)
def test_rows_of_all_lengths(gpu, length, software):
    x = np.random.default_rng(length).normal(size=(70, length)).astype("f4")
    with planned_for(gpu, software=software):
        got = F.layer_norm(fb.tensor(x, device=gpu), (length,)).numpy()
    away = x - x.mean(1, keepdims=True, dtype="f8")
    assert np.allclose(got, away / np.sqrt((away**2).mean(1, keepdims=True) + 1e-5), atol=1e-5)


@pytest.mark.parametrize("dtype", (fb.float16, fb.bfloat16))
def test_packed_types(gpu, dtype):
    x = fb.tensor(X.numpy(), device=gpu).to(dtype)
    assert is_one_kernel(x.realize().softmax(1), limits=gpu.limits)
    want = fb.tensor(x.float().numpy(), device="cpu").softmax(1).numpy()
    assert np.allclose(x.softmax(1).float().numpy(), want, atol=1e-2)


def test_values_that_are_not_finite_stay_in_their_rows(gpu):
    x = X.numpy().copy()
    x[3, 5], x[7, 1] = np.nan, np.inf
    with planned_for(gpu, software=False):
        y = fb.tensor(x, device=gpu).softmax(1).numpy()
    bad = np.isnan(y).any(1)
    assert bad[3] and bad[7] and bad.sum() == 2


def test_a_group_too_large_leaves_what_lies_behind_it(gpu):
    """A norm with a residual, backward, and a mask behind it: a buffer too many, so the mask is apart."""
    x, w, r = (t.detach().requires_grad_().realize() for t in (X, W, leaf(96, 48, seed=5)))
    mask, g = leaf(96, 48, seed=6), leaf(96, 48, seed=7)
    h = r * mask + x
    y = F.layer_norm(h, (48,), w) * g + h * g
    y.realize()
    grads = y.backward(g, retain_graph=True)
    found = kernels_of(grads[x], grads[r], limits=gpu.limits)
    assert [k.kind for k in found].count("rows") == 1
    assert all(k.reads + k.writes <= 8 for k in found)
    wanted = grads[x].numpy() * mask.numpy()
    assert np.allclose(grads[r].numpy(), wanted, atol=1e-6)


def test_phases_that_ask_for_more_params_than_there_are(gpu):
    """Each phase of a kernel over rows reads what it needs by Params of its own: here 279 together."""
    program = Program(
        (Input("v0", (), fb.float32, data=np.array(1.0)),),
        (
            Line("v1", "(v0.abs() + 0.25).sqrt().expand(5)", "np.full(5, np.sqrt(np.abs(v0) + 0.25))"),
            Line("v2", "v1.slice_assign((slice(2, None),), 1)", "ref.assign(v1, np.s_[2:], 1)"),
            Line("v3", "F.log_softmax(fb.cat([v1, v2]), 0)", "ref.log_softmax(np.concatenate([v1, v2]), 0)"),
        ),
        ("v3",),
        ("v0",),
    )
    for software in (True, False):
        with planned_for(gpu, software):
            assert check(program, gpu, WAYS[:1])[0] is None


@pytest.mark.parametrize("name", ("registers256", "loop128", "loop256", "online256"))
@pytest.mark.parametrize("classes", (4096, 5003))
@pytest.mark.share(5)
def test_cross_entropy_in_every_form(gpu, force, name, classes):
    """Rows whose largest comes first, last, after minus infinities; NaN and infinity stay in their rows."""
    force(f"rows={name}")
    rng = np.random.default_rng(classes)
    x = (rng.normal(size=(70, classes)) * 30).astype("f4")
    t = rng.integers(0, classes, 70).astype("i4")
    x[1, :3000], x[2, -1], x[3, 0], x[4, 7], x[5, 9] = -np.inf, 300, 300, np.nan, np.inf
    t[1], t[6] = classes - 1, -100
    with planned_for(gpu, software=False):
        logits = fb.tensor(x, device=gpu).requires_grad_()
        loss = F.cross_entropy(logits, fb.tensor(t, device=gpu), reduction="none")
        found = [loss.numpy(), loss.sum().backward()[logits].numpy()]
    with np.errstate(invalid="ignore"):
        away = x.astype("f8") - x.max(1, keepdims=True)
        p = np.exp(away)
        total = p.sum(1, keepdims=True)
        want = np.log(total[:, 0]) - away[np.arange(70), t]
    want[6] = 0
    p = p / total * (t != -100)[:, None]
    p[np.arange(70), t] -= t != -100
    assert np.allclose(found[0], want, rtol=2e-6, atol=1e-5, equal_nan=True)
    assert np.isnan(found[0][4:6]).all() and not np.isnan(np.delete(found[0], (4, 5))).any()
    assert np.allclose(np.delete(found[1], 5, 0), np.delete(p, 5, 0), atol=2e-6, equal_nan=True)


def test_long_rows_of_logits_are_read_twice_for_loss_and_gradient(force):
    x, t = leaf(70, 20001).requires_grad_().realize(), fb.zeros(70, dtype=fb.int32).realize()
    loss = F.cross_entropy(x, t)
    for name, times in (("loop256", 3), ("online256", 2)):
        force(f"rows={name}")
        (rows,) = (k for k in kernels_of(loss, loss.backward()[x]) if k.kind == "rows")
        assert rows.wgsl.count("for (var k = 0u") == times


def test_a_value_that_is_there_is_searched_no_further(gpu):
    """A product that was computed keeps its operands for a gradient: they are no part of the next graph."""
    x = fb.tensor(np.float32([[1, 2], [3, 4]]), device=gpu, requires_grad=True)
    y = (x @ x.T).realize()
    others = [fb.tensor(np.full(s, 2, "f4"), device=gpu) for s in ((2, 1), (2, 1), (3, 2, 1))]
    first, second, third = (((v - 0.25) * v).sum() for v in others)
    loss = first + second + ((y - 0.25) * y).sum() + third
    grad = loss.backward()[x]
    assert float(loss) == 7 + 7 + 21 + 879
    assert grad.tolist() == [[150, 213], [342, 485]]


def test_threads_of_a_row_by_its_reads():
    """Rows of an odd length are read element by element: a thread takes four for one read of four."""
    found = {}
    for n in (3, 13, 33, 101, 255, 511, 777, 1024, 2049):
        x = fb.zeros(1000, n, device=PaperDevice()).realize()
        (kernel,) = plan([x.softmax(1).node], GPU).kernels
        options = dict(kernel.shader.options)
        found[n] = options["lanes"], options["reads_held"]
    assert found == {
        3: (1, 4), 13: (8, 2), 33: (8, 8), 101: (8, 16), 255: (32, 8), 511: (32, 16), 777: (128, 8),
        1024: (128, 2), 2049: (256, 16),
    }  # fmt: skip
