"""Arguments that PyTorch takes and the dtypes of what comes out, beside PyTorch's, on the NumPy device."""

import numpy as np
import pytest

import flambeau as fb

Z = [3 + 4j, 1j]


def _alias(m, t):
    out = m.zeros(2)
    return m.alias_copy(t([1.0, 2.0]), out=out), out


def _squeezed(m, t):
    out = m.zeros(2)
    return m.squeeze_copy(m.ones(1, 2), out=out), out


def _sliced(m, t):
    out = m.zeros(2)
    return m.slice_copy(t([1.0, 2.0, 3.0]), 0, 1, 3, out=out), out


def _split(m, t):
    out = [m.zeros(1), m.zeros(1)]
    m.split_copy(t([1.0, 2.0]), 1, out=out)
    return out


def _in_place(name, *args):
    def call(m, t):
        x = t([-3.0, 0.5, 7.0])
        y = getattr(m.nn.functional, name)(x, *args, True)
        return x, t(float(y is x))

    return call


def _batch_norm(m, t):
    s = m.zeros(2, 3)
    mean, var = s[0], m.ones(3)
    m.nn.functional.batch_norm(m.arange(12.0).reshape(4, 3), mean, var, training=True)
    return s, mean, var


SPECTRUM = [[1 + 1j, 2, 1j], [3j, 1, 2j], [1, 1 - 1j, 2], [2 + 2j, 3 - 1j, 1j]]
WINDOWS = "bartlett blackman cosine exponential gaussian hamming hann kaiser nuttall"
POLYNOMIALS = "chebyshev_polynomial_t chebyshev_polynomial_u hermite_polynomial_h laguerre_polynomial_l"
# of the package or torch, and of `tensor`; what it gives, a tensor or several
CASES = {
    "x.where": lambda m, t: t([1.0, 2.0]).where(t([True, False]), t([8.0, 9.0])),
    "x.where of bools": lambda m, t: t([True, False]).where(t([False, True]), t([False, True])),
    "x.where by names": lambda m, t: t([1.0, 2.0]).where(condition=t([True, False]), other=t(5.0)),
    "where of bools": lambda m, t: m.where(t([True, False]), t([False, True]), t([True, True])),
    "where of bools masked": lambda m, t: m.masked_fill(t([True, True]), t([True, False]), False),
    "fmax of bools": lambda m, t: m.fmax(t([True, False]), t([False, False])),
    "tril of bools": lambda m, t: m.tril(m.ones(2, 2, dtype=m.bool)),
    "diag of bools": lambda m, t: m.diag_embed(t([True, False])),
    "ldexp": lambda m, t: m.ldexp(t([1.0, 3.0]), t([0.5, -2.0])),
    "ldexp of integers": lambda m, t: m.ldexp(t([1, 2]), t([1, -1])),
    "ldexp complex": lambda m, t: m.ldexp(t(Z), t([1, 2])),
    "arange": lambda m, t: m.arange(1.0, 5.000001, 2.0, dtype=m.int64),
    "arange int32": lambda m, t: m.arange(1.7, 5.1, 0.5, dtype=m.int32),
    "linspace": lambda m, t: m.linspace(4.3, 0, 10, dtype=m.int64),
    "linspace once rounded": lambda m, t: m.linspace(1, -9, 27, dtype=m.int32),
    "logspace": lambda m, t: m.logspace(0, 1.2, 2, 5.0, dtype=m.int64),
    "logspace of 1": lambda m, t: m.logspace(1.7, 1.2, 1, 2.0, dtype=m.int8),
    "logspace that wraps": lambda m, t: m.logspace(3.0, 0, 28, dtype=m.uint8),
    "alias_copy out": _alias,
    "squeeze_copy out": _squeezed,
    "slice_copy out": _sliced,
    "split_copy out": _split,
    "flip": lambda m, t: m.arange(6).reshape(2, 3).flip(0, 1),
    "flip dims": lambda m, t: m.flip(m.arange(6).reshape(2, 3), dims=[1]),
    "reshape shape": lambda m, t: m.arange(6).reshape(shape=(2, 3)),
    "expand size": lambda m, t: t([[1], [2]]).expand(size=(2, 3)),
    "view size": lambda m, t: m.arange(6).view(size=(3, 2)),
    "permute dims": lambda m, t: m.arange(6).reshape(2, 3).permute(dims=(1, 0)),
    "repeat repeats": lambda m, t: m.arange(2).repeat(repeats=(2, 1)),
    "tile dims": lambda m, t: m.arange(2).tile(dims=(2, 1)),
    "zeros size": lambda m, t: m.zeros(size=(2, 1), layout=None, pin_memory=False),
    "zeros_like memory_format": lambda m, t: m.zeros_like(t([1.0]), memory_format=None),
    "relu in place": _in_place("relu"),
    "elu in place": _in_place("elu", 0.5),
    "hardtanh in place": _in_place("hardtanh", -1.0, 2.0),
    "threshold in place": _in_place("threshold", 0.1, 3.0),
    "dropout in place": _in_place("dropout", 0.5, False),
    "silu in place": _in_place("silu"),
    **{
        f"{name} of degrees": lambda m, t, name=name: (
            getattr(m.special, name)(t([0.5, 0.2, 0.3]), t([1, 4, -1])),
            getattr(m.special, name)(0.3, t([0, 3])),
        )
        for name in POLYNOMIALS.split()
    },
    **{
        f"window {name}": lambda m, t, name=name: getattr(m.signal.windows, name)(
            5, sym=False, dtype=m.float32, device="cpu", requires_grad=False
        )
        for name in WINDOWS.split()
    },
    "avg_pool1d": lambda m, t: m.nn.functional.avg_pool1d(t([[1, 2, 4, -7, 2, 2]]), 2),
    "avg_pool2d": lambda m, t: m.nn.functional.avg_pool2d(m.arange(16).reshape(1, 4, 4), 3, 1, 1),
    "fractional_max_pool2d": lambda m, t: m.nn.functional.fractional_max_pool2d(
        m.ones(1, 1, 4, 4), 2, output_size=2, return_indices=True, _random_samples=t([[[0.3, 0.6]]])
    ),
    "norm of 16 bits": lambda m, t: (
        m.linalg.vector_norm(t([1.0, 2.0]).half()),
        m.linalg.matrix_norm(t([[1.0, 2.0]]).half()),
        m.linalg.matrix_norm(t([[1.0, 2.0]]).bfloat16(), 1),
        m.linalg.norm(t([[1.0, 2.0]]).half()),
        m.norm(t([1.0, 2.0]).bfloat16()),
        m.linalg.vector_norm(t([1.0, 2.0]).half(), dtype=m.float32),
    ),
    "matrix_rank of nothing": lambda m, t: m.linalg.matrix_rank(m.zeros(0, 0)),
    "pinv of nothing": lambda m, t: m.linalg.pinv(m.zeros(0, 2, dtype=m.complex64)),
    "scalar_tensor": lambda m, t: m.scalar_tensor(2, requires_grad=True).detach(),
    "new_empty_strided": lambda m, t: t([1.0]).new_empty_strided((0, 2), (2, 1), dtype=m.int32),
    "empty_permuted": lambda m, t: m.empty_permuted((0, 3), (0, 1), requires_grad=False),
    "empty_strided": lambda m, t: m.empty_strided((0, 3), (3, 1), dtype=m.float16, requires_grad=False),
    "gradient": lambda m, t: m.gradient(t([1.0, 2.0, 4.0]), spacing=None, dim=None, edge_order=1),
    "hinge_embedding_loss": lambda m, t: m.nn.functional.hinge_embedding_loss(t([-8.0, 1.0]), t([-1.7, 0.5])),
    "histogram of nothing": lambda m, t: tuple(m.histogram(m.zeros(0), 2)),
    "histc of nothing": lambda m, t: m.histc(m.zeros(0), 2),
    "batch_norm into a view": _batch_norm,
    "batch_norm of nothing": lambda m, t: m.nn.functional.batch_norm(
        m.zeros(0), m.zeros(0), m.zeros(0), training=True
    ),
    "addr of bools": lambda m, t: m.addr(t([[True]]), t([True]), t([True]), beta=True, alpha=False),
    "vander": lambda m, t: m.linalg.vander(t(2.0), N=2),
    "istft": lambda m, t: m.istft(t(SPECTRUM), n_fft=4, onesided=False, window=m.ones(4)),
    "pad replicate": lambda m, t: (
        m.nn.functional.pad(t([[[1.0, 2.0, 3.0]]]), (-3, 4), "replicate"),
        m.nn.functional.pad(t([[[1.0, 2.0, 3.0]]]), (4, -3), "replicate"),
    ),
    "gather nothing": lambda m, t: m.gather(t([1.0, 2.0]), 0, m.zeros(2, 0, dtype=m.int64)),
    "scatter nothing": lambda m, t: m.scatter(
        t([1.0, 2.0]), 0, m.zeros(2, 0, dtype=m.int64), t([[], []])
    ),
    "nan_to_num complex": lambda m, t: m.nan_to_num(t([complex(np.nan, 1), complex(2, -np.inf)]), neginf=3.0),
    "logdet complex": lambda m, t: m.logdet(t([[2 + 0j, 1j], [-1j, 1 + 2j]])),
    "inv_ex complex": lambda m, t: tuple(m.linalg.inv_ex(t([[2 + 0j, 1j], [-1j, 2]]))),
    "solve_ex complex": lambda m, t: tuple(
        m.linalg.solve_ex(t([[2 + 0j, 1j], [-1j, 2]]), t([[1 + 0j], [2]]))
    ),
    "put": lambda m, t: t([1.0, 2.0]).put(t(1), t([3.0])),
    "transpose": lambda m, t: m.transpose(t(1.0), 0, -1),
    "complex": lambda m, t: (m.complex(t([1.0, 2.0]), t(3.0)), m.polar(t([1.0, 2.0]), t([[3.0]]))),
    "linear_cross_entropy": lambda m, t: m.nn.functional.linear_cross_entropy(
        m.ones(2, 3), m.ones(4, 3), t([0, 1]), options=None
    ),
    "lu_solve of nothing": lambda m, t: m.linalg.lu_solve(
        t([[2 + 1j]]), t([1], dtype=m.int32), m.zeros(1, 0, dtype=m.complex64)
    ),
    "broadcast_to size": lambda m, t: m.broadcast_to(t([1.0]), size=(2, 1)),
    "cholesky_solve input2": lambda m, t: m.cholesky_solve(input=t([[2.0]]), input2=t([[3.0]])),
    "tensorsolve other": lambda m, t: m.linalg.tensorsolve(t([[2.0]]), other=t([3.0])),
    "matrix_rank by place": lambda m, t: m.linalg.matrix_rank(t([[2.0, 1.0], [1.0, 0.5]]), 1e-3, True),
    "pinv by place": lambda m, t: m.linalg.pinv(t([[2.0, 1.0], [1.0, 0.5]]), 1e-3, True),
    "gather sparse_grad": lambda m, t: m.gather(t([1.0, 2.0]), 0, t([1]), sparse_grad=True),
    "scatter value": lambda m, t: t([1.0, 2.0]).scatter(0, t([1]), value=5.0),
    "airy_ai x": lambda m, t: m.special.airy_ai(x=t([1.0])),
    "sum_to_size": lambda m, t: (t(True).sum_to_size(()), t([True]).sum_to_size((1,))),
}  # fmt: skip


