"""A traced expression into how a thread reads four neighbours of it: at once, one for all, or one by one."""

from collections.abc import Container
from typing import Any

from ..core.shape import Affine


def can_widen(steps: list, runs: list[tuple[int, ...]]) -> bool:
    """Whether four neighbours of the innermost run lie side by side in all that the steps load. A gather may
    read them one by one: what is computed around it is still computed at once."""
    last = runs[-1][-1]
    for s in steps:
        if s.view is None:
            continue
        if any(b.position.strides[last] for b in s.view.bounds):
            return False
        index = s.view.index
        if s.kind in ("iota", "gather") or index.strides[last] == 0:
            continue
        others = (index.strides[run[-1]] for run in runs[:-1])
        if index.strides[last] != 1 or _breaks(index.offset, *others):
            return False
    return True


def _breaks(*strides: int) -> bool:
    """Whether steps so long may leave the beginning of a four."""
    return any(s % 4 for s in strides)


def reading(steps: list, i: int, inner: int | None) -> str:
    """How the i-th step reads four neighbours along the dim `inner`: "four", "one" that is all of them, or
    "each"; "one" too where there is no such dim."""
    s = steps[i]
    if inner is None or s.kind not in ("load", "gather"):
        return "one"
    index: Affine = s.view.index
    if s.kind == "load":
        return "four" if index.strides[inner] else "one"
    if _varies(steps, s.args[0], inner):
        return "each"
    if not index.strides[inner]:
        return "one"
    others = (n for d, n in enumerate(index.strides) if d != inner)
    return "each" if index.strides[inner] != 1 or _breaks(index.offset, s.extra[1], *others) else "four"


def _varies(steps: list[Any], i: int, inner: int) -> bool:
    """Whether a step differs between neighbours along a dim."""
    made_of = (steps[j] for j in below(steps, i))
    return any(
        s.kind in ("acc", "stat")
        or (s.view is not None and s.kind != "guard" and s.view.index.strides[inner])
        for s in made_of
    )


def below(steps: list[Any], root: int, stop: Container[int] = ()) -> list[int]:
    """The steps that a step is made of, itself too, in order; not those below a step of `stop`."""
    seen, todo = set(), [root]
    while todo:
        i = todo.pop()
        if i not in seen:
            seen.add(i)
            todo += () if i in stop else steps[i].args
    return sorted(seen)
