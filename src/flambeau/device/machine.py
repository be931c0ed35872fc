"""Measures the speeds of a GPU for the cost estimates of kernels, once per adapter, and caches them."""

import json
import re
import time
from collections.abc import Callable
from typing import Any

from ..core import json_cache
from ..core.files import cache_folder
from ..core.limits import H200, MachineSpeed
from .tuned import AdapterIdentity

FORMAT = 1
CORES = {  # part of an adapter's name -> its speeds (the first match); others are measured
    "H100 PCIe": 114,
    "H100": 132,
    "A100": 108,
    "L40S": 142,
    "RTX 4090": 128,
    "RTX 3090": 82,
    "Tesla T4": 40,
}
TURNS = 64  # loop iterations of the first try: doubled until a workgroup takes LONG
LONG = 1e-3  # seconds that are long compared with the noise of submits
ROUNDS = 16  # the GPU is full when groups take this multiple of one workgroup's time
MOST_GROUPS, MOST_TURNS = 1 << 14, 1 << 22
COPIED = 1 << 27  # bytes that are copied: more than a cache holds
PRODUCT = 1.17  # a multiply-add's time in a product, relative to one in registers only, on an H200
CHAINS, UNROLLED = range(8), 4  # independent sums of a thread; steps of an iteration
MULTIPLY_ADDS = 4 * len(CHAINS) * UNROLLED * 256  # of a turn of a workgroup
COPIES = 8  # of a submit
WORK = f"""
@group(0) @binding(0) var<uniform> p: vec4<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>>;
@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) t: u32) {{
  let m = vec4<f32>(bitcast<f32>(p.y));
  {" ".join(f"var a{i} = vec4<f32>(f32(t) + {i}.0);" for i in CHAINS)}
  for (var k = 0u; k < p.x; k++) {{
    {" ".join(f"a{i} = fma(a{i}, m, m);" for i in CHAINS) * UNROLLED}
  }}
  let sum = {" + ".join(f"a{i}" for i in CHAINS)};
  if (sum.x == 12345.0) {{
    out[t] = sum;
  }}
}}
"""
COPY = """
@group(0) @binding(0) var<storage, read> from_here: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> to_there: array<vec4<f32>>;
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  to_there[id.x] = from_here[id.x];
}
"""


def machine_of(of: AdapterIdentity, device: Any) -> MachineSpeed:
    """Return the cached speeds of an adapter, or measure and cache them in 0.1 s."""
    if "H200" in of.adapter:
        return H200
    path = cache_folder("machines") / (re.sub(r"\W+", "-", f"{of.adapter} {of.driver}").lower() + ".json")
    cached = json_cache.load_if_usable(path, _parse, "the measured speeds", "measured again")
    if cached is None:
        cached = measure_speeds(of.adapter, *_timers(device))
        text = json.dumps({"format": FORMAT, **cached._asdict()})
        json_cache.keep(path, text, "they are measured at each start")
    return cached


def _parse(data: Any) -> MachineSpeed:
    if data["format"] != FORMAT:
        raise ValueError("another format")
    machine = MachineSpeed(int(data["cores"]), float(data["multiply_add"]), float(data["byte"]))
    if not (machine.cores > 0 and machine.multiply_add > 0 and machine.byte > 0):
        raise ValueError("a speed is not positive")
    return machine


def measure_speeds(
    name: str, work: Callable[[int, int], float], copy: Callable[[int], float]
) -> MachineSpeed:
    """Measure the speeds of an adapter. work(turns, groups): seconds of that many workgroups; copy(n):
    seconds of copying n bytes."""
    turns, fixed = TURNS, work(1, 1)
    while (one := work(turns, 1) - fixed) < LONG and turns < MOST_TURNS:
        turns *= 2
    groups, all_of_them = 1, one
    while all_of_them < ROUNDS * one and groups < MOST_GROUPS:
        groups *= 2
        all_of_them = work(turns, groups) - fixed
    measured_cores = max(round(groups * one / all_of_them), 1)
    cores = next((n for part, n in CORES.items() if part in name), measured_cores)
    rate = MULTIPLY_ADDS * turns * groups / all_of_them  # multiply-adds a second of the whole GPU
    moved, seconds = 2 * (COPIED - COPIED // 8), copy(COPIED) - copy(COPIED // 8)
    return MachineSpeed(cores, 1e12 * PRODUCT * cores / rate, 1e12 * max(seconds, 1e-9) / moved)


def _timers(device: Any) -> tuple[Callable[[int, int], float], Callable[[int], float]]:
    """Return the two timing functions for `measure_speeds` on a device: each the least of three times."""
    wgpu, queue = device._wgpu, device._queue
    params = wgpu.create_buffer(size=16, usage="UNIFORM|COPY_DST")
    out = wgpu.create_buffer(size=4096, usage="STORAGE")

    def dispatch_seconds(wgsl: str, buffers: list[Any], groups: int, count: int) -> float:
        module = wgpu.create_shader_module(code=wgsl)
        pipeline = wgpu.create_compute_pipeline(
            layout="auto", compute={"module": module, "entry_point": "main"}
        )
        entries = [{"binding": i, "resource": {"buffer": b}} for i, b in enumerate(buffers)]
        group = wgpu.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
        times: list[float] = []
        for _ in range(3):
            encoder = wgpu.create_command_encoder()
            compute = encoder.begin_compute_pass()
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group)
            for _ in range(count):
                compute.dispatch_workgroups(groups)
            compute.end()
            commands = encoder.finish()
            device._fast.wait()
            begin = time.perf_counter()
            queue.submit([commands])
            device._fast.wait()
            times.append(time.perf_counter() - begin)
        return min(times)

    def work(turns: int, groups: int) -> float:
        queue.write_buffer(params, 0, turns.to_bytes(4, "little") + bytes.fromhex("ffff7f3f") + bytes(8))
        return dispatch_seconds(WORK, [params, out], groups, 1)

    def copy(n: int) -> float:
        buffers = [wgpu.create_buffer(size=n, usage="STORAGE") for _ in range(2)]
        try:
            return dispatch_seconds(COPY, buffers, n // (16 * 256), COPIES) / COPIES
        finally:
            for buffer in buffers:
                buffer.destroy()

    return work, copy
