"""Kernels into such that write over what they read last."""

from dataclasses import replace
from typing import Any

from ..kernels.ir import MAPS, Function, Kernel, Step, numbers_of, out_name

READS = ("load", "gather", "pieces")  # steps that read a buffer


def in_place(
    kernels: tuple[Kernel, ...], last: dict[int, int], sizes: dict[int, int], free: set[int]
) -> tuple[Kernel, ...]:
    """The kernels, changed where they may overwrite a value of `free`: one that has no later reader."""
    writers: dict[int, int] = {}
    for k in kernels:
        for v in k.outputs:
            writers[v] = writers.get(v, 0) + 1
    made = []
    for i, k in enumerate(kernels):
        over: dict[int, int] = {}
        if k.instead is not None:
            x, other = k.instead
            if x in free and last[x] == i and k.inputs.count(x) == 1:
                k, over[k.outputs[0]] = other, x
        for v in k.outputs if k.shader.kind in MAPS else ():
            if writers[v] > 1:
                continue
            made_of = sorted(_reads(k, v), key=lambda x: x in writers)  # states before what kernels made
            dies = (x for x in made_of if x in free and last[x] == i and sizes[x] == sizes[v])
            found = next((x for x in dies if _is_beside(k, x, v)), None)
            if found is not None:
                k, over[v] = _overwriting(k, found, v), found
        made.append(replace(k, over=tuple(over.items())) if over else k)
    return tuple(made)


def _reads(k: Kernel, v: int) -> list[int]:
    """The inputs that an output is made of, in the order of its expression; not those that it gets through
    other outputs: a state's new value belongs where its old one is."""
    f = k.shader.functions[0][1]
    results = [name for name, _ in f.results] or [f.result]
    own = results[k.outputs.index(v)]
    steps = {s.var: s for s in f.steps}
    found: dict[str, None] = {}
    todo = [own]
    while todo:
        name = todo.pop()
        if name in steps and name not in found and (name == own or name not in results):
            found[name] = None
            todo += reversed(steps[name].args)
    places = {f"in{i}": x for i, x in enumerate(k.inputs)}
    return list(dict.fromkeys(places[steps[n].name] for n in found if steps[n].name in places))


def _is_beside(k: Kernel, x: int, v: int) -> bool:
    """Whether every thread reads of x just the elements that it writes of v, in the same form."""
    if k.inputs.count(x) > 1:
        return False
    place, options = k.inputs.index(x), dict(k.shader.options)
    out = k.shader.outs[k.outputs.index(v)]
    numbers = numbers_of(k)
    sizes = [numbers[name] for name in options["dims"]]
    if len(k.shader.functions) > 1 and len(k.outputs) > 1:
        return False  # one result may be written before the other is computed
    for _, f in k.shader.functions:
        for step in f.steps:
            if step.name != f"in{place}" or step.kind not in READS:
                continue
            if step.kind != "load" or (step.dtype, *step.extra) != out or f.width != out[1]:
                return False
            if step.tests or not is_row_major(step, f, sizes, numbers):
                return False
    return True


def is_row_major(step: Step, f: Function, sizes: list[int], numbers: dict[str, Any]) -> bool:
    """Whether a load's index counts the elements of the domain in order."""
    assert step.index is not None
    terms, stride = dict(step.index.terms), 1
    if step.index.offset or len(f.coords) != len(sizes):
        return False
    for coordinate, size in zip(reversed(f.coords), reversed(sizes), strict=True):
        name = terms.pop(coordinate, None)
        given = 0 if name is None else 1 if name == "1" else numbers[name]
        if size > 1 and given != stride:
            return False
        stride *= size
    return not terms


def _overwriting(k: Kernel, x: int, v: int) -> Kernel:
    """The kernel with x no input of its own any more: it is read from where v is written."""
    place, target = k.inputs.index(x), out_name(k.outputs.index(v))
    names = {f"in{place}": target} | {f"in{i}": f"in{i - 1}" for i in range(place + 1, len(k.inputs))}
    functions = tuple((name, _renamed(f, names)) for name, f in k.shader.functions)
    bindings = k.shader.bindings[:place] + k.shader.bindings[place + 1 :]
    shader = replace(k.shader, bindings=bindings, functions=functions)
    return replace(k, shader=shader, inputs=k.inputs[:place] + k.inputs[place + 1 :])


def _renamed(f: Function, names: dict[str, str]) -> Function:
    steps = tuple(s._replace(name=names.get(s.name, s.name)) if s.kind in READS else s for s in f.steps)
    return f._replace(steps=steps)
