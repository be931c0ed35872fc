"""Lines that reduce, sort, multiply and index: each returns tensor code and NumPy's code, or None."""

from math import prod

from ..core import dtype as dt
from .pointwise import Texts, a_slice, of_alike
from .program_builder import Builder, Value

# --- rows ---


def some_dims(b: Builder, x: Value) -> tuple[int, ...]:
    many = b.whole(1, x.ndim) if b.chance(0.3) else 1
    return tuple(sorted(int(d) for d in b.rng.permutation(x.ndim)[:many]))


def reduction(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim > 0 and 0 not in v.shape)
    if x is None:
        return None
    dims, keep = some_dims(b, x), b.chance(0.5)
    names = ["sum", "sum", "amax", "amin"] if x.is_number else ["sum", "any", "all"]
    names += ["mean", "var", "logsumexp", "std"] if x.is_float else []
    name = b.one(names)
    numpy_name = {"amax": "max", "amin": "min"}.get(name, name)
    if name == "var":
        return f"{x.name}.var({dims}, keepdim={keep}, correction=0)", f"{x.name}.var({dims}, keepdims={keep})"
    if name == "std":
        return (
            f"({x.name}.var({dims}, keepdim={keep}, correction=0) + 0.5).sqrt()",
            f"np.sqrt({x.name}.var({dims}, keepdims={keep}) + 0.5)",
        )
    if name == "logsumexp":
        return f"{x.name}.logsumexp({dims}, {keep})", f"ref.logsumexp({x.name}, {dims}, {keep})"
    return f"{x.name}.{name}({dims}, {keep})", f"{x.name}.{numpy_name}({dims}, keepdims={keep})"


def all_of(b: Builder) -> Texts:
    x = b.pick(lambda v: 0 not in v.shape)
    if x is None:
        return None
    name = b.one(["sum", "mean", "max"] if x.is_float else ["sum"])
    return f"{x.name}.{name}()", f"{x.name}.{name}()"


def extreme(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim > 0 and 0 not in v.shape and v.is_number)
    if x is None:
        return None
    d, name, keep = b.whole(0, x.ndim - 1), b.one(["argmax", "argmin"]), b.chance(0.5)
    return f"{x.name}.{name}({d}, {keep})", f"{x.name}.{name}({d}, keepdims={keep})"


def running(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim > 0 and 0 not in v.shape and v.is_number)
    if x is None:
        return None
    d = b.whole(0, x.ndim - 1)
    kind = b.whole(0, 4)
    if kind == 0 and x.is_float:
        # Products stay finite.
        return f"{x.name}.clamp(0.5, 1.25).cumprod({d})", f"np.clip({x.name}, 0.5, 1.25).cumprod({d})"
    if kind == 1 and x.is_float:
        return f"{x.name}.logcumsumexp({d})", f"np.logaddexp.accumulate({x.name}, {d})"
    if kind == 2:
        name, numpy_name = b.one([("cummax", "maximum"), ("cummin", "minimum")])
        return f"{x.name}.{name}({d})[0]", f"np.{numpy_name}.accumulate({x.name}, {d})"
    return f"{x.name}.cumsum({d})", f"{x.name}.cumsum({d})"


def ordering(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim > 0 and 0 not in v.shape and v.is_number)
    if x is None:
        return None
    d, down = b.whole(0, x.ndim - 1), b.chance(0.5)
    kind, k = b.whole(0, 2), b.whole(1, min(x.shape[d], 9))
    if kind == 0:
        return f"{x.name}.sort({d}, {down})[0]", f"ref.sort({x.name}, {d}, {down})"
    if kind == 1:
        return f"{x.name}.argsort({d}, {down})", f"ref.argsort({x.name}, {d}, {down})"
    return f"{x.name}.topk({k}, {d}, {down})[0]", f"ref.first(ref.sort({x.name}, {d}, {down}), {d}, {k})"


def normalization(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim > 0 and v.is_float and 0 not in v.shape)
    if x is None:
        return None
    d = b.whole(0, x.ndim - 1)
    kind = b.whole(0, 3)
    if kind == 0:
        return f"{x.name}.softmax({d})", f"ref.softmax({x.name}, {d})"
    if kind == 1:
        return f"F.log_softmax({x.name}, {d})", f"ref.log_softmax({x.name}, {d})"
    if kind == 2:
        n = b.whole(1, x.ndim)
        return (
            f"F.layer_norm({x.name}, {x.shape[x.ndim - n :]}, eps=0.5)",
            f"ref.layer_norm({x.name}, {n}, eps=0.5)",
        )
    return f"F.rms_norm({x.name}, {x.shape[-1:]}, eps=0.5)", f"ref.rms_norm({x.name}, eps=0.5)"


# --- products ---


def product(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim > 1 and v.is_number and 0 not in v.shape)
    if x is None:
        return None

    def fits(v: Value) -> bool:
        same = v.ndim > 1 and v.is_number and x.dtype is v.dtype and x.shape[-1] == v.shape[-1]
        batches = zip(x.shape[-3::-1], v.shape[-3::-1], strict=False)
        return same and 0 not in v.shape and all(m == n or 1 in (m, n) for m, n in batches)

    y = b.pick(fits)
    if y is None:
        return None
    both = f"{x.name} @ {y.name}"
    return f"{both}.transpose(-1, -2)", f"{both}.swapaxes(-1, -2)"


