"""What arguments of metrics mean: a docstring that says nothing of one gets its line here."""

import inspect
import re
from typing import TypeVar

T = TypeVar("T", bound=type)

ARGUMENTS = {
    "average": 'over classes or labels: "micro" (of all counts), "macro", "weighted" (by targets) or "none"',
    "beta": "how many times as much recall weighs",
    "data_range": "how far values reach, the pair of their ends, or None for what each batch has",
    "gaussian_kernel": "weigh neighbours by a Gaussian, not alike",
    "ignore_index": "a target that counts for nothing",
    "img1": "the one images",
    "img2": "the other images",
    "input_img_size": "the size of an image, to find num_features",
    "multidim_average": '"global", or "samplewise" for a value of each sample',
    "multioutput": '"uniform_average", "variance_weighted" or "raw_values": what becomes of several outputs',
    "nan_strategy": "what a NaN is: \"error\" has compute raise, \"warn\" and \"ignore\" leave it out,"
    ' "disable" takes it, a float takes its place',
    "normalize": '"true" divides by targets, "pred" by predictions, "all" by all; "none" or None counts',
    "num_classes": "how many classes there are",
    "num_labels": "how many labels there are",
    "num_outputs": "how many columns there are, each with a value",
    "options": "validate_args, zero_division, ignore_index and device where they are not named",
    "preds": "predictions",
    "sigma": "how wide the Gaussian is",
    "target": "what is wanted",
    "threshold": "the probability above which a one is predicted",
    "thresholds": "None keeps all scores; how many (from 0 to 1), or numbers that rise, between which are"
    " counts",
    "top_k": "a target among the k best counts as found",
    "validate_args": "whether compute raises where targets were no classes",
    "weights": '"linear" or "quadratic": what farther classes count',
    "zero_division": "the score where there is nothing to divide by",
}  # fmt: skip
RAISES = "Raises ValueError for arguments that can't be meant."


def lines(doc: str, names: list[str]) -> str:
    """A docstring with a line for each argument that it does not name."""
    more = [f"{n}: {ARGUMENTS[n]}" for n in names if n in ARGUMENTS and not re.search(rf"\b{n}\b", doc)]
    more += [] if "Error" in doc else [RAISES]
    return "\n".join([doc, "", *more]) if more else doc


def explained(kind: T) -> T:
    """Give a metric's docstring the lines that it lacks."""
    code = kind.__init__.__code__
    rest = bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args and **kwargs come last
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + rest]
    kind.__doc__ = lines(inspect.cleandoc(kind.__doc__ or ""), [*names])
    return kind
