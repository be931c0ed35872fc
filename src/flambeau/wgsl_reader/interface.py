"""Reads the buffers and Params that a kernel declares, and checks that they are bound as in our kernels."""

from itertools import pairwise
from typing import NamedTuple, NoReturn

from . import syntax as s
from .parser import WgslFault, declarations, line_of


class BoundBuffer(NamedTuple):
    """A buffer that a kernel binds. type: that of the variable, without blanks."""

    number: int
    name: str
    type: str
    writes: bool


class Interface(NamedTuple):
    """A kernel's buffers by number, without Params; the fields of Params as (name, type)."""

    buffers: tuple[BoundBuffer, ...]
    params: tuple[tuple[str, str], ...]

    @property
    def reads(self) -> tuple[BoundBuffer, ...]:
        return tuple(b for b in self.buffers if not b.writes)

    @property
    def writes(self) -> tuple[BoundBuffer, ...]:
        """The buffers of results: not `faults`, which belongs to the device."""
        return tuple(b for b in self.buffers if b.writes and b.name != "faults")


def interface_of(source: str | s.WgslModule) -> Interface:
    """The interface of a text or module; WgslFault where its buffers are not bound as a kernel of ours."""
    module = declarations(source) if isinstance(source, str) else source
    variables = sorted((v for v in module.variables if v.binding >= 0), key=lambda v: v.binding)
    buffers, params = list[BoundBuffer](), ()

    def refuse(variable: s.Declare, rule: str) -> NoReturn:
        raise WgslFault(line_of(module.text, variable.head), rule)

    for v in variables:
        if v.space != "uniform":
            buffers.append(BoundBuffer(v.binding, v.name, v.type, v.access == "read_write"))
            if v.binding != len(buffers):
                refuse(v, f"{v.name} is bound at {v.binding}: bind buffers at 1, 2, ... without gaps")
        elif v.binding:
            refuse(v, "Params are bound at 0: write @binding(0)")
        else:
            params = tuple(next((x.members.items() for x in module.structs if x.name == v.type), ()))
    for before, b in pairwise(buffers):
        if before.writes and not b.writes:
            variable = next(v for v in variables if v.name == b.name)
            refuse(variable, f"{b.name} is read: bind inputs before outputs")
    if not any(b.writes for b in buffers):
        raise WgslFault(1, "no buffer is written: bind a var<storage, read_write>")
    return Interface(tuple(buffers), params)
