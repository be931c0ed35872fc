"""Builds the documentation as a folder of pages: those of docs/, and one for each function and class."""

from __future__ import annotations

import ast
import json
import posixpath
import re
import shutil
import tempfile
import textwrap
import time
from collections.abc import Iterator
from functools import partial
from html import escape, unescape
from pathlib import Path
from string import Template
from typing import NamedTuple

from .. import __version__
from ..core.files import cache_folder, write_whole
from ..errors import FlambeauError
from . import markdown, notebooks, reference, search
from .archives import HERE, ROOT, web_folder
from .hashes import digest
from .pages import POLICY

# An argument in a docstring: its name, or several with commas between them, and their meaning. (An optional
# comma would make the time for a long word exponential.)
ARGUMENT = re.compile(r"(\*{0,2}(?:[a-z_]\w*|[A-Z])(?:, \*{0,2}(?:[a-z_]\w*|[A-Z]))*): (.+)")
READ = {".md", ".py", ".html", ".css", ".js", ".png", ".svg", ".json"}  # files that the pages are made from
OLD = 7 * 86400  # seconds after which a build of other files is removed from the cache
# Readers' tasks, each with its pages in order. Pages that are not named come last, under MORE.
GROUPS = {
    "Start": "README index install tutorial from_pytorch examples",
    "The book": "book/index book/graph book/train book/kernel book/gpt book/page book/inside",
    "How-to": "howto/photographs howto/arrays howto/faster_loading howto/learning_rate howto/metrics"
    " howto/resume howto/training_loop howto/sequences howto/sixteen_bits howto/several_devices"
    " howto/weights howto/chat howto/chat_page fine_tuning howto/onnx_file howto/page demo"
    " howto/slow_kernel howto/wrong_value howto/own_op",
    "Concepts": "fusion recording devices autodiff inplace dtypes architecture shaders",
    "Train": "learner dashboard data tables augmentation metrics optim mixed_precision",
    "Models": "nn models libraries weights onnx vision rl export site",
    "Many devices": "distributed scale remote tabs",
    "Look inside": "inspector profiling sanitizer tuning custom_ops",
    "Mathematics": "func named distributions linalg array_api",
    "Results": "correctness performance coverage",
}
MORE = "More"
SCRIPTS = "Examples"
INSIDE = "Inside"
SKIPPED = {"reference"}  # the pages of single functions replace it
MARK = "docs.json"  # the file by which a folder of an earlier build is recognised
ASSETS = ("docs.css", "docs.js", "rank.js")
BOOK, EXAMPLES = "book/", "examples"
RUNS = Template(
    '<link rel="stylesheet" href="${site}wgsl.css">\n<link rel="stylesheet" href="${site}runner.css">\n'
    '<link rel="stylesheet" href="${site}book/style.css">\n'
    '<script type="module" src="${site}book/page.js"></script>'
)
PLAYGROUND = '<p>Try it in this browser: the <a href="../playground/">Playground</a>.</p>'
NOTEBOOKS = "notebooks"  # the folder of pages as notebooks
DESCRIBED = 155  # characters of a page's description, of which search engines show no more
MOST_USES = 12  # pages that a function's page lists


class Built(NamedTuple):
    """The files of the documentation by path, and their search index."""

    files: dict[str, bytes]
    places: list[search.Found]


class Folder(NamedTuple):
    """The data that all pages of a build share: the Markdown by name, and whether a site is around the
    folder."""

    pages: dict[str, str]
    with_site: bool


def docs_folder() -> Path:
    """Return the folder of the Markdown pages: of a checkout, or inside the package."""
    return ROOT / "docs" if (ROOT / "docs" / "index.md").is_file() else HERE / "docs"


