"""Pipelines: a plan becomes commands for one device; a structure seen before renders and compiles nothing."""

import struct
import threading
from array import array
from dataclasses import dataclass
from typing import Any

from .commands import DISPATCH
from .errors import KernelError
from .fuse import Plan
from .heads import Shader
from .render import render
from .stages import stage
from .trust import is_proven
from .work import Work

PARAMS_ALIGN, PARAMS_LIMIT = 64, 256  # words: where a dispatch's Params start, and how many it may have


class Counters(threading.local):
    """What this thread made anew: a second step that looks like the first adds nothing."""

    plans = renders = compiles = submits = 0


counters = Counters()


class Patch:
    """A word of Params that comes from a host number and may change from run to run."""

    __slots__ = ("format", "node", "part", "word")

    def __init__(self, word: int, node: int, part: int, format: str):
        self.word, self.node, self.part, self.format = word, node, part, format


@dataclass
class Compiled:
    """A plan with its pipelines and the commands that run it, but for the buffers, whose places are
    listed."""

    plan: Plan
    words: list[int]
    slots: list[tuple[int, int]]  # (place in words, value)
    params: array
    patches: list[Patch]
    uniform: int  # the buffer that holds params
    uniform_slots: list[int]
    sent: bytes = b""  # what that buffer holds
    works: tuple[Work, ...] = ()  # of each kernel, for profiles


def pipeline_of(device: Any, shader: Shader, label: str) -> int:
    """The device's pipeline for this structure, compiled at first sight."""
    cache = device.__dict__.setdefault("pipelines", {})
    found = cache.get(shader)
    if found is None:
        counters.renders += 1
        counters.compiles += 1
        buffers = len(shader.bindings), len(shader.outs)
        with stage("render"):
            text = render(shader)
        with stage("compile"):
            found = cache[shader] = device.pipeline(text, label, *buffers, is_proven(shader))
    return found


def word_of(value: Any, wgsl: str) -> int:
    """The 32 bits of a quantity."""
    if wgsl == "f32":
        return struct.unpack("<I", struct.pack("<f", _finite(value)))[0]
    return int(value) & 0xFFFFFFFF


def _finite(value: float) -> float:
    """Doubles beyond float32 become infinite, as in a cast."""
    if value != value or abs(value) <= 3.4028235677973366e38:
        return value
    return float("inf") if value > 0 else float("-inf")


def compile_plan(device: Any, plan: Plan) -> Compiled:
    """Find or compile every kernel's pipeline and lay the plan's Params out, each at an aligned place."""
    words: list[int] = []
    slots, patches, uniform_slots = [], [], []
    params = array("I")
    for k in plan.kernels:
        base = len(params)
        if len(k.quantities) > PARAMS_LIMIT:
            raise KernelError(
                f"{k.name}: {len(k.quantities)} Params, more than {PARAMS_LIMIT}: use fewer dims"
            )
        for i, (value, (_, wgsl)) in enumerate(zip(k.quantities, k.shader.params, strict=True)):
            if isinstance(value, tuple):
                patches.append(Patch(base + i, value[1], value[2], wgsl))
                value = 0
            params.append(word_of(value, wgsl))
        params.extend([0] * (-len(params) % PARAMS_ALIGN))
        pipeline = pipeline_of(device, k.shader, k.name)
        uniform_slots.append(len(words) + 2)
        words += [DISPATCH, pipeline, 0, base * 4, *k.grid, len(k.inputs) + len(k.outputs)]
        for value in (*k.inputs, *k.outputs):
            slots.append((len(words), value))
            words.append(0)
    counters.plans += 1
    uniform = device.uniform(4 * len(params)) if plan.kernels else 0
    for place in uniform_slots:
        words[place] = uniform
    return Compiled(plan, words, slots, params, patches, uniform, uniform_slots)


def patch_params(params: array, patches: list[Patch], order: list) -> None:
    """Put the graph's host numbers into Params."""
    for p in patches:
        source = order[p.node].scalars[0]
        words = getattr(source, "words", None)
        value = words[p.part] if words is not None else getattr(source, "value", source)
        params[p.word] = word_of(value, p.format)
