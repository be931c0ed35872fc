"""What a run waits for, into one line that says what to do about it."""

from .run_view import RunState

ENOUGH = 0.2  # of the time: a cause below this is not worth a line
WAITS = {  # cause: (what is said, what to do)
    "data": (
        "waits for data",
        "more workers (num_workers=), less work an item, or items kept ready-made",
    ),
    "host": ("waits for Python", "record the step (fb.jit), or make batches larger"),
    "read": (
        "waits for values to be read",
        "no .item() or print in a step: what it returns is read together",
    ),
    "gpu": (
        "waits for the GPU",
        "as it should; fb.autocast may be faster, fb.profile() shows the kernels",
    ),
}


def advice(state: RunState) -> str:
    """One line: the cause that takes most of the time, how much, and what helps."""
    if state.ended:
        return f"ended: {state.ended.reason}" + (f": {state.ended.text}" if state.ended.text else "")
    waits = {cause: part for cause, part in state.waits().items() if cause in WAITS}
    if not waits:
        return "nothing is known yet of what the run waits for"
    cause = max(waits, key=lambda c: waits[c])
    if waits[cause] < ENOUGH:
        return f"waits for nothing much: {cause} takes most, {waits[cause]:.0%} of the time"
    said, cure = WAITS[cause]
    return f"{said} {waits[cause]:.0%} of the time: {cure}"
