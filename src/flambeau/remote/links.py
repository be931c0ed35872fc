"""A client's connection over a socket. Pages have another one, `device/page_socket.py`."""

import socket
import ssl
import threading
from contextlib import suppress
from typing import Any

from ..errors import DeviceError
from .handshake import Steps
from .messages import HEADER, MOST, PREFACE, Received
from .streams import Closed, Incoming, PatientSocket, Socket, TlsSocket, keep_alive, sends

TICK = 1.0  # seconds between two checks of the server's silence


class SocketLink:
    """A connection whose messages a thread receives, so that a lost server is noticed at once.

    timeout: seconds of silence, while an answer is due, after which the server counts as lost.
    """

    can_wait = True

    def __init__(self, host: str, port: int, timeout: float, tls: ssl.SSLContext | None):
        self.timeout, self._sending, self._is_sending = timeout, threading.RLock(), False
        where = f"{host}:{port}"
        try:
            raw = socket.create_connection((host, port), timeout)
        except OSError as e:
            rule = f"no server answers ({e}): start one there: flambeau remote"
            raise DeviceError(f"remote({where}): {rule}") from None
        keep_alive(raw, timeout)
        self._patient_socket = PatientSocket(raw)
        try:
            self._sock: Socket = (
                self._patient_socket if tls is None else TlsSocket(self._patient_socket, tls, host)
            )
        except (OSError, ssl.SSLError) as e:
            raw.close()
            rule = f"no TLS ({e}): pass ca= of the server's certificate, or use 'remote:' if it has none"
            raise DeviceError(f"remote({where}): {rule}") from None
        self._incoming = Incoming(self._sock)
        self.sent = 0  # bytes in all
        self.is_torn = False  # whether a part of a message was sent

    @property
    def received(self) -> int:
        """The bytes received in all."""
        return self._incoming.received

    def greet(self, steps: "Steps") -> Any:
        """Run the client's side of the handshake, and return its result."""
        sent = PREFACE + next(steps)
        try:
            while True:
                self.send(sent)
                n, kind, id = HEADER.unpack(self._incoming.exactly(HEADER.size))
                if n > MOST:
                    raise DeviceError(
                        "remote: the answer is not from a Flambeau server: does it use TLS ('remotes:')?"
                    )
                sent = steps.send(Received(kind, id, self._incoming.exactly(n)))
        except StopIteration as end:
            return end.value
        except (OSError, ssl.SSLError) as e:
            self.close()
            rule = f"the server ended the handshake ({e}): is it a Flambeau server, and of TLS ('remotes:')?"
            raise DeviceError(f"remote: {rule}") from None
        except BaseException:
            self.close()
            raise

    def start(self, device: Any) -> None:
        """Receive for a device in a thread, which calls `expects`, `take` and `lose`."""
        self._patient_socket.is_alive = device.is_alive
        threading.Thread(target=self._receive, args=(device,), name="flambeau remote", daemon=True).start()

    def _receive(self, device: Any) -> None:
        incoming = self._incoming
        try:
            while device.lost is None:
                if incoming.ready(TICK):
                    self._receive_one(device)
                else:
                    device.check_silence()
        except Closed:
            device.lose("the server closed the connection")
        except Exception as e:
            device.lose(f"the connection broke: {e}")

    def _receive_one(self, device: Any) -> None:
        n, kind, id = HEADER.unpack(self._incoming.exactly(HEADER.size))
        if not device.expects(kind, id, n):
            return device.lose(f"the server sent {n:,} bytes of kind {kind} that nobody asked for")
        payload = bytearray(n)
        self._incoming.into(memoryview(payload))
        device.take(kind, id, payload)

    def send(self, *parts: Any) -> None:
        """Send bytes; OSError if the connection broke."""
        with self._sending:
            if self._is_sending:
                raise DeviceError(
                    "remote: a signal handler can't use a remote device while the program is sending"
                )
            self._is_sending = True
            try:
                self.is_torn = True
                self.sent += sends(self._sock, parts)
                self.is_torn = False
            finally:
                self._is_sending = False

    def block(self, answer: Any) -> None:
        """Wait until an answer is settled."""
        answer.block()

    def close(self) -> None:
        """End the connection."""
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()

    def after_fork(self) -> None:
        """In a forked child, release the socket without ending the parent's connection."""
        self._sending = threading.RLock()
        with suppress(OSError):
            self._sock.close()
