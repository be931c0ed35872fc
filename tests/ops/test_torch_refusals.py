"""Arguments and refusals that PyTorch's database of operations has found to differ (ops/test_opinfo.py)."""

import numpy as np
import pytest

import flambeau as fb
from flambeau import array_api

F = fb.nn.functional


def cpu(data, **kwargs):
    return fb.tensor(data, device="cpu", **kwargs)


X = cpu([1.0, 2.0, 4.0])
ON = cpu([True, False])
ROW = X.reshape(1, 3)
EMPTY = np.zeros((1, 0, 2))
BYTES, LOGITS = cpu([0, 3], dtype=fb.uint8), cpu([[0.5, 1.0, 2.0]])
HALF, PAIR, COMPLEX = cpu([1.0] * 3, dtype=fb.float16), cpu([0.9, 0.9]), cpu([1j])


def written(value):
    """Three bytes of 1, of which the first is written."""
    x = fb.ones(3, dtype=fb.uint8, device="cpu")
    x[0] = value
    return x


# what is computed, and its value by hand
VALUES = {
    "a negative integer wraps": (lambda: written(-1), [255, 1, 1]),
    "the least that wraps": (lambda: written(-255), [1, 1, 1]),
    "unsigned integers wrap": (
        lambda: cpu([-1, -65535, 7], dtype=fb.uint16).int() + cpu(-1, dtype=fb.uint8).int(),
        [65790, 256, 262],
    ),
    "correction=None is 1": (lambda: fb.var_mean(X, correction=None)[0], 7 / 3),
    "n=0 joins nothing": (lambda: fb.diff(X, n=0, prepend=X), [1.0, 2.0, 4.0]),
    "parts broadcast": (lambda: fb.complex(X, cpu(0.5)), [1 + 0.5j, 2 + 0.5j, 4 + 0.5j]),
    "a vector times a vector": (lambda: X.__rmatmul__(X), 21.0),
    "__rdiv__": (lambda: X.__rdiv__(4.0), [4.0, 2.0, 1.0]),
    "histc of tensors as ends": (lambda: X.histc(2, min=cpu(1.0), max=cpu(5.0)), [2.0, 1.0]),
    "histogram of tensors as ends": (lambda: X.histogram(2, range=(cpu(1.0), cpu(5.0)))[0], [2.0, 1.0]),
    "polygamma of a tensor as n": (lambda: fb.polygamma(cpu(1), cpu([1.0])), [np.pi**2 / 6]),
    "polygamma of 0-d tensors": (lambda: fb.polygamma(cpu(1), cpu(1.0)), np.pi**2 / 6),
    "polygamma as a method": (lambda: cpu([1.0]).polygamma(cpu(1)), [np.pi**2 / 6]),
    "masked_scatter of nothing": (lambda: X.masked_scatter(X > 9, cpu([])), [1.0, 2.0, 4.0]),
    "norms of empty matrices": (
        lambda: fb.stack([fb.linalg.norm(fb.zeros(0, 0, device="cpu"), ord) for ord in (1, 2, float("inf"))]),
        [0.0, 0.0, 0.0],
    ),
    "batch_norm of nothing": (lambda: F.batch_norm(cpu([]), cpu([]), cpu([])), []),
    "conj_physical_": (lambda: cpu([1 + 2j]).conj_physical_(), [1 - 2j]),
    "one class, no batch": (lambda: F.multi_margin_loss(cpu(3.0), cpu(0)), 0.0),
    "one label, no batch": (lambda: F.multilabel_margin_loss(cpu(3.0), cpu(0)), 0.0),
    "gather of a number": (lambda: cpu(7.0).gather(0, cpu([0, 0])), [7.0, 7.0]),
    "gather by a number": (lambda: X.gather(0, cpu(2)), 4.0),
    "addr of bools": (lambda: ON.addr(ON, ON, beta=0, alpha=3), [[True, False], [False, False]]),
    "addr of bools, added": (lambda: ON.addr(ON, ON, beta=0.5, alpha=0), [[True, False], [True, False]]),
    "empty_permuted of no dims": (lambda: fb.empty_permuted((), (), device="cpu") * 0, 0.0),
    "empty_permuted of two": (lambda: fb.empty_permuted((1, 2), (1, 0), device="cpu") * 0, [[0.0, 0.0]]),
    "linalg.cross of two ranks": (
        lambda: fb.linalg.cross(ROW, cpu([1.0, 0.0, 0.0]), dim=1),
        [[0.0, 4.0, -2.0]],
    ),
    "local_response_norm of nothing": (
        lambda: F.local_response_norm(fb.ones(1, 0, 2, device="cpu"), 1),
        EMPTY,
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_value(name):
    compute, value = VALUES[name]
    np.testing.assert_allclose(compute().numpy(), value, rtol=1e-6)


REFUSED = {
    "a byte of -256": (lambda: written(-256), RuntimeError),
    "a byte of -1.5": (lambda: written(-1.5), RuntimeError),
    "a byte of 256": (lambda: written(256), RuntimeError),
    "huber_loss's complex delta": (lambda: F.huber_loss(X, X, delta=1j), TypeError),
    "complex of a number": (lambda: fb.complex(X, 2), TypeError),
    "nll_loss's weight": (lambda: F.nll_loss(LOGITS, cpu([0]), HALF), RuntimeError),
    "nll_loss's double weight": (lambda: F.nll_loss(LOGITS, cpu([0]), HALF.double()), RuntimeError),
    "cross_entropy's weight": (lambda: F.cross_entropy(LOGITS, cpu([0]), HALF), RuntimeError),
    "Adam's betas": (lambda: fb.optim.Adam([cpu([1.0])], betas=(cpu(0.9), 0.99)), ValueError),
    "Adam's betas of two": (lambda: fb.optim.Adam([cpu([1.0])], betas=(PAIR, PAIR)), RuntimeError),
    "Adam's beta of 2": (lambda: fb.optim.Adam([cpu([1.0])], betas=(cpu(2.0), cpu(0.5))), ValueError),
    "Adafactor's beta2_decay": (lambda: fb.optim.Adafactor([cpu([1.0])], beta2_decay=0.5), ValueError),
    "SparseAdam of complex numbers": (lambda: fb.optim.SparseAdam([COMPLEX]), ValueError),
    "complex of integers": (lambda: fb.complex(cpu([1]), cpu([1])), RuntimeError),
    "gradient of a dim twice": (lambda: fb.gradient(fb.ones(3, 3, device="cpu"), dim=[1, 1]), RuntimeError),
    "hardtanh's bounds": (lambda: F.hardtanh(X, 0.5, -0.5), ValueError),
    "isclose's rtol": (lambda: fb.isclose(X, X, rtol=-0.4), RuntimeError),
    "eye's sizes": (lambda: fb.eye(0, -3, device="cpu"), RuntimeError),
    "huber_loss's delta": (lambda: F.huber_loss(X, X, delta=0), RuntimeError),
    "triplet_margin_loss's margin": (lambda: F.triplet_margin_loss(X, X, X, margin=-1.0), ValueError),
    "t of 3 dims": (lambda: fb.t(fb.ones(1, 1, 1, device="cpu")), RuntimeError),
    "roll of no dims": (lambda: fb.roll(cpu(1.0), 0, 0), IndexError),
    "renorm of a vector": (lambda: fb.renorm(X, 1, 0, 1.0), RuntimeError),
    "cartesian_prod of a matrix": (lambda: fb.cartesian_prod(X.reshape(1, 3)), RuntimeError),
    "cartesian_prod of a number": (lambda: fb.cartesian_prod(cpu(1.0), X), RuntimeError),
    "flatten's dims": (lambda: X.reshape(1, 3).flatten(1, 0), RuntimeError),
    "flatten's dims of a number": (lambda: cpu(1.0).flatten(2), IndexError),
    "masked_scatter's empty source": (lambda: X.masked_scatter(X > 3, cpu([])).tolist(), RuntimeError),
    "masked_scatter's source": (lambda: X.masked_scatter(X > 1, cpu([1.0])).tolist(), RuntimeError),
    "max of a bool as dim": (lambda: X.max(True), TypeError),
    "multi_dot of one": (lambda: fb.linalg.multi_dot([X]), RuntimeError),
    "unbind of no dims": (lambda: fb.unbind(cpu(1.0), 0), IndexError),
    "multi_margin_loss's reduction": (lambda: F.multi_margin_loss(X, cpu(0), reduction="abc"), ValueError),
    "abs_ of complex numbers": (lambda: cpu([1j]).abs_(), TypeError),
    "masked_fill by several": (lambda: X.masked_fill(X > 1, X), RuntimeError),
    "masked_fill by a complex tensor": (lambda: cpu([1]).masked_fill(cpu(False), cpu(1j)), RuntimeError),
    "masked_fill by a complex number": (lambda: X.masked_fill(X > 1, 1j), RuntimeError),
    "empty_permuted's layout": (lambda: fb.empty_permuted([2], [0, 1], device="cpu"), RuntimeError),
    "cat of None": (lambda: fb.cat([X, None]), TypeError),
    "avg_pool1d's padding": (lambda: F.avg_pool1d(X.reshape(1, 1, 3), 2, padding=-1), RuntimeError),
    "max_pool1d's padding": (lambda: F.max_pool1d(X.reshape(1, 1, 3), 2, padding=-1), RuntimeError),
    "max_pool1d of no channels": (lambda: F.max_pool1d(fb.ones(0, 9, device="cpu"), 1), RuntimeError),
    "amax of nothing": (lambda: fb.amax(fb.ones(2, 0, device="cpu"), 1), IndexError),
    "argmax of nothing": (lambda: fb.argmax(fb.ones(2, 0, device="cpu"), 1), IndexError),
    "amin of nothing": (lambda: fb.amin(fb.ones(2, 0, device="cpu"), 1), ValueError),
    "irfft of a number": (lambda: fb.fft.irfft(cpu(1.0)), IndexError),
    "hfft2 of a number": (lambda: fb.fft.hfft2(cpu(1.0), dim=(0,)), IndexError),
    "linalg.cross of sizes 3 and 1": (lambda: fb.linalg.cross(X, cpu([1.0])), RuntimeError),
    "a window without weights": (lambda: fb.signal.windows.general_cosine(3, a=[]), ValueError),
    "a window's std": (lambda: fb.signal.windows.gaussian(3, std=-1), ValueError),
    "a window's tau": (lambda: fb.signal.windows.exponential(3, tau=0), ValueError),
    "a symmetric window's center": (lambda: fb.signal.windows.exponential(3, center=1), ValueError),
    "a window's beta": (lambda: fb.signal.windows.kaiser(3, beta=-1), ValueError),
    "a window of bfloat16": (lambda: fb.signal.windows.nuttall(3, dtype=fb.bfloat16), ValueError),
    "a hann window of int64": (lambda: fb.signal.windows.hann(3, dtype=fb.int64), ValueError),
    "a kaiser window of int64": (lambda: fb.signal.windows.kaiser(3, dtype=fb.int64), ValueError),
    "linear_cross_entropy's weight": (lambda: F.linear_cross_entropy(X, X, cpu(0)), RuntimeError),
    "linear_cross_entropy without a batch": (
        lambda: F.linear_cross_entropy(X, fb.ones(2, 4, 3, device="cpu"), cpu([0] * 4)),
        RuntimeError,
    ),
    "linear_cross_entropy's ignore_index": (
        lambda: F.linear_cross_entropy(X, fb.ones(3, 3, device="cpu"), X, ignore_index=0),
        RuntimeError,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    compute, kind = REFUSED[name]
    with pytest.raises(kind):
        compute()


def test_any_and_all_of_bytes_are_bytes():
    for y in (BYTES.any(), BYTES.all(0), BYTES.reshape(1, 2).any(0), BYTES.all(0, keepdim=True)):
        assert y.dtype is fb.uint8 and set(np.ravel(y.tolist())) <= {0, 1}
    assert (BYTES.any().item(), BYTES.all().item(), BYTES[1:].all().item()) == (1, 0, 1)
    assert array_api.any(BYTES).dtype is array_api.all(BYTES).dtype is fb.bool_


def test_betas_may_be_tensors():
    ours = [fb.ones(2, device="cpu", requires_grad=True) for _ in range(2)]
    for p, betas in zip(ours, [(0.5, 0.75), (cpu(0.5), cpu(0.75))], strict=True):
        opt = fb.optim.Adam([p], lr=0.1, betas=betas)
        for _ in range(2):
            opt.step((p * cpu([1.0, -2.0])).sum().backward())
    assert ours[0].tolist() == ours[1].tolist() != [1.0, 1.0]


def test_singular_values_of_lstsq_have_no_gradient():
    a = fb.tensor([[1.0, 2.0], [3.0, 5.0]], device="cpu", requires_grad=True)
    solved = fb.linalg.lstsq(a, a.detach(), driver="gelss")
    assert solved.solution.requires_grad and not solved.singular_values.requires_grad


def test_places_of_fractional_pools_are_int64():
    for pool, nd in ((F.fractional_max_pool2d, 2), (F.fractional_max_pool3d, 3)):
        _, places = pool(fb.ones(1, 1, *(3,) * nd, device="cpu"), 2, output_size=2, return_indices=True)
        assert places.dtype is fb.int64


def test_gelsy_gives_no_residuals():
    a = fb.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], device="cpu")
    assert fb.linalg.lstsq(a, a, driver="gelsy").residuals.shape == (0,)
    assert fb.linalg.lstsq(a, a, driver="gelsd").residuals.shape == (2,)


def test_max_norm_shortens_the_rows_that_are_used():
    table = cpu([[3.0, 4.0], [6.0, 8.0], [0.3, 0.4]])
    rows = F.embedding(cpu([0, 2]), table, max_norm=1.0)
    np.testing.assert_allclose(rows.numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-5)
    np.testing.assert_allclose(table.numpy(), [[0.6, 0.8], [6.0, 8.0], [0.3, 0.4]], rtol=1e-5)


def test_gradients_by_frequency():
    table = fb.ones(2, 1, device="cpu").requires_grad_()
    grads = F.embedding(cpu([0, 0, 0, 1]), table, scale_grad_by_freq=True).sum().backward()
    np.testing.assert_allclose(grads[table].numpy(), [[1.0], [1.0]])
