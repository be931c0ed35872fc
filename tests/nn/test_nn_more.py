"""Layers made of functions: losses with weights, normalisations with state, activations that learn."""

import os

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn
from flambeau.core import warn_once
from flambeau.core.files import CODE
from flambeau.core.overrides import BaseTorchFunctionMode
from flambeau.nn import init

F = nn.functional


def rows(device, *shape, seed=0):
    return fb.tensor(np.random.default_rng(seed).normal(size=shape).astype("f4"), device=device)


def test_a_losss_weight_is_state(device):
    w = fb.tensor([0.5, 1.0, 2.0], device=device)
    loss = nn.CrossEntropyLoss(weight=w, ignore_index=1, label_smoothing=0.1)
    assert list(loss.state_dict()) == ["weight"]
    assert repr(loss) == "CrossEntropyLoss(ignore_index=1, label_smoothing=0.1)"
    x, t = rows(device, 5, 3), fb.tensor([0, 1, 2, 2, 1], device=device)
    want = F.cross_entropy(x, t, w, 1, label_smoothing=0.1)
    assert loss(x, t).item() == want.item() and nn.NLLLoss()(x, t).shape == ()


def test_class_probabilities_as_targets(device):
    x, t = rows(device, 4, 3), fb.tensor([0, 2, 1, 1], device=device)
    hot = F.one_hot(t, 3).float()
    for kw in ({}, {"label_smoothing": 0.2}, {"reduction": "sum"}):
        assert F.cross_entropy(x, hot, **kw).allclose(F.cross_entropy(x, t, **kw), rtol=1e-5)


def test_all_targets_ignored_is_nan(device):
    t = fb.full((4,), -100, device=device)
    assert np.isnan(F.cross_entropy(rows(device, 4, 3), t).item())
    assert F.cross_entropy(rows(device, 4, 3), t, reduction="sum").item() == 0


def test_slopes_at_the_ends_are_finite(device):
    p = fb.tensor([0.0, 1.0, 0.5], device=device, requires_grad=True)
    loss = F.binary_cross_entropy(p, fb.tensor([1.0, 1.0, 1.0], device=device), reduction="sum")
    assert abs(loss.item() - 100 - np.log(2)) < 1e-4
    assert np.isfinite(loss.backward()[p].numpy()).all()
    x = fb.zeros(2, 3, device=device, requires_grad=True)
    assert np.isfinite(F.normalize(x).sum().backward()[x].numpy()).all()


def test_norm_layers(device):
    x = rows(device, 3, 4, 5, 5)
    y = nn.GroupNorm(2, 4, device=device)(x).numpy().reshape(3, 2, -1)
    np.testing.assert_allclose(y.mean(2), 0, atol=1e-5)
    np.testing.assert_allclose(y.std(2), 1, rtol=1e-4)
    z = nn.InstanceNorm2d(4, affine=True, device=device)(x).numpy().reshape(12, -1)
    np.testing.assert_allclose(z.std(1), 1, rtol=1e-4)
    r = nn.RMSNorm(5, device=device)(x).numpy()
    np.testing.assert_allclose((r * r).mean(-1), 1, rtol=1e-4)
    assert nn.BatchNorm3d(2, device=device)(rows(device, 2, 2, 3, 3, 3)).shape == (2, 2, 3, 3, 3)


def test_instance_norm_tracks(device):
    layer = nn.InstanceNorm1d(2, track_running_stats=True, device=device)
    x = rows(device, 3, 2, 7)
    layer(x)
    a = x.numpy()
    np.testing.assert_allclose(layer.running_mean.numpy(), 0.1 * a.mean((0, 2)), atol=1e-6)
    want = 0.9 + 0.1 * a.var(2, ddof=1).mean(0)
    np.testing.assert_allclose(layer.running_var.numpy(), want, rtol=1e-5)
    y = layer.eval()(x)
    own = (a - layer.running_mean.numpy()[:, None]) / np.sqrt(layer.running_var.numpy()[:, None] + 1e-5)
    np.testing.assert_allclose(y.numpy(), own, rtol=1e-4, atol=1e-5)


