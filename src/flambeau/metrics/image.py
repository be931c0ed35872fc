"""Distances of images: by pixel errors, by structure, and by a network's features."""

from collections.abc import Callable, Sequence
from math import exp, log, prod
from typing import Any

from ..core.dtype import float32
from ..core.tree import is_row, is_sequence
from ..device import DeviceLike
from ..functions import arange, cat, full, stack
from ..linalg import eigh
from ..nn import functional as F
from ..tensor import Tensor, tensor
from .inputs import check_count, check_option, refuse
from .metric import Metric
from .regression import check_same
from .states import State, counts, mean_of, plus, precise, total_of

# torchmetrics' names; "none" and None are the same.
REDUCTIONS = ("elementwise_mean", "sum", "none", None)


class ImageMetric(Metric):
    """A metric with a value per image, reduced to the mean, the sum, or kept."""

    reductions: tuple[Any, ...] = REDUCTIONS
    higher_is_better = True

    def __init__(self, reduction: str | None, device: DeviceLike | None):
        super().__init__(device)
        check_option(self.name, "reduction", reduction, self.reductions)
        self.reduction = reduction
        if reduction in ("none", None):
            self.add_state("each", [], "cat")
        else:
            self.add_state("sums", precise(2, device=self.device), "precise")

    def add(self, values: Tensor) -> None:
        """Add the values of images. [n]"""
        if "each" in self.states:
            self.states["each"].append(values)
        else:
            n = full((), float(values.shape[0]), device=values.device)
            self.states["sums"].replace_(plus(self.states["sums"], stack([values.sum(), n])))

    def compute(self) -> Any:
        """Return the mean, the sum, or one value per image."""
        if "each" in self.states:
            return cat(self.states["each"]) if self.states["each"] else []
        return total_of(self.states["sums"])[0] if self.reduction == "sum" else mean_of(self.states["sums"])


def in_range(x: Tensor, data_range: Any) -> Tensor:
    """Clamp values if data_range is a pair (low, high); else return them unchanged."""
    return x.clamp(*data_range) if is_sequence(data_range) else x


def span(name: str, data_range: Any) -> float:
    """Return high - low of a data range. ValueError if it is not a range."""
    is_pair = is_sequence(data_range) and len(data_range) == 2
    width = data_range[1] - data_range[0] if is_pair else data_range
    if not isinstance(width, int | float) or width <= 0:
        rule = "must be the width of the value range, or its two ends: pass e.g. 1.0 or (0.0, 1.0)"
        raise ValueError(f"{name}(data_range={data_range!r}): {rule}")
    return float(width)


