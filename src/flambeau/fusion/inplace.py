"""Changes kernels to write their results over inputs that no later kernel reads."""

from collections import Counter
from dataclasses import replace

from ..kernels.ir import MAPS, Kernel, out_name
from ..kernels.substitute import MapReads, input_name, without_input


def in_place(
    kernels: tuple[Kernel, ...], last: dict[int, int], sizes: dict[int, int], free: set[int]
) -> tuple[Kernel, ...]:
    """The kernels, changed where they may overwrite a value of `free`: one that has no later reader."""
    writers = Counter(v for k in kernels for v in k.outputs)
    changed: list[Kernel] = []
    for i, k in enumerate(kernels):
        over: dict[int, int] = {}
        if k.instead is not None:
            x, other = k.instead
            if x in free and last[x] == i and k.inputs.count(x) == 1:
                k, over[k.outputs[0]] = other, x
        for v in k.outputs if k.shader.kind in MAPS else ():
            if writers[v] > 1:
                continue
            # States before results of kernels.
            sources = sorted(_sources_of(k, v), key=lambda x: x in writers)
            dies = (x for x in sources if x in free and last[x] == i and sizes[x] == sizes[v])
            x = next((x for x in dies if _is_beside(k, x, v)), None)
            if x is not None:
                k, over[v] = without_input(k, x, out_name(k.outputs.index(v))), x
        changed.append(replace(k, over=tuple(over.items())) if over else k)
    return tuple(changed)


def _sources_of(k: Kernel, v: int) -> list[int]:
    """The inputs of an output's expression, in its order, without those that it reads only through other
    outputs: an optimiser state's new value belongs where its old one is."""
    f = k.shader.functions[0][1]
    results = [name for name, _ in f.results] or [f.result]
    result = results[k.outputs.index(v)]
    steps = {s.var: s for s in f.steps}
    below: dict[str, None] = {}
    todo = [result]
    while todo:
        name = todo.pop()
        if name in steps and name not in below and (name == result or name not in results):
            below[name] = None
            todo += reversed(steps[name].args)
    values = {input_name(i): x for i, x in enumerate(k.inputs)}
    return list(dict.fromkeys(values[steps[n].name] for n in below if steps[n].name in values))


def _is_beside(k: Kernel, x: int, v: int) -> bool:
    """Whether every thread reads exactly those elements of x that it writes of v, in the same form."""
    if k.inputs.count(x) > 1:
        return False
    if len(k.shader.functions) > 1 and len(k.outputs) > 1:
        return False  # one result may be written before the other is computed
    out, reads = k.shader.outs[k.outputs.index(v)], MapReads(k)
    return all(
        step.kind == "load"
        and (step.dtype, *step.extra) == out
        and f.width == out[1]
        and not step.tests
        and reads.is_in_order(f, step)
        for f, step in reads.of(x)
    )
