"""The command group. Errors of a command are printed as one line, with exit code 1."""

import os
import sys
from typing import Any

import click

from .. import __version__
from ..errors import FlambeauError
from .bench import bench
from .chat import chat
from .classify import classify
from .demo import demo
from .docs import docs
from .doctor import doctor
from .export import export
from .inspect import inspect
from .launch import launch
from .mnist import mnist
from .onnx import onnx
from .port import port
from .quantize import quantize
from .remote import remote
from .run import run
from .runs import runs
from .selftest import selftest
from .serve import serve
from .tune import tune
from .web import web

# Other exceptions are faults of Flambeau: their traceback is needed.
ONE_LINE_ERRORS = (FlambeauError, ValueError, TypeError, IndexError, OSError)


class OneLine(click.Group):
    """Prints an error that a user can fix as one line. FLAMBEAU_DEBUG keeps the traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ONE_LINE_ERRORS as e:
            # click handles a pipe that the reader closed, as in `flambeau doctor | head`
            if os.environ.get("FLAMBEAU_DEBUG", "0") not in ("", "0") or isinstance(e, BrokenPipeError):
                raise
            click.echo(f"flambeau: {e}", err=True)
            sys.exit(1)


@click.group(cls=OneLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="flambeau")
def main():
    """Deep learning on WebGPU: every operation is a WGSL shader.

    Example: flambeau mnist --epochs 2
    """


main.add_command(bench)
main.add_command(chat)
main.add_command(classify)
main.add_command(demo)
main.add_command(docs)
main.add_command(doctor)
main.add_command(export)
main.add_command(inspect)
main.add_command(launch)
main.add_command(mnist)
main.add_command(onnx)
main.add_command(port)
main.add_command(quantize)
main.add_command(remote)
main.add_command(run)
main.add_command(runs)
main.add_command(selftest)
main.add_command(serve)
main.add_command(tune)
main.add_command(web)
