"""The HTTP server of an engine: paths, a token, limits, streams of events, and its end.

Threads of the standard library: one thread works with the device, and the others wait for it, so an event
loop would gain nothing.
"""

import hmac
import json
import select
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .engine import Engine, ReplyPlan
from .requests import BadRequest

LARGEST = 8 << 20  # bytes of a request
CONNECTIONS = 128  # at once
SECONDS = 60.0  # that a client may take to send its request, or to read a part of the answer
LOCAL = {"localhost", "127.0.0.1", "::1"}
Event = dict[str, Any]


class ModelServer(ThreadingHTTPServer):
    """Serves a model by OpenAI's interface: chat, completions, embeddings and the list of models.

    engine: answers the requests. host, port: of the address; port 0 takes a free one. token: what clients
    pass as their API key; None for no check, which is possible on this machine alone. ValueError for an
    address that others reach without a token.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = CONNECTIONS

    def __init__(self, engine: Engine, host: str = "127.0.0.1", port: int = 8080, token: str | None = None):
        if host not in LOCAL and not token:
            raise ValueError(f"serve(host={host!r}): other machines reach it: pass a token")
        self.engine, self.token, self.open = engine, token, threading.BoundedSemaphore(CONNECTIONS)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), ModelHandler)

    @property
    def url(self) -> str:
        """The address that clients take as base_url."""
        host, port = self.server_address[:2]
        name = str(host)
        return f"http://{f'[{name}]' if ':' in name else name}:{port}/v1"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread, or refuse it if there are too many."""
        if not self.open.acquire(blocking=False):
            with suppress(OSError):
                request.sendall(busy_answer())
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.open.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that hang up; print other errors."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def stop(self) -> None:
        """End the replies that are being written, and the server."""
        self.engine.is_closing = True
        self.shutdown()
        self.engine.close()
        self.server_close()


class ModelHandler(BaseHTTPRequestHandler):
    """Answers the requests of a connection."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "flambeau", ""
    timeout = SECONDS
    streaming = False  # whether the headers of a stream were sent

    @property
    def models(self) -> ModelServer:
        """The server."""
        assert isinstance(self.server, ModelServer)
        return self.server

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing for each request."""

    def do_GET(self) -> None:
        """Answer with the list of models, or that the server runs."""
        self._guarded(lambda path: self._send(200, GETS[path](self.models.engine)) if path in GETS else None)

    def do_POST(self) -> None:
        """Answer a request for texts or embeddings."""
        self._guarded(self._post)

    def _guarded(self, answer: Callable[[str], Any]) -> None:
        """Answer a request, and errors of it as OpenAI's interface does."""
        path = self.path.partition("?")[0].rstrip("/")
        try:
            self._check()
            if path not in GETS and path not in POSTS:
                raise BadRequest(f"{path}: is not a path of this server: use {', '.join(POSTS)}", None, 404)
            if (path in POSTS) != (self.command == "POST"):
                raise BadRequest(f"{path}: takes {'POST' if path in POSTS else 'GET'}", None, 405)
            answer(path)
        except BadRequest as e:
            self._fail(e)
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception as e:
            self._fail(BadRequest(f"the server failed: {type(e).__name__}", None, 500, "server_error"))
            raise

    def _check(self) -> None:
        """BadRequest without the token; without one, for pages of other sites (a name that leads here)."""
        token, host = self.models.token, self.headers.get("Host", "")
        if token is not None:
            sent = self.headers.get("Authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(sent.encode(), token.encode()):
                raise BadRequest("the API key is missing or wrong", None, 401, "authentication_error")
        elif host.rpartition(":")[0].strip("[]") not in LOCAL and host not in LOCAL:
            raise BadRequest(f"the host {host!r} is not this machine", None, 403)

    def _body(self) -> bytes:
        """Return the bytes of a request."""
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip()
        if kind != "application/json":  # which a page of another site cannot send without asking first
            raise BadRequest("Content-Type: takes application/json", None, 415)
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise BadRequest("Content-Length: is missing", None, 411)
        if int(length) > LARGEST:
            self.close_connection = True
            raise BadRequest(f"the request has {int(length):,} bytes, more than {LARGEST:,}", None, 413)
        raw = self.rfile.read(int(length))
        if len(raw) < int(length):
            raise ConnectionAbortedError("the client hung up")
        return raw

    def _post(self, path: str) -> None:
        engine, raw = self.models.engine, self._body()
        if path == "/v1/embeddings":
            self._send(200, engine.embeddings(raw))
            return
        plan = engine.plan_chat(raw) if path == "/v1/chat/completions" else engine.plan_completion(raw)
        if plan.streams:
            self._stream(plan)
        else:
            self._send(200, engine.answer(plan, self._is_gone))

    def _stream(self, plan: ReplyPlan) -> None:
        """Send the parts of an answer as server-sent events."""
        events: Iterator[Event] = self.models.engine.events(plan, self._is_gone)
        for event in events:
            if not self.streaming:  # an error before the first event has a status of its own
                self.streaming = self.close_connection = True
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream; charset=utf-8")
                self.send_header("Cache-Control", "no-cache")
                self.send_header("Connection", "close")
                self.end_headers()
            self._event(json.dumps(event, ensure_ascii=False))
        self._event("[DONE]")

    def _event(self, text: str) -> None:
        self.wfile.write(f"data: {text}\n\n".encode("utf-8", "replace"))
        self.wfile.flush()

    def _send(self, status: int, content: Event) -> None:
        raw = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(raw)))
        if self.close_connection or status >= 400:
            self.close_connection = True  # the body of a refused request was not read
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(raw)

    def _fail(self, error: BadRequest) -> None:
        with suppress(OSError):
            if self.streaming:
                self._event(json.dumps(error.body(), ensure_ascii=False))
            else:
                self._send(error.status, error.body())
        self.close_connection = True

    def _is_gone(self) -> bool:
        """Whether the client has hung up."""
        try:
            ready, _, _ = select.select([self.connection], [], [], 0)
            return bool(ready) and self.connection.recv(1, socket.MSG_PEEK) == b""
        except (OSError, ValueError):
            return True


def busy_answer() -> bytes:
    """Return the answer to a connection beyond those that may be open."""
    error = BadRequest(f"{CONNECTIONS} connections are open: try again later", None, 503, "server_error")
    body = json.dumps(error.body()).encode()
    head = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
    return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


GETS: dict[str, Callable[[Engine], Event]] = {
    "/health": lambda engine: {"status": "ok"},
    "/v1/models": lambda engine: engine.models(),
}
POSTS = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings")
