"""Devices of other machines.

`flambeau remote` serves the GPUs of a machine; `device="remote:host:port"` computes on them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .client import RemoteDevice
from .opening import connect, connect_async

if TYPE_CHECKING:
    from .server import Server

__all__ = ["RemoteDevice", "Server", "connect", "connect_async"]


def __getattr__(name: str) -> Any:
    if name != "Server":  # a client, such as a page, needs neither sockets that listen nor a GPU
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = import_module(".server", __name__).Server
    return value
