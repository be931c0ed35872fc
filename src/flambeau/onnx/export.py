"""Exports a model or a function of tensors as an ONNX file."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.files import write_whole
from ..core.tree import Branch, is_dict, is_sequence
from ..device import get_device
from ..export.inputs import names_of
from ..tensor import Tensor, tensor
from .emit import Emitter
from .graph import CODES, OnnxError
from .named_dims import NamedCall, dynamic_places
from .trace import InputSpec, SizeFormula, TracedGraph, trace

# Opset 18: reductions take their axes as an input, and Pad has axes. onnxruntime has run it since 1.14.
OPSET, IR_VERSION = 18, 9


def export(
    model: Callable[..., Any],
    example: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dynamic: Mapping[str, Mapping[int, str]] | bool | None = None,
    names: Sequence[str] | None = None,
) -> bytes:
    """Write a module or a function of tensors as an ONNX file; returns its bytes.

    example: a tensor or an array, a list of them, or a dict by name; only dtypes and shapes matter. path: the
    file; None only returns the bytes. dynamic: sizes that may change, a dict of input names to {dim: name},
    as {"x": {0: "batch"}}, or True for the first dim of every input. Names of dims (fb.named) become the
    denotations of inputs and outputs, and are dims of dynamic too. names: of the outputs. OnnxError if the
    model reads values, assigns to tensors, or uses an op that ONNX lacks.
    """
    examples = _inputs(model, example)
    inputs = {name: v.parts()[0] if isinstance(v, Branch) else v for name, v in examples.items()}
    specs, sizes = _specs(inputs, dynamic_places(dynamic, examples))
    device = next((p.device for p in _weights(model).values()), None) or get_device()
    traced = NamedCall(model, list(examples.values()))
    graph = trace(traced if traced.is_needed else model, specs, sizes, device)
    data = _proto(model, graph, names, traced).SerializeToString()
    if path is not None:
        _write(Path(path), data)
    return data


def _inputs(model: Callable[..., Any], example: Any) -> dict[str, Any]:
    """Examples by name: tensors, or named ones."""
    examples = example
    if not is_dict(example):
        items = example if is_sequence(example) else [example]
        examples = dict(zip(names_of(model, len(items)), items, strict=True))
    return {
        name: v if isinstance(v, Tensor | Branch) else tensor(v, device="cpu") for name, v in examples.items()
    }


def _specs(inputs: dict[str, Tensor], dynamic: Any) -> tuple[list[InputSpec], dict[str, int]]:
    """Return the inputs with names for dynamic sizes, and the value that each of these has in the trace."""
    # With dynamic=True all inputs share one name: their first dims must be equal.
    named = {name: {0: "N"} for name, t in inputs.items() if t.ndim} if dynamic is True else dynamic or {}
    unknown = [name for name in named if name not in inputs]
    if unknown:
        rule = f"no input {unknown[0]!r} exists: the inputs are {', '.join(inputs)}"
        raise ValueError(f"export(dynamic={dynamic}): {rule}")
    specs: list[InputSpec] = []
    sizes: dict[str, int] = {}
    for name, t in inputs.items():
        shape: list[int | str] = list(t.shape)
        for dim, symbol in named.get(name, {}).items():
            if not -t.ndim <= dim < t.ndim:
                raise ValueError(f"export(dynamic={dynamic}): {name!r} has no dim {dim}: it has {t.ndim}")
            # At least 2 in the trace: a size of 1 broadcasts, and the graph would be one for size 1 only.
            sizes.setdefault(symbol, max(2, t.shape[dim]))
            shape[dim] = symbol
        specs.append(InputSpec(name, t.dtype, tuple(shape)))
    return specs, sizes


def _weights(model: Any) -> Mapping[str, Tensor]:
    """Return the parameters and buffers of a module by name; none of a function."""
    if not hasattr(model, "named_parameters"):
        return {}
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def _proto(model: Any, graph: TracedGraph, names: Any, traced: NamedCall) -> Any:
    from onnx import helper, numpy_helper

    weights = {id(t.node): name for name, t in _weights(model).items()}
    emitter = Emitter(graph, weights)
    results = emitter.run()
    output_names = [names] if isinstance(names, str) else list(names or graph.outputs)
    if len(output_names) != len(results):
        raise ValueError(f"export(names={names!r}): the model has {len(results)} outputs")
    outputs: list[Any] = []
    for i, (name, result, n) in enumerate(zip(output_names, results, graph.roots)):
        # Identity: a graph's output needs its own name, even if it is an input, a weight or another output.
        emitter.nodes.append(helper.make_node("Identity", [result], [name]))
        outputs.append(
            helper.make_tensor_value_info(
                name, CODES[n.dtype.name], list(map(_size_text, n.shape)), **traced.result_dims(i)
            )
        )
    inputs = [
        helper.make_tensor_value_info(s.name, CODES[s.dtype.name], list(s.shape), **traced.input_dims(i))
        for i, s in enumerate(graph.specs)
    ]
    nodes = _needed_nodes(emitter.nodes, output_names)
    used = {x for node in nodes for x in node.input}
    tensors = [numpy_helper.from_array(a, name) for name, a in emitter.tensors.items() if name in used]
    body = helper.make_graph(nodes, "graph", inputs, outputs, tensors)
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(body, opset_imports=opsets, ir_version=IR_VERSION, producer_name="flambeau")


def _needed_nodes(nodes: list[Any], wanted: list[str]) -> list[Any]:
    """Return the nodes that the outputs need."""
    needed = set(wanted)
    kept: list[Any] = []
    for node in reversed(nodes):
        if needed.intersection(node.output):
            kept.append(node)
            needed.update(node.input)
    return kept[::-1]


def _size_text(size: SizeFormula) -> int | str:
    """Return the text of a size: a number, or a formula."""
    if not size.terms:
        return size.base
    parts = [name if factor == 1 else f"{factor}*{name}" for name, factor in size.terms]
    return " + ".join([*parts, *([str(size.base)] if size.base else [])])


def _write(path: Path, data: bytes) -> None:
    try:
        write_whole(path, lambda part: part.write_bytes(data))
    except OSError as e:
        rule = f"can't be written: {e.strerror or e}: choose another path or free some space"
        raise OnnxError(f"export({str(path)!r}): {rule}") from None
