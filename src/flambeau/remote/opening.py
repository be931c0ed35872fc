"""Opens remote devices by name."""

from importlib import import_module
from typing import Any, NamedTuple

from ..device import IN_BROWSER, keep
from ..errors import DeviceError
from .client import RemoteDevice
from .handshake import greet, token_of_environment
from .messages import PORT

TIMEOUT = 20.0  # seconds of silence, while an answer is due, after which a server counts as lost
KINDS = ("remote", "remotes")  # without and with TLS


class Address(NamedTuple):
    """The address of a device: the host and port of its server, and its number there."""

    host: str
    port: int
    device: str
    tls: bool

    @property
    def name(self) -> str:
        """The name of the device."""
        return f"{KINDS[self.tls]}:{_format_address(self.host, self.port)}{self.device and '/'}{self.device}"


def _format_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse(text: str, tls: bool = False) -> Address:
    """Parse "host", "host:port" or "host:port/device", after "remote:" or "remotes:" or without."""
    kind, _, rest = text.partition(":")
    where = rest if kind in KINDS else text
    where, _, device = where.partition("/")
    host, colon, port = where.rpartition(":")
    if not colon or (where.startswith("[") and where.endswith("]")):
        host, port = where, str(PORT)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        example = f"'remote:127.0.0.1:{PORT}'"
        raise DeviceError(f"device({text!r}): a remote device has a host and a port: use {example}")
    return Address(host, int(port), device, tls or kind == "remotes")


def connect(
    address: str,
    token: str | None = None,
    *,
    tls: bool = False,
    ca: str | None = None,
    timeout: float = TIMEOUT,
) -> RemoteDevice:
    """Connect to a server of devices, and return its device. From then on "remote:host:port" means this
    connection.

    address: "host:port", or "host:port/1" for the second device that it serves
    token: the server's; None: that of FLAMBEAU_TOKEN
    tls: encrypt the connection, as "remotes:host:port" does
    ca: a file of certificates to trust instead of the system's, such as the server's own
    timeout: seconds of silence, while an answer is due, after which the server counts as lost

    Raises DeviceError if the address has no host and port, no server answers, the token is wrong or the
        versions differ, or ca is not a file of certificates.
    """
    links: Any = import_module(".links", __package__)  # sockets, which a page does not have
    where = parse(address, tls or ca is not None)
    link = links.SocketLink(where.host, where.port, timeout, _context(ca) if where.tls else None)
    welcome = link.greet(greet(token_of_environment() if token is None else token, where.device))
    device = RemoteDevice(link, where.name, welcome)
    keep(device)
    return device


async def connect_async(address: str, token: str | None = None, *, timeout: float = TIMEOUT) -> RemoteDevice:
    """`connect` for pages, which can't wait: by a WebSocket of the browser. Elsewhere it calls `connect`.

    A page that came by HTTPS needs "remotes:", whose certificate the browser must trust.
    address, token, timeout: as in `connect`

    Raises DeviceError if the address has no host and port, no server answers, it refuses the page, the token
        is wrong or the versions differ.
    """
    if not IN_BROWSER:
        return connect(address, token, timeout=timeout)
    links: Any = import_module(".page_link", __package__)
    where = parse(address)
    link = links.PageLink(
        f"ws{'s' if where.tls else ''}://{_format_address(where.host, where.port)}/", timeout
    )
    steps = greet(token_of_environment() if token is None else token, where.device)
    device = RemoteDevice(link, where.name, await link.greet(steps))
    keep(device)
    return device


async def open_named_async(kind: str, which: str) -> Any:
    """Open the device named "kind:which" for `open_device`."""
    return await connect_async(f"{kind}:{which}")


def open_named(kind: str, which: str) -> Any:
    """Open the device named "kind:which" for `get_device`."""
    if IN_BROWSER:
        raise DeviceError(
            f"device('{kind}:{which}'): a page connects asynchronously: `await fb.open_device(...)` before"
        )
    return connect(f"{kind}:{which}")


def _context(ca: str | None) -> Any:
    ssl: Any = import_module("ssl")
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as e:
        raise DeviceError(f"connect(ca={ca!r}): no certificates ({e}): use a file in PEM") from None
