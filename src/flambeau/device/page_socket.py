"""A WebSocket of the page, for devices of other machines."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from ..errors import DeviceError
from .web import run_in_page


class PageSocket:
    """A stream of bytes over a WebSocket that the browser holds. Nothing here waits but `open`.

    received: called with the bytes of each message. closed: called once when the WebSocket ends.
    """

    def __init__(self, url: str, received: Callable[[bytes], None], closed: Callable[[], None]):
        js: Any = import_module("js")
        ffi: Any = import_module("pyodide.ffi")
        self._to_js, self.url = ffi.to_js, url
        self._opened: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        try:
            self._socket: Any = js.WebSocket.new(url)
        except ffi.JsException as e:
            raise DeviceError(f"remote: the browser opens no WebSocket: {e}") from None
        self._socket.binaryType = "arraybuffer"

        def receive(event: Any) -> None:
            received(event.data.to_bytes())

        def begin(_event: Any) -> None:
            self._settle(True)

        def end(_event: Any) -> None:
            self._settle(False)
            closed()
            for proxy in self._proxies:
                proxy.destroy()

        handlers = {"onmessage": receive, "onopen": begin, "onclose": end}
        self._proxies: list[Any] = [ffi.create_proxy(handler) for handler in handlers.values()]
        for name, proxy in zip(handlers, self._proxies, strict=True):
            setattr(self._socket, name, proxy)

    def _settle(self, is_open: bool) -> None:
        if not self._opened.done():
            self._opened.set_result(is_open)

    async def open(self) -> None:
        """Wait until it is open; DeviceError if no server answers, or one that refuses."""
        if not await self._opened:
            raise DeviceError(
                f"remote({self.url}): no server answers, or it refuses this page: start one with a token:"
                " flambeau remote --token new"
            )

    def send(self, data: Any) -> None:
        """Send bytes."""
        self._socket.send(self._to_js(memoryview(data)))

    def close(self) -> None:
        """Close the WebSocket."""
        with suppress(Exception):  # it may be closed already
            self._socket.close()


def can_wait() -> bool:
    """Whether the running code may wait, which depends on how JavaScript called it."""
    ffi: Any = import_module("pyodide.ffi")
    return ffi.can_run_sync()


def wait_for(name: str, coroutine: Any) -> Any:
    """Wait for a coroutine; FlambeauError if the running code can't."""
    ffi: Any = import_module("pyodide.ffi")
    return ffi.run_sync(run_in_page(name, coroutine))
