"""One-node ONNX models with inputs drawn by their name: what flambeau.onnx and ONNX Runtime both compute."""

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ML, MS = "ai.onnx.ml", "com.microsoft"


@dataclass(frozen=True)
class Case:
    """A call of an operator. inputs: arrays or functions of a generator; None is left out."""

    op: str
    inputs: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    domain: str = ""
    outputs: tuple[str, ...] = ("y",)  # "" is left out
    opset: int = 22
    tolerance: float = 1e-5

    @property
    def name(self) -> str:
        given = ",".join(f"{k}={v}" for k, v in self.attributes.items() if isinstance(v, int | str | float))
        return f"{self.op}({given})"

    def arrays(self) -> list[np.ndarray | None]:
        rng = np.random.default_rng(zlib.crc32(f"{self.op}{self.attributes}".encode()))
        return [v(rng) if callable(v) else v for v in self.inputs]

    def model(self, arrays: list) -> Any:
        """The model of one node, as onnx has it."""
        from onnx import helper

        names = [f"i{k}" if v is not None else "" for k, v in enumerate(arrays)]
        node = helper.make_node(self.op, names, list(self.outputs), domain=self.domain, **self.attributes)
        ins = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
            for n, v in zip(names, arrays, strict=True)
            if n
        ]
        outs = [helper.make_empty_tensor_value_info(n) for n in self.outputs if n]
        opsets = [helper.make_opsetid("", self.opset)]
        opsets += [helper.make_opsetid(self.domain, {ML: 3, MS: 1}[self.domain])] if self.domain else []
        graph = helper.make_graph([node], "g", ins, outs)
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def f(*shape: int, low: float = -1.0, high: float = 1.0) -> Any:
    """Floats."""
    return lambda rng: rng.uniform(low, high, shape).astype(np.float32)


def i(*shape: int, low: int = 0, high: int = 8, dtype: str = "int64") -> Any:
    """Whole numbers."""
    return lambda rng: rng.integers(low, high, shape).astype(dtype)


def u8(*shape: int) -> Any:
    return i(*shape, high=256, dtype="uint8")


def of(value: Any, dtype: str = "float32") -> np.ndarray:
    """Given numbers."""
    return np.array(value, dtype)


def text(*values: str) -> np.ndarray:
    return np.array(values, object)
