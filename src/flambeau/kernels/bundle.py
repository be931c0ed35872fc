"""Merges finished maps into one kernel, in which each map has a range of the workgroups."""

from itertools import accumulate
from math import prod
from typing import Any

from .emit import Quantities
from .ir import Kernel, Shader, WgslFunction, out_name
from .substitute import input_name, rename


def bundle_kernel(members: list[Kernel]) -> Kernel:
    """One kernel of several maps, none of which writes over what another reads."""
    names = _Names()
    segments = [names.add(k) for k in members]
    # A workgroup finds its map by comparing its number with these ends; the last needs no comparison.
    ends = list(accumulate(prod(k.grid) for k in members))
    end_words = [names.q.add("end", end) for end in ends[:-1]]
    shader = Shader(
        "map/map_bundle.wgsl",
        tuple(names.q.names),
        tuple(kind for _, kind in names.buffers),
        tuple(names.outs),
        members[0].shader.workgroup,
        tuple(names.functions),
        (("segments", tuple(segments)), ("ends", tuple(end_words))),
        "map_bundle",
    )
    return Kernel(
        f"{members[0].name} and {len(members) - 1} more",
        shader,
        tuple(value for value, _ in names.buffers),
        tuple(v for k in members for v in k.outputs),
        tuple(names.q.values),
        (ends[-1], 1, 1),
        over=tuple(pair for k in members for pair in k.over),
        ends=", ".join(dict.fromkeys(k.ends for k in members)),
        parts=tuple(members),
    )


class _Names:
    """The buffers and Params of a bundle's members, under names of its own."""

    def __init__(self):
        self.q = Quantities()
        self.buffers: dict[tuple[int, tuple[str, int]], str] = {}  # (value, kind) -> the name of its binding
        self.outs: list[tuple[str, int]] = []
        self.functions: list[tuple[str, WgslFunction]] = []

    def add(self, k: Kernel) -> tuple[Any, ...]:
        """The segment of a kernel: its function, and what the template asks for."""
        ((_, f),), options = k.shader.functions, dict(k.shader.options)
        at, span = len(self.functions), options["span"]  # a bundle's segments have no lines of workgroups
        words = {
            # Without its number: the bundle's own numbers tell equal names apart.
            name: self.q.add(name.rstrip("0123456789"), value, wgsl)
            for (name, wgsl), value in zip(k.shader.params, k.quantities, strict=True)
            if name != span
        }
        buffers = {
            input_name(i): self.buffers.setdefault(bound, input_name(len(self.buffers)))
            for i, bound in enumerate(zip(k.inputs, k.shader.bindings, strict=True))
        }
        outs = [out_name(len(self.outs) + i) for i in range(len(k.outputs))]
        buffers |= {out_name(i): name for i, name in enumerate(outs)}
        self.outs += k.shader.outs
        f = rename(f, buffers, words)
        f = f._replace(result=f"Results{at}") if f.results else f
        self.functions.append((f"value{at}", f))
        dims = tuple(words.get(name, "") for name in options["dims"])
        return f"value{at}", words[options["size"]], dims, tuple(outs), k.shader.outs[0][1]
