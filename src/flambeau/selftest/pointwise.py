"""Lines of elementwise ops and views: each picks variables and returns tensor code and NumPy's code."""

from math import prod

from ..core import dtype as dt
from .program_builder import EVERY, Builder, Value
from .programs import spell

Texts = tuple[str, str] | None

# method or expression of x: (tensor code, NumPy's)
OF_FLOATS = {
    "tanh": ("{x}.tanh()", "np.tanh({x})"),
    "sigmoid": ("{x}.sigmoid()", "ref.sigmoid({x})"),
    "exp": ("{x}.clamp(-4, 4).exp()", "np.exp(np.clip({x}, -4, 4))"),
    "log": ("({x}.abs() + 0.5).log()", "np.log(np.abs({x}) + 0.5)"),
    "log1p": ("{x}.abs().log1p()", "np.log1p(np.abs({x}))"),
    "sqrt": ("({x}.abs() + 0.25).sqrt()", "np.sqrt(np.abs({x}) + 0.25)"),
    "rsqrt": ("({x} * {x} + 1).rsqrt()", "1 / np.sqrt({x} * {x} + 1)"),
    "reciprocal": ("({x}.abs() + 0.5).reciprocal()", "1 / (np.abs({x}) + 0.5)"),
    "sin": ("{x}.clamp(-9, 9).sin()", "np.sin(np.clip({x}, -9, 9))"),
    "cos": ("{x}.clamp(-9, 9).cos()", "np.cos(np.clip({x}, -9, 9))"),
    "erf": ("{x}.erf()", "ref.erf({x})"),
    "softplus": ("F.softplus({x}.clamp(-9, 9))", "ref.softplus(np.clip({x}, -9, 9))"),
    "silu": ("F.silu({x})", "{x} * ref.sigmoid({x})"),
    "gelu": ("F.gelu({x})", "ref.gelu({x})"),
    "leaky": ("F.leaky_relu({x}, 0.25)", "np.where({x} > 0, {x}, {x} * 0.25)"),
    "floor": ("{x}.floor()", "np.floor({x})"),
    "ceil": ("{x}.ceil()", "np.ceil({x})"),
    "round": ("{x}.round()", "np.round({x})"),
    "half": ("{x} / 2", "{x} / 2"),
    "from one": ("1 - {x}", "1 - {x}"),
    "per": ("{x} / ({x}.square() + 1)", "{x} / ({x} * {x} + 1)"),
}
OF_NUMBERS = {
    "abs": ("{x}.abs()", "np.abs({x})"),
    "square": ("{x}.square()", "{x} * {x}"),
    "relu": ("{x}.relu()", "np.maximum({x}, 0)"),
    "double": ("{x} * 2", "{x} * 2"),
    "add": ("{x} + 3", "{x} + 3"),
    "clamp": ("{x}.clamp(1, 5)", "np.clip({x}, 1, 5)"),
    "sign": ("{x}.sign()", "np.sign({x})"),
}
OF_SIGNED = {
    "neg": ("-{x}", "-{x}"),
    "less": ("{x} - 2", "{x} - 2"),
    "remainder": ("{x} % 3", "np.mod({x}, 3)"),
    "floor divide": ("{x} // 4", "np.floor_divide({x}, 4)"),
}
OF_INTS = {
    "and": ("{x} & 6", "{x} & 6"),
    "or": ("{x} | 1", "{x} | 1"),
    "left": ("{x} << 2", "{x} << 2"),
    "right": ("{x} >> 1", "{x} >> 1"),
}


def unary(b: Builder) -> Texts:
    x = b.pick()
    if x is None:
        return None
    if not x.is_number:
        return f"~{x.name}", f"~{x.name}"
    table = dict(OF_NUMBERS)
    if x.dtype.kind != "u":
        table |= OF_SIGNED
    table |= OF_FLOATS if x.is_float else OF_INTS
    text, numpy_code = b.one([*table.values()])
    return text.format(x=x.name), numpy_code.format(x=x.name)


def meets(x: Value, y: Value) -> bool:
    """Whether two values broadcast together."""
    return all(a == c or 1 in (a, c) for a, c in zip(x.shape[::-1], y.shape[::-1], strict=False))


