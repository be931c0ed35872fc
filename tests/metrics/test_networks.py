"""FID, LPIPS and DISTS by given networks: values by formulas in float64, and what they say without one."""

import numpy as np
import pytest

import flambeau as fb
from flambeau import metrics as m

RNG = np.random.default_rng(0)
W = RNG.standard_normal((12, 4))


def features(x):
    return x.reshape(x.shape[0], -1) @ fb.tensor(W.astype("f4"), device=x.device)


def images(*shape):
    return RNG.random(shape).astype("f4")


def cpu(x):
    return fb.tensor(np.asarray(x, "f4"), device="cpu")


def test_fid_is_of_two_gaussians(device):
    real, fake = images(9, 3, 2, 2), images(7, 3, 2, 2) ** 2
    fid = m.FrechetInceptionDistance(features, num_features=4, device=device)
    for part, kind in ((real[:4], True), (real[4:], True), (fake[:1], False), (fake[1:], False)):
        fid.update(fb.tensor(part, device=device), real=kind)
    a, b = (x.reshape(len(x), -1).astype("f8") @ W for x in (real, fake))
    s1, s2 = np.cov(a.T), np.cov(b.T)
    root = np.sqrt(np.linalg.eigvals(s1 @ s2).astype("c16")).real.sum()
    wanted = np.square(a.mean(0) - b.mean(0)).sum() + np.trace(s1) + np.trace(s2) - 2 * root
    assert fid.compute() == pytest.approx(wanted, rel=1e-4)
    parts = [m.FrechetInceptionDistance(features, num_features=4, device=device) for _ in range(2)]
    parts[0].update(fb.tensor(real, device=device), real=True)
    parts[1].update(fb.tensor(fake, device=device), real=False)
    parts[0].merge_state(parts[1])
    assert parts[0].compute() == pytest.approx(wanted, rel=1e-4)


def test_fid_may_keep_the_real_ones():
    kept = m.FrechetInceptionDistance(features, False, input_img_size=(3, 2, 2), device="cpu")
    kept.update(cpu(images(5, 3, 2, 2)), real=True)
    kept.reset()
    for more in (3, 0):
        with pytest.raises(ValueError) as told:
            kept.compute()
        rule = "the covariance needs at least 2 images of each kind: update with more"
        assert (
            str(told.value)
            == f"FrechetInceptionDistance.compute(): {5 if more else 0} real and 0 generated: {rule}"
        )
        kept.reset_real_features = True
        kept.reset()


def layers(x):
    return [x, (x * 2 - 1).relu(), x[:, :2, ::2, ::2] + 0.5]


def plain(x):
    return [x, np.maximum(x * 2 - 1, 0), x[:, :2, ::2, ::2] + 0.5]


WEIGHTS = [np.array([0.2, 0.5, 0.3]), np.array([1.0, 0.0, 2.0]), np.array([0.7, 0.1])]


def test_lpips_is_a_distance_of_unit_features():
    a, b = images(3, 3, 4, 4), images(3, 3, 4, 4)
    shift, scale = (np.reshape(v, (1, 3, 1, 1)) for v in ([-0.03, -0.088, -0.188], [0.458, 0.448, 0.45]))

    def unit(x):
        return [f / np.sqrt((f**2).sum(1, keepdims=True) + 1e-8) for f in plain((2 * x - 1 - shift) / scale)]

    far = [((p - q) ** 2).mean((2, 3)) for p, q in zip(unit(a), unit(b), strict=True)]
    wanted = sum(f @ w for f, w in zip(far, WEIGHTS, strict=True))
    given = {"weights": [cpu(w) for w in WEIGHTS], "normalize": True, "device": "cpu"}
    for reduction, value in (("mean", wanted.mean()), ("sum", wanted.sum()), ("none", wanted)):
        lpips = m.LearnedPerceptualImagePatchSimilarity(layers, reduction=reduction, **given)
        lpips.update(cpu(a[:2]), cpu(b[:2]))
        lpips.update(cpu(a[2:]), cpu(b[2:]))
        assert lpips.compute() == pytest.approx(value, rel=1e-4)
    equal = m.LearnedPerceptualImagePatchSimilarity(layers, normalize=True, device="cpu")
    equal.update(cpu(a), cpu(b))
    assert equal.compute() == pytest.approx(sum(f.mean(1) for f in far).mean(), rel=1e-4)


