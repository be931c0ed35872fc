"""Rows of convolutions, pools, interpolation, sampling, bags and CTC."""

from functools import partial

import numpy as np
from references.base import conv, conv_views, fold, max_pool, window_sum
from references.conv import (
    adaptive,
    adaptive_taken,
    avg_pool,
    col2im,
    conv_transpose,
    deform_conv2d,
    im2col,
    lp_pool,
    max_unpool,
)
from references.conv import max_pool as max_pool_loop
from references.resize import (
    affine_grid,
    along,
    ctc_alphas,
    ctc_loss,
    ctc_walk,
    embedding_bag,
    grid_sample,
    interpolate,
    resize_matrix,
    rnnt_loss,
)

from flambeau.core.shape import Window
from flambeau.ops.conv.resize import ResizedDim

from .row import COMPOSED, In, Row

W2 = (Window(2, 2, 1, 0, 0), Window(3, 1, 2, 1, 1))
W = (Window(3, 2, 1, 1, 1),)
PAIR = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2}
X1, X2, X3 = In((2, 3, 9)), In((2, 3, 6, 6)), In((1, 2, 4, 3, 4))
CUBIC = {"dim": 2, "line": ResizedDim(5, 8, 10, -3, 16, "cubic")}  # positions (i + 1/2) * 5/8 - 1/2
WALK = In((2, 4, 5), 0, 1)


def mean(v, i):
    return v.mean(-1)


def top(v, i):
    return v.max(-1)


def unpool(nd):
    """max_unpool to three times the size; places may be named twice, and each has the gradient then, as in
    PyTorch: that is not the slope."""

    def call(x, index, **_):
        return COMPOSED[f"max_unpool{nd}d"](x, index, 3, output_size=(9, 6, 3)[:nd])

    shape = (2, 3, *(3, 2, 1)[:nd])
    given = (In(shape), In(shape, 0, 8, "i"))
    return Row(lambda x, i: max_unpool(x, i, (9, 6, 3)[:nd]), given, grads=0, call=call)


def reached(y):
    """States that can't be reached have a stand-in for minus infinity, which no slope can be taken of."""
    return np.where(y > -1e29, y, 0)


def alphas(x, may):
    y = x._ctc_alphas(may.where(0.0, -1e30))
    return (y > -1e29).where(y, 0.0).to(x.dtype)


STARTS = (0, 2, 2, 5)  # of four bags of 9 indices; the second is empty


def bag(**attrs):
    def call(i, w, o):
        places = type(o).arange(4, device=o.device)
        starts = sum((places >= b).int() * (n - m) for b, m, n in zip(range(1, 4), STARTS, STARTS[1:]))
        return COMPOSED["embedding_bag"](i, w, o + starts, **attrs)

    inputs = (In((9,), 0, 3, "i"), In((4, 5)), In((4,), 0, 0, "i"))
    return Row(lambda i, w, o: embedding_bag(i, w, o + np.array(STARTS), **attrs), inputs, call=call)