def of_alike(x: Value, y: Value) -> bool:
    """Whether promotion of the two dtypes keeps all values: a 0-d integer takes the other's dtype."""
    if x.dtype is y.dtype:
        return True
    pairs = [(a, b) for a, b in ((x, y), (y, x)) if not a.shape and b.shape]
    cut = any(a.dtype.kind == b.dtype.kind == "i" and a.dtype.itemsize > b.dtype.itemsize for a, b in pairs)
    return "u" not in (x.dtype.kind, y.dtype.kind) and not cut


def binary(b: Builder) -> Texts:
    x = b.pick()
    if x is None:
        return None
    y = b.pick(lambda v: meets(x, v) and v.is_number == x.is_number and of_alike(x, v))
    if y is None:
        return None
    if not x.is_number:
        sign = b.one("&|^")
        return f"{x.name} {sign} {y.name}", f"{x.name} {sign} {y.name}"
    if x.is_float and y.is_float and b.whole(0, 7) == 0:
        (name, sign), alpha = b.one((("add", "+"), ("sub", "-"))), b.one((2, -1, 0.5))
        return f"{x.name}.{name}({y.name}, alpha={alpha})", f"{x.name} {sign} {alpha} * {y.name}"
    name, numpy_code = b.one(
        [
            ("+", "+"),
            ("-", "-"),
            ("*", "*"),
            ("+", "+"),
            ("*", "*"),
            ("maximum", "np.maximum"),
            ("minimum", "np.minimum"),
        ]
    )
    if len(name) == 1:
        return f"{x.name} {name} {y.name}", f"{x.name} {name} {y.name}"
    return f"{x.name}.{name}({y.name})", f"{numpy_code}({x.name}, {y.name})"


def ratio(b: Builder) -> Texts:
    x = b.pick(lambda v: v.is_float)
    if x is None:
        return None
    y = b.pick(lambda v: v.is_float and meets(x, v))
    return y and (f"{x.name} / ({y.name}.abs() + 1)", f"{x.name} / (np.abs({y.name}) + 1)")


def comparison(b: Builder) -> Texts:
    x = b.pick(lambda v: v.is_number)
    if x is None:
        return None
    y = b.pick(lambda v: v.is_number and meets(x, v) and of_alike(x, v))
    sign = b.one(["<", "<=", ">", ">=", "==", "!="])
    if y and b.chance(0.7):
        return f"{x.name} {sign} {y.name}", f"{x.name} {sign} {y.name}"
    return f"{x.name} {sign} 1", f"{x.name} {sign} 1"


def where(b: Builder) -> Texts:
    c = b.pick(lambda v: not v.is_number)
    if c is None:
        return None
    x = b.pick(lambda v: meets(c, v) and v.is_number)
    if x is None:
        return None
    if b.chance(0.3):
        return f"fb.where({c.name}, {x.name}, 1)", f"np.where({c.name}, {x.name}, 1)"
    y = b.pick(lambda v: v.is_number and meets(c, v) and meets(x, v) and of_alike(x, v))
    if y is None or b.chance(0.2):
        fits = len(c.shape) <= len(x.shape) and all(
            m in (1, n) for m, n in zip(c.shape[::-1], x.shape[::-1], strict=False)
        )
        return (
            (f"{x.name}.masked_fill({c.name}, 2)", f"np.where({c.name}, 2, {x.name})")
            if fits and x.ndim
            else None
        )
    return f"fb.where({c.name}, {x.name}, {y.name})", f"np.where({c.name}, {x.name}, {y.name})"


def cast(b: Builder) -> Texts:
    x = b.pick()
    if x is None:
        return None
    to = b.one(EVERY)
    if x.is_float and to.kind == "u":
        numpy_code = f"np.abs({x.name})"
        return (
            f"{x.name}.abs().to(fb.{spell(to)})",
            f"{numpy_code} % {1 << 8 * to.itemsize}" if to.is_packed else numpy_code,
        )
    if to is dt.bool_:
        return f"{x.name}.to(fb.bool_)", f"{x.name} != 0"
    return (
        f"{x.name}.to(fb.{spell(to)})",
        f"np.trunc({x.name})" if x.is_float and not to.is_float else x.name,
    )


# --- views ---


