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
from .alias import link
from .autocast import NONE, called, lower, plain
from .modes import is_grad_enabled
from .node import Node, describe
from .out import IN_PLACE, NOWHERE, in_place, into, place_of_inplace
from .shape import broadcast
from .sizes import with_integers
from .spelling import explain, misgiven, spelled

if TYPE_CHECKING:
    from .rules import Array, Gradients, LaunchRule
    from .shape import Shape

OPS: dict[str, Op] = {}
COMPOSED: dict[str, Callable[..., Any]] = {}


class Written(NamedTuple):
    """A further result of a launch: its name, how many elements of what it has, and as what they are
    written (1, or 2 or 4 at a time)."""

    name: str
    elements: int
    dtype: dt.DType
    width: int = 1


@dataclass(frozen=True)
class Launch:
    """One dispatch of an op that is written as opaque kernels.

    template: a file of wgsl/ that extends launch.wgsl. reads: the op's inputs by position, results of earlier
    launches by name; they come as in0, in1, ... in row-major order. traced: an input that is not read from
    a buffer but computed where it is read, by value_at(i); with `fours` by values_at(i), of four neighbours
    from a multiple of 4 on. writes: the name of an intermediate result, ""
    for the op's own; elements and dtype: how many of what it has. groups: workgroups, in a line or as
    (x, y, z). sizes: quantities, p.name in the template (ints are u32, floats f32). options: structure.
    workgroup: threads of one, along x, y and z. wide: the places in reads that are bound as vec4s.
    width: the result is an array of scalars, or of vec2 or vec4, and is read as what it was written as.
    also: further results, which the template writes as out1, out2, ...; later launches read them by name, and
    so does the graph, by an op of kind output.
    turns: of loops that a thread takes at most, where that grows with the sizes (`limits.turns` may be).
    instead: an input that is no longer needed may be written over by another launch, which makes the rest of
    the result.
    flops: the operations of all threads, for profiles; without, one for each element of the op's inputs.
    """

    template: str
    reads: tuple[int | str, ...]
    groups: int | tuple[int, int, int]
    sizes: Mapping[str, int | float] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
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


