"""Turns a folder into a site on this machine, with the types and headers that browsers want."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from .build import IMMUTABLE

TYPES = {  # Python takes these from the system, which may have none or wrong ones
    ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".wasm": "application/wasm",
    ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".png": "image/png",
    ".py": "text/x-python; charset=utf-8", ".wgsl": "text/plain; charset=utf-8", ".json": "application/json",
    ".svg": "image/svg+xml", ".zip": "application/zip", ".safetensors": "application/octet-stream",
}  # fmt: skip


class Handler(SimpleHTTPRequestHandler):
    """Files with right types; those named by their hash may be kept for ever, others are asked for anew."""

    extensions_map = TYPES | {"": "application/octet-stream"}
    protocol_version = "HTTP/1.1"
    quiet = False

    def end_headers(self) -> None:
        kept = "public, max-age=31536000, immutable" if IMMUTABLE.search(self.path) else "no-cache"
        self.send_header("Cache-Control", kept)
        super().end_headers()

    def log_message(self, format: str, *args) -> None:
        if not self.quiet:
            super().log_message(format, *args)


class QuietHandler(Handler):
    quiet = True


def serve(
    folder: Path, host: str = "127.0.0.1", port: int = 8000, quiet: bool = False
) -> ThreadingHTTPServer:
    """A server of the folder, bound and not yet running; port 0 takes a free one."""
    handler = partial(QuietHandler if quiet else Handler, directory=str(folder))
    return ThreadingHTTPServer((host, port), handler)


def address(server: ThreadingHTTPServer) -> str:
    """Where a browser finds it."""
    host, port = server.server_address[:2]
    return f"http://{'localhost' if host in ('127.0.0.1', '0.0.0.0') else host}:{port}/"
