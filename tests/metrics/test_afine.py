"""A-FINE by its formula in float64 and by torch's layers over CLIP, with drawn weights; what it refuses."""

from math import erf

import numpy as np
import pytest
from helpers.networks import filled, value_of
from helpers.torch_clip import torch_clip

import flambeau as fb
from flambeau import metrics as m
from flambeau import models

RNG = np.random.default_rng(3)
LAYERS, WIDTH, HIDDEN = 2, 4, 5
MEAN, STD = (np.reshape(v, (1, 3, 1, 1)) for v in (
    [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]
))  # fmt: skip


def cpu(x):
    return fb.tensor(np.asarray(x, "f4"), device="cpu")


def drawn_weights(layers, width, hidden):
    """What the published file holds, of other sizes."""
    shapes = {
        "proj_feat.weight": (hidden, 2 * width),
        "proj_feat.bias": (hidden,),
        "proj_head.0.weight": (6 * hidden, 6 + layers * hidden),
        "proj_head.0.bias": (6 * hidden,),
        "proj_head.2.weight": (1, 6 * hidden),
        "proj_head.2.bias": (1,),
    }
    all_channels = 3 + layers * width
    return {
        "natural": {name: RNG.normal(size=shape) * 0.25 for name, shape in shapes.items()},
        "fidelity": {name: RNG.normal(size=(1, 1, all_channels)) for name in ("alpha", "beta")},
        "natural_scale": {"yita3": np.array(0.3), "yita4": np.array(-1.5)},
        "fidelity_scale": {"yita3": np.array(0.4), "yita4": np.array(0.9)},  # which is held at 0.7
        "adapter": {"k": np.array(0.5)},
    }


def in_floats(weights):
    return {part: {n: cpu(v) for n, v in values.items()} for part, values in weights.items()}


MAPS = [RNG.normal(size=(3 * 4, WIDTH)) * 0.4 for _ in range(LAYERS)]


