"""Op, an entry of the op table: its rules, its gradient, its reference; calling one adds a node to the
graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from inspect import Parameter, Signature
from types import MethodType
from typing import TYPE_CHECKING, Any, NamedTuple

from . import dtype as dt
from . import events
from . import node as graph
from .alias import link
from .autocast import NONE, call_under_rule, lower, overridden, plain
from .modes import is_grad_enabled
from .node import Node, describe
from .out import IN_PLACE, NOWHERE, in_place, into, place_of_inplace
from .shape import broadcast
from .sizes import with_integers
from .spelling import explain, misgiven, resolve_names

if TYPE_CHECKING:
    from .rules import Array, Gradients, LaunchRule
    from .shape import Shape

OPS: dict[str, Op] = {}
COMPOSED: dict[str, Callable[..., Any]] = {}


class Written(NamedTuple):
    """An additional result of a launch: its name, number of elements, dtype, and the number of elements per
    write (1, 2 or 4)."""

    name: str
    elements: int
    dtype: dt.DType
    width: int = 1


@dataclass(frozen=True)
class Launch:
    """One dispatch of an opaque op.

    template: a file of wgsl/ that extends launch.wgsl
    reads: inputs of the op by position, results of earlier launches by name; in0, in1, ... in row-major order
    groups: workgroups, as one number or (x, y, z)
    sizes: quantities, p.name in the template (ints are u32, floats f32)
    options: choices that change the structure of the shader
    writes: the name of an intermediate result, "" for the op's result
    elements: the number of elements of the result
    dtype: its element type
    workgroup: the workgroup's threads along x, y and z
    traced: an input that is computed where it is read instead of stored: value_at(i)
    wide: positions in reads that are bound as vec4s
    width: the result is an array of scalars (1), vec2 or vec4, for writer and readers
    fours: the traced input is read as values_at(i), four neighbours from a multiple of 4 on
    also: further results, out1, out2, ...; later launches read them by name, the graph by output ops
    turns: the largest number of loop iterations of a thread, if it grows with the sizes (see `limits.turns`)
    flops: the operations of all threads, for profiles; by default one for each element of the op's inputs
    instead: (input, launch): if the input is no longer needed, this launch overwrites it with the result
    beside: the template reads no builtin of the entry point but `wid` and `lid`, so a bundle may contain it
    """

    template: str
    reads: tuple[int | str, ...]
    groups: int | tuple[int, int, int]
    sizes: Mapping[str, int | float] = field(default_factory=dict[str, int | float])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    writes: str = ""
    elements: int = 0
    dtype: dt.DType | None = None
    workgroup: tuple[int, int, int] = (64, 1, 1)
    traced: int | None = None
    wide: tuple[int, ...] = ()
    width: int = 1
    fours: bool = False
    also: tuple[Written, ...] = ()
    turns: int = 0
    flops: int = 0
    instead: tuple[int, Launch] | None = None
    beside: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Op:
    """One operation, declared once.

    kind: how the planner treats it (elementwise, movement, source, reduce, contract, fold, gather, decode,
    leaf, opaque, output, composite). shape, dtype: rules on the inputs' shapes or dtypes and the attributes;
    a rule raises ValueError or TypeError with the bare reason. grad: (g, y, *inputs, **attrs) -> a gradient
    or None for each input, in Tensor ops. xp: the reference, (xp, *arrays, **attrs) -> array, of the CPU
    backend. cost: relative cost of one element, which decides what is recomputed rather than stored.
    order: for a movement op that keeps all elements of its input: "same" if they keep their order,
    "repeated" if an element may also occur several times, "turned" if dims change places.
    holomorphic: whether the gradient of complex inputs is the conjugate of that of real ones; False if the
    rule gives the derivatives with respect to the real and the imaginary part.
    launch: of an opaque op, (limits, *input nodes, **attrs) -> its launches; the last writes the result.
    part: of an op of kind output, its name in the opaque op's launches; `output_of` adds one.
    reads_packed: of an opaque op, whether its templates read packed elements of 1 and 2 bytes.
    packs: of an opaque op, whether its kernels read and write packed elements.
    dtypes: the kinds (of "fiubc": floats, signed, unsigned, bools, complex) that the first input (of an
    elementwise op: the promoted dtype) may have, each in all its sizes; "" if undeclared, which excludes
    complex.
    """

    kind: str
    xp: Callable[..., Array]
    grad: Callable[..., Gradients] | None = None
    shape: Callable[..., Shape] = broadcast
    dtype: Callable[..., dt.DType] = dt.promote
    doc: str = ""
    cost: int = 1
    order: str = ""
    # the signature form: converts arguments to (inputs, attrs), or returns another op's result
    prepare: Callable[..., Any] | None = None
    definition: Callable[..., Any] | None = None  # the text of help() for an op without a Python signature
    # elementwise: the dtype(s) that inputs are cast to first
    operands: Callable[..., dt.DType | tuple[dt.DType, ...]] | None = None
    launch: LaunchRule | None = None
    part: str = ""
    reads_packed: bool = False
    packs: bool = False
    dtypes: str = ""
    holomorphic: bool = True
    monoid: str = ""  # of a reduction, how elements are joined: a name of wgsl/lib/monoids.wgsl
    refusal: str = ""  # the error for other kinds, instead of that in `TAKES`
    operand_names: tuple[str, ...] = ("input", "other")  # PyTorch's, of an op without a signature form
    last: int = NOWHERE  # the position of `inplace`, if the op takes it
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        if not self.name:  # a second name (__add__ = add) does not rename
            self.enter(name)

    def enter(self, name: str) -> Op:
        """Add the op to the table under its name; returns the op."""
        OPS[name] = self
        namespace: dict[str, Any] = {
            "name": name,
            "__name__": name,
            "__qualname__": name,
            "__doc__": self.doc,
        }
        definition = self.prepare or self.definition
        if definition is not None:
            namespace["last"] = place_of_inplace(definition)
            namespace["__module__"] = definition.__module__
            namespace["__wrapped__"] = getattr(definition, "__wrapped__", definition)
        else:
            places = [Parameter(n, Parameter.POSITIONAL_OR_KEYWORD) for n in self.operand_names]
            namespace["__signature__"] = Signature(places)
        # not the dict of the dataclass, which shares its keys: attributes of such a dict are not cached
        object.__setattr__(self, "__dict__", {**vars(self), **namespace})
        return self

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __get__(self, tensor: Any, owner: type | None = None) -> Any:
        if tensor is None:
            return self
        return MethodType(self, tensor)

    def __call__(self, *args: Any, **kw: Any) -> Any:
        if lower.get() is not plain.lower:
            return call_under_rule(self._traced_call, self.name, args, kw)
        if events.listener is None:
            return self._call(args, kw)
        return self._traced_call(args, kw)

    def _traced_call(self, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
        with events.stage("graph"):
            return self._call(args, kw)

    def _call(self, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
        try:
            if len(args) > self.last:
                args, kw = args[: self.last], {**kw, "inplace": args[self.last]}
            if kw:
                if "out" in kw and self.kind != "movement":
                    return into(self, args, kw)
                if "inplace" in kw and self.name in IN_PLACE:
                    return in_place(self, args, kw)
                args, kw = resolve_names(self.prepare, self.operand_names, args, kw)
            if self.prepare is None:
                prepared: Any = args, kw
            else:
                args, kw = with_integers(self.prepare, args, kw)
                prepared = self.prepare(*args, **kw)
            if isinstance(prepared, Tensor):
                return prepared if prepared is not args[0] else Tensor(args[0].node)
            inputs, attrs = prepared
            nodes = tuple(lift(inputs))
            check_kind(self, nodes)
            if self.kind == "movement":
                return self._view(inputs[0], nodes, attrs)
            return Tensor(apply(self, nodes if self.operands is None else cast_operands(self, nodes), attrs))
        except (ValueError, TypeError, IndexError) as e:
            return overridden(explain(e, self.name, args, kw), self.name, args, kw)
        except AttributeError as e:
            return overridden(misgiven(e, self.name, args, kw), self.name, args, kw)

    def _view(self, base: Any, nodes: tuple[Node, ...], attrs: dict[str, Any]) -> Any:
        """A view; it shares the node if nothing changes."""
        same = attrs.get("shape") == nodes[0].shape and self.name in ("reshape", "expand")
        view = Tensor(nodes[0] if same else apply(self, nodes, attrs))
        if self.name != "_pad":
            link(base, view, self, attrs)
        return view


class Family:
    """The properties, operators and primitives of a family of ops; Tensor inherits from all families."""


def lift(inputs: Sequence[Any]) -> list[Node]:
    """The nodes of tensors and Python scalars; a scalar takes its dtype from the tensors beside it."""
    tensors: list[Node] = [x.node for x in inputs if isinstance(x, Tensor)]
    if len(tensors) == len(inputs):
        return tensors
    dtype_of_tensors = tensors[0].dtype if len(tensors) == 1 else result_of(tensors) or dt.bool_
    try:
        return [x.node if isinstance(x, Tensor) else constant(x, dtype_of_tensors) for x in inputs]
    except TypeError:
        if not tensors or not any(map(_is_array, inputs)):
            raise
    first = next(x for x in inputs if isinstance(x, Tensor))
    return lift([tensor_beside(first, x) if _is_array(x) else x for x in inputs])


def tensor_beside(x: Any, other: Any) -> Any:
    """Convert another library's array to a tensor of its dtype on x's device; TypeError for other values."""
    if isinstance(other, Tensor):
        return other
    if not _is_array(other):
        raise TypeError(f"{describe(other)} is not a tensor or an array: wrap it in tensor(...)")
    return x.new_tensor(other, dtype=other.dtype)


def _is_array(x: Any) -> bool:
    """Whether a value is another library's array, which is converted if it is used with tensors."""
    return hasattr(x, "__array__") and not isinstance(x, Tensor)


