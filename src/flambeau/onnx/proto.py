"""Reads ONNX's protobuf messages in plain Python: for web pages, and if the onnx package is not installed.

A message has the fields of onnx.proto by name, with protobuf's defaults, HasField and WhichOneof: convert.py
reads both these and the onnx package's messages.
"""

import struct
import sys
from array import array
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .graph import OnnxError

DEEPEST = 100  # nested messages, as in Google's reader
CUT = "ends in the middle of a field"

# message: its fields, each "number name type"; * is a list. Fields that are not needed (documentation,
# training, devices) are omitted, and skipped like unknown fields.
FIELDS = {
    "Model": "1 ir_version int, 2 producer_name string, 3 producer_version string, 7 graph Graph,"
    " 8 opset_import *Opset, 14 metadata_props *Entry, 25 functions *Function",
    "Opset": "1 domain string, 2 version int",
    "Entry": "1 key string, 2 value string",
    "Graph": "1 node *Node, 2 name string, 5 initializer *Tensor, 11 input *Value, 12 output *Value,"
    " 13 value_info *Value, 15 sparse_initializer *Sparse",
    "Node": "1 input *string, 2 output *string, 3 name string, 4 op_type string, 5 attribute *Attribute,"
    " 7 domain string, 8 overload string",
    "Function": "1 name string, 4 input *string, 5 output *string, 6 attribute *string, 7 node *Node,"
    " 9 opset_import *Opset, 10 domain string, 11 attribute_proto *Attribute, 13 overload string",
    "Attribute": "1 name string, 2 f float, 3 i int, 4 s bytes, 5 t Tensor, 6 g Graph, 7 floats *float,"
    " 8 ints *int, 9 strings *bytes, 10 tensors *Tensor, 11 graphs *Graph, 14 tp Type, 15 type_protos *Type,"
    " 20 type int, 21 ref_attr_name string, 22 sparse_tensor Sparse, 23 sparse_tensors *Sparse",
    "Tensor": "1 dims *int, 2 data_type int, 4 float_data *float, 5 int32_data *int, 6 string_data *bytes,"
    " 7 int64_data *int, 8 name string, 9 raw_data bytes, 10 double_data *double, 11 uint64_data *uint,"
    " 13 external_data *Entry, 14 data_location int",
    "Sparse": "1 values Tensor, 2 indices Tensor, 3 dims *int",
    "Value": "1 name string, 2 type Type",
    "Type": "1 tensor_type TensorType, 4 sequence_type Holder, 5 map_type Map, 7 opaque_type Opaque,"
    " 8 sparse_tensor_type TensorType, 9 optional_type Holder",
    "TensorType": "1 elem_type int, 2 shape Shape",
    "Holder": "1 elem_type Type",
    "Map": "1 key_type int, 2 value_type Type",
    "Opaque": "1 domain string, 2 name string",
    "Shape": "1 dim *Dim",
    "Dim": "1 dim_value int, 2 dim_param string",
}
ONE_OF = {  # message: the fields of its oneof "value"
    "Type": {
        "tensor_type",
        "sequence_type",
        "map_type",
        "opaque_type",
        "sparse_tensor_type",
        "optional_type",
    },
    "Dim": {"dim_value", "dim_param"},
}


class Field(NamedTuple):
    """A field of a message: type is a message's name or one of SCALARS."""

    name: str
    type: str
    many: bool


def _fields(text: str) -> dict[int, Field]:
    words = (entry.split() for entry in text.split(","))
    return {int(number): Field(name, kind.lstrip("*"), kind[0] == "*") for number, name, kind in words}


KINDS = {kind: _fields(text) for kind, text in FIELDS.items()}
NAMES = {kind: {f.name: f for f in fields.values()} for kind, fields in KINDS.items()}


class ProtoMessage:
    """A message: fields are attributes; missing ones have protobuf's defaults."""

    def __init__(self, kind: str):
        self.kind = kind

    def __getattr__(self, name: str) -> Any:
        field = NAMES[self.__dict__["kind"]].get(name)
        if field is None:
            raise AttributeError(name)
        if field.many:
            return ()
        return DEFAULTS[field.type] if field.type in DEFAULTS else ProtoMessage(field.type)

    def HasField(self, name: str) -> bool:
        """Whether the file has the field."""
        return name in self.__dict__

    def WhichOneof(self, group: str) -> str | None:
        """Return the field of a oneof that is set."""
        return next((name for name in self.__dict__ if name in ONE_OF[self.kind]), None)


DEFAULTS: dict[str, Any] = {"int": 0, "uint": 0, "float": 0.0, "double": 0.0, "string": "", "bytes": b""}


def parse(data: Any, place: str, kind: str = "Model") -> ProtoMessage:
    """Parse a file's bytes; OnnxError if they are not a message."""
    try:
        return _message(memoryview(data).cast("B"), ProtoMessage(kind), 0)
    except (ValueError, struct.error) as e:
        raise OnnxError(f"{place}: it is truncated or not an ONNX file ({e}): get a complete copy") from None


