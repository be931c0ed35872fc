"""`flambeau demo`: writes or serves a page that runs a model on its visitor's input."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..core.tree import is_sequence
from ..device import device
from ..errors import FlambeauError
from ..export import save_program
from ..export.save import PROGRAM
from ..onnx import OnnxModel, ValueDef, load
from ..site.demo import Texts, write_demo
from ..site.server import address, serve
from ..site.widgets import SCALES, SHOWS, Wishes
from ..tensor import Tensor
from .load_model import model_of, named_inputs
from .web import run_server, scratch_folder

SIDE, LENGTH = 224, 64  # sizes that a file leaves open: of a picture, and in tokens
# how `flambeau mnist` prepares its pictures, and its classes
DIGIT_SCALE, DIGIT_LABELS = "0.1307/1", "0,1,2,3,4,5,6,7,8,9"


@dataclass(frozen=True)
class DemoOptions:
    """The options of the command, as click passes them."""

    model: str
    out: Path | None
    title: str | None
    about: str
    labels: str | None
    names: str | None
    vocab: Path | None
    scale: str | None
    show: str | None
    examples: tuple[str, ...]
    sizes: tuple[str, ...]
    inputs: tuple[str, ...]
    weights: Path | None
    port: int
    open_it: bool

    def wishes(self) -> Wishes:
        scale, labels = self.scale, self.labels
        if self.model.endswith(".safetensors"):
            scale, labels = scale or DIGIT_SCALE, labels or DIGIT_LABELS
        words = [_unescape(w) for w in self.vocab.read_text("utf-8").splitlines()] if self.vocab else []
        return Wishes(_listed(labels), _listed(self.names), words, scale, self.show)


@click.command(short_help="Write or serve a page that runs a model.")
@click.argument("model")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Only write the page to this folder: new, empty, or from an earlier call.",
)
@click.option("--title", help="The page's heading; default: the model's name.")
@click.option("--about", default="", help="A sentence under the heading.")
@click.option(
    "--labels", metavar="FILE|A,B,C", help="The names of the classes: a file with one a line, or a list."
)
@click.option("--names", metavar="FILE|A,B,C", help="The names of the numbers that a table's model takes.")
@click.option(
    "--vocab",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A text model's tokens, one a line.",
)
@click.option(
    "--scale", metavar="NAME", help=f"How colours become numbers: {', '.join(SCALES)}, or MEAN/DEVIATION."
)
@click.option(
    "--show", type=click.Choice(SHOWS), help="How the first output is shown; default: by its shape."
)
@click.option(
    "--example", "examples", multiple=True, metavar="FILE|TEXT", help="A picture, or a text, to start from."
)
@click.option(
    "--size", "sizes", multiple=True, metavar="NAME=N", help="A size that an ONNX file leaves open."
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=DTYPE[SIZES]",
    help="An input of a model in Python, in order.",
)
@click.option("--weights", type=click.Path(dir_okay=False, path_type=Path), help="Load these weights first.")
@click.option("--port", default=8000, show_default=True, help="0 picks a free port.")
@click.option("--open", "open_it", is_flag=True, help="Open the address in a browser.")
def demo(**values: Any):
    """Make a page of MODEL: visitors enter pictures, numbers or text and see what it returns.

    MODEL is an ONNX file, a folder of `flambeau export`, a file of `flambeau mnist`, or a name in a module or
    file as for `flambeau export`. The page runs on the visitor's GPU, without Python. With --out it is a
    folder for any web server; without, it is served here until Ctrl-C.

    \b
    Example: flambeau demo model.onnx --labels cat,dog --open
    Example: flambeau demo digits --title "My digits" --out site/digits
    """
    options = DemoOptions(**values)
    call, out = f"demo {options.model}", options.out
    with scratch_folder() as scratch:
        program = _program(options, scratch / "program", call)
        folder = out or scratch / "demo"
        name = options.model.rpartition(":")[2] or options.model
        heading = options.title or Path(name).stem.replace("_", " ")
        texts = Texts(heading, options.about, options.examples)
        facts = write_demo(program, folder, texts, options.wishes(), call)
        named = "" if options.names or not fields_of(facts) else "; --names A,B,... labels the fields"
        click.echo(f"asks for {_described(facts['inputs'])}; shows {_described(facts['outputs'])}{named}")
        if out is not None:
            size = sum(p.stat().st_size for p in out.rglob("*") if p.is_file())
            click.echo(
                f"wrote {out}: {size / 1e6:.1f} MB: `flambeau web serve {out}` shows it; any web server can"
            )
            return
        try:
            server = serve(folder, port=options.port)
        except OSError as e:
            raise FlambeauError(f"{call}: port {options.port}: {e.strerror}: pass another --port") from None
        run_server(server, f"serving {address(server)}", options.open_it)


def _unescape(word: str) -> str:
    """Return a line of a vocabulary as a token: a line can't hold the end of a line."""
    return {"\\n": "\n", "\\t": "\t"}.get(word, word)


