"""The content of an ONNX file as dataclasses, independent of protobuf."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..core.tree import is_tuple
from ..errors import FlambeauError

# TensorProto.DataType -> name, as NumPy and ml_dtypes have it
DTYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    8: "string",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
    17: "float8_e4m3fn",
    18: "float8_e4m3fnuz",
    19: "float8_e5m2",
    20: "float8_e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4_e2m1fn",
    24: "float8_e8m0fnu",
    25: "uint2",
    26: "int2",
}
CODES = {name: code for code, name in DTYPES.items()}


class OnnxError(FlambeauError):
    """An ONNX file that can't be read, checked or run; the text names file, place and reason.

    Names come from untrusted files: control characters are escaped.
    """

    def __init__(self, text: str):
        super().__init__(printable(text, but="\n"))


def printable(text: str, but: str = "") -> str:
    """Return a text with unprintable characters escaped."""
    return "".join(c if c.isprintable() or c in but else repr(c)[1:-1] for c in text)


@dataclass(frozen=True)
class ValueDef:
    """An input or an output: its name, dtype ("" if undeclared) and shape.

    Sizes are numbers, names ("batch") or None; shape is None if the rank is unknown. kind: "tensor",
    "sequence", "optional", "map" or "sparse_tensor". element: the type of the elements of a sequence or
    optional.
    """

    name: str
    dtype: str = ""
    shape: tuple[int | str | None, ...] | None = None
    kind: str = "tensor"
    element: "ValueDef | None" = None

    def __str__(self) -> str:
        inner = str(self.element) if self.element else self.dtype or "?"
        # float32[batch, 3, ?]: names of sizes without quotes (chr(39))
        sizes = "" if self.shape is None else str([("?" if n is None else n) for n in self.shape])
        return f"{inner}{sizes.replace(chr(39), '')}" if self.kind == "tensor" else f"{self.kind}({inner})"


class Ref(NamedTuple):
    """An attribute of a function's node whose value is that of the function's attribute of this name."""

    name: str


@dataclass(frozen=True)
class NodeDef:
    """A call of an operator; "" among inputs and outputs is an omitted one.

    Attributes are Python values: numbers, strings, tuples of them, NumPy arrays (tensors), GraphDef, ValueDef
    (types) or Ref."""

    op: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    domain: str = ""
    name: str = ""
    overload: str = ""

    @property
    def label(self) -> str:
        """The node's name in errors."""
        op = f"{self.domain}.{self.op}" if self.domain else self.op
        return printable(f"{op} {self.name!r}" if self.name else f"{op} -> {', '.join(self.outputs)}")

    def graphs(self) -> "Iterator[GraphDef]":
        """Yield the graphs among the attributes."""
        for value in self.attributes.values():
            if isinstance(value, GraphDef):
                yield value
            elif is_tuple(value):
                yield from (v for v in value if isinstance(v, GraphDef))


@dataclass(frozen=True)
class GraphDef:
    """Nodes in order, inputs, outputs, and initializers (NumPy arrays) by name."""

    name: str = ""
    nodes: tuple[NodeDef, ...] = ()
    inputs: tuple[ValueDef, ...] = ()
    outputs: tuple[ValueDef, ...] = ()
    initializers: dict[str, Any] = field(default_factory=dict[str, Any])
    values: tuple[ValueDef, ...] = ()  # declarations of intermediate values
    doubled: tuple[str, ...] = ()  # names of which the file has several initializers


@dataclass(frozen=True)
class FunctionDef:
    """An operator that is a graph of others. attributes: defaults by name, `REQUIRED` without a default."""

    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[NodeDef, ...]
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    opsets: dict[str, int] = field(default_factory=dict[str, int])
    overload: str = ""


REQUIRED = object()  # marks a function's attribute without a default


@dataclass(frozen=True)
class ModelDef:
    """A whole file: its graph, the version of each domain's operators, and functions by (domain, name,
    overload)."""

    is_unwatched = True  # ignored by recordings' guards: it does not change
    graph: GraphDef
    opsets: dict[str, int]
    functions: dict[tuple[str, str, str], FunctionDef] = field(
        default_factory=dict[tuple[str, str, str], FunctionDef]
    )
    ir_version: int = 0
    producer: str = ""
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    training: tuple[tuple[GraphDef | None, GraphDef | None], ...] = ()
    place: str = "the model"  # the file's name in errors

    def without_arrays(self) -> "ModelDef":
        """Return a copy without the initializers' arrays, so that the file's memory can be freed."""
        return replace(self, graph=replace(self.graph, initializers=dict.fromkeys(self.graph.initializers)))
