"""Grids of Fourier transforms and windows. Complex numbers are drawn and compared as pairs in a last dim."""

from rows.fourier import by_pairs

from .grid import Table, call

GRIDS = Table()
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 27, 32, 49, 64, 97, 100, 128, 256, 300, 512, 1000, 1024, 2048)
REAL = {"fft_rfft", "fft_rfft2", "fft_rfftn", "fft_ihfft", "fft_ihfft2", "fft_ihfftn"}
TO_REAL = {"fft_irfft", "fft_irfft2", "fft_irfftn", "fft_hfft", "fft_hfft2", "fft_hfftn"}


def as_pairs(name: str):
    """torch's transform on pairs."""

    def of_pairs(torch, x, *args, **kwargs):
        x = x if name in REAL else torch.view_as_complex(x.contiguous())
        y = getattr(torch.fft, name.removeprefix("fft_"))(x, *args, **kwargs)
        return torch.view_as_real(y.resolve_conj()) if y.is_complex() else y

    return of_pairs


def transform(name: str):
    def draw(d):
        many = name.endswith(("2", "n"))
        shape = [d.size(5) for _ in range(d.int(2 if many else 1, 3))]
        at = d.int(0, len(shape) - 1)
        shape[at] = d.one(*LENGTHS)
        norm = {"norm": d.one(None, "ortho", "forward", "backward")}
        n = len(shape)
        if many:
            dims = tuple(int(i) for i in d.rng.permutation(n)[:2])
            given = {"dim": dims if d.maybe() else tuple(i - n for i in dims)}
            if d.maybe(0.4) or name in TO_REAL:
                given["s"] = tuple(d.one(2, 3, 4, 7, 8, 16) for _ in dims)
        else:
            given = {"dim": at - n if d.maybe() else at}
            if d.maybe(0.5) or name in TO_REAL:
                given["n"] = d.one(*LENGTHS[1:16])
        pairs = () if name in REAL else (2,)
        return call(d.array((*shape, *pairs)), **given, **norm)

    return draw


NAMES = (
    "fft fft2 fftn hfft hfft2 hfftn ifft ifft2 ifftn ihfft ihfft2 ihfftn irfft irfft2 irfftn rfft rfft2 rfftn"
)
for _name in NAMES.split():
    _op = f"fft_{_name}"
    _ours = by_pairs(_op, int(_op not in REAL))
    GRIDS(_op, theirs=as_pairs(_op), ours=_ours, fixed=3, tol=2e-5)(transform(_op))


@GRIDS("fft_fftshift", "fft_ifftshift")
def shift(d):
    shape = d.shape(1)
    return call(d.array(shape), **({"dim": d.dim(shape)} if d.maybe() else {}))


@GRIDS("fft_fftfreq", "fft_rfftfreq", slopes=False)
def frequencies(d):
    return call(d.one(*LENGTHS), d.float(0.1, 3))


def their_stft(torch, x, *args, **kwargs):
    return torch.view_as_real(torch.stft(x, *args, return_complex=True, **kwargs))


@GRIDS("stft", theirs=their_stft, ours=by_pairs("stft", 0), fixed=4, tol=2e-5)
def stft(d):
    n = d.one(4, 8, 12, 16, 31, 64)
    width = d.int(2, n)
    arguments = {name: d.maybe() for name in ("center", "normalized", "onesided")}
    arguments |= {"hop_length": d.int(1, n), "win_length": width}
    arguments["pad_mode"] = d.one("reflect", "constant", "replicate", "circular")
    window = {"window": d.array((width,), 0.2, 1)} if d.maybe(0.7) else {}
    shape = (d.int(1, 3), n * 2 + d.int(0, 100))
    return call(d.array(shape), n, **arguments, **window)


def on_complex(f):
    """A function of torch's complex numbers on pairs."""

    def of_pairs(torch, *xs):
        y = f(*(torch.view_as_complex(x.contiguous()) for x in xs))
        return torch.view_as_real(y.resolve_conj()) if y.is_complex() else y

    return of_pairs


@GRIDS("angle", theirs=on_complex(lambda x: x.angle()), ours=by_pairs("angle"))
def angles(d):
    return call(d.array((*d.shape(empty=False), 2)))


@GRIDS("conj", theirs=on_complex(lambda x: x.conj()), ours=by_pairs("conj"))
def conjugates(d):
    return call(d.array((*d.shape(empty=False), 2)))


@GRIDS("sgn", theirs=on_complex(lambda x: x.sgn()), ours=by_pairs("sgn"))
def directions(d):
    return call(d.array((*d.shape(empty=False), 2), 0.1, 2))


@GRIDS("adjoint", theirs=on_complex(lambda x: x.adjoint()), ours=by_pairs("adjoint"))
def adjoints(d):
    return call(d.array((*d.shape(2, 3, empty=False), 2)))


@GRIDS(
    "complex",
    theirs=lambda torch, a, b: torch.view_as_real(torch.complex(a, b)),
    ours=by_pairs("complex", 0),
)
def of_parts(d):
    shape = d.shape()
    return call(d.array(shape), d.array(shape))


@GRIDS(
    "polar",
    theirs=lambda torch, a, b: torch.view_as_real(torch.polar(a, b)),
    ours=by_pairs("polar", 0),
)
def of_angles(d):
    shape = d.shape()
    return call(d.array(shape, 0.2, 2), d.array(shape))


WITHOUT = {"istft": "torch refuses most windows that are drawn: tests/ops/test_fft.py inverts stft"}


@GRIDS("bartlett_window", "blackman_window", "hamming_window", "hann_window", slopes=False, fixed=1)
def window(d):
    return call(d.int(1, 70), d.maybe())


@GRIDS("kaiser_window", slopes=False)
def kaiser(d):
    return call(d.int(1, 70), d.maybe(), d.float(1, 14))


WINDOWS = {
    "cosine": lambda d: {}, "nuttall": lambda d: {}, "exponential": lambda d: {"tau": d.float(0.5, 9)},
    "gaussian": lambda d: {"std": d.float(0.5, 9)}, "general_cosine": lambda d: {"a": [0.46, 0.23, 0.31]},
    "general_hamming": lambda d: {"alpha": d.float(0.2, 0.8)},
}  # fmt: skip


@GRIDS(*(f"signal_windows_{name}" for name in WINDOWS), slopes=False, fixed=1)
def named_window(d, name):
    return call(d.int(2, 70), sym=d.maybe(), **WINDOWS[name.removeprefix("signal_windows_")](d))
