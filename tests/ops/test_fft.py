"""Fourier transforms beyond their rows: lengths, dims, round trips, short-time ones, windows, errors."""

import numpy as np
import pytest
from helpers.compare import values
from helpers.draws import draws, in_turn, one_of, some
from helpers.kernels import planned_for
from helpers.plans import kinds_of
from references.fourier import joined

import flambeau as fb
from flambeau.device import get_device
from flambeau.ops.fft import kernels

# smooth, prime, with large primes, beyond a kernel's length
LENGTHS = [1, 2, 3, 7, 8, 11, 30, 97, 256, 509, 1000, 1024, 1155, 2018, 2048, 6000]


def near(got, want, tol=1e-6):
    assert got.shape == want.shape
    assert np.abs(got - want).max(initial=0) <= tol * max(1.0, np.abs(want).max(initial=0))


def random(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("f4")


@pytest.mark.parametrize("n", in_turn(LENGTHS, 8))
def test_lengths(n, device):
    a = random((3, n, 2))
    z, x = fb.tensor(joined(a).astype("c8"), device=device), fb.tensor(a[..., 0], device=device)
    half = fb.fft.rfft(x)
    there, back, real, again = values(fb.fft.fft(z), fb.fft.ifft(fb.fft.fft(z)), half, fb.fft.irfft(half, n))
    assert there.dtype == back.dtype == real.dtype == "complex64" and again.dtype == "float32"
    near(there, np.fft.fft(joined(a.astype("f8"))))
    near(real, np.fft.rfft(a[..., 0].astype("f8")))
    near(back, joined(a), 2e-6)
    near(again, a[..., 0], 2e-6)


def reference(name, a, n, dim):
    """In 64 bits."""
    kw = {"axis": dim} | ({"n": n} if name == "irfft" else {})
    return getattr(np.fft, name)(a.astype("c16" if np.iscomplexobj(a) else "f8"), **kw)


def drawn(rng):
    """A transform of lines of a smooth length along any dim, alone or among columns; a view of its input."""
    factors = [one_of(rng, (2, 2, 3, 4, 5, 7, 8, 11, 13, 16)) for _ in range(some(rng, 1, 4))]
    n = int(np.prod(factors))
    while n > 4200:
        n //= factors.pop()
    name = one_of(rng, ("fft", "ifft", "rfft", "irfft"))
    shape = [some(rng, 1, 5), n // 2 + 1 if name == "irfft" else n, one_of(rng, (1, 1, 2, 3, 17))]
    dim = some(rng, 0, 2) if n < 100 else 1
    shape[1], shape[dim] = shape[dim], shape[1]
    a = rng.standard_normal(shape).astype("f4")
    if name == "irfft" or (name != "rfft" and rng.integers(3)):
        a = (a + 1j * rng.standard_normal(shape)).astype("c8")
    return name, a, n, dim


def test_drawn_lines(gpu):
    for at, rng in draws("fft", 5):
        name, a, n, dim = drawn(rng)
        t, want = fb.tensor(a, device=gpu), reference(name, a, n, dim)
        kw = {"n": n} if name == "irfft" else {}
        got, back = values(
            getattr(fb.fft, name)(t, dim=dim, **kw), getattr(fb.fft, name)(t.flip([0]), dim=dim, **kw) * 2
        )
        words = f"{at}: {name} of {a.shape} {a.dtype} along {dim} to {n}"
        assert np.abs(got - want).max() <= 1e-6 * np.abs(want).max(), words
        want = 2 * reference(name, a[::-1], n, dim)
        assert np.abs(back - want).max() <= 1e-6 * np.abs(want).max(), words


@pytest.mark.parametrize("n", in_turn([17, 37, 62, 97, 129, 1009, 2018], 7))
@pytest.mark.share(5)
def test_lines_with_a_chirp(n, gpu):
    """Kernels of GPUs: Bluestein's convolution in workgroup memory, of rows and of columns."""
    a = random((3, n, 2)) if n < 99 else random((2, n, 1))
    z = (a + 1j * a[::-1]).astype("c8")
    with planned_for(gpu, software=False):
        t, x = fb.tensor(z, device=gpu), fb.tensor(a, device=gpu)
        half = fb.fft.rfft(x, dim=1)
        kinds = kinds_of(half.view_as_real())
        there, real = values(fb.fft.ifft(t, dim=1), half)
        again = fb.fft.irfft(half, n, dim=1).numpy()
    assert kinds.count("fft") == 2 and len(kinds) <= 3  # the chirp's, and that of all lines
    near(there, reference("ifft", z, n, 1))
    near(real, reference("rfft", a, n, 1))
    near(again, a, 2e-6)


@pytest.mark.parametrize("n", in_turn([4998, 16386, 5065, 5089], 4))
@pytest.mark.share(5)
def test_two_steps_of_long_real_lines(n, gpu):
    a = random((2, n))
    with planned_for(gpu, software=False):
        x = fb.tensor(a, device=gpu)
        half = fb.fft.rfft(x)
        real, again = values(half, fb.fft.irfft(half, n))
    near(real, reference("rfft", a, n, 1))
    near(again, a, 2e-6)


@pytest.mark.parametrize("n", in_turn([12, 35, 143, 2048, 62, 5000], 6))
def test_two_steps_along_columns(n, gpu, monkeypatch):
    """Columns that are so long that a workgroup has room for few: both steps read columns side by side."""
    monkeypatch.setattr(kernels, "TWO_STEPS", (5, 2))
    x = random((2, n, 5)) if n < 200 else random((1, n, 3))
    z = (x + 1j * x[:, ::-1]).astype("c8")
    with planned_for(gpu, software=False):
        t, c = fb.tensor(x, device=gpu), fb.tensor(z, device=gpu)
        half = fb.fft.rfft(t, dim=1)
        assert kinds_of(half.view_as_real()).count("fft") >= 2
        found = values(fb.fft.fft(c, dim=1), fb.fft.ifft(c, dim=1), fb.fft.fft(t, dim=1), half)
        again = fb.fft.irfft(half, n, dim=1).numpy()
    for name, y, a in zip(("fft", "ifft", "fft", "rfft"), found, (z, z, x, x)):
        near(y, reference(name, a, n, 1))
    near(again, x, 2e-6)


def test_the_references_of_two_steps():
    """Each step of NumPy's device is what a kernel computes: together they are the whole."""
    from flambeau.core.op import OPS

    lines, a, b = OPS["_fft_lines"], 6, 5
    for n in (a * b, 7 * 5):
        x = random((2, n))
        z = np.fft.rfft(x.astype("f8"))
        pairs = np.stack([z.real, z.imag], -1).astype("f4")
        first = lines(fb.tensor(x.reshape(2, -1, b), device="cpu"), n // b, "real", n)
        y = lines(first, b, "upper", n).numpy()
        near(y[..., 0] + 1j * y[..., 1], z)
        back = lines(lines(fb.tensor(pairs, device="cpu"), n // b, "mirror", n), b, "part", n)
        near(back.numpy() / n, x)
        columns = random((2, n, 3))
        z = np.fft.rfft(columns.astype("f8"), axis=1)
        first = lines(fb.tensor(columns.reshape(2, n // b, -1), device="cpu"), n // b, "real", n, 3)
        second = first.reshape(2, n // b, b, 3, 2)
        y = lines(second, b, "upper", n, 3)
        near(y.view_as_complex().numpy(), z)
        near(lines(second, b, "second", n, 3).view_as_complex().numpy(), np.fft.fft(columns, axis=1))
        back = lines(y, n // b, "mirror", n, 3).reshape(2, n // b, b, 3, 2)
        near(lines(back, b, "part", n, 3).numpy() / n, columns)
        near(lines(back, b, "isecond", n, 3)[..., 0].numpy() / n, columns)
    k = np.array([0, 1, 2, 3, 4, 9, 9, 9, 4, 3, 2, 1])  # of a chirp for lines of 5, around 0 in 12
    table = lines(fb.zeros(1, device="cpu"), 5, "table", 12).numpy()
    near(table[:, 0] + 1j * table[:, 1], np.fft.fft(np.where(k < 5, np.exp(1j * np.pi * k * k / 5), 0)))


def test_a_number_that_is_none_is_in_its_line_only(device):
    a = random((4, 3, 20))
    a[2, 1, 5] = np.nan
    y, z = values(*(fb.fft.rfft(fb.tensor(a, device=device), dim=d).abs() for d in (2, 1)))
    assert np.array_equal(np.isnan(y).all(2), np.isnan(y).any(2)) and np.isnan(y[2, 1]).all()
    assert np.isnan(y).sum() == 11 and np.isnan(z).sum() == 2


def test_the_kernels_of_a_transform():
    """One kernel of lines, two of long ones and of columns: no table, no copy."""
    x = fb.zeros(6, 4096, 7).realize()
    columns = fb.zeros(6, 4096, 8).realize()
    with planned_for(get_device(), software=False):
        assert kinds_of(fb.fft.fft(columns, dim=1).view_as_real()) == ["fft", "fft"]
        assert kinds_of(fb.fft.rfft(columns, dim=1).view_as_real()) == ["fft", "fft"]
    z = fb.zeros(2, 65536, 2).realize().view_as_complex()
    assert kinds_of(fb.fft.fft(z).view_as_real()) == ["fft", "fft"]
    for y in (fb.fft.rfft(x, dim=1), fb.fft.fft(x, dim=1), fb.fft.rfft(x[:, 1:4001, 0])):
        assert kinds_of(y.view_as_real()) == ["fft"]


@pytest.mark.share(4, only=["gpu"])
def test_a_large_prime(device):
    a = random((10007, 2))
    z = fb.tensor(joined(a).astype("c8"), device=device)
    near(fb.fft.fft(z).numpy(), np.fft.fft(joined(a.astype("f8"))))


def test_chirps_beyond_32_bit_squares():
    from flambeau.ops.fft.kernels import squares

    n, k = 1_000_003, np.arange(999_000, 1_000_003)
    got = squares(fb.tensor(k, device="cpu"), n).numpy()
    assert np.array_equal(got, k.astype("i8") ** 2 % (2 * n))


@pytest.mark.share(2)
def test_gradient_of_every_way(gpu):
    """<F x, y> = <x, F^T y>, for lengths of each way to compute."""
    for n in (12, 22, 13, 1100):
        x = fb.tensor(random((2, n)), device=gpu, requires_grad=True)
        w = fb.tensor(random((2, n // 2 + 1, 2), 1), device=gpu)
        loss = (fb.fft.rfft(x).view_as_real() * w).sum()
        got, value = values(loss.backward()[x], loss)
        near(np.sum(got * x.numpy().astype("f8")), value, 1e-5)  # linear: the slope along x is the value


def test_empty_batches(device):
    assert fb.fft.fft(fb.zeros(0, 4, dtype=fb.complex64, device=device)).numpy().shape == (0, 4)
    assert fb.fft.rfft(fb.zeros(2, 0, 6, device=device)).numpy().shape == (2, 0, 4)


def test_views(gpu):
    a = random((5, 12, 4))
    z = fb.tensor(a, device=gpu)[::2].permute(2, 1, 0)[:2, ::-1]
    want = a[::2].transpose(2, 1, 0)[:2, ::-1]
    near(fb.fft.rfft(z, dim=1).numpy(), np.fft.rfft(want.astype("f8"), axis=1))


def test_real_numbers_are_complex_ones_too(device):
    x = random((2, 6))
    t, whole = fb.tensor(x, device=device), fb.tensor([3, 1, 2], device=device)
    near(fb.fft.fft(t).numpy(), np.fft.fft(x.astype("f8")))
    near(fb.fft.irfft(t).numpy(), np.fft.irfft(x.astype("f8")))
    near(fb.fft.fft(whole).numpy(), np.fft.fft([3, 1, 2]))


def test_one_length_is_that_of_the_last_dim():
    x = np.random.default_rng(4).normal(size=(2, 5))
    t = fb.tensor(x, dtype=fb.float64, device="cpu")
    near(fb.fft.fftn(t, s=4).numpy(), np.fft.fft(x, 4), 1e-14)
    near(fb.fft.irfftn(fb.fft.rfftn(t, s=4), s=4).numpy(), x[:, :4], 1e-14)


def test_doubles_are_transformed_as_doubles():
    x = np.random.default_rng(3).normal(size=(2, 23))
    t = fb.tensor(x, dtype=fb.float64, device="cpu")
    z = fb.fft.rfft(t)
    assert z.dtype is fb.complex128 and fb.fft.irfft(z, 23).dtype is fb.float64
    near(z.numpy(), np.fft.rfft(x), 1e-14)
    near(fb.fft.irfft(z, 23).numpy(), x, 1e-14)
    near(fb.fft.fft(z).numpy(), np.fft.fft(np.fft.rfft(x)), 1e-14)


def test_short_time_transforms_invert(device):
    x = fb.tensor(random((2, 100)), device=device)
    window = fb.hann_window(16, device=device)
    z = fb.stft(x, 16, hop_length=4, window=window)
    assert z.shape == (2, 9, 26) and z.dtype is fb.complex64
    near(fb.istft(z, 16, hop_length=4, window=window, length=100).numpy(), x.numpy(), 2e-6)
    z = fb.stft(x, 16, 4, window=window, onesided=False, center=False)
    assert z.shape == (2, 16, 22)
    y = fb.istft(z, 16, 4, window=fb.ones(16, device=device), onesided=False, center=False)
    assert y.shape == (2, 100) and y.dtype is fb.float32
    y = fb.stft(fb.complex(x, x * 2), 16, 4)
    assert y.shape == (2, 16, 26) and fb.stft(x, 16, 4, return_complex=False).shape == (2, 9, 26, 2)
    back = fb.istft(y, 16, 4, onesided=False, return_complex=True, length=100)
    near(back.numpy(), x.numpy() * (1 + 2j), 2e-6)


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett"])
def test_windows_of_every_length(name):
    reference = np.hanning if name == "hann" else getattr(np, name)
    for n in (0, 1, 2, 9):
        near(getattr(fb.signal.windows, name)(n, device="cpu").numpy(), reference(n))
    near(getattr(fb, f"{name}_window")(8, device="cpu").numpy(), reference(9)[:-1])


REFUSED = [
    (
        lambda x: fb.fft.rfft(fb.complex(x, x)),
        "fft.rfft(c64[2, 3]): takes real numbers: use fft for complex ones, or .real",
    ),
    (
        lambda x: fb.fft.rfft(x, norm="max"),
        "fft.rfft(f32[2, 3], norm='max'): norm='max' is not 'backward', 'ortho' or 'forward'",
    ),
    (
        lambda x: fb.fft.rfft(x[:, :0]),
        "fft.rfft(f32[2, 0]): a transform of 0 elements is not defined: pass n of at least 1",
    ),
    (
        lambda x: fb.stft(x, 8),
        "stft(f32[2, 3], 8): 3 samples are too few to reflect 4: use pad_mode='constant'",
    ),
    (
        lambda x: fb.istft(x, 4),
        "istft(f32[2, 3], 4): takes complex numbers, as stft returns them: use view_as_complex",
    ),
    (
        lambda x: fb.istft(fb.complex(x, x), 4, return_complex=True),
        "istft(c64[2, 3], 4, return_complex=True): the signal of a one-sided transform is real:"
        " use onesided=False for a complex one",
    ),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_errors(case):
    call, text = REFUSED[case]
    with pytest.raises((ValueError, TypeError)) as e:
        call(fb.zeros(2, 3, device="cpu"))
    assert str(e.value) == text
