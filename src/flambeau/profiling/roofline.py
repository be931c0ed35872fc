"""Measures a device's ceilings, the rates of a copy and of multiply-adds, and caches them."""

import hashlib
import json
from array import array
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..core import json_cache
from ..core.files import cache_folder
from ..device.protocol import Gpu
from ..functions import empty
from ..fusion.plan import Plan
from ..kernels.ir import Kernel, Shader
from ..runtime.pipeline import compile_plan
from ..runtime.run import realize
from .meter import capture
from .timing import per_run

SUMS = 8  # vec4 accumulators of a thread: 32 independent multiply-adds
FORMAT = 1


@dataclass(frozen=True)
class Ceilings:
    """The measured maximum rates of an adapter."""

    copy: float  # bytes a second, read and written together, of x + 1
    fma: float  # float32 operations a second, two of a multiply-add, in registers


def steady(device: Gpu, words: list[int], budget: float = 0.1) -> float:
    """Return the seconds of one run of commands that are submitted repeatedly without a pause."""
    prepared = device.prepare(words)

    def batch(n: int) -> None:
        for at in range(0, n, 32):
            device.submit(*[prepared] * min(32, n - at))
            device.keep_pace()
        device.wait()

    return per_run(batch, budget, warm=not device.limits.software)


def measure_ceilings(device: Gpu) -> Ceilings:
    """Measure the ceilings (0.1 s on a GPU, about 1 s on a software adapter)."""
    software = device.limits.software
    x = empty((1 << 22) if software else min(1 << 27, device.max_binding // 4), device=device)
    realize(x)
    y, captured = capture(lambda: _plus_one(x))
    with device.lock:
        copy = 2 * x.nbytes / steady(device, captured.words)
        words, flops, out = _multiply_adds(device, software)
        fma = flops / steady(device, words)
    del y, out
    return Ceilings(copy, fma)


def _plus_one(x: Any) -> Any:
    y = x + 1.0
    realize(y)
    return y


def _multiply_adds(device: Gpu, software: bool) -> tuple[list[int], int, Any]:
    """Build a kernel of multiply-adds only: its commands, its operations, and the buffer it writes."""
    groups, threads, rounds = (64, 64, 32) if software else (8192, 256, 128)
    shader = Shader(
        "measure/fma_rate.wgsl",
        (("rounds", "u32"), ("a", "f32"), ("b", "f32")),
        (),
        (("f32", 4),),
        (threads, 1, 1),
        (),
        (("sums", SUMS),),
    )
    kernel = Kernel("multiply-adds", shader, (), (0,), (rounds, 0.999, 0.001), (groups, 1, 1))
    compiled = compile_plan(device, Plan((kernel,), roots=(0,), stored=((0, 16 * groups * threads),)))
    out = device.pool.take(16 * groups * threads)
    words = list(compiled.words)
    for place, _ in compiled.slots:
        words[place] = out.handle
    device.write(compiled.uniform, array("I", compiled.params).tobytes())
    return words, 2 * groups * threads * rounds * 4 * SUMS * 4, out


def ceilings_of(device: Gpu) -> Ceilings:
    """Return the device's ceilings, from the cache folder if this adapter, driver and version were
    measured before."""
    if device.ceilings is None:
        device.ceilings = cached_ceilings(device) or keep(device, measure_ceilings(device))
    return device.ceilings


def identity(device: Gpu) -> dict[str, Any]:
    """Return the identity for which ceilings are valid: adapter, driver, version."""
    measured_on = {"device": device.name, "software": device.limits.software, "format": FORMAT}
    of = device.identity  # None in a page, which can't read the driver
    return measured_on if of is None else measured_on | {"driver": of.driver, "provider": of.provider}


def ceilings_file(device: Gpu) -> Path:
    """Return the file of a device's ceilings."""
    name = hashlib.sha256(json.dumps(identity(device)).encode()).hexdigest()[:16]
    return cache_folder("ceilings") / f"{name}.json"


def cached_ceilings(device: Gpu) -> Ceilings | None:
    """Load the ceilings from the cache folder; None unless they are undamaged and of this device."""
    path = ceilings_file(device)

    def holding(said: Any) -> Ceilings:
        if said["of"] != identity(device):
            raise json_cache.Unusable(path, "from another device")
        ceilings = Ceilings(float(said["copy"]), float(said["fma"]))
        if not (ceilings.copy > 0 and ceilings.fma > 0):
            raise json_cache.Unusable(path, "no rates")
        return ceilings

    return json_cache.load_if_usable(path, holding, "the ceilings", "measured again")


def keep(device: Gpu, ceilings: Ceilings) -> Ceilings:
    """Write ceilings to the cache folder; a line on stderr reports a failure."""
    text = json.dumps({"of": identity(device), **asdict(ceilings)}, indent=2)
    json_cache.keep(ceilings_file(device), text, "ceilings hold for this process")
    return ceilings
