"""Writes a difference as a stand-alone script, and all of them as a file to send."""

import platform
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

import flambeau as fb

from ..codegen.render import render
from ..core.node import toposort
from ..fusion.planner import plan
from .compare import Difference, dtypes_of, variants
from .programs import Input, Program, call_program, spell

PLACES = 32  # the most elements that differ to list
SHOWN = 64  # the most elements of an input to write out

SCRIPT = '''"""{about}"""

import numpy as np
from numpy import inf, nan

import flambeau as fb
from flambeau.core import dtype as dt
from flambeau.nn import functional as F
from flambeau.selftest import reference as ref
from flambeau.selftest.programs import Input, settle_value

DTYPES = {{{dtypes}}}
GIVEN = {{
{inputs}
}}


{source}


{says}


def settle(value, name):
    return settle_value(value, DTYPES[name])


def tensor(name, device={device!r}):
    a = GIVEN[name]
    return fb.tensor(a.astype("f4") if a.dtype.kind == "f" else a, dtype=DTYPES[name], device=device)


{states}stream = ref.Stream({seed})
right = expected(**GIVEN)
fb.manual_seed({seed})
{run}
got = program(*(tensor(n) for n in GIVEN if n not in {stated}))
for name, value, want in zip({names}, got, right):
    found = value.numpy().astype("f8")
    same = (found == want) | np.isnan(found) & np.isnan(want)
    off = np.nan_to_num(np.where(same, 0.0, np.abs(found - want)), nan=inf, posinf=inf)
    print(name, "differs by at most", off.max(initial=0), "of", np.abs(want).max(initial=0))
    if off.size and off.max() > 0:
        at = np.unravel_index(off.argmax(), off.shape)
        print("  at", [int(i) for i in at], "it is", value.numpy()[at], "and should be", want[at])
{slopes}'''


SLOPES = """
# the slope of the loss along a direction, by the gradients and by its changes
rng, by = np.random.default_rng(0), {by}
steps = {{n: rng.standard_normal(GIVEN[n].shape) for n in by}}
ends = []
for t in (-1e-4, 1e-4):
    stream = ref.Stream({seed})
    ends.append(expected(**{{n: a + t * steps[n] if n in by else a for n, a in GIVEN.items()}})[{at}])
slopes = dict(zip(by, got[{at} + 1 :]))
print("the loss rises by", sum((slopes[n].numpy() * steps[n]).sum() for n in by), end=" ")
print("by its gradients, and by", (ends[1] - ends[0]) / 2e-4)
"""


def script(program: Program, wrong: Difference, device: Any) -> str:
    """A Python file that shows the difference."""
    dtypes = ", ".join(f'"{n}": fb.{spell(d)}' for n, d in dtypes_of(program).items())
    inputs = "\n".join(f'    "{i.name}": {values_of(i)},' for i in program.inputs)
    states = "".join(f'{n} = tensor("{n}")\n' for n in program.states)
    run = {"recorded": "program = fb.jit(program)", "op by op": "# each line is computed before the next"}
    source = program.source(wrong.way == "op by op").replace("settle(v", "fb.realize(v")
    about = f"{wrong}".replace('"""', "'''")
    if wrong.forced:
        pairs = ",".join(f"{k}={v}" for k, v in wrong.forced.items())
        about += f"\n\nRun it with FLAMBEAU_VARIANT={pairs}."
    slopes = SLOPES.format(by=program.by, seed=program.seed, at=len(program.results)) if program.by else ""
    where = "cpu" if "NumPy" in wrong.way else device.name.partition(" ")[0] if device.kind == "cpu" else None
    return SCRIPT.format(
        about=about,
        dtypes=dtypes,
        inputs=inputs,
        source=source,
        says=program.says(),
        states=states,
        seed=program.seed,
        run=run.get(wrong.way, ""),
        stated=program.states,
        names=program.results,
        device=where,
        slopes=slopes,
    )


def values_of(input: Input) -> str:
    """An input's values as an expression: drawn from its seed, or written out."""
    a = input.array()
    if input.data is None and a.size > SHOWN:  # short: the seed draws the same values again
        dtype, rest = spell(input.dtype), f"{input.kind!r}, {input.seed}, {input.top}"
        return f"Input({input.name!r}, {input.shape}, dt.{dtype}, {rest}).array()"
    kind = {"f": "f8", "b": "bool"}.get(a.dtype.kind, "i8")
    return f"np.array({a.tolist()}, {kind!r}).reshape({input.shape})"


def facts(device: Any, seed: int) -> list[str]:
    """The adapter, its driver, and versions."""
    driver = device.adapter.driver if device.adapter else ""
    rows = [("device", device.name), ("driver", driver), ("flambeau", fb.__version__)]
    rows += [("Python", platform.python_version()), ("system", platform.platform())]
    for name in ("numpy", "wgpu", "wgpudawn"):
        try:
            rows.append((name, version(name)))
        except PackageNotFoundError:
            continue
    rows += [("kernels", "software" if device.limits.software else "gpu")] if device.kind == "gpu" else []
    return [f"{name:<9} {text}" for name, text in rows if text] + [f"{'seed':<9} {seed}"]


def shaders(program: Program, wrong: Difference, device: Any) -> str:
    """The WGSL of the kernels, in order."""
    if device.kind != "gpu":
        return ""
    try:
        with variants(device, wrong.forced):
            (results,) = call_program(replace(program), device)
            roots = [t.node for t in results if t.node.buffer is None]
            planned = plan(roots, device.limits, toposort(roots))
        return "\n".join(f"// {k.name}\n{render(k.shader)}" for k in planned.kernels)
    except Exception as e:
        return f"// no plan: {type(e).__name__}: {e}"


def places(wrong: Difference) -> list[str]:
    """How often it was repeated, and the places of the first elements that differ."""
    lines = [wrong.repeats] if wrong.repeats else []
    if wrong.elements is not None:
        rows = np.argwhere(wrong.elements.where).tolist()
        more = f" and {len(rows) - PLACES} more" if len(rows) > PLACES else ""
        lines.append(f"wrong at {', '.join(map(str, rows[:PLACES]))}{more}")
    return ["\n".join(f"# {line}" for line in lines)] if lines else []


def report(failures: list[tuple[Program, Difference]], device: Any, seed: int) -> str:
    """All differences as one text."""
    parts = ["\n".join(facts(device, seed))]
    for i, (program, wrong) in enumerate(failures, 1):
        title = f"=== {i}: {program.family}: {wrong} ==="
        try:
            text = script(program, wrong, device)
        except Exception as e:
            text = f"# no script: {type(e).__name__}: {e}\n{program.source()}\n\n{program.says()}\n"
        parts += [title, *places(wrong), text, shaders(program, wrong, device)]
    return "\n\n".join(parts) + "\n"
