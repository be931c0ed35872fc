"""ONNX's own function bodies, for operators without a row in the table."""

from typing import Any

from ..errors import suggest
from .convert import Reader, opsets_of
from .graph import CODES, FunctionDef, NodeDef, OnnxError
from .operators.table import TABLE
from .values import dtype_name

PLAIN = (int, float, str, tuple)  # attribute types that the onnx package derives from values


def body_of(
    node: NodeDef, opset: int, inputs: list[Any], opsets: dict[str, int]
) -> tuple[FunctionDef, dict[Any, Any]]:
    """Return the function body of a node's operator, and its opsets. OnnxError if the operator has none."""
    schema = schema_of(node, opset)
    if schema is None or not (schema.has_function or schema.has_context_dependent_function):
        raise OnnxError(missing_operator_text(node, opset))
    proto = schema.function_body if schema.has_function else _body_for_types(schema, node, inputs, opset)
    f = Reader(node.op, None).function(proto)
    return _with_defaults(f, schema), {**opsets, **(opsets_of(proto.opset_import) or {"": opset})}


def missing_operator_text(node: NodeDef, opset: int) -> str:
    """Return the error text for an unknown operator."""
    near = suggest(node.op, [name for domain, name in TABLE if domain == node.domain])
    return f"{node.label}: unknown operator at opset {opset}{near}"


def schema_of(node: NodeDef, opset: int) -> Any:
    """Return the onnx package's schema of an operator; None if it has none, or is not installed."""
    try:
        from onnx import defs
    except ImportError:
        return None
    if not defs.has(node.op, domain=node.domain):
        return None
    try:
        return defs.get_schema(node.op, max_inclusive_version=opset, domain=node.domain)
    except defs.SchemaError:
        return None


def _body_for_types(schema: Any, node: NodeDef, inputs: list[Any], opset: int) -> Any:
    """Return the function body for these inputs and types."""
    from onnx import FunctionProto, helper

    # The onnx package builds such a body in C++ from the serialized node and the inputs' types, by opset.
    # If all versions are newer than the model's opset, the oldest is the nearest.
    types = [_type_of(v) for v in inputs]
    attributes: dict[str, Any] = {n: v for n, v in node.attributes.items() if isinstance(v, PLAIN)}
    names = [name if v is not None else "" for name, v in zip(node.inputs, inputs)]
    proto = helper.make_node(node.op, names, list(node.outputs), domain=node.domain, **attributes)
    versions = [v for v in schema.context_dependent_function_opset_versions if v <= opset]
    version = max(versions) if versions else min(schema.context_dependent_function_opset_versions)
    raw = schema.get_context_dependent_function_with_opset_version(
        version, proto.SerializeToString(), [t.SerializeToString() for t in types]
    )
    body = FunctionProto()
    body.ParseFromString(raw)
    return body


def _type_of(value: Any) -> Any:
    from onnx import TypeProto, helper

    if value is None or isinstance(value, list | dict):
        return TypeProto()
    return helper.make_tensor_type_proto(CODES[dtype_name(value)], list(value.shape))


def _with_defaults(f: FunctionDef, schema: Any) -> FunctionDef:
    """Return a function with the operator's defaults for omitted attributes."""
    from dataclasses import replace

    # A body refers to the node's attributes by name; defaults are in the schema, not in the body.
    read = Reader(f.name, None)
    defaults = {
        n: read.attribute(a.default_value) for n, a in schema.attributes.items() if a.default_value.name
    }
    return replace(f, attributes={**f.attributes, **defaults})
