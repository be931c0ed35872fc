"""Converts ONNX's protobuf messages, of either reader, to the dataclasses of graph.py."""

from array import array
from collections import Counter
from collections.abc import Callable
from math import prod
from typing import Any, cast

from .graph import DTYPES, REQUIRED, FunctionDef, GraphDef, ModelDef, NodeDef, OnnxError, Ref, ValueDef

# DataType -> the field that holds its numbers if raw_data is empty
# All others (int8 to int32, bool, float16, bfloat16, float8, small integers) are in int32_data.
FIELDS = {
    "float32": "float_data",
    "complex64": "float_data",
    "float64": "double_data",
    "complex128": "double_data",
    "int64": "int64_data",
    "uint32": "uint64_data",
    "uint64": "uint64_data",
    "string": "string_data",
}
# bits of the types that share a byte
BITS = {"uint4": 4, "int4": 4, "float4_e2m1fn": 4, "uint2": 2, "int2": 2}
LARGEST = 1 << 40  # the most elements of a tensor: more means a damaged file
IN_PLACE = "consumed_inputs"  # of opset 1: inputs that results may overwrite; ignored
DENSE = 1 << 26  # the most elements of a sparse tensor, which is stored densely


def model_of(proto: Any, place: str, files: Any) -> ModelDef:
    """Convert a ModelProto. `files(entries)` reads a tensor's bytes from another file."""
    missing = "no graph" if not proto.HasField("graph") else "" if proto.ir_version > 0 else "no ir_version"
    if missing:  # protobuf accepts 0 bytes as a message without fields
        raise OnnxError(
            f"{place}: has {missing}: is empty, truncated or not an ONNX file: get a complete copy"
        )
    read = Reader(place, files)
    # Function keys are (domain, name, overload): overloads exist from IR version 10 on.
    functions = [read.function(f) for f in proto.functions]
    return ModelDef(
        graph=read.graph(proto.graph),
        opsets=opsets_of(proto.opset_import),
        functions={(f.domain, f.name, f.overload): f for f in functions},
        ir_version=proto.ir_version,
        producer=f"{text_of(proto.producer_name)} {text_of(proto.producer_version)}".strip(),
        metadata={text_of(e.key): text_of(e.value) for e in proto.metadata_props},
        place=place,
    )


def opsets_of(entries: Any) -> dict[str, int]:
    """Return the opset versions by domain."""
    return {domain_of(e.domain): e.version for e in entries}


def domain_of(name: Any) -> str:
    """Return a domain's name: "ai.onnx" is "" too."""
    name = text_of(name)
    return "" if name == "ai.onnx" else name


def dtype_of(code: int, place: str) -> str:
    """Return the name of a DataType; OnnxError for an unknown one."""
    if code not in DTYPES:
        raise OnnxError(
            f"{place}: has data type {code}, which ONNX does not define: valid types are 1 to {max(DTYPES)}"
        )
    return DTYPES[code]


