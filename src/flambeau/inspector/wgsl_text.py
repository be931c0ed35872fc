"""A kernel's text into what it declares: bindings, Params, its main function."""

import re
from itertools import pairwise
from typing import NamedTuple

from ..errors import KernelError

BINDING = re.compile(
    r"@group\(\s*0\s*\)\s*@binding\(\s*(\d+)\s*\)\s*var<\s*(uniform|storage)\s*(?:,\s*(read|read_write)\s*)?>"
    r"\s*(\w+)\s*:\s*([^;]+);"
)
PARAMS = re.compile(r"struct\s+Params\s*\{([^}]*)\}")
FIELD = re.compile(r"(\w+)\s*:\s*(\w+)")
WORKGROUP = re.compile(r"@workgroup_size\(([^)]*)\)")
MAIN = re.compile(r"@compute[^{]*?fn\s+(\w+)\s*\(([^{]*)\)\s*\{", re.S)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


class Declared(NamedTuple):
    """A buffer that a text binds."""

    number: int
    name: str
    type: str
    writes: bool


class Text(NamedTuple):
    """What a text declares: its buffers by number, without that of Params, and the fields of Params."""

    buffers: tuple[Declared, ...]
    params: tuple[tuple[str, str], ...]

    @property
    def reads(self) -> tuple[Declared, ...]:
        return tuple(b for b in self.buffers if not b.writes)

    @property
    def writes(self) -> tuple[Declared, ...]:
        """Those that it writes, but for the one where faults are noted, which is the device's."""
        return tuple(b for b in self.buffers if b.writes and b.name != "faults")


def line_of(text: str, at: int) -> int:
    """The number of the line of a place in a text."""
    return text.count("\n", 0, at) + 1


def named(text: str, name: str) -> int:
    """The number of the line that a name stands in first, 0 of none."""
    found = re.search(rf"\b{re.escape(name)}\b", text)
    return line_of(text, found.start()) if found else 0


def parsed(text: str) -> Text:
    """What a text declares; KernelError, beginning with the line, where a kernel of ours can't be bound
    so."""
    bare = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    found, uniform = [], False
    for m in BINDING.finditer(bare):
        number, kind, access, name, wgsl = int(m[1]), m[2], m[3] or "read", m[4], m[5].strip()
        if kind == "uniform":
            if number:
                raise KernelError(f"{line_of(bare, m.start())}: Params are bound at 0: write @binding(0)")
            uniform = True
        else:
            found.append((line_of(bare, m.start()), Declared(number, name, wgsl, access == "read_write")))
    found.sort(key=lambda one: one[1].number)
    for wanted, (line, b) in enumerate(found, 1):
        if b.number != wanted:
            raise KernelError(
                f"{line}: {b.name} is bound at {b.number}: buffers are bound at 1, 2, ... in a row"
            )
    for (_, before), (line, b) in pairwise(found):
        if before.writes and not b.writes:
            raise KernelError(f"{line}: {b.name} is read: bind what is read before what is written")
    if not any(b.writes for _, b in found):
        raise KernelError("1: nothing is written: bind a var<storage, read_write>")
    struct = PARAMS.search(bare)
    fields = tuple(FIELD.findall(struct[1])) if struct and uniform else ()
    return Text(tuple(b for _, b in found), fields)


class Split(NamedTuple):
    """A text in parts: enable lines; all but bindings, Params and main; main's arguments, body and
    workgroup."""

    enables: str
    rest: str
    arguments: str
    body: str
    workgroup: tuple[int, ...]


def split(text: str) -> Split:
    """A kernel's text in parts; KernelError where it has no main function."""
    found = MAIN.search(text)
    if found is None:
        raise KernelError("1: there is no main function: write @compute @workgroup_size(...) fn main(...)")
    at = end = found.end()
    depth = 1
    while depth and end < len(text):
        depth += (text[end] == "{") - (text[end] == "}")
        end += 1
    size = WORKGROUP.search(found[0])
    workgroup = tuple(int(n.strip().rstrip("u")) for n in size[1].split(",")) if size else (1,)
    rest = text[: found.start()] + text[end:]
    enables = "\n".join(re.findall(r"^\s*(?:enable|requires|diagnostic)[^;]*;", rest, re.M))
    rest = re.sub(r"^\s*(?:enable|requires|diagnostic)[^;]*;", "", rest, flags=re.M)
    rest = PARAMS.sub("", BINDING.sub("", rest))
    lines = [line for line in rest.splitlines() if line.strip()]
    return Split(enables, "\n".join(lines), found[2], text[at : end - 1].strip("\n"), workgroup)
