"""The table of operators: a function a row, by name, domain and the opset that it begins with."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Operator:
    """A row. Inputs are positional, None where left out; attributes are keywords, by ONNX's names."""

    name: str
    domain: str
    since: int
    function: Callable[..., Any]
    numbers: tuple[str, ...] = ()  # inputs that are handed over as Python's numbers and lists
    places: bool = False  # whether it only moves elements: of arrays it is given places, and these are taken
    moves: bool = True  # whether its inputs are brought to one device
    optional: bool = False  # whether inputs without a default may be left out all the same
    arrays: bool = False  # whether it takes what no device holds (strings, 8-bit floats), as NumPy arrays
    sized_by_values: bool = (
        False  # whether sizes of its outputs depend on elements of inputs beside `numbers`
    )
    inputs: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None  # None: any number
    attributes: frozenset[str] | None = None  # None: any name
    takes_node: bool = False
    needs: frozenset[str] = field(default_factory=frozenset)  # attributes without a default


TABLE: dict[tuple[str, str], list[Operator]] = {}


def operator(*names: str, since: int = 1, domain: str = "", **how: Any) -> Callable:
    """Enter a function for the operators of these names, from an opset on.

    how: numbers="shape" (or several names): these parameters arrive as lists or numbers of Python.
    arrays=True: NumPy arrays (of strings and of dtypes that no device has) arrive as they are; without it
    they are refused. places=True: it only moves elements, so arrays are done by the places of theirs.
    moves=False: inputs stay on their devices. optional=True: any input may be left out.
    sized_by_values=True: sizes of outputs depend on elements of other inputs than `numbers`.
    """
    numbers = how.pop("numbers", ())
    how["numbers"] = (numbers,) if isinstance(numbers, str) else tuple(numbers)

    def enter(function: Callable) -> Callable:
        for name in names:
            rows = TABLE.setdefault((domain, name), [])
            rows.append(Operator(name, domain, since, function, **how, **_read(function)))
            rows.sort(key=lambda row: row.since)
        return function

    return enter


def _read(function: Callable) -> dict[str, Any]:
    """What a function's signature says of the operator."""
    given = inspect.signature(function).parameters.values()
    inputs = [p for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = [p for p in given if p.kind is p.KEYWORD_ONLY and p.name != "node"]
    return {
        "inputs": tuple(p.name for p in inputs),
        "least": sum(p.default is p.empty for p in inputs),
        "most": None if any(p.kind is p.VAR_POSITIONAL for p in given) else len(inputs),
        "attributes": None
        if any(p.kind is p.VAR_KEYWORD for p in given)
        else frozenset(p.name for p in named),
        "takes_node": any(p.name == "node" for p in given),
        "needs": frozenset(p.name for p in named if p.default is p.empty),
    }


def rows_of(domain: str, name: str) -> list[Operator]:
    """All rows of an operator, oldest first."""
    from . import load

    load()
    return TABLE.get((domain, name), [])


def find(domain: str, name: str, opset: int) -> Operator | None:
    """The row of an operator at an opset: the newest that is no newer."""
    return next((row for row in reversed(rows_of(domain, name)) if row.since <= opset), None)
