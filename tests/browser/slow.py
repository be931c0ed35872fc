"""A server of programs that sends weights in pieces, as the page asks for more, stalls, or breaks off."""

import threading
from urllib.parse import parse_qs, urlsplit

from flambeau.site.server import QuietHandler

PIECES = 16
PATIENCE = 60  # seconds, for a page that never asks


class Slow(QuietHandler):
    """Serves a folder; NAME?once=HOW is served so the first time that it is asked for, then whole.

    pieces: each waits for a request of /more; stall: one, and no other; cut: half of what the length says;
    chunked: half, in chunks without the last; short: half, and nothing says how much there is.
    """

    seen: set[str]
    more: threading.Semaphore  # pieces that the page has asked for
    left: threading.Event  # the page has closed the connection of what stalls

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        how = parse_qs(url.query).get("once", [""])[0]
        if url.path == "/more":
            self.more.release()
            return self._head(204, "Content-Length", "0")
        if not how or url.query in self.seen:
            return super().do_GET()
        self.seen.add(url.query)
        with open(self.translate_path(self.path), "rb") as file:
            getattr(self, f"_{how.partition('-')[0]}")(file.read())

    def _head(self, status: int, name: str, text: str) -> None:
        self.encoded = False
        self.send_response(status)
        self.send_header(name, text)
        self.end_headers()

    def _pieces(self, data: bytes) -> None:
        self._head(200, "Content-Length", str(len(data)))
        step = -(-len(data) // PIECES)
        for at in range(0, len(data), step):
            assert self.more.acquire(timeout=PATIENCE), "the page asks for no more"
            self.wfile.write(data[at : at + step])

    def _stall(self, data: bytes) -> None:
        self.connection.settimeout(PATIENCE)
        try:
            self._head(200, "Content-Length", str(len(data)))
            self.wfile.write(data[:1000])
            gone = not self.connection.recv(1)
        except ConnectionError:
            gone = True
        if gone:
            self.left.set()
        self.close_connection = True

    def _cut(self, data: bytes) -> None:
        self._head(200, "Content-Length", str(len(data)))
        self._half(data)

    def _chunked(self, data: bytes) -> None:
        self._head(200, "Transfer-Encoding", "chunked")
        self._half(b"%x\r\n%b\r\n" % (len(data), data))

    def _short(self, data: bytes) -> None:
        self._head(200, "Connection", "close")
        self._half(data)

    def _half(self, data: bytes) -> None:
        self.wfile.write(data[: len(data) // 2])
        self.close_connection = True
