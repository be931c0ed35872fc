"""Tables: missing values, categories, dates and scales, as parts that save with the model."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..core import dtype as dt
from ..core.tree import is_list, is_mapping
from ..data import Subset, TensorDataset
from ..errors import FlambeauError, suggest
from ..functions import cat, tensor
from ..io.checkpoint import load_model_state
from ..nn import BatchNorm1d, Dropout, Embedding, Linear, Module, ModuleList, ReLU, Sequential
from ..tensor import Tensor

Column = Any  # an array of NumPy
Frame = dict[str, Column]


class TablePart:
    """A step of a TableEncoder: `fit` learns from a training table, and `apply` changes columns by that.

    columns: the names that it changes. `state` is the fitted state as JSON values.
    """

    def __init__(self, columns: Sequence[str]):
        self.columns = [columns] if isinstance(columns, str) else list(columns)
        self.state: dict[str, Any] = {}

    def fit(self, frame: Frame) -> None:
        """Learn from the columns of a table."""
        self.state = {name: self.learn(column_of(self, frame, name)) for name in self.columns}

    def apply(self, frame: Frame) -> Frame:
        """Return the table with its columns changed."""
        for name in self.columns:
            frame = frame | self.change(name, column_of(self, frame, name), self.state.get(name))
        return frame

    def learn(self, column: Column) -> Any:
        """Return the state that follows from a column of the training table."""
        raise NotImplementedError

    def change(self, name: str, column: Column, learned: Any) -> Frame:
        """Return the columns that replace one, by name."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.columns})"


class FillMissing(TablePart):
    """Fill missing numbers with the column's median in the training table.

    columns: the names. A column with missing numbers there gets another beside it, NAME_missing, of 0 and 1.
    """

    def learn(self, column: Column) -> Any:
        import numpy as np

        numbers = as_numbers(column)
        is_missing = np.isnan(numbers)
        median = float(np.median(numbers[~is_missing])) if not is_missing.all() else 0.0
        return {"median": median, "marked": bool(is_missing.any())}

    def change(self, name: str, column: Column, learned: Any) -> Frame:
        import numpy as np

        numbers = as_numbers(column)
        is_missing = np.isnan(numbers)
        mark: Frame = {f"{name}_missing": is_missing.astype("f4")} if learned["marked"] else {}
        filled: Frame = {name: np.where(is_missing, learned["median"], numbers)}
        return filled | mark


class Normalize(TablePart):
    """Subtract the mean of the training table's numbers, and divide by their standard deviation.

    columns: the names.
    """

    def learn(self, column: Column) -> Any:
        import numpy as np

        numbers = as_numbers(column)
        present = numbers[~np.isnan(numbers)]
        mean, std = (float(present.mean()), float(present.std())) if len(present) else (0.0, 1.0)
        return {"mean": mean, "std": std or 1.0}

    def change(self, name: str, column: Column, learned: Any) -> Frame:
        return {name: (as_numbers(column) - learned["mean"]) / learned["std"]}


class Categorify(TablePart):
    """Replace values with the numbers of the training table's, from 1; 0 is missing or unknown.

    columns: the names.
    """

    def learn(self, column: Column) -> Any:
        return sorted({text for value in column if (text := text_of(value)) is not None})

    def change(self, name: str, column: Column, learned: Any) -> Frame:
        import numpy as np

        numbers = {text: i for i, text in enumerate(learned, 1)}
        return {name: np.array([numbers.get(text_of(value), 0) for value in column], "i4")}


