"""Random numbers: Philox-4x32-10, so one seed gives the same integers and uniforms on every device."""

from __future__ import annotations

import os
import threading
from itertools import count
from math import pi, prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core import dtype as dt
from ..core import op as _op
from ..core.declare import composed
from ..core.op import OPS, Op, apply

if TYPE_CHECKING:
    from ..tensor import Tensor


_seedings = count(1)


class _Thread(threading.local):
    draws: list[Draw] | None = None  # those that it makes, while somebody notes them


of_thread = _Thread()


class StreamPlace(NamedTuple):
    """A place in a generator's stream as Philox takes it: the words of its key and of its counter."""

    k0: int
    k1: int
    low: int
    high: int

    @property
    def block(self) -> int:
        """The counter: how many blocks of four numbers come before."""
        return self.high << 32 | self.low

    def at_block(self, block: int) -> StreamPlace:
        """Another place in the same stream."""
        return StreamPlace(self.k0, self.k1, block & 0xFFFFFFFF, block >> 32 & 0xFFFFFFFF)


class Generator:
    """Counts the random numbers handed out since a seed; element i of a draw is word i of its stream."""

    seedings = 0  # another one whenever any of them was sent somewhere else in its stream

    def __init__(self, seed: int = 0, *, device: Any = None):
        """seed: where its stream starts. device: taken and without effect: streams are the same on all."""
        self._lock = threading.Lock()
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of this seed (its low 64 bits)."""
        return self.set_state((int(seed) & (1 << 64) - 1, 0))

    def seed(self) -> int:
        """Start a stream that nobody can foretell; returns its seed, which would start it again."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that the stream was started with."""
        return self._seed

    def get_state(self) -> tuple[int, int]:
        """(seed, place in the stream): what set_state goes back to."""
        with self._lock:
            return self._seed, self.offset

    def set_state(self, state: tuple[int, int]) -> Generator:
        """Go on from a state of get_state."""
        seed, offset = state
        with self._lock:
            self._seed, self.offset = seed, offset
        Generator.seedings = next(_seedings)
        return self

    def clone_state(self) -> Generator:
        """Another generator at the same place of the same stream."""
        return Generator().set_state(self.get_state())

    def __reduce__(self) -> tuple:
        return _generator_at, self.get_state()

    def take(self, n: int) -> StreamPlace:
        """The place of the next n numbers."""
        with self._lock:
            seed, at = self._seed, self.offset
            self.offset += -(-n // 4)
        return StreamPlace(seed & 0xFFFFFFFF, seed >> 32, 0, 0).at_block(at)

    def after_fork(self) -> None:
        """In a forked child: whoever held the lock is not here."""
        self._lock = threading.Lock()


def _generator_at(seed: int, offset: int) -> Generator:
    return Generator().set_state((seed, offset))


generator = Generator()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=generator.after_fork)


class Draw:
    """The place of one draw in a generator's stream; a replay takes a new one."""

    def __init__(self, n: int, source: Generator | None = None):
        self.n, self.source = n, generator if source is None else source
        self.words = self.source.take(n)
        if of_thread.draws is not None:
            of_thread.draws.append(self)

    @property
    def at(self) -> int:
        """The place of its first four numbers."""
        return self.words.block


