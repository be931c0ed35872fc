"""Random numbers: Philox-4x32-10, so one seed gives the same integers and uniforms on every device."""

import threading
from math import pi, prod

from .. import dtype as dt
from .. import op as _op
from ..op import OPS, Family, Op, apply, composed

NN = ("dropout",)


class Generator:
    """Counts the random numbers handed out since a seed; element i of a draw is word i of its stream."""

    def __init__(self, seed: int = 0):
        self._lock = threading.Lock()
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> "Generator":
        """Start the stream of this seed (its low 64 bits)."""
        with self._lock:
            self.seed, self.offset = seed & (1 << 64) - 1, 0
        return self

    def take(self, n: int) -> tuple[int, int, int, int]:
        """The Philox key and counter (low and high words) of the next n numbers."""
        with self._lock:
            at = self.offset
            self.offset += -(-n // 4)
        return self.seed & 0xFFFFFFFF, self.seed >> 32, at & 0xFFFFFFFF, at >> 32


generator = Generator()


class Draw:
    """The place of one draw in the stream; a replay takes a new one."""

    def __init__(self, n: int):
        self.n = n
        self.words = generator.take(n)

    def renew(self) -> tuple[int, int, int, int]:
        self.words = generator.take(self.n)
        return self.words


def manual_seed(seed: int) -> Generator:
    """Seed the random numbers of every device; the same seed gives the same numbers everywhere."""
    return generator.manual_seed(seed)


def philox(xp, n: int, words):
    """n words of the Philox-4x32-10 stream with that key and counter (Salmon et al., SC 2011), as uint32."""
    blocks = -(-n // 4)
    count = xp.arange(blocks, dtype="uint64") + xp.uint64(words[2]) + (xp.uint64(words[3]) << xp.uint64(32))
    mask = xp.uint64(0xFFFFFFFF)
    c = [count & mask, count >> xp.uint64(32), xp.zeros_like(count), xp.zeros_like(count)]
    k0, k1 = words[0], words[1]
    for _ in range(10):
        p0, p1 = c[0] * xp.uint64(0xD2511F53), c[2] * xp.uint64(0xCD9E8D57)
        c = [
            (p1 >> xp.uint64(32)) ^ c[1] ^ xp.uint64(k0),
            p1 & mask,
            (p0 >> xp.uint64(32)) ^ c[3] ^ xp.uint64(k1),
            p0 & mask,
        ]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return xp.stack(c, axis=1).reshape(-1)[:n].astype("uint32")


def _bits(shape, device):
    op = OPS["random_bits"]
    draw = Draw(prod(shape))
    return _op.Tensor(apply(op, (), {"shape": tuple(shape)}, scalars=(draw,), device=device))


class Random(Family):
    random_bits = Op(
        "source",
        xp=lambda xp, draw, shape: philox(xp, prod(shape), draw.words).reshape(shape),
        shape=lambda shape: shape,
        dtype=lambda shape: dt.uint32,
        doc="32 random bits an element",
    )


def _sizes(size):
    return tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else tuple(size)


def uniform_of(bits):
    """[0, 1) from the high 24 bits: exact in float32, so equal on every device."""
    return (bits >> 8).float() * 2.0**-24


def rand(*size, device=None):
    """Uniform in [0, 1), float32."""
    return uniform_of(_bits(_sizes(size), device_of(device)))


def randn(*size, device=None):
    """Standard normal, float32 (Box and Muller, 1958); devices differ by less than 1e-6 (log1p and cos)."""
    u, v = rand(*size, device=device), rand(*size, device=device)
    # log1p, since a GPU's log has a fixed absolute error near 1, which the root blows up to 3e-5
    return ((-u).log1p() * -2).sqrt() * (v * (2 * pi)).cos()


def randint(low: int, high: int | None = None, size=(), device=None):
    """Integers in [low, high), int32; randint(n, size=...) starts at 0."""
    low, high = (0, low) if high is None else (low, high)
    if not 0 < high - low <= 1 << 31:
        raise ValueError(f"randint(low={low}, high={high}): high must be above low, by at most 2**31")
    return (_bits(tuple(size), device_of(device)) % (high - low)).int() + low


def device_of(device):
    from ..device import get_device

    return get_device(device)


@composed
def dropout(input, p: float = 0.5, training: bool = True):
    """Zero each element with probability p and scale the others by 1 / (1 - p). [...] -> [...]"""
    if not 0 <= p <= 1:
        raise ValueError(f"p={p} is not in 0 to 1")
    if not training or p == 0:
        return input
    keep = rand(*input.shape, device=input.device) >= p
    return keep.where(input * (1 / (1 - p) if p < 1 else 0.0), 0.0)
