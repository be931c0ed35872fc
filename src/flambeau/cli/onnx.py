"""`flambeau onnx`: describes, checks and runs ONNX files, and exports models to them."""

import sys
import time
from collections import Counter
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any

import click

from ..core.modes import no_grad
from ..core.tree import is_dict, is_sequence
from ..errors import FlambeauError
from ..export.inputs import spec_of
from ..onnx import OnnxModel, ValueDef, load
from ..onnx import export as write
from ..onnx.convert import numpy_dtype
from ..onnx.graph import ModelDef
from ..onnx.read import read_model
from ..onnx.values import tensors_in
from ..onnx.verify import problems
from .load_model import model_of, parse_input
from .progress import steps

TOLERANCE = 1e-3  # tolerance against onnxruntime, relative to the largest value of an output


@click.group(short_help="Check, run and write ONNX files.")
def onnx():
    """Describe, check and run ONNX files, and write models as ONNX files.

    \b
    Example: flambeau onnx check model.onnx --compare
    """


FILE = click.argument("file", type=click.Path(path_type=Path))
SIZES = click.option(
    "--size", "sizes", multiple=True, metavar="NAME=N", help="A size that the file names; default: 1."
)
INPUTS = click.option(
    "--input", "inputs", multiple=True, metavar="NAME=FILE.npy", help="An input array; default: random."
)
DEVICE = click.option("--device", help="The device: cpu, gpu, gpu:1, or part of an adapter's name.")


@onnx.command()
@FILE
@SIZES
@DEVICE
@click.option("--compare", is_flag=True, help="Compare with onnxruntime, which must be installed.")
@INPUTS
def check(file: Path, sizes: tuple[str, ...], device: str | None, compare: bool, inputs: tuple[str, ...]):
    """List all problems of FILE; with --compare also the differences from onnxruntime's results.

    \b
    Example: flambeau onnx check model.onnx
    Example: flambeau onnx check model.onnx --compare --size batch=4
    """
    with steps(2) as begin:
        begin("reading")
        definition = read_model(file)
        begin("checking")
        issues = problems(definition)
    if issues:
        lines = "".join(f"\n  {line}" for line in issues)
        raise FlambeauError(f"{file}: {len(issues)} problem{'s' * (len(issues) > 1)}:{lines}")
    click.echo(f"{file}: can be run: {_nodes(definition)}")
    if compare:
        _compare(file, sizes, device, inputs)


def _nodes(definition: ModelDef) -> str:
    graph = definition.graph
    return f"{len(graph.nodes):,} nodes of {len({n.op for n in graph.nodes})} operators"


def _compare(file: Path, sizes: tuple[str, ...], device: str | None, inputs: tuple[str, ...]) -> None:
    """Print the distance of each output from onnxruntime's; FlambeauError if it exceeds TOLERANCE."""
    try:
        onnxruntime: Any = import_module("onnxruntime")  # optional, and untyped
    except ImportError:
        raise FlambeauError("check --compare: needs onnxruntime: pip install onnxruntime") from None
    with steps(3) as begin, no_grad():
        begin("loading")
        model = load(file, device)
        feeds = _inputs(model, sizes, inputs)
        begin("onnxruntime")
        try:
            session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
            # None: all outputs, in the file's order
            expected: list[Any] = session.run(None, feeds)
        except Exception as e:  # onnxruntime's exceptions share no base class
            raise FlambeauError(f"{file}: onnxruntime can't run it: {_line(e)}") from None
        begin("flambeau")
        actual = model.arrays(feeds)
    worst = 0.0
    for v, a, b in zip(model.outputs, actual, expected, strict=True):
        distance = _distance(a, b)
        worst = max(worst, distance)
        click.echo(f"  {v.name}{_extent(a)}: {distance:.1e} of its largest from onnxruntime's")
    # not `worst >= ...`: a NaN must fail too
    if not worst < TOLERANCE:
        raise FlambeauError(f"{file}: differs from onnxruntime by {worst:.1e}: more than {TOLERANCE:g}")


