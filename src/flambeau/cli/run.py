"""`flambeau run`: runs a script that was written for PyTorch, unchanged."""

import runpy
import sys

import click


@click.command(
    short_help="Run a PyTorch script unchanged.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("-m", "module", metavar="MODULE", help="Run a module, as python -m does, instead of a file.")
@click.argument("arguments", metavar="[SCRIPT] [ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
def run(module: str | None, arguments: tuple[str, ...]):
    """Run a PyTorch SCRIPT unchanged: `import torch` gives flambeau.torch, in libraries too.

    Arguments, exit code and tracebacks are those of `python SCRIPT`. The real torch need not be installed,
    and is not touched if it is.

    Example: flambeau run train.py --epochs 2
    """
    if module is None and not arguments:
        raise click.UsageError("pass a script, or -m and a module")
    sys.argv[1:] = arguments if module is None else ("-m", module, *arguments)
    runpy.run_module("flambeau.torch", run_name="__main__")  # its import turns torch mode on
