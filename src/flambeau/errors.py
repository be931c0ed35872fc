"""The exceptions Flambeau raises; those of wrong arguments are Python's and PyTorch's kind at once."""

import builtins


class FlambeauError(RuntimeError):
    """Something that is not a wrong argument went wrong; the text says what and what to do."""


class DeviceError(FlambeauError):
    """No adapter, a lost device, or memory that ran out.

    message: the text of the error. fix: what to do about it, where there is one thing; it ends the text.
    """

    def __init__(self, message: str, fix: str = ""):
        super().__init__(f"{message}: {fix}" if fix else message)
        self.message, self.fix = message, fix


class OutOfMemory(DeviceError):
    """What is to be computed needs more memory than a device or a budget has; smaller batches still run.

    message: the text of the error. reason: what the driver said, if it did.
    """

    def __init__(self, message: str, reason: str = ""):
        super().__init__(message)
        self.reason = reason


class MissingFile(FlambeauError, FileNotFoundError):
    """There is no file at the path."""


class KernelError(FlambeauError):
    """A template or its WGSL did not compile; the text names template, kernel and line."""


class ValueError(builtins.ValueError, RuntimeError):
    """A shape or a value that does not fit: ValueError as in NumPy, RuntimeError as in PyTorch."""


class TypeError(builtins.TypeError, NotImplementedError):
    """A dtype that an op does not take: TypeError as in NumPy, NotImplementedError as in PyTorch."""


class IndexError(builtins.IndexError, RuntimeError):
    """A dim or an index out of range: IndexError as in NumPy, RuntimeError in some functions of PyTorch."""


class NoElements(ValueError, IndexError):
    """A reduction of nothing: ValueError as in NumPy, IndexError and RuntimeError as in PyTorch."""


class IndexFault(IndexError):
    """An index that came from a device was outside its dim; found when something is read from that device."""


class ValueFault(ValueError):
    """A value that came from a device was out of its range; found when something is read from that device."""


# Python's class: ours, which `except` finds under PyTorch's class too
WRONG_CALL = {builtins.ValueError: ValueError, builtins.TypeError: TypeError, builtins.IndexError: IndexError}


def nearest(name: str, known) -> str:
    """Turn an unknown name into `did you mean 'x'?`, or nothing when no known name is near."""
    from difflib import get_close_matches

    near = get_close_matches(str(name), [str(k) for k in known], n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def suggest(name: str, known) -> str:
    """`nearest` as the end of a sentence, behind a colon."""
    hint = nearest(name, known)
    return f": {hint}" if hint else ""
