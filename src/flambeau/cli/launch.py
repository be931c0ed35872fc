"""`flambeau launch`: runs a script in several processes."""

import sys
from typing import Any

import click

from ..distributed.launcher import Launcher, LaunchPlan


@click.command(
    short_help="Run a script in several processes.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option(
    "--devices", "--nproc-per-node", "--nproc_per_node", default=1, show_default=True, help="Workers."
)
@click.option("--hosts", "--nnodes", default=1, show_default=True, help="Hosts, each with --devices workers.")
@click.option(
    "--rank", "--node-rank", "--node_rank", default=0, show_default=True, help="This host's number."
)
@click.option("--master", "--master-addr", "--master_addr", default="127.0.0.1", show_default=True,
              help="Address of host 0.")  # fmt: skip
@click.option(
    "--master-port",
    "--master_port",
    default=0,
    help="Port on host 0. Default: a free one; 29500 with several hosts.",
)
@click.option("--max-restarts", "--max_restarts", default=0, show_default=True,
              help="How often a failed run starts again; with --elastic, a worker.")  # fmt: skip
@click.option("--elastic", is_flag=True, help="Go on without a worker that fails.")
@click.option("-m", "--module", is_flag=True, help="SCRIPT is a module's name, as in python -m.")
@click.option("--torch", "is_torch", is_flag=True, help="SCRIPT is PyTorch's, as for flambeau run.")
@click.option("--standalone", is_flag=True, help="One host, as without this option.")
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def launch(
    script: str, arguments: tuple[str, ...], module: bool, is_torch: bool, standalone: bool, **options: Any
):
    """Run SCRIPT in several processes that form a group (fb.distributed), one adapter each.

    Each process has RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT in its environment, as torchrun
    sets them, and FLAMBEAU_DEVICE. Lines begin with the rank that printed them. If a worker fails, the others
    end, its traceback is printed last, and its exit code is returned. Several hosts need FLAMBEAU_TOKEN, the
    same secret on all.

    Example: flambeau launch --devices 4 train.py --epochs 3

    Example: flambeau launch --torch --nproc-per-node 2 ddp.py
    """
    runner = ["-m", "flambeau.torch"] if is_torch else []
    command = [sys.executable, *runner, *(["-m"] if module else []), script, *arguments]
    plan = LaunchPlan(
        command, options["devices"], options["hosts"], options["rank"], options["master"],
        options["master_port"], options["max_restarts"], options["elastic"],
    )  # fmt: skip
    sys.exit(Launcher(plan, lambda line: click.echo(line, err=True)).run())
