"""torch.multiprocessing: Python's multiprocessing; processes get copies of tensors."""

import multiprocessing
from collections.abc import Callable

# all its names are torch.multiprocessing's too
from multiprocessing import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]
from multiprocessing import reducer as reducer
from typing import Any

from .module_tree import install


def get_all_sharing_strategies() -> set[str]:
    """The ways of sharing tensors: copies through files."""
    return {"file_system"}


def get_sharing_strategy() -> str:
    """The one way of sharing tensors."""
    return "file_system"


def set_sharing_strategy(new_strategy: str) -> None:
    """Do nothing: tensors are copied."""


def _begin(fn: Callable[..., Any], index: int, args: tuple[Any, ...]) -> None:
    install()
    fn(index, *args)


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Run fn(index, *args) in nprocs new processes; with `join` wait for them.

    RuntimeError if one ends with an exit code other than 0.
    """
    context: Any = multiprocessing.get_context(start_method)
    processes = [context.Process(target=_begin, args=(fn, i, args), daemon=daemon) for i in range(nprocs)]
    for p in processes:
        p.start()
    if not join:
        return processes
    for p in processes:
        p.join()
    failed = [(i, p.exitcode) for i, p in enumerate(processes) if p.exitcode]
    if failed:
        index, code = failed[0]
        raise RuntimeError(f"spawn({nprocs} processes): process {index} ended with exit code {code}")
    return None


start_processes = spawn
