"""Runs what a visitor wrote into the first page, in the worker: its last value, its kernels, its time."""

import io
from contextlib import redirect_stdout
from time import perf_counter

from pyodide.code import eval_code_async  # type: ignore[import-not-found]

import flambeau as fb
from flambeau import nn, optim

LONGEST = 4000  # characters of a value that are shown


async def run(source: str) -> dict:
    """The text of what was printed and of the last value, the names and the WGSL of the kernels that made
    it, and the milliseconds of all that."""
    names, out = {"fb": fb, "nn": nn, "optim": optim}, io.StringIO()
    begun = perf_counter()
    with redirect_stdout(out):
        value = await eval_code_async(source, names)
    spent = perf_counter() - begun
    kernels, wgsl = planned(value)
    begun = perf_counter()
    text = out.getvalue() + await told(value)
    spent += perf_counter() - begun
    short = text if len(text) <= LONGEST else f"{text[:LONGEST]}\n..."
    return {"text": short, "kernels": kernels, "wgsl": wgsl, "ms": 1000 * spent}


def planned(value) -> tuple[list[str], str]:
    """The kernels that a value still needs, before they run."""
    if not isinstance(value, fb.Tensor):
        return [], ""
    return [kernel.name for kernel in value.plan()], value.wgsl()


async def told(value) -> str:
    """A value as Python shows it; tensors are read first."""
    if value is None:
        return ""
    if not isinstance(value, fb.Tensor):
        return repr(value)
    data = await value.read()
    return repr(value) if value.device.can_wait else f"{data.tolist()}"
