"""The exceptions Flambeau raises; those of wrong arguments are Python's and PyTorch's kind at once."""

import builtins
from collections.abc import Iterable


class FlambeauError(RuntimeError):
    """An error that no argument caused. The text says what happened and what to do."""


class DeviceError(FlambeauError):
    """No adapter, a lost device, or too little memory.

    message: the text of the error. fix: the remedy, at the end of the text.
    """

    def __init__(self, message: str, fix: str = ""):
        super().__init__(f"{message}: {fix}" if fix else message)
        self.message, self.fix = message, fix


class OutOfMemory(DeviceError):
    """A computation needs more memory than the device or the budget has. Smaller batches still run.

    message: the text of the error. reason: the driver's message, if there is one.
    """

    def __init__(self, message: str, reason: str = ""):
        super().__init__(message)
        self.reason = reason


class MissingFile(FlambeauError, FileNotFoundError):
    """There is no file at the path."""


class DistributedError(FlambeauError):
    """A collective failed on all ranks: one died, is missing, or called something else. The text names it."""


class KernelError(FlambeauError):
    """A template or its WGSL did not compile; the text names template, kernel and line."""


class ValueError(builtins.ValueError, RuntimeError):
    """A shape or a value that does not fit; a ValueError as in NumPy and a RuntimeError as in PyTorch."""


class TypeError(builtins.TypeError, NotImplementedError):
    """A dtype that an op does not take; a TypeError as in NumPy and a NotImplementedError as in PyTorch."""


class IndexError(builtins.IndexError, RuntimeError):
    """A dim or an index out of range; an IndexError as in NumPy, a RuntimeError in parts of PyTorch."""


class NoElements(ValueError, IndexError):
    """A reduction of no elements; a ValueError as in NumPy, an IndexError and RuntimeError as in PyTorch."""


class IndexFault(IndexError):
    """An index computed on a device was out of range. The next read from that device raises it."""


class ValueFault(ValueError):
    """A value computed on a device was out of range. The next read from that device raises it."""


# Python's class -> ours, which `except` catches under PyTorch's class as well
WRONG_CALL: dict[type[Exception], type[Exception]] = {
    builtins.ValueError: ValueError,
    builtins.TypeError: TypeError,
    builtins.IndexError: IndexError,
}


def nearest(name: str, known: Iterable[object]) -> str:
    """`did you mean 'x'?` for an unknown name, or "" if no known name is near."""
    from difflib import get_close_matches

    near = get_close_matches(str(name), [str(k) for k in known], n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def suggest(name: str, known: Iterable[object]) -> str:
    """`nearest` as the end of a sentence, after a colon."""
    hint = nearest(name, known)
    return f": {hint}" if hint else ""
