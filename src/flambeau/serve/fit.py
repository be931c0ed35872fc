"""Whether a model and the caches of its slots fit in memory, before anything is loaded."""

import os
from typing import Any, NamedTuple

from ..errors import FlambeauError

MIB = 1 << 20
LEAST = 16  # tokens of a slot


class ServerSize(NamedTuple):
    """The memory of a served model: bytes of its weights and of a token in a cache, slots, and tokens of
    each."""

    weights: int
    token: int
    slots: int
    context: int

    @property
    def caches(self) -> int:
        """Bytes of the caches."""
        return self.token * self.slots * self.context


def host_memory() -> int | None:
    """Return the bytes of the machine's memory, None if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def memory_of(device: Any) -> int | None:
    """Return the bytes of a device's memory; None for a GPU, of which WebGPU does not say them."""
    on_host = device.kind == "cpu" or (device.kind == "gpu" and device.limits.software)
    return host_memory() if on_host else None


def check_fit(name: str, size: ServerSize, memory: int | None) -> None:
    """FlambeauError for a model that needs more than `memory`; it says what fits."""
    if memory is None or size.weights + size.caches <= memory:
        return
    need = f"{size.weights / MIB:,.0f} MiB of weights"
    caches = f"{size.caches / MIB:,.0f} MiB for {size.slots} slots of {size.context:,} tokens"
    problem = f"serve({name!r}): needs {need} and {caches}, of {memory / MIB:,.0f} MiB of memory"
    tokens = max(memory - size.weights, 0) // size.token  # of all slots
    slots, context = tokens // size.context, tokens // size.slots
    fitting = [f"--slots {slots}"] * (slots > 0) + [f"--context {context}"] * (context >= LEAST)
    advice = f"pass {' or '.join(fitting)}" if fitting else "serve a smaller or quantised model"
    raise FlambeauError(f"{problem}: {advice}")