def test_functional_batch_norm_moves_the_running_statistics(device):
    x, mean, var = rows(device, 6, 3), fb.zeros(3, device=device), fb.ones(3, device=device)
    y = F.batch_norm(x, mean, var, training=True)
    np.testing.assert_allclose(y.numpy().std(0), 1, rtol=1e-4)
    np.testing.assert_allclose(mean.numpy(), 0.1 * x.numpy().mean(0), atol=1e-6)
    np.testing.assert_allclose(var.numpy(), 0.9 + 0.1 * x.numpy().var(0, ddof=1), rtol=1e-5)
    assert F.batch_norm(x, mean, var).shape == (6, 3)


def test_activations_that_learn_or_draw(device):
    x = rows(device, 4, 3)
    layer = nn.PReLU(3, device=device)
    grads = layer(x).sum().backward()
    np.testing.assert_allclose(grads[layer.weight].numpy(), np.minimum(x.numpy(), 0).sum(0), rtol=1e-5)
    assert layer.num_parameters == 3 and repr(layer) == "PReLU(num_parameters=3)"
    leaky = nn.RReLU(0.2, 0.4)
    slopes = (leaky(x) / x).numpy()[x.numpy() < 0]
    assert (slopes > 0.199).all() and (slopes < 0.401).all() and slopes.std() > 0
    assert leaky.eval()(x).allclose(F.leaky_relu(x, 0.3))
    hard = F.gumbel_softmax(x, hard=True).numpy()
    assert ((hard > 0.999).sum(1) == 1).all()


def test_initialisers(device):
    fb.manual_seed(3)
    w = init.trunc_normal_(fb.zeros(200, 100, device=device), 0.5, 2.0, -1.0, 1.5).numpy()
    assert w.min() >= -1 and w.max() <= 1.5 and abs(w.mean() - 0.3) < 0.03
    assert init.eye_(fb.zeros(2, 3, device=device)).tolist() == [[1, 0, 0], [0, 1, 0]]
    x = rows(device, 1, 4, 5)
    kernel = init.dirac_(fb.zeros(4, 2, 3, device=device), 2)
    assert F.conv1d(x, kernel, padding=1, groups=2).allclose(x)
    s = init.sparse_(fb.zeros(10, 6, device=device), 0.3).numpy()
    assert ((s == 0).sum(0) == 3).all()


@pytest.mark.parametrize("call, text", [
    (lambda x: F.glu(x), "glu(f32[2, 3]): dim -1 has 3 elements: make it even"),
    (lambda x: F.group_norm(x, 2),
     "group_norm(f32[2, 3], 2): 3 channels do not divide into 2 groups: pass a divisor"),
    (lambda x: F.batch_norm(x, None, None),
     "batch_norm(f32[2, 3], None, None): without training, running_mean and running_var are"
     " required: pass both"),
    (lambda x: F.prelu(x, fb.ones(2, device="cpu")),
     "prelu(f32[2, 3], f32[2]): weight must have one value, or as many as input has at dim 1: reshape it"),
    (lambda x: F.multi_margin_loss(x, x, p=3),
     "multi_margin_loss(f32[2, 3], f32[2, 3], p=3): p=3 must be 1 or 2: pass one of these"),
])  # fmt: skip
def test_errors(call, text):
    with pytest.raises(ValueError) as e:
        call(fb.ones(2, 3, device="cpu"))
    assert str(e.value) == text


@pytest.mark.parametrize(
    "shape, of_var",
    [((3, 3), (3,)), ((2, 3, 4), (2, 3)), ((2, 3, 4), (2, 1, 4)), ((3, 2), (3, 2)), ((4,), ())],
)
def test_a_variance_of_several_numbers(device, shape, of_var):
    rng = np.random.default_rng(5)
    x, t = (rng.normal(size=shape).astype("f4") for _ in range(2))
    v = rng.uniform(0.1, 2, of_var).astype("f4")
    given = [fb.tensor(a, device=device) for a in (x, t, v)]
    wide = v[..., None] if v.ndim < x.ndim else v
    want = (np.log(wide) + (x - t) ** 2 / wide) / 2
    np.testing.assert_allclose(
        F.gaussian_nll_loss(*given, reduction="none").numpy(), want, rtol=1e-4, atol=1e-5
    )


