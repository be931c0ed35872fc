"""Draws the results of a run with matplotlib: curves, rates, a confusion matrix, worst items."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from importlib import import_module
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.files import write_whole
from ..errors import FlambeauError
from .history import TEXT_PICTURES

if TYPE_CHECKING:
    from .interpret import Interpretation, Item
    from .lr_find import LearningRates

INK, FAINT, LINE = "#1f2430", "#5c6474", "#e8eaf0"
BLUE, RED, ORANGE = "#2f6fde", "#c62b25", "#c96f06"
COLOURS = {"train": BLUE, "valid": ORANGE}
ACROSS = 3  # charts or images in a row
WRITTEN = 20  # a matrix of more classes has no counts written in its cells
MARKED = 40  # a curve of more epochs has no marks


class Picture:
    """A drawing: a notebook displays it, `save` writes it as PNG. `figure` is matplotlib's Figure."""

    def __init__(self, figure: Any):
        self.figure = figure

    def save(self, path: str | Path) -> None:
        """Write the picture as PNG. FlambeauError if the file can't be written."""
        try:
            write_whole(Path(path), lambda part: self.figure.savefig(part, format="png"))
        except OSError as e:
            rule = f"cannot be written ({e.strerror or e}): choose another folder"
            raise FlambeauError(f"save({str(path)!r}): {rule}") from None

    def show(self) -> None:
        """Show the picture in a notebook; elsewhere print how to write it."""
        import_module(TEXT_PICTURES).show(self)

    def _repr_png_(self) -> bytes:
        """Return the PNG, which notebooks display."""
        data = io.BytesIO()
        self.figure.savefig(data, format="png")
        return data.getvalue()

    def __repr__(self) -> str:
        wide, high = (round(side * self.figure.dpi) for side in self.figure.get_size_inches())
        return f"Picture({wide} x {high} pixels): save(path) writes it"


