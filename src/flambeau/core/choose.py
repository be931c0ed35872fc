"""Choose one of the variants of a kernel that a device can run."""

import os
from collections.abc import Generator, Sequence
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
    """Choose one of `variants`, which all fit this device and this size of work.

    In this order: the variant that FLAMBEAU_VARIANT forces, the one measured fastest for the family and
    bucket on this device, the one that beat `default` in the choices that the package ships, else `default`,
    which the family's rule chose. Files and the environment name a variant by str(variant). Names of variants
    that do not fit are ignored.
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
def questions() -> Generator[list[Question]]:
    """The questions that `choose` answers for this thread inside the block, in order."""
    asked: list[Question] = []
    with events.subscribe("choice", lambda *question: asked.append(question)):
        yield asked


@cache
def forced() -> dict[str, str]:
    """The forced variant of each family: FLAMBEAU_VARIANT="contract=tiles,attention=rows"."""
    text = os.environ.get("FLAMBEAU_VARIANT", "")
    pairs = [p.partition("=") for p in text.split(",") if p]
    if wrong := next((family for family, _, name in pairs if not (family and name)), None):
        raise FlambeauError(f"FLAMBEAU_VARIANT={text}: no variant for {wrong!r}: write family=name,...")
    return {family: name for family, _, name in pairs}