@dataclass(frozen=True, eq=False, repr=False)
class Op:
    """One operation, declared once.

    kind: how the planner treats it (elementwise, movement, source, reduce, contract, fold, gather, leaf,
    whole, part, composite). shape, dtype: rules on the inputs' shapes or dtypes and the attributes; a rule
    raises ValueError or TypeError with the bare reason. grad: (g, y, *inputs, **attrs) -> a gradient or None
    for each input, in Tensor ops. xp: the reference, (xp, *arrays, **attrs) -> array, of the CPU backend.
    cost: relative price of one element, which decides what is computed twice rather than stored.
    order: of a movement whose result has all elements of its input: "same" where they stay in order,
    "repeated" where each may also come several times, "turned" where dims change places.
    holomorphic: whether the gradient by complex inputs is that by real ones, conjugated: not where the rule
    says itself what a loss's slope by the real and by the imaginary part is.
    launch: of an opaque op, (limits, *input nodes, **attrs) -> its launches; the last makes the result.
    part: of an op of kind output, what the opaque op's launches call it; `output_of` adds one.
    reads_packed: of an opaque op, that its templates read elements of 2 bytes and 1 as they lie.
    packs: an opaque op whose kernels read and write packed elements themselves.
    dtypes: the kinds (of "fiubc": floats, signed, unsigned, bools, complex) that the first input (of an
    elementwise op: what its inputs promote to) may have, each in all its sizes; "" where nobody has said, and
    then none that are complex.
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
    definition: Callable[..., Any] | None = None  # of an op without a signature form: what help shows
    # elementwise: the dtype(s) that inputs are cast to first
    operands: Callable[..., dt.DType | tuple[dt.DType, ...]] | None = None
    launch: LaunchRule | None = None
    part: str = ""
    reads_packed: bool = False
    packs: bool = False
    dtypes: str = ""
    holomorphic: bool = True
    monoid: str = ""  # of a reduction, how elements are joined: a name of wgsl/lib/monoids.wgsl
    refusal: str = ""  # what is said to other kinds, where more than `TAKES` can be said
    operand_names: tuple[str, ...] = ("input", "other")  # PyTorch's, of an op without a signature form
    last: int = NOWHERE  # the place of `inplace` in a call, of an op that takes it
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        if not self.name:  # a second name (__add__ = add) does not rename
            self.enter(name)

    def enter(self, name: str) -> Op:
        """Put the op in the table under its name; returns the op."""
        OPS[name] = self
        known: dict[str, Any] = {"name": name, "__name__": name, "__qualname__": name, "__doc__": self.doc}
        definition = self.prepare or self.definition
        if definition is not None:
            known["last"] = place_of_inplace(definition)
            known["__module__"] = definition.__module__
            known["__wrapped__"] = getattr(definition, "__wrapped__", definition)
        else:
            places = [Parameter(n, Parameter.POSITIONAL_OR_KEYWORD) for n in self.operand_names]
            known["__signature__"] = Signature(places)
        vars(self).update(known)
        return self

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __get__(self, tensor: Any, owner: type | None = None) -> Any:
        if tensor is None:
            return self
        return MethodType(self, tensor)

    def __call__(self, *args: Any, **kw: Any) -> Any:
        if lower.get() is not plain.lower:
            return called(self._staged, self.name, args, kw)
        if events.listener is None:
            return self._made(args, kw)
        return self._staged(args, kw)

    def _staged(self, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
        with events.stage("graph"):
            return self._made(args, kw)

    def _made(self, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
        try:
            if len(args) > self.last:
                args, kw = args[: self.last], {**kw, "inplace": args[self.last]}
            if kw:
                if "out" in kw and self.kind != "movement":
                    return into(self, args, kw)
                if "inplace" in kw and self.name in IN_PLACE:
                    return in_place(self, args, kw)
                args, kw = spelled(self.prepare, self.operand_names, args, kw)
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
                return self._moved(inputs[0], nodes, attrs)
            return Tensor(apply(self, nodes if self.operands is None else cast_operands(self, nodes), attrs))
        except (ValueError, TypeError, IndexError) as e:
            raise explain(e, self.name, args, kw) from None
        except AttributeError as e:
            raise misgiven(e, self.name, args, kw) from None

    def _moved(self, base: Any, nodes: tuple[Node, ...], attrs: dict[str, Any]) -> Any:
        """A view: no node where nothing changes."""
        same = attrs.get("shape") == nodes[0].shape and self.name in ("reshape", "expand")
        made = Tensor(nodes[0] if same else apply(self, nodes, attrs))
        if self.name != "_pad":
            link(base, made, self, attrs)
        return made


class Family:
    """Properties, operators and primitives of a family's ops, mixed into Tensor with those of the others."""


def lift(inputs: Sequence[Any]) -> list[Node]:
    """Turn tensors and Python scalars into nodes; a scalar takes its dtype from the tensors beside it."""
    tensors: list[Node] = [x.node for x in inputs if isinstance(x, Tensor)]
    if len(tensors) == len(inputs):
        return tensors
    beside = tensors[0].dtype if len(tensors) == 1 else result_of(tensors) or dt.bool_
    try:
        return [x.node if isinstance(x, Tensor) else constant(x, beside) for x in inputs]
    except TypeError:
        if not tensors or not any(map(_is_array, inputs)):
            raise
    first = next(x for x in inputs if isinstance(x, Tensor))
    return lift([tensor_beside(first, x) if _is_array(x) else x for x in inputs])


def tensor_beside(x: Any, other: Any) -> Any:
    """Another library's array as a tensor of its own dtype, where a tensor is; TypeError for others."""
    if isinstance(other, Tensor):
        return other
    if not _is_array(other):
        raise TypeError(f"{describe(other)} is not a tensor or an array: wrap it in tensor(...)")
    return x.new_tensor(other, dtype=other.dtype)


def _is_array(x: Any) -> bool:
    """Whether something is another library's array, which becomes a tensor beside tensors."""
    return hasattr(x, "__array__") and not isinstance(x, Tensor)


def result_of(nodes: Sequence[Node]) -> dt.DType | None:
    """What operands promote to: those with dims, then 0-d ones where their category is higher."""
    dims, zeros = [n.dtype for n in nodes if n.shape], [n.dtype for n in nodes if not n.shape]
    return dt.combine(dt.promote(*dims) if dims else None, dt.promote(*zeros) if zeros else None)


