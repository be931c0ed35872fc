"""Random numbers by Philox-4x32-10: a seed gives the same integers and uniforms on every device."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from itertools import count
from math import pi, prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core import dtype as dt
from ..core import op as _op
from ..core.declare import composed
from ..core.op import OPS, Op, apply

if TYPE_CHECKING:
    from ..core.shape import Shape
    from ..device import Device, DeviceLike
    from ..tensor import Tensor
    from .mersenne import HostDraws


_seedings = count(1)


class _Thread(threading.local):
    draws: list[Draw] | None = None  # the draws of this thread, while a `Noted` block collects them


of_thread = _Thread()


class StreamPlace(NamedTuple):
    """A position in a generator's stream: the words of Philox's key and of its counter."""

    k0: int
    k1: int
    low: int
    high: int

    @property
    def block(self) -> int:
        """The counter: the number of blocks of four numbers before this position."""
        return self.high << 32 | self.low

    def at_block(self, block: int) -> StreamPlace:
        """Another position in the same stream."""
        return StreamPlace(self.k0, self.k1, block & 0xFFFFFFFF, block >> 32 & 0xFFFFFFFF)


class Generator:
    """A seed and the number of words drawn since; element i of a draw is word i after its position."""

    seedings = 0  # changes whenever a generator is set to another seed or position

    def __init__(self, seed: int = 0, *, device: DeviceLike | None = None):
        """seed: selects the stream. device: accepted and ignored: streams do not depend on the device."""
        self.lock = threading.Lock()
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of this seed (its low 64 bits)."""
        return self.set_state((int(seed) & (1 << 64) - 1, 0))

    def seed(self) -> int:
        """Start a stream with a seed of the operating system; returns the seed."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed of the stream."""
        return self._seed

    def get_state(self) -> tuple[int, int]:
        """(seed, position in the stream), for set_state."""
        with self.lock:
            return self._seed, self.offset

    def set_state(self, state: tuple[int, int]) -> Generator:
        """Continue from a state of get_state."""
        seed, offset = state
        with self.lock:
            self._seed, self.offset = seed, offset
        Generator.seedings = next(_seedings)
        return self

    def clone_state(self) -> Generator:
        """Another generator at the same position of the same stream."""
        return Generator().set_state(self.get_state())

    def __reduce__(self) -> tuple[Any, ...]:
        return _generator_at, self.get_state()

    def take(self, n: int) -> StreamPlace:
        """The position of the next n numbers, which are then used up."""
        with self.lock:
            seed, block = self._seed, self.offset
            # Draws begin at a block of four numbers, whose rest is skipped.
            self.offset += -(-n // 4)
        return StreamPlace(seed & 0xFFFFFFFF, seed >> 32, 0, 0).at_block(block)

    def on_host(self, device: Device) -> HostDraws | None:
        """The random tensors that the host draws for a device of arrays; None: the stream is Philox's."""
        return None

    def after_fork(self) -> None:
        """Replace the lock in a forked child: the thread that may hold it does not exist there."""
        self.lock = threading.Lock()


def _generator_at(seed: int, offset: int) -> Generator:
    return Generator().set_state((seed, offset))


generator = Generator()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=generator.after_fork)


class Defaults(threading.local):
    """The generator of draws on array devices without a generator; None: the default one, as on GPUs.

    The class has that of the process (see mersenne.use_torch_numbers). A thread may have its own.
    """

    host: Generator | None = None


defaults = Defaults()


def host_draws(device: Device, source: Generator | None = None) -> HostDraws | None:
    """The random tensors that the host draws on this device; None: they are made from Philox's bits."""
    if device.kind == "gpu":
        return None
    chosen = defaults.host if source is None else source
    return chosen.on_host(device) if isinstance(chosen, Generator) else None


class Draw:
    """The position of one draw in a generator's stream; a replay draws at a new one."""

    def __init__(self, n: int, source: Generator | None = None):
        self.n, self.source = n, generator if source is None else source
        self.words = self.source.take(n)
        if of_thread.draws is not None:
            of_thread.draws.append(self)

    @property
    def at(self) -> int:
        """The index of its first block of four numbers."""
        return self.words.block


