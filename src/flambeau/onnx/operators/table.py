"""The table of operators: one function per name, domain and first opset."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Operator:
    """A row. Inputs are positional, None if omitted; attributes are keywords with ONNX's names."""

    name: str
    domain: str
    since: int
    function: Callable[..., Any]
    numbers: tuple[str, ...] = ()  # inputs that arrive as Python numbers and lists
    places: bool = False  # it only moves elements: for an array it receives the flat indices of the elements
    moves: bool = True  # inputs are moved to one device
    optional: bool = False  # inputs without a default may be omitted too
    arrays: bool = False  # takes NumPy arrays of dtypes that no device has (strings, 8-bit floats)
    sized_by_values: bool = False  # output sizes depend on elements of inputs that are not in `numbers`
    inputs: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None  # None: any number
    attributes: frozenset[str] | None = None  # None: any name
    takes_node: bool = False
    needs: frozenset[str] = field(default_factory=frozenset[str])  # attributes without a default


TABLE: dict[tuple[str, str], list[Operator]] = {}


def operator(*names: str, since: int = 1, domain: str = "", **options: Any) -> Callable[[F], F]:
    """Declare a function as the operator of these names, beginning with opset `since`.

    options: numbers="shape" (or several names): these parameters arrive as Python lists or numbers.
    arrays=True: NumPy arrays (of strings and of dtypes that no device has) arrive unchanged; without it
    they raise an error. places=True: the operator only moves elements; for an array it receives the flat
    indices of the elements, and the elements at the resulting indices are the output.
    moves=False: inputs stay on their devices. optional=True: any input may be omitted.
    sized_by_values=True: output sizes depend on elements of inputs that are not in `numbers`.
    """
    numbers = options.pop("numbers", ())
    options["numbers"] = (numbers,) if isinstance(numbers, str) else tuple(numbers)

    def enter(function: F) -> F:
        for name in names:
            rows = TABLE.setdefault((domain, name), [])
            rows.append(Operator(name, domain, since, function, **options, **_read_signature(function)))
            rows.sort(key=lambda row: row.since)
        return function

    return enter


def _read_signature(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the fields of Operator that follow from a function's signature."""
    parameters = inspect.signature(function).parameters.values()
    inputs = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "node"]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    return {
        "inputs": tuple(p.name for p in inputs),
        "least": sum(p.default is p.empty for p in inputs),
        "most": None if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(inputs),
        "attributes": None if takes_any else frozenset(p.name for p in named),
        "takes_node": any(p.name == "node" for p in parameters),
        "needs": frozenset(p.name for p in named if p.default is p.empty),
    }


def rows_of(domain: str, name: str) -> list[Operator]:
    """Return all rows of an operator, oldest first."""
    from . import load

    load()
    return TABLE.get((domain, name), [])


def find(domain: str, name: str, opset: int) -> Operator | None:
    """Return the row of an operator at an opset: the newest one that is not newer."""
    return next((row for row in reversed(rows_of(domain, name)) if row.since <= opset), None)
