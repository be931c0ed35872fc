"""Observers: listen to a call for code that guards can't follow, or that reads more than its arguments."""

import sys
from collections.abc import Callable
from contextvars import ContextVar
from types import CodeType, FrameType, ModuleType
from typing import Any

from .bytecode import ANYWHERE_CALLED
from .watchable import LIBRARIES, PURE, class_of, is_fixed, is_known, library_of, name_of

# builtins that read more than their arguments; other functions are known by their bytecode
AMBIENT = {"open", "input", "breakpoint"} | ANYWHERE_CALLED
# modules of NumPy and ours that read files, random streams, or the memory in use
OUTSIDE = ("numpy.random", "numpy.lib.npyio", "numpy.lib._npyio", "flambeau.io", "flambeau.data")
OUTSIDE_NAMES = {"memory", "reset_peak", "get_state", "initial_seed", "clone_state"}
# called by our code; in a page also the search for an optional module
BELOW = ("jinja2", "markupsafe", "wgpu", "cffi", "array_api_compat", "namedtuple_", "_pyodide._importhook")
WRITING = {"logging", "warnings"}
OF_SIGNATURES = {"signature", "from_callable", "parameters", "return_annotation"}  # of inspect
WEAK = {"weakref", "_weakrefset"}  # their inner functions remove a dead key
IMPORTING = {"importlib._bootstrap", "importlib._bootstrap_external", "_frozen_importlib"}


class CodeThatRan:
    """Notes the user's code that runs in a block, in `codes`: None before the first."""

    def __init__(self) -> None:
        self.codes: set[CodeType] | None = None

    def __enter__(self) -> None:
        self._found: set[CodeType] | None = None
        if sys.getprofile() is None:  # else a profiler has the place
            self._found = set()
            sys.setprofile(self._hear)

    def _hear(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and self._found is not None:
            module = str(frame.f_globals.get("__name__"))
            if module.partition(".")[0] not in LIBRARIES and not module.startswith(BELOW):
                self._found.add(frame.f_code)

    def __exit__(self, *_: Any) -> None:
        if self._found is not None:
            sys.setprofile(None)
            self.codes = self._found


def is_noting() -> bool:
    """Whether this thread notes the code that runs."""
    return isinstance(getattr(sys.getprofile(), "__self__", None), CodeThatRan)


class Listener:
    """Records which code runs in a block, and which C functions the user's code calls there.

    codes: the followed code. watches_contexts: context variables are compared. If a profiler is active that
    excludes others (cProfile of Python 3.11), nothing is recorded. The garbage collector must be off, because
    its callbacks would be recorded.
    """

    def __init__(self, codes: set[CodeType], watches_contexts: bool = False):
        self._watches_contexts = watches_contexts
        self.trouble = ""
        self.unknown: set[CodeType] = set()  # the user's code that ran and is not followed
        self._codes = codes
        # code that prints or logs: no computation reads its output
        self._writes: FrameType | None = None
        # by id, since the hash of a code object takes 1 us: the code that is followed, and code to skip at
        # its next call; `_kept` keeps the ids valid
        self._followed, self._kept = {id(code) for code in codes}, [*codes]
        self._fine = set(self._followed)

    def __enter__(self) -> "Listener":
        self._before = sys.getprofile()
        self._listens = self._before is None or callable(self._before)
        if self._listens:
            sys.setprofile(self._hook() if self._before is None else self._hear_with_other)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._listens:
            sys.setprofile(self._before)

    def _hear_with_other(self, frame: FrameType, event: Any, arg: Any) -> None:
        if self._before is not None:
            self._before(frame, event, arg)
        self._hear(frame, event, arg)

    def _hook(self) -> Callable[[FrameType, Any, Any], None]:
        """Return a fast filter before `_hear` for irrelevant events: 99 % of 300,000 in a training step."""
        fine, followed, hear = self._fine, self._followed, self._hear

        def hook(frame: FrameType, event: Any, arg: Any) -> None:
            if self._writes is None:
                if event == "call":
                    if id(frame.f_code) in fine:
                        return
                elif event != "c_call" or (id(frame.f_code) not in followed and arg is not print):
                    return
            hear(frame, event, arg)

        return hook

    def _hear(self, frame: FrameType, event: Any, arg: Any) -> None:
        if self._writes is not None:
            if frame is self._writes and (event == "return" or (event != "call" and arg is print)):
                self._writes = None
        elif event == "c_call":
            if arg is print:
                self._writes = frame
            elif id(frame.f_code) in self._followed and not self._is_pure(arg):
                self._refuse(
                    f"it calls {_title(arg)}, which may depend on more than its arguments: call it outside"
                )
        elif event == "call" and id(frame.f_code) not in self._fine:
            if str(frame.f_globals.get("__name__")).partition(".")[0] in WRITING:
                self._writes = frame
            elif self._is_fine(frame, frame.f_code):
                self._fine.add(id(frame.f_code))
                self._kept.append(frame.f_code)

    def _is_fine(self, frame: FrameType, code: CodeType) -> bool:
        """Whether the entered code needs no examination at its next call."""
        if code in self._codes:  # equal code: a function that was created twice
            self._followed.add(id(code))
            return True
        module = str(frame.f_globals.get("__name__"))
        if module.startswith(BELOW) or _is_of_the_dead(module, code):
            return True
        if module.partition(".")[0] not in LIBRARIES:
            self.unknown.add(code)
            verb = "runs a module" if code.co_name == "<module>" else "calls"
            action = f"{verb} {module}.{code.co_qualname}".removesuffix(".<module>")
            self._refuse(f"it {action}, in a way that can't be traced: call it by its name")
        elif _is_pure_module(module, code.co_name):
            return True
        elif frame.f_back is None or id(frame.f_back.f_code) not in self._followed:
            return module.startswith("flambeau")  # functions that our code calls need no further check
        else:
            action = "imports a module" if module in IMPORTING else f"calls {module}.{code.co_qualname}"
            self._refuse(f"it {action}, which may depend on more than its arguments: call it outside")
        return False

    def _is_pure(self, function: Any) -> bool:
        is_context = isinstance(getattr(function, "__self__", None), ContextVar)
        return (is_context and self._watches_contexts) or _is_pure(function)

    def _refuse(self, why: str) -> None:
        self.trouble = self.trouble or why


def _is_of_the_dead(module: str, code: CodeType) -> bool:
    """Whether the interpreter calls this code when an object's last reference is dropped, from any code."""
    return code.co_name == "__del__" or (module in WEAK and "<locals>" in code.co_qualname)


def _is_pure_module(module: str, name: str) -> bool:
    library = module.partition(".")[0]
    if module == "inspect":
        return name in OF_SIGNATURES
    if library in ("numpy", "flambeau"):
        return not module.startswith(OUTSIDE) and not (library == "flambeau" and name in OUTSIDE_NAMES)
    return library in PURE


def _is_pure(function: Any) -> bool:
    """Whether the result of a C function depends only on its arguments and its object."""
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, ModuleType):
        module = str(function.__module__ or getattr(owner, "__name__", ""))
        return function.__name__ not in AMBIENT and _is_pure_module(module, function.__name__)
    if isinstance(owner, type):
        return library_of(owner) not in LIBRARIES or _is_pure_module(owner.__module__, function.__name__)
    kind = class_of(owner)
    return library_of(kind) in PURE | {"numpy", "flambeau"} or is_known(kind) or is_fixed(kind)


def _title(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, ModuleType):
        return f"{function.__module__ or getattr(owner, '__name__', '')}.{function.__name__}"
    return f"{name_of(owner if isinstance(owner, type) else type(owner))}.{function.__name__}"