def _listed(text: str | None) -> Sequence[str]:
    """Return the lines of a file, or the parts of a list."""
    if not text:
        return ()
    if os.path.isfile(text):  # Path.is_file raises for a list that is too long for a name
        return Path(text).read_text("utf-8").splitlines()
    return [part.strip() for part in text.split(",")]


def _described(values: list[dict[str, Any]]) -> str:
    """Describe values of a page, such as "x, f32[1, 4], as fields"."""
    return " and ".join(f"{v['name']} ({v['dtype']}{v['shape']}) as {v['kind']}" for v in values)


def fields_of(facts: dict[str, Any]) -> list[str]:
    """Return the names of the inputs that a page asks for as one field a number."""
    return [v["name"] for v in facts["inputs"] if v["kind"] == "fields"]


def _program(options: DemoOptions, out: Path, call: str) -> Path:
    """Return the folder of the model's program; `out` is for one that is saved here."""
    model, has_options = options.model, options.inputs or options.weights
    if (Path(model) / PROGRAM).is_file():
        if has_options or options.sizes:
            raise FlambeauError(f"{call}: a saved program has its inputs and weights: leave the options out")
        return Path(model)
    if Path(model).is_dir():
        raise FlambeauError(f"{call}: the folder has no {PROGRAM}: pass a folder of `flambeau export`")
    # Planning needs no GPU.
    with device("cpu"):
        if model.endswith(".onnx"):
            if has_options:
                raise FlambeauError(f"{call}: an ONNX file has its inputs and weights: leave the options out")
            network = load(model, "cpu", replays=False)
            return save_program(
                _named(network), onnx_inputs(network.inputs, options.sizes, call), out, 1, "web"
            )
        if ":" not in model and not model.endswith(".safetensors"):
            rule = "pass an ONNX file, a folder of `flambeau export`, a .safetensors file or file.py:name"
            raise FlambeauError(f"{call}: no such file or folder: {rule}")
        program = model_of(model, options.weights, "demo")
        return save_program(program, dict(named_inputs(model, options.inputs, "demo")), out, 1, "web")


def _named(network: OnnxModel) -> Callable[..., dict[str, Tensor]]:
    """Return the network as a function whose results have the names of the file."""

    def run(*inputs: Tensor) -> dict[str, Tensor]:
        results = network(*inputs)
        values = results if is_sequence(results) else [results]
        return {v.name: value for v, value in zip(network.outputs, values, strict=True)}

    return run


def onnx_inputs(values: Sequence[ValueDef], sizes: Sequence[str], call: str) -> dict[str, str]:
    """Return the inputs of an ONNX file as texts by name; open sizes are from `sizes`, or guessed."""
    sizes_by_name = dict(_parse_size(text, call) for text in sizes)
    names = {size for v in values for size in v.shape or () if isinstance(size, str)}
    if unknown := sorted(sizes_by_name.keys() - names):
        rule = f"no input has this size: open are {', '.join(sorted(names)) or 'none'}"
        raise FlambeauError(f"{call}: --size {unknown[0]}: {rule}")
    specs: dict[str, str] = {}
    for v in values:
        if v.kind != "tensor" or v.dtype in ("", "string") or v.shape is None:
            raise FlambeauError(f"{call}: the input {v.name!r} is {v}: a page takes tensors of numbers")
        shape = [_open_size(v, i, size, sizes_by_name, call) for i, size in enumerate(v.shape)]
        specs[v.name] = f"{v.dtype}[{', '.join(map(str, shape))}]"
    return specs


def _parse_size(text: str, call: str) -> tuple[str, int]:
    name, equals, number = text.partition("=")
    if not equals or not number.isdecimal():
        raise FlambeauError(f"{call}: --size {text!r}: write it as 'length=64'")
    return name, int(number)


def _open_size(v: ValueDef, place: int, size: int | str | None, known: dict[str, int], call: str) -> int:
    """Return a size of an input: that of the file, of --size, or the usual one for its place."""
    assert v.shape is not None
    if isinstance(size, int):
        return size
    if isinstance(size, str) and size in known:
        return known[size]
    if place == 0:
        return 1  # the batch
    if len(v.shape) == 4:
        return SIDE
    if "int" in v.dtype and len(v.shape) == 2:
        return LENGTH
    raise FlambeauError(
        f"{call}: {v.name}: {v}: the size {size or '?'} is open: pass --size {size or 'NAME'}=N, or export"
        " the model with a fixed size"
    )
