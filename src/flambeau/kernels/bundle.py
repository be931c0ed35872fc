"""Merges finished kernels into one, in which each has a range of the workgroups."""

from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

from .emit import Quantities
from .ir import MAPS, Kernel, Shader, WgslFunction, out_name
from .substitute import input_name, rename

BUNDLE = "bundle.wgsl"  # the template of bundles whose members keep their own templates


class BundleMember(NamedTuple):
    """A kernel of a bundle: its shader, and the names of its buffers and Params in the bundle."""

    shader: Shader
    buffers: tuple[tuple[str, str], ...]
    words: tuple[tuple[str, str], ...]


def bundle_kernel(members: list[Kernel]) -> Kernel:
    """One kernel made of several; none reads or overwrites another's results."""
    names, are_maps = _Names(), all(k.shader.kind in MAPS for k in members)
    parts = [names.add_map(k) if are_maps else names.add(k) for k in members]
    # A workgroup finds its kernel by comparing its number with these ends; a bundle of maps does not need the
    # last one.
    group_ends = list(accumulate(prod(k.grid) for k in members))
    words = tuple(names.q.add("end", end) for end in (group_ends[:-1] if are_maps else group_ends))
    begins = ("0u", *(f"p.{word}" for word in words))
    options = ("ends", words) if are_maps else ("ranges", tuple(zip(begins, words, strict=False)))
    shader = Shader(
        "map/map_bundle.wgsl" if are_maps else BUNDLE,
        tuple(names.q.names),
        tuple(kind for _, kind in names.buffers),
        tuple(names.outs),
        members[0].shader.workgroup,
        tuple(names.functions),
        (("segments" if are_maps else "members", tuple(parts)), options),
        "map_bundle" if are_maps else "bundle",
    )
    return Kernel(
        f"{members[0].name} and {len(members) - 1} more",
        shader,
        tuple(value for value, _ in names.buffers),
        tuple(v for k in members for v in k.outputs),
        tuple(names.q.values),
        (group_ends[-1], 1, 1),
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

    def add_map(self, k: Kernel) -> tuple[Any, ...]:
        """The segment of a map: its function, and the template's parameters."""
        ((_, f),), options = k.shader.functions, dict(k.shader.options)
        index, span = len(self.functions), options["span"]  # a bundle's segments have no lines of workgroups
        words = self._name_words(k, unread=span)
        buffers = self._name_buffers(k)
        outs = tuple(buffers[out_name(i)] for i in range(len(k.outputs)))
        f = rename(f, buffers, words)
        f = f._replace(result=f"Results{index}") if f.results else f
        self.functions.append((f"value{index}", f))
        dims = tuple(words.get(name, "") for name in options["dims"])
        return f"value{index}", words[options["size"]], dims, outs, k.shader.outs[0][1]

    def add(self, k: Kernel) -> BundleMember:
        """A kernel that keeps its template."""
        words, buffers = self._name_words(k), self._name_buffers(k)
        return BundleMember(k.shader, tuple(buffers.items()), tuple(words.items()))

    def _name_words(self, k: Kernel, unread: str = "") -> dict[str, str]:
        """A kernel's Params -> their names in the bundle, without the digits that make them unique in the
        kernel."""
        return {
            name: self.q.add(name.rstrip("0123456789"), value, wgsl)
            for (name, wgsl), value in zip(k.shader.params, k.quantities, strict=True)
            if name != unread
        }

    def _name_buffers(self, k: Kernel) -> dict[str, str]:
        """A kernel's buffers -> their names in the bundle."""
        buffers = {
            input_name(i): self.buffers.setdefault(bound, input_name(len(self.buffers)))
            for i, bound in enumerate(zip(k.inputs, k.shader.bindings, strict=True))
        }
        buffers |= {out_name(i): out_name(len(self.outs) + i) for i in range(len(k.outputs))}
        self.outs += k.shader.outs
        return buffers