class DateParts(TablePart):
    """Replace dates with numbers: NAME_year, _month, _day, _weekday (0: Monday), _yearday and _elapsed, the
    seconds since 1970; NaN for missing ones.

    columns: the names.
    """

    def learn(self, column: Column) -> Any:
        return None

    def change(self, name: str, column: Column, learned: Any) -> Frame:
        import numpy as np

        try:
            cells = column if column.dtype.kind == "M" else [text_of(v) or "NaT" for v in column]
            days = np.asarray(cells, "M8[s]")
        except ValueError as e:
            raise ValueError(f"DateParts([{name!r}]): {e}: pass dates such as 2026-01-31") from None
        years, months, dates = (days.astype(f"M8[{unit}]") for unit in "YMD")
        parts = {
            "year": years.astype("i8") + 1970,
            "month": (months - years).astype("i8") + 1,
            "day": (dates - months).astype("i8") + 1,
            "weekday": (dates.astype("i8") + 3) % 7,  # 1970 began with a Thursday
            "yearday": (dates - years).astype("i8") + 1,
            "elapsed": days.astype("i8"),
        }
        is_missing = np.isnat(days)
        return {f"{name}_{part}": np.where(is_missing, np.nan, v) for part, v in parts.items()}


class TableEncoder(Module):
    """Turns rows of a table into (categories, numbers): int32 [n, c] and float32 [n, k].

    parts: applied in order, such as [DateParts(["born"]), FillMissing(["age"]), Categorify(["city"]),
    Normalize(["age"])]; categories, numbers: the columns of the results, by default those of Categorify, and
    those of FillMissing, Normalize and DateParts with the columns that they add. The fitted state is part of
    state_dict, so it is saved with a model that holds the encoder.
    """

    def __init__(
        self,
        parts: Sequence[TablePart],
        categories: Sequence[str] | None = None,
        numbers: Sequence[str] | None = None,
    ):
        self.parts, self.categories, self.numbers = list(parts), categories, numbers
        self.columns: tuple[list[str], list[str]] | None = None  # of the results; None before fit

    def fit(self, rows: Any) -> TableEncoder:
        """Learn from the training rows: a Columns, a dict of columns, a list of dicts, a data frame, or a
        Subset of one, which `data.random_split` returns."""
        frame, before = frame_of(rows), set[str]()
        for part in self.parts:
            part.fit(frame)
            before = set(frame)
            frame = part.apply(frame)
            part.state["added"] = [name for name in frame if name not in before]
        chosen = [name for p in self.parts if isinstance(p, Categorify) for name in p.columns]
        categories = list(self.categories) if self.categories is not None else unique(chosen)
        others = [p for p in self.parts if not isinstance(p, Categorify)]
        named = unique(
            n for p in others for n in (*([] if isinstance(p, DateParts) else p.columns), *p.state["added"])
        )
        numbers = list(self.numbers) if self.numbers is not None else named
        self.columns = categories, [name for name in numbers if name not in categories]
        return self

    @property
    def sizes(self) -> list[int]:
        """The number of values of each category column, with 0 for missing ones."""
        sizes_of = {
            name: len(p.state[name]) + 1
            for p in self.parts
            if isinstance(p, Categorify)
            for name in p.columns
        }
        return [sizes_of[name] for name in self.fitted_columns()[0]]

    def forward(self, rows: Any) -> tuple[Tensor, Tensor]:
        """Return the categories [n, c] and the numbers [n, k] of rows."""
        import numpy as np

        categories, numbers = self.fitted_columns()
        frame = frame_of(rows)
        for part in self.parts:
            frame = part.apply(frame)
        count = len(next(iter(frame.values())))
        codes = [np.asarray(column_of(self, frame, name), "i4") for name in categories]
        values = [as_numbers(column_of(self, frame, name)).astype("f4") for name in numbers]
        stacked = [
            np.stack(v, 1) if v else np.zeros((count, 0), t) for v, t in ((codes, "i4"), (values, "f4"))
        ]
        return tensor(stacked[0]), tensor(stacked[1])

    def dataset(self, rows: Any, target: str) -> TensorDataset:
        """Return ((categories, numbers), target) items for a loader; target: a column of numbers, or one that
        Categorify has turned into them, whose classes then count from 0."""
        import numpy as np

        frame = frame_of(rows)
        categories, numbers = self(frame)
        values = column_of(self, frame, target)
        if values.dtype.kind in "OUS":
            classes = sorted({text_of(v) or "" for v in values})
            values = np.array([classes.index(text_of(v) or "") for v in values], "i8")
        targets = values.astype("f4") if values.dtype.kind == "f" else values.astype("i8")
        return TensorDataset(categories, numbers, tensor(targets))

    def get_extra_state(self) -> Tensor:
        """The fitted state as bytes of JSON."""
        state = {"columns": self.columns, "parts": [part.state for part in self.parts]}
        return bytes_of(state)

    def set_extra_state(self, state: Any) -> None:
        """Take what get_extra_state returned. ValueError if it has other parts."""
        saved = json_of(state)
        if len(saved["parts"]) != len(self.parts):
            rule = f"it has {len(self.parts)} parts, the state {len(saved['parts'])}: use the same parts"
            raise ValueError(f"TableEncoder.set_extra_state(...): {rule}")
        self.columns = None if saved["columns"] is None else (saved["columns"][0], saved["columns"][1])
        for part, learned in zip(self.parts, saved["parts"], strict=True):
            part.state = learned

    def fitted_columns(self) -> tuple[list[str], list[str]]:
        """Return the names of the categories and of the numbers; ValueError before `fit`."""
        if self.columns is None:
            raise ValueError("TableEncoder: it has learned nothing yet: call fit(rows), or load a state")
        return self.columns

    def extra_repr(self) -> str:
        return ", ".join(map(repr, self.parts))