def linear(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim > 0 and v.is_float and 0 not in v.shape)
    if x is None:
        return None
    n = b.small()
    w = b.input((n, x.shape[-1]), x.dtype)
    c = b.input((n,), x.dtype)
    return f"F.linear({x.name}, {w.name}, {c.name})", f"{x.name} @ {w.name}.T + {c.name}"


def convolution(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim == 3 and v.is_float and 0 not in v.shape)
    if x is None:
        return None
    k = b.whole(1, min(x.shape[-1], 4))
    w = b.input((b.small(9), x.shape[1], k), x.dtype)
    p = b.whole(0, k // 2)
    return (f"F.conv1d({x.name}, {w.name}, padding={p})", f"ref.conv({x.name}, {w.name}, padding={p})")


def pooling(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim in (3, 4) and v.is_float and min(v.shape) > 0 and min(v.shape[2:]) > 1)
    if x is None:
        return None
    n, k, s = x.ndim - 2, b.whole(1, 2), b.whole(1, 3)
    name = b.one(["max_pool", "avg_pool"])
    return f"F.{name}{n}d({x.name}, {k}, {s})", f"ref.{name}({x.name}, {k}, {s}, 0, {n})"


def attention(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim in (3, 4) and v.is_float and 0 not in v.shape and prod(v.shape) <= 4096)
    if x is None:
        return None
    keys = b.small(33)
    shape = (*x.shape[:-2], keys, x.shape[-1])
    k, v = (b.input(shape, x.dtype) for _ in "kv")
    causal = b.chance(0.4)
    call = f"({x.name}, {k.name}, {v.name}"
    return (f"F.scaled_dot_product_attention{call}, is_causal={causal})", f"ref.attention{call}, {causal})")


# --- indices ---


def gathering(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim > 0 and 0 not in v.shape)
    if x is None:
        return None
    d = b.whole(0, x.ndim - 1)
    n, m = x.shape[d], b.small(17)
    if b.chance(0.5):
        places = b.places((m,), n)
        if b.chance(0.3):
            key = (":, " * d) + places.name
            return f"{x.name}[{key}]", f"{x.name}[{key}]"
        return f"{x.name}.index_select({d}, {places.name})", f"np.take({x.name}, {places.name}, {d})"
    places = b.places((*x.shape[:d], m, *x.shape[d + 1 :]), n)
    return f"{x.name}.gather({d}, {places.name})", f"np.take_along_axis({x.name}, {places.name}, {d})"


def scattering(b: Builder) -> Texts:
    x = b.pick(lambda v: v.ndim > 0 and 0 not in v.shape and v.dtype in (dt.float32, dt.int32, dt.float16))
    if x is None:
        return None
    d, m = b.whole(0, x.ndim - 1), b.one((1, 3, 8, 9, 40))
    if b.chance(0.4):
        places = b.places((m,), x.shape[d])
        src = b.input((*x.shape[:d], m, *x.shape[d + 1 :]), x.dtype)
        call = f"({d}, {places.name}, {src.name})"
        return f"{x.name}.index_add{call}", f"ref.index_add({x.name}, {call[1:]}"
    last = x.ndim - 1
    m = min(m, x.shape[last])
    # Each place at most once: for scatter, equal indices have no defined order.
    places = b.places((*x.shape[:last], m), x.shape[last], "each")
    src = b.input((*x.shape[:last], m), x.dtype)
    name, join = b.one([("scatter", "assign"), ("scatter_add", "sum")])
    call = f"{last}, {places.name}, {src.name}"
    return f"{x.name}.{name}({call})", f"ref.scatter({x.name}, {call}, {join!r})"


def assignment(b: Builder) -> Texts:
    """A slice of a copy, or an input, gets another value."""
    x = b.pick(lambda v: v.ndim > 0 and 0 not in v.shape)
    if x is None:
        return None
    inputs = {i.name for i in b.inputs}
    names = {n for line in b.lines for n in line.uses}
    # An input that no line reads yet, so that the assignment changes no earlier line.
    state = next((v for v in b.values if v.name in inputs - names - {x.name} and v.shape == x.shape), None)
    if state is not None and of_alike(state, x) and state.is_float >= x.is_float and state.is_number:
        b.assign(state, x)
        return f"{state.name} + 1", f"{state.name} + 1"
    # np.s_ would be shorter, but a function that reads it is not recorded
    key = ", ".join(as_call(a_slice(b, n)) for n in x.shape)
    return f"{x.name}.slice_assign(({key},), 1)", f"ref.assign({x.name}, ({key},), 1)"


def as_call(text: str) -> str:
    """A slice in brackets as a call of `slice`."""
    bounds = [part or "None" for part in text.split(":")]
    return f"slice({', '.join(bounds)})"


def random(b: Builder) -> Texts:
    x = b.pick()
    if x is None or prod(x.shape) > 4096:
        return None
    shape = x.shape if b.chance(0.5) else (b.small(33), b.small(33))
    sizes = ", ".join(map(str, shape))
    return f"fb.rand({sizes or '()'}, device={b.values[0].name}.device)", f"stream.rand({sizes})"
