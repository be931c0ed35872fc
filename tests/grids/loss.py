"""Grids of losses: reductions, weights, classes that are left out.

Those with a margin are not compared in half precision, where a rounding takes a place to its other side.
"""

import numpy as np

from .draw import still
from .grid import Table, call

GRIDS = Table()


def reduction(d) -> dict:
    return {"reduction": d.one("mean", "sum", "none")}


def signs(d, shape):
    return still((d.bools(shape) * 2 - 1).astype("f4"))


@GRIDS("l1_loss", "mse_loss", "huber_loss", "smooth_l1_loss")
def distances(d, name):
    shape = d.shape(1, empty=False)
    more = {"huber_loss": {"delta": d.float(0.3, 2)}, "smooth_l1_loss": {"beta": d.float(0.3, 2)}}.get(
        name, {}
    )
    return call(d.array(shape), d.array(shape), **more, **reduction(d))


@GRIDS("binary_cross_entropy", "binary_cross_entropy_with_logits", fixed=3)
def binary(d, name):
    shape = d.shape(1, empty=False)
    logits = name.endswith("logits")
    more = {"weight": still(d.array(shape, 0.1, 2))} if d.maybe(0.4) else {}
    if logits and d.maybe(0.4):
        more["pos_weight"] = still(d.array(shape[-1:], 0.5, 3))
    x = d.array(shape, -9, 9) if logits else d.array(shape, 0.05, 0.95)
    return call(x, still(d.array(shape, 0, 1)), **more, **reduction(d))


def classes(d, most: int = 1000):
    """Scores [n, classes, ...] and a class for each of their places, some of them one to leave out."""
    n, count = d.one(1, 2, 5, 16, 33), d.one(2, 3, 10, 17, 100, most)
    places = d.one((), (), (3,), (2, 5))
    batch = () if d.maybe(0.1) and not places else (n,)
    target = d.ints((*batch, *places), 0, count - 1)
    weight = {"weight": still(d.array((count,), 0.1, 2))} if d.maybe(0.4) else {}
    ignored = {"ignore_index": d.int(0, count - 1)} if d.maybe(0.3) else {}
    if ignored and (target == ignored["ignore_index"]).all():
        target.flat[0] = (ignored["ignore_index"] + 1) % count  # a mean over none is NaN
    return (*batch, count, *places), target, {**weight, **ignored}


@GRIDS("cross_entropy", fixed=7)
def cross_entropy(d):
    shape, target, more = classes(d)
    smoothing = {"label_smoothing": d.float(0.05, 0.3)} if d.maybe(0.4) else {}
    if d.maybe(0.25):
        more.pop("ignore_index", None)
        target = d.array(shape, 0, 1)
    return call(
        d.array(shape, -5, 5),
        still(target) if target.dtype.kind == "f" else target,
        **more,
        **smoothing,
        **reduction(d),
    )


@GRIDS("nll_loss", fixed=4)
def nll_loss(d):
    shape, target, more = classes(d)
    return call(d.array(shape, -5, 0), target, **more, **reduction(d))


@GRIDS("kl_div")
def kl_div(d):
    shape, log = d.shape(1, empty=False), d.maybe()
    how = d.one("mean", "sum", "none", "batchmean")
    return call(
        d.array(shape, -3, 0),
        d.array(shape, -3, 0) if log else d.array(shape, 0.1, 1),
        log_target=log,
        reduction=how,
    )


@GRIDS("poisson_nll_loss")
def poisson(d):
    shape = d.shape(1, empty=False)
    more = {"log_input": d.maybe(), "full": d.maybe()}
    return call(d.array(shape, 0.2, 2), still(d.ints(shape, 0, 9).astype("f4")), **more, **reduction(d))


@GRIDS("gaussian_nll_loss")
def gaussian(d):
    shape, at = d.shape(1, empty=False), d.int(0, 9)
    at %= len(shape)
    of_var = d.one(shape, shape[:-1], (*shape[:at], 1, *shape[at + 1 :]))
    more = {"full": d.maybe(), **({"eps": d.float(0.5, 1)} if d.maybe(0.3) else {})}
    return call(d.array(shape), still(d.array(shape)), d.array(of_var, 0.3, 2), **more, **reduction(d))


