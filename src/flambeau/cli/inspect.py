"""`flambeau inspect`: shows what runs for a call as a table, a page, JSON or a page that runs edits, or
reports its faults."""

import os
import sys
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..core.dtype import DTYPES
from ..errors import FlambeauError
from . import diagnostics
from .load_model import model_of, parse_input

SIZES = "f32[64, 64]"  # of variables without --input
WIDE = 150  # characters per table line if the terminal's width is unknown
TEXTS = ("kernel", "layer", "line")  # columns of the table that may be broken; the others are numbers
PARTS = ("program.txt", "kernels.wgsl")  # files by which a saved program is recognised
EVENTS = "events.jsonl"  # the file by which a run is recognised


@click.command(short_help="Show what runs: layers, ops, kernels, WGSL, times, memory.")
@click.argument("target", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-e", "--expression", metavar="EXPR", help="Inspect an expression such as '(x @ w + b).relu()'."
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=DTYPE[SIZES]",
    help="A model input, or a name in the expression; N is the batch size.",
)
@click.option("--batch", default=8, show_default=True, help="The N of --input, and of a saved program.")
@click.option(
    "--call", "number", default=1, show_default=True, help="Which call of the script's function to inspect."
)
@click.option("--runs", default=1, show_default=True, help="How many times to call it; times are summed.")
@click.option("--cold", is_flag=True, help="Inspect the first call, which plans and compiles.")
@click.option("--rows", default=25, show_default=True, help="How many kernels the table shows.")
@click.option(
    "--html", "page", type=click.Path(dir_okay=False, path_type=Path), help="Write the page to FILE."
)
@click.option("--json", "data", type=click.Path(dir_okay=False, path_type=Path), help="Write JSON to FILE.")
@click.option(
    "--trace", type=click.Path(dir_okay=False, path_type=Path), help="Write a trace for Perfetto to FILE."
)
@click.option("--serve", is_flag=True, help="Serve the page with an editor that runs your changes.")
@click.option("--port", default=0, help="The port of --serve; 0: a free one.")
@click.option("--open", "opens", is_flag=True, help="Open the served page in a browser.")
@click.option("--keep", default=256, show_default=True, help="MB of kernel inputs to keep for --serve.")
@click.option(
    "--send",
    nargs=2,
    type=(int, click.Path(dir_okay=False, path_type=Path)),
    metavar="KERNEL FILE",
    help="Write kernel number KERNEL as a standalone FILE: a .py or a .html.",
)
@click.option(
    "--emit",
    nargs=2,
    type=(int, click.Path(dir_okay=False, path_type=Path)),
    metavar="KERNEL FILE",
    help="Write the code that the driver receives: .spvasm, .metal, .hlsl or .glsl.",
)
@click.option("--compare", is_flag=True, help="Compare two JSON files: TARGET and the next argument.")
@click.option("--sanitize", is_flag=True, help="Check memory, barriers and numbers of each kernel.")
@click.option("--check", is_flag=True, help="Compare every value with the CPU; report the first wrong op.")
@click.option("--watch", metavar="KERNEL.NAME", help="Print a WGSL variable in all invocations of a kernel.")
@click.option(
    "--turn",
    type=int,
    help="Which assignment of a variable that is set several times, from 0; default: the last.",
)
@click.option("--device", help="The adapter, as in FLAMBEAU_DEVICE.")
def inspect(**values: Any):
    """Show what runs for TARGET: layers, ops and kernels, with their WGSL, times and memory.

    TARGET is a function of a script (`train.py::step`: the script runs until it calls the function; its
    arguments follow --), a step of a script's Learner (`train.py::Learner.step`), a script, a model or
    function as `flambeau export` takes it, a saved program's folder, an .onnx file, or a file of --json.

    The kernels are those of a warm call: one call runs before it. --cold shows the first call, and a script
    without a function is run once.

    --sanitize, --check and --watch examine the same call in other ways; the first two exit with 1 if they
    find a fault.

    \b
    Example: flambeau inspect train.py::step --html step.html
    Example: flambeau inspect -e "(x @ w).relu()" --input "x=f32[64, 784]" --input "w=f32[784, 128]"
    Example: flambeau inspect step.json --emit 0 kernel.spvasm
    Example: flambeau inspect train.py::step --sanitize
    Example: flambeau inspect train.py::step --check --json wrong.json
    Example: flambeau inspect -e "x.exp() * 2" --watch exp.y
    """
    options = InspectOptions(**values)
    check(options)
    diagnostic = diagnostics.diagnostic_of(options)
    if diagnostic is not None:
        # A diagnostic examines the same call by other means, so only `look` differs.
        result = look_at(options, diagnostic.look)
        sys.exit(diagnostics.show(diagnostic, result, options.called, options.rows, options.data) > 0)
    if options.compare:
        return compare(options)
    result = look_at(options, options.inspecting())
    for act in ACTIONS:
        act(result, options)


