"""`flambeau export`: writes a model as a folder that a page runs without Python."""

from pathlib import Path

import click

from ..export import save_program
from ..export.web_module import EXECUTOR, MODULE, VALUES
from .load_model import model_of, named_inputs


@click.command(short_help="Write a model as a folder that runs in a page.")
@click.argument("model")
@click.option(
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
def export(model: str, out: Path, inputs: tuple[str, ...], weights: Path | None, max_batch: int, target: str):
    """Write MODEL as a folder with its kernels, its weights and an ES module that runs it in a page.

    MODEL is a .safetensors file of `flambeau mnist`, or a name in a module or a file: a model, a function of
    tensors, or a class or function without arguments that returns a model. flambeau.load_program runs the
    folder in Python.

    \b
    Example: flambeau export mnist.safetensors --out digits
    Example: flambeau export nets.py:Net --weights net.safetensors --input "x=f32[N, 784]" --out net
    """
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
