"""Rows of the losses and of the normalisations of nn.functional."""

import numpy as np
from references import loss as ref
from references.base import softplus

from .row import COMPOSED, In, Row

X = In((3, 5))
T = In((3,), 0, 4, "i")
P = In((3, 5), 0.1, 0.9)
LISTED = [[1.0, -1.0, 1.0, 1.0, -1.0]] * 3
SIGNS = np.float32(LISTED)
IMAGE = In((2, 4, 3, 3))
C = In((4,), 0.5, 1.5)
LISTS = [[3, 0, -1, 1, 2], [-1, 2, 2, 2, 2], [4, 1, 2, 0, 3]]


def signed(name, **kw):
    """A loss whose targets are 1 and -1, here by column."""

    def call(*xs, **attrs):
        from flambeau import tensor

        return COMPOSED[name](*xs, tensor(LISTED, device=xs[0].device), **attrs, **kw)

    return call


def batch_affine(x, w, b):
    from flambeau.ops.norm import moments

    return COMPOSED["_batch_affine"](x, *moments(x), w, b, eps=1e-5)


def cosine_call(a, b, **attrs):
    from flambeau import tensor

    return COMPOSED["cosine_embedding_loss"](a, b, tensor([1.0, -1.0, -1.0], device=a.device), **attrs)


def gaussian(x, t, v):
    return (0.5 * (np.log(v) + (x - t) ** 2 / v) + 0.5 * np.log(2 * np.pi)).mean()


def poisson(x, t):
    return (np.exp(x) - t * x + np.where(t > 1, t * np.log(t) - t + 0.5 * np.log(2 * np.pi * t), 0)).mean()


def rms(x, w):
    return x / np.sqrt((x * x).mean((1, 2), keepdims=True) + 1e-6) * w


def normed(x, p, dim):
    return x / (np.abs(x) ** p).sum(dim, keepdims=True) ** (1 / p)


def batch(x, w, b):
    return ref.standard(x, (0, 2, 3)) * ref.by_channel(w, x) + ref.by_channel(b, x)


def call(name, *args, **kw):
    return lambda *xs: COMPOSED[name](*xs[:1], *args, *xs[1:], **kw)


