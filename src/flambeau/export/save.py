"""Saves a function to a folder: the plans of all its batch sizes, its kernels and its weights."""

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..codegen.render import render
from ..core.faults import text_of
from ..core.files import LEFT
from ..core.node import Node, next_serial
from ..core.tree import is_dict, is_list
from ..device import get_device
from ..device.protocol import Device
from ..errors import WRONG_CALL, FlambeauError
from ..io.safetensors import save_file, write_bytes
from ..kernels.ir import Shader
from ..runtime import run
from ..tensor import Tensor
from .fit import fit
from .inputs import Spec, States, specs_of, states_of
from .structure import KINDS, Sketch, Structure, Weights, sketch, start_of
from .trace import Graph, graph_of
from .web_module import FILES, PROGRAM_FILES, add_module, check_arrays

FORMAT, VERSION = "flambeau-program", 5
PROGRAM, KERNELS, WEIGHTS = PROGRAM_FILES
MARK = "//~ kernel"  # the first line of each kernel in kernels.wgsl


def save_program(
    fn: Callable[..., Any],
    example_inputs: Any,
    folder: str | os.PathLike[str],
    max_batch: int = 128,
    target: str | None = None,
    state: States | None = None,
    batches: Sequence[int] | None = None,
) -> Path:
    """Save the computation of fn, a model or function, as a folder that load_program, or a web page, runs.

    example_inputs: a tensor, an array or a text such as "f32[N, 784]" for the only argument; a list of these,
    or a dict by the arguments' names. N is the batch, 1 to max_batch; of a tensor it is the first dim.
    target: "web" adds an ES module that runs the program without Python. state: tensors that fn assigns to,
    such as a cache: by name, in a list, or a module's buffers; they stay on the device from call to call,
    and begin with their present values. batches: the only batch sizes that calls may have, in place of 1 to
    max_batch. Modules are in eval mode. Returns the folder. FlambeauError if the function reads values, or
    assigns to other tensors; TypeError for complex numbers with target "web".
    """
    if target not in (None, "web"):
        raise ValueError(f"save_program: target={target!r} is unknown: pass 'web', or None for Python only")
    if type(max_batch) is not int or max_batch < 1:
        raise ValueError(f"save_program: max_batch={max_batch!r}: pass the largest batch size, 1 or more")
    if not callable(fn):
        raise TypeError(f"save_program: {fn!r} is not callable: pass a model or a function of tensors")
    sizes = [*range(1, max_batch + 1)] if batches is None else _sizes(batches)
    specs, states = specs_of(fn, example_inputs, sizes[-1]), states_of(state)
    out = Path(folder)
    if out.exists() and not (out / PROGRAM).is_file() and not is_replaceable(out):
        raise FlambeauError(f"save_program: {out} holds other files: name an empty or new folder")
    sizes = sizes if any("N" in s.shape for s in specs) else [1]
    program, kernels, weights = _describe(fn, specs, sizes, states)
    if target == "web":
        check_arrays(program)
    out.mkdir(parents=True, exist_ok=True)
    (out / PROGRAM).unlink(missing_ok=True)  # an old program must not run new kernels
    # program.txt is written last: a folder with it is complete.
    save_file(weights.file(), out / WEIGHTS)
    write_bytes(out / KERNELS, kernels.encode())
    if target == "web":
        add_module(out, program)
    write_bytes(out / PROGRAM, lines_of(program).encode())
    return out


def _sizes(batches: Sequence[int]) -> list[int]:
    """Return the batch sizes of a list in order."""
    sizes = sorted({*batches})
    if not sizes or any(type(n) is not int or n < 1 for n in sizes):
        raise ValueError(f"save_program: batches={batches!r}: pass a list of batch sizes, each 1 or more")
    return sizes


def is_replaceable(out: Path) -> bool:
    """Whether a folder is empty or has only files of an interrupted save."""
    written = {KERNELS, WEIGHTS, *FILES}
    return out.is_dir() and all(p.name in written or LEFT.fullmatch(p.name) for p in out.iterdir())


def _describe(
    fn: Callable[..., Any], specs: list[Spec], batches: list[int], states: dict[str, Tensor]
) -> tuple[dict[str, Any], str, Weights]:
    """Return the content of program.txt, kernels.wgsl and the weights' file."""
    named = dict(fn.named_parameters()) | dict(fn.named_buffers()) if hasattr(fn, "named_buffers") else {}  # type: ignore[attr-defined]
    # Else their graphs would become part of the program.
    named = states | named
    run.realize(*named.values())  # and all constants that the call creates
    weights = Weights({id(t.node): name for name, t in named.items()})
    device = next((t.device for t in named.values()), None) or get_device()
    graph, sketches = _sketch_batches(fn, specs, batches, device, weights, list(states.values()))
    state = [
        {"name": name, "dtype": t.dtype.short, "shape": list(t.shape), "start": start_of(t, weights)}
        for name, t in states.items()
    ]
    # Plans share kernels: equal texts are saved once, numbered in the order of their first use.
    shaders: dict[Shader, int] = {}
    plans = {kind: _plans(batches, sketches[kind], shaders) for kind in KINDS}
    names = {
        k.shader: k.name for parts in sketches.values() for s in reversed(parts) for k in s.structure.steps
    }
    text = "".join(f"{MARK} {i}: {names[s]}\n{render(s)}" for s, i in shaders.items())
    program = {
        "format": FORMAT,
        "version": VERSION,
        "inputs": [{"name": s.name, "dtype": s.dtype.short, "shape": list(s.shape)} for s in specs],
        "result": graph.result,
        "outputs": [
            {"name": name, "dtype": n.dtype.short} for name, n in zip(graph.names, graph.roots, strict=True)
        ],
        "batch": [batches[0], batches[-1]],
        "weights": [
            {"name": name, "dtype": t.dtype.short, "shape": list(t.shape)}
            for name, t in weights.file().items()
        ],
        "state": state,
        "kernels": [{"name": names[s], "params": [name for name, _ in s.params]} for s in shaders],
        "faults": {str(s): text_of(s) for s in sites_of(graph.order)},
        "plans": plans,
    }
    return program, text, weights