def operand_dtypes(nodes: Sequence[Node]) -> list[dt.DType]:
    """The operands' dtypes as promotion sees them: a 0-d one counts only where its category is higher than
    that of the operands with dims."""
    dtypes = [n.dtype for n in nodes]
    same = dtypes.count(dtypes[0]) == len(dtypes)
    if same or not (dims := {n.dtype for n in nodes if n.shape}) or all([n.shape for n in nodes]):
        return dtypes
    beside = dt.promote(*dims)
    return [n.dtype if n.shape else dt.beside(n.dtype, beside) for n in nodes]


TAKES = {  # the kinds that an op is declared for: what it says to others
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
    """TypeError where an op is not declared for what it is given."""
    if op.dtypes in ALL:
        return
    dtype = dt.promote(*operand_dtypes(nodes)) if op.kind == "elementwise" else nodes[0].dtype
    if dtype.kind not in op.dtypes:
        check_complex(op, [dtype])
        raise TypeError(op.refusal or TAKES[op.dtypes])


def check_complex(op: Op, dtypes: Iterable[dt.DType]) -> None:
    """TypeError where an op that is not declared for complex numbers is given some."""
    if any(d.is_complex for d in dtypes) and "c" not in op.dtypes:
        raise TypeError(op.refusal or (UNORDERED if op.monoid in ("max", "min") else NOT_COMPLEX))


def only_real(*tensors: Any) -> None:
    """TypeError where one of an op's tensors has complex numbers, which its casts would make real."""
    if any(t is not None and t.dtype.is_complex for t in tensors):
        raise TypeError(NOT_COMPLEX)


def check_held(dtype: dt.DType, device: Any) -> None:
    """TypeError where a dtype is asked for on a GPU that no GPU has."""
    if not dtype.on_gpu and device.kind == "gpu":
        use = (
            "complex64, as .to(complex64) gives it," if dtype.is_complex else "float32, as .float() gives it,"
        )
        raise TypeError(
            f"{dtype.name} is not on GPUs: WGSL has no floats of 64 bits: use {use} or device='cpu'"
        )


def cast_operands(op: Op, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Bring the inputs of an elementwise op to the dtypes that it computes in."""
    known = _computed_in if plain.lower is NONE else _computed_in.__wrapped__  # of the default dtype, too
    wanted = known(op, *operand_dtypes(nodes))
    for n, w in zip(nodes, wanted, strict=True):
        if n.dtype is not w:
            return tuple([_cast(*pair) for pair in zip(nodes, wanted, strict=True)])
    return nodes


@cache
def _computed_in(op: Op, *dtypes: dt.DType) -> tuple[dt.DType, ...]:
    """The dtypes that an op's operands are cast to; TypeError where there are too many or too few."""
    names = op.operand_names
    if op.prepare is None and len(dtypes) != len(names):
        raise TypeError(f"takes {' and '.join(names)}: {len(dtypes)} were given: name other arguments")
    check_complex(op, dtypes)
    wanted = op.operands(*dtypes)  # type: ignore[misc]
    return wanted if isinstance(wanted, tuple) else (wanted,) * len(dtypes)


dt.CHANGED.append(_computed_in.cache_clear)


def _cast(node: Node, to: dt.DType) -> Node:
    if node.dtype is to:
        return node
    if node.op.name == "constant" and (to.is_float or node.dtype.is_complex):
        return Node(node.op, (), {}, (), to, None, node.scalars)
    return apply(OPS["cast"], (node,), {"to": to})


SIZES = (8, 16, 31, 64)  # bits


def constant(value: Any, beside: dt.DType = dt.bool_, dtype: dt.DType | None = None) -> Node:
    """A 0-d node for a host number (or HostScalar); it stays a quantity and belongs to every device. Its
    dtype is that of what is beside it, if that is of no lower category."""
    if type(value) is float and beside.is_float and dtype is None:  # most numbers: what follows, in one step
        return Node(OPS["constant"], (), {}, (), beside, None, (value,))
    plain = value if type(value) is float else getattr(value, "held", value)
    if not isinstance(plain, int | float | complex):
        raise TypeError(f"{describe(value)} is not a tensor or a number: wrap it in tensor(...)")
    own = dt.dtype_of_scalar(plain)
    dtype = dtype or (beside if beside.category >= own.category else own)
    if dtype.is_complex and not own.is_complex:  # what is real is known to be
        return _cast(constant(value, dtype=dtype.real), dtype)
    attrs = _sized(value) if dtype.is_pair and type(value) is int else {}
    return Node(OPS["constant"], (), attrs, (), dtype, None, (value,))


def _sized(number: int) -> dict[str, int]:
    """How many bits a number needs, roughly: of a small one the planner makes 32."""
    return {"bits": next(n for n in SIZES if number.bit_length() <= n)}


# Nodes that wait for a value for too long get it: a sum that goes on from step to step, and that nobody
# reads, would keep what each step made. A training step is some 500 nodes deep.
run_deep: Any = None  # set by run.py: gives a node's inputs their values


def apply(
    op: Op, inputs: tuple[Node, ...], attrs: dict[str, Any], scalars: tuple[Any, ...] = (), device: Any = None
) -> Node:
    """Add one node: check devices, work out shape and dtype, note whether gradients flow."""
    dtypes = [n.dtype for n in inputs]
    packs = op.packs or op.kind in TAKES_PACKED
    if not packs and any([d.is_special for d in dtypes]):
        check_complex(op, dtypes)
        if not op.reads_packed and any([d.is_packed for d in dtypes]):
            return _widened(op, inputs, attrs, scalars, device)
    shape = op.shape(*[n.shape for n in inputs], **attrs)
    dtype = op.dtype(*dtypes, **attrs)
    requires_grad, depth = False, events.fresh
    for n in inputs:
        requires_grad = requires_grad or n.requires_grad
        if n.depth > depth and n.buffer is None:
            depth = n.depth
        if n.device is not None and n.device is not device:
            if device is not None:
                raise ValueError(f"devices differ: {device} and {n.device}: move one with .to(...)")
            device = n.device
    computed = dtype if packs else dtype.wide
    node = Node(op, inputs, attrs, shape, computed, device, scalars)
    if inputs:
        node.depth = depth + 1
        if depth > events.deep:
            run_deep(node)
    node.requires_grad = requires_grad and dtype.has_gradients and is_grad_enabled() and op.grad is not None
    return node if computed is dtype else _cast(node, dtype)


def viewed(x: Any, name: str, **attrs: Any) -> Any:
    """`x.reshape(...)` and the like with attributes that are known to be right: half of a call is checks."""
    return Tensor(apply(OPS[name], (x.node,), attrs))


# The kinds that read and make packed elements. All others (sums, scans, sorts, ...) compute in 4 bytes: their
# inputs are widened first and their results narrowed, both in the kernels around them.
TAKES_PACKED = {"elementwise", "movement", "source", "gather", "leaf", "composite", "contract", "output"}


def _widened(
    op: Op, inputs: tuple[Node, ...], attrs: dict[str, Any], scalars: tuple[Any, ...], device: Any
) -> Node:
    """The node of an op that computes in 4 bytes, its result in the dtype that its rule names."""
    wanted = op.dtype(*(n.dtype for n in inputs), **attrs)
    return _cast(apply(op, tuple(_cast(n, n.dtype.wide) for n in inputs), attrs, scalars, device), wanted)


def output_of(op: Op, whole: Any) -> Any:
    """A further result of an opaque op: `whole` is the tensor that it gave, `op` of kind output.

    The part's rules and reference get the opaque op's result first, and then its inputs and attributes.
    """
    node = whole.node
    while node.op.kind == "composite" or node.op.name == "cast":
        node = node.inputs[0]
    assert node.op.kind == "opaque" and node.inputs, f"{node} has no part {op.part}"
    return Tensor(apply(op, (node, *node.inputs), node.attrs))


Tensor: Any = None  # set by tensor.py: a node knows no tensor, and ops return them


def bind(tensor_type: type) -> None:
    """Tell ops what they return; called once, by tensor.py."""
    global Tensor
    Tensor = tensor_type
