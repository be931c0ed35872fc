"""Random programs: a few lines of tensor code over a few inputs, with a bound of the error of each value.

A value is known by its dtype, the largest magnitude that it may have, and either the step that it is a
multiple of or the error that it may have. While magnitude / step fits into the dtype's digits, arithmetic is
exact in whatever order it is done, so that ops that jump (comparisons, casts to integers, argmax) can be
compared too; they are never applied to other values. Errors grow as in a textbook: a rounding an operation,
times what follows.
"""

import re
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import flambeau as fb

DIGITS = {fb.float32: 24, fb.float16: 11}
ROUNDING = {
    fb.float32: 2.0**-22,
    fb.float16: 2.0**-10,
}  # of functions too, which are a few times worse than sums
DTYPES = (fb.float32, fb.float32, fb.float16, fb.int32, fb.uint8, fb.bool_)
LARGEST = {fb.float32: 2.0**16, fb.float16: 2.0**9, fb.int32: 2.0**28, fb.uint8: 255.0, fb.bool_: 1.0}
SIZES = (1, 2, 3, 4, 5, 8, 0)
MOST = 2048  # elements


class Bound(NamedTuple):
    """The largest magnitude; the step that values are multiples of (0: of none); the error."""

    top: float
    step: float
    error: float


@dataclass
class Value:
    """A variable of a program: the tensor is one of NumPy's device, never computed here."""

    name: str
    tensor: Any
    bound: Bound

    shape = property(lambda self: self.tensor.shape)
    dtype = property(lambda self: self.tensor.dtype)
    is_exact = property(lambda self: self.bound.step > 0)


@dataclass
class Program:
    """Inputs by name, lines of code, and the values that they make."""

    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    def __repr__(self) -> str:
        arrays = {k: f"np.array({a.tolist()}, '{a.dtype}')" for k, a in self.inputs.items()}
        given = [f"{k} = fb.tensor({text})  # {self.inputs[k].shape}" for k, text in arrays.items()]
        return "\n".join([*given, *self.lines])

    def _repr_pretty_(self, printer, cycle) -> None:
        printer.text("; ".join(self.lines))  # hypothesis's own report; ours has it all

    def run(self, device, settle=lambda t: t, given: dict[str, Any] | None = None) -> dict[str, Any]:
        """The variables of the program on a device, each passed through `settle`; on the inputs of
        `given`."""
        scope: dict[str, Any] = {
            k: given[k] if given else fb.tensor(a, device=device) for k, a in self.inputs.items()
        }
        for line in self.lines:
            name, _, text = line.partition(" = ")
            scope[name] = settle(eval(text, {"fb": fb}, scope))
        return scope

    def add(self, text: str, bound: Bound) -> bool:
        """Append a line unless its value would be too large for its dtype or for us."""
        scope = {v.name: v.tensor for v in self.values}
        tensor = eval(text, {"fb": fb}, scope)
        if prod(tensor.shape) > MOST or len(tensor.shape) > 4 or bound.top > LARGEST[tensor.dtype]:
            return False
        name = f"v{len(self.values)}"
        self.lines.append(f"{name} = {text}")
        self.values.append(Value(name, tensor, rounded(bound, tensor.dtype)))
        return True

    def results(self) -> list[Value]:
        """The values that no line uses, and the last."""
        used = {name for line in self.lines for name in re.findall(r"v\d+", line.partition(" = ")[2])}
        return [v for v in self.values[len(self.inputs) :] if v.name not in used] or self.values[-1:]


def rounded(b: Bound, dtype) -> Bound:
    """A bound after its value was rounded to a dtype."""
    if dtype not in DIGITS:
        return Bound(b.top, max(b.step, 1.0), 0.0)
    if b.step and b.top / b.step <= 2 ** DIGITS[dtype] and not b.error:
        return b
    return Bound(b.top, 0.0, b.error + ROUNDING[dtype] * max(b.top, 2.0**-14))


# --- lines: each takes (draw, values) and gives a text and a bound, or None where it does not apply ---


