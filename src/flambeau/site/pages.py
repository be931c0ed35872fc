"""Builds the site's files from web/: pages with the parts that they share, and scripts."""

import json
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template

from ..export.web_module import minify
from ..inspector.page import frame_page, joined_script, joined_style
from .archives import ARRAYS, web_folder
from .hashes import digest

# folder: name
NAMES = {
    "": "Flambeau", "playground": "Playground", "mnist": "Digits", "cartpole": "CartPole", "image": "Photos",
    "chat": "Chat", "timm": "timm", "selftest": "Self-test",
}  # fmt: skip
DOCS = "docs"  # the folder of the documentation
DEMO = "demo"  # of web/: the page of `flambeau demo`
# Pages may load and run only the site's files. The visitor's pictures are blobs; addresses of scripts
# go through trusted.js. A host may send the policy as a header, which then also applies to workers.
POLICY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' blob:; object-src 'none';"
    " base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types flambeau"
)
PART = re.compile(r"^<!-- (\w+) -->\n", re.MULTILINE)  # stands for parts/NAME.html
PARTS = "parts"
NOT_SERVED = (".d.ts", ".mjs", ".md", "mnist.safetensors", "policy.safetensors", ARRAYS)
WHEEL = "flambeau.whl"  # in pages, stands for the name of the wheel
MINIFIED = {"executor.js", "program.js", "values.js"}
# The service worker, and its placeholder for the names of the files that it caches.
WORKER, KEPT = "sw.js", "const FILES = {}"


def pages(wheel: str, with_docs: bool = False, more: Mapping[str, bytes] | None = None) -> dict[str, bytes]:
    """Return the files of web/ by their path in the site, with the modules that exported programs contain.

    wheel: the name of the file that pip installs. with_docs: link the documentation from all pages.
    more: further files that the service worker keeps.
    """
    folder = web_folder()
    files = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    others = {PARTS, DOCS, DEMO, "__pycache__"}
    files_by_name = {
        place.as_posix(): path.read_bytes()
        for place, path in files.items()
        if not path.name.endswith(NOT_SERVED) and not others.intersection(place.parts)
    }
    files_by_name |= {
        name: minify(files_by_name[name].decode()).encode() for name in MINIFIED & files_by_name.keys()
    }
    assets = {
        name: page(name, data.decode(), with_docs).replace(WHEEL, wheel)
        for name, data in files_by_name.items()
        if name.endswith(".html")
    }
    files_by_name |= {name: text.encode() for name, text in assets.items()} | inspector_frame()
    files_by_name |= more or {}
    return files_by_name | {WORKER: service_worker(files_by_name).encode()}


def inspector_frame() -> dict[str, bytes]:
    """Return the files of the inspector's page, which shows the kernels of a run in a frame."""
    texts = {
        "index.html": frame_page(escape(POLICY, quote=False), "page.css", "frame.js"),
        "page.css": joined_style(),
        "page.js": joined_script(),
    }
    return {f"inspector/{name}": text.encode() for name, text in texts.items()}


def service_worker(files: dict[str, bytes]) -> str:
    """Build the service worker with the names and hashes of all other files."""
    hashes = {name: digest(data) for name, data in files.items() if name != WORKER}
    return files[WORKER].decode().replace(KEPT, f"{KEPT[:-2]}{json.dumps(hashes)}", 1)


def page(name: str, text: str, with_docs: bool = False) -> str:
    """Insert the shared parts into a page."""
    folder, _, _ = name.rpartition("/")
    root = "../" * name.count("/")
    values = {"root": root, "policy": escape(POLICY, quote=False), "links": links(root, folder, with_docs)}

    def part(match: re.Match[str]) -> str:
        return Template((parts() / f"{match[1]}.html").read_text("utf-8")).substitute(values)

    return PART.sub(part, text)


def parts() -> Path:
    return web_folder() / PARTS


def links(root: str, path: str, with_docs: bool = False) -> str:
    """Build the links from a page in the folder `path` to all pages."""
    anchors: list[str] = []
    for folder, name in (NAMES | ({DOCS: "Docs"} if with_docs else {})).items():
        mark = ' aria-current="page"' if folder == path else ""
        icon = f'<img src="{root}flame.svg" alt="" width="24" height="24">' if not folder else ""
        text = name if folder else f"<span>{name}</span>"  # which phones show as the icon alone
        anchors.append(f'<a href="{f"{root}{folder}/" if folder else root or "./"}"{mark}>{icon}{text}</a>')
    return "\n  ".join(["", *anchors]) + "\n"