CONV: dict[str, Row] = {
    "conv": Row(conv, (In((2, 4, 5, 6)), In((6, 2, 3, 2))), PAIR),
    "conv1d": Row(conv, (In((2, 4, 9)), In((6, 2, 3)), In((6,))), {"stride": 2, "padding": 1, "groups": 2}),
    # the products that `winograd` adds up, where it is forced, are some times as large as the taps'
    "conv2d": Row(conv, (In((2, 3, 5, 5)), In((4, 3, 3, 3)), In((4,))), {"padding": 1}, tol=6e-6),
    "conv3d": Row(conv, (In((1, 2, 4, 4, 4)), In((3, 2, 2, 2, 2))), {"dilation": 2, "padding": 1}),
    "conv_transpose": Row(
        lambda x, w, size, **attrs: conv_transpose(x, w, output_padding=(1, 0), **attrs),
        (In((2, 4, 3, 5)), In((4, 3, 3, 2))), {"size": (6, 3), **PAIR},
    ),
    "conv_transpose1d": Row(
        conv_transpose, (In((2, 4, 5)), In((4, 3, 3)), In((6,))),
        {"stride": 3, "padding": 1, "output_padding": 2, "groups": 2, "dilation": 2},
    ),
    "conv_transpose2d": Row(conv_transpose, (In((2, 3, 6, 3)), In((3, 2, 3, 2))), {"padding": (3, 0)}),
    "conv_transpose3d": Row(conv_transpose, (In((1, 2, 2, 3, 2)), In((2, 3, 2, 2, 1)), In((3,))),
                            {"stride": (2, 1, 1), "output_padding": (1, 0, 0)}),
    "im2col": Row(im2col, (In((2, 3, 5, 6)),), {"kernel_size": (2, 3), "dilation": (2, 1), "padding": 1,
                                                "stride": (1, 2)}),
    "col2im": Row(col2im, (In((2, 12, 15)),), {"output_size": (5, 6), "kernel_size": (2, 3),
                                              "dilation": (2, 1), "padding": (1, 1), "stride": (1, 2)}),
    "deform_conv2d": Row(
        lambda x, o, w, b, m: deform_conv2d(x, o, w, b, m, stride=(1, 2), padding=1),
        (In((1, 4, 4, 5)), In((1, 16, 5, 3), 0.2, 0.8), In((2, 2, 2, 2)), In((2,)), In((1, 8, 5, 3), 0, 1)),
        call=lambda x, o, w, b, m: COMPOSED["deform_conv2d"](x, o, w, b, (1, 2), 1, mask=m),
    ),
}  # fmt: skip

