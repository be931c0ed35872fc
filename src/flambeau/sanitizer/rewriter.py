"""A WGSL module into the same with probes in it: what all kinds of probes share.

A rewritten module binds one buffer more, `probe`: words that begin with a header (how many workgroups are
watched, how long each buffer is), then a record for each site, then what a kind of probe keeps. Each thread
keeps the first thing that it came upon, and tells it when it ends; of those that tell of one site the first
is recorded. No line is added or taken away, so that a compiler's messages name the lines of the original.
"""

import re
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from ..core.faults import DECLARED
from ..errors import KernelError
from . import syntax as s
from .parser import line_of, parsed
from .types import Types

HEADER = 64  # words: how many workgroups are watched, then the buffers' lengths
RECORD = 8  # words: how often, workgroup, thread, value, and what else there is to say
STORAGE = re.compile(r"@binding\((\d+)\) var<storage,\s*\w+> (\w+)\s*:")
BUILTINS = {  # what a thread is known by
    "workgroup_id": "vec3<u32>",
    "local_invocation_index": "u32",
    "num_workgroups": "vec3<u32>",
}


class Site(NamedTuple):
    """A place that is watched: what for, the array or the variable, the line, and what stands there."""

    kind: str
    name: str
    line: int
    text: str
    base: int = 0  # of a workgroup array, its first word of those that are kept for a workgroup
    step: int = 1  # and the words of an element


@dataclass
class Probed:
    """A module with probes. kept: words that each workgroup needs besides; skipped: what is not watched, and
    why."""

    text: str
    sites: list[Site]
    kept: int = 0
    skipped: list[str] = field(default_factory=list)

    @property
    def records(self) -> int:
        """The words of header and records."""
        return HEADER + RECORD * len(self.sites)