def test_a_variance_below_eps_goes_on_learning(device):
    v = fb.tensor([0.1, 1.0], device=device, requires_grad=True)
    loss = F.gaussian_nll_loss(
        fb.ones(2, device=device), fb.zeros(2, device=device), v, eps=0.5, reduction="none"
    )
    np.testing.assert_allclose(loss.numpy(), [(np.log(0.5) + 2) / 2, 0.5], rtol=1e-6)
    np.testing.assert_allclose(loss.sum().backward()[v].numpy(), [(2 - 4) / 2, 0], atol=1e-6)


@pytest.mark.parametrize("shape, other, dim", [((3, 5), (5,), 0), ((2, 3, 4), (4,), 1), ((3, 1), (3, 4), 1)])
def test_cosines_along_a_dim_of_both_together(device, shape, other, dim):
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=shape).astype("f4"), rng.normal(size=other).astype("f4")
    y = F.cosine_similarity(fb.tensor(a, device=device), fb.tensor(b, device=device), dim)
    a, b = np.broadcast_arrays(a, b)
    want = (a * b).sum(dim) / np.linalg.norm(a, axis=dim) / np.linalg.norm(b, axis=dim)
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-5, atol=1e-6)


def test_means_over_no_rows_are_nan(device):
    none = fb.zeros(0, 3, device=device)
    assert np.isnan(F.kl_div(none, none, reduction="batchmean").item())
    assert np.isnan(F.cross_entropy(none, none).item())
    one = fb.tensor(0.5, device=device)
    assert F.kl_div(-one, one, reduction="batchmean").item() == F.kl_div(-one, one, reduction="sum").item()


def test_an_infinity_above_0_leaves_the_slope_of_prelu(device):
    x = fb.tensor([np.inf, -2.0, 3.0], device=device)
    w = fb.tensor([0.25], device=device, requires_grad=True)
    y = F.prelu(x, w)
    assert y.tolist() == [np.inf, -0.5, 3.0] and y.sum().backward()[w].tolist() == [-2.0]


