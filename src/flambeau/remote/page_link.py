"""A page's connection to a server, over a WebSocket of the browser."""

import asyncio
from typing import Any

from ..device.page_socket import PageSocket, can_wait, wait_for
from ..errors import DeviceError
from .handshake import Steps
from .messages import HEADER, MOST, PREFACE, Received


class PageLink:
    """A connection whose messages come from the browser's events, between two steps of Python.

    timeout: seconds of silence, while an answer is awaited, after which the server counts as lost.
    """

    is_torn = False

    def __init__(self, url: str, timeout: float):
        self.timeout = timeout
        self.sent = self.received = 0
        self._device: Any = None
        self._bytes = bytearray()  # the incomplete message so far
        self._greetings: asyncio.Queue[Received | None] = asyncio.Queue()
        self._socket = PageSocket(url, self._receive, self._end)

    async def greet(self, steps: Steps) -> Any:
        """Open the connection, run the client's side of the handshake and return its result."""
        await self._socket.open()
        sent = PREFACE + next(steps)
        try:
            while True:
                self.send(sent)
                message = await asyncio.wait_for(self._greetings.get(), self.timeout)
                if message is None:
                    raise DeviceError("remote: the server ended the handshake: is it a Flambeau server?")
                sent = steps.send(message)
        except StopIteration as end:
            return end.value
        except TimeoutError:
            self.close()
            raise DeviceError(f"remote: the server was silent for {self.timeout:g} s") from None
        except BaseException:
            self.close()
            raise

    def start(self, device: Any) -> None:
        """Receive for a device: `expects`, `take` and `lose` are called when messages come."""
        self._device = device

    def _receive(self, data: bytes) -> None:
        self.received += len(data)
        self._bytes += data
        while len(self._bytes) >= HEADER.size:
            n, kind, id = HEADER.unpack_from(self._bytes)
            if n > MOST if self._device is None else not self._device.expects(kind, id, n):
                return self._lose(f"the server sent {n:,} bytes of kind {kind} that nobody asked for")
            end = HEADER.size + n
            if len(self._bytes) < end:
                return
            payload = self._bytes[HEADER.size : end]
            del self._bytes[:end]
            if self._device is None:
                self._greetings.put_nowait(Received(kind, id, bytes(payload)))
            else:
                self._device.take(kind, id, payload)

    def _end(self) -> None:
        self._lose("the server closed the connection")

    def _lose(self, why: str) -> None:
        if self._device is None:
            self._greetings.put_nowait(None)
        else:
            self._device.lose(why)

    def send(self, *parts: Any) -> None:
        """Send bytes; a closed WebSocket drops them, and its device is lost."""
        for part in parts:
            if len(part):
                self._socket.send(part)
                self.sent += memoryview(part).nbytes

    @property
    def can_wait(self) -> bool:
        """Whether the running code may wait."""
        return can_wait()

    def block(self, answer: Any) -> None:
        """Wait for an answer; FlambeauError if the running code can't."""
        wait_for("read", answer.arrive())

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def after_fork(self) -> None:
        """Do nothing: pages do not fork."""
