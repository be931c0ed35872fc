"""The variants of a kernel that a device can run, and the size of the work, into the one that runs."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from ..errors import FlambeauError
from . import events

Variant = TypeVar("Variant")
Question = tuple[str, tuple[Any, ...], tuple[str, ...], str]  # family, bucket, texts of variants and default


def choose(
    limits: Any, family: str, bucket: tuple[Any, ...], variants: Sequence[Variant], default: Variant
) -> Variant:
    """One of `variants`, those that fit this device and this work.

    It is the one that FLAMBEAU_VARIANT forces, else the one that was measured to be fastest for the family
    and bucket on this device, else the one that beat this default in the choices that come with the package,
    else `default`, which the family's own rule gives. Files and the environment name a variant by its text,
    str(variant). A text that is no variant's is passed over: what does not fit is never picked.
    """
    if events.has_listener("choice"):
        events.emit("choice", family, bucket, tuple(map(str, variants)), str(default))
    tuned, forced_text = limits.tuned, forced().get(family)
    if not tuned and forced_text is None:
        return default
    texts = forced_text, tuned.get((family, bucket)), tuned.get((family, bucket, str(default)))
    for text in (t for t in texts if t is not None):
        for variant in variants:
            if str(variant) == text:
                return variant
    return default


@contextmanager
def questions() -> Iterator[list[Question]]:
    """What `choose` is asked for by this thread in the block, as it comes."""
    asked: list[Question] = []
    with events.subscribe("choice", lambda *question: asked.append(question)):
        yield asked


@cache
def forced() -> dict[str, str]:
    """FLAMBEAU_VARIANT="contract=tiles,attention=rows": the variant of each family that tests force."""
    text = os.environ.get("FLAMBEAU_VARIANT", "")
    pairs = [p.partition("=") for p in text.split(",") if p]
    if wrong := next((family for family, _, name in pairs if not (family and name)), None):
        raise FlambeauError(f"FLAMBEAU_VARIANT={text}: no variant for {wrong!r}: write family=name,...")
    return {family: name for family, _, name in pairs}
