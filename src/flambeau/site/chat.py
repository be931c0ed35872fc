"""Writes a language model as a folder for a page: programs, weights in parts, tokenizer and template."""

import json
from html import escape
from math import prod
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from ..core.dtype import SHORT
from ..core.files import write_whole
from ..device import device
from ..errors import FlambeauError
from ..export.fit import value_of
from ..export.save import KERNELS, PROGRAM, WEIGHTS
from ..export.web_module import EXECUTOR, FOR_PYTHON, MODULE, PROGRAM_FILES, SOURCES, VALUES, minify
from ..models.exported import DRAW, save_decoder
from ..models.generation import Decoder
from ..models.gguf import find_model
from ..models.opened import OpenedModel, open_model
from ..tokenizers import ChatTemplate
from .archives import web_folder
from .hashes import sha256
from .page_rules import page_rules
from .page_template import page_template
from .pages import PARTS, POLICY

CHAT, MODEL = "chat", "model"  # the folder of web/ with the page, and that of the programs in what is written
FACTS = "chat.json"  # what the page reads first; the file by which an earlier export is recognised
TOKENS = "tokenizer.json"
FORMAT, VERSION = "flambeau-chat", 1
CONTEXT, CHUNK = 2048, 64  # tokens of a conversation; tokens of a prompt that a call takes at most
PART = 8 << 20  # bytes of a part of the weights: what an interrupted download may lose, four times
SCRIPTS = ("page.js", "download.js", "template.js", "tokenizer.js", "writer.js", "style.css")
SHARED = ("state.js", "loading.js", "check.js", "site.css", "flame.svg")
IMPORTS = {  # scripts import each other by their paths in web/: these are their paths in the folder
    '"../program.js"': f'"./{MODEL}/{MODULE}"',
    '"../executor.js"': f'"./{MODEL}/{EXECUTOR}"',
    '"./executor.js"': f'"./{MODEL}/{EXECUTOR}"',
    '"../': '"./',
}
ABOUT = "It writes on your own GPU, without Python and without a server: what you enter is not sent anywhere."


class ChatOptions(NamedTuple):
    """How a model is written: the tokens of a conversation, the page's heading (by default the model's name),
    what the model is told before a conversation, and a template in place of the model's."""

    context: int = CONTEXT
    title: str | None = None
    system: str | None = None
    template: str | None = None


def write_chat(
    model: Any, out: Path, options: ChatOptions | None = None, call: str = "export"
) -> dict[str, Any]:
    """Write a folder in which a page chats with a model; returns what the page knows of it.

    model: a GGUF file, a folder of a hub, or the name of a package with one GGUF file. FlambeauError if the
    folder `out` holds other files, if the model has no template, or if a page lacks a rule of its tokenizer
    or template.
    """
    if out.exists() and not (out / FACTS).is_file() and any(out.iterdir()):
        raise FlambeauError(f"{call}: {out} holds other files: name an empty or new folder")
    out.mkdir(parents=True, exist_ok=True)
    if not (out / FACTS).is_file():  # a later call recognises the folder of a killed one
        (out / FACTS).write_bytes(b"")
    facts = _write_model(model, out, options or ChatOptions(), call)
    for name, data in _page_files().items():
        (out / name).write_bytes(data)
    write_whole(out / FACTS, lambda part: part.write_bytes(_json(facts)))
    return facts


def site_files(model: str | None, call: str) -> dict[str, bytes]:
    """Return the files of the site's page by name: chat.json and, with a model, its programs and weights."""
    if model is None:
        return {FACTS: _json({"chooser": True})}
    with TemporaryDirectory() as scratch:
        out = Path(scratch)
        facts = _write_model(model, out, ChatOptions(), call) | {"chooser": True}
        files = {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()}
        return files | {FACTS: _json(facts)}


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _write_model(model: Any, out: Path, options: ChatOptions, call: str) -> dict[str, Any]:
    """Write the programs, weights and tokens of a model; returns what its page knows of it."""
    folder = out / MODEL
    with device("cpu"):  # planning needs no GPU
        opened = open_model(model, keep_quantized=True)
        facts: dict[str, Any] = _facts(opened, options, call)
        facts["title"] = options.title or _title(model)
        for old in folder.glob("weights-*.bin"):
            old.unlink()
        context = facts["context"]
        save_decoder(opened.model, folder, context, min(CHUNK, context), sample=True)
    facts["memory"] = memory_of(json.loads((folder / PROGRAM).read_text("utf-8")))
    (folder / TOKENS).write_bytes(_json(page_rules(opened.tokenizer)))
    names = [*_cut(folder / WEIGHTS), PROGRAM, KERNELS, TOKENS, *(f"{DRAW}/{name}" for name in PROGRAM_FILES)]
    facts["files"] = {f"{MODEL}/{name}": _described(folder / name) for name in names}
    facts["weights"] = [f"{MODEL}/{name}" for name in names if name.endswith(".bin")]
    return facts