def _extent(value: Any) -> str:
    """Return the shape of an array, or the length of another object."""
    if is_sequence(value) or is_dict(value):
        return f" of {len(value)}"
    return "" if value is None else f" {list(value.shape)}"


def _line(e: Exception) -> str:
    """Return an exception's text in one line."""
    return " ".join(str(e).split())


def _distance(ours: Any, theirs: Any) -> float:
    """Return the largest difference, relative to the largest magnitude. It is infinite if kinds, shapes,
    texts, NaN or infinities differ."""
    import numpy as np

    if is_dict(theirs) and is_dict(ours):
        return _distance([*ours.values()], [theirs[k] for k in ours]) if ours.keys() == theirs.keys() else inf
    if is_sequence(theirs) and is_sequence(ours):
        pairs = zip(ours, theirs, strict=True)
        return inf if len(ours) != len(theirs) else max((_distance(a, b) for a, b in pairs), default=0.0)
    # a sequence or map against a tensor
    if isinstance(ours, list | dict) or isinstance(theirs, list | dict):
        return inf
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.shape != b.shape or (a.dtype.kind in "OUS") != (b.dtype.kind in "OUS"):
        return inf
    # objects, Unicode and bytes: compared as texts
    if b.dtype.kind in "OUS":
        return 0.0 if (a.astype(str) == b.astype(str)).all() else inf
    # in double precision, so that the comparison itself does not round or overflow
    wide = "c16" if b.dtype.kind == "c" else "f8"
    a, b = a.astype(wide), b.astype(wide)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(a[finite]).all():
        return inf
    a, b = a[finite], b[finite]
    # 1e-6: outputs that are all 0 have no scale
    return float(np.abs(a - b).max(initial=0)) / max(1e-6, float(np.abs(b).max(initial=0)))


def _inputs(model: OnnxModel, sizes: tuple[str, ...], files: Any = ()) -> dict[str, Any]:
    """Inputs by name: from files, or random numbers (integers: 0 or 1)."""
    import numpy as np

    # A fixed seed, so that two runs compare the same numbers.
    sizes_by_name = dict(_size(text) for text in sizes)
    arrays = dict(named_file(text) for text in files)
    draw = np.random.default_rng(0)
    return {v.name: arrays.get(v.name, _draw_input(v, sizes_by_name, draw)) for v in model.inputs}


def _size(text: str) -> tuple[str, int]:
    name, equals, number = text.partition("=")
    if not equals or not number.isdecimal():
        raise FlambeauError(f"--size {text!r}: write it as 'batch=4'")
    return name, int(number)


def named_file(text: str) -> tuple[str, Any]:
    """Return the array of an --input, "x=image.npy"; FlambeauError if it can't be read."""
    import numpy as np

    name, equals, path = text.partition("=")
    if not equals:
        raise FlambeauError(f"--input {text!r}: write it as 'x=values.npy'")
    try:
        # a pickle in an .npy file could run code
        return name, np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as e:
        raise FlambeauError(f"--input {text!r}: can't be read as an array of NumPy: {e}") from None


def _draw_input(v: ValueDef, sizes: dict[str, int], draw: Any) -> Any:
    if v.kind != "tensor" or v.dtype in ("", "string"):
        raise FlambeauError(f"the input {v.name!r} is {v}: pass --input {v.name}=FILE.npy")
    # sizes by name default to 1, as do unnamed ones (None)
    shape = [sizes.get(n, 1) if isinstance(n, str) else n or 1 for n in v.shape or ()]
    dtype = numpy_dtype(v.dtype)
    floats = "float" in v.dtype
    return draw.normal(size=shape).astype(dtype) if floats else draw.integers(0, 2, shape).astype(dtype)


