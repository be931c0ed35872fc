"""Watches the kernels of a saved program, which has WGSL texts and no graph."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from ..codegen.render import WgslLine
from ..core.commands import Dispatch, decode, flat
from ..core.node import Node
from ..device.protocol import Gpu
from ..export.load import SavedDispatch
from ..export.save import KERNELS
from ..kernels.ir import Kernel, Shader
from ..wgsl_reader.interface import interface_of
from ..wgsl_reader.parser import declarations
from ..wgsl_reader.types import VECTOR, arguments_of, element_of, width_of
from .probing import Launched


class SavedLaunched(Launched):
    """A kernel of a saved program that is about to run. first: the line of kernels.wgsl where its text
    begins."""

    def __init__(self, device: Gpu, command: Dispatch, step: SavedDispatch, params: bytes):
        reads, sizes = step.reads, dict(enumerate(step.sizes))
        inputs, outputs = tuple(range(reads)), tuple(range(reads, len(sizes)))
        shader = _shader(step.text)
        numbers = (0,) * len(shader.params)  # only their count matters: the values are in `params`
        kernel = Kernel(step.work.name, shader, inputs, outputs, numbers, command.grid)
        super().__init__(device, kernel, command, sizes, params)
        self.wgsl, self.first = step.text, step.line

    @cached_property
    def text(self) -> str:
        return self.wgsl

    def run_plain(self) -> None:
        self.device.submit(self.command.words())

    def line(self, number: int) -> WgslLine:
        return WgslLine(self.text.splitlines()[number - 1], ((KERNELS, self.first + number - 1),))


def _shader(text: str) -> Shader:
    """A kernel's shader, as far as its text says."""
    module = declarations(text)
    declared = interface_of(module)
    x, y, z = (*module.entry.workgroup, 1, 1)[:3]
    kinds = [(_element(b.type), b.writes) for b in declared.buffers if b.name != "faults"]
    bindings = tuple(kind for kind, writes in kinds if not writes)
    outs = tuple(kind for kind, writes in kinds if writes)
    return Shader(KERNELS, declared.params, bindings, outs, (x, y, z), (), (("text", text),))


def _element(wgsl: str) -> tuple[str, int]:
    """The scalar type of an array's elements, and how many scalars an element has."""
    element = arguments_of(wgsl)[0]
    return (element_of(element), width_of(element)) if VECTOR.match(element) else (element, 1)


def subscriber_of(look: Callable[[Launched, list[Node]], None]) -> Callable[..., None]:
    """A subscriber of "saved" that runs a saved program's commands and hands each kernel to `look`."""

    def run_saved(device: Gpu, steps: list[SavedDispatch], parts: tuple[Any, ...], params: Any) -> None:
        todo = iter(steps)
        for command in decode(flat(parts)):
            if not isinstance(command, Dispatch):
                device.submit(command.words())
                continue
            step = next(todo)
            first = command.offset // 4
            own = params[first : first + len(interface_of(step.text).params)].tobytes()
            look(SavedLaunched(device, command, step, own), [])

    return run_saved