class Rewriter:
    """Writes a module anew, part by part; what a kind of probe adds is a method `_Piece(part)`."""

    helpers = ""  # functions of its own
    setup = ""  # what a thread does first

    def __init__(self, text: str, bindings: int):
        """bindings: buffers that the kernel reads and writes, without that of faults."""
        if "probe_" in text:
            raise KernelError("a name begins with 'probe_': probes are named so: use another")
        self.text, self.bindings = text, bindings
        self.module = parsed(text)
        if not all(p.builtin for p in self.module.entry.given):
            raise KernelError("the entry point takes a struct: name its builtins one by one")
        self.types = Types(self.module)
        self.storage = {name: int(at) for at, name in STORAGE.findall(text) if name != "faults"}
        self.sites: list[Site] = []
        self.skipped: list[str] = []
        self.kept = 0

    def site(self, kind: str, name: str, part: s.Piece, base: int = 0, step: int = 1) -> int:
        """The number of a new site, from 1 on."""
        line = line_of(self.text, part.start)
        self.sites.append(Site(kind, name, line, self.text[part.start : part.end], base, step))
        return len(self.sites)

    def probed(self) -> Probed:
        """The module with its probes."""
        out, at = [], 0
        for part in sorted([*self.module.variables, *self.module.functions], key=lambda p: p.start):
            begin = part.head if isinstance(part, s.Routine) and part.is_entry else part.start
            out.append(self.text[at:begin])
            out.append(self.emit(part))
            at = part.end
        text = "".join([*out, self.text[at:]])
        text = text.replace(
            f"@binding({self.bindings + 1}) {DECLARED}", f"@binding({self.bindings + 2}) {DECLARED}"
        )
        return Probed(text + self._tail(), self.sites, self.kept, self.skipped)

    # --- parts ---

    def emit(self, part: s.Piece) -> str:
        """A part's text, with probes."""
        rule = getattr(self, f"_{type(part).__name__}", None)
        return self.inner(part) if rule is None else rule(part)

    def inner(self, part: s.Piece) -> str:
        """A part's text, with probes in what it is made of."""
        return self.joined(part, [(p, self.emit(p)) for p in part.parts()])

    def joined(self, part: s.Piece, inside: list[tuple[s.Piece, str]]) -> str:
        """A part's text with other text in the places of some of its parts."""
        out, at = [], part.start
        for p, text in sorted(inside, key=lambda pair: pair[0].start):
            out.append(self.text[at : p.start])
            out.append(text)
            at = p.end
        return "".join([*out, self.text[at : part.end]])

    def raw(self, part: s.Piece) -> str:
        """A part's text as it was."""
        return self.text[part.start : part.end]

    def _Routine(self, f: s.Routine) -> str:
        return self.renamed(f, self.inner(f))

    def renamed(self, f: s.Routine, text: str) -> str:
        """A function's text; the entry point becomes one that another calls."""
        if not f.is_entry:
            return text
        head = self.text[f.start : f.body.start]
        plain = re.sub(r"@\w+(\([^()]*\))?\s*", "", head)
        return re.sub(rf"fn\s+{f.name}\b", "fn probe_body", plain) + text[len(head) :]

    # --- the entry point ---

    def _tail(self) -> str:
        f = self.module.entry
        head = self.text[f.head : f.start]
        lengths = "".join(f"  probe_len_{n} = atomicLoad(&probe[{at}u]);\n" for n, at in self.storage.items())
        there = {p.builtin: p.name for p in f.given}
        more = {b: f"probe_{b}" for b in BUILTINS if b not in there}
        given = [f"@builtin({p.builtin}) {p.name}: {p.type}" for p in f.given]
        given += [f"@builtin({b}) {name}: {BUILTINS[b]}" for b, name in more.items()]
        names = there | more
        return TAIL.format(
            at=self.bindings + 1,
            lengths="".join(f"var<private> probe_len_{n}: u32;\n" for n in self.storage),
            helpers=self.helpers,
            head=head,
            name=f.name,
            given=", ".join(given),
            group=names["workgroup_id"],
            groups=names["num_workgroups"],
            thread=names["local_invocation_index"],
            load=lengths,
            setup=self.setup.format(records=HEADER + RECORD * len(self.sites), kept=self.kept) + self.begin(),
            names=", ".join(p.name for p in f.given),
            header=HEADER - RECORD,
            record=RECORD,
            finish=self.finish(),
        )

    @property
    def threads(self) -> int:
        """The threads of a workgroup."""
        head = self.text[self.module.entry.head : self.module.entry.start]
        found = re.search(r"@workgroup_size\(([^)]*)\)", head)
        sizes = found[1].split(",") if found else ["1"]
        return prod(int(n.strip().rstrip("iu")) for n in sizes if n.strip())

    def begin(self) -> str:
        """What a thread does before all else."""
        return ""

    def finish(self) -> str:
        """What a thread does last, beside telling what it came upon."""
        return ""


TAIL = """
@group(0) @binding({at}) var<storage, read_write> probe: array<atomic<u32>>;
{lengths}var<private> probe_thread: u32;
var<private> probe_group: u32;
var<private> probe_site: u32;
var<private> probe_value: u32;
var<private> probe_other: u32;
fn probe_note(is_bad: bool, site: u32, value: u32, other: u32) {{
  let first = is_bad & (probe_site == 0u);
  probe_site = select(probe_site, site, first);
  probe_value = select(probe_value, value, first);
  probe_other = select(probe_other, other, first);
}}
{helpers}{head}fn {name}({given}) {{
  probe_thread = {thread};
  probe_group = {group}.x + ({group}.y + {group}.z * {groups}.y) * {groups}.x;
{load}{setup}  probe_body({names});
  if (probe_site != 0u) {{
    let at = {header}u + {record}u * probe_site;
    if (atomicAdd(&probe[at], 1u) == 0u) {{
      atomicStore(&probe[at + 1u], probe_group);
      atomicStore(&probe[at + 2u], probe_thread);
      atomicStore(&probe[at + 3u], probe_value);
      atomicStore(&probe[at + 4u], probe_other);
    }}
  }}
{finish}}}
"""
