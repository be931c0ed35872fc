"""`flambeau docs`: builds the documentation of this version, and serves it on this machine."""

from pathlib import Path

import click

from ..errors import FlambeauError
from ..site.docs import build_docs, kept_docs, linker, read_image, sources
from ..site.notebooks import notebooks, write_notebooks
from ..site.server import address, serve
from .web import run_server, scratch_folder


@click.command(short_help="Build or serve the documentation of this version.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Only write the pages to this folder: new, empty, or from an earlier call.",
)
@click.option(
    "--notebooks",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Only write the tutorial and other pages to this folder as notebooks.",
)
@click.option("--port", default=8000, show_default=True, help="0 picks a free port.")
@click.option("--open", "open_it", is_flag=True, help="Open the address in a browser.")
def docs(out: Path | None, folder: Path | None, port: int, open_it: bool):
    """Serve the documentation: the pages, one for each function and class, and a search.

    It needs no network. The first call builds the pages and keeps them in the cache. With --out it is a
    folder that any web server can serve.

    Example: flambeau docs --open
    """
    if folder is not None:
        files = notebooks(sources(), linker, read_image)
        write_notebooks(folder, files)
        click.echo(f"wrote {folder}: {', '.join(files)}")
    if out is not None:
        pages, entries = build_docs(out)
        click.echo(f"wrote {out}: {pages:,} pages, {entries:,} of them for functions and classes")
    if out is not None or folder is not None:
        return
    with scratch_folder() as scratch:
        click.echo("reading the documentation, which is built once for each version ...")
        try:
            built = kept_docs()
        except OSError:  # a cache that can't be written
            build_docs(built := scratch / "docs")
        try:
            server = serve(built, port=port)
        except OSError as e:
            raise FlambeauError(f"docs: port {port}: {e.strerror}: pass another --port") from None
        run_server(server, f"serving {address(server)}", open_it)
