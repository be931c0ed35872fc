"""The values of a run's epochs, as a list of rows that can be plotted."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import FlambeauError

if TYPE_CHECKING:
    from ..pictures import Curves
    from .pictures import Picture

Row = dict[str, float]
# Imported by name and when something is drawn: a page, and a server that trains, have no matplotlib.
PICTURES, TEXT_PICTURES = "flambeau.learner.pictures", "flambeau.pictures"
SPLITS = ("train", "valid")


class History(list[Row]):
    """The rows of a run, one an epoch: {"epoch": 1, "step": 100, "train_loss": 0.7, "valid_loss": 0.8}."""

    def curves(self) -> dict[str, dict[str, list[tuple[float, float]]]]:
        """Return the (epoch, value) points of each metric by its name and its split, the loss first."""
        curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
        for row in self:
            for name, value in row.items():
                split, _, metric = name.partition("_")
                if split in SPLITS and metric:
                    points = curves.setdefault(metric, {}).setdefault(split, [])
                    points.append((row["epoch"], value))
        return curves

    def plot(self, *names: str) -> Picture | Curves:
        """Draw the metrics over the epochs, training and validation in one chart for each metric.

        names: such as "loss" and "accuracy"; none: all. A notebook shows the result, `save(path)` writes it.
        Without matplotlib, as in the Playground, the result is a `flambeau.pictures.Curves` with all curves
        in one chart; `show()` shows either. ValueError for a history without epochs and for an unknown name.
        """
        curves = self.curves()
        if not curves:
            raise ValueError("history.plot(): it has no epochs: call fit(...) first")
        unknown = [name for name in names if name not in curves]
        if unknown:
            rule = f"the history has no such metric: use one of {', '.join(curves)}"
            raise ValueError(f"history.plot({unknown[0]!r}): {rule}")
        chosen = {name: curves[name] for name in names or curves}
        try:
            return import_module(PICTURES).draw_history(chosen)
        except (ImportError, FlambeauError):  # a page has neither NumPy nor matplotlib
            lines = {f"{split} {name}": points for name in chosen for split, points in chosen[name].items()}
            return import_module(TEXT_PICTURES).Curves(lines)