def test_dists_is_of_means_and_structure():
    a, b, small = images(3, 3, 4, 4), images(3, 3, 4, 4), 1e-6
    beta = [w * 0.5 + 0.1 for w in WEIGHTS]
    total, wanted = sum(w.sum() for w in (*WEIGHTS, *beta)), 1.0
    for p, q, u, v in zip(plain(a), plain(b), WEIGHTS, beta, strict=True):
        mp, mq = p.mean((2, 3)), q.mean((2, 3))
        cov = (p * q).mean((2, 3)) - mp * mq
        means = (2 * mp * mq + small) / (mp**2 + mq**2 + small)
        structure = (2 * cov + small) / (p.var((2, 3)) + q.var((2, 3)) + small)
        wanted = wanted - (means @ u + structure @ v) / total
    weights = {"alpha": [cpu(w) for w in WEIGHTS], "beta": [cpu(w) for w in beta]}
    dists = m.DeepImageStructureAndTextureSimilarity(layers, **weights, device="cpu")
    dists.update(cpu(a), cpu(b))
    assert dists.compute() == pytest.approx(wanted.mean(), rel=1e-3)
    same = m.DeepImageStructureAndTextureSimilarity(layers, device="cpu")
    same.update(cpu(a), cpu(a))
    assert same.compute() == pytest.approx(0, abs=1e-4)


def test_structure_of_images_that_are_smaller_than_the_window():
    x, y = (images(2, 3, 6, 9) for _ in range(2))
    weights = np.exp(-((np.arange(-5, 6) / 1.5) ** 2) / 2)
    weights = np.outer(weights, weights) / weights.sum() ** 2

    def means(a):
        padded = np.pad(a.astype("f8"), ((0, 0), (0, 0), (5, 5), (5, 5)), "reflect")
        windows = np.lib.stride_tricks.sliding_window_view(padded, (11, 11), axis=(2, 3))
        return np.einsum("nchwij,ij->nchw", windows, weights)

    mx, my = means(x), means(y)
    spread, both = means(x * x) - mx**2 + means(y * y) - my**2, means(x * y) - mx * my
    wanted = (2 * mx * my + 1e-4) * (2 * both + 9e-4) / ((mx**2 + my**2 + 1e-4) * (spread + 9e-4))
    ssim = m.StructuralSimilarityIndexMeasure(data_range=1.0, device="cpu")
    ssim.update(cpu(x), cpu(y))
    np.testing.assert_allclose(float(ssim.compute()), wanted.mean(), atol=1e-6)