class TabularModel(Module):
    """An embedding for each category column and batch norm for the numbers, before linear layers.

    encoder: a fitted TableEncoder, which saves with the model; outputs: the size of the result; hidden: sizes
    of the layers; dropout: between them. An embedding of a column with n values has min(600, 1.6 n^0.56)
    numbers (fastai's rule). The call takes the categories [n, c] and the numbers [n, k]. -> [n, outputs]
    `TabularModel.from_file(path)` rebuilds a saved one, without the table.
    """

    def __init__(
        self,
        encoder: TableEncoder,
        outputs: int,
        hidden: Sequence[int] = (200, 100),
        dropout: float = 0.0,
    ):
        self.encoder = encoder
        self._sizes = {"outputs": outputs, "hidden": list(hidden), "dropout": dropout}
        widths = [min(600, round(1.6 * n**0.56)) for n in encoder.sizes]
        self.embeddings = ModuleList([Embedding(n, w) for n, w in zip(encoder.sizes, widths, strict=True)])
        count = len(encoder.fitted_columns()[1])
        self.norm = BatchNorm1d(count) if count else None
        layers: list[Module] = []
        width = sum(widths) + count
        for size in hidden:
            layers += [
                Linear(width, size),
                ReLU(),
                BatchNorm1d(size),
                *([Dropout(dropout)] if dropout else []),
            ]
            width = size
        self.layers = Sequential(*layers, Linear(width, outputs))

    def forward(self, categories: Tensor, numbers: Tensor) -> Tensor:
        """Compute the outputs. -> [n, outputs]"""
        parts = [embed(categories[:, i]) for i, embed in enumerate(self.embeddings)]
        parts += [self.norm(numbers)] if self.norm is not None else []
        return self.layers(cat(parts, 1))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> TabularModel:
        """Rebuild a saved model with its encoder, in eval mode.

        path: a file of `save`, or a checkpoint of a Learner. FlambeauError for a file of another model, and
        for a part that is not one of this module's classes or a subclass of TablePart that is defined.
        """
        state = load_model_state(path)
        if not is_mapping(state) or not state.keys() >= {SIZES, FITTED}:
            rule = "it holds no TabularModel: pass a file of its save(...)"
            raise FlambeauError(f"from_file({str(path)!r}): {rule}")
        kinds, sizes = dict(_part_kinds(TablePart)), json_of(state[SIZES])
        unknown = [kind for kind, _ in sizes["parts"] if kind not in kinds]
        if unknown:
            rule = f"the class of its part {unknown[0]} is not defined: import it first"
            raise FlambeauError(f"from_file({str(path)!r}): {rule}")
        parts = [kinds[kind](columns) for kind, columns in sizes["parts"]]
        encoder = TableEncoder(parts, sizes["categories"], sizes["numbers"])
        encoder.set_extra_state(state[FITTED])
        model = cls(encoder, sizes["outputs"], sizes["hidden"], sizes["dropout"])
        model.load_state_dict(state)
        return model.eval()

    def get_extra_state(self) -> Tensor:
        """The arguments of the model and of its encoder, as the bytes of JSON."""
        e = self.encoder
        parts = [(type(part).__name__, part.columns) for part in e.parts]
        return bytes_of(self._sizes | {"parts": parts, "categories": e.categories, "numbers": e.numbers})

    def set_extra_state(self, state: Any) -> None:
        """Accept what get_extra_state returned; shapes of layers are compared by load_state_dict."""


