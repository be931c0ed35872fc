"""Functions beside torch's on the same inputs: values, and gradients of a weighted sum."""

import numpy as np
import pytest

import flambeau as fb
from flambeau.nn import functional as F

X1, X2, X3 = (2, 4, 9), (2, 4, 7, 8), (1, 2, 5, 6, 5)
CASES = [
    # function, shapes of float inputs, arguments after them
    ("conv1d", [X1, (6, 2, 3), (6,)], {"stride": 2, "padding": 2, "groups": 2}),
    ("conv2d", [X2, (6, 4, 2, 4), (6,)], {"padding": "same", "dilation": (2, 1)}),
    ("conv2d", [X2[1:], (6, 2, 3, 3)], {"padding": "valid", "groups": 2}),
    ("conv3d", [X3, (3, 2, 2, 3, 2)], {"stride": (1, 2, 1), "padding": (0, 1, 1)}),
    ("conv_transpose1d", [X1, (4, 3, 3), (6,)],
     {"stride": 3, "padding": 1, "output_padding": 2, "groups": 2, "dilation": 2}),
    ("conv_transpose1d", [X1, (4, 3, 3)], {"padding": 3, "dilation": 2, "output_padding": 1}),
    ("conv_transpose1d", [X1, (4, 3, 3)], {"padding": 2}),
    ("conv_transpose2d", [X2, (4, 3, 2, 3), (3,)], {"stride": 2}),
    ("conv_transpose2d", [X2[1:], (4, 3, 2, 2)], {"stride": (1, 2), "padding": (1, 0)}),
    ("conv_transpose3d", [X3, (2, 3, 2, 3, 2)], {"stride": (1, 2, 1), "output_padding": (0, 1, 0)}),
    ("unfold", [X2], {"kernel_size": (2, 3), "dilation": (1, 2), "padding": (1, 2), "stride": (2, 1)}),
    ("fold", [(2, 12, 35)],
     {"output_size": (6, 7), "kernel_size": (2, 3), "padding": (0, 1), "stride": (1, 1)}),
    ("avg_pool1d", [X1], {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
    ("avg_pool2d", [X2], {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
    ("avg_pool2d", [X2], {"kernel_size": (3, 2), "stride": (3, 2), "padding": 1, "ceil_mode": True,
                          "count_include_pad": False}),
    ("avg_pool2d", [X2[1:]], {"kernel_size": 2, "divisor_override": 3}),
    ("avg_pool3d", [X3], {"kernel_size": 2, "stride": (2, 1, 2), "padding": 1, "count_include_pad": False}),
    ("max_pool1d", [X1], {"kernel_size": 3, "stride": 2, "padding": 1, "dilation": 2}),
    ("max_pool2d", [X2], {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
    ("max_pool2d", [X2[1:]], {"kernel_size": (2, 3), "stride": 1, "dilation": (2, 1)}),
    ("max_pool3d", [X3], {"kernel_size": 2, "padding": 1, "ceil_mode": True}),
    ("lp_pool1d", [X1], {"norm_type": 2, "kernel_size": 3, "stride": 2}),
    ("lp_pool2d", [X2], {"norm_type": 4, "kernel_size": (2, 3), "ceil_mode": True}),
    ("lp_pool3d", [X3], {"norm_type": 2, "kernel_size": 2}),
    ("adaptive_avg_pool1d", [X1], {"output_size": 4}),
    ("adaptive_avg_pool2d", [X2], {"output_size": (3, 5)}),
    ("adaptive_avg_pool2d", [X2[1:]], {"output_size": (None, 11)}),
    ("adaptive_avg_pool3d", [X3], {"output_size": (2, 3, 4)}),
    ("adaptive_max_pool1d", [X1], {"output_size": 4}),
    ("adaptive_max_pool2d", [X2], {"output_size": (3, 10)}),
    ("adaptive_max_pool3d", [X3], {"output_size": (2, 3, 4)}),
    *(("interpolate", [X1], {"size": n, "mode": m})
      for n in (4, 9, 13) for m in ("nearest", "nearest-exact")),
    *(("interpolate", [X1], {"size": n, "mode": "linear", "align_corners": a})
      for n in (1, 4, 13) for a in (False, True)),
    *(("interpolate", [X2], {"size": n, "mode": m, "align_corners": a})
      for n in ((3, 13), (14, 16)) for m in ("bilinear", "bicubic") for a in (False, True)),
    ("interpolate", [X2], {"scale_factor": (1.7, 0.6), "mode": "bilinear"}),
    ("interpolate", [X2], {"scale_factor": 1.7, "mode": "bicubic", "recompute_scale_factor": True}),
    ("interpolate", [X2], {"scale_factor": 2.5, "mode": "nearest"}),
    ("interpolate", [X2], {"size": (3, 11), "mode": "area"}),
    ("interpolate", [X3], {"size": (3, 9, 6), "mode": "trilinear"}),
    ("interpolate", [X3], {"scale_factor": 2, "mode": "nearest"}),
    ("bilinear", [(3, 4), (3, 5), (2, 4, 5), (2,)], {}),
]  # fmt: skip
GRIDS = [
    (m, p, a, (2, 3, 5, 6), (2, 4, 3, 2))
    for m in ("bilinear", "nearest", "bicubic")
    for p in ("zeros", "border", "reflection")
    for a in (False, True)
] + [
    (m, p, a, (2, 2, 3, 4, 5), (2, 2, 3, 4, 3))
    for m, p, a in [
        ("bilinear", "zeros", False),
        ("bilinear", "reflection", True),
        ("nearest", "border", False),
    ]
]
NAMED = [
    ("addmm", [(3, 5), (3, 4), (4, 5)], {"beta": 0.5, "alpha": 2.0}),
    ("addmv", [(3,), (3, 4), (4,)], {"beta": 0.5}),
    ("addbmm", [(3, 5), (2, 3, 4), (2, 4, 5)], {"alpha": 2.0}),
    ("baddbmm", [(2, 3, 5), (2, 3, 4), (2, 4, 5)], {"beta": 0.5}),
    ("bmm", [(2, 3, 4), (2, 4, 5)], {}),
    ("mm", [(3, 4), (4, 5)], {}),
    ("mv", [(3, 4), (4,)], {}),
    ("vdot", [(4,), (4,)], {}),
    ("inner", [(2, 3, 4), (5, 4)], {}),
    ("tensordot", [(2, 3, 4), (4, 3, 5)], {"dims": ([1, 2], [1, 0])}),
    ("chain_matmul", [(2, 3), (3, 4), (4, 5), (5, 2)], {}),
    ("cross", [(4, 3, 2), (4, 3, 2)], {"dim": 1}),
    *(("cdist", [(2, 5, 3), (2, 4, 3)], {"p": p}) for p in (0.0, 1.0, 1.5, 2.0, 3.0, float("inf"))),
    ("cdist", [(30, 3), (28, 3)], {}),
]


def compare(torch, mine, theirs, given, tol=2e-5, extra=()):
    """Values of mine(*tensors) and gradients by each of them beside torch's."""
    xs = [fb.tensor(a, requires_grad=True) for a in given]
    ts = [torch.tensor(a, requires_grad=True) for a in given]
    y, ty = mine(*xs), theirs(*ts)
    assert y.shape == tuple(ty.shape)
    weights = np.random.default_rng(1).uniform(0.5, 1.5, y.shape).astype("f4")
    np.testing.assert_allclose(y.numpy(), ty.detach().numpy(), atol=tol, rtol=tol)
    if not ty.requires_grad:
        return
    grads = (y * fb.tensor(weights)).sum().backward() if y.requires_grad else {}
    (ty * torch.tensor(weights)).sum().backward()
    for x, t in zip(xs, ts):
        want = np.zeros(x.shape, "f4") if t.grad is None else t.grad.numpy()
        found = grads[x].numpy() if x in grads else np.zeros(x.shape)  # torch has zeros where there is none
        np.testing.assert_allclose(found, want, atol=10 * tol, rtol=10 * tol)


def made(shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=s).astype("f4") for s in shapes]


@pytest.mark.parametrize("name, shapes, attrs", CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_functional(torch, name, shapes, attrs):
    mine, theirs = getattr(F, name), getattr(torch.nn.functional, name)
    compare(torch, lambda *x: mine(*x, **attrs), lambda *x: theirs(*x, **attrs), made(shapes))


@pytest.mark.parametrize("name, shapes, attrs", NAMED, ids=[f"{c[0]}-{i}" for i, c in enumerate(NAMED)])
def test_package(torch, name, shapes, attrs):
    mine, theirs = getattr(fb, name), getattr(torch, name)
    compare(torch, lambda *x: mine(*x, **attrs), lambda *x: theirs(*x, **attrs), made(shapes))


@pytest.mark.parametrize("mode, padding, align, shape, grid", GRIDS)
def test_grid_sample(torch, mode, padding, align, shape, grid):
    args = {"mode": mode, "padding_mode": padding, "align_corners": align}
    x, g = made([shape, grid])
    theirs = torch.nn.functional.grid_sample
    compare(
        torch, lambda *x: F.grid_sample(*x, **args), lambda *x: theirs(*x, **args), [x, g * 0.8], tol=5e-5
    )


@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 3, 4, 1)])
@pytest.mark.parametrize("align", [False, True])
def test_affine_grid(torch, size, align):
    theta = made([(size[0], len(size) - 2, len(size) - 1)])
    args = {"size": size, "align_corners": align}
    compare(
        torch, lambda t: F.affine_grid(t, **args), lambda t: torch.nn.functional.affine_grid(t, **args), theta
    )


@pytest.mark.parametrize("nd", [1, 2, 3])
def test_pool_indices_and_unpool(torch, nd):
    (x,) = made([(2, 3, *(7, 8, 6)[:nd])])
    tx = torch.tensor(x)
    args = {"kernel_size": 2, "stride": 2, "return_indices": True}
    mine, theirs = (getattr(f, f"max_pool{nd}d") for f in (F, torch.nn.functional))
    y, i = mine(fb.tensor(x), **args)
    _, ti = theirs(tx, **args)
    assert (i.numpy() == ti.numpy()).all()
    back = {"kernel_size": 2, "output_size": x.shape[2:]}
    compare(
        torch,
        lambda v: getattr(F, f"max_unpool{nd}d")(v, i, **back),
        lambda v: getattr(torch.nn.functional, f"max_unpool{nd}d")(v, ti, **back),
        [y.numpy()],
    )
    args = {
        "kernel_size": 3,
        "stride": 2,
        "padding": 1,
        "dilation": 1,
        "ceil_mode": True,
        "return_indices": True,
    }
    i = getattr(F, f"max_pool{nd}d")(fb.tensor(x), **args)[1]
    assert (i.numpy() == getattr(torch.nn.functional, f"max_pool{nd}d")(tx, **args)[1].numpy()).all()
    i = getattr(F, f"adaptive_max_pool{nd}d")(fb.tensor(x), 4, return_indices=True)[1]
    assert (
        i.numpy() == getattr(torch.nn.functional, f"adaptive_max_pool{nd}d")(tx, 4, True)[1].numpy()
    ).all()


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding_idx", [None, 2])
def test_embedding_bag(torch, mode, padding_idx):
    (w,) = made([(7, 3)])
    rows = np.random.default_rng(3).integers(0, 7, (4, 5)).astype("i4")
    args = {"mode": mode, "padding_idx": padding_idx}
    bag, theirs = F.embedding_bag, torch.nn.functional.embedding_bag
    compare(
        torch, lambda w: bag(fb.tensor(rows), w, **args), lambda w: theirs(torch.tensor(rows), w, **args), [w]
    )
    flat, offsets = rows.reshape(-1), np.array([0, 3, 3, 10, 20], "i4")
    compare(
        torch, lambda w: bag(fb.tensor(flat), w, fb.tensor(offsets), **args),
        lambda w: theirs(torch.tensor(flat), w, torch.tensor(offsets), **args), [w],
    )  # fmt: skip
    args["include_last_offset"] = True
    compare(
        torch, lambda w: bag(fb.tensor(flat), w, fb.tensor(offsets), **args),
        lambda w: theirs(torch.tensor(flat), w, torch.tensor(offsets), **args), [w],
    )  # fmt: skip


def test_embedding_bag_weights(torch):
    w, each = made([(7, 3), (4, 5)])
    rows = np.random.default_rng(3).integers(0, 7, (4, 5)).astype("i4")
    compare(
        torch,
        lambda w, e: F.embedding_bag(fb.tensor(rows), w, mode="sum", per_sample_weights=e),
        lambda w, e: torch.nn.functional.embedding_bag(
            torch.tensor(rows), w, mode="sum", per_sample_weights=e
        ),
        [w, each],
    )


CTC = [
    ([[1, 2, 2], [3, 1, 0], [2, 2, 2]], [8, 7, 5], [3, 2, 3], {}),
    ([[1, 2, 2], [3, 1, 0], [2, 2, 2]], [8, 7, 5], [3, 2, 0], {"reduction": "none"}),
    ([[0, 2, 2], [3, 2, 0], [2, 2, 2]], [8, 7, 4], [3, 2, 3], {"blank": 1, "reduction": "sum",
                                                               "zero_infinity": True}),
]  # fmt: skip


@pytest.mark.parametrize("targets, steps, counts, args", CTC)
@pytest.mark.parametrize("flat", [False, True])
def test_ctc_loss(torch, targets, steps, counts, args, flat):
    """Through log_softmax: torch's own gradient takes it for granted that the input is one."""
    (x,) = made([(8, 3, 5)])
    targets = np.array(targets, "i4")
    if flat:
        targets = np.concatenate([row[:n] for row, n in zip(targets, counts)])
    compare(
        torch,
        lambda x: F.ctc_loss(x.log_softmax(2), fb.tensor(targets), steps, counts, **args),
        lambda x: torch.nn.functional.ctc_loss(
            x.log_softmax(2), torch.tensor(targets), tuple(steps), tuple(counts), **args
        ),
        [x],
    )
