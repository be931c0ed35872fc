"""`flambeau export`: turns a model into a folder that a page runs without Python."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..errors import FlambeauError, suggest
from ..io.safetensors import load_file
from ..nn import Module
from ..saved import save_program
from ..saved.module import EXECUTOR, MODULE
from .mnist import network

DIGITS = "x=f32[N, 1, 28, 28]"  # what the network of `flambeau mnist` reads: pixels / 255 - 0.1307


@click.command()
@click.argument("model")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="A new folder.")
@click.option(
    "--input", "inputs", multiple=True, metavar="NAME=DTYPE[SIZES]",
    help="An argument of the model, in order; N is the batch.",
)  # fmt: skip
@click.option(
    "--weights", type=click.Path(dir_okay=False, path_type=Path), help="A .safetensors file to load first."
)
@click.option("--max-batch", default=128, show_default=True, help="The largest batch; every size is checked.")
@click.option("--target", type=click.Choice(["web"]), default="web", show_default=True, help="Who runs it.")
def export(model: str, out: Path, inputs: tuple[str, ...], weights: Path | None, max_batch: int, target: str):
    """Write MODEL as a folder with its kernels, its weights and an ES module that runs it in a page.

    MODEL is a .safetensors file of `flambeau mnist`, or a name in a module or a file: a model, a function of
    tensors, or a class or function without arguments that makes a model. flambeau.load_program runs the
    folder in Python.

    \b
    Example: flambeau export mnist.safetensors --out digits
    Example: flambeau export nets.py:Net --weights net.safetensors --input "x=f32[N, 784]" --out net
    """
    made = model_of(model, weights)
    given = inputs or ((DIGITS,) if model.endswith(".safetensors") else ())
    if not given:
        raise FlambeauError(f"export {model}: no inputs: name each, as in --input '{DIGITS}'")
    folder = save_program(made, dict(map(named, given)), out, max_batch, target)
    size = sum(p.stat().st_size for p in folder.iterdir())
    module = sum((folder / name).stat().st_size for name in (MODULE, EXECUTOR))
    click.echo(f"exported {folder}: {size / 1e6:.2f} MB, of which the module is {module / 1e3:.1f} kB")
    arguments = ", ".join(text.partition("=")[0].strip() for text in given)
    click.echo(f'in a page: import {{ load }} from "./{folder.name}/{MODULE}";')
    click.echo(f"           const model = await load(), y = await model.run({{ {arguments} }});")


def named(text: str) -> tuple[str, str]:
    """An --input as its name and what it is."""
    name, equals, what = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise FlambeauError(f"export: --input {text!r}: write it as '{DIGITS}'")
    return name.strip(), what


def model_of(name: str, weights: Path | None) -> Callable:
    """The model or function that a command line names, with its weights."""
    if name.endswith(".safetensors"):
        name, weights, found = "flambeau mnist's network", weights or Path(name), network()
    else:
        found = _made(name, _found(name))
    if weights is not None:
        if not isinstance(found, Module):
            raise FlambeauError(f"export: {name} is no model: --weights can't be loaded into it")
        found.load_state_dict(load_file(weights))
    return found


def _found(name: str) -> Any:
    """The object that `module:name` or `file.py:name` means."""
    where, colon, what = name.rpartition(":")
    if not colon:
        raise FlambeauError(
            f"export: MODEL is {name!r}: write module:name, file.py:name or a .safetensors file"
        )
    if where.endswith(".py"):
        spec = importlib.util.spec_from_file_location(Path(where).stem, where)
        if spec is None or spec.loader is None or not Path(where).is_file():
            raise FlambeauError(f"export: there is no file {where}: check the path")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, "")  # the folder of the call, as with python -m
        try:
            module = importlib.import_module(where)
        except ModuleNotFoundError as e:
            raise FlambeauError(f"export: {e}: name a module that can be imported from here") from None
        finally:
            sys.path.remove("")
    if not hasattr(module, what):
        raise FlambeauError(f"export: {where} has no {what!r}{suggest(what, vars(module))}")
    return getattr(module, what)


def _made(name: str, found: Any) -> Any:
    """The object itself, or the model that it makes when it needs no arguments."""
    if not callable(found):
        raise FlambeauError(
            f"export: {name} is {type(found).__name__}: name a model or a function of tensors"
        )
    if isinstance(found, Module):
        return found
    needed = [p for p in inspect.signature(found).parameters.values() if p.default is p.empty]
    if isinstance(found, type) and needed:
        told = ", ".join(p.name for p in needed)
        raise FlambeauError(f"export: {name} needs {told} to be made: name a function that makes the model")
    return found if needed else found()
