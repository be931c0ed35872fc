"""A-FINE: an image's naturalness, and its fidelity to a reference, by CLIP features (Chen et al., 2025)."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.dtype import float32
from ..core.node import describe
from ..device import DeviceLike
from ..functions import cat, split
from ..nn import functional as F
from ..tensor import Tensor, tensor
from .image import FeatureMetric, Features, check_network
from .inputs import check_option, refuse

# CLIP's normalisation of images
MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
SMALL = 1e-10  # added to divisors
WANTED = {  # the parts of the published weights that are read, and the names in each
    "natural": (
        *("proj_feat.weight", "proj_feat.bias", "proj_head.0.weight", "proj_head.0.bias"),
        *("proj_head.2.weight", "proj_head.2.bias"),
    ),
    "fidelity": ("alpha", "beta"),
    "natural_scale": ("yita3", "yita4"),
    "fidelity_scale": ("yita3", "yita4"),
    "adapter": ("k",),
}
MIDDLES, WIDTHS = (0.05, 0.95), (0.01, 0.70)  # bounds of the fidelity mapping's parameters
CENTRE, SPREAD = -1.9710, 2.3734  # parameters of the final mapping to 0..100
TERMS = ("score", "unbounded", "fidelity", "naturalness")


def logistic(x: Tensor, middle: Any, width: Any) -> Tensor:
    """Return the logistic function with the given middle and width."""
    return ((x - middle) / (width + SMALL)).sigmoid()


def moments(level: Tensor) -> tuple[Tensor, Tensor]:
    """Return means and variances over positions. [n, t, c] -> [n, c] both"""
    # over positions, as global pooling does; biased variance
    mean = level.mean(1)
    return mean, (level - mean.unsqueeze(1)).square().mean(1)


class AFINE(FeatureMetric):
    """The quality of an image against a reference that need not be perfect; lower is better (Chen et al.,
    2025).

    net: images -> a list of features [n, t, c], as `features` of models.ClipVision; weights: the contents of
    the published file, by part ("natural", "fidelity", "natural_scale", "fidelity_scale", "adapter") and
    name;
    term: "score", from 0 to 100; "unbounded", before it is mapped to that; "fidelity" or "naturalness" alone,
    from -2 to 2; reduction: "mean", "sum" or "none". ValueError for weights that are missing.
    """

    def __init__(
        self,
        net: Features,
        weights: Mapping[str, Mapping[str, Any]],
        term: str = "score",
        reduction: str | None = "mean",
        device: DeviceLike | None = None,
    ):
        super().__init__(reduction, device)
        file = "and weights=, the contents of A-FINE's file"
        check_network(self.name, "net", net, f"net=, CLIP's network for images, {file}")
        check_option(self.name, "term", term, TERMS)
        contents: Any = weights
        parts: dict[str, Any] = dict(weights) if isinstance(contents, Mapping) else {}
        missing = [f"{p}.{n}" for p, names in WANTED.items() for n in names if n not in parts.get(p, ())]
        if missing:
            rule = "pass the contents of A-FINE's file, by part and name"
            raise ValueError(f"{self.name}(weights=...): {', '.join(missing)} are missing: {rule}")
        self.net, self.term = net, term
        self.weights = {p: {n: self._to_tensor(parts[p][n]) for n in names} for p, names in WANTED.items()}

    def _to_tensor(self, value: Any) -> Tensor:
        return value.to(self.device) if isinstance(value, Tensor) else tensor(value, device=self.device)

    def update(self, preds: Tensor, target: Tensor | None = None) -> None:
        """Count images in 0 to 1 and their references. [n, 3, h, w] both; ValueError for other shapes, and if
        target is missing unless term="naturalness"."""
        if target is None and self.term != "naturalness":
            rule = 'needs a target: pass one, or create the metric with term="naturalness"'
            raise ValueError(f"{self.name}({describe(preds)}): term={self.term!r} {rule}")
        one, other = self.check_images(preds, preds if target is None else target)
        if one.shape[1] != len(MEAN):
            refuse(self, preds, target, "needs colour images: pass [n, 3, h, w]")
        seen = self._levels(one)
        natural = self._rate_naturalness(seen)
        if self.term == "naturalness":
            self.add(natural)
            return
        reference_levels = self._levels(other)
        near = self._rate_nearness(seen, reference_levels)
        if self.term == "fidelity":
            self.add(near)
            return
        # Equation of the paper: D = exp(k (N(reference) - N(image))) N(image) + fidelity. The worse the
        # reference, the more the image's own naturalness weighs.
        sharpness = F.softplus(self.weights["adapter"]["k"])
        scores = (sharpness * (self._rate_naturalness(reference_levels) - natural)).exp() * natural + near
        self.add(scores if self.term == "unbounded" else 100 * logistic(scores, CENTRE, SPREAD))

    def _levels(self, x: Tensor) -> list[Tensor]:
        """Return the image and its features, clamped at 0. [n, t, c] each"""
        mean, std = (tensor(list(v), device=x.device).reshape(1, 3, 1, 1) for v in (MEAN, STD))
        features = self.layers((x - mean) / std)
        self._check_layers(features)
        # level 0 is the image itself, [n, h w, 3]
        return [x.flatten(2).transpose(1, 2), *(f.to(float32).relu() for f in features)]

    def _check_layers(self, features: Sequence[Tensor]) -> None:
        """Raise ValueError if the features do not match the weights."""
        natural, alpha = self.weights["natural"], self.weights["fidelity"]["alpha"]
        hidden, width = natural["proj_feat.weight"].shape
        # the head reads mean and variance of 3 colours, and `hidden` projected numbers for each layer
        count = (natural["proj_head.0.weight"].shape[1] - 2 * len(MEAN)) // hidden
        fits = len(features) == count and all(f.ndim == 3 and f.shape[2] * 2 == width for f in features)
        if not fits or alpha.numel() != len(MEAN) + count * width // 2:
            shapes = ", ".join(str(list(f.shape)) for f in features)
            rule = f"the weights are for {count} layers [n, t, {width // 2}]: pass the matching network"
            raise ValueError(f"{self.name}: net returned {shapes}: {rule}")

    def _rate_naturalness(self, levels: list[Tensor]) -> Tensor:
        """Rate how unnatural images are, from -2 to 2. [n]"""
        w, scale = self.weights["natural"], self.weights["natural_scale"]
        image, *features = (cat(moments(level), 1) for level in levels)
        projected = [F.linear(f, w["proj_feat.weight"], w["proj_feat.bias"]) for f in features]
        inner = F.linear(cat([image, *projected], 1), w["proj_head.0.weight"], w["proj_head.0.bias"])
        raw = F.linear(F.gelu(inner), w["proj_head.2.weight"], w["proj_head.2.bias"]).squeeze(1)
        # yita3, yita4: the published names of the middle and the width
        return 4 * logistic(raw, scale["yita3"], scale["yita4"].abs()) - 2

    def _rate_nearness(self, seen: list[Tensor], wanted: list[Tensor]) -> Tensor:
        """Rate the distance of images from their references, from -2 to 2. [n]"""
        weights = [F.softplus(self.weights["fidelity"][name]).reshape(-1) for name in ("alpha", "beta")]
        total = weights[0].sum() + weights[1].sum() + SMALL
        sizes = [level.shape[2] for level in seen]
        alphas, betas = (split(w / total, sizes) for w in weights)
        likeness = [self._like(*each) for each in zip(seen, wanted, alphas, betas, strict=True)]
        scale = self.weights["fidelity_scale"]
        # the published code clamps these two parameters when it uses them
        middle, width = scale["yita3"].clamp(*MIDDLES), scale["yita4"].clamp(*WIDTHS)
        return 4 * logistic(1 - sum(likeness[1:], likeness[0]), middle, width) - 2

    def _like(self, x: Tensor, y: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
        """Weight the similarity of means and structure of a level, as in SSIM. [n]"""
        (mx, vx), (my, vy) = moments(x), moments(y)
        shared = ((x - mx.unsqueeze(1)) * (y - my.unsqueeze(1))).mean(1)
        means = (2 * mx * my + SMALL) / (mx * mx + my * my + SMALL)
        return (alpha * means + beta * (2 * shared + SMALL) / (vx + vy + SMALL)).sum(1)
