"""PyTorch's random numbers of its CPU device: the Mersenne twister and the transforms of its 2.13 kernels.

The words of MT19937, uniforms, integers, permutations and float32 normals are PyTorch's bit for bit; draws
that use float64 logarithms and angles may differ by one unit in the last place. On Intel processors
PyTorch itself draws `bernoulli_(p)`, dropout and `exponential_` by MKL, which gives other numbers than on all
other processors; these are the numbers of the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import pi, prod, sqrt
from typing import TYPE_CHECKING, Any, TypeAlias

from ..core import dtype as dt
from ..core import op as _op
from ..core.op import COMPOSED, Op, apply
from ..device import get_device
from .random import Defaults, Generator, defaults

if TYPE_CHECKING:
    import numpy as np

    from ..core.dtype import DType
    from ..core.shape import Shape
    from ..device import Device, DeviceLike
    from ..tensor import Tensor

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

DEFAULT_SEED = 67280421310721  # of PyTorch's generators
WORDS = 624  # of the twister's state
STATE_BYTES = 5056  # of PyTorch's `get_state`
LARGE_RANGE = 1 << 28  # from this number of integers on, each takes 64 bits
BLOCK = 16  # float normals are computed in blocks of 8 pairs
PIECE = 1 << 16  # numbers that are computed together: blocks do not depend on each other


class MersenneGenerator(Generator):
    """torch.Generator: draws on the CPU device are PyTorch's; on GPUs they are Philox's, as `Generator`'s.

    device: accepted and ignored: one generator serves all devices.
    """

    def __init__(self, device: DeviceLike = "cpu"):
        self.device_name = device
        self.normal: float | None = None  # the second number of the last Box-Muller pair
        super().__init__(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> MersenneGenerator:
        """Start the streams of a seed: the Mersenne twister takes its low 32 bits, Philox the low 64."""
        super().set_state((int(seed) & (1 << 64) - 1, 0))
        with self.lock:
            self._twister, self.normal, self._has_begun = None, None, False
        return self

    @property
    def device(self) -> Any:
        """The device that the generator was created for."""
        return get_device(str(self.device_name))

    @property
    def _bits(self) -> Any:
        """NumPy's MT19937, seeded on first use: a seed costs 624 steps."""
        if self._twister is None:
            import numpy as np

            self._twister: Any = np.random.RandomState(self._seed & 0xFFFFFFFF)._bit_generator
        return self._twister

    def get_state(self) -> Any:
        """The state of the CPU stream, PyTorch's 5056 bytes. -> [5056], uint8"""
        import numpy as np

        with self.lock:
            state = self._bits.state["state"]
            raw = np.zeros(STATE_BYTES, np.uint8)
            raw[:8].view("<u8")[0] = self._seed
            # words of the block that are left, and one more; then whether it was seeded
            raw[8:16].view("<i4")[:] = (WORDS + 1 - state["pos"], 1)
            # the next word; PyTorch has 0 before the first block, NumPy 624
            raw[16:24].view("<u8")[0] = state["pos"] if self._has_begun else 0
            raw[24:5016].view("<u8")[:] = state["key"]
            if self.normal is not None:
                raw[5024:5032].view("<f8")[0] = self.normal
                raw[5040:5044].view("<i4")[0] = 1
        return hold(raw, dt.uint8, (STATE_BYTES,), get_device("cpu"))

    def set_state(self, state: Tensor | Array | tuple[int, int]) -> MersenneGenerator:
        """Continue from a state of get_state: PyTorch's bytes [5056], or (seed, position) of Philox.

        Raises ValueError for other tensors.
        """
        if isinstance(state, tuple):
            super().set_state(state)
            return self
        import numpy as np

        array: Array = state if isinstance(state, np.ndarray) else state.numpy()
        raw = np.ascontiguousarray(array)
        if raw.shape != (STATE_BYTES,) or raw.dtype != np.uint8:
            raise ValueError(
                f"set_state({raw.dtype}{list(raw.shape)}): takes the {STATE_BYTES} bytes of get_state()"
            )
        # CPUGeneratorImplStateLegacy of ATen: seed, words left + 1, whether it is seeded, the next word, 624
        # words of 8 bytes, then the second normal number of a pair. With none left, NumPy's position is the
        # end of the block.
        left, next_word = int(raw[8:12].view("<i4")[0]), int(raw[16:24].view("<u8")[0])
        super().set_state((int(raw[:8].view("<u8")[0]), 0))
        with self.lock:
            self._twister = None
            key = raw[24:5016].view("<u8").astype(np.uint32)
            self._bits.state = {
                "bit_generator": "MT19937",
                "state": {"key": key, "pos": WORDS if left == 1 else next_word},
            }
            self._has_begun = next_word > 0
            is_valid = int(raw[5040:5044].view("<i4")[0])
            self.normal = float(raw[5024:5032].view("<f8")[0]) if is_valid else None
        return self

    def clone_state(self) -> MersenneGenerator:
        """Another generator at the same position of the same streams."""
        return MersenneGenerator(self.device_name).set_state(self.get_state())

    def __reduce__(self) -> tuple[Any, ...]:
        return _generator_of, (self.device_name, self.get_state().numpy())

    def on_host(self, device: Device) -> HostDraws | None:
        """The random tensors of this generator on an array device."""
        return HostDraws(self, device) if device.holds_values else None

    # --- draws, as arrays ---

    def words(self, n: int) -> Array:
        """The next n words of 32 bits. -> [n], uint32"""
        with self.lock:
            self._has_begun = self._has_begun or n > 0
            return self._bits.random_raw(n).astype("uint32")

    def long_words(self, n: int) -> Array:
        """The next n words of 64 bits, of two words each, the high one first. -> [n], uint64"""
        pairs = self.words(2 * n).astype("uint64")
        return pairs[::2] << 32 | pairs[1::2]

    def uniforms(self, n: int, dtype: str = "float32") -> Array:
        """Uniform in [0, 1): 24 bits of a word for float32, 53 of two words for float64. -> [n]"""
        import numpy as np

        if dtype == "float64":
            return (self.long_words(n) & np.uint64((1 << 53) - 1)).astype(np.float64) * 2.0**-53
        return (self.words(n) & np.uint32(0xFFFFFF)).astype(np.float32) * np.float32(2.0**-24)

    def normals_in_pairs(self, n: int, exact: bool = False) -> Array:
        """Standard normal in float64, pair by pair (Box and Muller, 1958); an odd draw keeps the second
        number of its last pair for the next. exact: use the C library's functions. -> [n]"""
        import numpy as np

        spare = [] if self.normal is None or not n else [self.normal]
        pairs = -(-(n - len(spare)) // 2) if n else 0
        u = self.uniforms(2 * pairs, "float64").reshape(pairs, 2)
        # a kept number must be PyTorch's: a short draw takes the same library's functions
        log1p, cos, sin = (_libm(f, exact or pairs <= BLOCK) for f in ("log1p", "cos", "sin"))
        radius, angle = np.sqrt(-2.0 * log1p(-u[:, 1])), 2.0 * pi * u[:, 0]
        drawn = np.stack([radius * cos(angle), radius * sin(angle)], 1).reshape(-1)
        drawn = np.concatenate([np.asarray(spare), drawn])
        if n:
            self.normal = float(drawn[n]) if len(drawn) > n else None
        return drawn[:n]

    def normals(self, n: int, dtype: DType, mean: float = 0.0, std: float = 1.0) -> Array:
        """Normal, as a contiguous tensor of n elements of this dtype is filled. -> [n]"""
        import numpy as np

        if n < BLOCK:
            return _long_fma(self.normals_in_pairs(n), std, mean)
        kind = "float64" if dtype is dt.float64 else "float32"
        fill: Callable[..., Array] = _blocks_float64 if kind == "float64" else _blocks_float32
        whole = n // BLOCK * BLOCK
        # 16-bit floats draw block by block, so that a rest takes nothing before the last block
        u = self.uniforms(whole if dtype.is_packed else n, kind)
        out = np.empty(n, kind)
        for start in range(0, whole, PIECE):  # its intermediate arrays stay in the processor's caches
            end = min(start + PIECE, whole)
            out[start:end] = fill(u[start:end], mean, std)
        if whole < n:  # the last 16 elements are drawn again
            out[-BLOCK:] = fill(self.uniforms(BLOCK, kind), mean, std)
        return out

    def integers(self, n: int, low: int, span: int, bits: int = 0) -> Array:
        """Integers in [low, low + span), a word of 32 or 64 bits (0: by the span) modulo the span.
        -> [n], int64"""
        import numpy as np

        if (bits or 64 if span >= LARGE_RANGE else bits) == 64:
            drawn = self.long_words(n)
            drawn = drawn if span >= 1 << 64 else drawn % np.uint64(span)
        else:
            drawn = (self.words(n) % np.uint32(span)).astype(np.uint64)
        return (drawn + np.uint64(low & (1 << 64) - 1)).astype(np.int64)

    def permutation(self, n: int) -> Array:
        """The integers below n in random order (Fisher and Yates). -> [n], int64"""
        import numpy as np

        if n < 2:
            return np.arange(n)
        steps = np.arange(n, 1, -1)
        wide = n >= (1 << 32) // 20  # so that the modulo's skew is small
        words = self.long_words(n - 1) if wide else self.words(n - 1)
        swaps = (words % steps.astype(words.dtype)).tolist()
        order = list(range(n))
        for i, z in enumerate(swaps):
            order[i], order[i + z] = order[i + z], order[i]
        return np.asarray(order)

    def choose(self, weights: Array, count: int, replacement: bool) -> Array:
        """Indices drawn by weight, for each row. [m, n] -> [m, count], int64"""
        import numpy as np

        if not replacement or count == 1:  # the largest ratios to exponential numbers
            drawn = -np.log1p(-self.uniforms(weights.size, "float64")).reshape(weights.shape)
            ratios = weights / drawn.astype(weights.dtype)
            return np.argsort(-ratios, 1, kind="stable")[:, :count]
        sums = np.cumsum(weights, 1)
        sums = sums / sums[:, -1:]
        sums[:, -1] = 1
        places = self.uniforms(len(sums) * count, "float64").reshape(len(sums), count)
        return np.stack([np.searchsorted(s, p) for s, p in zip(sums, places, strict=True)])

    def long_seed(self) -> int:
        """The seed of another generator, as PyTorch's samplers and loaders draw it."""
        return int(self.long_words(1)[0]) & (1 << 63) - 1


def _generator_of(device: Any, raw: Any) -> MersenneGenerator:
    return MersenneGenerator(device).set_state(raw)


# --- float64 functions as the C library computes them: NumPy's own differ in the last place ---


def _libm(name: str, exact: bool = True) -> Callable[[Array], Array]:
    """A function of float64 arrays: the C library's if `exact`, else NumPy's, which is faster."""
    import numpy as np

    if not exact:
        return getattr(np, name)
    make: Any = np.frompyfunc  # its types ask for the numbers of arguments
    apply_each = make(getattr(math, name), 1, 1)
    return lambda x: np.asarray(apply_each(x), np.float64)


def _long_fma(a: Array, b: float, c: float) -> Array:
    """a * b + c in float64 with one rounding, by exact products and sums (Dekker, 1971)."""
    import numpy as np

    product = a * b
    split = 134217729.0  # 2 ** 27 + 1: cuts a number into two of 26 bits
    high_a, high_b = a * split - (a * split - a), b * split - (b * split - b)
    low_a, low_b = a - high_a, b - high_b
    rest = low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)
    total = product + c
    back = total - product
    return np.asarray(total + (((product - (total - back)) + (c - back)) + rest))


