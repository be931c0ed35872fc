"""Derives one line of advice from the waiting times of a run."""

from .run_view import RunState

ENOUGH = 0.2  # a cause with a smaller fraction of the time is not reported
WAITS = {  # cause: (its description, the remedy)
    "data": (
        "waits for data",
        "use more workers (num_workers=), less work per item, or preprocessed items",
    ),
    "host": ("waits for Python", "use larger batches: the time for Python is the same for each step"),
    "record": (
        "waits for kernels to be recorded and compiled",
        "only the first steps, and those with new shapes, do this",
    ),
    "plain": (
        "waits for Python",
        "the step is not recorded; the message `runs unrecorded` says why",
    ),
    "read": (
        "waits for values to be read",
        "don't use .item() or print in a step: return the values, so that they are read together",
    ),
    "gpu": (
        "waits for the GPU",
        "this is ideal; fb.autocast may be faster, and fb.profile() shows the kernels",
    ),
}

FUNCTIONS = {"data": ("transform", "function"), "host": ("prepare",)}  # cause: the kinds that are part of it


def advice(state: RunState) -> str:
    """Return one line: the cause of most of the waiting, its share of the time, and the remedy."""
    if state.ended:
        return f"ended: {state.ended.reason}" + (f": {state.ended.text}" if state.ended.text else "")
    all_waits = state.waits()
    waits = {cause: part for cause, part in all_waits.items() if cause in WAITS}
    if not waits:
        return "no waiting times measured yet"
    cause = max(waits, key=lambda c: waits[c])
    if waits[cause] < ENOUGH:
        return f"no bottleneck: {cause} takes the most time, {waits[cause]:.0%}"
    description, cure = WAITS[cause]
    function = slow_function(cause, all_waits)
    if function.startswith("prepare"):
        cure = "apply it to items, in the dataset, where workers run it"
    return f"{description} {waits[cause]:.0%} of the time{function and f', mostly for {function}'}: {cure}"


def slow_function(cause: str, waits: dict[str, float]) -> str:
    """Return the kind and name of the user's function that takes most of a cause's time, or ""."""
    seconds = {name: s for name, s in waits.items() if name.partition(" ")[0] in FUNCTIONS.get(cause, ())}
    slowest = max(seconds, key=lambda name: seconds[name], default="")
    return slowest if slowest and seconds[slowest] > waits[cause] / 2 else ""
