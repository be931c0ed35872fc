"""Draws mnist.png from a run's losses and predictions: loss curve, digits, confusion matrix."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flambeau.core.files import write_whole
from flambeau.errors import FlambeauError
from flambeau.learner.pictures import (
    BLUE,
    FAINT,
    INK,
    LINE,
    ORANGE,
    RED,
    draw_confusion,
    heading,
    new_figure,
    plain,
)

ROWS, COLUMNS = 5, 10
WRONG = 2 * COLUMNS  # the most mistakes among the digits
WIDE, HIGH = 37, 38  # pixels of a cell: a digit's 28 x 28, its caption below, and a margin


def draw_mnist(
    path: str | os.PathLike[str],
    losses: Sequence[float],
    accuracies: Sequence[float],
    images: np.ndarray,
    labels: np.ndarray,
    predictions: np.ndarray,
) -> None:
    """Write a PNG of `losses` [steps], `accuracies` [epochs] in 0..1 and test digits with their predictions.

    images [n, 28, 28] (or [n, 1, 28, 28], any range), labels [n] and predictions [n] of 0..9. FlambeauError
    if matplotlib is missing, or `path` can't be written.
    """
    labels, predictions = np.asarray(labels).astype(int), np.asarray(predictions).astype(int)
    images = np.asarray(images).reshape(-1, 28, 28)
    figure = new_figure(f"draw_mnist('{path}')", 13.6, 7.9)
    figure.set_layout_engine("none")  # the grid below has its own margins
    grid = figure.add_gridspec(
        2,
        2,
        width_ratios=(1, 1),
        height_ratios=(1, 1.3),
        left=0.045,
        right=0.985,
        top=0.845,
        bottom=0.05,
        wspace=0.17,
        hspace=0.3,
    )
    draw_title(figure, labels, predictions, len(losses))
    draw_losses(figure.add_subplot(grid[0, 0]), np.asarray(losses, float), np.asarray(accuracies, float))
    draw_digits(figure.add_subplot(grid[1, 0]), images, labels, predictions)
    draw_confusion(figure.add_subplot(grid[:, 1]), confusion(labels, predictions), list(map(str, range(10))))
    save(figure, Path(path))


def draw_title(figure: Any, labels: np.ndarray, predictions: np.ndarray, steps: int) -> None:
    accuracy = np.count_nonzero(labels == predictions) / len(labels)
    figure.text(0.03, 0.945, f"MNIST: test accuracy {accuracy:.2%}", color=INK, fontsize=21, weight="bold")
    wrong = f"{np.sum(labels != predictions):,} of them wrong"
    line = f"{steps:,} training steps in WGSL shaders, then {len(labels):,} test digits: {wrong}"
    figure.text(0.03, 0.914, line, color=FAINT, fontsize=12)


def draw_losses(axes: Any, losses: np.ndarray, accuracies: np.ndarray) -> None:
    steps = np.arange(1, len(losses) + 1)
    smooth = smoothed_mean(losses)
    lines = axes.plot(steps, losses, color=BLUE, alpha=0.28, linewidth=0.8, label="each step")
    lines += axes.plot(steps, smooth, color=BLUE, linewidth=2, label="smoothed")
    heading(axes, "Training loss")
    axes.set_xlabel("step", color=FAINT)
    axes.grid(axis="y", color=LINE, linewidth=0.8)
    axes.margins(x=0.01)
    axes.locator_params(axis="x", integer=True)
    if falls_far(smooth):
        log_scale(axes, losses)
    if len(accuracies):
        lines += draw_accuracies(axes.twinx(), len(losses), accuracies)
    axes.legend(
        handles=lines,
        loc="lower right",
        bbox_to_anchor=(1.02, 0.985),
        ncols=3,
        frameon=False,
        labelcolor=INK,
        fontsize=9.5,
        handlelength=1.4,
        columnspacing=1.4,
    )


def draw_accuracies(axes: Any, steps: int, accuracies: np.ndarray) -> list[Any]:
    """Plot accuracies on a second axis at the right, each at the step where its epoch ends."""
    x_steps = np.arange(1, len(accuracies) + 1) * steps / len(accuracies)
    marker = "o" if len(accuracies) <= 40 else ""
    lines = axes.plot(
        x_steps, accuracies, color=ORANGE, marker=marker, markersize=5, label="accuracy (right)"
    )
    bottom = min(0.99, np.min(accuracies, initial=1.0, where=np.isfinite(accuracies)))
    axes.set_ylim(bottom - 0.1 * (1 - bottom), 1 + 0.05 * (1 - bottom))

    def percent(value: float, _: Any) -> str:
        # the axis ends above 100 %, for the markers, but has no label there
        return f"{100 * value:.4g}%" if value < 1.0001 else ""

    axes.yaxis.set_major_formatter(percent)
    plain(axes)
    return lines


def draw_digits(axes: Any, images: np.ndarray, labels: np.ndarray, predictions: np.ndarray) -> None:
    """Draw all digits as one image, correct predictions first, with a caption under each digit."""
    # One image of ROWS x COLUMNS cells; matplotlib draws the captions.
    sheet = np.zeros((ROWS * HIGH, COLUMNS * WIDE))
    for place, i in enumerate(choose(labels, predictions)):
        row, column = divmod(place, COLUMNS)
        y, x = row * HIGH, column * WIDE + (WIDE - 28) // 2
        digit = images[i].astype(float)
        # Each digit is scaled to 0..1; `or 1` is for an empty image.
        sheet[y : y + 28, x : x + 28] = digit / (digit.max() or 1)
        wrong = labels[i] != predictions[i]
        caption = f"{predictions[i]}, not {labels[i]}" if wrong else str(predictions[i])
        colour = RED if wrong else FAINT
        axes.text(x + 14, y + 29, caption, ha="center", va="top", fontsize=9, color=colour)
    axes.imshow(sheet, cmap="gray_r", interpolation="nearest")
    axes.set_anchor("N")
    axes.set_axis_off()
    heading(axes, "Test digits, with the network's answers")


def smoothed_mean(losses: np.ndarray) -> np.ndarray:
    """Return an exponential mean over about a fiftieth of the run, with bias correction. NaNs are skipped."""
    # The mean of the first steps is divided by the sum of its weights, as in Adam.
    keep = 1 - 1 / max(1.0, len(losses) / 50)
    mean, weight, result = 0.0, 0.0, np.full(len(losses), np.nan)
    for i, loss in enumerate(losses):
        if np.isfinite(loss):
            mean, weight = keep * mean + (1 - keep) * loss, keep * weight + (1 - keep)
        result[i] = mean / weight if weight else np.nan
    return result


def falls_far(smooth: np.ndarray) -> bool:
    """Whether the curve falls so far that a linear axis would show a flat line."""
    seen = smooth[np.isfinite(smooth)]
    # A logarithm needs positive losses. Above a factor of 8, the end of the curve lies in the lowest eighth
    # of a linear axis.
    return bool(len(seen) and seen.min() > 0 and seen.max() > 8 * seen.min())


def log_scale(axes: Any, losses: np.ndarray) -> None:
    """Set a logarithmic axis that starts at the lowest percentile, so that one outlier does not set the
    scale."""
    seen = losses[np.isfinite(losses) & (losses > 0)]
    low, high = np.quantile(seen, 0.01) * 0.8, seen.max() * 1.2
    decades = 10.0 ** np.arange(-9, 9)
    # Ticks at 1, 2 and 5 of each decade up to 3.5 decades, else at 1.
    ticks = np.outer(decades, (1, 2, 5) if high < 3000 * low else (1,)).ravel()
    axes.set_yscale("log", subs=[])
    axes.set_yticks(ticks[(ticks > low) & (ticks < high)])
    axes.set_ylim(low, high)
    axes.yaxis.set_major_formatter("{x:g}")


def choose(labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Choose the digits to show: indices of correct predictions, then of mistakes spread evenly over all."""
    wrong = np.flatnonzero(labels != predictions)
    right = np.flatnonzero(labels == predictions)
    # np.unique drops repetitions if there are fewer mistakes than places.
    indices = wrong[np.unique(np.linspace(0, len(wrong) - 1, min(WRONG, len(wrong))).astype(int))]
    return np.concatenate([right[: ROWS * COLUMNS - len(indices)], indices]).astype(int)


def confusion(labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Count digits by class: [10, 10], row true, column predicted."""
    counts = np.zeros((10, 10), int)
    np.add.at(counts, (labels, predictions), 1)
    return counts


def save(figure: Any, path: Path) -> None:
    try:
        write_whole(path, lambda part: figure.savefig(part, format="png"))
    except OSError as error:
        raise FlambeauError(
            f"draw_mnist('{path}'): cannot be written ({error.strerror or error}): choose another folder"
        ) from None
