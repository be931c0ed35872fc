"""Derives one line of advice from the waiting times of a run."""

from .run_view import RunState

ENOUGH = 0.2  # a cause with a smaller fraction of the time is not reported
WAITS = {  # cause: (its description, the remedy)
    "data": (
        "waits for data",
        "use more workers (num_workers=), less work per item, or preprocessed items",
    ),
    "host": ("waits for Python", "use larger batches: the time for Python is the same for each step"),
    "read": (
        "waits for values to be read",
        "don't use .item() or print in a step: return the values, so that they are read together",
    ),
    "gpu": (
        "waits for the GPU",
        "this is ideal; fb.autocast may be faster, and fb.profile() shows the kernels",
    ),
}


def advice(state: RunState) -> str:
    """Return one line: the cause of most of the waiting, its share of the time, and the remedy."""
    if state.ended:
        return f"ended: {state.ended.reason}" + (f": {state.ended.text}" if state.ended.text else "")
    waits = {cause: part for cause, part in state.waits().items() if cause in WAITS}
    if not waits:
        return "no waiting times measured yet"
    cause = max(waits, key=lambda c: waits[c])
    if waits[cause] < ENOUGH:
        return f"no bottleneck: {cause} takes the most time, {waits[cause]:.0%}"
    description, cure = WAITS[cause]
    return f"{description} {waits[cause]:.0%} of the time: {cure}"
