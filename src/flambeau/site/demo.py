"""Writes a page that runs a saved program on its visitor's input, as a folder for any web server."""

import json
import shutil
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from ..core.dtype import SHORT
from ..core.files import write_whole
from ..errors import FlambeauError
from ..export.check import Damaged, check
from ..export.fit import value_of
from ..export.inputs import Spec
from ..export.save import FORMAT, PROGRAM, VERSION
from ..export.web_module import EXECUTOR, MODULE, PROGRAM_FILES, SOURCES, add_module, check_arrays
from ..models import imagenet
from .archives import web_folder
from .pages import DEMO, PARTS, POLICY
from .widgets import IMAGENET, ProgramValue, Wishes, widgets

MODEL = "model"  # the folder of the program inside the demo
FACTS = "demo.json"  # the page's inputs and outputs; the file by which an earlier demo is recognised
SCRIPTS = ("page.js", "inputs.js", "outputs.js", "text.js", "style.css")
SHARED = ("state.js", "loading.js", "check.js", "site.css", "flame.svg")
DRAWING = ("mnist/pad.js", "mnist/preprocess.js")
# Scripts import each other by their paths in web/: these are their paths in the demo.
IMPORTS = {
    '"../program.js"': f'"./{MODEL}/{MODULE}"',
    '"./executor.js"': f'"./{MODEL}/{EXECUTOR}"',
    '"../mnist/': '"./',
    '"../': '"./',
}
PICTURES = {".jpg", ".jpeg", ".png", ".webp", ".gif"}


class Texts(NamedTuple):
    """A page's heading, a sentence below it, and examples: pictures' files, or texts for the first input."""

    title: str
    about: str = ""
    examples: Sequence[str] = ()


def write_demo(program: Path, out: Path, texts: Texts, wishes: Wishes, call: str = "demo") -> dict[str, Any]:
    """Write a page for the program in a folder of `save_program`; returns the page's inputs and outputs.

    FlambeauError if the folder `out` holds other files, or if a page can't show the program's inputs.
    """
    if out.exists() and not (out / FACTS).is_file() and any(out.iterdir()):
        raise FlambeauError(f"{call}: {out} holds other files: name an empty or new folder")
    description = read_program(program, call)
    inputs = [Spec(i["name"], SHORT[i["dtype"]], tuple(i["shape"])) for i in description["inputs"]]
    entered, shown = widgets(inputs, outputs_of(description), wishes, call)
    for widget in shown:
        if (
            widget["kind"] == "classes"
            and widget["count"] == IMAGENET
            and "picture" in {w["kind"] for w in entered}
        ):
            widget.setdefault("labels", imagenet.labels())
    facts: dict[str, Any] = {"title": texts.title, "inputs": entered, "outputs": shown}
    pictures, facts["examples"] = _examples(texts.examples, entered, call)
    out.mkdir(parents=True, exist_ok=True)
    (out / MODEL).mkdir(exist_ok=True)
    for name in PROGRAM_FILES:
        shutil.copyfile(program / name, out / MODEL / name)
    add_module(out / MODEL, description)
    for name, data in _page_files(texts).items():
        (out / name).write_bytes(data)
    for name, path in pictures.items():
        shutil.copyfile(path, out / name)
    write_whole(out / FACTS, lambda part: part.write_text(json.dumps(facts), "utf-8"))
    return facts


def read_program(folder: Path, call: str) -> dict[str, Any]:
    """Return the description of a saved program. FlambeauError if a page can't run it."""
    missing = next((name for name in PROGRAM_FILES if not (folder / name).is_file()), None)
    if missing:
        raise FlambeauError(f"{call}: {folder} has no {missing}: pass a folder of `flambeau export`")
    try:
        description = json.loads((folder / PROGRAM).read_text("utf-8"))
        if description.get("format") != FORMAT or description.get("version") != VERSION:
            raise Damaged(f"it is not {FORMAT} of version {VERSION}")
        check(description)
    except (ValueError, AttributeError, RecursionError) as e:
        raise FlambeauError(
            f"{call}: {folder / PROGRAM} can't be read ({e}): export the model again"
        ) from None
    check_arrays(description)
    return description


def outputs_of(description: dict[str, Any]) -> list[ProgramValue]:
    """Return the outputs of a program at its smallest batch size."""
    plans, smallest = description["plans"]["gpu"], description["batch"][0]
    shapes = [output["shape"] for output in plans["plans"][plans["plan_of"][0]]["outputs"]]
    return [
        ProgramValue(o["name"], SHORT[o["dtype"]], tuple(value_of(size, smallest) for size in shape))
        for o, shape in zip(description["outputs"], shapes, strict=True)
    ]


def _page_files(texts: Texts) -> dict[str, bytes]:
    """Return the page and its scripts by name."""
    folder = web_folder()
    text = (folder / DEMO / "index.html").read_text("utf-8")
    state = (folder / PARTS / "state.html").read_text("utf-8")
    values = {
        "title": escape(texts.title),
        "about": escape(texts.about),
        "policy": escape(POLICY, quote=False),
        "state": state,
    }
    files = {"index.html": Template(text).substitute(values).encode()}
    for source in (*(f"{DEMO}/{name}" for name in SCRIPTS), *SHARED, *DRAWING):
        script = (folder / source).read_text("utf-8")
        for old, new in IMPORTS.items():
            script = script.replace(old, new)
        files[source.rpartition("/")[2]] = script.encode()
    assert not files.keys() & SOURCES.keys()
    return files


def _spoken(path: Path, number: int) -> str:
    """Return a picture's name for readers who do not see it. The folder often is its class."""
    folder = f"{path.parent.name}/" if path.parent.name else ""
    return f"Example {number}: {folder}{path.stem}"


def _examples(
    examples: Sequence[str], asked: list[dict[str, Any]], call: str
) -> tuple[dict[str, Path], list[dict[str, str]]]:
    """Return the pictures to copy by their new names, and a row for each example."""
    pictures: dict[str, Path] = {}
    rows: list[dict[str, str]] = []
    takes_pictures = any(w["kind"] == "picture" for w in asked)
    for text in examples:
        path = Path(text)
        is_picture = path.suffix.lower() in PICTURES
        if is_picture and not path.is_file():
            raise FlambeauError(f"{call}: --example {text}: no such file: check the path")
        if is_picture != takes_pictures:
            kind = "a picture" if takes_pictures else "text"
            raise FlambeauError(f"{call}: --example {text}: the model takes {kind}: pass one")
        if is_picture:
            name = f"example-{len(pictures)}{path.suffix.lower()}"
            pictures[name] = path
            rows.append({"file": name, "text": _spoken(path, len(pictures))})
        else:
            rows.append({"text": text})
    return pictures, rows