def result_of(nodes: Sequence[Node]) -> dt.DType | None:
    """The dtype that operands promote to: that of operands with dims, then of 0-d operands of a higher
    category."""
    dims, zeros = [n.dtype for n in nodes if n.shape], [n.dtype for n in nodes if not n.shape]
    return dt.combine(dt.promote(*dims) if dims else None, dt.promote(*zeros) if zeros else None)


def operand_dtypes(nodes: Sequence[Node]) -> list[dt.DType]:
    """The operands' dtypes for promotion: a 0-d operand counts only if its category is higher than that of
    the operands with dims."""
    dtypes = [n.dtype for n in nodes]
    same = dtypes.count(dtypes[0]) == len(dtypes)
    if same or not (dims := {n.dtype for n in nodes if n.shape}) or all([n.shape for n in nodes]):
        return dtypes
    common = dt.promote(*dims)
    return [n.dtype if n.shape else dt.beside(n.dtype, common) for n in nodes]


TAKES = {  # the kinds that an op is declared for -> the error for others
    "f": "takes floats: cast with .float()",
    "iub": "takes integers or bools: cast with .int()",
    "iu": "takes integers: cast with .int()",
    "fiu": "takes numbers, not bools: cast with .int()",
    "fiuc": "takes numbers, not bools: cast with .int()",
    "b": "takes bools: cast with .bool()",
    "fc": "takes floats: cast with .float()",
}
ALL = ("", "fiub", "fiubc")
NOT_COMPLEX = "takes no complex numbers: take .real, .imag or .abs()"
UNORDERED = "complex numbers have no order: compare .real, .imag or .abs()"


