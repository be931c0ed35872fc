"""Families of edge cases: empty tensors, samples at grid points, wide integers, parameters at their limits,
sizes computed from values, tensors as arguments, complex numbers."""

from collections.abc import Callable

from ..core import dtype as dt
from . import operations, pointwise
from .pointwise import Texts
from .program_builder import FLOATS, Builder, Value

WIDE = (dt.int64, dt.int64, dt.int32, dt.uint32, dt.int16, dt.uint8, dt.int8, dt.uint16)
SCALES = (0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 2.4, 3.0)

Row = tuple[str, str]  # tensor code, and NumPy's

# x has no elements along dim d and some along e; f is a full tensor [3, 4], `none` no places
OF_EMPTY: tuple[Row, ...] = (
    ("{x}.sum({d})", "{x}.sum({d})"),
    ("{x}.prod({d})", "{x}.prod({d})"),
    ("{x}.sum({e}, True)", "{x}.sum({e}, keepdims=True)"),
    ("({x} > 0).any({d})", "({x} > 0).any({d})"),
    ("({x} > 0).all({d})", "({x} > 0).all({d})"),
    ("{x}.amax({e})", "{x}.max({e}) if {x}.shape[{e}] else {x}"),
    ("{x}.cumsum({d})", "{x}.cumsum({d})"),
    ("{x}.cumsum({e})", "{x}.cumsum({e})"),
    ("{x}.softmax({d})", "{x} * 1.0"),
    ("{x}.sort({d})[0]", "{x} * 1.0"),
    ("{x}.topk(0, {d})[0]", "{x} * 1.0"),
    ("{x}.flip({d})", "{x} * 1.0"),
    ("{x}.count_nonzero({d})", "np.count_nonzero({x}, {d})"),
    ("{x} @ {x}.transpose(-1, -2)", "{x} @ {x}.swapaxes(-1, -2)"),
    ("{x}.transpose(-1, -2) @ {x}", "{x}.swapaxes(-1, -2) @ {x}"),
    ("fb.cat([{x}, {x}], {d})", "np.concatenate([{x}, {x}], {d})"),
    ("fb.cat([{x}, {x}], {e})", "np.concatenate([{x}, {x}], {e})"),
    ("F.pad({x}, (1, 2), value=0.5)",
     "np.pad({x}, [(0, 0)] * ({x}.ndim - 1) + [(1, 2)], constant_values=0.5)"),
    ("{x}.reshape(-1).sum()", "{x}.reshape(-1).sum()"),
    ("{x} * {x} + 1", "{x} * {x} + 1"),
    ("{f}.index_select(1, {none})", "np.take({f}, {none}, 1)"),
    ("{f}.index_add(1, {none}, {f}[:, :0])", "{f} * 1.0"),
    ("{f}.gather(0, {none}.reshape(0, 1))", "{f}[:0, :1]"),
    ("{f}[{f} > 99].sum()", "{f}[{f} > 99].sum()"),
    ("{f}[:, 4:].sum(1)", "{f}[:, 4:].sum(1)"),
    ("F.linear({f}[:0], {f})", "{f}[:0] @ {f}.T"),
    ("{f}[:, :0] @ {f}[:0]", "{f}[:, :0] @ {f}[:0, :]"),
)  # fmt: skip