@GRIDS("hinge_embedding_loss", "soft_margin_loss", half=False)
def of_signs(d, name):
    shape = d.shape(1, empty=False)
    more = {"margin": d.float(0.5, 2)} if name[0] == "h" else {}
    return call(d.array(shape), signs(d, shape), **more, **reduction(d))


@GRIDS("margin_ranking_loss", half=False)
def ranking(d):
    shape = d.shape(1, empty=False)
    return call(d.array(shape), d.array(shape), signs(d, shape), margin=d.float(0, 1), **reduction(d))


@GRIDS("cosine_embedding_loss", half=False)
def cosine(d):
    n, k = d.size(), d.size(33)
    return call(
        d.array((n, k), 0.2, 2), d.array((n, k)), signs(d, (n,)), margin=d.float(-0.5, 0.5), **reduction(d)
    )


@GRIDS("multi_margin_loss", half=False)
def multi_margin(d):
    n, count = d.size(33), d.int(2, 33)
    weight = {"weight": still(d.array((count,), 0.1, 2))} if d.maybe(0.4) else {}
    return call(
        d.array((n, count)),
        d.ints((n,), 0, count - 1),
        p=d.one(1, 2),
        margin=d.float(0.3, 2),
        **weight,
        **reduction(d),
    )


@GRIDS("multilabel_margin_loss", half=False)
def multilabel_margin(d):
    n, count = d.size(9), d.int(2, 12)
    targets = d.rng.permuted(d.ints((n, 1), 0, 0) + list(range(count)), axis=1).astype("i4")
    targets[:, d.int(1, count - 1) :] = -1  # the rest does not count
    return call(d.array((n, count)), targets, **reduction(d))


@GRIDS("multilabel_soft_margin_loss")
def multilabel_soft_margin(d):
    shape = (d.size(33), d.size(33))
    weight = {"weight": still(d.array(shape[1:], 0.1, 2))} if d.maybe(0.4) else {}
    return call(d.array(shape), still(d.bools(shape).astype("f4")), **weight, **reduction(d))


@GRIDS("triplet_margin_loss", half=False)
def triplet(d):
    shape = (d.size(), d.size(33))
    return call(
        d.array(shape),
        d.array(shape),
        d.array(shape),
        margin=d.float(0.5, 2),
        p=d.one(1.0, 2.0, 3.0),
        swap=d.maybe(),
        **reduction(d),
    )


@GRIDS("triplet_margin_with_distance_loss", half=False)
def triplet_of_distance(d):
    shape = (d.size(), d.size(33))
    return call(
        d.array(shape), d.array(shape), d.array(shape), margin=d.float(0.5, 2), swap=d.maybe(), **reduction(d)
    )


def through_log_softmax(f):
    """torch's own gradient takes it for granted that the input is one."""
    return lambda x, *args, **kwargs: f(x.log_softmax(-1), *args, **kwargs)


def ours_of_ctc(*args, **kwargs):
    from flambeau.nn import functional as F

    return through_log_softmax(F.ctc_loss)(*args, **kwargs)


def theirs_of_ctc(torch, x, targets, steps, counts, **kwargs):
    f = through_log_softmax(torch.nn.functional.ctc_loss)
    return f(x, targets, tuple(steps), tuple(counts), **kwargs)


@GRIDS("ctc_loss", ours=ours_of_ctc, theirs=theirs_of_ctc, half=False, fixed=3)
def ctc(d):
    n, most, blank = d.int(1, 4), d.int(1, 5), d.int(0, 2)
    labels = [c for c in range(6) if c != blank]
    targets = d.rng.choice(labels, (n, most)).astype("i4")
    counts = [d.int(1, most) for _ in range(n)]
    short = d.maybe(0.3)  # for an alignment, so that a loss is infinite
    steps = [(1 if short else 2 * most + 1) + d.int(0, 4) for _ in range(n)]
    if d.maybe():
        targets = np.concatenate([row[:count] for row, count in zip(targets, counts)])
    more = {"blank": blank, "zero_infinity": short, **reduction(d)}
    return call(d.array((max(steps), n, 6)), targets, steps, counts, **more)


WITHOUT = {"rnnt_loss": "torchaudio's, not in torch: tests/references/resize.py adds up all alignments"}