def _title(model: Any) -> str:
    return find_model(model).stem


def _facts(opened: OpenedModel, options: ChatOptions, call: str) -> dict[str, Any]:
    """Return what the page knows of a model, but for its files."""
    template = opened.template
    if options.template is not None:
        template = _template(options.template, opened.names, call)
    if template is None:
        raise FlambeauError(f"{call}: the model has no chat template: pass --chat-template")
    config = opened.model.config
    trained = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", CONTEXT)
    system = [{"role": "system", "content": options.system}] if options.system else []
    try:
        template.render([*system, {"role": "user", "content": "Hello"}], add_generation_prompt=True)
        tree = page_template(template)
        page_rules(opened.tokenizer)
    except ValueError as e:
        raise FlambeauError(f"{call}: {e}") from None
    return {
        "format": FORMAT,
        "version": VERSION,
        "about": ABOUT,
        "system": options.system,
        "context": min(options.context, trained),
        "ends": list(Decoder(opened.model).ends()),
        "template": tree,
        "names": opened.names,
    }


def _template(source: str, names: dict[str, str], call: str) -> ChatTemplate:
    try:
        return ChatTemplate(source, names)
    except ValueError as e:
        raise FlambeauError(f"{call}: {e}") from None


def _cut(path: Path) -> list[str]:
    """Cut the file of weights into parts, and remove it; returns the names of the parts in order."""
    names: list[str] = []
    with path.open("rb") as file:
        while data := file.read(PART):
            names.append(f"weights-{len(names):03}.bin")
            path.with_name(names[-1]).write_bytes(data)
    path.unlink()
    return names


def _described(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"bytes": len(data), "sha256": sha256(data)}


# --- memory ---


def memory_of(program: dict[str, Any]) -> dict[str, int]:
    """Return the bytes that a saved decoder takes on a GPU: its weights, its cache, and the buffers of all
    batch sizes together for computing; and the largest tensor."""
    weights, state = (
        [_bytes(entry["dtype"], entry["shape"]) for entry in program[part]] for part in ("weights", "state")
    )
    plans, low = program["plans"]["gpu"], program["batch"][0]
    sizes = {n: plans["plans"][index] for n, index in enumerate(plans["plan_of"], low) if index is not None}
    working = sum(sum(_buffers(plan, n)) for n, plan in sizes.items())
    return {"weights": sum(weights), "cache": sum(state), "working": working, "largest": max(weights + state)}


def _bytes(dtype: str, shape: list[int]) -> int:
    return prod(shape) * (4 if dtype == "bool" else SHORT[dtype].itemsize)


def _buffers(plan: dict[str, Any], n: int) -> list[int]:
    """Return the sizes of the buffers that web/program.js shares among a plan's temporaries."""
    steps = [*plan["setup"], *plan["steps"]]
    last = {value: i for i, step in enumerate(steps) for value in step["reads"]}
    kept = {o["value"] for o in plan["outputs"]} | {*plan["state"]}
    kept |= {value for step in plan["setup"] for value in step["writes"]}
    sizes: list[int] = []
    free: list[int] = []  # buffers, by their place in `sizes`
    places: dict[str, int] = {}
    for i, step in enumerate(steps):
        for value in step["writes"]:
            if value in places or value[0] != "t":
                continue
            size = value_of(plan["temporaries"][int(value[1:])], n)
            fits = next((buffer for buffer in free if size <= sizes[buffer] <= 2 * size), None)
            if fits is None:
                sizes.append(size)
            else:
                free.remove(fits)
            places[value] = len(sizes) - 1 if fits is None else fits
        read = [v for v in dict.fromkeys(step["reads"]) if v in places and v not in kept]
        free += [places[v] for v in read if last[v] == i]
    return sizes


# --- the page ---


def _page_files() -> dict[str, bytes]:
    """Return the page, its scripts and the module of its programs by name."""
    folder = web_folder()
    text = (folder / CHAT / "index.html").read_text("utf-8")
    head = (folder / PARTS / "head.html").read_text("utf-8")
    parts = {
        "head": Template(head).substitute(root="", policy=escape(POLICY, quote=False)),
        "header": "",
        "state": (folder / PARTS / "state.html").read_text("utf-8"),
        "end": Template((folder / PARTS / "end.html").read_text("utf-8")).substitute(root=""),
    }
    for name, part in parts.items():
        text = text.replace(f"<!-- {name} -->\n", part)
    files = {"index.html": text.encode()}
    for source in (*(f"{CHAT}/{name}" for name in SCRIPTS), *SHARED):
        script = (folder / source).read_text("utf-8")
        for old, new in IMPORTS.items():
            script = script.replace(old, new)
        files[source.rpartition("/")[2]] = script.encode()
    for name in (MODULE, EXECUTOR, VALUES):
        source = (folder / SOURCES[name]).read_text("utf-8")
        files[f"{MODEL}/{name}"] = minify(source.partition(FOR_PYTHON)[0]).encode()
    return files
