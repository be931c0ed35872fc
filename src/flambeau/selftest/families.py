"""Families of cases: each draws a short program around one kind of kernel, at sizes where kernels change."""

from collections.abc import Callable, Sequence
from math import prod

from ..core import dtype as dt
from . import edges, operations, pointwise, special_values
from .mixed import random_program
from .pointwise import Texts
from .program_builder import EVERY, FLOATS, GROUPS, Builder, only
from .programs import Program

MANY = 1 << 18  # elements of an input
WORK = 1 << 23  # multiply-adds of a product
ROW_LENGTHS = "row lengths"
NOT_FINITE = "not finite"  # WGSL lets drivers assume that there are none, so they are drawn on demand
KINDS = ("quarters", "quarters", "normal")  # of input values; sums of quarters are exact


def add_lines(b: Builder, kinds: Sequence[Callable[[Builder], Texts]], most: int) -> None:
    """Add up to `most` lines of these kinds."""
    for _ in range(b.whole(0, most)):
        if texts := b.one(kinds)(b):
            b.line(*texts)


def random_shape(b: Builder, rank: int, most: int = MANY) -> tuple[int, ...]:
    """A shape of this rank, with at most one large dim."""
    large = int(b.sizes.integers(rank)) if rank else 0
    shape = [b.small(12 if rank > 2 else 40) for _ in range(rank)]
    if rank:
        others = max(prod(shape[:large] + shape[large + 1 :]), 1)
        shape[large] = b.size(max(min(most // others, 1 << 17), 1))
    return tuple(shape)


def elementwise(b: Builder) -> None:
    b.most = MANY
    shape = random_shape(b, b.whole(1, 4))
    for s in (shape, shape[b.whole(0, len(shape)) :], tuple(1 if b.chance(0.4) else n for n in shape)):
        b.input(s, b.one(EVERY if b.chance(0.4) else FLOATS), b.one(KINDS))
    kinds = (
        pointwise.unary, pointwise.unary, pointwise.binary, pointwise.binary, pointwise.ratio,
        pointwise.where, pointwise.comparison,
    )  # fmt: skip
    add_lines(b, kinds, 8)
    b.line(f"{b.values[0].name}.float() * 1.5", f"{b.values[0].name} * 1.5")


def views(b: Builder) -> None:
    b.most = MANY
    b.input(random_shape(b, b.whole(1, 4), 1 << 14), b.one(EVERY), b.one(KINDS))
    kinds = (
        pointwise.transpose, pointwise.reshape, pointwise.slicing, pointwise.padding, pointwise.expansion,
        pointwise.windows, pointwise.rearrangement,
    )  # fmt: skip
    add_lines(b, (*kinds, *kinds, pointwise.concatenation, pointwise.unary), 6)
    x = b.values[-1]
    b.line(f"{x.name}.float() + 0.5", f"{x.name} + 0.5")
    if b.chance(0.3):
        y = b.values[-1]
        b.line(f"{y.name}.sum()", f"{y.name}.sum()")


def reductions(b: Builder) -> None:
    b.most = MANY
    rank = b.whole(1, 3)
    # Rarely, about as many rows as a grid may have workgroups in one dim.
    shape = (GROUPS + b.whole(-1, 3), b.small(3)) if b.chance(0.04) else random_shape(b, rank)
    b.input(shape, b.one(EVERY if b.chance(0.3) else FLOATS), b.one(KINDS))
    if b.chance(0.5):
        add_lines(b, (pointwise.unary, pointwise.transpose), 2)
    start = b.values[-1]
    for _ in range(b.whole(1, 3)):
        if texts := b.one(
            (operations.reduction, operations.reduction, operations.all_of, operations.extreme)
        )(only(b, start)):
            b.line(*texts)
    if b.chance(0.4):
        add_lines(b, (pointwise.unary, pointwise.binary), 2)


def products(b: Builder) -> None:
    b.most = MANY
    kind = b.one(("few rows", "few rows", "matrices", "matrices", "batches", "few columns", "vector"))
    size = {"few rows": 9, "vector": 1}.get(kind, 320)
    m, n = b.size(size), b.size(9 if kind == "few columns" else 700)
    batch = (b.small(5),) if kind == "batches" else ()
    k = b.size(max(min(WORK // max(m * n * prod(batch), 1), 8200), 1))
    dtype = b.one((dt.float32, dt.float32, dt.float32, dt.float16, dt.bfloat16, dt.int32))
    data = b.one(KINDS)
    turned = b.chance(0.3), b.chance(0.6)  # which operands are transposed
    a = b.input((*batch, k, m) if turned[0] else (*batch, m, k), dtype, data)
    c = b.input((*batch, n, k) if turned[1] else (*batch, k, n), dtype, data)
    names = [x.name + (".transpose(-1, -2)" if t else "") for x, t in zip((a, c), turned, strict=True)]
    if b.chance(0.25):
        names[0] = f"({names[0]} * 2)"
    numpy_names = [n.replace("transpose", "swapaxes") for n in names]
    y = b.line(" @ ".join(names), " @ ".join(numpy_names))
    if y is not None and b.chance(0.5):
        bias = b.input((n,), dtype, data)
        b.line(f"({y.name} + {bias.name}).relu()", f"np.maximum({y.name} + {bias.name}, 0)")


def convolutions(b: Builder) -> None:
    b.most = MANY
    n = b.one((1, 2, 2, 2, 3))
    kernel = tuple(b.whole(1, (7, 5, 3)[n - 1]) for _ in range(n))
    kernel = (3,) * n if b.chance(0.3) else kernel  # Winograd's size
    stride, dilation = b.one((1, 1, 2, 3)), b.one((1, 1, 1, 2))
    padding = tuple(b.whole(0, k // 2) for k in kernel)
    groups = b.one((1, 1, 1, 2, 4))
    channels, filters = (groups * b.small((33, 17, 5)[n - 1]) for _ in range(2))
    depthwise = b.chance(0.15)
    if depthwise:
        groups = channels
        filters = groups * b.one((1, 2))
    # At least one window fits.
    sizes = tuple(dilation * (k - 1) + b.small((65, 33, 9)[n - 1]) for k in kernel)
    dtype, data = b.one((dt.float32, dt.float32, dt.float16)), b.one(KINDS)
    x = b.input((b.small(5), channels, *sizes), dtype, data)
    w = b.input((filters, channels // groups, *kernel), dtype, data)
    bias = b.input((filters,), dtype, data) if b.chance(0.5) else None
    operands = ", ".join([x.name, w.name, *([bias.name] if bias else [])])
    rest = f"stride={stride}, padding={padding}, dilation={dilation}, groups={groups}"
    y = b.line(f"F.conv{n}d({operands}, {rest})", f"ref.conv({operands}, {rest})")
    if y is not None and b.chance(0.3):
        b.line(f"{y.name}.relu()", f"np.maximum({y.name}, 0)")


def transposed_convolutions(b: Builder) -> None:
    """Transposed convolutions."""
    b.most = MANY
    n = b.one((1, 2, 2, 3))
    kernel = tuple(b.whole(1, (6, 5, 3)[n - 1]) for _ in range(n))
    stride = b.whole(1, 3)
    padding = tuple(b.whole(0, k // 2) for k in kernel)
    extra = b.whole(0, stride - 1)  # output_padding has to be below the stride
    groups = b.one((1, 1, 2))
    channels, filters = groups * b.small(9), b.small(9)
    sizes = tuple(b.small((33, 12, 5)[n - 1]) + 2 for _ in kernel)
    dtype, data = b.one((dt.float32, dt.float32, dt.float16)), b.one(KINDS)
    x = b.input((b.small(3), channels, *sizes), dtype, data)
    w = b.input((channels, filters, *kernel), dtype, data)
    arguments = (
        f"{x.name}, {w.name}, stride={stride}, padding={padding}, output_padding={extra}, groups={groups}"
    )
    b.line(f"F.conv_transpose{n}d({arguments})", f"ref.conv_transpose({arguments})")


def pools(b: Builder) -> None:
    b.most = MANY
    n = b.one((1, 2, 2, 3))
    k, s = b.whole(1, (5, 4, 2)[n - 1]), b.whole(1, 3)
    p = b.whole(0, k // 2)
    shape = (b.small(5), b.small(9), *(k + b.small((65, 33, 5)[n - 1]) for _ in range(n)))
    x = b.input(shape, b.one(FLOATS), b.one(KINDS))
    name = b.one(("max_pool", "avg_pool"))
    b.line(f"F.{name}{n}d({x.name}, {k}, {s}, {p})", f"ref.{name}({x.name}, {k}, {s}, {p}, {n})")
    if b.chance(0.4):
        add_lines(b, (pointwise.unary,), 2)


def attention(b: Builder) -> None:
    b.most = MANY
    batch, heads, width = b.small(3), b.small(4), b.one((4, 8, 16, 32, 64, 17))
    most = max((1 << 15) // (batch * heads), 1)  # scores
    keys = b.size(300)
    queries = 1 if b.chance(0.2) else min(keys if b.chance(0.5) else b.size(160), max(most // keys, 1))
    dtype = b.one((dt.float32, dt.float32, dt.float16))
    q = b.input((batch, heads, queries, width), dtype, "normal")
    k, v = (b.input((batch, heads, keys, width), dtype, "normal") for _ in "kv")
    call = f"({q.name}, {k.name}, {v.name}"
    kind = b.one(("", "", "causal", "bias", "mask"))
    if kind == "bias":
        m = b.input((b.one((1, batch)), 1, queries, keys), dtype, "normal")
        b.line(
            f"F.scaled_dot_product_attention{call}, attn_mask={m.name})",
            f"ref.attention{call}, False, {m.name})",
        )
    elif kind == "mask":
        m = b.input((queries, keys), dt.bool_, b.one(("quarters", "rows out")))
        text = f"F.scaled_dot_product_attention{call}, attn_mask={m.name})"
        b.line(text, f"ref.attention{call}, False, {m.name})")
    else:
        causal = kind == "causal"
        b.line(
            f"F.scaled_dot_product_attention{call}, is_causal={causal})", f"ref.attention{call}, {causal})"
        )


def rows(b: Builder) -> None:
    """Softmax and norms."""
    b.most = MANY
    kind = b.one(("lines", "lines", "affine", "groups", "batch", "by hand"))
    dtype = b.one(FLOATS)
    if kind in ("groups", "batch"):
        groups = b.one((1, 2, 4))
        c = groups * b.small(9)
        x = b.input((b.small(5) + 1, c, *(b.size(40) + 1 for _ in range(b.whole(1, 2)))), dtype, "normal")
        w, c2 = (b.input((c,), dtype, "normal") for _ in range(2))
        if kind == "groups":
            text = f"F.group_norm({x.name}, {groups}, {w.name}, {c2.name}, 0.5)"
            b.line(text, f"ref.group_norm({x.name}, {groups}, {w.name}, {c2.name}, 0.5)")
        else:
            text = f"F.batch_norm({x.name}, None, None, {w.name}, {c2.name}, True, 0.1, 0.5)"
            b.line(text, f"ref.batch_norm({x.name}, {w.name}, {c2.name}, 0.5)")
        return
    x = b.input(random_shape(b, b.whole(1, 3), 1 << 16), dtype, b.one(KINDS))
    if kind == "affine":
        w, c = (b.input(x.shape[-1:], dtype, "normal") for _ in range(2))
        text = f"F.layer_norm({x.name}, {x.shape[-1:]}, {w.name}, {c.name}, 0.5)"
        b.line(text, f"ref.layer_norm({x.name}, 1, {w.name}, {c.name}, 0.5)")
    elif kind == "by hand":
        # A norm from its parts, which the planner finds as one group of rows.
        y = b.line(f"{x.name} - {x.name}.mean(-1, True)", f"{x.name} - {x.name}.mean(-1, keepdims=True)")
        z = y and b.line(
            f"({y.name} * {y.name}).sum(-1, True) + 1", f"({y.name} * {y.name}).sum(-1, keepdims=True) + 1"
        )
        if y and z:
            b.line(f"{y.name} / {z.name}", f"{y.name} / {z.name}")
    else:
        add_lines(b, (operations.normalization,), 2)
        if texts := operations.normalization(b):
            b.line(*texts)
    add_lines(b, (pointwise.unary, operations.reduction), 2)


# of a row, and the elements that follow from two of them: tensor code and NumPy's
STATISTICS = (
    ("{x}.sum(-1, True) * 0.125", "{x}.sum(-1, keepdims=True) * 0.125"),
    ("{x}.mean(-1, True)", "{x}.mean(-1, keepdims=True)"),
    ("{x}.amax(-1, True)", "{x}.max(-1, keepdims=True)"),
    ("({x} * {x}).mean(-1, True)", "({x} * {x}).mean(-1, keepdims=True)"),
    ("({x}.var(-1, correction=0, keepdim=True) + 0.5).sqrt()", "np.sqrt({x}.var(-1, keepdims=True) + 0.5)"),
)
ELEMENTS = (
    "({x} - {t}) * {s}",
    "{x} * {s} + {t}",
    "({x} - {t}) / ({s} * {s} + 1)",
    "({x} - {s}) * ({x} - {t})",
)


def row_lengths(b: Builder) -> None:
    """Rows of all lengths and few lines: each number of threads of a row, of elements that one holds, of
    elements of a read. NVIDIA's compiler was wrong for one of these forms alone."""
    b.most = 1 << 17
    names = {"x": b.input((b.small(9), b.length()), dt.float32, b.one(KINDS)).name}
    for name in ("s", "t"):
        text, numpy_code = b.one(STATISTICS)
        if statistic := b.line(text.format(**names), numpy_code.format(**names)):
            names[name] = statistic.name
    if len(names) == 3:
        text = b.one(ELEMENTS).format(**names)
        b.line(text, text)


def orders(b: Builder) -> None:
    """Scans and sorts."""
    b.most = MANY
    dtype = b.one(EVERY if b.chance(0.5) else FLOATS)
    b.input(random_shape(b, b.whole(1, 3), 1 << 15), dtype, b.one(KINDS))
    for _ in range(b.whole(1, 2)):
        if texts := b.one((operations.running, operations.ordering))(only(b, b.values[0])):
            b.line(*texts)


def indexing(b: Builder) -> None:
    b.most = MANY
    dtype = b.one((dt.float32, dt.float32, dt.float16, dt.int32))
    b.input(random_shape(b, b.whole(1, 3), 1 << 14), dtype, "quarters")
    for _ in range(b.whole(1, 3)):
        if texts := b.one(
            (operations.gathering, operations.scattering, operations.scattering, pointwise.slicing)
        )(b):
            b.line(*texts)


def dtypes(b: Builder) -> None:
    """Casts and arithmetic of all dtypes."""
    shape = random_shape(b, b.whole(0, 2), 1 << 12)
    for _ in range(3):
        b.input(shape, b.one(EVERY), "quarters", b.one((2, 2, 30)) if b.chance(0.5) else 2)
    kinds = (
        pointwise.cast, pointwise.cast, pointwise.binary, pointwise.unary, pointwise.where,
        pointwise.comparison, operations.reduction,
    )  # fmt: skip
    add_lines(b, kinds, 10)


def losses(b: Builder) -> None:
    """Losses and gradients of small networks."""
    n, c = b.size(64), b.size(300)
    kind = b.one(("classes", "classes", "squares", "network", "network"))
    if kind == "squares":
        x, y = (b.input((n, c), b.one(FLOATS), "normal") for _ in "xy")
        b.line(f"F.mse_loss({x.name}, {y.name}.to({x.name}.dtype))", f"(({x.name} - {y.name}) ** 2).mean()")
        return
    x = b.input((n, c if kind == "classes" else b.small(33)), dt.float32, "normal")
    if kind == "network":
        for size in (b.small(33), c):
            w = b.input((size, x.shape[1]), dt.float32, "normal")
            bias = b.input((size,), dt.float32, "normal")
            call = f"F.linear({x.name}, {w.name}, {bias.name})"
            hidden = b.line(f"{call}.tanh()", f"np.tanh({x.name} @ {w.name}.T + {bias.name})")
            x = hidden or x
    classes = b.places((x.shape[0],), x.shape[1])
    b.line(f"F.cross_entropy({x.name}, {classes.name})", f"ref.cross_entropy({x.name}, {classes.name})")


def not_finite(b: Builder) -> None:
    """Infinities, NaN, and masks."""
    b.most, b.odd = 1 << 16, True
    shape = random_shape(b, b.whole(1, 3), 1 << 13)
    for kind in ("no numbers", b.one(("infinities", "no numbers", "quarters"))):
        b.input(shape if b.chance(0.7) else shape[-1:], b.one(FLOATS), kind)
    b.input(shape, dt.bool_)
    add_lines(b, special_values.LINES, 12)


FAMILIES: dict[str, Callable[[Builder], None]] = {
    "elementwise": elementwise,
    "views": views,
    "reductions": reductions,
    "products": products,
    "convolutions": convolutions,
    "transposed convolutions": transposed_convolutions,
    "pools": pools,
    "attention": attention,
    "softmax and norms": rows,
    ROW_LENGTHS: row_lengths,
    "scans and sorts": orders,
    "indexing": indexing,
    "dtypes": dtypes,
    "losses": losses,
    **edges.FAMILIES,
    NOT_FINITE: not_finite,
}


def drawn(family: str, structure: int, sizes: int) -> Program:
    """A program of a family. structure, sizes: seeds of its lines and of its sizes."""
    if family not in FAMILIES:
        return random_program(structure)
    b = Builder(structure, sizes=sizes)
    FAMILIES[family](b)
    if not b.lines:
        x = b.values[0].name
        b.line(f"{x}.float() * 0.5", f"{x} * 0.5")
    return b.finish(family, gradients=not b.odd)
