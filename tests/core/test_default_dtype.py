"""The default dtype: what becomes of it, what does not, and what is computed as before beside it."""

import numpy as np
import pytest
from rows import ROWS

import flambeau as fb
from flambeau.core.op import COMPOSED

KINDS = ("float16", "bfloat16", "float64")
# what is of the default dtype, as in PyTorch
FOLLOWS = """
m.zeros(2, 3) | m.ones(1) | m.empty(2) | m.tensor([1.5]) | m.tensor([]) | m.tensor([[1, 2.0]]) | m.tensor(0.5)
m.tensor([1, 2]) / 2 | m.tensor([1, 2]) * 0.5 | 1 / m.tensor([3]) | m.tensor([4, 9]).sqrt()
m.tensor(3) * 1.5 | m.arange(0, 1, 0.25) | m.linspace(0, 1, 4) | m.logspace(0, 2, 3) | m.eye(2)
m.full((2,), 1.5) | m.rand(3) | m.randn(2) | m.where(m.tensor([True, False]), 1.0, 0.0) | m.Tensor([1, 2])
m.hann_window(4) | m.fft.fftfreq(4) | m.atan2(m.tensor([1]), m.tensor([2])) | m.special.erf(m.tensor([1]))
m.cat([m.tensor([1]), m.tensor([1.5])]) | m.nn.Linear(2, 3).weight | m.nn.Linear(2, 3)(m.ones(1, 2))
m.nn.BatchNorm1d(3).running_mean | m.nn.Embedding(3, 2).weight | m.nn.LSTM(2, 3).weight_hh_l0
m.nn.Parameter(m.ones(2)) | m.nn.PReLU().weight | m.zeros_like(m.tensor([1.0])) | m.rand_like(m.zeros(2))
m.normal(0.0, 1.0, (2,)) | m.zeros(2, requires_grad=True)
"""
# what is of another one
STAYS = """
int64: m.tensor([1]) | m.arange(3) | m.full((2,), 1) | m.tensor([1, 2]).sum()
int64: m.nn.functional.one_hot(m.tensor([1]))
bool: m.tensor([True]) | m.tensor([1.5]) > 1 | m.logical_not(m.tensor([1]))
float32: m.tensor([1], dtype=m.float32) | m.tensor([1]).float() | m.tensor([1]).to(m.float32)
float32: m.ones(2, dtype=m.float32) * 2.5 | m.ones(2, dtype=m.float32).exp() | m.rand(2, dtype=m.float32)
float32: m.arange(0, 1, 0.5, dtype=m.float32) | m.eye(2, dtype=m.float32)
float32: m.tensor([1]).sum(dtype=m.float32) | m.linspace(0, 1, 3, dtype=m.float32)
float32: m.zeros_like(m.ones(1, dtype=m.float32))
"""

# what is made of numbers alone, although its rows say floats
MADE = """
full zeros empty arange linspace logspace eye fft_fftfreq fft_rfftfreq hann_window hamming_window
blackman_window bartlett_window kaiser_window rand randn uniform exponential gumbel laplace log_normal
cauchy geometric
"""


@pytest.fixture(params=KINDS)
def default(request):
    with fb.device("cpu"):
        fb.set_default_dtype(request.param)
        yield getattr(fb, request.param)
        fb.set_default_dtype("float32")


def lines():
    return [line.strip() for part in FOLLOWS.strip().splitlines() for line in part.split(" | ")]


def stays():
    rows = [line.partition(": ") for line in STAYS.strip().splitlines()]
    return [(kind, line.strip()) for kind, _, text in rows for line in text.split(" | ")]


def test_what_follows_and_what_stays(default):
    for line in lines():
        made = eval(line, {"m": fb})
        assert made.dtype is default, line
        assert np.isfinite(made.float().numpy()).all() and (made.is_leaf or "Linear" in line), line
    for kind, line in stays():
        assert eval(line, {"m": fb}).dtype.name == kind, line
    assert fb.get_default_dtype() is default and fb.result_type(fb.tensor([1]), 0.5) is default
    assert "dtype" not in repr(fb.ones(1)) and "dtype" in repr(fb.ones(1, dtype=fb.float32))
    wide = fb.complex128 if default is fb.float64 else fb.complex64
    assert fb.tensor([1j]).dtype is wide


def test_agrees_with_torch(torch, default):
    torch.set_default_dtype(getattr(torch, default.name))
    try:
        for line in [*lines(), *[line for _, line in stays()]]:
            ours, theirs = eval(line, {"m": fb}), eval(line, {"m": torch})
            assert str(ours.dtype).partition(".")[2] == str(theirs.dtype).partition(".")[2], line
            if not any(word in line for word in ("nn.", "rand", "normal", "empty")):
                got, want = ours.detach().double().numpy(), theirs.detach().double().numpy()
                step = fb.finfo(default).eps if "m.float32" not in line else 1e-6
                np.testing.assert_allclose(got, want, rtol=step, atol=step / 4, err_msg=line)
    finally:
        torch.set_default_dtype(torch.float32)