def _each(made):
    return list(made) if isinstance(made, tuple | list) else [made]


@pytest.mark.parametrize("name", CASES)
def test_calls_give_what_torchs_give(name, torch):
    fb.set_default_device("cpu")
    try:
        got = [(y.numpy(), y.dtype.name) for y in _each(CASES[name](fb, fb.tensor))]
    finally:
        fb.set_default_device(None)
    wanted = _each(CASES[name](torch, torch.tensor))
    assert [d for _, d in got] == [str(w.dtype).split(".")[1] for w in wanted]
    for (y, _), w in zip(got, wanted, strict=True):
        w = w.float() if w.dtype is torch.bfloat16 else w
        np.testing.assert_allclose(y, w.resolve_conj().numpy(), 1e-3 if y.itemsize == 2 else 2e-6, 1e-6)
        assert y.shape == tuple(w.shape)


def test_weights_of_whole_numbers_are_counted_as_floats():
    made = fb.bincount(fb.tensor([0, 1, 1]), fb.tensor([5, 5, 7]))
    assert made.dtype is fb.float32 and made.tolist() == [5.0, 12.0]


def test_random_complex_numbers_have_two_parts():
    x = fb.ones(2000, dtype=fb.complex64, device="cpu")
    for drawn in (fb.randn_like(x), fb.randn(2000, dtype=fb.complex64, device="cpu")):
        assert drawn.dtype is fb.complex64
        assert abs(drawn.real.var().item() - 0.5) < 0.08 and abs(drawn.imag.var().item() - 0.5) < 0.08
    for drawn in (fb.rand_like(x), fb.rand(2000, dtype=fb.complex64, device="cpu")):
        assert drawn.dtype is fb.complex64
        for part in (drawn.real, drawn.imag):
            assert 0 <= part.min().item() < 0.01 and 0.99 < part.max().item() < 1


def test_what_torch_refuses_is_refused():
    with pytest.raises(ValueError, match="all tensors are dense: leave it out"):
        fb.zeros(2, layout="torch.sparse_coo")
    with pytest.raises(TypeError, match="must be a tensor of bools: cast it with"):
        fb.tensor([1.0, 2.0], device="cpu").where(fb.tensor([1, 0], device="cpu"), 3.0)
    with pytest.raises(ValueError, match="takes at most 2 dims"):
        fb.zeros(1, 2, 3, device="cpu").t()