def _sketch_batches(
    fn: Callable[..., Any],
    specs: list[Spec],
    batches: list[int],
    device: Device,
    weights: Weights,
    states: list[Tensor],
) -> tuple[Graph, dict[str, list[Sketch]]]:
    """Return the graph at the first batch size, and the sketches of all batch sizes by class of adapters."""
    start = next_serial()
    sketches: dict[str, list[Sketch]] = {kind: [] for kind in KINDS}
    first = None
    for n in batches:
        try:
            graph = graph_of(fn, specs, n, device, start, states)
            weights.compare(graph, start, n == batches[0])
            kinds = [(r.dtype, name) for r, name in zip(graph.roots, graph.names, strict=True)]
            first = first or (graph, kinds)
            if kinds != first[1]:
                raise FlambeauError(
                    "the names or dtypes of its results differ from those for smaller batches"
                )
            for kind, parts in sketches.items():
                parts.append(sketch(graph, kind, weights))
        except (FlambeauError, ValueError, TypeError, IndexError) as e:
            sizes = ", ".join(f"{s.name}={s.dtype.short}{list(s.at(n))}" for s in specs)
            kinds = [kind for python, kind in WRONG_CALL.items() if isinstance(e, python)]
            error_type = kinds[0] if kinds else FlambeauError
            raise error_type(f"save_program({sizes}): {str(e).removeprefix('save_program: ')}") from e
    assert first is not None
    return first[0], sketches


def _plans(batches: list[int], sketches: list[Sketch], shaders: dict[Shader, int]) -> dict[str, Any]:
    """Return the plans for a class of adapters, with numbers as expressions, and the plan of each size."""
    groups: dict[Structure, list[int]] = {}
    for i, s in enumerate(sketches):
        groups.setdefault(s.structure, []).append(i)
    plan_of: list[int | None] = [None] * (batches[-1] - batches[0] + 1)
    plans: list[dict[str, Any]] = []
    for number, (structure, members) in enumerate(groups.items()):
        # A column has the values of one number at all batch sizes of the group.
        columns = zip(*(sketches[i].numbers for i in members), strict=True)
        # Many numbers have equal columns: fit each once.
        numbers: dict[tuple[Any, ...], Any] = {}
        member_batches = [batches[i] for i in members]
        expressions = iter(
            [numbers.get(c) or numbers.setdefault(c, fit(member_batches, list(c))) for c in columns]
        )
        plans.append(_plan(structure, expressions, shaders))
        for i in members:
            plan_of[batches[i] - batches[0]] = number
    return {"plan_of": plan_of, "plans": plans}


def _plan(structure: Structure, numbers: Any, shaders: dict[Shader, int]) -> dict[str, Any]:
    """Return a plan: a structure with its numbers, which have the order of Sketch.numbers."""

    def take(count: int) -> list[Any]:
        return [next(numbers) for _ in range(count)]

    parts: dict[str, Any] = {"temporaries": take(structure.temporaries)}
    parts["outputs"] = [{"value": value, "shape": take(rank)} for value, rank in structure.outputs]
    parts["setup"], parts["steps"] = [], []
    once = constant_temporaries(structure)
    for step in structure.steps:
        grid, params = take(3), take(len(step.shader.params))
        for place, draw, word in step.draws:
            params[place] = {"draw": draw, "word": word}
        kernel = shaders.setdefault(step.shader, len(shaders))
        reads, writes = list(step.reads), list(step.writes)
        parts["setup" if once.issuperset(writes) else "steps"].append(
            {"kernel": kernel, "reads": reads, "writes": writes, "grid": grid, "params": params}
        )
    parts["state"] = list(structure.states)
    parts["draws"] = take(structure.draws)
    parts["drawn"] = next(numbers)
    return parts


def sites_of(order: list[Node]) -> list[int]:
    """Return the sites at which a graph's kernels report indices out of range."""
    return sorted({n.attrs["site"] for n in order if n.op.name == "_inside"})


def constant_temporaries(structure: Structure) -> set[str]:
    """Return the temporaries that do not depend on inputs: a loaded program computes them once."""
    writers = Counter(v for step in structure.steps for v in step.writes)
    constant: set[str] = set()
    for step in structure.steps:
        of_weights = all(v[0] == "w" or v in constant for v in step.reads)
        of_weights = of_weights and all(v[0] == "t" for v in step.writes)
        # Kernels that write a temporary in place, or several times, belong to each call.
        if of_weights and not step.draws and all(writers[v] == 1 for v in step.writes):
            constant.update(step.writes)
    return constant


def lines_of(value: Any, depth: int = 0) -> str:
    """Format a value as JSON for human readers: what fits into a line is on one line."""
    text = json.dumps(value)
    if len(text) + 2 * depth <= 110 or not (is_dict(value) or is_list(value)):
        return text
    pad, end = "  " * (depth + 1), "  " * depth
    if is_dict(value):
        parts = [f"{pad}{json.dumps(k)}: {lines_of(v, depth + 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{end}}}"
    if all(isinstance(v, int | str) for v in value):
        return text
    return "[\n" + ",\n".join(pad + lines_of(v, depth + 1) for v in value) + f"\n{end}]"
