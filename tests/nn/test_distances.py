"""Losses that torch has not, and noise: values and slopes against NumPy, and what is refused."""

import numpy as np
import pytest
from references.resize import rnnt_loss

import flambeau as fb
from flambeau import nn


def pair(shape, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype("f4") for _ in range(2)]


@pytest.mark.parametrize("p", [0.5, 1, 2, 2.5, 3])
@pytest.mark.parametrize("dim", [None, 0, (1, 2)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.share(5)
def test_lp_loss(device, p, dim, reduction):
    x, y = pair((3, 4, 5))
    powers = np.abs(x.astype("f8") - y) ** p
    wanted = powers if reduction == "none" else getattr(powers, reduction)(dim)
    a = fb.tensor(x, device=device, requires_grad=True)
    found = nn.LpLoss(p, reduction, dim)(a, fb.tensor(y, device=device))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=2e-5)
    slope = p * np.abs(x.astype("f8") - y) ** (p - 1) * np.sign(x - y)
    slope /= powers.size / wanted.size if reduction == "mean" else 1
    np.testing.assert_allclose(found.sum().backward()[a].numpy(), slope, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 4), (2, 5, 7, 3), (1, 16, 2, 3, 4), (3, 1, 9)])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.share(5)
def test_gram_matrix_loss(device, shape, reduction):
    def gram(x):
        rows = x.reshape(*x.shape[:2], -1).astype("f8")
        return np.einsum("nis,njs->nij", rows, rows) / (rows.shape[1] * rows.shape[2])

    x, y = pair(shape)
    found = nn.GramMatrixLoss(reduction)(fb.tensor(x, device=device), fb.tensor(y, device=device))
    wanted = getattr((gram(x) - gram(y)) ** 2, reduction)()
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.share(5)
def test_rnnt_loss(device, seed):
    """Drawn lengths, labels behind them that are none, and no labels at all."""
    rng = np.random.default_rng(seed)
    n, steps, labels, classes = rng.integers([1, 1, 0, 2], [4, 7, 5, 6]).tolist()
    blank = int(rng.integers(-classes, classes))
    x = rng.normal(size=(n, steps, labels + 1, classes)).astype("f4")
    targets = (blank + rng.integers(1, classes, (n, labels))) % classes
    lengths, counts = rng.integers(1, steps + 1, n), rng.integers(0, labels + 1, n)
    wanted = [
        rnnt_loss(x[i : i + 1], targets[i : i + 1], lengths[i : i + 1], counts[i : i + 1], blank)
        for i in range(n)
    ]
    for i, count in enumerate(counts):
        targets[i, count:] = -77
    given = [
        fb.tensor(a, device=device)
        for a in (x, targets.astype("i4"), lengths.astype("i4"), counts.astype("i4"))
    ]
    for reduction, value in {"none": wanted, "sum": np.sum(wanted), "mean": np.mean(wanted)}.items():
        found = nn.RNNTLoss(blank, reduction)(*given)
        np.testing.assert_allclose(found.numpy(), value, rtol=2e-6, atol=2e-6)
    whole = nn.RNNTLoss(blank)(given[0].log_softmax(-1), given[1], lengths.tolist(), counts.tolist())
    np.testing.assert_allclose(whole.item(), np.mean(wanted), rtol=2e-6, atol=2e-6)


def test_noise_is_of_training_alone(device):
    fb.manual_seed(3)
    x = fb.zeros(200, 50, device=device)
    layer = nn.GaussianNoise(0.5)
    noise = layer(x).numpy()
    assert abs(noise.mean()) < 0.02 and abs(noise.std() - 0.5) < 0.02
    assert not np.array_equal(noise, layer(x).numpy())
    assert layer.eval()(x) is x and nn.GaussianNoise(0.0)(x) is x
    assert (
        repr(layer) == "GaussianNoise(std=0.5)"
        and repr(nn.LpLoss(1)) == "LpLoss(p=1, reduction='mean', dim=None)"
    )
    assert repr(nn.GramMatrixLoss("sum")) == "GramMatrixLoss(reduction='sum')"


@pytest.mark.parametrize(
    "make, told",
    [
        (
            lambda: nn.GaussianNoise(-1),
            "GaussianNoise(std=-1): std must be at least 0: pass another value",
        ),
        (lambda: nn.LpLoss(0), "LpLoss(p=0): p must be above 0: pass another value"),
        (lambda: nn.LpLoss(2, "max"), "LpLoss(reduction='max'): unknown: use one of 'mean', 'sum', 'none'"),
        (
            lambda: nn.GramMatrixLoss("none"),
            "GramMatrixLoss(reduction='none'): unknown: use one of 'mean', 'sum'",
        ),
        (
            lambda: nn.LpLoss()(fb.zeros(2, 1, device="cpu"), fb.zeros(2, device="cpu")),
            "LpLoss(): input and target are [2, 1] and [2]: pass tensors of one shape",
        ),
        (
            lambda: nn.GramMatrixLoss()(*[fb.zeros(2, 1, device="cpu")] * 2),
            "GramMatrixLoss(): input has 2 dims: pass [n, c, *size]",
        ),
    ],
)
def test_refusals(make, told):
    with pytest.raises(ValueError) as e:
        make()
    assert str(e.value) == told


ONE = "f32[1, 2, 2, 3], i32[1, 1]"
RNNT = [  # (shape, lengths, options, what is told)
    ([1, 2, 2, 3], [1], {"reduction": "max"},
     f"{ONE}, [1], [1], reduction='max'): reduction='max' is unknown: use 'mean', 'sum' or 'none'"),
    ([2, 2, 3], [1], {},
     "f32[2, 2, 3], i32[1, 1], [1], [1]): needs logits [n, t, s + 1, c] without sizes of 0, and"
     " integer targets"),
    ([1, 2, 3, 3], [1], {}, "f32[1, 2, 3, 3], i32[1, 1], [1], [1]): targets need shape [1, 2], one label less"
     " than the third dim of logits"),
    ([1, 2, 2, 3], [1], {"blank": 3}, f"{ONE}, [1], [1], blank=3): blank=3 is not one of 3 classes"),
    ([1, 2, 2, 3], [0], {}, f"{ONE}, [0], [1]): logit_lengths [0] are not all in 1 to 2"),
    ([1, 2, 2, 3], [1, 1], {},
     f"{ONE}, [1, 1], [1]): logit_lengths needs 1 numbers, one for each item"),
]  # fmt: skip


@pytest.mark.parametrize("shape, lengths, options, told", RNNT)
def test_rnnt_refusals(shape, lengths, options, told):
    x, targets = fb.zeros(shape, device="cpu"), fb.ones(1, 1, dtype=fb.int32, device="cpu")
    with pytest.raises(ValueError) as e:
        nn.functional.rnnt_loss(x, targets, lengths, [1], **options)
    assert str(e.value) == f"rnnt_loss({told}"
