"""Serves the page that a link opens, and a WebSocket for each tab."""

from __future__ import annotations

import hmac
import select
import socket
import ssl
import threading
from contextlib import suppress
from functools import cache
from time import monotonic
from typing import Any

import numpy as np

from ..errors import FlambeauError
from ..remote.streams import Incoming, TlsSocket, sends
from ..remote.websocket import ProtocolError, Request, WebSocket, read_request, refuse, upgrade
from ..site.pages import pages
from ..site.server import TYPES
from .messages import (
    DISMISSED,
    ENDED,
    FORMAT,
    FULL,
    HEAD,
    OUTDATED,
    REFUSED,
    BadMessage,
    TabMessage,
    decode,
    encode,
    number_in,
    text_in,
)
from .pool import ENDING, ShardPool, ShardTask, Tab
from .program import GradientProgram

PAGE, SOCKET = "/join/", "/join/socket"
SERVED = (
    *("join/", "executor.js", "program.js", "values.js", "check.js", "state.js", "loading.js"),
    *("notice.js", "site.css", "flame.svg"),
)
HELLO = 10.0  # seconds for a request and the first message
IDLE = 0.2  # seconds between two looks at whether an idle tab has left
SPARE = 16  # connections beside those of tabs
HEADERS = (
    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n"
)


@cache
def files() -> dict[str, bytes]:
    """The page and what it loads, by path."""
    return {"/" + name: data for name, data in pages("").items() if name.startswith(SERVED)}


