"""Names of dims in an export: named examples, and the names of results as denotations."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.tree import Branch, is_dict, is_sequence


class NamedCall:
    """A model called with plain tensors, which get the names of the examples. It remembers the names of its
    results."""

    def __init__(self, model: Any, examples: Sequence[Any]):
        self.model, self.examples = model, examples
        self.results: list[Any] = []
        self.is_needed = any(isinstance(e, Branch) for e in examples)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)  # a trace puts a module in the mode of inference

    def __call__(self, *tensors: Any) -> Any:
        pairs = zip(self.examples, tensors, strict=True)
        result = self.model(*(e.with_parts([t]) if isinstance(e, Branch) else t for e, t in pairs))
        self.results = _names_of(result)
        return _plain(result)

    def input_dims(self, i: int) -> dict[str, Any]:
        """The denotation of an input, as an argument of onnx's helper."""
        return _denotation(_static(self.examples[i]))

    def result_dims(self, i: int) -> dict[str, Any]:
        """The denotation of a result."""
        return _denotation(self.results[i] if i < len(self.results) else ())


def _static(value: Any) -> Any:
    return value.static() if isinstance(value, Branch) else ()


def _plain(result: Any) -> Any:
    """A result with plain tensors."""
    if is_dict(result):
        return {key: _plain(part) for key, part in result.items()}
    if is_sequence(result):
        return [_plain(part) for part in result]
    return result.parts()[0] if isinstance(result, Branch) else result


def _names_of(result: Any) -> list[Any]:
    """The names of each tensor of a result, in the order of its leaves."""
    if is_dict(result) or is_sequence(result):
        parts = result.values() if is_dict(result) else result
        return [names for part in parts for names in _names_of(part)]
    return [_static(result)]


def _denotation(names: Any) -> dict[str, Any]:
    return {"shape_denotation": list(names)} if names else {}


def dynamic_places(dynamic: Any, examples: Mapping[str, Any]) -> Any:
    """`dynamic` with places in place of the names of dims.

    Raises IndexError for an unknown name.
    """
    if not is_dict(dynamic):
        return dynamic
    return {
        name: {_place(dim, name, examples): s for dim, s in dims.items()} if is_dict(dims) else dims
        for name, dims in dynamic.items()
    }


def _place(dim: Any, name: str, examples: Mapping[str, Any]) -> Any:
    if not isinstance(dim, str):
        return dim
    known = _static(examples.get(name))
    if dim not in known:
        rule = f"use one of {', '.join(map(repr, known))}" if known else "pass a named tensor, or positions"
        raise IndexError(f"export(dynamic=...): no dim of {name!r} is named {dim!r}: {rule}")
    return known.index(dim)