def check_kind(op: Op, nodes: Sequence[Node]) -> None:
    """TypeError if an op is not declared for the dtype of its inputs."""
    if op.dtypes in ALL:
        return
    dtype = dt.promote(*operand_dtypes(nodes)) if op.kind == "elementwise" else nodes[0].dtype
    if dtype.kind not in op.dtypes:
        check_complex(op, [dtype])
        raise TypeError(op.refusal or TAKES[op.dtypes])


def check_complex(op: Op, dtypes: Iterable[dt.DType]) -> None:
    """TypeError if an input is complex and the op is not declared for complex numbers."""
    if any(d.is_complex for d in dtypes) and "c" not in op.dtypes:
        raise TypeError(op.refusal or (UNORDERED if op.monoid in ("max", "min") else NOT_COMPLEX))


# The elementwise ops that 8-bit floats support, as in PyTorch; of the other ops, those that move elements.
OF_STORAGE = {"cast", "where", "eq", "ne", "isnan", "abs", "mul"}


def check_storage(op: Op, dtypes: Iterable[dt.DType]) -> None:
    """TypeError if an input is an 8-bit float, which the op does not take."""
    for d in dtypes:
        if d.is_storage and op.name not in OF_STORAGE:
            raise TypeError(f"{d.name} only stores values: cast it with .float()")


def only_real(*tensors: Any) -> None:
    """TypeError if a tensor is complex: the op's casts would drop its imaginary part."""
    if any(t is not None and t.dtype.is_complex for t in tensors):
        raise TypeError(NOT_COMPLEX)