class PeakSignalNoiseRatio(Metric):
    """10 log(range^2 / mean squared error) to a base: decibels for base 10.

    data_range: the range of values, or a pair (low, high) to which they are clamped; base: of the logarithm;
    dim: the dims that errors are averaged over, None for all; reduction: of the other dims,
    "elementwise_mean", "sum" or "none".
    Raises ValueError if an argument is not valid.
    """

    higher_is_better = True

    def __init__(
        self,
        data_range: float | tuple[float, float],
        base: float = 10.0,
        reduction: str | None = "elementwise_mean",
        dim: int | Sequence[int] | None = None,
        device: DeviceLike | None = None,
    ):
        super().__init__(device)
        check_option(self.name, "reduction", reduction, REDUCTIONS)
        self.span = span(self.name, data_range)
        if dim is None and reduction != "elementwise_mean":
            rule = "without dim the result is one value: pass dim, or leave out reduction"
            raise ValueError(f"{self.name}(reduction={reduction!r}, dim=None): {rule}")
        self.data_range, self.base, self.reduction = data_range, base, reduction
        self.dim = (dim,) if isinstance(dim, int) else None if dim is None else tuple(dim)
        if self.dim is None:
            self.add_state("sums", precise(2, device=self.device), "precise")
        else:
            self.add_state("errors", [], "cat")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count images. [...] both; ValueError if shapes differ."""
        preds, target = check_same(self, preds, target)
        error = (in_range(preds, self.data_range) - in_range(target, self.data_range)) ** 2
        if self.dim is None:
            n = full((), float(error.numel()), device=error.device)
            self.states["sums"].replace_(plus(self.states["sums"], stack([error.sum(), n])))
        else:
            self.states["errors"].append(error.mean(self.dim).reshape(-1))

    def compute(self) -> Any:
        """Return the ratio in decibels; infinite for equal images."""
        if self.dim is None:
            return self._in_base(mean_of(self.states["sums"]))
        if not self.states["errors"]:
            return float("nan")
        ratios = self._in_base(cat(self.states["errors"]))
        if self.reduction in ("none", None):
            return ratios
        return ratios.sum() if self.reduction == "sum" else ratios.mean()

    def _in_base(self, error: Tensor) -> Tensor:
        # log(range^2 / error) in natural logarithms, converted to the base; error 0 gives +inf
        return (2 * log(self.span) - error.log()) * (10 / log(self.base))


class Neighbourhood:
    """The window of a structural comparison: a Gaussian, or a uniform square."""

    def __init__(self, metric: Metric, gaussian_kernel: bool, sigma: Any, kernel_size: Any):
        self.gaussian, self.sigma, self.size = gaussian_kernel, sigma, kernel_size
        if any(s <= 0 for s in (sigma if is_row(sigma) else [sigma])):
            raise ValueError(f"{metric.name}(sigma={sigma!r}): must be a width above 0: pass one")
        if any(k <= 0 or k % 2 == 0 for k in (kernel_size if is_row(kernel_size) else [kernel_size])):
            raise ValueError(
                f"{metric.name}(kernel_size={kernel_size!r}): must be an odd number above 0: pass one"
            )

    def taps(self, dims: int) -> list[list[float]]:
        """Return the window's weights along each dim."""
        sigma: Sequence[float] = self.sigma if is_row(self.sigma) else [self.sigma] * dims
        size: Sequence[int] = self.size if is_row(self.size) else [self.size] * dims
        if not self.gaussian:
            return [[1 / k] * k for k in size]
        # The size follows from sigma; kernel_size counts for uniform windows only.
        return [gaussian_weights(int(3.5 * s + 0.5), s) for s in sigma]  # cut at 3.5 sigma, as torchmetrics

    def averages(self, x: Tensor) -> Tensor:
        """Compute weighted means around each position, with reflected borders. [n, c, ...]"""
        dims = x.ndim - 2
        # A separable window: one convolution along each dim, of the channels as separate images [n c, 1,
        # ...].
        taps = self.taps(dims)
        pads = [p for weights in reversed(taps) for p in (len(weights) // 2,) * 2]
        flat = F.pad(x.reshape(-1, 1, *x.shape[2:]), pads, mode="reflect")
        convolve = F.conv2d if dims == 2 else F.conv3d
        for i, weights in enumerate(taps):
            shape = [1, 1, *(len(weights) if j == i else 1 for j in range(dims))]
            flat = convolve(flat, tensor(weights, dtype=float32, device=x.device).reshape(*shape))
        return flat.reshape(x.shape)


def gaussian_weights(reach: int, sigma: float) -> list[float]:
    """Return the 2 * reach + 1 weights of a Gaussian, normalised to sum 1."""
    raw = [exp(-((i / sigma) ** 2) / 2) for i in range(-reach, reach + 1)]
    return [w / sum(raw) for w in raw]


class StructureMetric(ImageMetric):
    """The common part of SSIM at one scale and at several."""

    window: Neighbourhood
    data_range: Any
    k1: float
    k2: float

    def _take(self, window: Neighbourhood, data_range: Any, k1: float, k2: float) -> None:
        if data_range is not None:
            span(self.name, data_range)
        self.window, self.data_range, self.k1, self.k2 = window, data_range, k1, k2

    def check_images(self, preds: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Convert images to float32. ValueError unless they are [n, c, h, w] or [n, c, d, h, w]."""
        preds, target = check_same(self, preds, target)
        if preds.ndim not in (4, 5):
            refuse(self, preds, target, "takes images: pass [n, c, h, w], or [n, c, d, h, w]")
        reach = [len(t) // 2 for t in self.window.taps(preds.ndim - 2)]
        if any(r >= s for r, s in zip(reach, preds.shape[2:], strict=True)):
            refuse(
                self,
                preds,
                target,
                f"images are smaller than the window, {[2 * r + 1 for r in reach]}: use a smaller window",
            )
        return preds, target

    def similarities(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return (structural similarity of each image [n], contrast term at each position [n, c, ...])."""
        n = x.shape[0]
        if self.data_range is None:
            # The range of this batch, a tensor: no readback, but the value depends on how data are batched.
            reach = (x.amax() - x.amin()).maximum(y.amax() - y.amin())
        else:
            reach = span(self.name, self.data_range)
            x, y = in_range(x, self.data_range), in_range(y, self.data_range)
        # stabilise the divisions where the means or variances are near 0
        c1, c2 = (self.k1 * reach) ** 2, (self.k2 * reach) ** 2
        # One convolution of all five: E[x], E[y], E[x^2], E[y^2], E[xy]. Variances follow as E[x^2] - E[x]^2.
        mx, my, xx, yy, xy = self.window.averages(cat([x, y, x * x, y * y, x * y])).split(n)
        # E[x^2] - E[x]^2 may be below 0 by rounding.
        spread = (xx - mx * mx).clamp(min=0) + (yy - my * my).clamp(min=0) + c2
        contrast = (2 * (xy - mx * my) + c2) / spread
        likeness = (2 * mx * my + c1) / (mx * mx + my * my + c1) * contrast
        return likeness.reshape(n, -1).mean(1), contrast


class StructuralSimilarityIndexMeasure(StructureMetric):
    """Structural similarity: brightness, contrast and structure in local windows (Wang et al., 2004).

    gaussian_kernel: use a Gaussian window of width sigma; else a uniform one of kernel_size. reduction:
    "elementwise_mean", "sum" or "none". data_range: the range of values, a pair (low, high) to which they are
    clamped, or None for the range of each batch. k1, k2: stabilise the divisions, relative to the range.
    Raises ValueError if an argument is not valid.
    """

    def __init__(
        self,
        gaussian_kernel: bool = True,
        sigma: float | Sequence[float] = 1.5,
        kernel_size: int | Sequence[int] = 11,
        reduction: str | None = "elementwise_mean",
        data_range: float | tuple[float, float] | None = None,
        k1: float = 0.01,
        k2: float = 0.03,
        device: DeviceLike | None = None,
    ):
        super().__init__(reduction, device)
        self._take(Neighbourhood(self, gaussian_kernel, sigma, kernel_size), data_range, k1, k2)

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count images. [n, c, h, w] or [n, c, d, h, w]; ValueError for other shapes."""
        self.add(self.similarities(*self.check_images(preds, target))[0])


# the exponents of Wang et al. (2003), measured with viewers, from the finest scale to the coarsest
BETAS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


class MultiScaleStructuralSimilarityIndexMeasure(StructureMetric):
    """The product of structural similarities over scales, each half the size of the last (Wang et al., 2003).

    kernel_size, sigma, reduction, k1, k2: as in StructuralSimilarityIndexMeasure
    betas: the exponent of each scale
    normalize: how negative values are handled before exponents: "relu", "simple" ((x + 1) / 2) or None
    gaussian_kernel: use a Gaussian window, not a uniform one
    data_range: the range of values, a pair (low, high), or None for the range of each batch
    Raises ValueError if an argument is not valid.
    """

    def __init__(
        self,
        gaussian_kernel: bool = True,
        kernel_size: int | Sequence[int] = 11,
        sigma: float | Sequence[float] = 1.5,
        reduction: str | None = "elementwise_mean",
        data_range: float | tuple[float, float] | None = None,
        k1: float = 0.01,
        k2: float = 0.03,
        betas: Sequence[float] = BETAS,
        normalize: str | None = "relu",
        device: DeviceLike | None = None,
    ):
        super().__init__(reduction, device)
        self._take(Neighbourhood(self, gaussian_kernel, sigma, kernel_size), data_range, k1, k2)
        check_option(self.name, "normalize", normalize, ("relu", "simple", None))
        self.betas, self.normalize = tuple(betas), normalize

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count images. [n, c, h, w] or [n, c, d, h, w]; ValueError for others."""
        x, y = self.check_images(preds, target)
        sizes: Sequence[int] = self.window.size if is_row(self.window.size) else [self.window.size]
        # Each scale halves the image: the window must still fit the smallest one. torchmetrics has the same
        # bounds.
        least = (max(sizes) - 1) * max(1, len(self.betas) - 1) ** 2
        if min(x.shape[-2:]) < 2 ** len(self.betas) or min(x.shape[-2:]) // max(
            1, len(self.betas) - 1
        ) ** 2 < max(sizes):
            refuse(
                self,
                preds,
                target,
                f"images of {len(self.betas)} scales must be larger than {least}: pass fewer betas",
            )
        self.add(self._product(x, y))

    def _inner(self, contrast: Tensor) -> Tensor:
        """Average over the positions where the window lies inside the image. [n]"""
        for dim, taps in enumerate(self.window.taps(contrast.ndim - 2), 2):
            edge = len(taps) // 2
            contrast = contrast.narrow(dim, edge, contrast.shape[dim] - 2 * edge)
        return contrast.reshape(contrast.shape[0], -1).mean(1)

    def _product(self, x: Tensor, y: Tensor) -> Tensor:
        """Multiply the contrasts of all scales, and the similarity of the smallest, to their exponents.
        [n]"""
        pool = F.avg_pool2d if x.ndim == 4 else F.avg_pool3d
        product = None
        for i, beta in enumerate(self.betas):
            similarity, contrast = self.similarities(x, y)
            # brightness counts at the coarsest scale only
            part = similarity if i == len(self.betas) - 1 else self._inner(contrast)
            # A negative contrast to a fractional exponent would be NaN.
            part = part.relu() if self.normalize == "relu" else (part + 1) / 2 if self.normalize else part
            product = part**beta if product is None else product * part**beta
            x, y = pool(x, 2), pool(y, 2)
        assert product is not None
        return product


# --- by the features of a network, which the user passes ---


def check_network(name: str, argument: str, network: Any, wanted: str) -> None:
    """Raise TypeError for an object that can't be called, such as a network's name (torchmetrics downloads
    its weights; flambeau contains none)."""
    if not callable(network):
        rule = f"flambeau contains no network weights: pass {wanted}"
        raise TypeError(f"{name}({argument}={network!r}): {rule}")


class FrechetInceptionDistance(Metric):
    """The Frechet distance of the features of real and generated images, as two Gaussians (Heusel et al.,
    2017).

    feature: the network, images -> [n, d]; num_features: d, measured by a call if None; reset_real_features:
    whether reset() drops the real ones too. Papers' figures need Inception v3's pooled 2048 features.
    input_img_size: the size of the image that measures num_features
    Raises TypeError if feature is not a network; ValueError if num_features is not an integer above 0.
    """

    higher_is_better = False

    def __init__(
        self,
        feature: Callable[[Tensor], Tensor],
        reset_real_features: bool = True,
        num_features: int | None = None,
        input_img_size: tuple[int, int, int] = (3, 299, 299),
        device: DeviceLike | None = None,
    ):
        super().__init__(device)
        description = (
            "a network that computes features [n, d] of images, e.g. Inception v3 without its last layer"
        )
        check_network(self.name, "feature", feature, description)
        self.feature, self.reset_real_features = feature, reset_real_features
        d = getattr(feature, "num_features", None) if num_features is None else num_features
        if d is None:
            d = feature(Tensor.zeros((1, *input_img_size), dtype=float32, device=self.device)).shape[-1]
        check_count(self.name, "num_features", d, 1)
        for kind in ("real", "fake"):
            self.add_state(f"{kind}_n", precise(device=self.device), "precise")
            self.add_state(f"{kind}_mean", Tensor.zeros((d,), dtype=float32, device=self.device))
            self.add_state(f"{kind}_spread", Tensor.zeros((d, d), dtype=float32, device=self.device))

    def update(self, imgs: Tensor, real: bool) -> None:
        """Count images. real: whether they are real ones; ValueError if features are not [n, d]."""
        x = self.feature(imgs).to(float32)
        if x.ndim != 2 or x.shape[1] != self.states["real_mean"].shape[0]:
            features_expected = self.states["real_mean"].shape[0]
            refuse(self, imgs, x, f"features are not [n, {features_expected}]: pool and flatten them")
        count, mean = x.shape[0], x.mean(0)
        # a compensated count, [sum, error]: float32 is exact to 2^24 images only
        n = full((2,), float(count), device=x.device) * tensor([1.0, 0.0], device=x.device)
        centred = x - mean
        self._add("real" if real else "fake", {"n": n, "mean": mean, "spread": centred.T @ centred})

    def _add(self, kind: str, part: dict[str, Tensor]) -> None:
        """Join moments (Chan, Golub and LeVeque, 1983)."""
        n, mean, spread = (self.states[f"{kind}_{k}"] for k in part)
        # Sums of squares about the mean, not raw ones: raw sums over 10^5 images lose the variance to
        # rounding.
        before, added = total_of(n), total_of(part["n"])
        both = before + added
        share = (both > 0).where(added / both, 0.0)
        difference = part["mean"] - mean
        # the correction for different means: n m / (n + m) times the outer product of their difference
        new = spread + part["spread"] + difference.unsqueeze(0) * difference.unsqueeze(1) * (before * share)
        moved = mean + difference * share
        n.assign_(plus(plus(n, part["n"][0]), part["n"][1]))
        mean.assign_(moved)
        spread.assign_(new)

    def join(self, theirs: dict[str, State]) -> None:
        for kind in ("real", "fake"):
            self._add(kind, {k: theirs[f"{kind}_{k}"].to(self.device) for k in ("n", "mean", "spread")})

    def reset(self) -> None:
        """Reset the states; keeps the features of real images if reset_real_features is False."""
        real_states = (
            {} if self.reset_real_features else {k: s.clone() for k, s in self.states.items() if k[0] == "r"}
        )
        super().reset()
        for name, state in real_states.items():
            self.states[name].assign_(state)

    def compute(self) -> Any:
        """Return the distance, at least 0. ValueError for fewer than 2 images of a kind."""
        parts = [[self.states[f"{k}_{s}"] for s in ("n", "mean", "spread")] for k in ("real", "fake")]
        # unbiased covariance, as in the reference implementation
        (m1, s1), (m2, s2) = ((mean, spread / (total_of(n) - 1)) for n, mean, spread in parts)
        # |m1 - m2|^2 + tr(s1) + tr(s2) - 2 tr(sqrt(s1 s2)). The last trace is that of sqrt(r s2 r) with
        # r = sqrt(s1), which is symmetric, so eigh suffices; negative eigenvalues are rounding.
        values, vectors = eigh(s1)
        root = (vectors * values.clamp(min=0).sqrt()) @ vectors.T
        inner = root @ s2 @ root
        shared = eigh((inner + inner.T) / 2)[0].clamp(min=0).sqrt().sum()
        return ((m1 - m2) ** 2).sum() + s1.trace() + s2.trace() - 2 * shared

    def wrong(self) -> Any:
        return total_of(self.states["real_n"]), total_of(self.states["fake_n"])

    def check(self, counts: Sequence[int]) -> None:
        if min(counts) < 2:
            real, fake = (f"{n:.0f}" for n in counts)
            rule = "the covariance needs at least 2 images of each kind: update with more"
            raise ValueError(f"{self.name}.compute(): {real} real and {fake} generated: {rule}")


Features = Callable[[Tensor], Sequence[Tensor]]


class FeatureMetric(ImageMetric):
    """A distance of a network's features at several layers."""

    reductions = ("mean", "sum", "none", None)
    higher_is_better = False
    net: Features

    def layers(self, x: Tensor) -> Sequence[Tensor]:
        """Return the features of images. [n, c, h, w] each"""
        # Iterating over one tensor would take its samples for layers.
        features = self.net(x)
        if isinstance(features, Tensor):
            rule = (
                "the network returned one tensor: pass one that returns a list with a tensor for each layer"
            )
            raise TypeError(f"{self.name}: net({x.shape}): {rule}")
        return list(features)

    def check_images(self, preds: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        preds, target = check_same(self, preds, target)
        if preds.ndim != 4:
            refuse(self, preds, target, "takes images: pass [n, c, h, w]")
        return preds, target

    def check_weights(self, argument: str, weights: Sequence[Tensor], layers: Sequence[Tensor]) -> None:
        sizes, channels = [prod(w.shape) for w in weights], [f.shape[1] for f in layers]
        if sizes != channels:
            rule = f"layers have {channels} channels, weights {sizes}: pass a weight for each channel"
            raise ValueError(f"{self.name}({argument}=...): {rule}")


class LearnedPerceptualImagePatchSimilarity(FeatureMetric):
    """The distance of images in a network's features, with channel weights (LPIPS; Zhang et al., 2018).

    net: images -> a list of features [n, c, h, w] (VGG's, AlexNet's or SqueezeNet's); weights: for each layer
    one number a channel, or None for 1 / channels; reduction: "mean", "sum" or "none"; normalize: images are
    from 0 to 1, not from -1 to 1. shift, scale: channels are normalised to (x - shift) / scale.
    Raises TypeError if net is not a network; ValueError if another argument is not valid.
    """

    def __init__(
        self,
        net: Features,
        weights: Sequence[Tensor] | None = None,
        reduction: str | None = "mean",
        normalize: bool = False,
        shift: Sequence[float] = (-0.030, -0.088, -0.188),
        scale: Sequence[float] = (0.458, 0.448, 0.450),
        device: DeviceLike | None = None,
    ):
        super().__init__(reduction, device)
        description = (
            "net=, a network that computes a list of features of images, and weights= of its channels"
        )
        check_network(self.name, "net", net, description)
        self.net, self.weights, self.normalize = net, weights, normalize
        self.shift, self.scale = shift, scale

    def update(self, img1: Tensor, img2: Tensor) -> None:
        """Count pairs. [n, 3, h, w] both; ValueError for other shapes."""
        one, other = (self._features(x) for x in self.check_images(img1, img2))
        if self.weights is not None:
            self.check_weights("weights", self.weights, one)
        distances = [self._layer_distance(i, a, b) for i, (a, b) in enumerate(zip(one, other, strict=True))]
        self.add(sum(distances[1:], distances[0]))

    def _features(self, x: Tensor) -> Sequence[Tensor]:
        x = 2 * x - 1 if self.normalize else x
        shift, scale = (
            tensor(list(v), device=x.device).reshape(1, -1, 1, 1) for v in (self.shift, self.scale)
        )
        # each position's vector over channels has length 1
        return [f / (f.square().sum(1, keepdim=True) + 1e-8).sqrt() for f in self.layers((x - shift) / scale)]

    def _layer_distance(self, layer: int, a: Tensor, b: Tensor) -> Tensor:
        """Sum the squared differences of normalised features over channels, and average over positions.
        [n]"""
        difference = (a - b).square().mean((2, 3))
        if self.weights is None:
            return difference.mean(1)
        return (difference * self.weights[layer].reshape(1, -1)).sum(1)


class DeepImageStructureAndTextureSimilarity(FeatureMetric):
    """The distance of images in the means and the structure of a network's features (DISTS; Ding et al.,
    2020).

    net: images -> a list of features [n, c, h, w], beginning with the image itself; alpha, beta: for each
    layer the weights of means and structure per channel (equal if None); reduction: "mean", "sum" or "none".
    Raises TypeError if net is not a network; ValueError if another argument is not valid.
    """

    def __init__(
        self,
        net: Features,
        alpha: Sequence[Tensor] | None = None,
        beta: Sequence[Tensor] | None = None,
        reduction: str | None = "mean",
        device: DeviceLike | None = None,
    ):
        super().__init__(reduction, device)
        description = (
            "net=, a network that computes a list of features of images, and alpha= and beta= of its channels"
        )
        check_network(self.name, "net", net, description)
        self.net, self.alpha, self.beta = net, alpha, beta

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count pairs. [n, c, h, w] both; ValueError for other shapes."""
        one, other = (self.layers(x) for x in self.check_images(preds, target))
        weights: list[list[Tensor]] = []
        for argument, factors in (("alpha", self.alpha), ("beta", self.beta)):
            if factors is not None:
                self.check_weights(argument, factors, one)
            weights.append(
                [full((1, f.shape[1]), 1.0, device=f.device) for f in one]
                if factors is None
                else [w.reshape(1, -1) for w in factors]
            )
        # the weights sum to 1 over all layers and both terms
        total = sum((w.sum() for group in weights for w in group), tensor(0.0, device=preds.device))
        likeness = [self._like(a, b, p, q) for a, b, p, q in zip(one, other, *weights, strict=True)]
        self.add(1 - sum(likeness[1:], likeness[0]) / total)

    def _like(self, a: Tensor, b: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
        """Weight the similarity of means and structure of one layer, as in SSIM, over channels. [n]"""
        # c1 and c2 of SSIM, for features instead of pixels
        small = 1e-6
        ma, mb = a.mean((2, 3)), b.mean((2, 3))
        means = (2 * ma * mb + small) / (ma * ma + mb * mb + small)
        spread = (a * a).mean((2, 3)) - ma * ma + (b * b).mean((2, 3)) - mb * mb
        structure = (2 * ((a * b).mean((2, 3)) - ma * mb) + small) / (spread + small)
        return (alpha * means + beta * structure).sum(1)


# --- segmentations ---


class DiceScore(Metric):
    """Dice score of two segmentations: 2 * intersection / (predicted + actual), in positions.

    include_background: count class 0 too; average: "micro", "macro", "weighted" or "none" over classes;
    aggregation_level: "samplewise" averages over images, "global" counts all of them as one. input_format:
    "one-hot" ([n, c, ...], ones or scores), "index" ([n, ...], classes) or "mixed" (one of each).
    num_classes: the number of classes
    Raises ValueError if an argument is not valid.
    """

    higher_is_better = True

    def __init__(
        self,
        num_classes: int,
        include_background: bool = True,
        average: str | None = "macro",
        aggregation_level: str = "samplewise",
        input_format: str = "one-hot",
        device: DeviceLike | None = None,
    ):
        super().__init__(device)
        check_count(self.name, "num_classes", num_classes, 1)
        check_option(self.name, "average", average, ("micro", "macro", "weighted", "none", None))
        check_option(self.name, "aggregation_level", aggregation_level, ("samplewise", "global"))
        check_option(self.name, "input_format", input_format, ("one-hot", "index", "mixed"))
        self.num_classes, self.include_background, self.average = num_classes, include_background, average
        self.aggregation_level, self.input_format = aggregation_level, input_format
        if aggregation_level == "global":
            self.add_state("places", counts(3, num_classes, device=self.device), "sum")
        else:
            self.add_state("places", [], "cat")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count images. [n, c, ...] or [n, ...]; ValueError if shapes do not fit input_format."""
        if self.input_format != "mixed" and preds.shape != target.shape:
            refuse(self, preds, target, "shapes differ: pass a prediction for each target")
        labels = [self._labels(x, preds, target) for x in (preds, target)]
        if labels[0].shape != labels[1].shape or labels[0].ndim < 3:
            refuse(
                self,
                preds,
                target,
                f"the shape does not fit input_format={self.input_format!r}: pass images of classes",
            )
        a, b = labels
        # [n, 3, c]: intersection, predicted and actual positions of each class
        counts = stack([(a & b).flatten(2).sum(2), a.flatten(2).sum(2), b.flatten(2).sum(2)], 1)
        if self.aggregation_level == "global":
            self.states["places"].replace_(self.states["places"] + counts.sum(0))
        else:
            self.states["places"].append(counts)

    def _labels(self, x: Tensor, preds: Tensor, target: Tensor) -> Tensor:
        """Convert labels or scores to a mask of each class. [n, c, ...]"""
        is_index = self.input_format == "index" or (
            self.input_format == "mixed" and x.ndim < max(preds.ndim, target.ndim)
        )
        if not is_index and (x.ndim < 2 or x.shape[1] != self.num_classes):
            refuse(
                self,
                preds,
                target,
                f"dim 1 is not the {self.num_classes} classes: pass [n, {self.num_classes}, ...]",
            )
        if not is_index and not x.dtype.is_float:
            return x != 0
        index = x if is_index else x.argmax(1)
        classes = arange(self.num_classes, device=x.device).reshape(-1, *[1] * (index.ndim - 1))
        return index.unsqueeze(1) == classes

    def compute(self) -> Any:
        """Return the score, or one per class for average="none"; NaN for classes that are absent."""
        kept: Any = self.states["places"]
        if not isinstance(kept, Tensor):
            if not kept:
                return float("nan")
            kept = cat(kept)
        else:
            kept = kept.unsqueeze(0)
        places: Tensor = kept
        places = places if self.include_background else places[:, :, 1:]
        # [n, c] each; a class without predicted and actual positions is 0 / 0 = NaN, and left out of means
        shared, predicted, actual = places.to(float32).unbind(1)
        if self.average == "micro":
            shared, predicted, actual = (t.sum(1) for t in (shared, predicted, actual))
            return nanmean(2 * shared / (predicted + actual), 0)
        score = 2 * shared / (predicted + actual)
        if self.average == "macro":
            return nanmean(nanmean(score, 1), 0)
        if self.average == "weighted":
            # Weights by the actual positions of a sample: without any, the sample counts 0, as in
            # torchmetrics; a sample of NaN alone stays NaN.
            weighted = (score * (actual / actual.sum(1, keepdim=True))).nan_to_num(0.0)
            return nanmean(score.isnan().all(1).where(float("nan"), weighted.sum(1)), 0)
        return nanmean(score, 0)


def nanmean(x: Tensor, dim: int) -> Tensor:
    """Average over a dim, without the NaN."""
    ok = ~x.isnan()
    return ok.where(x, 0.0).sum(dim) / ok.sum(dim)