def sources() -> dict[str, str]:
    """Return the pages as Markdown by name, such as "learner" and "internals/core"."""
    folder = docs_folder()
    readme = folder.parent / "README.md" if folder.parent == ROOT else folder / "README.md"
    pages = {p.relative_to(folder).as_posix()[:-3]: p.read_text("utf-8") for p in folder.rglob("*.md")}
    pages |= {"README": readme.read_text("utf-8")} if readme.is_file() else {}
    pages |= {f"{EXAMPLES}/{name}": example_page(name, source) for name, source in examples().items()}
    return {name: text for name, text in sorted(pages.items()) if name not in SKIPPED}


def examples() -> dict[str, str]:
    """Return the sources of the examples by name, such as "vae"."""
    folder = docs_folder()
    place = (folder.parent if folder.parent == ROOT else folder) / EXAMPLES
    return {p.stem: p.read_text("utf-8") for p in sorted(place.glob("*.py"))}


def example_page(name: str, source: str) -> str:
    """Return an example as Markdown: what it does, how to run it, and its code."""
    first = ast.parse(source).body[0]
    summary, _, more = (ast.get_docstring(ast.parse(source)) or name).partition("\n\n")
    code = "\n".join(source.splitlines()[first.end_lineno :]).strip("\n")
    file = f"[{name}.py]({name}.py)"
    return f"# {name}\n\n{summary}\n\n```\n{more}\n```\n{file}:\n```python\n{code}\n```\n"


def read_image(name: str) -> bytes:
    """Return the bytes of a picture of the documentation."""
    return (docs_folder() / "images" / name).read_bytes()


def build_docs(out: Path) -> tuple[int, int]:
    """Write the documentation to a folder; returns the number of pages and of functions and classes.

    FlambeauError if the folder holds other files.
    """
    if out.exists() and not (out / MARK).is_file() and any(out.iterdir()):
        raise FlambeauError(f"docs: {out} holds other files: name an empty or new folder")
    entries = list(reference.entries())
    files = docs_files(entries)
    out.mkdir(parents=True, exist_ok=True)
    (out / MARK).write_text("{}\n")
    for name, data in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(data)
    facts = {"version": __version__, "files": sorted(files)}
    write_whole(out / MARK, lambda part: part.write_text(json.dumps(facts, indent=1) + "\n", "utf-8"))
    return sum(name.endswith(".html") for name in files), len(entries)


def kept_docs() -> Path:
    """Return a folder of the cache with the documentation of the installed files, built if they have changed.

    OSError if the cache can't be written.
    """
    home = cache_folder("docs")
    kept = home / fingerprint()
    if (kept / MARK).is_file():
        return kept
    home.mkdir(parents=True, exist_ok=True)
    for old in home.iterdir():  # another process may serve a newer one
        if time.time() - old.stat().st_mtime > OLD:
            shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        built = Path(scratch) / "site"
        build_docs(built)
        try:
            built.replace(kept)
        except OSError:  # another process was faster
            if not (kept / MARK).is_file():
                raise
    return kept


def fingerprint() -> str:
    """Return a digest of the names, sizes and times of the files that the documentation is made from."""
    of_checkout = [ROOT / name for name in ("README.md", "docs", "examples", "web")]
    roots = [HERE, *(of_checkout if docs_folder().parent == ROOT else ())]
    files = (path for root in roots for path in ([root] if root.is_file() else sorted(root.rglob("*"))))
    facts: list[tuple[str, int, int]] = []
    for path in files:
        if path.suffix in READ and "__pycache__" not in path.parts:
            facts.append((str(path), (status := path.stat()).st_size, status.st_mtime_ns))
    return digest(repr((__version__, facts)).encode())


