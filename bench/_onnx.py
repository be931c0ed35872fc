"""Turns the network of `flambeau mnist` into an .onnx file, by the few fields of its protobuf that it takes.

Field numbers: onnx/onnx.proto3 of github.com/onnx/onnx.
"""

from collections.abc import Mapping, Sequence

import numpy as np

FLOAT, INT, INTS = 1, 2, 7  # TensorProto.FLOAT; AttributeProto.INT and INTS
OPSET = 17


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | str | bytes) -> bytes:
    """One field: an integer, or text and messages with their length before them."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(name: str, value: int | Sequence[int]) -> bytes:
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, INT)
    return field(1, name) + b"".join(field(8, v) for v in value) + field(20, INTS)


def node(op: str, reads: Sequence[str], writes: str, **attributes: int | Sequence[int]) -> bytes:
    parts = [field(1, name) for name in reads] + [field(2, writes), field(4, op)]
    return b"".join(parts + [field(5, attribute(name, value)) for name, value in attributes.items()])


def tensor(name: str, value: np.ndarray) -> bytes:
    dims = b"".join(field(1, n) for n in value.shape)
    return dims + field(2, FLOAT) + field(8, name) + field(9, value.astype("<f4").tobytes())


def described(name: str, shape: Sequence[int | str]) -> bytes:
    """An input or output; names among the sizes are open."""
    dims = b"".join(field(1, field(1 if isinstance(n, int) else 2, n)) for n in shape)
    return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, dims)))


def digits(weights: Mapping[str, np.ndarray]) -> bytes:
    """The network of `flambeau mnist`, from its state by name. [N, 1, 28, 28] -> [N, 10]"""
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        node("Conv", ["x", "0.weight", "0.bias"], "a", kernel_shape=[5, 5]),
        node("Relu", ["a"], "b"),
        node("MaxPool", ["b"], "c", **pool),
        node("Conv", ["c", "3.weight", "3.bias"], "d", kernel_shape=[5, 5]),
        node("Relu", ["d"], "e"),
        node("MaxPool", ["e"], "f", **pool),
        node("Flatten", ["f"], "g", axis=1),
        node("Gemm", ["g", "7.weight", "7.bias"], "y", transB=1),
    ]
    graph = b"".join(field(1, n) for n in nodes) + field(2, "digits")
    graph += b"".join(field(5, tensor(name, value)) for name, value in weights.items())
    graph += field(11, described("x", ["N", 1, 28, 28])) + field(12, described("y", ["N", 10]))
    return field(1, 8) + field(8, field(1, "") + field(2, OPSET)) + field(7, graph)
