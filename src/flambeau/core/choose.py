"""The variants of a kernel that a device can run, and the size of the work, into the one that runs."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from ..errors import FlambeauError
from . import events

Question = tuple[str, tuple[Any, ...], Sequence[str], str]  # what `choose` takes behind the limits


def choose(limits: Any, family: str, bucket: tuple[Any, ...], names: Sequence[str], default: str) -> str:
    """One of `names`, the variants that fit this device and this work.

    It is the one that FLAMBEAU_VARIANT forces, else the one that was measured to be fastest for the family
    and bucket on this device, else the one that beat this default in the choices that come with the package,
    else `default`, which the family's own rule gives. A name that is not among `names` is passed over: what
    does not fit is never picked.
    """
    events.tell("choice", family, bucket, names, default)
    tuned = limits.tuned
    for name in (forced().get(family), tuned.get((family, bucket)), tuned.get((family, bucket, default))):
        if name is not None and name in names:
            return name
    return default


@contextmanager
def questions() -> Iterator[list[Question]]:
    """What `choose` is asked for by this thread in the block, as it comes."""
    asked: list[Question] = []
    with events.listening("choice", lambda *question: asked.append(question)):
        yield asked


@cache
def forced() -> dict[str, str]:
    """FLAMBEAU_VARIANT="contract=tiles,attention=rows": the variant of each family that tests force."""
    text = os.environ.get("FLAMBEAU_VARIANT", "")
    pairs = [p.partition("=") for p in text.split(",") if p]
    if wrong := next((family for family, _, name in pairs if not (family and name)), None):
        raise FlambeauError(f"FLAMBEAU_VARIANT={text}: no variant for {wrong!r}: write family=name,...")
    return {family: name for family, _, name in pairs}