def new_figure(call: str, wide: float, high: float) -> Any:
    """Return an empty figure of this many inches. FlambeauError, with the call, without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        rule = "matplotlib is not installed: pip install 'flambeau[train]'"
        raise FlambeauError(f"{call}: {rule}") from None
    figure: Any = Figure(figsize=(wide, high), dpi=110, facecolor="white", layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)  # inches
    # Not pyplot, which has global state and may open a display.
    FigureCanvasAgg(figure)
    return figure


def heading(axes: Any, text: str) -> None:
    """Set the title at the left, and remove frames and ticks."""
    axes.set_title(text, loc="left", color=INK, fontsize=12.5, weight="bold", pad=9)
    plain(axes)


def plain(axes: Any) -> None:
    """Remove the frame and the ticks."""
    axes.spines[:].set_visible(False)
    axes.tick_params(which="both", length=0, colors=FAINT)


def draw_history(curves: dict[str, dict[str, list[tuple[float, float]]]]) -> Picture:
    """Draw a chart for each metric, with a curve for each split. curves: {metric: {split: points}}."""
    across = min(len(curves), ACROSS)
    down = ceil(len(curves) / ACROSS)
    figure = new_figure("history.plot()", 4.6 * across, 3.3 * down)
    for place, (metric, by_split) in enumerate(curves.items(), 1):
        axes = figure.add_subplot(down, across, place)
        for split, points in by_split.items():
            epochs, values = zip(*points, strict=True)
            marker = "o" if len(points) <= MARKED else ""
            axes.plot(epochs, values, color=COLOURS[split], marker=marker, markersize=4, label=split)
        heading(axes, metric)
        axes.set_xlabel("epoch", color=FAINT)
        axes.grid(axis="y", color=LINE, linewidth=0.8)
        axes.locator_params(axis="x", integer=True)
        axes.legend(frameon=False, labelcolor=INK)
    return Picture(figure)


def draw_rates(rates: LearningRates) -> Picture:
    """Draw the losses of a search over the learning rates, and the suggested rate."""
    figure = new_figure("lr_find(...).plot()", 6.4, 3.8)
    axes = figure.add_subplot()
    axes.plot(rates.rates, rates.losses, color=BLUE, alpha=0.28, linewidth=0.8, label="each step")
    axes.plot(rates.rates, rates.smoothed, color=BLUE, linewidth=2, label="smoothed")
    if rates.suggestion is not None:
        place = rates.rates.index(rates.suggestion)
        label = f"suggestion: {rates.suggestion:.2g}"
        axes.plot(rates.suggestion, rates.smoothed[place], "o", color=ORANGE, markersize=8, label=label)
    heading(axes, "Loss by learning rate")
    axes.set_xscale("log")
    low, high = min(rates.losses), max(rates.smoothed)
    axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))  # without a last loss far above
    axes.set_xlabel("learning rate", color=FAINT)
    axes.grid(axis="y", color=LINE, linewidth=0.8)
    axes.legend(frameon=False, labelcolor=INK)
    return Picture(figure)


def draw_matrix(seen: Interpretation) -> Picture:
    """Draw the confusion matrix of a classifier."""
    side = max(4.0, min(0.42 * seen.classes + 1.6, 14.0))
    figure = new_figure("plot_confusion()", side, side)
    draw_confusion(figure.add_subplot(), np.asarray(seen.confusion()), seen.names)
    return Picture(figure)


def draw_confusion(axes: Any, counts: np.ndarray, names: Sequence[str]) -> None:
    """Draw counts [true, predicted], shaded by their fraction of the row, so that class sizes do not
    matter."""
    classes = len(names)
    # A class without items has a row of 0, not of NaN.
    share = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    diagonal = np.eye(classes, dtype=bool)
    shade: Any = np.sqrt(share)  # the square root keeps a single mistake visible
    shade[diagonal] = share[diagonal]
    # Two layers with separate colours; NaN is transparent.
    axes.imshow(np.where(diagonal, shade, np.nan), cmap="Blues", vmin=0, vmax=1.25)
    axes.imshow(np.where(diagonal | (counts == 0), np.nan, shade), cmap="Reds", vmin=0, vmax=1)
    for true, predicted in np.ndindex(classes, classes) if classes <= WRITTEN else ():
        count = counts[true, predicted]
        colour = "#d4d7df" if not count else "white" if shade[true, predicted] > 0.55 else INK
        text = f"{count:,}" if count else "·"
        axes.text(predicted, true, text, ha="center", va="center", fontsize=10.5, color=colour)
    axes.set_anchor("N")
    is_long = max(map(len, names)) > 2
    axes.set_xticks(range(classes), names, rotation=90 if is_long else 0)
    axes.set_yticks(range(classes), names)
    axes.set_xlabel("predicted", color=FAINT)
    axes.set_ylabel("true", color=FAINT)
    heading(axes, "Confusion matrix")


def draw_worst(
    items: list[tuple[Item, Any]], names: Sequence[str], image_of: Callable[[Any], Any] | None
) -> Picture:
    """Draw the images of items, with prediction, target, loss and probability of the prediction."""
    across = min(len(items), ACROSS)
    down = ceil(len(items) / across)
    figure = new_figure("plot_top_losses()", 2.4 * across, 2.9 * down)
    for place, (item, value) in enumerate(items, 1):
        axes = figure.add_subplot(down, across, place)
        image = image_from(value) if image_of is None else image_of(value)
        axes.imshow(image, cmap="gray", interpolation="nearest")
        axes.set_axis_off()
        is_wrong = item.prediction != item.target
        text = f"{names[item.prediction]}{f', not {names[item.target]}' if is_wrong else ''}"
        axes.set_title(text, color=RED if is_wrong else INK, fontsize=11.5, weight="bold", pad=16)
        detail = f"loss {item.loss:.2f}, sure {item.probability:.0%}, item {item.index}"
        axes.text(0.5, 1.02, detail, transform=axes.transAxes, ha="center", fontsize=8.5, color=FAINT)
    return Picture(figure)


def image_from(value: Any) -> np.ndarray:
    """Return an input of a model, [h, w], [c, h, w] or [h, w, c] of 1 or 3 channels, as an image."""
    array: Any = np.asarray(value, "f4") if value is not None else np.zeros(())
    if array.ndim == 3 and array.shape[0] in (1, 3) and array.shape[2] not in (1, 3):
        array = array.transpose(1, 2, 0)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[..., 0]
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] != 3):
        shown = "no tensors" if value is None else f"arrays {list(np.shape(value))}"
        rule = "pass image_of=, which converts one to [h, w] or [h, w, 3]"
        raise ValueError(f"plot_top_losses(): the model's inputs are {shown}, not images: {rule}")
    low, high = array.min(), array.max()
    return (array - low) / ((high - low) or 1)
