"""Measures and caches a device's ceilings: the rates of a copy and of multiply-adds.

The roofline model (Williams et al. 2009): a kernel is bound by memory or by arithmetic.
"""

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

SUMS = 8  # vec4 accumulators of a thread: 32 independent multiply-adds hide the latency of each
FORMAT = 1  # version of the cached file


@dataclass(frozen=True)
class Ceilings:
    """The measured maximum rates of an adapter."""

    copy: float  # bytes per second of x + 1, reads and writes together
    fma: float  # float32 operations per second in registers, two per multiply-add


def steady(device: Gpu, words: list[int], budget: float = 0.1) -> float:
    """Return the seconds of one run of commands that are submitted repeatedly without a pause."""
    prepared = device.prepare(words)

    def batch(n: int) -> None:
        for start in range(0, n, 32):
            device.submit(*[prepared] * min(32, n - start))
            device.keep_pace()
        device.wait()

    return per_run(batch, budget, warm=not device.limits.software)


def measure_ceilings(device: Gpu) -> Ceilings:
    """Measure the ceilings (0.1 s on a GPU, about 1 s on a software adapter)."""
    software = device.limits.software
    # 512 MB on a GPU, far above its caches; 16 MB on a software adapter, which is much slower.
    x = empty((1 << 22) if software else min(1 << 27, device.max_binding // 4), device=device)
    realize(x)
    y, captured = capture(lambda: _plus_one(x))
    with device.lock:
        # x + 1 reads and writes each byte once.
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
    """Build a kernel of multiply-adds. Returns its commands, its number of operations, and its output
    buffer."""
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
    # Per thread: rounds, each with 4 unrolled turns of SUMS vec4 multiply-adds.
    return words, 2 * groups * threads * rounds * 4 * SUMS * 4, out


def ceilings_of(device: Gpu) -> Ceilings:
    """Return the device's ceilings, from the cache folder if this adapter, driver and version were
    measured before."""
    if device.ceilings is None:
        device.ceilings = cached_ceilings(device) or keep(device, measure_ceilings(device))
    return device.ceilings


def identity(device: Gpu) -> dict[str, Any]:
    """Return the values that ceilings depend on: adapter, driver, version of the format."""
    measured_on = {"device": device.name, "software": device.limits.software, "format": FORMAT}
    adapter = device.identity  # None in a page, which can't read the driver
    if adapter is None:
        return measured_on
    return measured_on | {"driver": adapter.driver, "provider": adapter.provider}


def ceilings_file(device: Gpu) -> Path:
    """Return the file of a device's ceilings."""
    name = hashlib.sha256(json.dumps(identity(device)).encode()).hexdigest()[:16]
    return cache_folder("ceilings") / f"{name}.json"


def cached_ceilings(device: Gpu) -> Ceilings | None:
    """Load the ceilings from the cache folder; None if they are missing, damaged or of another device."""
    path = ceilings_file(device)

    def parse(entry: Any) -> Ceilings:
        if entry["of"] != identity(device):
            raise json_cache.Unusable(path, "from another device")
        ceilings = Ceilings(float(entry["copy"]), float(entry["fma"]))
        if not (ceilings.copy > 0 and ceilings.fma > 0):
            raise json_cache.Unusable(path, "no rates")
        return ceilings

    return json_cache.load_if_usable(path, parse, "the ceilings", "measured again")


def keep(device: Gpu, ceilings: Ceilings) -> Ceilings:
    """Write ceilings to the cache folder; a failure is reported on stderr."""
    text = json.dumps({"of": identity(device), **asdict(ceilings)}, indent=2)
    json_cache.keep(ceilings_file(device), text, "ceilings hold for this process")
    return ceilings