def pick(draw, values, fits=lambda v: True):
    found = [v for v in values if fits(v)]
    return draw(st.sampled_from(found[-6:])) if found else None


def is_float(v) -> bool:
    return v.dtype.is_float


def a_dim(draw, v) -> int:
    return draw(st.integers(-len(v.shape), len(v.shape) - 1))


def unary(draw, values):
    x = pick(draw, values)
    top, step, error = x.bound
    if x.dtype is fb.bool_:
        return f"{x.name}.logical_not()", x.bound
    names = ["abs", "square"] + (["neg", "relu"] if x.dtype is not fb.uint8 else [])
    name = draw(st.sampled_from(names + (["tanh", "sigmoid"] if is_float(x) else [])))
    if name in ("tanh", "sigmoid"):
        return f"{x.name}.{name}()", Bound(1.0, 0.0, error)
    if name == "square":
        top = min(top * top, 255.0) if x.dtype is fb.uint8 else top * top
        return f"{x.name}.square()", Bound(top, step * step, 2 * x.bound.top * error)
    return f"{x.name}.{name}()", x.bound


def scaled(draw, values):
    x = pick(draw, values, lambda v: v.dtype in (fb.float32, fb.float16, fb.int32))
    if x is None:
        return None
    top, step, error = x.bound
    by = draw(st.sampled_from([2, -1, 3]))
    if draw(st.booleans()):
        return f"{x.name} * {by}", Bound(top * abs(by), step, error * abs(by))
    return f"{x.name} + {by}", Bound(top + abs(by), min(step, 1.0), error)


def broadcastable(x, y) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(x.shape[::-1], y.shape[::-1]))


def pair(draw, values):
    x = pick(draw, values)
    return x, pick(draw, values, lambda v: broadcastable(x, v))


def binary(draw, values):
    x, y = pair(draw, values)
    (a, i, e), (b, j, f) = x.bound, y.bound
    if x.dtype is fb.bool_ and y.dtype is fb.bool_:
        return f"{x.name} {draw(st.sampled_from('&|^'))} {y.name}", x.bound
    name = draw(st.sampled_from(["add", "sub", "mul", "maximum", "minimum"]))
    if name == "sub" and fb.bool_ in (x.dtype, y.dtype):
        name = "add"
    wraps = {x.dtype, y.dtype} <= {fb.uint8, fb.bool_}
    step = min(i, j) if name != "mul" else i * j
    top = a + b if name in ("add", "sub") else a * b if name == "mul" else max(a, b)
    error = a * f + b * e + e * f if name == "mul" else e + f
    return f"{x.name}.{name}({y.name})", Bound(min(top, 255.0) if wraps else top, step, error)


def comparison(draw, values):
    x = pick(draw, values, lambda v: v.is_exact)
    y = pick(draw, values, lambda v: v.is_exact and x is not None and broadcastable(x, v))
    if y is None:
        return None
    return f"{x.name}.{draw(st.sampled_from(['lt', 'eq', 'ge']))}({y.name})", Bound(1.0, 1.0, 0.0)


def where(draw, values):
    c = pick(draw, values, lambda v: v.dtype is fb.bool_)
    x = pick(draw, values, lambda v: c is not None and broadcastable(c, v))
    if x is None:
        return None
    if draw(st.booleans()):
        top, step, error = x.bound
        return f"{c.name}.where({x.name}, 1)", Bound(max(top, 1.0), min(step, 1.0), error)
    y = pick(draw, values, lambda v: broadcastable(c, v) and broadcastable(x, v))
    (a, i, e), (b, j, f) = x.bound, y.bound
    return f"{c.name}.where({x.name}, {y.name})", Bound(max(a, b), min(i, j), max(e, f))


