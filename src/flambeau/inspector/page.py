"""Renders an inspection as a standalone page, which makes no requests to other hosts."""

import base64
import hashlib
import json
import re
import zlib
from html import escape
from pathlib import Path
from typing import Any

from ..core.files import web_file
from .model import Inspection

HERE = Path(__file__).parent
SCRIPTS = (
    HERE / "graph.js",
    HERE / "parts.js",
    HERE / "page.js",
)  # one script, in this order, after SHARED
SHARED = ("wgsl.js", "kernel_table.js")  # modules of web/
MODULE_LINE = re.compile(r"\n(?:import [^\n]*|export )")  # names that a script without modules lacks
SLOT = re.compile(r"(\{\w+\})")  # a name in page.html
FRAME = 640  # pixels of a notebook's frame
POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '{hash}'; connect-src {connect}"
)


def html(inspection: Inspection, server: dict[str, Any] | None = None) -> str:
    """Render the page. server: the values that the page needs to use a server for edits; None without one."""
    script = joined_script()
    # The policy allows only this script: text from the inspection can't run, even if it were unescaped.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return _fill(
        {
            "csp": POLICY.format(hash=f"sha256-{digest}", connect="'self'" if server else "'none'"),
            "title": escape(f"{inspection.target}: flambeau inspect"),
            "style": f"<style>{joined_style()}</style>",
            "data": pack(inspection.to_dict()),
            # "<" could end the script element.
            "server": json.dumps(server).replace("<", "\\u003c"),
            "script": f"<script>{script}</script>",
        }
    )


def frame_page(policy: str, style: str, script: str) -> str:
    """Render the page without an inspection, for a site whose policy allows no inline scripts.

    policy: the site's content policy. style, script: the addresses of the style and of a module that sets the
    text of the element `data` and then runs `joined_script`.
    """
    parts = {"csp": policy, "title": "Kernels", "data": "", "server": "null"}
    linked = {
        "style": f'<link rel="stylesheet" href="{style}">',
        "script": f'<script type="module" src="{script}"></script>',
    }
    return _fill(parts | linked)


def joined_script() -> str:
    """Return the page's script, which imports nothing."""
    shared = [MODULE_LINE.sub("\n", web_file(name).read_text("utf-8")) for name in SHARED]
    return "".join(['"use strict";\n', *shared, *(path.read_text("utf-8") for path in SCRIPTS)])


def joined_style() -> str:
    return web_file("wgsl.css").read_text("utf-8") + HERE.joinpath("page.css").read_text("utf-8")


def _fill(parts: dict[str, str]) -> str:
    """Insert texts for the names in braces, each once; inserted text is not searched."""
    page = HERE.joinpath("page.html").read_text("utf-8")
    pieces: list[str] = []
    for part in SLOT.split(page):
        pieces.append(parts[part[1:-1]] if SLOT.fullmatch(part) else part)
    return "".join(pieces)


def pack(data: dict[str, Any]) -> str:
    """Encode values of JSON as text without markup characters: deflated, in base 64."""
    text = json.dumps(data, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpack(letters: str) -> dict[str, Any]:
    """Decode a text of `pack`."""
    return json.loads(zlib.decompress(base64.b64decode(letters)))


def in_frame(inspection: Inspection) -> str:
    """Render the page in a sandboxed frame."""
    style = f"width:100%;height:{FRAME}px;border:1px solid #8886"
    return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(html(inspection))}"></iframe>'