POOL: dict[str, Row] = {
    "_fold": Row(fold, (In((2, 4, 3)),), {"spec": W, "size": (7,)}),
    "max_pool": Row(lambda x, spec: max_pool(x, *conv_views(spec)), (In((2, 3, 6, 7)),), {"spec": W2}),
    "window_sum": Row(lambda x, spec: window_sum(x, *conv_views(spec)), (In((2, 3, 6, 7)),), {"spec": W2}),
    "max_pool1d": Row(max_pool, (X1,), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "max_pool2d": Row(max_pool, (X2,), {"kernel_size": 2}),
    "max_pool3d": Row(partial(max_pool_loop, nd=3), (X3,),
                      {"kernel_size": 2, "padding": 1, "ceil_mode": True}, kinds="iu"),
    "avg_pool1d": Row(partial(avg_pool, nd=1), (X1,), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "avg_pool2d": Row(avg_pool, (X2,),
                      {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False}),
    "avg_pool3d": Row(partial(avg_pool, nd=3), (X3,), {"kernel_size": 2, "padding": 1, "ceil_mode": True}),
    "lp_pool1d": Row(partial(lp_pool, nd=1), (X1,), {"norm_type": 2, "kernel_size": 3, "stride": 2}),
    "lp_pool2d": Row(lp_pool, (In((2, 3, 6, 5), 0.2, 2),),
                     {"norm_type": 3, "kernel_size": 2, "ceil_mode": True}, tol=5e-6),
    "lp_pool3d": Row(partial(lp_pool, nd=3), (X3,), {"norm_type": 2, "kernel_size": (2, 1, 2)}),
    "_unpool": Row(lambda x, i, size: max_unpool(x, i, (size,)), (In((2, 3, 4)), In((2, 3, 4), 0, 8, "i")),
                     {"size": 9}, grads=0),
    "max_unpool1d": unpool(1),
    "max_unpool2d": unpool(2),
    "max_unpool3d": unpool(3),
    "adaptive_sum": Row(lambda x, out_size: adaptive(x, out_size, lambda v, i: v.sum(-1)), (X2,),
                        {"out_size": (4, 8)}),
    "adaptive_max": Row(lambda x, out_size: adaptive(x, out_size, top), (In((1, 2, 4, 5)),),
                        {"out_size": (3, 6)}),
    "_adaptive_taken": Row(  # four windows of 7, of which each names its first or second element
        lambda x, i: adaptive_taken(x, i + np.arange(4) * 7 // 4, (7,)),
        (In((2, 3, 4)), In((2, 3, 4), 0, 1, "i")),
        call=lambda x, i: COMPOSED["_adaptive_taken"](
            x, i + type(i).arange(4, device=i.device) * 7 // 4, out_size=(7,)
        ),
    ),
    "adaptive_avg_pool1d": Row(lambda x, output_size: adaptive(x, (output_size,), mean), (X1,),
                               {"output_size": 4}),
    "adaptive_avg_pool2d": Row(lambda x, output_size: x.reshape(2, 3, 2, 3, 3, 2).mean((3, 5)), (X2,),
                               {"output_size": (2, 3)}),
    "adaptive_avg_pool3d": Row(lambda x, output_size: adaptive(x, output_size, mean), (X3,),
                               {"output_size": (3, 2, 5)}),
    "adaptive_max_pool1d": Row(lambda x, output_size: adaptive(x, (output_size,), top), (X1,),
                               {"output_size": 4}, kinds="i"),
    "adaptive_max_pool2d": Row(lambda x, output_size: adaptive(x, output_size, top), (X2,),
                               {"output_size": (4, 5)}),
    "adaptive_max_pool3d": Row(lambda x, output_size: adaptive(x, output_size, top), (X3,),
                               {"output_size": (3, 2, 3)}),
}  # fmt: skip

SAMPLE: dict[str, Row] = {
    "resize": Row(lambda x, dim, line: along(x, resize_matrix(5, 8, "cubic"), 2), (In((2, 3, 5, 2)),), CUBIC),
    "_resize_back": Row(lambda x, dim, line: along(x, resize_matrix(5, 8, "cubic").T, 2), (In((2, 3, 8, 2)),),
                        CUBIC),
    "interpolate": Row(interpolate, (In((2, 3, 5, 6)),), {"size": (7, 4), "mode": "bilinear"}),
    "upsample": Row(interpolate, (In((2, 3, 5)),), {"size": (8,), "mode": "nearest"}),
    "grid_sample": Row(grid_sample, (In((2, 3, 4, 5)), In((2, 3, 2, 2), -1.2, 1.2)), tol=5e-6),
    "affine_grid": Row(affine_grid, (In((2, 2, 3)),), {"size": (2, 1, 3, 4)}),
    "embedding": Row(lambda i, w: w[i], (In((2, 3), 0, 3, "i"), In((4, 5)))),
    "_shared_gradient": Row(lambda w, share: w, (In((4, 5)), In((4, 1))), grads=0),
    "embedding_bag": bag(mode="mean", padding_idx=1),
    "_ctc_alphas": Row(lambda x, may: reached(ctc_alphas(x, np.where(may, 0, -1e30))),
                       (In((2, 4, 5), -3, 0), In((2, 5), kind="b")), call=alphas, tol=1e-5),
    "_ctc_walk": Row(ctc_walk, (WALK,) * 4, call=lambda x, *w: x._ctc_walk(*w).to(x.dtype)),
    "ctc_loss": Row(lambda x, t: ctc_loss(x, t, [4, 3], [2, 1]),
                    (In((4, 2, 3), -3, 0), In((2, 2), 1, 2, "i")),
                    call=lambda x, t: COMPOSED["ctc_loss"](x, t, [4, 3], [2, 1])),
    "rnnt_loss": Row(lambda x, t: rnnt_loss(x, t, [3, 4], [2, 1], 0),
                     (In((2, 4, 3, 4), -2, 2), In((2, 2), 1, 3, "i")),
                     call=lambda x, t: COMPOSED["rnnt_loss"](x, t, [3, 4], [2, 1], 0)),
}  # fmt: skip
