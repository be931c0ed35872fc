"""Runs programs of a page in its worker: prints, pictures and the last value go to the page as they come."""

import gc
import io
import linecache
import traceback
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from time import perf_counter

from flambeau_page import emit  # type: ignore[import-not-found]
from pyodide.code import CodeRunner  # type: ignore[import-not-found]

import flambeau as fb
from flambeau import pictures
from flambeau.codegen.render import render
from flambeau.core.events import subscribe

LONGEST = 100_000  # characters of one run that are sent
AT_MOST = 24  # pictures of one run
MORE_THAN_PYTHON = "the page has Python's standard library and Flambeau, and no other packages"
spaces: dict[str, dict] = {}  # names of each program: cells of a chapter share one


class Output(io.TextIOBase):
    """Sends a run's text to the page line by line, and no more than LONGEST characters."""

    def __init__(self, run: int, stream: str, left: list[int]):
        self.run, self.stream, self.left, self.line = run, stream, left, ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.line += text
        if "\n" in text or len(self.line) > 1000:
            self.flush()
        return len(text)

    def flush(self) -> None:
        text, self.line = self.line, ""
        if text and self.left[0] > 0:
            more = "" if len(text) <= self.left[0] else "\n... (more is not shown)\n"
            send(self.run, "text", stream=self.stream, text=text[: self.left[0]] + more)
        self.left[0] -= len(text)


def send(run: int, kind: str, **what) -> None:
    """Send one piece of a run's output to the page."""
    emit("piece", {"run": run, "kind": kind, **what})


def send_picture(run: int, picture) -> None:
    if isinstance(picture, pictures.Image):
        send(run, "image", width=picture.width, height=picture.height, rgb=memoryview(picture.rgb))
    else:
        lines = [{"name": c.name, "points": [list(p) for p in c.points]} for c in picture.drawn(picture.log)]
        send(run, "curves", curves=lines, log=picture.log)


async def run(number: int, source: str, name: str, space: str, fresh: bool) -> dict:
    """Run a program. Its output is sent in pieces with the run's number; returns what ends it.

    name: the file that tracebacks name. space: the names that it shares with others; fresh: begin with none.
    Returns "ms", "kernels", and after an exception "error", "trace" and "line" (0: none of the program).
    """
    if fresh or space not in spaces:
        spaces[space] = {"__name__": "__main__"}
    gc.collect()  # tensors of earlier runs
    await open_again()
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    left, shown = [LONGEST], [0]
    out, err = Output(number, "out", left), Output(number, "err", left)
    kernels: Counter = Counter()
    pictures.show_with = lambda picture: limited(number, picture, shown)
    begun = perf_counter()
    ended: dict = {}
    try:
        with redirect_stdout(out), redirect_stderr(err), subscribe("plan", counting(kernels)):
            program = CodeRunner(source, filename=name, return_mode="last_expr").compile()
            value = await program.run_async(spaces[space])
            if value is not None:
                spaces[space]["_"] = value
                await show(number, value, shown)
    except SystemExit as e:
        ended = {} if e.code in (None, 0) else described(e, name)
    except Exception as e:
        ended = described(e, name)
    finally:
        out.flush()
        err.flush()
        pictures.show_with = None
    return ended | {"ms": 1000 * (perf_counter() - begun), "kernels": listed(kernels)}


async def open_again() -> None:
    """Open the GPU again if it was lost. Tensors of earlier runs are lost with it."""
    if fb.get_default_device().lost:
        await fb.open_device()
        spaces.clear()


def limited(run: int, picture, shown: list[int]) -> None:
    shown[0] += 1
    if shown[0] <= AT_MOST:
        send_picture(run, picture)
    elif shown[0] == AT_MOST + 1:
        send(run, "text", stream="err", text=f"(a run shows {AT_MOST} pictures at most)\n")


async def show(run: int, value, shown: list[int]) -> None:
    """Show the value of the last line, as a notebook does."""
    if isinstance(value, pictures.Image | pictures.Curves):
        return limited(run, value, shown)
    if isinstance(value, fb.Tensor):
        data = await value.read()
        text = repr(value) if value.device.can_wait else f"{data.tolist()}"
    else:
        text = repr(value)
    send(run, "value", text=text[:LONGEST])


def counting(kernels: Counter):
    """Count the kernels of the plans that run."""

    def count(compiled, *_) -> None:
        kernels.update((k.name, k.shader, k.grid) for k in compiled.plan.kernels)

    return count


def listed(kernels: Counter) -> list[dict]:
    """The kernels of a run: those with equal text are one row."""
    return [
        {
            "name": name,
            "template": shader.template,
            "groups": list(grid),
            "times": times,
            "wgsl": render(shader),
        }
        for (name, shader, grid), times in kernels.items()
    ]


def described(error: BaseException, name: str) -> dict:
    """An exception as the program's own lines, without those of the package and of this page."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == name]
    line = frames[-1].lineno if frames else 0
    if isinstance(error, SyntaxError) and error.filename == name:
        line = error.lineno or 0
    last = traceback.format_exception_only(error)
    if isinstance(error, ModuleNotFoundError):
        last.append(f"In this page: {MORE_THAN_PYTHON}.\n")
    head = ["Traceback (most recent call last):\n", *traceback.format_list(frames)] if frames else []
    return {"error": type(error).__name__, "trace": "".join([*head, *last]), "line": line or 0}


async def inspected(source: str, name: str, space: str, fresh: bool, before: list[str]) -> str:
    """Run a program once more under the inspector; returns the text that the inspector's page takes.

    before: the cells above it. They run first, with names of their own, if the program only reads values that
    were computed before.
    """
    from flambeau.inspector.call import NOTHING, TargetCall, inspecting
    from flambeau.inspector.page import pack

    await open_again()
    names = {"__name__": "__main__"} if fresh else dict(spaces.get(space, {}))
    program = CodeRunner(source, filename=name, return_mode="last_expr").compile()
    # not with the names as an argument: arguments are computed before an inspection begins
    call = TargetCall(name, lambda: program.run(names), is_script=True)
    pictures.show_with = lambda picture: None
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            try:
                inspection = inspecting()(call)
            except fb.FlambeauError as e:
                if NOTHING not in str(e) or not before:
                    raise
                names.clear()
                names["__name__"] = "__main__"
                for cell in before:
                    CodeRunner(cell).compile().run(names)
                inspection = inspecting()(call)
    finally:
        pictures.show_with = None
    return pack(inspection.to_dict())