def docs_files(entries: list[reference.PublicName], with_site: bool = False) -> dict[str, bytes]:
    """Return the files of the documentation by path. with_site: it is a folder of the site, whose runner runs
    the book's cells."""
    pages = sources()
    addresses = {entry.title: address_of(entry) for entry in entries}
    build_page = partial(whole, folder=Folder(pages, with_site))
    files: dict[str, bytes] = {}
    places: list[search.Found] = []
    files |= {
        f"{NOTEBOOKS}/{name}": data for name, data in notebooks.notebooks(pages, linker, read_image).items()
    }
    for name, text in pages.items():
        page = markdown.render(text, linker(name, pages))
        runs = with_site and name.startswith(BOOK) and name != f"{BOOK}index"
        file = f"{NOTEBOOKS}/{name}.ipynb"
        offer = f'<p><a href="{file}" download>This page as a notebook</a></p>' if file in files else ""
        offer += PLAYGROUND if with_site and name == "index" else ""
        files[f"{name}.html"] = build_page(
            f"{name}.html", page.title, page.html + offer, markdown.contents(page.sections), runs=runs
        )
        for s in page.sections:
            places.append(search.Found(page.title, s.title, f"{name}.html#{s.anchor}", s.text))
    uses = uses_in(pages, entries)
    classes = {entry.name: addresses[entry.title] for entry in entries if entry.kind == "class"}
    for entry in entries:
        path = addresses[entry.title]
        body = reference_page(entry, uses.get(entry.title, []), pages, classes)
        files[path] = build_page(path, entry.title, body, "")
    files["reference/index.html"] = build_page("reference/index.html", "Reference", index_page(entries), "")
    folder = docs_folder()
    extra_files = [p for kind in ("images", "inspect") for p in (folder / kind).rglob("*") if p.is_file()]
    files |= {p.relative_to(folder).as_posix(): p.read_bytes() for p in extra_files}
    files |= {name: (web_folder() / "docs" / name).read_bytes() for name in ASSETS}
    files |= {f"{EXAMPLES}/{name}.py": source.encode() for name, source in examples().items()}
    files["flame.svg"] = (web_folder() / "flame.svg").read_bytes()
    names = ((entry.title, addresses[entry.title], first_sentence(entry.doc)) for entry in entries)
    files["names.json"] = search.name_index(names).encode()
    files["words.json"] = search.index(places).encode()
    return files


# --- one page ---


def whole(
    path: str,
    title: str,
    body: str,
    contents: str,
    folder: Folder,
    runs: bool = False,
) -> bytes:
    """Return a complete page. path: its own; contents: the list of its headings, or ""; runs: whether cells
    get buttons."""
    root = "../" * path.count("/")
    template = Template((web_folder() / "docs" / "page.html").read_text("utf-8"))
    listed = f'</h1><nav class="contents" aria-label="On this page">{contents}</nav>' if contents else "</h1>"
    values = {
        "root": root, "home": f"{root}../" if folder.with_site else f"{root}index.html",
        "title": escape(title), "policy": escape(POLICY, quote=False),
        "body": body.replace("</h1>", listed, 1),
        "version": escape(__version__), "nav": navigation(path, root, folder.pages),
        "runs": RUNS.substitute(site=f"{root}../") if runs else "", "description": description(body),
    }  # fmt: skip
    return template.substitute(values).encode()


def description(body: str) -> str:
    """Return the beginning of a page's first paragraph, for search engines and shared links."""
    first = re.search(r"<p>(.*?)</p>", body, re.DOTALL)
    text = unescape(" ".join(re.sub(r"<[^>]*>", "", first[1]).split())) if first else "Flambeau"
    return escape(textwrap.shorten(text, DESCRIBED, placeholder=" ..."))


def groups(pages: dict[str, str]) -> dict[str, list[str]]:
    """Return the names of the pages by group; each page is in one."""
    grouped = {group: [n for n in names.split() if n in pages] for group, names in GROUPS.items()}
    listed = {name for names in grouped.values() for name in names}
    inside = [n for n in pages if n.startswith("internals/")] + [n for n in ("contributing",) if n in pages]
    scripts = [n for n in pages if n.startswith(f"{EXAMPLES}/")]
    more = [n for n in pages if n not in (*listed, *inside, *scripts)]
    return {**grouped, **({MORE: more} if more else {}), SCRIPTS: scripts, INSIDE: inside}


