"""A server of this machine's GPUs. Each client has a thread, and sees only its own buffers and programs."""

import socket
import ssl
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..core.addresses import is_loopback
from ..device import adapters
from ..errors import DeviceError
from .messages import PORT
from .served import ServedDevice
from .session import ClientSession

TICK = 0.5  # seconds between two checks of clients' compute times
CLIENTS = 64  # connections at once
CLOSING = 5.0  # seconds that `close` waits for clients' threads


class Server:
    """Serves GPUs to clients: `start` it in a thread, or `serve_forever`.

    host: the address to bind; by default only this machine's own
    port: 0 for a free one
    token: the secret that clients need; required beyond the loopback
    devices: names of GPUs ("gpu", "gpu:1", part of a name)
    memory: the most bytes of buffers of a client
    seconds: the most seconds that a client may compute
    cert, key: files of a certificate and its key, for TLS
    trust: leave out the checks of indices that a client says are proven

    Raises DeviceError if the port is in use, a token is missing, there is no such GPU, or cert and key are
        not a certificate and its key.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = PORT,
        token: str | None = None,
        devices: tuple[str, ...] = ("gpu",),
        memory: int | None = None,
        seconds: float | None = None,
        cert: str | Path | None = None,
        key: str | Path | None = None,
        trust: bool = False,
    ):
        if not token and not is_loopback(host):
            rule = "beyond the loopback a token is needed"
            raise DeviceError(f"remote(host={host!r}): {rule}: pass --token, or set FLAMBEAU_TOKEN")
        self.token, self.memory, self.seconds = token or None, memory, seconds
        self.tls = None if cert is None else _context(cert, key)
        self._trust, self.devices = trust, {name: _open(name, trust) for name in devices}
        self._listener = _listen(host, port)
        self.host, self.port = self._listener.getsockname()[:2]
        self.sessions: set[ClientSession] = set()
        self._lock, self._is_closed = threading.Lock(), threading.Event()

    @property
    def address(self) -> str:
        """The name of the first device for clients of this machine."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"remote{'s' if self.tls else ''}:{host}:{self.port}"

    @property
    def used(self) -> int:
        """The bytes of all clients' buffers."""
        with self._lock:
            return sum(session.used for session in self.sessions)

    def device_of(self, name: str) -> ServedDevice | None:
        """The device that a client asks for: "" for the first, a number among those served, or its name."""
        names = list(self.devices)
        if not name or name.isdecimal():
            name = names[int(name or 0)] if int(name or 0) < len(names) else ""
        with self._lock:
            if name in self.devices and self.devices[name].lost:  # with its clients' buffers
                self.devices[name] = _open(name, self._trust)
            return self.devices.get(name)

    def start(self) -> "Server":
        """Serve in a thread until `close`."""
        threading.Thread(target=self.serve_forever, name="flambeau remote server", daemon=True).start()
        return self

    def serve_forever(self) -> None:
        """Serve until `close`."""
        threading.Thread(target=self._watch, name="flambeau remote watch", daemon=True).start()
        while not self._is_closed.is_set():
            try:
                sock, peer = self._listener.accept()
            except OSError:
                if self._is_closed.is_set():
                    break
                time.sleep(TICK)  # too many open files: some will be closed
                continue
            session = ClientSession(self, sock, str(peer[0]))
            with self._lock:
                is_full = len(self.sessions) >= CLIENTS
                if not is_full:
                    self.sessions.add(session)
            try:
                if not is_full:
                    session.start()
                    continue
            except RuntimeError:  # the system can't start more threads
                self.ended(session)
            sock.close()

    def ended(self, session: ClientSession) -> None:
        """Forget a client whose connection has ended and whose memory is free."""
        with self._lock:
            self.sessions.discard(session)

    def _watch(self) -> None:
        """Send signs of life to clients that wait, and end those that have computed for too long."""
        while not self._is_closed.wait(TICK):
            with self._lock:
                sessions = list(self.sessions)
            for session in sessions:
                session.look(self.seconds)

    def close(self) -> None:
        """End all connections, and free their memory."""
        self._is_closed.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            sessions = list(self.sessions)
        for session in sessions:
            session.end()
        for session in sessions:
            session.join(CLOSING)

    def __enter__(self) -> "Server":
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.close()


def _open(name: str, trust: bool) -> ServedDevice:
    kind, _, name_or_number = name.partition(":")
    if kind != "gpu":
        raise DeviceError(f"remote(device={name!r}): only GPUs are served: use 'gpu', 'gpu:1' or 'gpu:NAME'")
    return adapters.open_adapter(name_or_number, lambda adapter: ServedDevice(adapter, trust))


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=CLIENTS)
    except (OSError, OverflowError) as e:
        raise DeviceError(f"remote(host={host!r}, port={port}): {e}: use another --port or --host") from None


def _context(cert: str | Path, key: str | Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as e:
        rule = "these are not a certificate and its key"
        raise DeviceError(
            f"remote(cert={str(cert)!r}, key={str(key)!r}): {rule} ({e}): use files in PEM"
        ) from None
    return context