SIZES, FITTED = "_extra_state", "encoder._extra_state"  # of a TabularModel's state_dict


def _part_kinds(kind: type[TablePart]) -> Iterator[tuple[str, type[TablePart]]]:
    """Yield all subclasses with their names."""
    for other in kind.__subclasses__():
        yield other.__name__, other
        yield from _part_kinds(other)


def bytes_of(value: Mapping[str, Any]) -> Tensor:
    """Return values of JSON as a tensor of bytes, which any file of tensors holds."""
    return tensor(list(json.dumps(value).encode()), dtype=dt.uint8, device="cpu")


def json_of(state: Any) -> Any:
    """Return the values of `bytes_of`."""
    return json.loads(bytes(state.tolist()))


def frame_of(rows: Any) -> Frame:
    """Return a table's columns as arrays: of a Columns, a dict of columns, a list of dicts, a data frame, or
    a Subset of one."""
    import numpy as np

    if isinstance(rows, Subset):
        return {name: column[np.asarray(rows.indices)] for name, column in frame_of(rows.dataset).items()}
    named: Any = getattr(rows, "columns", rows)
    if is_list(rows):
        named = {name: [row.get(name) for row in rows] for name in (rows[0] if rows else ())}
    elif not is_mapping(named):  # a data frame: `columns` are its names
        named = {str(name): rows[name] for name in named}
    columns: dict[str, Any] = dict(named)
    return {name: v.to_numpy() if hasattr(v, "to_numpy") else np.asarray(v) for name, v in columns.items()}


def column_of(owner: Any, frame: Frame, name: str) -> Column:
    """Return a column; ValueError, with the known ones, if there is none of this name."""
    if name not in frame:
        rule = f"the table has no column {name!r}{suggest(name, frame)}: use one of {', '.join(frame)}"
        raise ValueError(f"{type(owner).__name__}: {rule}")
    return frame[name]


MISSING = {"", "na", "n/a", "nan", "none", "null", "?"}  # texts of missing cells


def text_of(value: Any) -> str | None:
    """Return a cell as a text; None if it is missing."""
    text = "" if value is None else str(value).strip()
    return None if text.lower() in MISSING else text


def as_numbers(column: Column) -> Column:
    """Return a column as float64, with NaN for missing cells; ValueError for a cell that is not a number."""
    import numpy as np

    if column.dtype.kind in "biuf":
        return column.astype("f8")
    texts = [text_of(value) for value in column]
    try:
        return np.array([np.nan if text is None else float(text) for text in texts])
    except ValueError as e:
        raise ValueError(
            f"{e}: a column of numbers has another kind of value: use Categorify for it"
        ) from None


def unique(names: Iterable[str]) -> list[str]:
    """Return names without repeats, in order."""
    return list(dict.fromkeys(names))