# x of floats or integers, which has n elements along dim d
OF_ENDS: tuple[Row, ...] = (
    ("{x}.clamp(2, -1)", "np.minimum(np.maximum({x}, 2), -1)"),
    ("{x}.clamp(0, 0)", "{x} * 0"),
    ("{x}.roll({n}, {d})", "{x} * 1"),
    ("{x}.roll(-3 * {n} - 1, {d})", "np.roll({x}, -1, {d})"),
    ("{x}.narrow({d}, 0, {n})", "{x} * 1"),
    ("{x}.narrow({d}, {n}, 0)", "np.take({x}, [], {d})"),
    ("{x}.unfold({d}, {n}, 1)", "np.moveaxis(np.expand_dims({x}, {d}), {d} + 1, -1)"),
    ("{x}.topk({n}, {d})[0]", "ref.sort({x}, {d}, True)"),
    ("{x}.diff(n={n}, dim={d})", "np.diff({x}, {n}, {d})"),
    ("{x}.chunk({n} + 3, {d})[-1]", "np.take({x}, [{n} - 1], {d})"),
    ("{x}.split([0, {n}], {d})[1]", "{x} * 1"),
    ("{x}.split([0, {n}], {d})[0]", "np.take({x}, [], {d})"),
    ("{x}.repeat_interleave(1, {d})", "{x} * 1"),
    ("F.pad({x}, (-1, 1))", "np.pad({x}[..., 1:], [(0, 0)] * ({x}.ndim - 1) + [(0, 1)])"),
    ("{x}.cummax({d})[0]", "np.maximum.accumulate({x}, {d})"),
)  # fmt: skip
OF_FLOAT_ENDS: tuple[Row, ...] = (
    ("{x} ** 0", "{x} * 0 + 1"),
    ("{x} ** 1", "{x} * 1"),
    ("{x}.quantile(0.0, {d})", "{x}.min({d})"),
    ("{x}.quantile(1.0, {d})", "{x}.max({d})"),
    ("{x}.lerp({x} + 1, 1.0)", "{x} + 1"),
    ("F.dropout({x}, 1.0)", "{x} * 0"),
    ("F.dropout({x}, 0.0)", "{x} * 1"),
    ("F.leaky_relu({x}, 0.0)", "np.maximum({x}, 0)"),
    ("F.threshold({x}, 0.0, 0.0)", "np.maximum({x}, 0)"),
    ("{x}.div(0.25, rounding_mode='floor')", "np.floor({x} / 0.25)"),
    ("{x}.div(0.25, rounding_mode='trunc')", "np.trunc({x} / 0.25)"),
    ("{x}.var({d}, correction=0)", "{x}.var({d})"),
    ("{x}.narrow({d}, 0, 1).softmax({d})", "np.take({x}, [0], {d}) * 0 + 1"),
    ("F.hardtanh({x}, -1.0, -1.0)", "{x} * 0 - 1"),
    ("F.max_pool1d({x}.reshape(1, 1, -1), {all})", "{x}.reshape(1, 1, -1).max(-1, keepdims=True)"),
    ("F.avg_pool1d({x}.reshape(1, 1, -1), {all})", "{x}.reshape(1, 1, -1).mean(-1, keepdims=True)"),
    ("F.conv1d({x}.reshape(1, 1, -1), {x}.reshape(1, 1, -1))", "({x} * {x}).sum().reshape(1, 1, 1)"),
)  # fmt: skip

# x of floats and at, integers in the same shape; m, bools in it; k, one place along dim d
OF_VALUES: tuple[Row, ...] = (
    ("{at}.unique().sum()", "np.unique({at}).sum()"),
    ("{at}.nonzero().sum(0)", "np.argwhere({at}).sum(0)"),
    ("{x}[{m}].cumsum(0).sum()", "{x}[{m}].cumsum(0).sum()"),
    ("fb.bincount({at}.reshape(-1)).square().sum()", "(np.bincount({at}.reshape(-1)) ** 2).sum()"),
    ("fb.arange(int({m}.sum()), device={x}.device).sum()", "np.arange({m}.sum()).sum()"),
    ("{x}.reshape(-1)[: int({m}.sum())].sum()", "{x}.reshape(-1)[: {m}.sum()].sum()"),
    ("{x}.repeat_interleave({at}.reshape(-1)).sum()", "np.repeat({x}, {at}.reshape(-1)).sum()"),
    ("{x}.masked_select({m}).sort()[0].sum()", "{x}[{m}].sum()"),
    ("fb.ones(int({at}.sum()), 2, device={x}.device).sum()", "np.ones((int({at}.sum()), 2)).sum()"),
)  # fmt: skip
OF_ARGUMENTS: tuple[Row, ...] = (
    ("{x}.clamp({x}.mean() * 0, {at})", "np.minimum(np.maximum({x}, 0), {at})"),
    ("{x}.ldexp({at})", "{x} * 2.0**{at}"),
    ("{x}.lerp({y}, {m}.float())", "np.where({m}, {y}, {x})"),
    ("{x}.select({d}, int({k}))", "np.take({x}, {k}, {d})"),
    ("{x}.index_select({d}, {k})", "np.take({x}, {k}.reshape(1), {d})"),
    ("{x}.roll(int({k}), {d})", "np.roll({x}, int({k}), {d})"),
    ("{x}.narrow({d}, {k}, 1)", "np.take({x}, {k}.reshape(1), {d})"),
    ("{x}.masked_fill({m}, {y}.sum())", "np.where({m}, {y}.sum(), {x})"),
    ("fb.where({m}, {x}, {y}.max())", "np.where({m}, {x}, {y}.max())"),
    ("({x} * {x} + 1) ** {at}", "({x} * {x} + 1) ** {at}"),
)  # fmt: skip