@dataclass
class InspectOptions:
    """The options of the command line."""

    target: str | None
    arguments: tuple[str, ...]
    expression: str | None
    inputs: tuple[str, ...]
    batch: int
    number: int
    runs: int
    cold: bool
    rows: int
    page: Path | None
    data: Path | None
    trace: Path | None
    serve: bool
    port: int
    opens: bool
    keep: int
    send: tuple[int, Path] | None
    emit: tuple[int, Path] | None
    compare: bool
    sanitize: bool
    check: bool
    watch: str | None
    turn: int | None
    device: str | None

    @property
    def called(self) -> str:
        """The target or expression, as it was written."""
        return self.expression or self.target or ""

    def inspecting(self) -> Any:
        """Return the function that inspects a call."""
        from ..inspector.call import inspecting

        # --keep is in MB (1 << 20 bytes). Inputs are kept only for features that run a kernel again.
        return inspecting(self.runs, self.keep << 20 if self.serve or self.send else 0, not self.cold)


def check(options: InspectOptions) -> None:
    """Check the options before the program runs: the number of runs and the output files."""
    from ..inspector.emitted import SUFFIXES

    if options.runs < 1:
        raise FlambeauError(f"inspect --runs {options.runs}: it must be at least 1")
    files = {"--html": options.page, "--json": options.data, "--trace": options.trace}
    # A long program should not run for a file that can't be written at its end.
    for option, request, suffixes, rule in (
        ("--send", options.send, (".py", ".html"), "the file must end with .py or .html"),
        ("--emit", options.emit, SUFFIXES, f"the file ends with one of {', '.join(SUFFIXES)}"),
    ):
        if request is None:
            continue
        kernel, files[option] = request
        if kernel < 0:
            raise FlambeauError(f"inspect {option} {kernel}: kernels are numbered from 0: see the column #")
        if request[1].suffix not in suffixes:
            raise FlambeauError(f"inspect {option} {kernel} {request[1]}: {rule}")
    for option, path in files.items():
        if path is not None:
            _check_file(option, path)


def _check_file(option: str, path: Path) -> None:
    """Raise FlambeauError for a file that can't be written."""
    folder, exists = path.parent, path.exists()
    if not folder.is_dir():
        raise FlambeauError(f"inspect {option} {path}: no folder {folder}: create it, or name another")
    if not os.access(path if exists else folder, os.W_OK):
        rule = f"the {'file' if exists else f'folder {folder}'} can't be written"
        raise FlambeauError(f"inspect {option} {path}: {rule}: name another")


# --- the target ---


def look_at(options: InspectOptions, look: Any) -> Any:
    """Apply `look` to the call that the options name. FlambeauError if they name none."""
    from ..device import device, set_default_device

    if options.device:
        # Before the script is imported, which may create tensors.
        set_default_device(device(options.device))
    if options.expression is not None:
        return _inspect_expression(options, look)
    target = options.target
    if not target:
        raise FlambeauError("inspect: no target: write `train.py::step`, or -e '(x @ w + b).relu()'")
    for fits, make in TARGETS:
        if fits(target):
            return make(options, target, look)
    return _inspect_model(options, target, look)


def _inspect_file(options: InspectOptions, target: str, look: Any) -> Any:
    from ..inspector.model import read

    return read(Path(target))


def _inspect_script(options: InspectOptions, target: str, look: Any) -> Any:
    from ..inspector.target import of_script

    path, _, function = target.partition("::")
    return of_script(Path(path), function, options.arguments, options.number, look)


def _inspect_program(options: InspectOptions, target: str, look: Any) -> Any:
    from ..export import load_program
    from ..inspector.call import TargetCall

    program = load_program(target)
    # A saved program has a plan for each batch size in this range.
    least, most = program.batch
    batch = min(max(options.batch, least), most)
    inputs = [_draw(spec, batch) for spec in program.inputs]
    return look(TargetCall(target, program, tuple(inputs)))


def _inspect_onnx(options: InspectOptions, target: str, look: Any) -> Any:
    from ..inspector.call import TargetCall
    from ..onnx import load

    model = load(target)
    # Inputs that are not named are drawn by the file's declared shapes.
    inputs = _inputs(options, target, some=False)
    for value in model.inputs:
        if value.name not in inputs:
            inputs[value.name] = _tensor(
                value.name, _describe_input(value, options.batch, target), options.batch
            )
    return look(TargetCall(target, model, (inputs,)))


def _inspect_run(options: InspectOptions, target: str, look: Any) -> Any:
    rule = "is the folder of a run, which holds results but no program"
    raise FlambeauError(f"inspect: {target}: {rule}: name the script, as in train.py::Learner.step")


def _describe_input(value: Any, batch: int, target: str) -> str:
    """Write an ONNX model's input as an --input text. `batch` replaces a first size that is symbolic."""
    sizes = (
        None
        if value.shape is None
        else [batch if not i and type(n) is not int else n for i, n in enumerate(value.shape)]
    )
    if (
        value.kind != "tensor"
        or value.dtype not in DTYPES
        or sizes is None
        or not all(type(n) is int for n in sizes)
    ):
        raise FlambeauError(
            f"inspect {target}: {value.name} is {value}: pass its sizes, as in --input 'x=f32[8, 784]'"
        )
    return f"{DTYPES[value.dtype].short}{sizes}"