def navigation(path: str, root: str, pages: dict[str, str]) -> str:
    """Return the links to all pages, with the group of this page open."""
    parts: list[str] = []
    for group, names in groups(pages).items():
        rows = "".join(nav_row(name, path, root, pages) for name in names)
        is_open = " open" if any(f"{name}.html" == path for name in names) else ""
        parts.append(f"<details{is_open}><summary>{group}</summary><ul>{rows}</ul></details>")
    current = ' aria-current="page"' if path.startswith("reference/") else ""
    parts.append(f'<p><a href="{root}reference/index.html"{current}>Reference</a></p>')
    return "".join(parts)


def nav_row(name: str, path: str, root: str, pages: dict[str, str]) -> str:
    title = re.sub(r"[`*]", "", pages[name].partition("\n")[0].lstrip("# "))
    current = ' aria-current="page"' if f"{name}.html" == path else ""
    return f'<li><a href="{root}{name}.html"{current}>{escape(title)}</a></li>'


def linker(name: str, pages: dict[str, str]) -> markdown.Link:
    """Return a function that translates the addresses of a page's links."""
    own_page = "index.md" if name == "README" else f"{name}.md"

    def link(target: str) -> str | None:
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return target
        path, hash_, anchor = target.partition("#")
        place = markdown.resolve(path, own_page).removeprefix("../").removeprefix("docs/")
        if place.endswith(".md"):
            page = place.removesuffix(".md")
            if page == "reference":
                place = "reference/index.html"
            elif page in pages:
                place = f"{page}.html"
            else:
                return None  # a file of the repository that the site does not have
        elif place.startswith(f"{EXAMPLES}/") and place.removesuffix(".py") in pages:
            place = place if name.startswith(f"{EXAMPLES}/") else place.replace(".py", ".html")
        elif not place.startswith(("images/", "inspect/")):
            return None
        return posixpath.relpath(place, posixpath.dirname(own_page) or ".") + hash_ + anchor

    return link


# --- the reference ---


def address_of(entry: reference.PublicName) -> str:
    """Return the path of an entry's page. Names that differ only in case get different files."""
    mark = "-class" if entry.name[:1].isupper() else ""
    return f"reference/{entry.module}.{entry.name}{mark}.html"


def first_sentence(doc: str) -> str:
    return " ".join(doc.partition("\n\n")[0].split())


def uses_in(pages: dict[str, str], entries: list[reference.PublicName]) -> dict[str, list[str]]:
    """Return, by full name, the pages whose code calls a function or class."""
    calls: dict[str, list[str]] = {}
    for name, text in pages.items():
        words = {word for code in markdown.code_blocks(text) for word in re.findall(r"\b(\w+)\(", code)}
        for word in words:
            calls.setdefault(word, []).append(name)
    return {entry.title: calls[entry.name][:MOST_USES] for entry in entries if entry.name in calls}


def reference_page(
    entry: reference.PublicName, uses: list[str], pages: dict[str, str], classes: dict[str, str]
) -> str:
    """Return the HTML of a function's or class's page. classes: the addresses of all classes by name."""
    parts = [
        f"<h1>{escape(entry.title)}</h1>",
        signature_html(entry.name, entry.signature),
        doc_html(entry.doc),
        bases_html(entry.bases, classes),
    ]
    if entry.methods:
        parts.append('<h2 id="methods">Methods</h2>')
        parts += [method_html(method) for method in entry.methods]
    if uses:
        rows = "".join(nav_row(name, "", "../", pages) for name in uses)
        parts.append(f'<h2 id="used-in">Used in</h2><ul>{rows}</ul>')
    parts.append(source_html(entry.source))
    return "".join(parts)


def signature_html(name: str, signature: str) -> str:
    return f'<pre class="signature"><code>{markdown.highlight(name + signature, "python")}</code></pre>'


def doc_html(doc: str) -> str:
    """Return a docstring as paragraphs, and its lines `name: meaning` as lists."""
    return "".join(paragraph_html(text) for text in re.split(r"\n\s*\n", doc) if text.strip())