class Noted:
    """Collects the draws of this thread in a `with` block: for each generator the first block of four numbers
    and the number of blocks."""

    def __init__(self, *sources: Generator):
        self.begins = {g: g.offset for g in (generator, *sources)}
        self.blocks: dict[Generator, int] = dict.fromkeys(self.begins, 0)
        self.draws: list[Draw] = []
        self._seedings = Generator.seedings

    def __enter__(self) -> Noted:
        self._outer_draws, of_thread.draws = of_thread.draws, self.draws
        return self

    def __exit__(self, *_: Any) -> None:
        of_thread.draws = self._outer_draws
        self._join()

    def _join(self) -> None:
        """Make the draws contiguous if other threads drew in between."""
        before: list[int] = []  # blocks of the same generator
        for d in self.draws:
            self.begins.setdefault(d.source, d.at)
            before.append(self.blocks.get(d.source, 0))
            self.blocks[d.source] = before[-1] + -(-d.n // 4)
        if self._seedings != Generator.seedings:  # a stream was restarted meanwhile: positions stay as drawn
            return
        for source, blocks in self.blocks.items():
            with source.lock:
                if blocks and source.offset != self.begins[source] + blocks:
                    self.begins[source], source.offset = source.offset, source.offset + blocks
        for d, blocks in zip(self.draws, before, strict=True):
            d.words = d.words.at_block(self.begins[d.source] + blocks)

    def take_back(self) -> None:
        """Return the numbers to each generator that has not drawn since."""
        # Only if no later draw followed: else its numbers would be drawn twice.
        for source, blocks in self.blocks.items():
            with source.lock:
                if source.offset == self.begins[source] + blocks:
                    source.offset = self.begins[source]


def manual_seed(seed: int) -> Generator:
    """Seed the random numbers of every device; the same seed gives the same numbers everywhere."""
    host = defaults.host
    if host is not Defaults.host and host is not None:  # this thread's own: a loader's worker
        return host.manual_seed(seed)
    philox = generator.manual_seed(seed)
    return philox if host is None else host.manual_seed(seed)


def seed() -> int:
    """Seed the random numbers from the operating system; returns the seed, which repeats them."""
    return generator.seed()


def initial_seed() -> int:
    """The seed of the default generator's stream."""
    return generator.initial_seed()


def get_rng_state() -> tuple[int, int]:
    """(seed, position in the stream) of the default generator, for set_rng_state."""
    return generator.get_state()


def set_rng_state(new_state: tuple[int, int]) -> None:
    """Continue the random numbers from a state of get_rng_state.

    new_state: the seed, and how many numbers were drawn.
    """
    generator.set_state(new_state)


def philox(xp: Any, n: int, words: Sequence[Any]) -> Any:
    """n words of the Philox-4x32-10 stream at `words`, a StreamPlace (Salmon et al., SC 2011), as uint32."""
    blocks = -(-n // 4)
    mask = 0xFFFFFFFF
    # int64, which every array library has: low bits of sums and products equal those of unsigned words
    count = xp.arange(blocks, dtype="int64")
    low = (count & mask) + words[2]
    c = [
        low & mask,
        (count >> 32) + (low >> 32) + words[3] & mask,
        xp.zeros_like(count),
        xp.zeros_like(count),
    ]
    k0, k1 = words[0], words[1]
    # A round multiplies two words of the counter to 64 bits each; the key's words advance by Weyl constants
    # (the golden ratio, and sqrt(3) - 1).
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


def drawn_bits(shape: Shape, device: Device, source: Generator | None = None) -> Tensor:
    """32 random bits an element, uint32, from `source` or the default generator."""
    if source is not None and not isinstance(source, Generator):  # pyright: ignore[reportUnnecessaryIsInstance] # users' arguments
        raise TypeError(f"generator={source!r} is not a Generator: pass a flambeau.Generator")
    if (host := host_draws(device, source)) is not None:
        return host.words(shape)
    draw = Draw(prod(shape) if device.holds_values else 0, source)
    return _op.Tensor(apply(OPS["random_bits"], (), {"shape": tuple(shape)}, scalars=(draw,), device=device))


def _bits_reference(xp: Any, draw: Draw, shape: Shape) -> Any:
    return xp.reshape(philox(xp, prod(shape), draw.words), shape)


def _bits_shape(shape: Shape) -> Shape:
    return shape


def _bits_dtype(shape: Shape) -> dt.DType:
    return dt.uint32


random_bits = Op(
    "source",
    xp=_bits_reference,
    shape=_bits_shape,
    dtype=_bits_dtype,
    doc="32 random bits an element",
    cost=20,
)


def uniform_of(bits: Tensor, digits: int = 24) -> Tensor:
    """Uniform in [0, 1) from the high `digits` bits: exact in float32, so equal on every device."""
    # High bits: float32 holds 24, so no rounding gives 1.
    return (bits >> 32 - digits).float() * 2.0**-digits


def uniform_bits(shape: Shape, device: Device, source: Generator | None = None, digits: int = 24) -> Tensor:
    """Uniform in [0, 1), float32. digits: significand bits of the final dtype, so that none rounds to 1."""
    if (host := host_draws(device, source)) is not None:
        return host.uniform(shape, dt.float32)
    return uniform_of(drawn_bits(shape, device, source), digits)


def open_bits(shape: Shape, device: Device, source: Generator | None = None) -> Tensor:
    """Uniform in the open interval (0, 1), from the high 23 bits: logarithms are finite and not 0."""
    return ((drawn_bits(shape, device, source) >> 9).float() + 0.5) * 2.0**-23


def exponential_bits(shape: Shape, device: Device, source: Generator | None = None) -> Tensor:
    """Exponential with mean 1, by log1p: a GPU's log has a fixed absolute error near 1."""
    if (host := host_draws(device, source)) is not None:
        return host.exponential(shape, dt.float32)
    return -(-open_bits(shape, device, source)).log1p()


def gumbel_bits(shape: Shape, device: Device, source: Generator | None = None) -> Tensor:
    """Standard Gumbel: minus the logarithm of an exponential."""
    return -exponential_bits(shape, device, source).log()


def normal_bits(shape: Shape, device: Device, source: Generator | None = None) -> Tensor:
    """Standard normal, float32 (Box and Muller, 1958); devices differ by less than 1e-6."""
    if (host := host_draws(device, source)) is not None:
        return host.normal(shape, dt.float32)
    u, v = uniform_bits(shape, device, source), uniform_bits(shape, device, source)
    # log1p: a GPU's log has a fixed absolute error near 1, which the root enlarges to 3e-5
    return ((-u).log1p() * -2).sqrt() * (v * (2 * pi)).cos()


def _keep_mask(input: Tensor, p: float, shape: Shape) -> Tensor:
    """True with probability 1 - p, one draw for each element of `shape`."""
    if (host := host_draws(input.device)) is not None:
        return host.below(1 - p, shape, wide=True)
    return uniform_bits(shape, input.device) >= p  # uniform is in [0, 1): p = 0 keeps all, p = 1 none


def _check_rate(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"p={p} must be from 0 to 1: pass a probability")


def _drop(input: Tensor, p: float, training: bool, shape: Shape) -> Tensor:
    _check_rate(p)
    if not training or p == 0:
        return input
    # the scale keeps the mean; for p = 1 nothing is kept
    return _keep_mask(input, p, shape).where(input * (1 / (1 - p) if p < 1 else 0.0), 0.0)


def _by_channel(input: Tensor, nd: int) -> Shape:
    """The shape of one draw for each channel; an input of nd + 1 dims has no batch. -> [n, c, 1, ...]"""
    if input.ndim not in (nd + 1, nd + 2):
        raise ValueError(f"takes {nd + 1} or {nd + 2} dims, not {input.ndim}: reshape it")
    lead = input.ndim - nd
    return (*input.shape[:lead], *(1,) * nd)


@composed
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability p and scale the others by 1 / (1 - p). [...] -> [...]

    training: without it the input is returned
    Raises ValueError if p is not in 0 to 1.
    """
    return _drop(input, p, training, input.shape)


@composed
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout of whole channels. [n, c, l] -> [n, c, l]

    p: the probability that a channel is zeroed
    training: without it the input is returned
    Raises ValueError if p is not in 0 to 1; if the input has neither a batch nor channels.
    """
    return _drop(input, p, training, _by_channel(input, 1))


@composed
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout of whole channels. [n, c, h, w] -> [n, c, h, w]

    p: the probability that a channel is zeroed
    training: without it the input is returned
    Raises ValueError if p is not in 0 to 1; if the input has neither a batch nor channels.
    """
    return _drop(input, p, training, _by_channel(input, 2))


@composed
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout of whole channels. [n, c, d, h, w] -> [n, c, d, h, w]

    p: the probability that a channel is zeroed
    training: without it the input is returned
    Raises ValueError if p is not in 0 to 1; if the input has neither a batch nor channels.
    """
    return _drop(input, p, training, _by_channel(input, 3))


FLOOR = -1.7580993408473766  # the limit of selu at -inf


def _alpha_drop(input: Tensor, p: float, training: bool, shape: Shape) -> Tensor:
    """Dropped elements become FLOOR; then an affine map restores mean 0 and variance 1."""
    _check_rate(p)
    if not training or p == 0:  # nothing is drawn, as in PyTorch
        return input
    keep = _keep_mask(input, p, shape)
    # For an input of mean 0 and variance 1 the mean becomes p * FLOOR and the variance (1 - p) * (1 + p *
    # FLOOR^2).
    scale = ((1 - p) * (1 + p * FLOOR**2)) ** -0.5 if p < 1 else 0.0
    return keep.where(input, FLOOR) * scale - FLOOR * scale * p


@composed
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """dropout that keeps mean 0 and variance 1 after selu (Klambauer et al., 2017). [...] -> [...]

    p: the probability that an element is replaced
    training: without it the input is returned
    """
    return _alpha_drop(input, p, training, input.shape)


@composed
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """alpha_dropout of whole channels. [n, c, ...] -> [n, c, ...]

    p: the probability that a channel is replaced
    training: without it the input is returned
    """
    return _alpha_drop(input, p, training, (*input.shape[:2], *(1,) * (input.ndim - 2)))
