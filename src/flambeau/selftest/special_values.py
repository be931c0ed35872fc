"""Lines over infinities, NaN and boolean masks: each returns tensor code and NumPy's code."""

from collections.abc import Callable

from . import operations, pointwise
from .pointwise import Texts, meets
from .program_builder import Builder, only

OF_FLOATS = {
    "isfinite": ("{x}.isfinite()", "np.isfinite({x})"),
    "isinf": ("{x}.isinf()", "np.isinf({x})"),
    "isnan": ("{x}.isnan()", "np.isnan({x})"),
    "isposinf": ("{x}.isposinf()", "np.isposinf({x})"),
    "isneginf": ("{x}.isneginf()", "np.isneginf({x})"),
    "nan_to_num": ("{x}.nan_to_num(0.5, 3.0, -4.0)", "np.nan_to_num({x}, nan=0.5, posinf=3.0, neginf=-4.0)"),
    "clamp": ("{x}.clamp(-1, 1)", "np.clip({x}, -1, 1)"),
    "from below": ("{x}.clamp(-1, None)", "np.maximum({x}, -1)"),
    "from above": ("{x}.clamp(None, 1)", "np.minimum({x}, 1)"),
    "abs": ("{x}.abs()", "np.abs({x})"),
    "neg": ("-{x}", "-{x}"),
    "square": ("{x}.square()", "{x} * {x}"),
    "relu": ("{x}.relu()", "np.maximum({x}, 0)"),
    "floor": ("{x}.floor()", "np.floor({x})"),
    "round": ("{x}.round()", "np.round({x})"),
    "from itself": ("{x} - {x}", "{x} - {x}"),
    "with its negative": ("{x} + -{x}", "{x} + -{x}"),
    "logaddexp with its negative": ("{x}.logaddexp(-{x})", "np.logaddexp({x}, -{x})"),
    "hypot with its negative": ("{x}.hypot(-{x})", "np.hypot({x}, -{x})"),
    "over itself": ("{x} / {x}", "{x} / {x}"),
    "a product over a factor": ("{x} * 3 / {x}", "{x} * 3 / {x}"),
    "times its reciprocal": ("{x} * (1 / {x})", "{x} * (1 / {x})"),
    "a zero over itself": ("({x} > {x}) / {x}", "0 / np.where({x} == 0, np.nan, {x})"),
    "a squared root": ("{x}.sqrt().square()", "np.sqrt({x}) * np.sqrt({x})"),
    "double": ("{x} * 2 + 1", "{x} * 2 + 1"),
    "exp": ("{x}.exp()", "np.exp({x})"),
    "tanh": ("{x}.tanh()", "np.tanh({x})"),
    "sigmoid": ("{x}.sigmoid()", "ref.sigmoid({x})"),
    "sqrt": ("{x}.sqrt()", "np.sqrt({x})"),
    "log": ("{x}.abs().log()", "np.log(np.abs({x}))"),
    "reciprocal": ("{x}.abs().reciprocal()", "1 / np.abs({x})"),
    "erf": ("{x}.erf()", "ref.erf({x})"),
    "softplus": ("F.softplus({x})", "ref.softplus({x})"),
}
OF_TWO = {
    "add": ("{x} + {y}", "{x} + {y}"),
    "sub": ("{x} - {y}", "{x} - {y}"),
    "mul": ("{x} * {y}", "{x} * {y}"),
    "div": ("{x} / {y}.abs()", "{x} / np.abs({y})"),
    "maximum": ("{x}.maximum({y})", "np.maximum({x}, {y})"),
    "minimum": ("{x}.minimum({y})", "np.minimum({x}, {y})"),
    "fmax": ("{x}.fmax({y})", "np.fmax({x}, {y})"),
    "fmin": ("{x}.fmin({y})", "np.fmin({x}, {y})"),
    "logaddexp": ("{x}.logaddexp({y})", "np.logaddexp({x}, {y})"),
}
OF_ROWS = {
    "mean of nothing": ("{x}.narrow({d}, 0, 0).mean({d})", "np.zeros({x}.shape).sum({d}) + np.nan"),
    "log of nothing": ("{x}.narrow({d}, 0, 0).logsumexp({d})", "np.zeros({x}.shape).sum({d}) - np.inf"),
    "nansum": ("{x}.nansum({d})", "np.nansum({x}, {d})"),
    "count_nonzero": ("{x}.count_nonzero({d})", "np.count_nonzero({x}, {d})"),
    "any": ("({x} != {x}).any({d})", "np.isnan({x}).any({d})"),
    "all": ("{x}.isfinite().all({d})", "np.isfinite({x}).all({d})"),
}
# the number of elements that a mask selects depends on the values, so they are reduced at once
OF_MASKS = {
    "brackets": ("{x}[{m}].sum()", "{x}[{m}].sum()"),
    "masked_select": ("{x}.masked_select({m}).sum()", "{x}[{m}].sum()"),
    "masked_scatter": (
        "{x}.masked_scatter({m}, {x}.flip({d}))",
        "ref.masked_scatter({x}, {m}, np.flip({x}, {d}))",
    ),
    "of the finite": ("{x}[{x}.isfinite()].sum()", "{x}[np.isfinite({x})].sum()"),
    "nonzero": ("{m}.nonzero().sum(0)", "np.argwhere({m}).sum(0)"),
    "masked_fill": ("{x}.masked_fill({m}, {v})", "np.where({m}, {v}, {x})"),
    "where": ("fb.where({m}, {x}, {v})", "np.where({m}, {x}, {v})"),
}
VALUES = ("float('inf')", "float('-inf')", "float('nan')", "2")