def paragraph_html(text: str) -> str:
    """Return a paragraph of a docstring. Arguments are a list if each begins a line; their further lines are
    indented."""
    parts: list[str] = []
    for line in text.splitlines():
        if parts and line.startswith(" "):
            parts[-1] += " " + line.strip()
        else:
            parts.append(line.strip())
    matches = [ARGUMENT.fullmatch(part) for part in parts]
    first = next((i for i, match in enumerate(matches) if match), len(parts))
    is_list = all(
        m or part.startswith("Raises ") for m, part in zip(matches[first:], parts[first:], strict=True)
    )
    if not is_list:
        return prose_html(" ".join(parts))
    rows = "".join(f"<li><code>{escape(m[1])}</code>: {inline(m[2])}</li>" for m in matches if m)
    rest = " ".join(part for part, m in zip(parts[first:], matches[first:], strict=True) if not m)
    return prose_html(" ".join(parts[:first])) + (f"<ul>{rows}</ul>" if rows else "") + prose_html(rest)


def prose_html(text: str) -> str:
    return f"<p>{inline(' '.join(text.split()))}</p>" if text else ""


def inline(text: str) -> str:
    return markdown.inline(text, lambda _: None)


def bases_html(bases: tuple[str, ...], classes: dict[str, str]) -> str:
    """Return the line of a class's bases, with links to those that have a page."""
    links = {name: classes[name].removeprefix("reference/") for name in bases if name in classes}
    linked = [
        f'<a href="{links[name]}"><code>{name}</code></a>' if name in links else f"<code>{name}</code>"
        for name in bases
    ]
    return f"<p>Its methods are also those of {', '.join(linked)}.</p>" if linked else ""


def method_html(method: reference.PublicName) -> str:
    text = f'<h3 id="{escape(method.name)}">{escape(method.name)}</h3>'
    return text + signature_html(method.name, method.signature) + doc_html(method.doc)


def source_html(source: reference.SourceLines | None) -> str:
    """Return the lines of a definition, closed at first."""
    if source is None:
        return ""
    code = markdown.highlight(source.text, "python")
    head = f"Source: {escape(source.path)}, line {source.line}"
    return f'<details class="source"><summary>{head}</summary><pre><code>{code}</code></pre></details>'


def index_page(entries: list[reference.PublicName]) -> str:
    """Return the page that lists all modules with their functions and classes."""
    by_module: dict[str, list[reference.PublicName]] = {}
    for entry in entries:
        by_module.setdefault(entry.module, []).append(entry)
    parts = ["<h1>Reference</h1><p>Every public function and class. Names and arguments are PyTorch's.</p>"]
    for module, rows in by_module.items():
        listed = "".join(index_row(entry) for entry in rows)
        parts.append(f'<h2 id="{escape(module)}">{escape(module)}</h2><dl>{listed}</dl>')
    return "".join(parts)


def index_row(entry: reference.PublicName) -> str:
    address = address_of(entry).removeprefix("reference/")
    sentence = markdown.inline(first_sentence(entry.doc), lambda _: None)
    return f'<dt><a href="{escape(address)}"><code>{escape(entry.name)}</code></a></dt><dd>{sentence}</dd>'


def dead_links(files: dict[str, bytes]) -> Iterator[str]:
    """Yield the dead links between pages: those to a missing file or heading."""
    ids = {
        name: set(re.findall(r'\bid="([^"]*)"', data.decode()))
        for name, data in files.items()
        if name.endswith(".html") and not name.startswith("inspect/")
    }
    for name in ids:
        for target in re.findall(r'(?:href|src)="([^"]*)"', files[name].decode()):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            place = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            if place.startswith(".."):
                continue  # a page of the site around the documentation
            if place not in files or (anchor and anchor not in ids.get(place, {anchor})):
                yield f"{name}: {target}"