# --- Box and Muller's transform of 8 pairs at once, in the polynomials of PyTorch's AVX2 kernel ---

# Cephes' coefficients (Moshier), as in avx_mathfun.h: log near 1, cos and sin within pi / 4
_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_LN2_LOW, _LN2_HIGH = -2.12194440e-4, 0.693359375  # their sum is ln 2
# minus pi / 4, in three parts
_QUARTER_PI = (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)


def _fma(a: Any, b: Any, c: Any) -> Array:
    """a * b + c with one rounding to float32, as the processor's instruction: the product of two float32 is
    exact in float64."""
    import numpy as np

    return (np.asarray(a, np.float64) * np.float64(b) + np.asarray(c, np.float64)).astype(np.float32)


def _product(a: Any, b: Any, c: Any) -> Array:
    """_fma of two arrays."""
    import numpy as np

    return (a.astype(np.float64) * b.astype(np.float64) + np.asarray(c, np.float64)).astype(np.float32)


def _log(x: Array) -> Array:
    """Natural logarithm of positive normal float32."""
    import numpy as np

    f32, bits = np.float32, x.view(np.uint32)
    exponent = ((bits >> 23).astype(np.int32) - 127).astype(f32) + f32(1)
    fraction = (bits & np.uint32(0x807FFFFF) | np.uint32(0x3F000000)).view(f32)  # in [0.5, 1)
    below = fraction < f32(0.707106781186547524)
    exponent = exponent - below.astype(f32)
    x = fraction - f32(1) + np.where(below, fraction, f32(0))
    square, y = x * x, np.full_like(x, f32(_LOG[0]))
    for c in _LOG[1:]:
        y = _product(y, x, f32(c))
    y = _product(y * x, square, exponent * f32(_LN2_LOW))
    y = _fma(-square, 0.5, y)
    return _fma(exponent, _LN2_HIGH, x + y)