@onnx.command()
@FILE
@SIZES
@DEVICE
@INPUTS
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for the outputs (.npy)."
)
@click.option("--repeat", default=1, show_default=True, help="Number of runs; the fastest is reported.")
def run(
    file: Path,
    sizes: tuple[Any, ...],
    device: str | None,
    inputs: tuple[Any, ...],
    out: Path | None,
    repeat: int,
):
    """Run FILE and print its outputs and the time; inputs are NumPy arrays, or random.

    \b
    Example: flambeau onnx run model.onnx --input x=image.npy --out results
    Example: flambeau onnx run model.onnx --size batch=8 --repeat 20
    """
    import numpy as np
    from rich.progress import track

    model = load(file, device)
    feeds, arrays = _inputs(model, sizes, inputs), []
    times: list[float] = []
    with no_grad():
        for _ in track(
            range(max(1, repeat)), "running", transient=True, disable=repeat < 2 or not sys.stdout.isatty()
        ):
            start = time.perf_counter()
            arrays = model.arrays(feeds)
            times.append(time.perf_counter() - start)
    for v, a in zip(model.outputs, arrays):
        text = (
            f"{a.dtype.name if a.dtype != object else 'string'}{list(a.shape)}" if hasattr(a, "shape") else a
        )
        click.echo(f"{v.name}: {text}")
        # Sequences and maps are printed only: an .npy file holds one array.
        if out is not None and hasattr(a, "shape"):
            out.mkdir(parents=True, exist_ok=True)
            np.save(out / f"{file_name(v.name)}.npy", a, allow_pickle=False)
    click.echo(f"{min(times) * 1e3:.1f} ms on {model.device.name}{' (the first run)' * (repeat == 1)}")


def file_name(name: str) -> str:
    """Return a name as a file name, without folders: the model may come from an untrusted source."""
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in name).lstrip(".") or "_"


@onnx.command()
@FILE
def info(file: Path):
    """Describe FILE: inputs, outputs, weights, operators, and which operators are not supported.

    \b
    Example: flambeau onnx info model.onnx
    """
    definition = read_model(file)
    graph = definition.graph
    versions = ", ".join(f"{d or 'ai.onnx'} {v}" for d, v in definition.opsets.items())
    producer = f", by {definition.producer}" if definition.producer else ""
    click.echo(f"{file}: IR {definition.ir_version}, {versions}{producer}")
    for role, values in (("input", graph.inputs), ("output", graph.outputs)):
        for v in values:
            if v.name not in graph.initializers:
                click.echo(f"  {role:7} {v.name}: {v}")
    arrays = graph.initializers.values()
    count, size = sum(a.size for a in arrays), sum(a.nbytes for a in arrays)
    click.echo(f"  {len(graph.initializers):,} tensors: {count:,} numbers, {size / 1e6:,.1f} MB")
    click.echo(f"  {_nodes(definition)}:")
    for name, many in Counter(f"{n.domain}.{n.op}".lstrip(".") for n in graph.nodes).most_common():
        click.echo(f"    {many:5} {name}")
    issues = problems(definition)
    for line in issues:
        click.echo(f"  problem: {line}")


@onnx.command("export")
@click.argument("model")
@click.option(
    "--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The output file."
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    required=True,
    metavar="NAME=DTYPE[SIZES]",
    help="A model input, in order; N is the batch size.",
)
@click.option(
    "--weights",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Load this file first: weights, or a checkpoint of a run.",
)
def export_model(model: str, out: Path, inputs: tuple[str, ...], weights: Path | None):
    """Write MODEL, a name in a module or a file as for `flambeau export`, as an ONNX file.

    \b
    Example: flambeau onnx export nets.py:Net --input "x=f32[N, 784]" --out net.onnx
    """
    from ..functions import zeros

    with steps(3) as begin:
        begin("making")
        subject: Any = model_of(model, weights, "onnx export")
        specs = [spec_of(*parse_input(text, "onnx export")) for text in inputs]
        # N becomes a size of the graph; the example has 2, since a size of 1 would broadcast
        dynamic = {s.name: {d: "N" for d, n in enumerate(s.shape) if n == "N"} for s in specs}
        parameters = tensors_in(subject.parameters()) if hasattr(subject, "parameters") else ()
        device = next((t.device for t in parameters), None)
        example = {s.name: zeros(*s.at(2), dtype=s.dtype, device=device) for s in specs}
        begin("exporting")
        data = write(subject, example, out, dynamic=dynamic)
        begin("reading")
        definition = read_model(data)
    click.echo(f"exported {out}: {len(data) / 1e6:.2f} MB, {_nodes(definition)}")