def _message(view: memoryview, into: ProtoMessage, depth: int) -> ProtoMessage:
    """Parse bytes into a message; of repeated scalar fields the last wins, messages are merged."""
    if depth > DEEPEST:
        raise ValueError(f"its messages are nested more than {DEEPEST} deep")
    fields, values = KINDS[into.kind], into.__dict__
    for number, wire, value in _parts(view):
        field = fields.get(number)
        # protobuf's rule for forward compatibility: unknown numbers and unexpected wire types are skipped.
        if field is None or wire not in (WIRES_OF_LISTS if field.many else WIRES)[field.type]:
            continue  # an unknown field
        if field.type not in SCALARS:
            # protobuf's rule: a message field that occurs twice is merged, a scalar is replaced.
            old = None if field.many else values.get(field.name)
            read = _message(value, old or ProtoMessage(field.type), depth + 1)
        else:
            read = SCALARS[field.type](value, wire)
        _keep(into, field, read)
    return into


def _keep(into: ProtoMessage, field: Field, read: Any) -> None:
    fields = into.__dict__
    if field.many:
        value: Any = read
        several: Any = value if isinstance(read, list | array) else [value]
        if field.name in fields:
            fields[field.name].extend(several)
        else:
            fields[field.name] = several
        return
    # Setting one field of a oneof clears the others.
    group = ONE_OF.get(into.kind, ())
    for name in [n for n in group if n in fields and n != field.name] if field.name in group else ():
        del fields[name]
    fields[field.name] = read[-1] if isinstance(read, list | array) else read


def _parts(view: memoryview) -> Iterator[tuple[int, int, Any]]:
    """(number, wire type, value) of each field: a number, or bytes."""
    offset, end = 0, len(view)
    while offset < end:
        # A key is the field number and 3 bits of wire type: 0 varint, 1 eight bytes, 2 length and bytes, 5
        # four bytes. 3 and 4 (groups) are obsolete.
        key, offset = _varint(view, offset, end)
        number, wire = key >> 3, key & 7
        if not 0 < number < 1 << 29:
            raise ValueError("a field has an invalid number")
        if wire == 0:
            value, offset = _varint(view, offset, end)
            yield number, wire, value
            continue
        if wire == 2:
            size, offset = _varint(view, offset, end)
        elif wire in WIDTHS:
            size = WIDTHS[wire]
        else:
            raise ValueError(f"a field has wire type {wire}, which ONNX does not use")
        if size > end - offset:
            raise ValueError(CUT)
        yield number, wire, view[offset : offset + size]
        offset += size


WIDTHS = {1: 8, 5: 4}  # bytes by wire type


def _varint(view: memoryview, offset: int, end: int) -> tuple[int, int]:
    """Decode a number in groups of 7 bits, low ones first; also returns the next offset."""
    # At most 10 groups hold 64 bits; the top bits of a longer number are cut, as in protobuf.
    value = shift = 0
    while offset < end and shift < 70:
        byte = view[offset]
        value |= (byte & 127) << shift
        offset += 1
        if byte < 128:
            return value & (1 << 64) - 1, offset
        shift += 7
    raise ValueError(CUT if offset >= end else "a number has more than 10 bytes")


def _integers(signed: bool) -> Callable[[Any, int], Any]:
    def read(value: Any, wire: int) -> Any:
        if wire == 0:
            return _to_signed(value) if signed else value
        numbers: list[int] = []
        offset = 0
        while offset < len(value):
            number, offset = _varint(value, offset, len(value))
            numbers.append(_to_signed(number) if signed else number)
        return numbers

    return read


def _to_signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value  # int64 is two's complement, not zigzag


def _floats(code: str) -> Callable[[Any, int], Any]:
    def read(value: Any, wire: int) -> Any:
        if wire != 2:
            return struct.unpack(f"<{code}", value)[0]
        # Packed: all numbers of the list in one field, little-endian.
        numbers = array(code, bytes(value))
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers

    return read


SCALARS: dict[str, Callable[[Any, int], Any]] = {
    "int": _integers(signed=True),
    "uint": _integers(signed=False),
    "float": _floats("f"),
    "double": _floats("d"),
    "bytes": lambda value, _: value,
    "string": lambda value, _: str(value, "utf-8", "backslashreplace"),
}
# The wire types that a scalar may have; in a list also 2, the packed form.
WIRES = {
    **dict.fromkeys((*KINDS, "bytes", "string"), (2,)),
    **{"int": (0,), "uint": (0,), "float": (5,), "double": (1,)},
}
WIRES_OF_LISTS = {kind: wires if wires == (2,) else (*wires, 2) for kind, wires in WIRES.items()}
