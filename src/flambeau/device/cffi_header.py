"""Caches cffi's parse of wgpu's C header, which it would repeat at every start, and speeds up its lookup
of types."""

import pickle
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..core.files import cache_folder, read_checked, write_checked

LONG = 10_000  # characters: longer texts are headers, not names of types


@contextmanager
def parsed_once() -> Generator[None]:
    """Inside this context, cffi uses cached parses of long texts."""
    from cffi import cparser

    # private names of cffi, which another version may lack
    usual, pycparser = (getattr(cparser, name, None) for name in ("_get_parser", "pycparser"))
    folder = _folder()
    if usual is None or pycparser is None or folder is None:
        yield
        return
    versions = pycparser.__name__ + pycparser.__version__
    cparser._get_parser = lambda: Parser(usual, folder, versions)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        cparser._get_parser = usual  # type: ignore[attr-defined]


def _folder() -> Path | None:
    try:
        return cache_folder("headers")
    except RuntimeError:  # nobody's home
        return None


class Parser:
    """pycparser's parser, with a cache for long texts."""

    def __init__(self, usual: Callable[[], Any], folder: Path, versions: str):
        self.usual, self.folder, self.versions = usual, folder, versions

    def parse(self, text: str, *args: Any, **kw: Any) -> Any:
        """Return the syntax tree of a C text."""
        if len(text) < LONG:
            return self.usual().parse(text, *args, **kw)
        name = sha256(f"{self.versions}\0{text}".encode()).hexdigest()[:24]
        path = self.folder / f"{name}.pickle"
        if cached := read_checked(path):
            with suppress(Exception):  # written by another Python
                return pickle.loads(cached)
        parsed = self.usual().parse(text, *args, **kw)
        with suppress(OSError):
            write_checked(path, pickle.dumps(parsed))
        return parsed


def name_types_quickly(ffi: Any) -> None:
    """Let cffi find types by name without the rest of wgpu's header.

    cffi parses a type's text after a line for each of the header's 400 names, 5 to 10 ms per type, and
    opening a device and compiling a kernel look up 40 types. Only the names in the text are needed.
    """
    parser: Any = getattr(ffi, "_parser", None)
    kinds = ("typedef", "struct", "enum", "union")
    if not hasattr(parser, "_declarations"):  # a private name of cffi, which another version may lack
        return
    parse = parser.parse_type

    def parse_type(text: str) -> Any:
        declarations = parser._declarations
        named = [f"{kind} {word}" for word in re.findall(r"\w+", text) for kind in kinds]
        parser._declarations = {key: declarations[key] for key in named if key in declarations}
        try:
            return parse(text)
        finally:
            parser._declarations = declarations

    parser.parse_type = parse_type