class Noted:
    """The draws that this thread makes in a block: of each generator, where they begin and how many fours
    of numbers they are."""

    def __init__(self, *sources: Generator):
        self.begins = {g: g.offset for g in (generator, *sources)}
        self.blocks: dict[Generator, int] = dict.fromkeys(self.begins, 0)
        self.draws: list[Draw] = []
        self._seedings = Generator.seedings

    def __enter__(self) -> Noted:
        self._before, of_thread.draws = of_thread.draws, self.draws
        return self

    def __exit__(self, *_) -> None:
        of_thread.draws = self._before
        self._join()

    def _join(self) -> None:
        """Let draws lie one behind the other where other threads drew in between."""
        places = []
        for d in self.draws:
            self.begins.setdefault(d.source, d.at)
            places.append(self.blocks.get(d.source, 0))
            self.blocks[d.source] = places[-1] + -(-d.n // 4)
        if self._seedings != Generator.seedings:
            return
        for source, blocks in self.blocks.items():
            with source._lock:
                if blocks and source.offset != self.begins[source] + blocks:
                    self.begins[source], source.offset = source.offset, source.offset + blocks
        for d, place in zip(self.draws, places, strict=True):
            d.words = d.words.at_block(self.begins[d.source] + place)

    def take_back(self) -> None:
        """Give the numbers back, where nobody has drawn since."""
        for source, blocks in self.blocks.items():
            with source._lock:
                if source.offset == self.begins[source] + blocks:
                    source.offset = self.begins[source]


def manual_seed(seed: int) -> Generator:
    """Seed the random numbers of every device; the same seed gives the same numbers everywhere."""
    return generator.manual_seed(seed)


def seed() -> int:
    """Start random numbers that nobody can foretell; returns the seed, which would start them again."""
    return generator.seed()


def initial_seed() -> int:
    """The seed that random numbers were started with."""
    return generator.initial_seed()


def get_rng_state() -> tuple[int, int]:
    """(seed, place in its stream): what set_rng_state goes back to."""
    return generator.get_state()


def set_rng_state(new_state: tuple[int, int]) -> None:
    """Go on with random numbers from a state of get_rng_state.

    new_state: the seed, and how many numbers were drawn.
    """
    generator.set_state(new_state)


def philox(xp, n: int, words):
    """n words of the Philox-4x32-10 stream with that key and counter (Salmon et al., SC 2011), as uint32."""
    blocks = -(-n // 4)
    mask = 0xFFFFFFFF
    # int64, which every array library has: sums and products wrap to the same bits as unsigned ones
    count = xp.arange(blocks, dtype="int64")
    low = (count & mask) + words[2]
    c = [
        low & mask,
        (count >> 32) + (low >> 32) + words[3] & mask,
        xp.zeros_like(count),
        xp.zeros_like(count),
    ]
    k0, k1 = words[0], words[1]
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [
            (p1 >> 32 & mask) ^ c[1] ^ k0,
            p1 & mask,
            (p0 >> 32 & mask) ^ c[3] ^ k1,
            p0 & mask,
        ]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return xp.astype(xp.reshape(xp.stack(c, axis=1), (-1,))[:n], "uint32")


def drawn_bits(shape, device, source: Generator | None = None):
    if source is not None and not isinstance(source, Generator):
        raise TypeError(f"generator={source!r} is none: give a flambeau.Generator")
    draw = Draw(prod(shape), source)
    return _op.Tensor(apply(OPS["random_bits"], (), {"shape": tuple(shape)}, scalars=(draw,), device=device))


random_bits = Op(
    "source",
    xp=lambda xp, draw, shape: xp.reshape(philox(xp, prod(shape), draw.words), shape),
    shape=lambda shape: shape,
    dtype=lambda shape: dt.uint32,
    doc="32 random bits an element",
    cost=20,
)


def uniform_of(bits, digits: int = 24):
    """[0, 1) from the high bits, as many as a float has digits: exact, so equal on every device."""
    return (bits >> 32 - digits).float() * 2.0**-digits


def uniform_bits(shape, device, source: Generator | None = None, digits: int = 24):
    """Uniform in [0, 1) of that shape, float32; a float of that many digits holds it, so none becomes 1."""
    return uniform_of(drawn_bits(shape, device, source), digits)


def open_bits(shape, device, source: Generator | None = None):
    """Uniform in (0, 1) without its ends, from the high 23 bits: its logarithms are finite and not 0."""
    return ((drawn_bits(shape, device, source) >> 9).float() + 0.5) * 2.0**-23


def exponential_bits(shape, device, source: Generator | None = None):
    """Exponential with mean 1 of that shape, by log1p: a GPU's log has a fixed absolute error near 1."""
    return -(-open_bits(shape, device, source)).log1p()


def gumbel_bits(shape, device, source: Generator | None = None):
    """Standard Gumbel of that shape: minus the logarithm of an exponential."""
    return -exponential_bits(shape, device, source).log()


def normal_bits(shape, device, source: Generator | None = None):
    """Standard normal of that shape, float32 (Box and Muller, 1958); devices differ by less than 1e-6."""
    u, v = uniform_bits(shape, device, source), uniform_bits(shape, device, source)
    # log1p, since a GPU's log has a fixed absolute error near 1, which the root blows up to 3e-5
    return ((-u).log1p() * -2).sqrt() * (v * (2 * pi)).cos()


def _kept(input, p: float, shape):
    """Where elements stay, each with probability 1 - p; one draw for all along dims of size 1 in shape."""
    if not 0 <= p <= 1:
        raise ValueError(f"p={p} is not in 0 to 1")
    return uniform_bits(shape, input.device) >= p


def _dropped(input, p: float, training: bool, shape):
    if not 0 <= p <= 1:
        raise ValueError(f"p={p} is not in 0 to 1")
    if not training or p == 0:
        return input
    return _kept(input, p, shape).where(input * (1 / (1 - p) if p < 1 else 0.0), 0.0)


def _by_channel(input, nd: int):
    """The shape of one draw a channel; without nd + 2 dims there is no batch."""
    if input.ndim not in (nd + 1, nd + 2):
        raise ValueError(f"takes {nd + 1} or {nd + 2} dims: reshape it")
    lead = input.ndim - nd
    return (*input.shape[:lead], *(1,) * nd)


@composed
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability p and scale the others by 1 / (1 - p). [...] -> [...]

    training: whether it acts at all
    Raises ValueError where p is not in 0 to 1.
    """
    return _dropped(input, p, training, input.shape)


@composed
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout of whole channels. [n, c, l] -> [n, c, l]

    p: the probability that a channel is zeroed
    training: whether it acts at all
    Raises ValueError where p is not in 0 to 1; where the input has neither a batch nor channels.
    """
    return _dropped(input, p, training, _by_channel(input, 1))


@composed
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout of whole channels. [n, c, h, w] -> [n, c, h, w]

    p: the probability that a channel is zeroed
    training: whether it acts at all
    Raises ValueError where p is not in 0 to 1; where the input has neither a batch nor channels.
    """
    return _dropped(input, p, training, _by_channel(input, 2))


@composed
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout of whole channels. [n, c, d, h, w] -> [n, c, d, h, w]

    p: the probability that a channel is zeroed
    training: whether it acts at all
    Raises ValueError where p is not in 0 to 1; where the input has neither a batch nor channels.
    """
    return _dropped(input, p, training, _by_channel(input, 3))


FLOOR = -1.7580993408473766  # what selu tends to far below 0


def _alpha_dropped(input, p: float, training: bool, shape):
    """Dropped elements become selu's floor; all is then scaled and moved to keep mean 0 and variance 1."""
    keep = _kept(input, p, shape)
    if not training or p == 0:
        return input
    scale = ((1 - p) * (1 + p * FLOOR**2)) ** -0.5 if p < 1 else 0.0
    return keep.where(input, FLOOR) * scale - FLOOR * scale * p


@composed
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """dropout that keeps mean 0 and variance 1 behind selu (Klambauer et al., 2017). [...] -> [...]

    p: the probability that an element is replaced
    training: whether it acts at all
    """
    return _alpha_dropped(input, p, training, input.shape)


@composed
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """alpha_dropout of whole channels. [n, c, ...] -> [n, c, ...]

    p: the probability that a channel is replaced
    training: whether it acts at all
    """
    return _alpha_dropped(input, p, training, (*input.shape[:2], *(1,) * (input.ndim - 2)))