FID, LPIPS, DISTS = (
    m.FrechetInceptionDistance,
    m.LearnedPerceptualImagePatchSimilarity,
    m.DeepImageStructureAndTextureSimilarity,
)
NONE = "flambeau contains no network weights: pass"
SSIM = m.StructuralSimilarityIndexMeasure
ERRORS = {
    "fid": (
        lambda: FID(2048),
        f"FrechetInceptionDistance(feature=2048): {NONE} a network that computes features [n,"
        " d] of images, e.g. Inception v3 without its last layer",
    ),
    "lpips": (
        lambda: LPIPS("vgg"),
        f"LearnedPerceptualImagePatchSimilarity(net='vgg'): {NONE} net=, a network that"
        " computes a list of features of images, and weights= of its channels",
    ),
    "dists": (
        lambda: DISTS(None),
        f"DeepImageStructureAndTextureSimilarity(net=None): {NONE} net=, a network that"
        " computes a list of features of images, and alpha= and beta= of its channels",
    ),
    "one tensor": (
        lambda: LPIPS(lambda x: x, device="cpu").update(cpu(images(1, 3, 2, 2)), cpu(images(1, 3, 2, 2))),
        "LearnedPerceptualImagePatchSimilarity: net((1, 3, 2, 2)): the network returned one"
        " tensor: pass one that returns a list with a tensor for each layer",
    ),
    "channels": (
        lambda: DISTS(layers, [cpu([1.0])], device="cpu").update(*[cpu(images(1, 3, 4, 4))] * 2),
        "DeepImageStructureAndTextureSimilarity(alpha=...): layers have [3, 3, 2] channels,"
        " weights [1]: pass a weight for each channel",
    ),
    "no images": (
        lambda: LPIPS(layers, device="cpu").update(*[cpu(images(3, 4))] * 2),
        "LearnedPerceptualImagePatchSimilarity(f32[3, 4], f32[3, 4]): takes images: pass [n, c, h, w]",
    ),
    "features": (
        lambda: FID(features, num_features=3, device="cpu").update(cpu(images(2, 3, 2, 2)), True),
        "FrechetInceptionDistance(f32[2, 3, 2, 2], f32[2, 4]): features are not [n, 3]: pool and flatten"
        " them",
    ),
    "range": (
        lambda: m.PeakSignalNoiseRatio(0),
        "PeakSignalNoiseRatio(data_range=0): must be the width of the value range, or its two"
        " ends: pass e.g. 1.0 or (0.0, 1.0)",
    ),
    "reduction without dim": (
        lambda: m.PeakSignalNoiseRatio(1.0, reduction="sum"),
        "PeakSignalNoiseRatio(reduction='sum', dim=None): without dim the result is one"
        " value: pass dim, or leave out"
        " reduction",
    ),
    "sigma": (
        lambda: SSIM(sigma=0),
        "StructuralSimilarityIndexMeasure(sigma=0): must be a width above 0: pass one",
    ),
    "kernel_size": (
        lambda: SSIM(kernel_size=4),
        "StructuralSimilarityIndexMeasure(kernel_size=4): must be an odd number above 0: pass one",
    ),
    "option": (
        lambda: SSIM(k3=4),
        "StructuralSimilarityIndexMeasure.__init__() got an unexpected keyword argument 'k3'",
    ),
    "dims": (
        lambda: SSIM(device="cpu").update(*[cpu(images(3, 4))] * 2),
        "StructuralSimilarityIndexMeasure(f32[3, 4], f32[3, 4]): takes images: pass [n, c, h, w], or"
        " [n, c, d, h, w]",
    ),
    "small": (
        lambda: SSIM(device="cpu").update(*[cpu(images(1, 1, 5, 9))] * 2),
        "StructuralSimilarityIndexMeasure(f32[1, 1, 5, 9], f32[1, 1, 5, 9]): images are smaller than the"
        " window, [11, 11]: use a smaller window",
    ),
    "scales": (
        lambda: m.MultiScaleStructuralSimilarityIndexMeasure(device="cpu").update(
            *[cpu(images(1, 1, 32, 32))] * 2
        ),
        "MultiScaleStructuralSimilarityIndexMeasure(f32[1, 1, 32, 32], f32[1, 1, 32, 32]):"
        " images of 5 scales must be larger than 160: pass fewer betas",
    ),
    "places": (
        lambda: m.DiceScore(3, device="cpu").update(cpu(images(2, 3, 4)), cpu(images(2, 4))),
        "DiceScore(f32[2, 3, 4], f32[2, 4]): shapes differ: pass a prediction for each target",
    ),
    "classes": (
        lambda: m.DiceScore(3, device="cpu").update(*[cpu(images(2, 4, 5))] * 2),
        "DiceScore(f32[2, 4, 5], f32[2, 4, 5]): dim 1 is not the 3 classes: pass [n, 3, ...]",
    ),
    "format": (
        lambda: m.DiceScore(3, input_format="index", device="cpu").update(*[cpu(images(2)).long()] * 2),
        "DiceScore(i64[2], i64[2]): the shape does not fit input_format='index': pass images of classes",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, text = ERRORS[name]
    with pytest.raises((ValueError, TypeError)) as told:
        call()
    assert str(told.value) == text


def test_dice_of_an_image_without_foreground_is_0():
    """Its weights are 0 / 0; as in torchmetrics it counts, unless nothing is predicted either."""
    target = np.array([[[0, 0]], [[1, 2]], [[0, 0]]])
    preds = np.array([[[1, 0]], [[1, 2]], [[0, 0]]])
    kind = {"include_background": False, "input_format": "index", "average": "weighted", "device": "cpu"}
    score = m.DiceScore(3, **kind)
    score.update(cpu(preds), cpu(target))
    assert float(score.compute()) == 0.5