def _inspect_model(options: InspectOptions, target: str, look: Any) -> Any:
    from ..inspector.call import TargetCall

    model = model_of(target, None, "inspect")
    return look(TargetCall(target, model, tuple(_inputs(options, target).values())))


def _inspect_expression(options: InspectOptions, look: Any) -> Any:
    import flambeau

    from ..inspector.target import of_expression

    assert options.expression is not None
    # The names that an expression may use besides those of --input.
    modules = {"fb": flambeau, "nn": flambeau.nn, "F": flambeau.nn.functional}
    variables = modules | _inputs(options, f"-e {options.expression!r}", some=False)

    def make(name: str) -> Any:
        click.echo(f"{name} is {SIZES}: --input '{name}=...' changes it", err=True)
        return _tensor(name, SIZES, options.batch)

    return of_expression(options.expression, variables, make, look)


# Order matters: a path with .py:: also names a file, and a program's folder may contain a run.
TARGETS: tuple[tuple[Callable[[str], bool], Callable[[InspectOptions, str, Any], Any]], ...] = (
    (lambda t: t.endswith(".json"), _inspect_file),
    (lambda t: ".py::" in t or t.endswith(".py"), _inspect_script),
    (lambda t: t.endswith(".onnx"), _inspect_onnx),
    (lambda t: all(Path(t, part).is_file() for part in PARTS), _inspect_program),
    (lambda t: Path(t, EVENTS).is_file(), _inspect_run),
)


def _inputs(options: InspectOptions, target: str, some: bool = True) -> dict[str, Any]:
    """Return the tensors of --input by name."""
    if some and not options.inputs:
        raise FlambeauError(f"inspect {target}: no inputs: name each, as in --input 'x=f32[8, 784]'")
    pairs = [parse_input(text, "inspect") for text in options.inputs]
    return {name: _tensor(name, spec, options.batch) for name, spec in pairs}


def _tensor(name: str, spec: str, batch: int) -> Any:
    from ..export.inputs import spec_of

    return _draw(spec_of(name, spec), batch)


def _draw(spec: Any, batch: int) -> Any:
    from ..functions import ones, randn

    shape = spec.at(batch)
    # Ones are valid indices and masks for any size above 1; random integers might be out of range.
    if spec.dtype.is_float:
        return randn(*shape).to(spec.dtype).realize()
    return ones(*shape, dtype=spec.dtype).realize()


# --- the output ---


def _table(inspection: Any, options: InspectOptions) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..inspector import report

    # A pipe has no width: without WIDE rich would wrap at 80 characters, in the middle of numbers.
    console = Console() if Console().is_terminal else Console(width=WIDE)
    for line in report.head(inspection):
        console.print(
            line, style="bold" if line.startswith(inspection.target) else None, markup=False, highlight=False
        )
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in report.HEADS:
        is_text = name in TEXTS
        table.add_column(name, justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text)
    for row in report.table(inspection, options.rows):
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    for line in report.more(inspection, options.rows):
        console.print(f"{line}: --rows, --html", highlight=False)


def _write(inspection: Any, options: InspectOptions) -> None:
    outputs = (
        (options.data, inspection.to_json),
        (options.page, inspection.html),
        (options.trace, inspection.chrome_trace),
    )
    for path, write in outputs:
        if path is not None:
            write(path)
            diagnostics.print_written(path)


def _send(inspection: Any, options: InspectOptions) -> None:
    if options.send is None:
        return
    from ..inspector import send

    kernel, path = options.send
    write = send.page if path.suffix == ".html" else send.script
    path.write_text(write(inspection, kernel), "utf-8")
    diagnostics.print_written(path)


def _emit(inspection: Any, options: InspectOptions) -> None:
    if options.emit is None:
        return
    from ..inspector.emitted import SUFFIXES, of_kernel

    kernel, path = options.emit
    code = of_kernel(inspection, kernel, SUFFIXES[path.suffix])
    path.write_text(code.text, "utf-8")
    click.echo(f"wrote {path}: {code.language}, {code.text.count(chr(10)):,} lines")


def _serve(inspection: Any, options: InspectOptions) -> None:
    if not options.serve:
        return
    from ..inspector.serve import serve

    # bound to 127.0.0.1: the editor runs the WGSL that it receives
    server = serve(inspection, options.port)
    click.echo(f"{server.url}\nonly this machine can open it; Ctrl+C stops it")
    if options.opens:
        webbrowser.open(server.url)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


ACTIONS = (_table, _write, _send, _emit, _serve)


def compare(options: InspectOptions) -> None:
    """Print what changed between two files."""
    from ..inspector import compare
    from ..inspector.model import read

    paths = [p for p in (options.target, *options.arguments) if p]
    if len(paths) != 2:
        raise FlambeauError("inspect --compare: takes two files of --json: before.json after.json")
    before, after = (read(Path(p)) for p in paths)
    click.echo(compare.text(before, after, options.rows))