def test_doubles_are_exact_where_they_are_the_default():
    with fb.device("cpu"):
        fb.set_default_dtype(fb.float64)
        try:
            third = fb.tensor([1]) / 3
            assert (
                third.item() == 1 / 3
                and fb.tensor([0.1]).item() == 0.1
                and (fb.tensor(2) * 0.1).item() == 0.2
            )
            np.testing.assert_allclose(fb.linspace(0, 1, 4).numpy(), np.linspace(0, 1, 4), rtol=1e-15)
            assert fb.arange(0, 1, 0.1).tolist() == np.arange(0, 1, 0.1).tolist()
            assert fb.tensor([2]).sqrt().item() == 2**0.5 and fb.full((), 0.1).item() == 0.1
            assert (
                fb.tensor(np.array([0.1])).dtype is fb.float64
                and fb.tensor(np.float32(0.1)).dtype is fb.float32
            )
        finally:
            fb.set_default_dtype("float32")


def values(name, row):
    rng = np.random.default_rng(3)
    given = [fb.tensor(i.make(rng), device="cpu") for i in row.inputs]
    fb.manual_seed(0)
    made = row.compute(name, *given)
    return made.dtype, made.numpy()


def test_operations_on_floats_are_as_before():
    """Nothing that an operation is made of is lost in the default dtype's 16 bits."""
    names = [n for n, row in ROWS.items() if any(i.kind == "f" for i in row.inputs)]
    before = {n: values(n, ROWS[n]) for n in names}
    fb.set_default_dtype(fb.bfloat16)
    try:
        for name in names:
            (dtype, was), (found, now) = before[name], values(name, ROWS[name])
            if name in MADE.split() or "_windows_" in name:
                assert found is fb.bfloat16, name
            else:
                assert found is dtype and np.array_equal(now, was, equal_nan=was.dtype.kind in "fc"), name
    finally:
        fb.set_default_dtype("float32")
    assert len(names) > 400 and "softmax" in COMPOSED


def test_training_beside_it_is_as_before():
    """Optimisers, a scaler and metrics keep float32 for themselves."""

    def trained():
        fb.manual_seed(0)
        p = fb.nn.Parameter(fb.tensor([1.0, -2.0], dtype=fb.float32))
        found = []
        for kind in ("SGD", "Adam", "Adafactor", "Adadelta", "Rprop", "LBFGS"):
            optimizer = getattr(fb.optim, kind)([p], lr=0.1)

            def closure():
                return (p * p * 1.001).sum().backward()

            optimizer.step(closure if kind == "LBFGS" else closure())
            found += p.tolist()
        scaler = fb.GradScaler(init_scale=65536.0)
        metric = fb.metrics.MeanMetric()
        metric.update(fb.tensor([1.0, 2.0003], dtype=fb.float32))
        spread = fb.metrics.PearsonCorrCoef()
        spread.update(
            fb.tensor([1.0, 2.5, 2.0], dtype=fb.float32), fb.tensor([2.0, 4.0, 7.0], dtype=fb.float32)
        )
        return [*found, scaler.get_scale(), metric.compute(), spread.compute()]

    with fb.device("cpu"):
        before = trained()
        fb.set_default_dtype(fb.float16)
        try:
            assert trained() == before
        finally:
            fb.set_default_dtype("float32")


def test_a_recorded_function_is_recorded_anew():
    step = fb.jit(lambda x: x * fb.ones(2) * 1.5)
    with fb.device("cpu"):
        x = fb.tensor([1, 2])
        assert step(x).dtype is fb.float32 and step(x).dtype is fb.float32
        fb.set_default_dtype("bfloat16")
        try:
            assert step(x).dtype is fb.bfloat16
        finally:
            fb.set_default_dtype("float32")
        assert step(x).dtype is fb.float32


def test_under_autocast_it_is_what_is_cast():
    with fb.device("cpu"):
        fb.set_default_dtype("float16")
        try:
            with fb.autocast("cpu", fb.bfloat16):
                assert (fb.ones(2, 2) @ fb.ones(2, 2)).dtype is fb.bfloat16 and fb.zeros(
                    2
                ).dtype is fb.float16
            assert (fb.ones(2, 2) @ fb.ones(2, 2)).dtype is fb.float16
        finally:
            fb.set_default_dtype("float32")


def test_what_it_can_not_be(gpu):
    with pytest.raises(TypeError) as told:
        fb.set_default_dtype(fb.int32)
    assert str(told.value) == (
        "set_default_dtype(flambeau.int32): takes a float dtype: set_default_integer is for integers"
    )
    with fb.device(gpu), pytest.raises(ValueError) as told:
        fb.set_default_dtype("float64")
    assert str(told.value) == (
        f"set_default_dtype('float64'): {gpu.name} is the default device, and GPUs have no floats of 64 bits:"
        " set_default_device('cpu') first"
    )
    assert fb.get_default_dtype() is fb.float32
    fb.set_default_dtype("float16")
    try:
        assert (fb.ones(3, device=gpu) / 3).dtype is fb.float16
        assert (fb.arange(3, device=gpu) / 2).tolist() == [0, 0.5, 1]
    finally:
        fb.set_default_dtype("float32")
