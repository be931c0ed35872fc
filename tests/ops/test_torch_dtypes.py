"""Every op in every dtype beside PyTorch: the dtype of what comes out, and the values where it has any."""

import numpy as np
import pytest
from helpers.inputs import main_kind
from rows import ROWS

import flambeau as fb
from flambeau.core.dtype import DTYPES
from flambeau.core.op import COMPOSED, OPS

OURS: dict[str, str] = {}  # names that differ
# ops of another meaning by that name, random ones, those that give numbers of a size, and those whose rows
# have arguments that PyTorch's do not
OTHERS = {
    "adaptive_max_pool1d", "alpha_dropout", "bernoulli", "binary_cross_entropy_with_logits", "complex",
    "poisson", "dropout", "dropout1d", "dropout2d", "dropout3d", "embedding", "empty", "empty_like", "eye",
    "feature_alpha_dropout", "gumbel_softmax", "kl_div", "multinomial", "normal", "ones", "polar",
    "rand", "rand_like", "randint_like", "randn_like", "randperm", "real", "rrelu",
    "triplet_margin_loss", "triplet_margin_with_distance_loss", "view_as_complex", "zeros",
}  # fmt: skip
# op: (dtypes, why the dtype of its result is another one)
EXCEPTIONS = {
    "float_power": (" ".join(DTYPES), "PyTorch computes it in float64, which GPUs lack"),
    "all": ("uint8", "bool, as of every other dtype"),
    "any": ("uint8", "the same"),
    "bincount": (
        "float16 bfloat16 int64 uint64 int32 uint32 int16 uint16 int8 uint8 bool",
        "PyTorch gives float64, which GPUs lack",
    ),
    "local_response_norm": ("int64", "means of integers are floats"),
    "matrix_exp": ("float16 bfloat16", "factors of 16-bit matrices are float32"),
    "matrix_power": ("float16 bfloat16", "the same"),
    "nextafter": ("float16 bfloat16", "the next float32"),
}
REFUSED = {  # what is refused here and not in PyTorch
    "matrix_power": "linear algebra needs floats: cast with .float()",
    "addmm": "must be an integer for integer tensors", "addmv": "must be an integer for integer tensors",
    "addbmm": "must be an integer for integer tensors", "baddbmm": "must be an integer for integer tensors",
    "addcmul": "must be an integer for integer tensors",
}  # fmt: skip
UNLIKE = {  # values that are not compared
    "kthvalue": "which of equals", "topk": "which of equals", "searchsorted": "of lines that are not sorted",
    "lp_pool1d": "PyTorch's powers of bools are 0", "lp_pool2d": "the same", "lp_pool3d": "the same",
    "lcm": "beyond int8", "trapezoid": "bytes wrap before they are halved there",
    "lobpcg": "begins with drawn columns: tests/ops/test_lobpcg.py",
    "interpolate": "bytes are rounded once here, after every dim there",
}  # fmt: skip
TOL = {"float16": 2e-2, "bfloat16": 1e-1}


# PyTorch has them by no such name, or as parts of other ops
ABSENT = {
    "adaptive_max", "adaptive_sum", "buffer", "cast", "cauchy", "col2im", "constant", "conv",
    "conv_transpose", "deform_conv2d", "exponent", "exponential",
    "gather_nd",
    "geometric", "gumbel", "im2col", "iota", "laplace", "log_normal", "max_pool", "put_rows", "quantize",
    "quantized_linear", "quiet_softmax", "random_bits", "rnnt_loss", "scatter_nd", "shrink", "slice_assign",
    "swiglu",
    "tensor_unfold", "thresholded_relu", "uniform", "window_sum",
}  # fmt: skip


def theirs(torch, name):
    spaces = (torch, torch.nn.functional, torch.special, torch.Tensor, torch.linalg)
    return next(getattr(s, name) for s in spaces if hasattr(s, name))


NAMES = [
    n for n in ROWS if n not in OTHERS | ABSENT and not n.startswith(("_", "fft_", "linalg_", "signal_"))
]


def flat(y):
    if isinstance(y, tuple | list):
        return [t for v in y for t in flat(v)]
    return [y] if hasattr(y, "dtype") else []


def given(row, dtype):
    rng, main = np.random.default_rng(1), main_kind(row)
    for i in row.inputs:
        if i.kind != main:
            yield i.make(rng), None
        elif DTYPES[dtype].is_float:
            yield np.abs(i.make(rng, kind="f" if main in "f" else "i")), dtype
        else:
            yield (
                np.abs(np.floor(i.make(rng, kind="f" if main == "f" else "i" if main in "iu" else "b") * 1)),
                dtype,
            )


def attempt(f):
    try:
        return flat(f()), ""
    except Exception as e:  # whatever a library refuses with
        return None, str(e)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of what PyTorch calls deprecated
@pytest.mark.parametrize("name", NAMES)
def test_dtypes_are_torchs(torch, name):
    row, mine = ROWS[name], OPS.get(name) or COMPOSED[name]
    for dtype in (d for d in DTYPES if not DTYPES[d].is_complex):  # those have tests/ops/test_complex.py
        inputs = list(given(row, dtype))
        ts = [
            torch.tensor(a).to(getattr(torch, t))
            if t
            else torch.tensor(a.astype("i8") if a.dtype.kind in "iu" else a)
            for a, t in inputs
        ]
        xs = [
            fb.tensor(a, device="cpu").to(dtype=DTYPES[t]) if t else fb.tensor(a, device="cpu")
            for a, t in inputs
        ]
        want, _ = attempt(lambda: theirs(torch, name)(*ts, **row.attrs))  # noqa: B023
        if want is None:
            continue  # it has no kernel for it; computed here in float32, or as it is
        got, said = attempt(lambda: mine(*xs, **row.attrs))  # noqa: B023
        if got is None:
            assert REFUSED.get(name, "?") in said, f"{name} of {dtype}: {said}"
            continue
        if dtype in EXCEPTIONS.get(name, ("",))[0].split():
            continue
        dtypes = [OURS.get(d, d) for d in (str(t.dtype)[6:] for t in want)]
        assert [t.dtype.name for t in got] == dtypes, f"{name} of {dtype}"
        for a, b in zip(got, want) if name not in UNLIKE else ():
            assert a.shape == tuple(b.shape), f"{name} of {dtype}"
            tol = TOL.get(dtype, 1e-4)
            np.testing.assert_allclose(
                a.numpy().astype("f8"), b.double().numpy(), tol, tol, err_msg=f"{name} of {dtype}"
            )