def unary(b: Builder) -> Texts:
    x = b.pick(lambda v: v.is_float)
    if x is None:
        return None
    text, numpy_code = b.one([*OF_FLOATS.values()])
    return text.format(x=x.name), numpy_code.format(x=x.name)


def binary(b: Builder) -> Texts:
    x = b.pick(lambda v: v.is_float)
    if x is None:
        return None
    # some drivers fold x - x and x / x to 0 and 1 for any x; a row of one element is such a case
    y = b.pick(lambda v: v.is_float and v.name != x.name and meets(x, v))
    if y is None:
        return None
    text, numpy_code = b.one([*OF_TWO.values()])
    return text.format(x=x.name, y=y.name), numpy_code.format(x=x.name, y=y.name)


def row_reduction(b: Builder) -> Texts:
    x = b.pick(lambda v: v.is_float and v.ndim > 0 and 0 not in v.shape)
    if x is None:
        return None
    text, numpy_code = b.one([*OF_ROWS.values()])
    d = b.whole(0, x.ndim - 1)
    return text.format(x=x.name, d=d), numpy_code.format(x=x.name, d=d)


def masking(b: Builder) -> Texts:
    x = b.pick(lambda v: v.is_float and v.ndim > 0 and 0 not in v.shape)
    if x is None:
        return None
    m = b.pick(lambda v: not v.is_number and v.shape == x.shape)
    name = b.one([*OF_MASKS])
    if m is None and name != "of the finite":
        return None
    names = {"x": x.name, "m": m and m.name, "d": b.whole(0, x.ndim - 1), "v": b.one(VALUES)}
    text, numpy_code = OF_MASKS[name]
    return text.format(**names), numpy_code.format(**names).replace("float(", "np.float64(")


def longer(kind: Callable[[Builder], Texts]) -> Callable[[Builder], Texts]:
    """Lines of a kind, over values without dims of size 1."""

    def line(b: Builder) -> Texts:
        x = b.pick(lambda v: 1 not in v.shape)
        return x and kind(only(b, x))

    return line


LINES = (
    unary, unary, unary, binary, binary, masking, masking, masking, row_reduction, pointwise.comparison,
    pointwise.comparison, pointwise.where, pointwise.where, pointwise.transpose, pointwise.slicing,
    pointwise.padding, pointwise.concatenation, pointwise.rearrangement, pointwise.expansion,
    *[longer(operations.reduction)] * 3, operations.all_of, operations.extreme, operations.running,
    operations.ordering, operations.ordering, *[longer(operations.normalization)] * 2, operations.product,
    operations.gathering,
)  # fmt: skip
