"""Merges small independent kernels: each gets a range of workgroups.

Maps that no kernel depends on, such as an optimiser's updates, are gathered from the entire plan; other
kernels join one of the few before them, such as products of one input.
"""

from itertools import permutations
from math import prod

from ..core.limits import Limits
from ..kernels.bundle import bundle_kernel
from ..kernels.ir import MAPS, Kernel

SMALL_BYTES = 1 << 23  # limit of a bundled kernel's reads and writes: larger ones fill a GPU
SMALL_GROUPS = 4096  # workgroups that it has fewer than
WAITING_BYTES, WAITING_SHARE = 1 << 24, 16  # bytes of waiting temporaries; their fraction of all
BUNDLE_KERNELS, BUNDLE_WORDS = 16, 240  # kernels of a bundle; words of Params
BUNDLED = (*MAPS, "beside")
BACK = 6  # how many kernels a kernel moves forward at most to join others: its results live longer


def order_by_bundle(
    kernels: tuple[Kernel, ...],
    sizes: dict[int, int],
    kept: set[int],
    dying: frozenset[int],
    limits: Limits,
) -> list[list[Kernel]]:
    """The kernels in order, by bundles. A kernel whose results no kernel reads moves to the last of its
    bundle.

    kept: values that stay in memory anyway; dying: those of them that may be overwritten.
    """
    read = {v for k in kernels for v in k.inputs}
    room = min(WAITING_BYTES, sum(sizes.values()) // WAITING_SHARE)
    last: list[int] = []  # the bundle that may still grow
    bundle_of: dict[int, list[int]] = {}  # kernel -> the kernels of its bundle
    for i, k in enumerate(kernels):
        if not _is_small(k, sizes) or any(v in read for v in k.outputs):
            continue
        members = [kernels[j] for j in (*last, i)]
        waiting = sum(sizes.get(v, 0) for v in {v for m in members for v in m.inputs} - kept)
        if not last or waiting > room or not _fits(members, dying, limits):
            last = []
        last.append(i)
        bundle_of[i] = last
    bundles: list[list[Kernel]] = []
    for i in range(len(kernels)):
        bundle = bundle_of.get(i, [i])
        if bundle[-1] == i:
            bundles.append([kernels[j] for j in bundle])
    return bundles


def _is_small(k: Kernel, sizes: dict[int, int]) -> bool:
    moved = sum(sizes.get(v, 0) for v in (*k.inputs, *k.outputs))
    is_map = k.shader.kind in MAPS and k.instead is None
    return is_map and moved <= SMALL_BYTES and prod(k.grid) < SMALL_GROUPS


def join_bundles(
    bundles: list[list[Kernel]], sizes: dict[int, int], dying: frozenset[int], limits: Limits
) -> list[list[Kernel]]:
    """Let a kernel alone join one of the bundles shortly before it, as far as it does not wait for those
    between."""
    placed: list[list[Kernel]] = []
    for bundle in bundles:
        index = _join_at(bundle[0], placed, sizes, dying, limits) if len(bundle) == 1 else None
        if index is None:
            placed.append(list(bundle))
        else:
            placed[index].append(bundle[0])
    return placed


def _join_at(
    k: Kernel, placed: list[list[Kernel]], sizes: dict[int, int], dying: frozenset[int], limits: Limits
) -> int | None:
    """The last bundle that a kernel may join, None without one."""
    if not _may_join(k, sizes):
        return None
    for index in reversed(range(max(len(placed) - BACK, 0), len(placed))):
        members = placed[index]
        if any(_waits_for(k, m, dying) for m in members):
            return None
        same = all(_may_join(m, sizes) and m.shader.workgroup == k.shader.workgroup for m in members)
        # bundles of only maps are not merged: each is a new pipeline to compile, and training has many maps
        are_maps = all(m.shader.kind in MAPS for m in (*members, k))
        if same and not are_maps and _fits([*members, k], dying, limits):
            return index
    return None


def _may_join(k: Kernel, sizes: dict[int, int]) -> bool:
    """Whether a kernel is small, and may have a range of a grid of one dim."""
    variants = [k] if k.instead is None else [k, k.instead[1]]
    moved = sum(sizes.get(v, 0) for v in (*variants[-1].inputs, *k.outputs))
    return moved <= SMALL_BYTES and all(
        v.shader.kind in BUNDLED and not v.shader.checks and v.grid[1:] == (1, 1) and v.grid[0] < SMALL_GROUPS
        for v in variants
    )


def _waits_for(k: Kernel, other: Kernel, dying: frozenset[int]) -> bool:
    """Whether a kernel can't run before an earlier one, or together with it: it reads the earlier one's
    results, or may overwrite its inputs."""
    written, read = set(other.outputs), set(other.reads)
    return bool(written & set(k.reads) or set(k.outputs) & (written | read) or read & set(k.reads) & dying)


def _fits(members: list[Kernel], dying: frozenset[int], limits: Limits) -> bool:
    """Whether the buffers and Params of these fit one kernel, if results are written over dying values where
    possible."""
    inputs = {v for k in members for v in k.inputs}
    over = sum(min(len(set(k.inputs) & dying), len(k.outputs)) for k in members)
    bound = len(inputs) + sum(len(k.outputs) for k in members) - over
    bound += any(k.shader.checks for k in members)
    words = sum(len(k.quantities) + 1 for k in members)
    return len(members) <= BUNDLE_KERNELS and words <= BUNDLE_WORDS and bound <= limits.bundle_buffers


def merge(members: list[Kernel], limits: Limits) -> list[Kernel]:
    """Merge kernels into one; into several if one would bind too many buffers, or if a kernel writes over a
    value that another reads."""
    runs: list[list[Kernel]] = []
    for k in members:
        longer = [*runs[-1], k] if runs else []
        if not longer or not _are_independent(longer) or _count_bindings(longer) > limits.bundle_buffers:
            runs.append([k])
        else:
            runs[-1] = longer
    return [bundle_kernel(run) if len(run) > 1 else run[0] for run in runs]


def _count_bindings(members: list[Kernel]) -> int:
    """How many buffers they bind."""
    inputs = {b for k in members for b in zip(k.inputs, k.shader.bindings, strict=True)}
    return len(inputs) + sum(len(k.outputs) for k in members) + any(k.shader.checks for k in members)


def _are_independent(members: list[Kernel]) -> bool:
    """Whether none overwrites a value that another reads or overwrites."""
    pairs = [({x for _, x in k.over}, set(k.inputs)) for k in members]
    return not any(over & (reads | others) for (over, _), (others, reads) in permutations(pairs, 2))