EMPTY = {  # a layer, how it is called, and the shape of a batch of nothing
    "both ways": (lambda d: nn.GRU(3, 4, bidirectional=True, device=d), lambda m, x: m(x)[0], (2, 0, 3)),
    "batch norm": (lambda d: nn.BatchNorm1d(3, device=d), lambda m, x: m(x), (0, 3, 2)),
    "attention": (
        lambda d: nn.MultiheadAttention(4, 2, device=d),
        lambda m, x: m(x, x, x, need_weights=False)[0],
        (3, 0, 4),
    ),
    "repeated ends": (
        lambda d: nn.Conv1d(2, 3, 3, padding=1, padding_mode="replicate", device=d),
        lambda m, x: m(x),
        (0, 2, 4),
    ),
    "rows together": (lambda d: nn.Linear(3, 4, device=d), lambda m, x: fb.cat([m(x), m(x)], 1), (0, 3)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_batch_of_nothing_has_gradients_of_0(device, name):
    make, call, shape = EMPTY[name]
    m, x = make(device), fb.zeros(*shape, device=device)
    before = {k: t.numpy() for k, t in m.state_dict().items()}
    y = call(m, x)
    grads = y.sum().backward()
    assert y.numpy().size == 0
    assert all(grads[p].shape == p.shape and not grads[p].numpy().any() for p in m.parameters())
    after = m.state_dict()  # statistics too stay as they were; batches are counted
    assert all((t == after[k].numpy()).all() for k, t in before.items() if k != "num_batches_tracked")


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_nothing(device, mode):
    table = nn.EmbeddingBag(3, 2, mode=mode, device=device)
    y = table(fb.zeros(0, dtype="int32", device=device), fb.tensor([0, 0], device=device))
    assert y.tolist() == [[0, 0], [0, 0]]
    assert y.sum().backward()[table.weight].tolist() == [[0, 0]] * 3


def test_statistics_that_are_taken_from_a_batch_norm(device):
    x = rows(device, 5, 3)
    layer = nn.BatchNorm1d(3, device=device)
    layer(x)
    kept = layer.eval()(x)
    layer.track_running_stats = False  # goes on by what it has, and learns no more
    assert layer(x).allclose(kept)
    before = layer.running_mean.numpy()
    own = layer.train()(x)
    assert (layer.running_mean.numpy() == before).all()
    layer.running_mean = layer.running_var = None
    assert layer.eval()(x).allclose(own) and not own.allclose(kept)


def test_instance_norms_of_one_sample(device):
    x = rows(device, 4, 5, 6)
    layer = nn.InstanceNorm2d(4, affine=True, device=device)
    assert layer(x).allclose(layer(x.unsqueeze(0)).squeeze(0))
    still = nn.InstanceNorm2d(4, momentum=None, track_running_stats=True, device=device)
    still(x)
    assert not still.running_mean.numpy().any()


def test_losses_learn_where_just_nothing_lacks_to_the_margin(device):
    """As PyTorch's: two scores that are equal are to go apart."""
    a, b = (fb.tensor([1.0, 2.0], device=device, requires_grad=True) for _ in range(2))
    grads = F.margin_ranking_loss(a, b, fb.tensor([1.0, -1.0], device=device), reduction="sum").backward()
    assert grads[a].tolist() == [-1, 1] and grads[b].tolist() == [1, -1]
    below = fb.tensor([-1.0, -1.0], device=device)
    assert F.hinge_embedding_loss(a, below, reduction="sum").backward()[a].tolist() == [-1, 0]
    x, y = (fb.tensor([v], device=device, requires_grad=True) for v in ([1.0, 0.0], [0.0, 2.0]))
    assert F.cosine_embedding_loss(x, y, below[:1]).backward()[x].tolist() == [[0, 1]]
    others = (fb.tensor([v], device=device) for v in ([2.0, 0.0], [1.0, 2.0]))
    assert F.triplet_margin_loss(x, *others, eps=0.0).backward()[x].tolist() == [[-1, 1]]


def test_cosines_of_zeros_have_slopes_of_at_most_a_million(device):
    x = fb.zeros(1, 2, device=device, requires_grad=True)
    y, one = fb.tensor([[3.0, 4.0]], device=device), fb.ones(1, device=device)
    np.testing.assert_allclose(
        F.cosine_embedding_loss(x, y, one).backward()[x].numpy(), [[-6e5, -8e5]], rtol=1e-4
    )
    half = F.cosine_embedding_loss((x + 200).half(), (y * 60).half(), one)  # squares are past its range
    assert half.dtype is fb.float16 and abs(half.item() - (1 - 1.4 / 2**0.5)) < 1e-3


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.huber_loss, F.smooth_l1_loss])
def test_a_target_of_another_shape_is_told_once(loss, recwarn, monkeypatch):
    monkeypatch.setattr(warn_once, "_said", set())
    for _ in range(2):
        loss(fb.ones(3), fb.ones(3))
        loss(fb.ones(3, 1), fb.ones(3))
    (said,) = recwarn
    assert str(said.message) == (
        "a loss has input of shape [3, 1] and target of [3]: they broadcast, which is rarely"
        " intended: reshape one of them, e.g. with squeeze(1)"
    )
    assert said.filename == __file__


def test_a_warning_is_of_the_callers_line(recwarn, monkeypatch):
    """Also where operations ask __torch_function__, whose frames lie between."""
    monkeypatch.setattr(warn_once, "_said", set())
    with BaseTorchFunctionMode():
        F.mse_loss(fb.ones(3, 1), fb.ones(3))
    (said,) = recwarn
    assert said.filename == __file__


def test_norms_print_whether_they_have_a_bias():
    assert (
        repr(nn.BatchNorm2d(2))
        == "BatchNorm2d(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)"
    )
    assert repr(nn.GroupNorm(1, 2, affine=False)) == "GroupNorm(1, 2, eps=1e-05, affine=False, bias=False)"
    assert (
        repr(nn.LayerNorm(3, bias=False)) == "LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=False)"
    )


def test_a_package_beside_ours_is_a_caller(recwarn, monkeypatch):
    monkeypatch.setattr(warn_once, "_said", set())
    file = f"{CODE.rstrip(os.sep)}_utils{os.sep}losses.py"
    exec(compile("loss(x, y)", file, "exec"), {"loss": F.mse_loss, "x": fb.ones(3, 1), "y": fb.ones(3)})
    (said,) = recwarn
    assert said.filename == file
