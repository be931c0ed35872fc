"""Rewrites a WGSL module with probes in it; the base of all kinds of probes.

A rewritten module binds one more buffer, `probe`, an array of words: a header (how many workgroups are
watched, then the length of each buffer), a record for each site, then the data of each kind of probe. Each
thread
keeps the first fault that it sees in private variables and writes it when it ends; the first thread to write
for a site owns its record.
"""

from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from ..errors import KernelError
from ..wgsl_reader import syntax as s
from ..wgsl_reader.parser import line_of
from ..wgsl_reader.rewriter import Rewriter

HEADER = 64  # words: how many workgroups are watched, then the buffers' lengths
RECORD = 8  # words: how often, workgroup, thread, value, and a second value
BUILTINS = {  # that the new entry point needs
    "workgroup_id": "vec3<u32>",
    "local_invocation_index": "u32",
    "num_workgroups": "vec3<u32>",
}


class Site(NamedTuple):
    """A place that is watched: the fault it is watched for, the array or variable, its line and its text."""

    kind: str
    name: str
    line: int
    text: str
    base: int = 0  # of a workgroup array: its first word among those kept for a workgroup
    step: int = 1  # and the words of an element


@dataclass
class Probed:
    """A module with probes. kept: additional words for each workgroup; skipped: the parts that are not
    watched, with reasons."""

    text: str
    sites: list[Site]
    kept: int = 0
    skipped: list[str] = field(default_factory=list[str])

    @property
    def records(self) -> int:
        """The words of header and records."""
        return HEADER + RECORD * len(self.sites)


class ProbeWriter(Rewriter):
    """Rewrites a module; a subclass adds a kind of probe."""

    helpers = ""  # WGSL functions
    setup = ""  # statements that each thread begins with

    def __init__(self, text: str, bindings: int):
        """bindings: the buffers that the kernel reads and writes, without `faults`."""
        if "probe_" in text:
            raise KernelError("names that begin with 'probe_' are reserved: rename it")
        super().__init__(text)
        self.bindings, entry = bindings, self.module.entry
        if not all(p.builtin for p in entry.parameters):
            raise KernelError("the entry point takes a struct: name its builtins one by one")
        if not entry.workgroup:
            raise KernelError("the workgroup's size is not written as numbers: write @workgroup_size(64)")
        self.threads = prod(entry.workgroup)
        stored = [v for v in self.module.variables if v.space == "storage" and v.name != "faults"]
        self.storage = {v.name: v.binding for v in stored}
        self.sites: list[Site] = []
        self.skipped: list[str] = []
        self.kept = 0

    def site(self, kind: str, name: str, part: s.Piece, base: int = 0, step: int = 1) -> int:
        """Add a site; its number, from 1 on."""
        line = line_of(self.text, part.start)
        self.sites.append(Site(kind, name, line, self.raw(part), base, step))
        return len(self.sites)

    def write(self) -> Probed:
        """The module with its probes."""
        out, offset = list[str](), 0
        for part in sorted([*self.module.variables, *self.module.functions], key=lambda p: p.start):
            is_faults = isinstance(part, s.Declare) and part.name == "faults"
            is_entry = isinstance(part, s.Routine) and part.is_entry
            out.append(self.text[offset : part.head if is_faults or is_entry else part.start])
            if is_faults:  # one binding further: `probe` takes its place
                out.append(f"@group(0) @binding({self.bindings + 2}) ")
            out.append(self.emit(part))
            offset = part.end
        text = "".join([*out, self.text[offset:]])
        return Probed(text + self._tail(), self.sites, self.kept, self.skipped)

    def _Routine(self, f: s.Routine) -> str:
        return self.rename(f, self.inner(f))

    def rename(self, f: s.Routine, text: str) -> str:
        """A function's text; the entry point becomes `probe_body`, which the new entry point calls."""
        if not f.is_entry:
            return text
        parameters = ", ".join(f"{p.name}: {p.type}" for p in f.parameters)
        # As many line breaks as the original head had, so that later lines keep their numbers.
        lines = "\n" * self.text.count("\n", f.start, f.opens)
        return f"fn probe_body({parameters}) {lines}{text[f.opens - f.start :]}"

    # --- the new entry point ---

    def _tail(self) -> str:
        f = self.module.entry
        lengths = "".join(
            f"  probe_len_{n} = atomicLoad(&probe[{offset}u]);\n" for n, offset in self.storage.items()
        )
        own = {p.builtin: p.name for p in f.parameters}
        more = {b: f"probe_{b}" for b in BUILTINS if b not in own}
        parameters = [f"@builtin({p.builtin}) {p.name}: {p.type}" for p in f.parameters]
        parameters += [f"@builtin({b}) {name}: {BUILTINS[b]}" for b, name in more.items()]
        names = own | more
        return TAIL.format(
            at=self.bindings + 1,
            lengths="".join(f"var<private> probe_len_{n}: u32;\n" for n in self.storage),
            helpers=self.helpers,
            head=self.text[f.head : f.start],
            name=f.name,
            parameters=", ".join(parameters),
            group=names["workgroup_id"],
            groups=names["num_workgroups"],
            thread=names["local_invocation_index"],
            load=lengths,
            setup=self.setup.format(records=HEADER + RECORD * len(self.sites), kept=self.kept) + self.begin(),
            names=", ".join(p.name for p in f.parameters),
            header=HEADER - RECORD,
            record=RECORD,
            finish=self.finish(),
        )

    def begin(self) -> str:
        """Statements after `setup`."""
        return ""

    def finish(self) -> str:
        """Statements that each thread ends with, after it has written its fault."""
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
{helpers}{head}fn {name}({parameters}) {{
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
