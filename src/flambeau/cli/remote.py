"""`flambeau remote`: serves this machine's GPUs to programs on other machines and to pages."""

from pathlib import Path
from secrets import token_urlsafe

import click

from .. import remote as served
from ..errors import FlambeauError
from ..remote.handshake import TOKEN
from ..remote.messages import PORT

SUFFIXES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@click.command(short_help="Serve this machine's GPUs to other machines and pages.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to bind; 0.0.0.0 for all.")
@click.option("--port", default=PORT, show_default=True, help="The port; 0: a free one, which is printed.")
@click.option(
    "--token",
    envvar=TOKEN,
    help=f"Secret of clients; else {TOKEN}. 'new' generates and prints one.",
)
@click.option(
    "--device",
    "devices",
    multiple=True,
    default=["gpu"],
    show_default=True,
    help="A GPU to serve; repeatable.",
)
@click.option("--memory", metavar="BYTES", help="Memory limit of a client, such as 512M or 4G.")
@click.option("--seconds", type=float, help="Compute time limit of a client, in seconds.")
@click.option("--cert", type=click.Path(path_type=Path), help="A certificate in PEM: encrypt by TLS.")
@click.option("--key", type=click.Path(path_type=Path), help="The key of --cert, if it is in another file.")
@click.option("--trust", is_flag=True, help="Skip index checks of kernels that a client marks as proven.")
def remote(
    host: str,
    port: int,
    token: str | None,
    devices: tuple[str, ...],
    memory: str | None,
    seconds: float | None,
    cert: Path | None,
    key: Path | None,
    trust: bool,
):
    """Serve GPUs of this machine: device="remote:HOST:PORT" computes on them.

    Without --host only programs on this machine can connect. Beyond it a token is needed, and --cert is
    advised: without TLS, values cross the network unencrypted.

    \b
    Example: flambeau remote
    Example: flambeau remote --host 0.0.0.0 --token new --cert cert.pem --key key.pem --memory 8G
    """
    if token == "new":
        token = token_urlsafe(24)
        click.echo(f"token: {token}")
    server = served.Server(host, port, token, tuple(devices), parse_bytes(memory), seconds, cert, key, trust)
    names = ", ".join(device.name for device in server.devices.values())
    click.echo(f"serving {names} at {server.address}")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.close()


def parse_bytes(text: str | None) -> int | None:
    """Parse a number of bytes with a suffix K, M or G; FlambeauError for other texts."""
    if text is None:
        return None
    number, suffix = (text[:-1], text[-1].lower()) if text[-1:].isalpha() else (text, "")
    try:
        return int(float(number) * SUFFIXES[suffix])
    except (KeyError, ValueError):
        raise FlambeauError(f"remote(--memory {text}): not a number of bytes: use 512M or 4G") from None