def cast(draw, values):
    x = pick(draw, values)
    to = draw(st.sampled_from(DTYPES))
    top, step, error = x.bound
    if is_float(x) and not to.is_float and (not x.is_exact or to is fb.uint8):
        return None  # NumPy's casts of negative floats to unsigned integers are the processor's own
    if to is fb.uint8:
        top = 255.0
    bound = Bound(1.0, 1.0, 0.0) if to is fb.bool_ else Bound(top, step if to.is_float else 1.0, error)
    return f"{x.name}.cast(fb.{to.name if to is not fb.bool_ else 'bool_'})", bound


def transpose(draw, values):
    x = pick(draw, values, lambda v: len(v.shape) > 1)
    if x is None:
        return None
    return f"{x.name}.permute{tuple(draw(st.permutations(range(len(x.shape)))))}", x.bound


def reshape(draw, values):
    x = pick(draw, values)
    n, shapes = prod(x.shape), [(-1,)]
    if n:
        shapes += [(d, n // d) for d in (1, 2, 3, 4, 8) if n % d == 0]
        shapes += [(2, n // 4, 2)] if n % 4 == 0 else []
    if n == 1:
        shapes.append(())
    return f"{x.name}.reshape({draw(st.sampled_from(shapes if n else [x.shape[::-1], (0,)]))})", x.bound


def a_slice(draw, n: int) -> str:
    step = draw(st.sampled_from([1, 1, -1, 2, -2, 3]))
    start, stop = (draw(st.one_of(st.none(), st.integers(-n - 1, n + 1))) for _ in range(2))
    text = f"{'' if start is None else start}:{'' if stop is None else stop}"
    return text if step == 1 else f"{text}:{step}"


def sliced(draw, values):
    x = pick(draw, values, lambda v: v.shape)
    if x is None:
        return None
    return f"{x.name}[{', '.join(a_slice(draw, n) for n in x.shape)}]", x.bound


def padded(draw, values):
    x = pick(draw, values, lambda v: v.shape)
    if x is None:
        return None
    amounts = [draw(st.integers(0, 2)) for _ in range(2 * min(len(x.shape), 2))]
    return f"{x.name}.pad({tuple(amounts)})", x.bound


def expanded(draw, values):
    x = pick(draw, values, lambda v: len(v.shape) < 4)
    if x is None:
        return None
    at, n = draw(st.integers(0, len(x.shape))), draw(st.sampled_from([2, 3, 4]))
    shape = (*x.shape[:at], n, *x.shape[at:])
    return f"{x.name}.unsqueeze({at}).expand({', '.join(map(str, shape))})", x.bound


def reduced(draw, values):
    x = pick(draw, values, lambda v: v.shape)
    if x is None:
        return None
    d = a_dim(draw, x)
    n, (top, step, error) = x.shape[d], x.bound
    names = ["sum", "sum"] + (["any"] if x.dtype is fb.bool_ else []) + (["amax", "amin"] if n else [])
    names += ["mean"] if is_float(x) and n else []
    name = draw(st.sampled_from(names + (["argmax"] if n and x.is_exact and x.dtype is not fb.bool_ else [])))
    keep = f", keepdim={draw(st.booleans())}"
    if name == "sum":
        spread = ROUNDING.get(x.dtype, 0.0) * n * top * n if not x.is_exact else 0.0
        return f"{x.name}.sum({d}{keep})", Bound(top * max(n, 1), step, error * n + spread)
    if name == "mean":
        return f"{x.name}.mean({d}{keep})", Bound(top, 0.0, error + ROUNDING[x.dtype] * top * n)
    if name == "argmax":
        return f"{x.name}.argmax({d}{keep})", Bound(float(n), 1.0, 0.0)
    return f"{x.name}.{name}({d}{keep})", x.bound


def summed(draw, values):
    x = pick(draw, values, lambda v: not is_float(v) or v.is_exact)
    if x is None:
        return None
    return f"{x.name}.sum()", Bound(x.bound.top * max(prod(x.shape), 1), x.bound.step, 0.0)


def scanned(draw, values):
    x = pick(draw, values, lambda v: v.shape)
    if x is None:
        return None
    d = a_dim(draw, x)
    n, (top, step, error) = max(x.shape[d], 1), x.bound
    spread = ROUNDING.get(x.dtype, 0.0) * n * n * top if not x.is_exact else 0.0
    return f"{x.name}.cumsum({d})", Bound(top * n, step, error * n + spread)


def product(draw, values):
    x = pick(draw, values, lambda v: len(v.shape) > 1 and is_float(v))
    y = x and pick(draw, values, lambda v: fits_product(x, v))
    if not y:
        return None
    (a, i, e), (b, j, f), n = x.bound, y.bound, max(x.shape[-1], 1)
    spread = n * n * ROUNDING[x.dtype] * a * b if not (i and j) else 0.0
    error = n * (a * f + b * e + e * f) + spread
    return f"{x.name} @ {y.name}.transpose(-1, -2)", Bound(a * b * n, i * j, error)


def fits_product(x, y) -> bool:
    same = len(y.shape) > 1 and x.dtype is y.dtype and x.shape[-1] == y.shape[-1]
    return same and all(a == b or 1 in (a, b) for a, b in zip(x.shape[-3::-1], y.shape[-3::-1]))


def picked(draw, values):
    x = pick(draw, values, lambda v: v.shape)
    index = pick(draw, values, lambda v: v.dtype is fb.int32 and len(v.shape) == 1)
    if x is None or index is None:
        return None
    d = a_dim(draw, x)
    if not x.shape[d]:
        return None
    return f"{x.name}.index_select({d}, {index.name}.remainder({x.shape[d]}))", x.bound


def joined(draw, values):
    x = pick(draw, values, lambda v: v.shape)
    if x is None:
        return None
    d = draw(st.integers(0, len(x.shape) - 1))
    same = [v for v in values if v.dtype is x.dtype and len(v.shape) == len(x.shape)]
    y = pick(draw, same, lambda v: all(a == b for i, (a, b) in enumerate(zip(v.shape, x.shape)) if i != d))
    (a, i, e), (b, j, f) = x.bound, y.bound
    return f"fb.cat([{x.name}, {y.name}, {x.name}], {d})", Bound(max(a, b), min(i, j), max(e, f))


LINES = (
    unary, unary, binary, binary, binary, scaled, comparison, where, cast, transpose, reshape, sliced, sliced,
    padded, expanded, reduced, reduced, summed, scanned, product, product, picked, joined,
)  # fmt: skip


@st.composite
def programs(draw) -> Program:
    """Two or three inputs, a vector of integers to pick by, and 3 to 12 lines."""
    made = Program()
    rank = draw(st.integers(0, 3))
    shape = tuple(draw(st.sampled_from(SIZES)) for _ in range(rank))
    shapes = [
        shape,
        shape[draw(st.integers(0, rank)) :],
        tuple(1 if i % 2 else n for i, n in enumerate(shape)),
    ]
    given = [(s, draw(st.sampled_from(DTYPES))) for s in shapes[: draw(st.integers(2, 3))]]
    seed = draw(st.integers(0, 7))
    for s, dtype in [*given, ((3,), fb.int32)]:
        add_input(made, s, dtype, seed)
    for _ in range(draw(st.integers(3, 12))):
        line = draw(st.sampled_from(LINES))(draw, made.values)
        if line is not None:
            made.add(*line)
    return made


def add_input(made: Program, shape, dtype, seed: int) -> None:
    """Multiples of a quarter from -2 to 2, or small integers: few enough to be read in a report."""
    rng, name = np.random.default_rng([seed, len(made.values)]), f"v{len(made.values)}"
    low = 0 if dtype in (fb.uint8, fb.bool_) else -8
    raw = rng.integers(low, 2 if dtype is fb.bool_ else 9, shape)
    array = np.asarray(raw / 4 if dtype.is_float else raw).astype(np.dtype(dtype.name.rstrip("_")))
    bound = Bound(2.0, 0.25, 0.0) if dtype.is_float else Bound(1.0 if dtype is fb.bool_ else 8.0, 1.0, 0.0)
    made.inputs[name] = array
    made.values.append(Value(name, fb.tensor(array, device="cpu"), bound))
