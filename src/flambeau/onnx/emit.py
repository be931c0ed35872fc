"""Emits ONNX nodes for the nodes of a traced graph: one function per op name."""

from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

from ..tensor import Tensor
from .convert import numpy_dtype
from .graph import CODES, OnnxError
from .trace import Reciprocal, SizeFormula, TracedGraph, TracedNode, constant_size
from .values import to_array

LEAST = -(1 << 62)  # the end of a reversed slice that includes the first element
EMITTERS: dict[str, Callable[..., str]] = {}
F = TypeVar("F", bound=Callable[..., str])


def emits(*names: str) -> Callable[[F], F]:
    """Declare the function for ops of these names. It takes the emitter, the node and the inputs' names."""

    def enter(f: F) -> F:
        EMITTERS.update(dict.fromkeys(names, f))
        return f

    return enter


class Emitter:
    """Collects the nodes and tensors of an ONNX graph."""

    def __init__(self, graph: TracedGraph, weights: dict[int, str]):
        # `taken` holds every name of the file: ONNX has one namespace for inputs, outputs, weights and
        # values.
        self.graph, self.weights = graph, weights  # names by the id of a weight's node
        self.nodes: list[Any] = []
        self.tensors: dict[str, Any] = {}
        self.names: dict[int, str] = {id(n): s.name for n, s in zip(graph.inputs, graph.specs)}
        self.cache: dict[Any, str] = {}  # names of sizes and constants that were emitted already
        self.taken = {s.name for s in graph.specs} | set(weights.values()) | set(graph.outputs)

    def fresh(self, stem: str) -> str:
        """Return an unused name."""
        k = len(self.taken)
        while f"{stem}_{k}" in self.taken:
            k += 1
        self.taken.add(f"{stem}_{k}")
        return f"{stem}_{k}"

    def add(self, op: str, *inputs: str, output: int = 0, **attributes: Any) -> str:
        """Return a node, and the name of one of its outputs."""
        from onnx import helper

        names = [self.fresh(op.lower()) for _ in range(output + 1)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[-1]

    def tensor(self, array: Any, stem: str = "constant") -> str:
        """Return an initializer; small equal ones are stored once."""
        # The name too: dtype.str does not identify the dtypes of ml_dtypes (bfloat16 is "<V2").
        key = (array.dtype.str, array.dtype.name, array.shape, array.tobytes()) if array.size <= 64 else None
        if key in self.cache:
            return self.cache[key]
        name = self.fresh(stem)
        self.tensors[name] = array
        if key:
            self.cache[key] = name
        return name

    def number(self, value: Any, dtype: str) -> str:
        """Return a 0-d tensor."""
        import numpy as np

        return self.tensor(np.array(value).astype(numpy_dtype(dtype)))

    def ints(self, *values: Any) -> str:
        """Return a list of integers, or of sizes, as int64s. [n]"""
        import numpy as np

        sizes = [v if isinstance(v, SizeFormula) else constant_size(v) for v in values]
        # Fixed sizes are an initializer. Others are computed at run time, one element each, and
        # concatenated.
        if not any(s.terms for s in sizes):
            return self.tensor(np.array([s.base for s in sizes], np.int64))
        key = tuple(sizes)
        if key not in self.cache:
            parts = [self.size(s) for s in sizes]
            self.cache[key] = self.add("Concat", *parts, axis=0) if len(parts) > 1 else parts[0]
        return self.cache[key]

    def size(self, s: SizeFormula) -> str:
        """Return a size as an int64. [1]"""
        import numpy as np

        if s in self.cache:
            return self.cache[s]
        # base + sum of factor * Shape(input)[dim], in int64 [1] tensors, as Concat and Reshape take them.
        total = self.tensor(np.array([s.base], np.int64)) if s.base or not s.terms else ""
        for symbol, factor in s.terms:
            k, dim = self.graph.symbols[symbol]
            n = self.add("Shape", self.graph.specs[k].name, start=dim, end=dim + 1)
            n = n if factor == 1 else self.add("Mul", n, self.tensor(np.array([factor], np.int64)))
            total = self.add("Add", total, n) if total else n
        self.cache[s] = total
        return total

    def run(self) -> list[str]:
        """Emit the nodes that the outputs need. Returns the outputs' names."""
        # Depth first with an explicit stack: a deep network would exceed Python's recursion limit.
        # `missing` collects all unknown ops, so that one error lists them; a dict keeps their order.
        missing: dict[str, None] = {}
        pending = list(reversed(self.graph.roots))
        while pending:
            n = pending[-1]
            needed = self._inputs_of(n, missing)
            waiting = [x for x in needed if id(x) not in self.names]
            if waiting:
                pending += reversed(waiting)
                continue
            pending.pop()
            if id(n) not in self.names:
                self.names[id(n)] = self._emit(n, needed, missing)
        if missing:
            rule = f"no ONNX operator is known for {', '.join(missing)}"
            raise OnnxError(f"export: {rule}: compute this part outside the model")
        return [self.names[id(n)] for n in self.graph.roots]

    def _inputs_of(self, n: TracedNode, missing: dict[str, None]) -> list[TracedNode]:
        if n.node.buffer is not None or id(n) in self.names:
            return []
        # A composite that has an ONNX operator (conv, softmax) reads its arguments, not its own expansion.
        return n.parents if self._is_known(n) and n.node.op.kind == "composite" else n.inputs

    def _is_known(self, n: TracedNode) -> bool:
        # A parent that the trace did not reach has no name in this graph: then the expansion is emitted.
        check = FITS.get(n.name)
        has_all_parents = len(n.parents) == len(n.node.parents)
        return (
            n.name in EMITTERS
            and (n.node.op.kind != "composite" or has_all_parents)
            and (check is None or check(n))
        )

    def _emit(self, n: TracedNode, needed: list[TracedNode], missing: dict[str, None]) -> str:
        if n.node.buffer is not None:
            return self._leaf(n)
        if self._is_known(n):
            return EMITTERS[n.name](self, n, *[self.names[id(x)] for x in needed])
        # Without an emitter the composite's value is that of its expansion, its only input.
        if n.node.op.kind == "composite":
            return self.names[id(n.inputs[0])]
        missing[n.name.lstrip("_")] = None
        return ""

    def _leaf(self, n: TracedNode) -> str:
        # A buffer is a parameter under its own name, or a constant that the model computed before the
        # trace.
        name = self.weights.get(id(n.node))
        array = to_array(Tensor(n.node))
        if name is None:
            return self.tensor(array)
        self.tensors[name] = array
        return name


# --- elementwise ---

SAME = """exp log sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf sigmoid neg abs sign
floor ceil round relu reciprocal mul add sub div pow where"""
DIRECT = {
    **{name: name.capitalize() for name in SAME.split()},
    **{"isnan": "IsNaN", "isinf": "IsInf", "maximum": "Max", "minimum": "Min", "eq": "Equal", "lt": "Less"},
    **{"le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"},
}
LOGIC = {  # of bools: (on bools, on integers)
    "bitwise_and": ("And", "BitwiseAnd"),
    "bitwise_or": ("Or", "BitwiseOr"),
    "bitwise_xor": ("Xor", "BitwiseXor"),
    "logical_and": ("And", ""),
    "logical_or": ("Or", ""),
    "logical_xor": ("Xor", ""),
}


def _direct(op: str) -> Callable[..., str]:
    def emit(e: Emitter, n: TracedNode, *xs: str) -> str:
        return e.add(op, *xs)

    return emit


for _name, _op in DIRECT.items():
    EMITTERS[_name] = _direct(_op)


@emits(*LOGIC)
def _logic(e: Emitter, n: TracedNode, a: str, b: str) -> str:
    on_bools, on_integers = LOGIC[n.name]
    if n.inputs[0].dtype.kind == "b" or not on_integers:
        return e.add(on_bools, _truth(e, n.inputs[0], a), _truth(e, n.inputs[1], b))
    return e.add(on_integers, a, b)


def _truth(e: Emitter, n: TracedNode, x: str) -> str:
    return x if n.dtype.kind == "b" else e.add("Cast", x, to=CODES["bool"])


@emits("bitwise_not")
def _bitwise_not(e: Emitter, n: TracedNode, x: str) -> str:
    return e.add("Not" if n.inputs[0].dtype.kind == "b" else "BitwiseNot", x)


@emits("logical_not")
def _not(e: Emitter, n: TracedNode, x: str) -> str:
    return e.add("Not", _truth(e, n.inputs[0], x))


@emits("ne")
def _unequal(e: Emitter, n: TracedNode, a: str, b: str) -> str:
    return e.add("Not", e.add("Equal", a, b))


@emits("isfinite")
def _is_finite(e: Emitter, n: TracedNode, x: str) -> str:
    return e.add("Not", e.add("Or", e.add("IsNaN", x), e.add("IsInf", x)))


@emits("mul", "maximum", "minimum")
def _product_or_extreme(e: Emitter, n: TracedNode, a: str, b: str) -> str:
    # ONNX's Mul, Max and Min do not accept bool; on bools they are And, Or and And.
    if n.dtype.kind == "b":
        return e.add("Or" if n.name == "maximum" else "And", a, b)
    return e.add(DIRECT[n.name], a, b)


def _as_number(e: Emitter, n: TracedNode, value: float) -> str:
    return e.number(value, n.dtype.name)


# ONNX lacks exp2, expm1, log1p, log2, log10 and erfc: these compositions are less accurate, expm1 and log1p
# near 0, erfc for large x.
UNARY: dict[str, Callable[[Emitter, TracedNode, str], str]] = {
    "rsqrt": lambda e, n, x: e.add("Reciprocal", e.add("Sqrt", x)),
    "square": lambda e, n, x: e.add("Mul", x, x),
    "exp2": lambda e, n, x: e.add("Pow", _as_number(e, n, 2.0), x),
    "expm1": lambda e, n, x: e.add("Sub", e.add("Exp", x), _as_number(e, n, 1.0)),
    "log1p": lambda e, n, x: e.add("Log", e.add("Add", x, _as_number(e, n, 1.0))),
    "log2": lambda e, n, x: e.add("Mul", e.add("Log", x), _as_number(e, n, 1.4426950408889634)),
    "log10": lambda e, n, x: e.add("Mul", e.add("Log", x), _as_number(e, n, 0.4342944819032518)),
    "erfc": lambda e, n, x: e.add("Sub", _as_number(e, n, 1.0), e.add("Erf", x)),
    "trunc": lambda e, n, x: e.add("Mul", e.add("Sign", x), e.add("Floor", e.add("Abs", x))),
    "cast": lambda e, n, x: e.add("Cast", x, to=CODES[n.attrs["to"].name]),
    "detach": lambda e, n, x: x,
    "permute": lambda e, n, x: e.add("Transpose", x, perm=_fixed_numbers(n.attrs["dims"])),
    "_softmax": lambda e, n, x: e.add("Softmax", x, axis=n.attrs["dim"].base),
    "_log_softmax": lambda e, n, x: e.add("LogSoftmax", x, axis=n.attrs["dim"].base),
}
BINARY: dict[str, Callable[[Emitter, TracedNode, str, str], str]] = {
    "hypot": lambda e, n, a, b: e.add("Sqrt", e.add("Add", e.add("Mul", a, a), e.add("Mul", b, b))),
    "fmod": lambda e, n, a, b: e.add("Mod", a, b, fmod=1),
}
EMITTERS.update(UNARY)
EMITTERS.update(BINARY)


@emits("_inside")
def _keep_inside(e: Emitter, n: TracedNode, x: str, *_: str) -> str:
    return x


@emits("_cat")
def _cat(e: Emitter, n: TracedNode, *xs: str) -> str:
    return e.add("Concat", *xs, axis=n.attrs["dim"].base)


@emits("remainder", "floor_divide")
def _floor_divide(e: Emitter, n: TracedNode, a: str, b: str) -> str:
    if n.dtype.is_int:
        # ONNX divides integers towards 0 and its Mod has the divisor's sign, as Python's: a - Mod is a
        # multiple of b, whose quotient is exact and thus the floor.
        rest = e.add("Mod", a, b)
        return rest if n.name == "remainder" else e.add("Div", e.add("Sub", a, rest), b)
    quotient = e.add("Floor", e.add("Div", a, b))
    return quotient if n.name == "floor_divide" else e.add("Sub", a, e.add("Mul", quotient, b))


@emits("constant")
def _constant(e: Emitter, n: TracedNode) -> str:
    value, dtype = n.scalar, n.dtype.name
    if isinstance(value, Reciprocal):
        return e.add("Reciprocal", e.add("Cast", _scalar(e, value.size), to=CODES[dtype]))
    if isinstance(value, SizeFormula):
        return e.add("Cast", _scalar(e, value), to=CODES[dtype])
    return e.number(value, dtype)


def _scalar(e: Emitter, size: SizeFormula) -> str:
    """Return a size as a 0-d tensor."""
    return e.add("Squeeze", e.size(size), e.ints(0))


@emits("iota")
def _iota(e: Emitter, n: TracedNode) -> str:
    import numpy as np

    # Sizes are int64 in ONNX, so Range is too: cast it to the dtype of the graph.
    (count,) = n.shape
    if not count.terms:
        return e.tensor(np.arange(count.base, dtype=np.int32))
    places = e.add("Range", e.number(0, "int64"), _scalar(e, count), e.number(1, "int64"))
    return e.add("Cast", places, to=CODES[n.dtype.name])


# --- shapes ---


def _fixed_numbers(values: Any) -> list[int]:
    """Numbers of an attribute, which must not depend on dynamic sizes."""
    if any(v.terms for v in values):
        raise OnnxError("export: an attribute depends on a size: leave that size out of dynamic=")
    return [v.base for v in values]


@emits("reshape")
def _reshape(e: Emitter, n: TracedNode, x: str) -> str:
    # One dynamic size can be -1, which the runtime infers: no Shape nodes are needed for it.
    sizes = list(n.shape)
    free = [d for d, s in enumerate(sizes) if s.terms]
    if len(free) == 1 and all(s.base for s in sizes if not s.terms):
        sizes[free[0]] = constant_size(-1)
    # In ONNX a 0 copies the input's size; allowzero=1 (opset 14) makes it an empty dim, but forbids -1.
    return e.add("Reshape", x, e.ints(*sizes), allowzero=0 if all(s.base or s.terms for s in sizes) else 1)


@emits("expand")
def _expand(e: Emitter, n: TracedNode, x: str) -> str:
    return e.add("Expand", x, e.ints(*n.shape))


@emits("_slice")
def _slice(e: Emitter, n: TracedNode, x: str) -> str:
    starts, steps, shape = (n.attrs[k] for k in ("starts", "steps", "shape"))
    # Dims that are read in full need no entry: Slice lists only the axes that it cuts.
    dims = [
        d
        for d in range(len(shape))
        if (starts[d], steps[d].base, shape[d]) != (constant_size(0), 1, n.inputs[0].shape[d])
    ]
    if not dims:
        # Checks indices against a size, which Gather and Scatter do themselves.
        return x
    ends = [_end(starts[d], steps[d].base, shape[d]) for d in dims]
    arguments = [starts[d] for d in dims], ends, dims, _fixed_numbers([steps[d] for d in dims])
    return e.add("Slice", x, *[e.ints(*values) for values in arguments])


def _end(start: SizeFormula, step: int, count: SizeFormula) -> SizeFormula:
    """Return the end of a slice: after its last element, or before the first."""
    # start + count * step, a formula: the sizes by name are added with their factors.
    terms = dict(start.terms)
    for name, factor in count.terms:
        terms[name] = terms.get(name, 0) + factor * step
    end = SizeFormula(start.base + count.base * step, tuple((k, v) for k, v in terms.items() if v))
    return constant_size(LEAST) if step < 0 and not end.terms and end.base < 0 else end


@emits("_pad")
def _pad(e: Emitter, n: TracedNode, x: str) -> str:
    before, after = n.attrs["before"], n.attrs["after"]
    # Negative counts crop. A dynamic size counts as positive here; cropping by one has no fixed form.
    signs = [s.base if not s.terms else 1 for s in (*before, *after)]
    if all(v >= 0 for v in signs):
        return _emit_pad(e, n, x, before, after)
    if any(s.terms for s in (*before, *after)):
        raise OnnxError(
            "export: pad: it crops by a number that depends on a size: leave that size out of dynamic="
        )
    out = _emit_pad(e, n, x, *[[constant_size(max(0, s.base)) for s in side] for side in (before, after)])
    starts = [max(0, -s.base) for s in before]
    ends = [-max(0, -s.base) or 1 << 62 for s in after]
    return e.add("Slice", out, e.ints(*starts), e.ints(*ends))


def _emit_pad(e: Emitter, n: TracedNode, x: str, before: Any, after: Any) -> str:
    if all(s == constant_size(0) for s in (*before, *after)):
        return x
    if n.dtype.kind != "b":
        return e.add("Pad", x, e.ints(*before, *after))
    wide = e.add("Pad", e.add("Cast", x, to=CODES["int32"]), e.ints(*before, *after))
    return e.add("Cast", wide, to=CODES["bool"])


# --- reductions, products, windows ---

REDUCED = {"_sum": "ReduceSum", "_prod": "ReduceProd", "_max": "ReduceMax", "_min": "ReduceMin"}


@emits(*REDUCED)
def _reduce(e: Emitter, n: TracedNode, x: str) -> str:
    return e.add(REDUCED[n.name], x, e.ints(*n.attrs["dims"]), keepdims=1)


@emits("_contract")
def _contract(e: Emitter, n: TracedNode, a: str, b: str) -> str:
    """Emit MatMul if the contraction is one, else Einsum over the dims that are not 1."""
    plain = _matmul(e, n)
    if plain:
        return plain
    # Both operands have `rank` dims; the last nk of them are summed. A dim of size 1 broadcasts: leave it
    # out of that operand's term, since dims with one letter must have equal sizes.
    nk, rank = n.attrs["nk"].base, len(n.inputs[0].shape)
    letters = "abcdefghijklmnopqrstuvwxyz"[:rank]
    both = [p if p != constant_size(1) else q for p, q in zip(n.inputs[0].shape, n.inputs[1].shape)]
    terms: list[str] = []
    operands: list[str] = []
    for x, name in zip(n.inputs, (a, b)):
        result_dims = [
            d for d in range(rank) if x.shape[d] != constant_size(1) or both[d] == constant_size(1)
        ]
        terms.append("".join(letters[d] for d in result_dims))
        shape = [x.shape[d] for d in result_dims]
        operands.append(name if len(result_dims) == rank else _emit_reshape(e, name, shape))
    return e.add("Einsum", *operands, equation=f"{','.join(terms)}->{letters[: rank - nk]}")


def _emit_reshape(e: Emitter, x: str, shape: list[SizeFormula]) -> str:
    # -1 for a single dynamic size, as in `_reshape`.
    free = [d for d, s in enumerate(shape) if s.terms]
    if len(free) == 1:
        shape = [constant_size(-1) if d == free[0] else s for d, s in enumerate(shape)]
    return e.add("Reshape", x, e.ints(*shape))


def _matmul(e: Emitter, n: TracedNode) -> str:
    """Emit MatMul of the tensors under the operands' views; "" if it is not a matrix product."""
    a, b = n.inputs
    if n.node.attrs["label"] != "matmul" or a.name != "reshape" or b.name != "reshape":
        return ""
    a, b = a.inputs[0], b.inputs[0]
    if b.name != "permute" or len(a.shape) < 2 or len(b.shape) < 2:
        return ""
    # ops/contract writes a @ b as a product of a with b transposed: MatMul reads b before that permute.
    dims = [d.base for d in b.attrs["dims"]]
    swapped = [*range(len(dims) - 2), len(dims) - 1, len(dims) - 2]
    fits = a.shape == tuple(s for s in n.inputs[0].shape[-len(a.shape) - 1 : -2]) + n.inputs[0].shape[-1:]
    if dims != swapped or not fits or max(len(a.shape), len(b.shape)) != len(n.shape):
        return ""
    return e.add("MatMul", e.names[id(a)], e.names[id(b.inputs[0])])


def _is_image(n: TracedNode) -> bool:
    """Whether windows slide over all dims but the first two."""
    return len(n.shape) == len(n.node.attrs["spec"]) + 2


def _windows(n: TracedNode) -> dict[str, Any]:
    spec = n.node.attrs["spec"]
    return {
        "kernel_shape": [w.kernel for w in spec],
        "strides": [w.stride for w in spec],
        "pads": [w.before for w in spec] + [w.after for w in spec],
        "dilations": [w.dilation for w in spec],
    }


FITS: dict[str, Callable[[TracedNode], bool]] = {
    "max_pool": _is_image,
    "window_sum": lambda n: _is_image(n) and all(w.dilation == 1 for w in n.node.attrs["spec"]),
    # queries that begin in the middle of a cache have no ONNX form
    "_attention": lambda n: not n.node.attrs["placed"],
}


def _windows_of(n: TracedNode) -> dict[str, Any]:
    a = n.node.attrs
    return {
        "kernel_shape": _fixed_numbers(n.parents[1].shape[2:]),
        "strides": a["stride"],
        "dilations": a["dilation"],
        "group": a["groups"],
        # ONNX has all begins, then all ends; padding is symmetric here.
        "pads": [*a["padding"], *a["padding"]],
    }


@emits("conv")
def _conv(e: Emitter, n: TracedNode, x: str, w: str) -> str:
    return e.add("Conv", x, w, **_windows_of(n))


@emits("conv_transpose")
def _conv_transpose(e: Emitter, n: TracedNode, x: str, w: str) -> str:
    windows = _windows_of(n)
    names = ("kernel_shape", "strides", "pads", "dilations")
    each = zip(n.attrs["size"], n.parents[0].shape[2:], *(windows[name] for name in names), strict=False)
    extra = [_output_padding(*of_dim) for of_dim in each]
    return e.add("ConvTranspose", x, w, output_padding=extra, **windows)


def _output_padding(size: SizeFormula, n: SizeFormula, k: int, s: int, p: int, d: int) -> int:
    """Return the elements of a transposed convolution's dim beyond those that its n windows need."""
    # n windows cover (n - 1) s - 2p + d (k - 1) + 1 elements. The rest must not depend on a dynamic size.
    if size.terms != tuple([(name, factor * s) for name, factor in n.terms]):
        raise OnnxError("export: an attribute depends on a size: leave that out of dynamic=")
    return size.base - ((n.base - 1) * s - 2 * p + d * (k - 1) + 1)


@emits("max_pool")
def _max_pool(e: Emitter, n: TracedNode, x: str) -> str:
    return e.add("MaxPool", x, **_windows(n))


@emits("window_sum")
def _window_sum(e: Emitter, n: TracedNode, x: str) -> str:
    window = _windows(n)
    window.pop("dilations")
    # ONNX has no sum pool: the mean with the padding included, times the constant number of taps.
    mean = e.add("AveragePool", x, count_include_pad=1, **window)
    return e.add("Mul", mean, e.number(prod(window["kernel_shape"]), n.dtype.name))


@emits("_index_select")
def _index_select(e: Emitter, n: TracedNode, x: str, index: str) -> str:
    return e.add("Gather", x, index, axis=n.attrs["dim"].base)


@emits("_gather")
def _gather(e: Emitter, n: TracedNode, x: str, index: str) -> str:
    dim, (input_shape, index_shape) = n.attrs["dim"].base, [p.shape for p in n.inputs]
    # GatherElements requires equal sizes beside the axis; torch.gather reads the leading part of x.
    cut = [d for d in range(len(index_shape)) if d != dim and input_shape[d] != index_shape[d]]
    if cut:
        x = e.add("Slice", x, e.ints(*[0] * len(cut)), e.ints(*[index_shape[d] for d in cut]), e.ints(*cut))
    return e.add("GatherElements", x, index, axis=dim)


@emits("_cumsum")
def _cumsum(e: Emitter, n: TracedNode, x: str) -> str:
    return e.add("CumSum", x, e.number(_dim(n), "int64"))


@emits("_argsort")
def _argsort(e: Emitter, n: TracedNode, x: str) -> str:
    # TopK of all elements is ONNX's only sort. Its second output has the indices, as int64.
    largest, count = n.node.attrs["descending"], e.ints(n.shape[-1])
    places = e.add("TopK", x, count, output=1, axis=-1, largest=int(largest), sorted=1)
    return e.add("Cast", places, to=CODES[n.dtype.name])


def _dim(n: TracedNode) -> int:
    return n.attrs["dim"].base


@emits("_attention")
def _attention(e: Emitter, n: TracedNode, q: str, k: str, v: str, *bias: str) -> str:
    """Emit softmax(q k' scale + bias) v of flattened heads, several of which may share keys."""
    a, (queries, keys, values) = n.node.attrs, [p.shape for p in n.inputs[:3]]
    # [b * heads, n, d]. Grouped queries: heads that share keys become rows of one product, so that keys are
    # not repeated.
    shared = queries[0] != keys[0]
    rows = [keys[0], constant_size(-1), queries[2]] if shared else []
    q = e.add("Reshape", q, e.ints(*rows)) if shared else q
    s = e.add("MatMul", q, e.add("Transpose", k, perm=[0, 2, 1]))
    # scores [b * heads, n, m]; softcap * tanh(s / softcap) bounds them (Gemma 2)
    s = e.add("Mul", s, e.number(a["scale"], n.dtype.name))
    s = e.add("Reshape", s, e.ints(queries[0], queries[1], keys[1])) if shared else s
    if a["softcap"] is not None:
        cap = e.number(a["softcap"], n.dtype.name)
        s = e.add("Mul", e.add("Tanh", e.add("Div", s, cap)), cap)
    if bias:
        s = _add_bias(e, n, s, bias[0])
    if a["causal"]:
        s = e.add("Where", _causal(e, queries[1], keys[1]), s, e.number(float("-inf"), n.dtype.name))
    p = e.add("Softmax", s, axis=-1)
    p = e.add("Reshape", p, e.ints(keys[0], constant_size(-1), keys[1])) if shared else p
    y = e.add("MatMul", p, v)
    return e.add("Reshape", y, e.ints(*n.shape[:2], values[2])) if shared else y


def _add_bias(e: Emitter, n: TracedNode, s: str, bias: str) -> str:
    queries, keys = n.inputs[0].shape, n.inputs[1].shape
    # The bias broadcasts over [b, heads, n, m]: split the heads for the sum, and flatten them again.
    split = e.add("Reshape", s, e.ints(-1, n.node.attrs["heads"], queries[1], keys[1]))
    if n.inputs[3].dtype.kind == "b":
        split = e.add("Where", bias, split, e.number(float("-inf"), n.dtype.name))
    else:
        split = e.add("Add", split, bias)
    return e.add("Reshape", split, e.ints(-1, queries[1], keys[1]))


def _causal(e: Emitter, rows: SizeFormula, columns: SizeFormula) -> str:
    """Emit the causal mask. [rows, columns]"""
    # column <= row: key j is visible to query i if j <= i.
    positions = [
        e.add("Range", e.number(0, "int64"), _scalar(e, n), e.number(1, "int64")) for n in (rows, columns)
    ]
    return e.add("LessOrEqual", positions[1], e.add("Unsqueeze", positions[0], e.ints(1)))