class TabServer:
    """Listens on an address. A thread serves each connection.

    Files are the same for everyone; program, weights and data are sent to tabs that know the token. most: of
    tabs at a time.
    """

    def __init__(
        self,
        pool: ShardPool,
        program: GradientProgram,
        token: str,
        most: int,
        address: tuple[str, int],
        context: ssl.SSLContext | None,
    ):
        self.pool, self.program, self.token, self.most, self.context = pool, program, token, most, context
        self.files = files()
        self._room = threading.Semaphore(most + SPARE)
        self._count = 0
        try:
            self._listener = socket.create_server(address)
        except OSError as e:
            host, port = address
            rule = f"{e.strerror or e}: pass another port, or port=0 for a free one"
            raise FlambeauError(f"TabWorkers(host={host!r}, port={port}): {rule}") from None
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="tabs", daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                raw, _ = self._listener.accept()
            except OSError:
                return
            if not self._room.acquire(blocking=False):
                raw.close()
                continue
            threading.Thread(target=self._serve, args=(raw,), name="tab", daemon=True).start()

    def _serve(self, raw: socket.socket) -> None:
        try:
            raw.settimeout(HELLO)
            sock: Any = raw if self.context is None else TlsSocket(raw, self.context)
            incoming = Incoming(sock)
            request = read_request(incoming)
            if request.target == SOCKET:
                self._converse(raw, upgrade(sock, incoming, request))
            else:
                self._send_file(sock, request)
        except (OSError, ssl.SSLError, ProtocolError):
            pass  # it sent nonsense, or left
        finally:
            self._room.release()
            raw.close()

    def _send_file(self, sock: Any, request: Request) -> None:
        path = request.target.partition("?")[0]
        if request.method != "GET":
            return refuse(sock, 400, "this server supports only GET")
        if path in ("/", PAGE[:-1]):
            head = f"HTTP/1.1 302 Found\r\nLocation: {PAGE}\r\nContent-Length: 0\r\n{HEADERS}\r\n"
            sends(sock, (head.encode(),))
            return None
        name = path + "index.html" if path.endswith("/") else path
        data = self.files.get(name)
        if data is None:
            return refuse(sock, 404, "this server has only the page of a training")
        kind = TYPES.get(name[name.rindex(".") :], "application/octet-stream")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n{HEADERS}\r\n"
        sends(sock, (head.encode(), data))
        return None

    # --- tabs ---

    def _converse(self, raw: socket.socket, ws: WebSocket) -> None:
        """Talk with a tab until it leaves or is dismissed."""
        ws.most = HEAD  # bytes of a message, before it has shown the token
        tab = self._welcome(ws)
        if tab is None:
            return
        tab.close = lambda why: _dismiss(raw, ws, why)
        # The largest message is a result: the length of its head, the head, the loss and the gradients in
        # float32.
        ws.most = HEAD + 4 + 4 + self.program.nbytes
        why = "it closed"
        try:
            self.pool.join(tab)
            self._deal(raw, ws, tab)
        except (BadMessage, ProtocolError) as e:
            why = str(e)
        except TimeoutError:
            why = self.pool.lateness(tab)
        except OSError:
            why = "its connection broke"
        finally:
            self.pool.leave(tab, why)

    def _welcome(self, ws: WebSocket) -> Tab | None:
        """Check the token and the version of a tab, and send it the program."""
        try:
            head = _expect(ws, "hello").head
            token, version = text_in(head, "token"), number_in(head, "format", 1 << 30)
            adapter = text_in(head, "adapter")
        except BadMessage as e:
            ws.close(REFUSED, str(e))
            return None
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            ws.close(REFUSED, "the link's token is wrong: open the link that the training printed")
        elif version != FORMAT:
            rule = f"the page speaks version {version}, the training {FORMAT}: load the page again"
            ws.close(OUTDATED, rule)
        elif len(self.pool.tabs) >= self.most:
            ws.close(FULL, f"{self.most} tabs take part, which is the limit of this training")
        else:
            self._count += 1
            sizes = {name: len(data) for name, data in self.program.files.items()}
            shapes = [list(p.shape) for p in self.program.params]
            inputs = [list(spec) for spec in self.program.specs]
            parts = encode(
                "welcome", [*self.program.files.values()], files=sizes, shapes=shapes, inputs=inputs
            )
            ws.send(*parts)
            return Tab(f"tab {self._count}", adapter)
        return None

    def _deal(self, raw: socket.socket, ws: WebSocket, tab: Tab) -> None:
        """Give a tab shards, one at a time."""
        while not self.pool.is_closed and not tab.gone:
            dealt = self.pool.take(tab, IDLE)
            if dealt is None:
                # An idle tab sends nothing but that it leaves, or the end of its connection.
                if select.select([raw], [], [], 0)[0] and _leaves(ws.receive()):
                    return
                continue
            task, weights = dealt
            if weights:
                ws.send(*encode("weights", [weights], step=task.step))
            data = task.data()
            head = {"step": task.step, "shard": task.shard, "seed": task.seed}
            # Of each read. A tab that sends a little at a time is dismissed at the pool's deadline.
            begin = monotonic()
            raw.settimeout(self.pool.limit * tab.limit_factor)
            ws.send(*encode("shard", data, **head, sizes=[len(part) for part in data]))
            result = self._result(ws, task)
            if result is None:
                return
            self.pool.give(tab, task, result, monotonic() - begin)

    def _result(self, ws: WebSocket, task: ShardTask) -> Any:
        """A tab's result of a shard; None if it leaves instead."""
        raw = ws.receive()
        if raw is None:
            return None
        message = decode(raw)
        if message.kind == "bye":
            return None
        if message.kind == "failed":
            raise BadMessage(f"it failed: {text_in(message.head, 'why')}")
        if message.kind != "result" or (message.head.get("step"), message.head.get("shard")) != task[:2]:
            raise BadMessage("tab: a result for another shard")
        if message.data.nbytes != 4 + self.program.nbytes:
            raise BadMessage(
                f"tab: a result of {message.data.nbytes:,} bytes, not {4 + self.program.nbytes:,}"
            )
        return np.frombuffer(message.data, np.float32)


def _leaves(raw: Any) -> bool:
    """Whether an idle tab leaves, by a message or by the end of its WebSocket; BadMessage for anything
    else."""
    if raw is not None and decode(raw).kind != "bye":
        raise BadMessage("tab: an unexpected message")
    return True


def _expect(ws: WebSocket, kind: str) -> TabMessage:
    message = decode(ws.receive())
    if message.kind != kind:
        raise BadMessage(f"tab: expected {kind!r}, got {message.kind!r}")
    return message


def _dismiss(raw: socket.socket, ws: WebSocket, why: str) -> None:
    ws.close(ENDED if why == ENDING else DISMISSED, why)
    with suppress(OSError):
        raw.shutdown(socket.SHUT_RD)  # its thread may wait in a read