# c is complex(x, y)
OF_COMPLEX: tuple[Row, ...] = (
    ("fb.complex({x}, {y}).abs()", "np.hypot({x}, {y})"),
    ("fb.linalg.vector_norm(fb.complex({x}, {y}), dim={d})", "np.sqrt(({x} * {x} + {y} * {y}).sum({d}))"),
    ("fb.linalg.vector_norm(fb.complex({x}, {y}), 1, {d})", "np.hypot({x}, {y}).sum({d})"),
    ("fb.complex({x}, {y}).norm()", "np.sqrt(({x} * {x} + {y} * {y}).sum())"),
    ("fb.dist(fb.complex({x}, {y}), fb.complex({y}, {x}))", "np.sqrt((2 * ({x} - {y}) ** 2).sum())"),
    ("(fb.complex({x}, {y}) * fb.complex({y}, {x})).imag", "{x} * {x} + {y} * {y}"),
    ("fb.complex({x}, {y}).conj().imag", "-{y}"),
    ("fb.logaddexp(fb.complex({x}, {y} * 0), {x} > 0).real", "np.logaddexp({x}, {x} > 0)"),
    ("fb.logaddexp({x} > 0, fb.complex({x}, {y} * 0)).real", "np.logaddexp({x}, {x} > 0)"),
    ("fb.linalg.vecdot(fb.complex({x}, {y}), fb.complex({y}, {x}), dim={d}).imag",
     "({x} * {x} - {y} * {y}).sum({d})"),
    ("fb.complex({x}, {y}).sum({d}).real", "{x}.sum({d})"),
    ("(fb.complex({x}, {y}) @ fb.complex({y}, {x}).mT).real",
     "{x} @ {y}.swapaxes(-1, -2) - {y} @ {x}.swapaxes(-1, -2)"),
    ("fb.complex({x}, {y}).logcumsumexp({d}).exp().real",
     "np.cumsum(np.exp({x}) * np.cos({y}), {d})"),
)  # fmt: skip


def fill_row(row: Row, **names: object) -> Row:
    text, numpy_code = row
    return text.format(**names), numpy_code.format(**names)


def several(b: Builder, draw: Callable[[], Texts], most: int = 5) -> None:
    """Add two lines, and up to `most` more."""
    for _ in range(b.whole(2, most)):
        if texts := draw():
            b.line(*texts)


def empty(b: Builder) -> None:
    """Dims without elements."""
    b.most = 1 << 14
    shape = [b.small(9) for _ in range(b.whole(2, 3))]
    d = b.whole(0, len(shape) - 1)
    shape[d] = 0
    x, f, none = b.input(shape, b.one(FLOATS)), b.input((3, 4), dt.float32), b.places((0,), 3)
    names = {"x": x.name, "f": f.name, "none": none.name, "d": d, "e": (d + 1) % len(shape)}
    several(b, lambda: fill_row(b.one(OF_EMPTY), **names), 6)


