"""Something happens at each step of Python's at which a signal's handler may run: at the begin of a function
and after a call of C."""

import sys


def steps(call, event=None, at=0):
    """Call, with the event at the step of that number; how many steps there were, and whether it happened.

    Finalizers are left out: Python drops what they raise.
    """
    count, happened = 0, False

    def step(frame, kind, _):
        nonlocal count, happened
        if kind not in ("call", "c_return") or frame.f_code.co_name in ("__del__", "_on_mapped", "steps"):
            return
        count += 1
        if count == at:
            happened = True
            sys.setprofile(None)
            event()

    sys.setprofile(step)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count, happened
