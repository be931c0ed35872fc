"""The op test table: one row for each entry of the op table, from the tables of the modules here."""

from importlib import import_module
from pathlib import Path

from .row import In, Row, binary, unary


def tables() -> dict[str, dict[str, Row]]:
    """Every table of rows of every module, by its name."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem[0] != "_")
    found = {}
    for module in (import_module(f"{__name__}.{name}") for name in names):
        for name, value in vars(module).items():
            if isinstance(value, dict) and value and all(isinstance(row, Row) for row in value.values()):
                found[name] = value
    return found


TABLES = tables()
ROWS: dict[str, Row] = {name: row for table in TABLES.values() for name, row in table.items()}
for table in TABLES.values():
    assert all(ROWS[name] is row for name, row in table.items()), "an op has two rows"

ELEMENTWISE: dict[str, Row] = {
    name: row
    for table in ("ELEMENTWISE", "ACTIVATION", "NUMERIC", "SPECIAL")
    for name, row in TABLES[table].items()
}
SOURCE = TABLES["SOURCE"]
# the dtype of their results is not that of an input (factors and spectra of 16-bit floats are float32)
FREE = [name for table in ("CREATION", "FOURIER", "LINALG", "RANDOM", "SOURCE") for name in TABLES[table]]

__all__ = ["ELEMENTWISE", "FREE", "ROWS", "SOURCE", "In", "Row", "binary", "unary"]