class Reader:
    """Turns messages into dataclasses; errors name the file (place)."""

    def __init__(self, place: str, files: Any):
        self.place, self.files = place, files

    def graph(self, g: Any) -> GraphDef:
        initializers = {text_of(t.name): self.array(t) for t in g.initializer}
        initializers |= {text_of(s.values.name): self.sparse(s) for s in g.sparse_initializer}
        of_tensors = [text_of(t.name) for t in (*g.initializer, *(s.values for s in g.sparse_initializer))]
        return GraphDef(
            text_of(g.name),
            tuple(self.node(n) for n in g.node),
            tuple(self.value(v) for v in g.input),
            tuple(self.value(v) for v in g.output),
            initializers,
            tuple(self.value(v) for v in g.value_info),
            tuple(name for name, count in Counter(of_tensors).items() if count > 1),
        )

    def node(self, n: Any) -> NodeDef:
        named = ((text_of(a.name), a) for a in n.attribute)
        attributes = {name: self.attribute(a) for name, a in named if name != IN_PLACE}
        names = text_of(n.name), text_of(n.overload)
        return NodeDef(
            text_of(n.op_type), texts(n.input), texts(n.output), attributes, domain_of(n.domain), *names
        )

    def function(self, f: Any) -> FunctionDef:
        attributes: dict[str, Any] = dict.fromkeys(texts(f.attribute), REQUIRED)
        attributes |= {text_of(a.name): self.attribute(a) for a in f.attribute_proto}
        nodes, opsets = tuple(self.node(n) for n in f.node), opsets_of(f.opset_import)
        names, overload = (texts(f.input), texts(f.output)), text_of(f.overload)
        return FunctionDef(domain_of(f.domain), text_of(f.name), *names, nodes, attributes, opsets, overload)

    def value(self, v: Any) -> ValueDef:
        return self.type(text_of(v.name), v.type)

    def type(self, name: str, t: Any) -> ValueDef:
        kind = t.WhichOneof("value") or "tensor_type"
        inner = getattr(t, kind)
        if kind in ("sequence_type", "optional_type"):
            return ValueDef(name, kind=kind.removesuffix("_type"), element=self.type("", inner.elem_type))
        if kind not in ("tensor_type", "sparse_tensor_type"):
            return ValueDef(name, kind=kind.removesuffix("_type"))
        dtype = dtype_of(inner.elem_type, f"{self.place}: {name!r}") if inner.elem_type else ""
        shape = tuple(_size(d) for d in inner.shape.dim) if inner.HasField("shape") else None
        return ValueDef(name, dtype, shape, kind.removesuffix("_type"))

    def attribute(self, a: Any) -> Any:
        # Only nodes of functions have references: the value is that of the call's attribute.
        if a.ref_attr_name:
            return Ref(text_of(a.ref_attr_name))
        if a.type not in ATTRIBUTES:
            raise OnnxError(
                f"{self.place}: attribute {text_of(a.name)!r} is of type {a.type}, which ONNX does not define"
            )
        return ATTRIBUTES[a.type](self, a)

    def array(self, t: Any) -> Any:
        """Return a TensorProto as a NumPy array; strings as an array of objects."""
        import numpy as np

        place = f"{self.place}: tensor {text_of(t.name)!r}"
        dtype, shape = dtype_of(t.data_type, place), tuple(t.dims)
        # Check the shape before any allocation: a damaged file may claim petabytes.
        if any(n < 0 for n in shape) or prod(shape) > LARGEST:
            raise OnnxError(
                f"{place}: has the shape {list(shape)}: sizes must be at least 0, with at most"
                f" {LARGEST:,} elements"
            )
        if dtype == "string":
            values = np.array([text_of(s) for s in t.string_data], object)
        # EXTERNAL: the bytes are in another file
        elif t.data_location == 1:
            values = _unpack(self.files(t, place), dtype, place, prod(shape))
        elif t.HasField("raw_data"):
            values = _unpack(t.raw_data, dtype, place, prod(shape))
        else:
            values = _convert_numbers(getattr(t, FIELDS.get(dtype, "int32_data")), dtype, prod(shape))
        if values.size != prod(shape):
            raise OnnxError(
                f"{place}: has {values.size:,} elements, but its shape {list(shape)} needs {prod(shape):,}"
            )
        return values.reshape(shape)

    def sparse(self, s: Any) -> Any:
        """Return a SparseTensorProto as a dense array."""
        import numpy as np

        place = f"{self.place}: tensor {text_of(s.values.name)!r}"
        values, places, shape = self.array(s.values), self.array(s.indices), tuple(s.dims)
        if any(n < 0 for n in shape) or prod(shape) > DENSE:
            raise OnnxError(f"{place}: is sparse, of shape {list(shape)}: it would need too much memory")
        # Indices are [count], of the flattened tensor, or [count, rank], of each dim.
        flat = (
            places
            if places.ndim == 1
            else places @ np.array([prod(shape[d + 1 :]) for d in range(len(shape))])
        )
        if flat.size != values.size or (flat.size and not 0 <= flat.min() <= flat.max() < prod(shape)):
            raise OnnxError(f"{place}: is sparse, and has indices outside its shape {list(shape)}")
        out = np.zeros(prod(shape), values.dtype)
        out[flat] = values
        return out.reshape(shape)


def text_of(raw: Any) -> str:
    """Return a protobuf string. Bytes that are not UTF-8 (Google's reader returns these as bytes) are
    escaped."""
    return raw if isinstance(raw, str) else bytes(raw).decode("utf-8", "backslashreplace")


def texts(raw: Any) -> tuple[str, ...]:
    """Strings."""
    return tuple(map(text_of, raw))