def _sin_cos(x: Array) -> tuple[Array, Array]:
    """Sine and cosine of float32 in [0, 2 pi)."""
    import numpy as np

    f32 = np.float32
    octant = ((x * f32(1.27323954473516)).astype(np.int32) + 1) & ~1
    for part in _QUARTER_PI:
        x = _fma(octant.astype(f32), f32(part), x)
    square = x * x
    cos = np.full_like(x, f32(_COS[0]))
    for c in _COS[1:]:
        cos = _product(cos, square, f32(c))
    cos = _product(cos * square, square, -(square * f32(0.5))) + f32(1)
    sin = np.full_like(x, f32(_SIN[0]))
    for c in _SIN[1:]:
        sin = _product(sin, square, f32(c))
    sin = _product(sin * square, x, x)
    straight = (octant & 2) == 0  # else sine and cosine change places
    s, c = np.where(straight, sin, cos), np.where(straight, cos, sin)
    return np.where(octant & 4, -s, s), np.where((octant - 2) & 4, c, -c)


def _blocks_float32(u: Array, mean: float, std: float) -> Array:
    import numpy as np

    f32 = np.float32
    u = u.reshape(-1, 2, BLOCK // 2)
    radius = np.sqrt(f32(-2) * _log(f32(1) - u[:, 0]))
    sin, cos = _sin_cos(f32(2 * pi) * u[:, 1])
    drawn = np.stack([radius * cos, radius * sin], 1).reshape(-1)
    return _fma(drawn, f32(std), f32(mean))


def _blocks_float64(u: Array, mean: float, std: float) -> Array:
    import numpy as np

    u = u.reshape(-1, 2, BLOCK // 2)
    log, cos, sin = (_libm(f) for f in ("log", "cos", "sin"))
    radius, angle = np.sqrt(-2 * log(1 - u[:, 0])), 2 * pi * u[:, 1]
    drawn = np.stack([radius * cos(angle), radius * sin(angle)], 1).reshape(-1)
    return _long_fma(drawn, std, mean)


# --- draws as tensors ---


class HostDraw:
    """Numbers that the host drew: `draw(n)` gives n of them as an array."""

    def __init__(self, draw: Callable[[int], Array], n: int):
        self.draw, self.array = draw, draw(n)


def _reference(xp: Any, numbers: HostDraw, shape: Shape, dtype: DType) -> Any:
    return xp.from_host(numbers.array.reshape(shape))


def _shape(shape: Shape, dtype: DType) -> Shape:
    return shape


def _dtype(shape: Shape, dtype: DType) -> DType:
    return dtype


# not in the op table: no kernel computes it
host_draw = Op(
    "source", xp=_reference, shape=_shape, dtype=_dtype, doc="Numbers that the host drew", name="_host_draw"
)


def hold(array: Array, dtype: DType, shape: Shape, device: Device) -> Tensor:
    """A tensor of an array on an array device, in any dtype. -> shape"""
    return draw_by(lambda _: array, dtype, shape, device)


def draw_by(draw: Callable[[int], Array], dtype: DType, shape: Shape, device: Device) -> Tensor:
    """A tensor of prod(shape) numbers that draw(n) gives now. -> shape"""
    attrs = {"shape": tuple(shape), "dtype": dtype}
    return _op.Tensor(apply(host_draw, (), attrs, (HostDraw(draw, prod(shape)),), device))


def _draw_parts(draw: Callable[[Shape, DType], Tensor], shape: Shape, dtype: DType) -> Tensor:
    """draw(shape, dtype); complex numbers are drawn as pairs of floats."""
    if not dtype.is_complex:
        return draw(tuple(shape), dtype)
    pairs = draw((*shape, 2), dtype.real)
    return COMPOSED["complex"](pairs[..., 0], pairs[..., 1])


class HostDraws:
    """The random tensors of one generator on one array device, PyTorch's numbers in each dtype."""

    def __init__(self, source: MersenneGenerator, device: Device):
        self.source, self.device = source, device

    def words(self, shape: Shape) -> Tensor:
        """Words of 32 bits. -> shape, uint32"""
        return draw_by(self.source.words, dt.uint32, shape, self.device)

    def uniform(self, shape: Shape, dtype: DType, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Uniform in [low, high). -> shape"""
        source = self.source

        def draw(n: int) -> Array:
            import numpy as np

            wide = dtype.real is dt.float64
            kind: Any = np.float64 if wide else np.float32
            first, last = kind(low), kind(high)
            drawn = source.uniforms(n, "float64" if wide else "float32")
            scaled = (_long_fma if wide else _fma)(drawn, last - first, first)
            if dtype.is_packed:  # rounding may give `high`: PyTorch gives `low` then
                scaled = np.where(_round_to(scaled, dtype) == _round_to(last, dtype), first, scaled)
            return np.where(scaled == last, first, scaled)

        return _draw_parts(lambda s, d: draw_by(draw, d, s, self.device), shape, dtype)

    def normal(
        self, shape: Shape, dtype: DType, mean: float = 0.0, std: float = 1.0, in_order: bool = True
    ) -> Tensor:
        """Normal; the parts of complex numbers have half the variance. in_order: as contiguous tensors are
        filled, in blocks of 16. -> shape"""
        source, spread = self.source, std * sqrt(0.5) if dtype.is_complex else std

        def draw(n: int) -> Array:
            if not in_order:
                return _long_fma(source.normals_in_pairs(n, dtype.real is dt.float64), spread, mean)
            return source.normals(n, dtype.real, mean, spread)

        return _draw_parts(lambda s, d: draw_by(draw, d, s, self.device), shape, dtype)

    def integers(self, low: int, span: int, shape: Shape, dtype: DType, bits: int = 0) -> Tensor:
        """Integers in [low, low + span). bits: of each word that is drawn; 0: by the span. -> shape"""
        draw = self.source.integers
        drawn = draw_by(lambda n: draw(n, low, span, bits), dt.int64, shape, self.device)
        return drawn.to(dtype)

    def permutation(self, n: int) -> Tensor:
        """The integers below n in random order. -> [n], int64"""
        return draw_by(self.source.permutation, dt.int64, (n,), self.device)

    def below(self, p: Any, shape: Shape, wide: bool) -> Tensor:
        """Whether uniform numbers, of 53 bits (wide) or 24, are below p. -> shape, bool"""
        kind = dt.float64 if wide else dt.float32
        drawn = draw_by(lambda n: self.source.uniforms(n, kind.name), kind, shape, self.device)
        return drawn < (p.to(kind) if isinstance(p, _op.Tensor) else float(p))

    def _by_uniforms(self, f: Callable[[Array], Array], shape: Shape, dtype: DType) -> Tensor:
        """f of uniform float64 numbers in [0, 1). -> shape"""
        return draw_by(lambda n: f(self.source.uniforms(n, "float64")), dtype, shape, self.device)

    def cauchy(self, shape: Shape, dtype: DType, median: float, sigma: float) -> Tensor:
        """Cauchy. -> shape"""
        tan = _libm("tan", dtype is dt.float64)
        return self._by_uniforms(lambda u: _long_fma(tan(pi * (u - 0.5)), sigma, median), shape, dtype)

    def geometric(self, shape: Shape, dtype: DType, p: float) -> Tensor:
        """The number of trials up to the first success. -> shape"""
        import numpy as np

        log = _libm("log", dtype is dt.float64)
        return self._by_uniforms(lambda u: np.ceil(log(u) / math.log1p(-p)), shape, dtype)

    def exponential(self, shape: Shape, dtype: DType, rate: float = 1.0) -> Tensor:
        """Exponential. -> shape"""
        log1p = _libm("log1p", dtype is dt.float64)
        return self._by_uniforms(lambda u: -1.0 / rate * log1p(-u), shape, dtype)

    def log_normal(self, shape: Shape, dtype: DType, mean: float, std: float) -> Tensor:
        """exp of normal numbers. -> shape"""
        source, exact = self.source, dtype is dt.float64
        exp = _libm("exp", exact)
        return draw_by(
            lambda n: exp(_long_fma(source.normals_in_pairs(n, exact), std, mean)), dtype, shape, self.device
        )

    def choose(self, weights: Tensor, count: int, replacement: bool) -> Tensor:
        """Indices drawn by weight, for each row. [..., n] -> [..., count], int64"""
        rows = weights.numpy().reshape(-1, weights.shape[-1])
        chosen = self.source.choose(rows, count, replacement)
        return hold(chosen, dt.int64, (*weights.shape[:-1], count), self.device)


def _round_to(values: Any, dtype: DType) -> Any:
    """Floats rounded to a dtype of 16 bits, as float32."""
    import numpy as np

    values = np.asarray(values, np.float32)
    if dtype is dt.float16:
        return values.astype(np.float16).astype(np.float32)
    bits = values.view(np.uint32)
    return ((bits + (bits >> 16 & 1) + 0x7FFF) & np.uint32(0xFFFF0000)).view(np.float32)


default_generator = MersenneGenerator()


def torch_numbers() -> MersenneGenerator | None:
    """The default generator of PyTorch's numbers; None if they are off."""
    host = defaults.host
    return host if isinstance(host, MersenneGenerator) else None


def use_torch_numbers(on: bool = True) -> None:
    """Draw the numbers of PyTorch's CPU device on the CPU device from this call on, or (on=False) the same
    Philox numbers as on GPUs."""
    if on and Defaults.host is None:
        default_generator.seed()  # as PyTorch's: a process that sets no seed draws new numbers
    Defaults.host = default_generator if on else None
