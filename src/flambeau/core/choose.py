"""The variants of a kernel that a device can run, and the size of the work, into the one that runs."""

import os
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

from ..errors import FlambeauError


class _Thread(threading.local):
    asked: list[tuple[str, tuple[Any, ...], tuple[str, ...], str]] | None = None  # what `choose` is asked for


of_thread = _Thread()


def choose(limits: Any, family: str, bucket: tuple[Any, ...], names: Sequence[str], default: str) -> str:
    """One of `names`, the variants that fit this device and this work.

    It is the one that FLAMBEAU_VARIANT forces, else the one that was measured to be fastest for the family
    and bucket on this device, else the one that beat this default in the choices that come with the package,
    else `default`, which the family's own rule gives. A name that is not among `names` is passed over: what
    does not fit is never picked.
    """
    if of_thread.asked is not None:
        of_thread.asked.append((family, bucket, tuple(names), default))
    tuned = limits.tuned
    for name in (forced().get(family), tuned.get((family, bucket)), tuned.get((family, bucket, default))):
        if name is not None and name in names:
            return name
    return default


@cache
def forced() -> dict[str, str]:
    """FLAMBEAU_VARIANT="contract=tiles,attention=rows": the variant of each family that tests force."""
    text = os.environ.get("FLAMBEAU_VARIANT", "")
    pairs = [p.partition("=") for p in text.split(",") if p]
    if wrong := next((family for family, _, name in pairs if not (family and name)), None):
        raise FlambeauError(f"FLAMBEAU_VARIANT={text}: no variant for {wrong!r}: write family=name,...")
    return {family: name for family, _, name in pairs}