def transpose(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim > 1)
    if x is None:
        return None
    order = tuple(int(d) for d in b.rng.permutation(x.ndim))
    return f"{x.name}.permute{order}", f"{x.name}.transpose{order}"


def reshape(b: Builder) -> Texts:
    x = b.pick()
    if x is None:
        return None
    n = prod(x.shape)
    shapes: list[tuple[int, ...]] = [(n,)]
    if n:
        shapes += [(d, n // d) for d in (1, 2, 3, 4, 8) if n % d == 0]
        shapes += [(2, n // 4, 2)] if n % 4 == 0 else []
        shapes += [(*x.shape[:-2], prod(x.shape[-2:]))] if x.ndim > 1 else []
    if n == 1:
        shapes.append(())
    shape = b.one(shapes)
    return f"{x.name}.reshape({shape})", f"{x.name}.reshape({shape})"


def a_slice(b: Builder, n: int) -> str:
    step = b.one([1, 1, 1, -1, 2, -2, 3])
    low, high = b.whole(0, max(n // 2, 0)), b.whole((n + 1) // 2, n)
    bounds = [low if b.chance(0.6) else None, high if b.chance(0.6) else None]
    if bounds[1] == n and b.chance(0.5):
        bounds[1] = -1 if n > 1 else None
    if step < 0:
        bounds = [None if high == n else high, None if low == 0 else low]
    text = ":".join("" if e is None else str(e) for e in bounds)
    return text if step == 1 else f"{text}:{step}"


def slicing(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim > 0)
    if x is None:
        return None
    key = ", ".join(
        str(b.whole(-n, n - 1)) if n and b.chance(0.1) else a_slice(b, n) if b.chance(0.7) else ":"
        for n in x.shape
    )
    return f"{x.name}[{key}]", f"{x.name}[{key}]"


def padding(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim > 0)
    if x is None:
        return None
    dims = b.whole(1, min(x.ndim, 2))
    pads = [b.whole(0, 2) for _ in range(2 * dims)]
    pairs = [(0, 0)] * (x.ndim - dims) + [(pads[2 * i], pads[2 * i + 1]) for i in reversed(range(dims))]
    return f"F.pad({x.name}, {tuple(pads)})", f"np.pad({x.name}, {pairs})"


def expansion(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim < 4)
    if x is None:
        return None
    position, n = b.whole(0, x.ndim), b.whole(2, 5)
    shape = (*x.shape[:position], n, *x.shape[position:])
    return (
        f"{x.name}.unsqueeze({position}).expand{shape}",
        f"np.broadcast_to(np.expand_dims({x.name}, {position}), {shape})",
    )


def windows(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim > 0 and max(v.shape) > 1)
    if x is None:
        return None
    d = b.one([d for d, n in enumerate(x.shape) if n > 1])
    size, step = b.whole(1, min(x.shape[d], 4)), b.whole(1, 3)
    return f"{x.name}.unfold({d}, {size}, {step})", f"ref.unfold({x.name}, {d}, {size}, {step})"


def rearrangement(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim > 0)
    if x is None:
        return None
    d, by = b.whole(0, x.ndim - 1), b.whole(-3, 3)
    kind = b.whole(0, 3)
    if kind == 0:
        return f"{x.name}.flip({d})", f"np.flip({x.name}, {d})"
    if kind == 1:
        return f"{x.name}.roll({by}, {d})", f"np.roll({x.name}, {by}, {d})"
    if kind == 2 and x.ndim > 1 and x.dtype in (dt.float32, dt.int32):
        name = b.one(["tril", "triu"])
        return f"{x.name}.{name}({by})", f"np.{name}({x.name}, {by})"
    return f"{x.name}.repeat_interleave(2, {d})", f"np.repeat({x.name}, 2, {d})"


def concatenation(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim > 0)
    if x is None:
        return None
    d = b.whole(0, x.ndim - 1)
    others = [
        v
        for v in b.values
        if v.dtype is x.dtype
        and v.ndim == x.ndim
        and all(m == n for i, (m, n) in enumerate(zip(v.shape, x.shape, strict=True)) if i != d)
    ]
    names = ", ".join(b.one(others).name for _ in range(b.one((2, 2, 3, 5))))
    return f"fb.cat([{names}], {d})", f"np.concatenate([{names}], {d})"
