"""Turns pages of the documentation into Jupyter notebooks, for JupyterLab and JupyterLite."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import __version__
from ..core.files import write_whole
from . import markdown

# The pages that are offered as notebooks: their blocks run from top to bottom.
NOTEBOOKS = ("tutorial", "fusion", "learner", "autodiff")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
PICTURE = re.compile(r"\]\(\.\./images/([\w-]+\.png)\)")
FILE = re.compile(r"# (\w+\.py)\n")  # the first line of a block that is a file
COMMANDS = ("python ", "flambeau ")
# Commands that would not end, or that open a browser.
UNENDING = ("serve", "--open")
SETUP = (
    "*This notebook is a page of Flambeau's documentation. It needs `pip install 'flambeau[train,data]'`. In"
    " JupyterLite run `%pip install numpy pillow` and `%pip install` with the address of the wheel that the"
    " site's first page shows; there, `!` commands do not run.*"
)


def notebook(text: str, link: Callable[[str], str | None]) -> dict[str, Any]:
    """Return a page of Markdown as a notebook of format 4.5, without outputs.

    Python blocks become cells. A block whose first line is `# name.py` is written to that file, and a block
    of `python` and `flambeau` commands runs them. link: translates addresses.
    """
    text = markdown.COMMENT.sub("", text)
    cells: list[dict[str, Any]] = []
    end = 0
    for match in FENCE.finditer(text):
        source = code_of(match[1], match[2])
        if source is None:
            continue
        add_markdown(cells, text[end : match.start()], link)
        cells.append(cell("code", source, len(cells)))
        end = match.end()
    add_markdown(cells, text[end:], link)
    cells.insert(1, cell("markdown", SETUP, len(cells)))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}, "flambeau": __version__}
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def code_of(language: str, body: str) -> str | None:
    """Return the source of the cell of a fenced block, or None for a block that stays text."""
    if language == "python":
        return f"%%writefile {name[1]}\n{body[name.end() :]}" if (name := FILE.match(body)) else body
    lines = [line.partition("  #")[0].rstrip() for line in body.splitlines()]
    if language or not all(line.startswith(COMMANDS) for line in lines):
        return None
    if any(word in line.split() for line in lines for word in UNENDING):
        return None
    return "".join(f"!{line}\n" for line in lines)


def cell(kind: str, source: str, number: int) -> dict[str, Any]:
    lines = source.strip("\n").splitlines(keepends=True)
    base: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines}
    return base | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def add_markdown(cells: list[dict[str, Any]], text: str, link: Callable[[str], str | None]) -> None:
    """Add a cell of text, with its links translated, unless the text is empty."""
    if text.strip():
        relinked = LINK.sub(lambda match: link(match[1]) or match[1], text)
        cells.append(cell("markdown", relinked, len(cells)))


def attach_pictures(page: dict[str, Any], read: Callable[[str], bytes]) -> None:
    """Put the pictures of a notebook into its cells, so that one downloaded file has them. read: returns the
    bytes of a file in images/."""
    for part in page["cells"]:
        names = [name for line in part["source"] for name in PICTURE.findall(line)]
        if part["cell_type"] == "markdown" and names:
            part["source"] = [PICTURE.sub(r"](attachment:\1)", line) for line in part["source"]]
            encoded = {name: base64.b64encode(read(name)).decode() for name in names}
            part["attachments"] = {name: {"image/png": data} for name, data in encoded.items()}


def notebooks(
    pages: dict[str, str],
    linker: Callable[[str, dict[str, str]], markdown.Link],
    read: Callable[[str], bytes],
) -> dict[str, bytes]:
    """Return the notebooks of the pages by name; links lead to the pages in the folder above theirs. read:
    returns the bytes of a file in images/."""
    written: dict[str, bytes] = {}
    for name in [name for name in NOTEBOOKS if name in pages]:
        link = linker(name, pages)

        def above(target: str, link: markdown.Link = link) -> str | None:
            place = link(target)
            return place if place is None or re.match(r"[a-z]+:|#", place) else f"../{place}"

        page = notebook(pages[name], above)
        attach_pictures(page, read)
        written[f"{name}.ipynb"] = (json.dumps(page, indent=1) + "\n").encode()
    return written


def write_notebooks(folder: Path, files: dict[str, bytes]) -> None:
    """Write notebooks to a folder, which is created."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        write_whole(folder / name, lambda part, data=data: part.write_bytes(data))