def check_held(dtype: dt.DType, device: Any) -> None:
    """TypeError if a GPU can't hold a dtype."""
    if not dtype.on_gpu and device.kind == "gpu":
        use = "complex64 with .to(complex64)" if dtype.is_complex else "float32 with .float()"
        raise TypeError(
            f"{dtype.name} is not on GPUs: WGSL has no floats of 64 bits: use {use} or device='cpu'"
        )


def cast_operands(op: Op, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Cast the inputs of an elementwise op to the dtypes that it computes in."""
    # the cache is valid for the default dtype float32
    is_default = plain.lower is NONE or dt.get_default_dtype() is dt.float32
    rule = _compute_dtypes if is_default else _compute_dtypes.__wrapped__
    target_dtypes = rule(op, *operand_dtypes(nodes))
    for n, w in zip(nodes, target_dtypes, strict=True):
        if n.dtype is not w:
            return tuple([_cast(*pair) for pair in zip(nodes, target_dtypes, strict=True)])
    return nodes


@cache
def _compute_dtypes(op: Op, *dtypes: dt.DType) -> tuple[dt.DType, ...]:
    """The dtypes that an op's operands are cast to; TypeError for a wrong number of operands."""
    names = op.operand_names
    if op.prepare is None and len(dtypes) != len(names):
        raise TypeError(f"takes {' and '.join(names)}: got {len(dtypes)}: check the arguments")
    check_complex(op, dtypes)
    check_storage(op, dtypes)
    target_dtypes = op.operands(*dtypes)  # type: ignore[misc]
    return target_dtypes if isinstance(target_dtypes, tuple) else (target_dtypes,) * len(dtypes)


dt.CHANGED.append(_compute_dtypes.cache_clear)


def _cast(node: Node, to: dt.DType) -> Node:
    if node.dtype is to:
        return node
    if node.op.name == "constant" and (to.is_float or node.dtype.is_complex):
        return Node(node.op, (), {}, (), to, None, node.scalars)
    return apply(OPS["cast"], (node,), {"to": to})


SIZES = (8, 16, 31, 64)  # bits
NUMBERS = int, float, complex


def constant(value: Any, beside: dt.DType = dt.bool_, dtype: dt.DType | None = None) -> Node:
    """A 0-d node for a host number (or HostScalar). It stays a quantity and belongs to every device. It takes
    the dtype `beside` unless the number's category is higher."""
    if type(value) is float and beside.is_float and dtype is None:  # fast path of most numbers
        return Node(OPS["constant"], (), {}, (), beside, None, (value,))
    plain = value if type(value) is float else getattr(value, "held", value)
    if not isinstance(plain, NUMBERS):
        raise TypeError(f"{describe(value)} is not a tensor or a number: wrap it in tensor(...)")
    scalar_dtype = dt.dtype_of_scalar(plain)
    if dtype is not None:
        _check_fits(plain, dtype)
        if isinstance(plain, complex) and not dtype.is_complex:
            value = bool(plain) if dtype is dt.bool_ else plain.real
    dtype = dtype or (beside if beside.category >= scalar_dtype.category else scalar_dtype)
    if dtype.is_complex and not scalar_dtype.is_complex:  # keeps the knowledge that the number is real
        return _cast(constant(value, dtype=dtype.real), dtype)
    attrs = _bits_of(value) if dtype.is_pair and type(value) is int else {}
    return Node(OPS["constant"], (), attrs, (), dtype, None, (value,))


def _check_fits(number: Any, dtype: dt.DType) -> None:
    """ValueError for a complex number as a real one, and for infinity or NaN as an integer."""
    if isinstance(number, complex):
        if number.imag and not dtype.is_complex and dtype is not dt.bool_:
            raise ValueError(f"{dtype.name} has no {number}: use a complex dtype, or its .real")
    elif dtype.kind in "iu" and number - number != 0:
        raise ValueError(f"{dtype.name} has no {number}: use a dtype of floats")


def _bits_of(number: int) -> dict[str, int]:
    """The rough number of bits of an integer: the planner computes small ones in 32 bits."""
    return {"bits": next(n for n in SIZES if number.bit_length() <= n)}


# Computes the inputs of a node that is too deep; set by run.py. A sum that continues from step to step and is
# not read would keep the graphs of all steps. A training step is some 500 nodes deep.
run_deep: Any = None


def apply(
    op: Op, inputs: tuple[Node, ...], attrs: dict[str, Any], scalars: tuple[Any, ...] = (), device: Any = None
) -> Node:
    """Add one node: check devices, determine shape, dtype and whether gradients flow."""
    dtypes = [n.dtype for n in inputs]
    packs = op.packs or op.kind in TAKES_PACKED
    if not packs and any([d.is_special for d in dtypes]):
        check_complex(op, dtypes)
        check_storage(op, dtypes)
        if not op.reads_packed and any([d.is_packed for d in dtypes]):
            return _apply_widened(op, inputs, attrs, scalars, device)
    shape = op.shape(*[n.shape for n in inputs], **attrs)
    dtype = op.dtype(*dtypes, **attrs)
    requires_grad, depth = False, graph.fresh
    for n in inputs:
        requires_grad = requires_grad or n.requires_grad
        if n.depth > depth and n.buffer is None:
            depth = n.depth
        if n.device is not None and n.device is not device:
            if device is not None:
                return _apply_beside_numbers(op, inputs, attrs, scalars)
            device = n.device
    computed = dtype if packs else dtype.wide
    node = Node(op, inputs, attrs, shape, computed, device, scalars)
    if inputs:
        node.depth = depth + 1
        if depth > graph.deep:
            run_deep(node)
    node.requires_grad = requires_grad and dtype.has_gradients and is_grad_enabled() and op.grad is not None
    return node if computed is dtype else _cast(node, dtype)


def _apply_beside_numbers(
    op: Op, inputs: tuple[Node, ...], attrs: dict[str, Any], scalars: tuple[Any, ...]
) -> Node:
    """`apply` for inputs of several devices: elementwise ops take 0-d tensors of the CPU beside others, as in
    PyTorch. ValueError for other ops and tensors."""
    devices = {n.device: None for n in inputs if n.device is not None and not _is_host_number(n)}
    if op.kind != "elementwise" or len(devices) != 1:
        first, second = list({n.device: None for n in inputs if n.device is not None})[:2]
        raise ValueError(f"devices differ: {first} and {second}: move one with .to(...)")
    device = next(iter(devices))
    return apply(op, tuple([on_device(Tensor(n), device).node for n in inputs]), attrs, scalars)


def _is_host_number(n: Node) -> bool:
    return n.device is not None and n.device.kind == "cpu" and not n.shape


def on_device(x: Any, device: Any) -> Any:
    """A tensor of the CPU on another device; others as they are."""
    own = x.node.device
    return x.to(device) if own is not device and own is not None and own.kind == "cpu" else x


def make_view(x: Any, name: str, **attrs: Any) -> Any:
    """`x.reshape(...)` and the like without checks, which take half of a call: the attributes must be
    valid."""
    return Tensor(apply(OPS[name], (x.node,), attrs))


# The kinds that read and write packed elements. All others (sums, scans, sorts, ...) compute in 4 bytes: the
# kernels around them widen their inputs and narrow their results.
TAKES_PACKED = {
    *("elementwise", "movement", "decode", "source", "gather", "leaf", "composite", "contract", "output")
}


def _apply_widened(
    op: Op, inputs: tuple[Node, ...], attrs: dict[str, Any], scalars: tuple[Any, ...], device: Any
) -> Node:
    """`apply` for an op that computes in 4 bytes: widen the inputs, and narrow the result to the dtype of its
    rule."""
    result_dtype = op.dtype(*(n.dtype for n in inputs), **attrs)
    return _cast(
        apply(op, tuple(_cast(n, n.dtype.wide) for n in inputs), attrs, scalars, device), result_dtype
    )


def output_of(op: Op, result: Any) -> Any:
    """A further result of an opaque op: `result` is its first result, `op` an op of kind output.

    The rules and reference of `op` take the opaque op's result, then its inputs and attributes.
    """
    node = result.node
    while node.op.kind == "composite" or node.op.name == "cast":
        node = node.inputs[0]
    assert node.op.kind == "opaque" and node.inputs, f"{node} has no output {op.part}"
    return Tensor(apply(op, (node, *node.inputs), node.attrs))


Tensor: Any = None  # set by tensor.py: a node knows no tensor, and ops return them


def bind(tensor_type: type) -> None:
    """Set the class of ops' results; called once, by tensor.py."""
    global Tensor
    Tensor = tensor_type
