"""Runs a script written for torch as `python script.py` would, with `import torch` answered by Flambeau."""

import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from .module_tree import install

USAGE = "usage: python -m flambeau.torch [-m MODULE | SCRIPT] [ARGUMENTS ...]"


def run_script(path: str, arguments: Sequence[str] = ()) -> None:
    """Run a script as __main__ with its arguments in sys.argv.

    Exceptions, exit codes and tracebacks are those of `python script.py`: an uncaught exception is printed,
    and SystemExit(1) raised.
    """
    install()
    sys.argv = [path, *arguments]
    sys.path[0:1] = [str(Path(path).resolve().parent)]
    main = ModuleType("__main__")
    vars(main).update(__file__=path, __builtins__=vars(sys.modules["__main__"])["__builtins__"])
    sys.modules["__main__"] = main

    def execute() -> None:
        try:
            source = Path(path).read_bytes()
        except OSError as e:
            print(f"flambeau run: can't open file {path!r}: {e.strerror}", file=sys.stderr)
            raise SystemExit(2) from None
        exec(compile(source, path, "exec"), vars(main))

    _run(execute)


def run_module(name: str, arguments: Sequence[str] = ()) -> None:
    """Run a module as `python -m module` would; the rest is as in `run_script`."""
    install()
    sys.argv = [name, *arguments]
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    _run(lambda: runpy.run_module(name, run_name="__main__", alter_sys=True))


def _run(execute: Callable[[], Any]) -> None:
    try:
        execute()
    except Exception as e:
        # Python's own traceback begins at the script: ours and runpy's frames are left out
        traceback = _from_script(e.__traceback__)
        sys.excepthook(type(e), e.with_traceback(traceback), traceback)
        raise SystemExit(1) from None


def _from_script(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame that is not of this file or of runpy."""
    entry = traceback
    while entry is not None and entry.tb_frame.f_code.co_filename in (
        __file__,
        runpy.__file__,
        "<frozen runpy>",
    ):
        entry = entry.tb_next
    return entry or traceback


def main(arguments: Sequence[str]) -> None:
    """The command line of `python -m flambeau.torch` and `flambeau run`."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        raise SystemExit(0 if arguments else 2)
    if arguments[0] != "-m":
        run_script(arguments[0], arguments[1:])
    elif len(arguments) == 1:
        print(f"flambeau run: -m takes the name of a module\n{USAGE}", file=sys.stderr)
        raise SystemExit(2)
    else:
        run_module(arguments[1], arguments[2:])
