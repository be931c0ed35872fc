"""Builds a folder with the package, Pyodide and the pages of web/, which any web server can serve."""

import json
import re
from pathlib import Path
from typing import Any

from ..core.files import write_whole
from ..errors import FlambeauError
from ..export.save import WEIGHTS
from . import archives, cartpole, digits, node, photographs, pyodide
from .chat import CHAT, FACTS, site_files
from .docs import docs_files
from .hashes import digest, sha256
from .lock import desktop_wheel
from .pages import DOCS, pages
from .reference import entries

# Trained by `./run mnist --out web/mnist` on all of MNIST; the site names it by its hash.
MODEL = "mnist/mnist.safetensors"
# Trained by scripts/train_cartpole.py.
POLICY = "cartpole/policy.safetensors"
MANIFEST = "manifest.json"


def build(
    out: Path,
    sources: bool = False,
    model: Path | None = None,
    brotli: bool = True,
    with_docs: bool = False,
    chat: str | None = None,
) -> dict[str, Any]:
    """Write the site to `out` and return its manifest; `sources` keeps .py files, for tracebacks with lines.

    A wheel is among the files, so that pip can install it from the site's address. The manifest lists the
    files that the worker loads. Files with a hash in their name may be cached for ever. The page of images
    works if the package of its weights is installed, and that of borrowed models if timm is.

    model: a file of `flambeau mnist` that replaces the included one. brotli: write NAME.br for each NAME that
    gets smaller, and store archives uncompressed; without Node.js, archives are compressed instead.
    with_docs: add the documentation under docs/. chat: the language model of the page chat/, as of
    `site.chat.write_chat`; without it visitors choose an exported folder.
    """
    if out.exists() and not (out / MANIFEST).is_file() and any(out.iterdir()):
        raise FlambeauError(f"web build: {out} holds other files: name an empty or new folder")
    brotli = brotli and node.program("node") is not None
    home = pyodide.folder()
    packed, compiled = packages(sources, brotli)
    core = {name: (home / name).read_bytes() for name in pyodide.CORE}
    folder = f"pyodide-{pyodide.VERSION}-{digest(b''.join(core.values()))}"
    written = {f"{folder}/{name}": data for name, data in core.items()}
    names = {name: f"{name}-{digest(data)}.zip" for name, data in packed.items()}
    written |= {names[name]: data for name, data in packed.items()}
    weights = (model or archives.web_folder() / MODEL).read_bytes()
    written |= (mnist := mnist_files(weights))
    written |= (reader := digits.files(weights))
    written |= (pole := cartpole.files((archives.web_folder() / POLICY).read_bytes()))
    written |= (image := photographs.files())
    manifest: dict[str, Any] = {
        "pyodide": f"{folder}/",
        "lock": {"info": json.loads((home / pyodide.LOCK).read_text("utf-8"))["info"], "packages": {}},
        "stdlib": names.pop("stdlib"),
        **{name: names.pop(name) for name in archives.SEPARATE},
        "timm": names.pop("timm", None),
        "packages": sorted(names.values()),
        "compiled": compiled,
        "mnist": dict(zip(("model", "digits"), mnist, strict=True)),
        "reader": list(reader),
        "cartpole": list(pole),
        "image": list(image),
        "files": {name: {"bytes": len(data), "sha256": sha256(data)} for name, data in written.items()},
    }
    talks = {f"{CHAT}/{name}": data for name, data in site_files(chat, "web build").items()}
    known = {name: data for name, data in talks.items() if name.endswith(FACTS)}
    installed = desktop_wheel()
    written |= {installed.file_name: installed.data} | pages(installed.file_name, with_docs, known) | talks
    if with_docs:
        written |= {
            f"{DOCS}/{name}": data for name, data in docs_files(list(entries()), with_site=True).items()
        }
    written[MANIFEST] = json.dumps(manifest, indent=1).encode()
    if brotli:
        # Trained weights look like random numbers, and a wheel is a zip: compressing them saves nothing.
        unchanged = f"/{WEIGHTS}", ".whl", ".bin"
        compressible = {name: data for name, data in written.items() if not name.endswith(unchanged)}
        written |= {f"{name}.br": data for name, data in (archives.brotli(compressible) or {}).items()}
    replace(out, written)
    return manifest


def replace(out: Path, written: dict[str, bytes]) -> None:
    """Replace the files of a site. An empty manifest is written first, so that a later build recognises the
    folder of a killed one as a site. The complete manifest is written last; until then no page loads it."""
    out.mkdir(parents=True, exist_ok=True)
    (out / MANIFEST).write_bytes(b"")
    for name, data in written.items():
        if name != MANIFEST:
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_bytes(data)
    for old in sorted(out.rglob("*"), reverse=True):  # contents before their folder
        if old.is_symlink() or not old.is_dir():
            if old.relative_to(out).as_posix() not in written:
                old.unlink()
        elif not any(old.iterdir()):
            old.rmdir()
    write_whole(out / MANIFEST, lambda part: part.write_bytes(written[MANIFEST]))


def packages(sources: bool, stored: bool) -> tuple[dict[str, bytes], bool]:
    """Return the Python archives by name, and whether they are compiled."""
    plain = {
        "flambeau": archives.zip_files(archives.flambeau() | archives.templates()),
        **{name: archives.zip_files(archives.separate_package(name)) for name in archives.SEPARATE},
        **({"timm": archives.zip_files(models)} if (models := archives.timm()) else {}),
        "jinja2": archives.zip_files(archives.installed_files("jinja2")),
        "markupsafe": archives.zip_files(archives.installed_files("markupsafe")),
    }
    stdlib = archives.stdlib()
    snapshot = archives.compile_archives({"stdlib": stdlib} if sources else {"stdlib": stdlib, **plain})
    packed = {"stdlib": stdlib, **plain} | (snapshot or {})
    if stored:
        packed = {name: archives.store_uncompressed(data) for name, data in packed.items()}
    return packed, snapshot is not None


def size(out: Path) -> tuple[int, int]:
    """Return the bytes of a site's files, and the bytes transferred if the server sends the .br files."""
    files = [path for path in out.rglob("*") if path.is_file() and path.suffix != ".br"]
    sent = [compressed if (compressed := Path(f"{path}.br")).is_file() else path for path in files]
    return sum(path.stat().st_size for path in files), sum(path.stat().st_size for path in sent)


def mnist_files(weights: bytes) -> dict[str, bytes]:
    """Return the trained network and the training digits, each under a name with its hash."""
    examples = archives.zip_files(archives.digits())
    return {
        f"mnist/model-{digest(weights)}/mnist.safetensors": weights,
        f"mnist/digits-{digest(examples)}.zip": examples,
    }


IMMUTABLE = re.compile(r"-[0-9a-f]{12}(\.zip$|/)")  # names that contain the hash of the content