def net(x):
    """Two layers of 4 features each for patches of 2 x 2."""
    n, _, h, w = x.shape
    patches = x.reshape(n, 3, h // 2, 2, w // 2, 2).permute(0, 2, 4, 1, 3, 5).reshape(n, -1, 12)
    return [patches @ fb.tensor(a.astype("f4"), device=x.device) for a in MAPS]


def plain_net(x):
    n, _, h, w = x.shape
    patches = x.reshape(n, 3, h // 2, 2, w // 2, 2).transpose(0, 2, 4, 1, 3, 5).reshape(n, -1, 12)
    return [patches @ a for a in MAPS]


def rise(x, low, high, middle, width):
    return (high - low) / (1 + np.exp(-(x - middle) / width)) + low


def by_numpy(weights, x, y):
    """Every term of a pair, as the paper says, in float64."""

    def levels(image):
        rows = image.reshape(*image.shape[:2], -1).swapaxes(1, 2)
        return [rows, *(np.maximum(f, 0) for f in plain_net((image - MEAN) / STD))]

    def natural(given):
        w, told = weights["natural"], []
        for k, level in enumerate(given):
            stats = np.concatenate([level.mean(1), level.var(1)], 1)
            told.append(stats if k == 0 else stats @ w["proj_feat.weight"].T + w["proj_feat.bias"])
        inner = np.concatenate(told, 1) @ w["proj_head.0.weight"].T + w["proj_head.0.bias"]
        inner = inner * 0.5 * (1 + np.vectorize(erf)(inner / np.sqrt(2)))
        raw = (inner @ w["proj_head.2.weight"].T + w["proj_head.2.bias"])[:, 0]
        scale = weights["natural_scale"]
        return rise(raw, -2, 2, scale["yita3"], abs(scale["yita4"]))

    seen, wanted = levels(x), levels(y)
    alpha, beta = (np.log1p(np.exp(weights["fidelity"][n][0, 0])) for n in ("alpha", "beta"))
    total, at, alike, c = alpha.sum() + beta.sum(), 0, 0.0, 1e-10
    for a, b in zip(seen, wanted, strict=True):
        ma, mb, here = a.mean(1), b.mean(1), slice(at, at + a.shape[2])
        cov = (a * b).mean(1) - ma * mb
        means = (2 * ma * mb + c) / (ma**2 + mb**2 + c)
        structure = (2 * cov + c) / (a.var(1) + b.var(1) + c)
        alike = alike + means @ (alpha[here] / total) + structure @ (beta[here] / total)
        at += a.shape[2]
    near = rise(1 - alike, -2, 2, 0.4, 0.7)
    own = natural(seen)
    k = np.log1p(np.exp(weights["adapter"]["k"]))
    whole = np.exp(k * (natural(wanted) - own)) * own + near
    return {
        "naturalness": own,
        "fidelity": near,
        "unbounded": whole,
        "score": rise(whole, 0, 100, -1.9710, 2.3734),
    }


WEIGHTS = drawn_weights(LAYERS, WIDTH, HIDDEN)
X, Y = (RNG.random((3, 3, 4, 6)).astype("f4") for _ in range(2))


@pytest.mark.parametrize("term", ["score", "unbounded", "fidelity", "naturalness"])
@pytest.mark.share(2)
def test_terms_are_those_of_the_paper(term, device):
    wanted = by_numpy(WEIGHTS, X.astype("f8"), Y.astype("f8"))[term]
    assert np.ptp(wanted) > 1e-3
    for reduction, value in (("none", wanted), ("mean", wanted.mean())):
        metric = m.AFINE(net, in_floats(WEIGHTS), term, reduction, device=device)
        metric.update(fb.tensor(X[:2], device=device), fb.tensor(Y[:2], device=device))
        metric.update(fb.tensor(X[2:], device=device), fb.tensor(Y[2:], device=device))
        assert metric.compute() == pytest.approx(value, rel=1e-3, abs=1e-4)


def test_naturalness_needs_no_other_image():
    metric = m.AFINE(net, WEIGHTS, "naturalness", device="cpu")
    metric.update(cpu(X))
    assert metric.compute() == pytest.approx(by_numpy(WEIGHTS, X, X)["naturalness"].mean(), rel=1e-3)


def test_the_function_has_gradients():
    """Its slope along one direction is a difference of the formula's."""
    x, way, step = cpu(X).requires_grad_(), RNG.normal(size=X.shape), 1e-4
    value = m.functional.afine(x, cpu(Y), net, in_floats(WEIGHTS))
    slope = (value.backward()[x].numpy() * way).sum()
    moved = [by_numpy(WEIGHTS, X + s * way, Y.astype("f8"))["score"].mean() for s in (step, -step)]
    assert slope == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-2)


def by_torch(torch, weights, theirs, x, y):
    """The score of pairs by torch's layers, in the order of the published code."""
    nn, functional = torch.nn, torch.nn.functional
    hidden, width = weights["natural"]["proj_feat.weight"].shape
    parts = {part: {n: torch.tensor(v) for n, v in own.items()} for part, own in weights.items()}
    project = nn.Linear(width, hidden)
    head = nn.Sequential(
        nn.Linear(parts["natural"]["proj_head.0.weight"].shape[1], 6 * hidden),
        nn.GELU(),
        nn.Linear(6 * hidden, 1),
    )
    heads = nn.ModuleDict({"proj_feat": project, "proj_head": head}).double()
    heads.load_state_dict(parts["natural"])
    mean, std = torch.tensor(MEAN), torch.tensor(STD)

    def levels(image):
        inputs = (image - mean) / std
        return [
            (inputs * std + mean).flatten(2).permute(0, 2, 1),
            *map(functional.relu, theirs.features(inputs)),
        ]

    def natural(given):
        told = []
        for k, level in enumerate(given):
            middle = level.mean(1, keepdim=True)
            stats = torch.cat([middle.flatten(1), ((level - middle) ** 2).mean(1)], 1)
            told.append(project(stats) if k else stats)
        scale = parts["natural_scale"]
        return 4 / (1 + torch.exp(-(head(torch.cat(told, 1)) - scale["yita3"]) / scale["yita4"].abs())) - 2

    seen, wanted = levels(x), levels(y)
    alpha, beta = (functional.softplus(parts["fidelity"][n]) for n in ("alpha", "beta"))
    total, sizes = alpha.sum() + beta.sum() + 1e-10, [level.shape[2] for level in seen]
    alike = 0
    for a, b, p, q in zip(seen, wanted, alpha.split(sizes, 2), beta.split(sizes, 2), strict=True):
        ma, mb = a.mean(1, keepdim=True), b.mean(1, keepdim=True)
        va, vb = ((a - ma) ** 2).mean(1, keepdim=True), ((b - mb) ** 2).mean(1, keepdim=True)
        cov = (a * b).mean(1, keepdim=True) - ma * mb
        means = (2 * ma * mb + 1e-10) / (ma**2 + mb**2 + 1e-10)
        structure = (2 * cov + 1e-10) / (va + vb + 1e-10)
        alike = alike + (p / total * means).sum(2) + (q / total * structure).sum(2)
    near = 4 / (1 + torch.exp(-(1 - alike - 0.4) / 0.7)) - 2
    k = functional.softplus(parts["adapter"]["k"])
    whole = torch.exp(k * (natural(wanted) - natural(seen))) * natural(seen) + near
    return 100 / (1 + torch.exp(-(whole + 1.9710) / 2.3734))


def test_over_clip_beside_torch(torch, device):
    """Of CLIP's own size and of others, and several images at once."""
    config = models.ClipVisionConfig(32, 8, 24, 2, 3, 10)
    theirs = torch_clip(torch, config)
    state = {n: value_of(n, tuple(t.shape)) for n, t in theirs.net.state_dict().items()}
    theirs.net.load_state_dict({n: torch.tensor(v) for n, v in state.items()})
    theirs.net.double()
    clip = filled(models.ClipVision(config)).to(device)
    weights = drawn_weights(2, 24, HIDDEN)
    for h, w in ((32, 32), (24, 48)):
        x, y = RNG.random((2, 3, h, w)), RNG.random((2, 3, h, w))
        metric = m.AFINE(clip.features, weights, reduction="none", device=device)
        metric.update(*(fb.tensor(v.astype("f4"), device=device) for v in (x, y)))
        with torch.no_grad():
            wanted = by_torch(torch, weights, theirs, torch.tensor(x), torch.tensor(y))[:, 0].numpy()
        assert metric.compute() == pytest.approx(wanted, rel=2e-3) and np.ptp(wanted) > 1e-3


def test_a_file_of_its_parts(tmp_path):
    """As the published one lies: parts by name, with CLIP's own weights and the constants of both heads."""
    clip = filled(models.ClipVision(models.ClipVisionConfig(16, 8, 8, 2, 2, 3)))
    weights = in_floats(drawn_weights(2, 8, HIDDEN))
    for part in ("natural", "fidelity"):
        weights[part] |= {"mean": cpu(MEAN), "std": cpu(STD)}
    whole = {"visual." + n: t for n, t in clip.state_dict().items()} | {"logit_scale": cpu(1.0)}
    fb.save({"finetuned_clip": whole, **weights}, tmp_path / "afine.pth")
    file = fb.load(tmp_path / "afine.pth", device="cpu")
    found = models.ClipVision(models.ClipVisionConfig(16, 8, 8, 2, 2, 3)).to("cpu").eval()
    models.load_weights(found, file["finetuned_clip"])
    x, y = cpu(RNG.random((1, 3, 16, 16))), cpu(RNG.random((1, 3, 16, 16)))
    scores = []
    for net_of, given in ((clip, weights), (found, file)):
        metric = m.AFINE(net_of.features, given, device="cpu")
        metric.update(x, y)
        scores.append(metric.compute())
    assert scores[0] == scores[1] and 0 < scores[0] < 100


def short(term="score"):
    return m.AFINE(net, in_floats(WEIGHTS), term, device="cpu")


ERRORS = {
    "AFINE(net='clip'): flambeau contains no network weights: pass net=, CLIP's network for images,"
    " and weights=, the contents of A-FINE's file": lambda: m.AFINE("clip", WEIGHTS),
    "AFINE(weights=...): adapter.k are missing: pass the contents of A-FINE's file, by part and name": (
        lambda: m.AFINE(net, {k: v for k, v in WEIGHTS.items() if k != "adapter"})
    ),
    "AFINE(f32[3, 3, 4, 6]): term='score' needs a target: pass one, or create the metric with"
    ' term="naturalness"': (lambda: short().update(cpu(X))),
    "AFINE(f32[3, 1, 4, 6], f32[3, 1, 4, 6]): needs colour images: pass [n, 3, h, w]": (
        lambda: short().update(cpu(X[:, :1]), cpu(Y[:, :1]))
    ),
    "AFINE: net returned [3, 6, 4]: the weights are for 2 layers [n, t, 4]: pass the matching network": (
        lambda: m.AFINE(lambda x: net(x)[:1], WEIGHTS, device="cpu").update(cpu(X), cpu(Y))
    ),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text):
    with pytest.raises((ValueError, TypeError)) as told:
        ERRORS[text]()
    assert str(told.value) == text


def test_terms_are_known():
    with pytest.raises(ValueError, match="term"):
        short("both")