LOSS: dict[str, Row] = {
    "mse_loss": Row(lambda x, t: ((x - t) ** 2).mean(), (X, X)),
    "l1_loss": Row(lambda x, t: np.abs(x - t).mean(), (X, X)),
    "huber_loss": Row(lambda x, t, delta: ref.huber(x, t, delta), (X, X), {"delta": 0.7}, grads=1),
    "smooth_l1_loss": Row(lambda x, t, beta: ref.smooth_l1(x, t, beta), (X, X), {"beta": 0.7}, grads=1),
    "nll_loss": Row(lambda x, t, w: ref.nll(x, t, w, 2),
                    (In((3, 5, 2)), In((3, 2), 0, 4, "i"), In((5,), 0.5, 2)),
                    call=lambda x, t, w: COMPOSED["nll_loss"](x, t, w, ignore_index=2)),
    "cross_entropy": Row(lambda x, t, w: ref.cross_entropy(x, t, w, 2, 0.1), (X, T, In((5,), 0.5, 2)),
                         call=lambda x, t, w: COMPOSED["cross_entropy"](x, t, w, 2, label_smoothing=0.1)),
    "_two_class": Row(lambda p, t: -t * np.log(p) - (1 - t) * np.log(1 - p),
                             (P, In((3, 5), 0.1, 0.9)), tol=3e-6),
    "binary_cross_entropy": Row(ref.bce, (P, In((3, 5), 0, 1), In((5,), 0.5, 2)), tol=3e-6),
    "binary_cross_entropy_with_logits": Row(
        ref.bce_logits, (X, In((3, 5), 0, 1), In((5,), 0.5, 2), In((5,), 0.5, 2)),
        call=lambda x, t, w, p: COMPOSED["binary_cross_entropy_with_logits"](x, t, w, pos_weight=p)),
    "kl_div": Row(lambda x, t: (t * (np.log(t) - x)).sum() / 3, (X, P),
                  call=lambda x, t: COMPOSED["kl_div"](x, t, "batchmean")),
    "poisson_nll_loss": Row(poisson, (X, In((3, 5), 0.3, 0.9)), call=call("poisson_nll_loss", full=True)),
    "gaussian_nll_loss": Row(gaussian, (X, X, P), call=call("gaussian_nll_loss", full=True), tol=4e-6),
    "_at_target": Row(lambda x, t, dim: np.take_along_axis(x, t[:, None], dim), (X, T), {"dim": 1},
                call=lambda x, t, dim: COMPOSED["_at_target"](x, t, t, dim=dim)),
    "hinge_embedding_loss": Row(lambda x: ref.hinge(x, SIGNS), (X,), call=signed("hinge_embedding_loss")),
    "margin_ranking_loss": Row(lambda a, b: np.maximum(0, 0.3 - SIGNS * (a - b)).mean(), (X, X), {},
                               call=signed("margin_ranking_loss", margin=0.3)),
    "soft_margin_loss": Row(lambda x: softplus(-SIGNS * x).mean(), (X,), call=signed("soft_margin_loss")),
    "multilabel_soft_margin_loss": Row(lambda x, t: ref.bce_logits(x, t, 1, 1), (X, In((3, 5), 0, 1))),
    "multi_margin_loss": Row(lambda x, t, p: ref.multi_margin(x, t, p), (X, T), {"p": 2}, grads=1),
    "multilabel_margin_loss": Row(
        lambda x: ref.multilabel_margin(x, LISTS), (In((3, 5)),),
        call=lambda x: COMPOSED["multilabel_margin_loss"](x, x.new_tensor(LISTS, "i32"))),
    "triplet_margin_with_distance_loss": Row(
        lambda a, p, n: np.maximum(0, 1 + np.abs(a - p).sum(1) - np.abs(a - n).sum(1)).mean(), (X, X, X),
        call=lambda *xs: COMPOSED["triplet_margin_with_distance_loss"](
            *xs, distance_function=lambda a, b: (a - b).abs().sum(1))),
    "triplet_margin_loss": Row(ref.triplet, (X, X, X), tol=4e-6,
                               call=lambda *xs: COMPOSED["triplet_margin_loss"](*xs, swap=True)),
    "cosine_embedding_loss": Row(lambda a, b, margin: ref.cosine_loss(a, b, np.float32([1, -1, -1]), margin),
                                 (X, X), {"margin": 0.1}, call=cosine_call),
    "normalize": Row(normed, (X,), {"p": 3.0, "dim": 0}, tol=4e-6),
    "cosine_similarity": Row(ref.cosine, (X, X), {"dim": 1}),
    "pairwise_distance": Row(ref.distance, (X, X), tol=4e-6),
    "_batch_affine": Row(batch, (IMAGE, C, C), tol=8e-6, call=batch_affine),
    "batch_norm": Row(batch, (IMAGE, C, C), tol=8e-6, call=call("batch_norm", None, None, training=True)),
    "group_norm": Row(lambda x, w, b: ref.group_norm(x, w, b, 2), (IMAGE, C, C), tol=8e-6,
                      call=call("group_norm", 2)),
    "instance_norm": Row(lambda x, w, b: ref.group_norm(x, w, b, 4), (IMAGE, C, C), tol=8e-6,
                         call=call("instance_norm", None, None)),
    "rms_norm": Row(rms, (In((2, 3, 4)), In((3, 4))), tol=4e-6,
                    call=lambda x, w: COMPOSED["rms_norm"](x, (3, 4), w, 1e-6)),
    "local_response_norm": Row(ref.response, (IMAGE,), {"size": 3, "alpha": 0.5}, tol=4e-6),
    "pixel_shuffle": Row(lambda x: ref.shuffle(x, 2), (In((2, 8, 2, 3)),), call=call("pixel_shuffle", 2)),
    "pixel_unshuffle": Row(lambda x: ref.unshuffle(x, 2), (In((2, 2, 4, 6)),),
                           call=call("pixel_unshuffle", 2)),
}  # fmt: skip
