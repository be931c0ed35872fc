"""Serves a folder as a site on this machine, with the content types and headers that browsers need."""

import os
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .build import IMMUTABLE

TYPES = {  # Python reads these types from the system, where they may be missing or wrong
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".wasm": "application/wasm",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".py": "text/x-python; charset=utf-8",
    ".wgsl": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
    ".zip": "application/zip",
    ".safetensors": "application/octet-stream",
}

ERROR = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>%(code)d: %(message)s</title></head>
<body><main><h1>%(code)d: %(message)s</h1><p>%(explain)s. <a href="/">To the first page</a></p></main></body>
</html>
"""


class Handler(SimpleHTTPRequestHandler):
    """Serves files with the types of TYPES, and NAME.br for NAME if it exists and the browser accepts it.

    Browsers may cache files named by their hash for ever; they request others again.
    """

    extensions_map = TYPES | {"": "application/octet-stream"}
    protocol_version = "HTTP/1.1"
    error_message_format = ERROR
    quiet = encoded = False
    status = 200

    def translate_path(self, path: str) -> str:
        """Return the path of the file to send: NAME or NAME.br."""
        target = super().translate_path(path)
        if target.endswith("/") and os.path.isfile(f"{target}index.html"):
            target += "index.html"
        self.encoded = self.takes_brotli() and os.path.isfile(f"{target}.br")
        return f"{target}.br" if self.encoded else target

    def takes_brotli(self) -> bool:
        offers = [o.replace(" ", "").split(";") for o in self.headers.get("Accept-Encoding", "").split(",")]
        # "br;q=0" forbids brotli.
        return any(name == "br" and rest not in (["q=0"], ["q=0.0"]) for name, *rest in offers)

    def guess_type(self, path: Any) -> str:
        return super().guess_type(str(path).removesuffix(".br") if self.encoded else path)

    def send_error(self, *args: Any, **kw: Any) -> None:
        # An error page is not compressed.
        self.encoded = False
        super().send_error(*args, **kw)

    def send_response(self, code: int, message: str | None = None) -> None:
        self.status = code
        super().send_response(code, message)

    def end_headers(self) -> None:
        is_immutable = self.status < 400 and IMMUTABLE.search(self.path)
        self.send_header(
            "Cache-Control", "public, max-age=31536000, immutable" if is_immutable else "no-cache"
        )
        # Caches must keep both forms of a file apart.
        self.send_header("Vary", "Accept-Encoding")
        if self.encoded:
            self.send_header("Content-Encoding", "br")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        if not self.quiet:
            super().log_message(format, *args)


class QuietHandler(Handler):
    quiet = True


def serve(
    folder: Path, host: str = "127.0.0.1", port: int = 8000, quiet: bool = False
) -> ThreadingHTTPServer:
    """Create a server of the folder. It is bound to its port, but not running. Port 0 selects a free port."""
    handler = partial(QuietHandler if quiet else Handler, directory=str(folder))
    return ThreadingHTTPServer((host, port), handler)


def address(server: ThreadingHTTPServer) -> str:
    """Return the server's address for a browser."""
    # A page has WebGPU only in a secure context: over https, or from localhost.
    host, port = server.server_address[:2]
    return f"http://{'localhost' if host in ('127.0.0.1', '0.0.0.0') else host}:{port}/"
