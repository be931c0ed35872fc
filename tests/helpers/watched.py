"""WGSL into WGSL that counts accesses beyond its arrays, and a device that runs all its kernels so.

Buffers have the size of their tensors (in steps of 16 bytes, what a vec4 takes), so what is beyond one is
known, and a buffer is never larger than what was asked for because another was.
"""

import re

import numpy as np

from flambeau.core.faults import DECLARED
from flambeau.device import native
from flambeau.device.memory import Allocation, Pool

STORAGE = re.compile(r"var<storage, \w+> (\w+): array<")
SIZED = re.compile(r"var(?:<\w+>)? (\w+)\s*(?::|=)\s*array<.+, (\d+)u?>")
MAIN = re.compile(r"(@compute\s[^{]*?)fn main\((.*?)\)\s*\{", re.DOTALL)
WATCH = """@group(0) @binding({at}) var<storage, read_write> strays: array<atomic<u32>>;
var<private> strayed: u32;
var<private> farthest: u32;
fn within(i: u32, n: u32) -> u32 {{
  let is_out = i >= n;
  strayed += u32(is_out);
  farthest = max(farthest, select(0u, i, is_out));
  return min(i, n - 1u);
}}
{head}fn main({given}) {{
  body({names});
  if (strayed > 0u) {{
    atomicAdd(&strays[0], strayed);
    atomicMax(&strays[1], farthest);
  }}
}}
"""


def watched(wgsl: str, buffers: int) -> str:
    """The same shader, which adds to `strays` (the binding after the last) what it finds out of bounds.

    Each thread counts for itself and tells at its end: with atomics at every access llvmpipe compiled
    the kernels of test_bounds.py for four minutes more (322 s of processor time, and 86 s so).
    """
    ends = {name: f"arrayLength(&{name})" for name in STORAGE.findall(wgsl)}
    ends |= {name: f"{n}u" for name, n in SIZED.findall(wgsl)}
    wgsl = wgsl.replace(f"@binding({buffers + 1}) {DECLARED}", f"@binding({buffers + 2}) {DECLARED}")
    (head, given), *_ = MAIN.findall(wgsl)
    plain = re.sub(r"@builtin\(\w+\)\s*", "", given)
    wgsl = MAIN.sub(lambda m: f"fn body({plain}) {{", wgsl)
    names = ", ".join(re.findall(r"(\w+):", plain))
    return _indexed(wgsl, ends) + WATCH.format(at=buffers + 1, head=head, given=given, names=names)


def _indexed(text: str, ends: dict[str, str]) -> str:
    """Every name[index] with its index looked at; an index may hold others."""
    out, at = [], 0
    for m in re.finditer(r"(?<![\w.])(\w+)\[", text):
        if m.start() < at or m[1] not in ends:
            continue
        close = _closing(text, m.end())
        inner = _indexed(text[m.end() : close], ends)
        out.append(f"{text[at : m.start()]}{m[1]}[within(u32({inner}), {ends[m[1]]})]")
        at = close + 1
    return "".join(out) + text[at:]


def _closing(text: str, at: int) -> int:
    depth = 1
    while depth:
        depth += {"[": 1, "]": -1}.get(text[at], 0)
        at += 1
    return at - 1


class ExactPool(Pool):
    """Buffers of their tensors' sizes, taken anew each time; `ended` ones may be in commands yet to come."""

    def take(self, nbytes: int) -> Allocation:
        size = max(-(-nbytes // 16) * 16, 16)
        taken = Allocation(self, 0, nbytes, size)
        self._allocate(taken)
        return taken


class WatchedDevice(native.NativeDevice):
    """An adapter whose kernels say when they stray."""

    def __init__(self, adapter):
        before = native.LIMITS
        native.LIMITS = before | {"max-storage-buffers-per-shader-stage": 10}
        try:
            super().__init__(adapter)
        finally:
            native.LIMITS = before
        self.pool = ExactPool(self)
        self.strays = self.alloc(16, 16)
        self.kernels: dict[str, str] = {}  # label -> the last of its shaders

    def pipeline(self, wgsl: str, label: str, inputs: int, outputs: int = 1, proven: bool = False) -> int:
        self.kernels[label] = wgsl
        return super().pipeline(watched(wgsl, inputs + outputs), label, inputs, outputs + 1, proven)

    def bind(self, pipeline: int, handles: tuple[int, ...], offset: int = 0):
        return super().bind(pipeline, (*handles, self.strays), offset)

    def found(self) -> tuple[int, int]:
        """How many accesses strayed since the last call, and the largest index."""
        got = np.frombuffer(self.read([(self.strays, 16)])[0], "u4")
        self.write(self.strays, bytes(16))
        while self.pool.ended:
            _, _, handle = self.pool.ended.pop()
            self.free(handle)
        return int(got[0]), int(got[1])