def grid_points(b: Builder) -> None:
    """Samples at pixels, between two, and outside the image; sizes from fractional scales."""
    b.most = 1 << 14
    if b.chance(0.5):
        x = b.input((b.small(3), b.small(3), b.whole(1, 40)), dt.float32)
        mode, scale = b.one(("nearest", "nearest-exact")), b.one(SCALES)
        to = f"scale_factor={scale}" if b.chance(0.6) else f"size={b.whole(1, 60)}"
        if int(x.shape[-1] * scale):
            b.line(f"F.interpolate({x.name}, {to}, mode='{mode}')", f"ref.nearest({x.name}, '{mode}', {to})")
        return
    aligned, n = b.chance(0.5), b.small(3)
    size = b.one((2, 3, 5, 9) if aligned else (2, 4, 8, 16))  # places are exact there
    x = b.input((n, b.small(3), size, size), dt.float32)
    cells = size - 1 if aligned else size
    grid = b.input((n, b.small(5), b.small(5), 2), dt.float32, "half cells", cells)
    pad = b.one(("zeros", "border"))
    call = f"{x.name}, {grid.name}, padding_mode='{pad}', align_corners={aligned}"
    b.line(f"F.grid_sample({call})", f"ref.grid_sample({call})")


def wide(b: Builder) -> None:
    """Integers over a dtype's whole range."""
    b.most = 1 << 14
    dtype, shape = b.one(WIDE), (b.small(9), b.small(33))
    for _ in range(2):
        b.input(shape, dtype, "wide")
    b.input(shape, b.one(WIDE), "wide")
    kinds = (
        pointwise.unary, pointwise.binary, pointwise.binary, pointwise.comparison, pointwise.where,
        operations.reduction, operations.running,
        operations.ordering, operations.extreme, whole_cast,
    )  # fmt: skip
    several(b, lambda: b.one(kinds)(b), 8)


def whole_cast(b: Builder) -> Texts:
    """Casts between integers, which wrap."""
    x, to = b.pick(lambda v: v.dtype.is_int), b.one(WIDE)
    return x and (f"{x.name}.to(fb.{to.name})", x.name)


def ends(b: Builder) -> None:
    """Parameters at their limits."""
    b.most = 1 << 14
    x = b.input([b.small(17) for _ in range(b.whole(1, 3))], b.one((*FLOATS, dt.int32)))
    rows = (*OF_ENDS, *(OF_FLOAT_ENDS if x.is_float else ()))
    size = 1
    for n in x.shape:
        size *= n

    def draw() -> Texts:
        d = b.whole(0, x.ndim - 1)
        return fill_row(b.one(rows), x=x.name, d=d, n=x.shape[d], all=size)

    several(b, draw)


def _alike(b: Builder, top: int = 4) -> dict[str, object]:
    """Names of floats, integers and bools of one shape, and of one position along a dim."""
    shape = (b.small(9), b.small(17))
    d = b.whole(0, 1)
    values: dict[str, Value] = {n: b.input(shape, dt.float32) for n in "xy"}
    values |= {"at": b.places(shape, top), "m": b.input(shape, dt.bool_), "k": b.places((), shape[d])}
    return {**{name: v.name for name, v in values.items()}, "d": d}


def of_values(b: Builder) -> None:
    """Sizes and positions computed from values."""
    names = _alike(b)
    several(b, lambda: fill_row(b.one(OF_VALUES), **names), 4)


def arguments(b: Builder) -> None:
    """Tensors as arguments that are usually numbers."""
    names = _alike(b)
    several(b, lambda: fill_row(b.one(OF_ARGUMENTS), **names), 4)


def complex_numbers(b: Builder) -> None:
    """Norms, products and parts of complex numbers."""
    names = _alike(b)
    several(b, lambda: fill_row(b.one(OF_COMPLEX), **names), 4)


FAMILIES: dict[str, Callable[[Builder], None]] = {
    "empty tensors": empty,
    "grid points": grid_points,
    "wide integers": wide,
    "ends of parameters": ends,
    "sizes from values": of_values,
    "tensors as arguments": arguments,
    "complex numbers": complex_numbers,
}