def _size(d: Any) -> int | str | None:
    kind = d.WhichOneof("value")
    return None if kind is None else d.dim_value if kind == "dim_value" else text_of(d.dim_param) or None


def numpy_dtype(name: str) -> Any:
    """Return the NumPy dtype of a name, from ml_dtypes if NumPy lacks it."""
    import numpy as np

    if name == "string":
        return np.dtype(object)
    try:
        return np.dtype(name)
    except TypeError:
        try:
            import ml_dtypes
        except ImportError:
            rule = "NumPy has no such dtype, and ml_dtypes is not installed"
            raise OnnxError(f"{name}: {rule}") from None
        return np.dtype(getattr(ml_dtypes, name))


def _unpack(raw: Any, dtype: str, place: str, count: int) -> Any:
    """Unpack raw bytes to numbers; several small numbers may share a byte."""
    import numpy as np

    numpy_type = numpy_dtype(dtype)
    bits = BITS[dtype] if dtype in BITS else 8 * numpy_type.itemsize
    # raw_data is little-endian, packed without gaps; the last byte of small numbers may be partly unused.
    needs = -(-count * bits // 8)
    if len(raw) != needs:
        raise OnnxError(f"{place}: has {len(raw):,} bytes, but {count:,} elements of {dtype} need {needs:,}")
    if dtype not in BITS:
        return np.frombuffer(raw, numpy_type)
    return _unpack_small(np.frombuffer(raw, np.uint8), dtype, count)


def _unpack_small(packed: Any, dtype: str, count: int) -> Any:
    """Unpack numbers of less than a byte, the first in the low bits."""
    import numpy as np

    bits = BITS[dtype]
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    # [bytes] -> [bytes, 8 // bits] -> [count]
    codes = (packed[:, None] >> shifts & (1 << bits) - 1).reshape(-1)[:count].astype(np.uint8)
    if dtype[0] == "i":  # two's complement: subtract 2**bits where the highest bit is set
        return (codes.astype(np.int8) - ((codes >> bits - 1) << bits).astype(np.int8)).astype(
            numpy_dtype(dtype)
        )
    return codes.astype(numpy_dtype(dtype)) if dtype[0] == "u" else codes.view(numpy_dtype(dtype))


def _convert_numbers(numbers: Any, dtype: str, count: int) -> Any:
    """Convert a field's numbers. Types of up to 16 bits are stored as bits, complex numbers as pairs."""
    import numpy as np

    numpy_type = numpy_dtype(dtype)
    if isinstance(numbers, array):  # our own reader returns floats as an array
        numbers = np.frombuffer(cast("bytes", numbers), f"f{numbers.itemsize}")
    if dtype in BITS:
        return _unpack_small(np.array(numbers, np.int64).astype(np.uint8), dtype, count)
    if dtype in ("float16", "bfloat16"):
        return np.array(numbers, np.int64).astype(np.uint16).view(numpy_type)
    if dtype.startswith("float8"):
        return np.array(numbers, np.int64).astype(np.uint8).view(numpy_type)
    if dtype.startswith("complex"):
        return np.array(numbers, "f4" if dtype == "complex64" else "f8").view(numpy_type)
    return np.array(numbers, np.int64 if numpy_type.kind in "ib" else numpy_type).astype(numpy_type)


# AttributeProto.AttributeType -> how its value is read
ATTRIBUTES: dict[int, Callable[[Reader, Any], Any]] = {
    1: lambda r, a: a.f,
    2: lambda r, a: a.i,
    3: lambda r, a: text_of(a.s),
    4: lambda r, a: r.array(a.t),
    5: lambda r, a: r.graph(a.g),
    6: lambda r, a: tuple(a.floats),
    7: lambda r, a: tuple(a.ints),
    8: lambda r, a: tuple(text_of(s) for s in a.strings),
    9: lambda r, a: tuple(r.array(t) for t in a.tensors),
    10: lambda r, a: tuple(r.graph(g) for g in a.graphs),
    11: lambda r, a: r.sparse(a.sparse_tensor),
    12: lambda r, a: tuple(r.sparse(s) for s in a.sparse_tensors),
    13: lambda r, a: r.type("", a.tp),
    14: lambda r, a: tuple(r.type("", t) for t in a.type_protos),
}
