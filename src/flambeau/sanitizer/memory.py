"""Probes of memory: indices out of bounds; workgroup memory that is read before it is written, or that two
threads access between the same barriers while one of them writes.

For each element of a workgroup array, two words are kept per watched workgroup: the last writer and the last
reader (or that several threads read), each with the number of barriers before it, from 1 on, so that 0 means
nobody. Workgroups that are not watched share the words after the others'. A reader checks the writer and a
writer checks the reader, so that one of both sees the other. The helpers are short because drivers inline
them at each access.

WGSL initialises workgroup memory with zeros, but wgpu-native leaves what an earlier kernel wrote there, so
the probes write the zeros. Reading an element that nobody wrote is a fault only if the result depends on it:
a module that is `filled` starts with other values, and must give the same result.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ..wgsl_reader import syntax as s
from ..wgsl_reader.types import VECTOR, arguments_of, element_of, width_of
from .probes import HEADER, RECORD, ProbeWriter

WORDS = 2  # per element
LARGEST = 1 << 16  # elements of an array that are watched

ATOMICS = "atomic"
# The low nine bits of a word are a thread's number + 1 (at most 256), or 511 for several threads: a record
# has 510, since it subtracts the 1. The epoch is above them.
MANY = 510  # the thread number that means several threads
HELPERS = """var<private> probe_epoch: u32 = 512u;
var<private> probe_me: u32;
var<private> probe_first: u32;
var<private> probe_on: bool;
var<private> probe_blank: u32;
var<private> probe_blank_at: u32;
fn probe_at(i: u32, n: u32, site: u32) -> u32 {
  probe_note(i >= n, site, i, n);
  return min(i, n - 1u);
}
fn probe_read(at: u32, site: u32) {
  let w = probe_first + at * 2u;
  let me = probe_epoch | probe_me;
  let reader = atomicLoad(&probe[w + 1u]);
  let is_other = (reader >= probe_epoch) & (reader != me);
  atomicStore(&probe[w + 1u], select(me, probe_epoch | 511u, is_other));
  let last = atomicLoad(&probe[w]);
  probe_note((last >= probe_epoch) & (last != me) & probe_on, site + 2u, at, (last & 511u) - 1u);
  let is_blank = (last == 0u) & (probe_blank == 0u) & probe_on;
  probe_blank = select(probe_blank, site + 1u, is_blank);
  probe_blank_at = select(probe_blank_at, at, is_blank);
}
fn probe_wrote(at: u32, site: u32) {
  let w = probe_first + at * 2u;
  let me = probe_epoch | probe_me;
  let last = atomicExchange(&probe[w], me);
  let reader = atomicLoad(&probe[w + 1u]);
  let is_written = (last >= probe_epoch) & (last != me);
  let bad = is_written | ((reader >= probe_epoch) & (reader != me));
  probe_note(bad & probe_on, site + 2u, at, (select(reader, last, is_written) & 511u) - 1u);
}
fn probe_get(i: u32, at: u32, site: u32) -> u32 {
  probe_read(at, site);
  return i;
}
"""
SETUP = """  probe_on = probe_group < atomicLoad(&probe[0]);
  probe_first = {records}u + min(probe_group, atomicLoad(&probe[0])) * {kept}u;
  probe_me = probe_thread + 1u;
"""


BLANK = f"""  if (probe_blank != 0u) {{
    let at = {HEADER - RECORD}u + {RECORD}u * probe_blank;
    if (atomicAdd(&probe[at], 1u) == 0u) {{
      atomicStore(&probe[at + 1u], probe_group);
      atomicStore(&probe[at + 2u], probe_thread);
      atomicStore(&probe[at + 3u], probe_blank_at);
    }}
  }}
"""
# Values that a kernel can't mistake for zeros. NaN is computed, since a constant NaN does not compile.
FILLS = {
    "f32": "bitcast<f32>(0x7fc00000u | min(probe_thread, 0u))",
    "i32": "977",
    "u32": "977u",
    "bool": "true",
}


@dataclass
class SharedArray:
    """A variable in workgroup memory: its dims, its element type, the offset of its words, the words of an
    element, and why it is not watched."""

    name: str
    dims: tuple[int, ...]
    element: str
    base: int = 0
    step: int = 1
    why: str = ""

    @property
    def elements(self) -> int:
        n = 1
        for d in self.dims:
            n *= d
        return n


@dataclass
class Access:
    """An access to a variable: the indices of its dims, and the member after them."""

    whole: s.Piece
    name: s.Name
    indices: list[s.Indexed]
    member: s.Piece | None  # .x, or [c] of a vector, after the indices
    is_deeper: bool  # whether more follows


def access_of(part: s.Piece, dims: int) -> Access | None:
    """An expression as an access to a variable with this many dims; None if it is none."""
    chain: list[s.Piece] = []
    index: s.Piece = part
    while isinstance(index, s.Indexed | s.Selected):
        chain.insert(0, index)
        index = index.of
    if not isinstance(index, s.Name):
        return None
    indices = [p for p in chain[:dims] if isinstance(p, s.Indexed)]
    rest = chain[len(indices) :]
    return Access(part, index, indices, rest[0] if rest else None, len(rest) > 1)


class MemoryProbes(ProbeWriter):
    """Writes a module with probes of its memory."""

    helpers, setup = HELPERS, SETUP

    def __init__(self, text: str, bindings: int, filled: bool = False):
        super().__init__(text, bindings)
        self.filled = filled
        self.shared = {d.name: self._shared_array(d) for d in self.module.variables if d.space == "workgroup"}
        self.readers: dict[str, str] = {}  # by type: the function that reads a variable without dims
        self._survey()
        self._place()

    def finish(self) -> str:
        return BLANK

    def begin(self) -> str:
        fills = [f"  {self._fill(s)}\n" for s in self.shared.values() if not s.why]
        return "".join([*fills, "  workgroupBarrier();\n"]) if fills else ""

    def _fill(self, shared: SharedArray) -> str:
        """Statements that give a variable its first values."""
        value = self._other_value(shared.element) if self.filled else f"{shared.element}()"
        if not value:
            return ""
        indices = [f"[probe_k{i}]" for i in range(len(shared.dims))]
        text = f"{shared.name}{''.join(indices)} = {value};"
        if not shared.dims:
            return f"if (probe_thread == 0u) {{ {text} }}"
        for i, dim in reversed(list(enumerate(shared.dims))):
            # Threads share the outermost dim.
            first, step = ("probe_thread", f"{self.threads}u") if not i else ("0u", "1u")
            text = f"for (var probe_k{i} = {first}; probe_k{i} < {dim}u; probe_k{i} += {step}) {{ {text} }}"
        return text

    def _other_value(self, element: str) -> str:
        """A value of a type that is not zero; "" for types whose values are not drawn."""
        width, scalar = width_of(element), element_of(element)
        members = self.types.structs.get(element)
        types = [self.types.plain(t) for t in members.values()] if members else [scalar] * width
        values = [FILLS.get(element_of(t), "") for t in types]
        if not all(values) or (members and any(width_of(t) > 1 for t in types)):
            return ""
        return f"{element}({', '.join(values)})" if len(values) > 1 else values[0]

    # --- the variables of a module ---

    def _shared_array(self, d: s.Declare) -> SharedArray:
        type, dims = self.types.plain(d.type), list[int]()
        while type.startswith("array<"):
            element, *size = arguments_of(type)
            dims.append(self._number(size[0]) if size else 0)
            type = element
        shared = SharedArray(d.name, tuple(dims), type)
        if not all(dims):
            shared.why = "its size is not a number"
        elif shared.elements > LARGEST:
            shared.why = f"it has {shared.elements:,} elements, more than {LARGEST:,}"
        elif type.startswith("atomic<"):
            shared.why = ATOMICS
        elif type.startswith("mat"):
            shared.why = "its elements are matrices"
        return shared

    def _number(self, text: str) -> int:
        """An array size, literal or constant, as a number; 0 if it is unknown."""
        for d in self.module.variables:
            if d.kind == "const" and d.name == text and isinstance(d.value, s.Literal):
                text = d.value.text
        text = text.rstrip("iu")
        return int(text, 0) if text.isdigit() else 0

    def _survey(self) -> None:
        """Find variables that are used in ways the probes do not follow, and those written by component."""
        for f in self.module.functions:
            for part, above in _with_parents(f.body):
                if isinstance(part, s.Name) and (shared := self._variable(part)) is not None:
                    self._look(shared, part, above)

    def _look(self, shared: SharedArray, name: s.Name, above: list[s.Piece]) -> None:
        """Note one use of a variable. above: the ancestors of the name, the innermost last."""
        chain: s.Piece = name
        outer = list(above)
        # From the name outwards to the end of its chain of indices and members.
        while outer and isinstance(outer[-1], s.Indexed | s.Selected) and outer[-1].of is chain:
            chain = outer.pop()
        access = access_of(chain, len(shared.dims))
        parent = outer[-1] if outer else None
        if access is None or len(access.indices) < len(shared.dims):
            shared.why = shared.why or "a part of it is used as a whole"
        elif isinstance(parent, s.Unary) and parent.op == "&":
            call = outer[-2] if len(outer) > 1 else None
            if not (isinstance(call, s.WgslCall) and call.name == "workgroupUniformLoad"):
                shared.why = shared.why or "a pointer to it is passed on"
        elif access.is_deeper:
            shared.why = shared.why or "its elements have parts of parts"
        elif _is_in_a_head(parent, chain, outer):
            shared.why = shared.why or "it is written in the head of a loop"
        if access is not None and access.member is not None:
            members = self.types.structs.get(shared.element)
            # Some access is to a component alone, so each component gets its own words.
            shared.step = len(members) if members else width_of(shared.element)
            if shared.step > 4:
                shared.why = shared.why or "its elements have more than 4 members"

    def _place(self) -> None:
        """Assign words to each watched variable."""
        offset = 0
        for shared in self.shared.values():
            if shared.why:
                if shared.why != ATOMICS:
                    self.skipped.append(f"{shared.name}: not watched for races: {shared.why}")
                continue
            shared.base = offset
            offset += shared.elements * shared.step
        self.kept = WORDS * offset

    def _variable(self, name: s.Piece) -> SharedArray | None:
        """The workgroup variable that a name refers to."""
        if not isinstance(name, s.Name):
            return None
        d = self.types.declared.get(id(name))
        is_its = isinstance(d, s.Declare) and d.space == "workgroup"
        return self.shared.get(name.name) if is_its else None

    # --- indices ---

    def _Indexed(self, part: s.Indexed | s.Selected) -> str:
        return self._access(part, "read")

    _Selected = _Indexed

    def _Name(self, part: s.Name) -> str:
        shared = self._variable(part)
        if shared is None or shared.why or shared.dims:
            return self.raw(part)
        return self._read_by_function(shared, part, part)

    def _access(self, part: s.Piece, use: str) -> str:
        """An expression with checked indices. use: read, write, or address."""
        shared = self._variable(s.root_of(part))
        if shared is not None and not shared.why and use != "address":
            access = access_of(part, len(shared.dims))
            assert access is not None
            if use == "read":
                return self._read_shared(shared, access)
        return self._check_indices(part, use)

    def _check_indices(self, part: s.Piece, use: str) -> str:
        """An expression whose indices are clamped to the bounds, and recorded if they were outside."""
        if isinstance(part, s.Name):
            return self.raw(part)
        if isinstance(part, s.Selected):
            return self.splice(part, [(part.of, self._check_indices(part.of, use))])
        if not isinstance(part, s.Indexed):
            return self.emit(part)
        base, index = self._check_indices(part.of, use), self.emit(part.at)
        size = self._size(part)
        if size and not self._is_inside(part.at, size):
            site = self.site(f"out of bounds {use}", self._name_of(part), part)
            index = f"probe_at(u32({index}), {size}, {site}u)"
        return f"{base}[{index}]"

    def _size(self, part: s.Indexed) -> str:
        """The number of elements that an index selects from, as WGSL; "" if it is unknown."""
        type = self.types.of(part.of)
        if type.startswith("ptr<"):
            return ""
        if type.startswith("array<"):
            _, *size = arguments_of(type)
            if size:
                number = self._number(size[0])
                return f"{number}u" if number else ""
            return (
                f"probe_len_{part.of.name}"
                if isinstance(part.of, s.Name) and part.of.name in self.storage
                else ""
            )
        return f"{width_of(type)}u" if VECTOR.match(type) else ""

    def _is_inside(self, index: s.Piece, size: str) -> bool:
        """Whether an index and the size are literals: the compiler has compared them."""
        return isinstance(index, s.Literal) and size[0].isdigit()

    def _name_of(self, part: s.Piece) -> str:
        return self.raw(s.root_of(part))

    # --- workgroup memory ---

    def _words(self, shared: SharedArray, access: Access) -> list[str]:
        """WGSL for the offsets of the accessed element's words within the workgroup's."""
        offset = "0u"
        for index, dim in zip(access.indices, shared.dims, strict=True):
            offset = f"{offset} * {dim}u + " if offset != "0u" else ""  # row-major
            offset = f"({offset}min(u32({self.raw(index.at)}), {dim - 1}u))"
        first, count = "0u", shared.step
        if shared.step > 1 and access.member is not None:
            first, count = self._component(shared, access.member)
        scaled = f"{offset} * {shared.step}u + {first}" if shared.step > 1 else offset
        return [f"{shared.base + i}u + {scaled}" for i in range(count)]

    def _component(self, shared: SharedArray, member: s.Piece) -> tuple[str, int]:
        if isinstance(member, s.Indexed):
            return f"min(u32({self.raw(member.at)}), {shared.step - 1}u)", 1
        assert isinstance(member, s.Selected)
        if members := self.types.structs.get(shared.element):
            return f"{list(members).index(member.name)}u", 1
        # A swizzle covers the words between its least and largest component.
        places = ["xyzw".find(c) if c in "xyzw" else "rgba".find(c) for c in member.name]
        low = min(places)
        return f"{low}u", max(places) - low + 1

    def _sites(self, shared: SharedArray, part: s.Piece) -> int:
        """Add three sites: index, uninitialised, race. The number of the first."""
        first = self.site("out of bounds read", shared.name, part, shared.base, shared.step)
        self.site("uninitialised", shared.name, part, shared.base, shared.step)
        self.site("race", shared.name, part, shared.base, shared.step)
        return first

    def _read_shared(self, shared: SharedArray, access: Access) -> str:
        if not shared.dims:
            return self._read_by_function(shared, access.name, access.whole)
        site = self._sites(shared, access.whole)
        words = self._words(shared, access)
        text = self.raw(access.name)
        for i, (index, dim) in enumerate(zip(access.indices, shared.dims, strict=True)):
            position = self.emit(index.at)
            if not self._is_inside(index.at, str(dim)):
                position = f"probe_at(u32({position}), {dim}u, {site}u)"
            # The probes go into the last index, so that the access stays one expression.
            if i == len(shared.dims) - 1:
                position = f"u32({position})"
                for place in words:
                    position = f"probe_get({position}, {place}, {site}u)"
            text += f"[{position}]"
        return text + self._last_part(access)

    def _last_part(self, access: Access) -> str:
        """The component or member at the end of an access."""
        if isinstance(access.member, s.Indexed):
            return f"[{self.emit(access.member.at)}]"
        return f".{access.member.name}" if isinstance(access.member, s.Selected) else ""

    def _read_by_function(self, shared: SharedArray, name: s.Name, access_text: s.Piece) -> str:
        """A read of a variable without dims, through a function."""
        access = access_of(access_text, 0)
        assert access is not None
        site = self._sites(shared, access_text)
        words, type = self._words(shared, access), shared.element
        key = f"{type} {len(words)}"
        if key not in self.readers:
            self.readers[key] = f"probe_seen_{len(self.readers)}"
            places = [f"at{i}" for i in range(len(words))]
            parameters = "".join(f", {parameter}: u32" for parameter in places)
            reads = "".join(f"  probe_read({parameter}, site);\n" for parameter in places)
            head = f"fn {self.readers[key]}(x: {type}, site: u32{parameters}) -> {type}"
            self.helpers += f"{head} {{\n{reads}  return x;\n}}\n"
        return f"{self.readers[key]}({name.name}, {site}u, {', '.join(words)}){self._last_part(access)}"

    # --- statements ---

    def _Assign(self, part: s.Assign) -> str:
        root = s.root_of(part.to)
        shared = self._variable(root)
        inside = [] if part.value is None else [(part.value, self.emit(part.value))]
        if shared is None or shared.why:
            return self.splice(part, [(part.to, self._check_indices(part.to, "write")), *inside])
        access = access_of(part.to, len(shared.dims))
        assert access is not None
        text = self.splice(part, [(part.to, self._check_indices(part.to, "write")), *inside])
        site = self._sites(shared, part)
        words = self._words(shared, access)
        # `x += y` also reads x.
        read = "" if part.op == "=" else "".join(f"probe_read({w}, {site}u); " for w in words)
        return read + text + "".join(f" probe_wrote({w}, {site}u);" for w in words)

    def _Unary(self, part: s.Unary) -> str:
        if part.op != "&":
            return self.inner(part)
        return self.splice(part, [(part.x, self._check_indices(part.x, "read"))])

    def _Do(self, part: s.Do) -> str:
        text = self.inner(part)
        # A barrier begins a new epoch.
        return f"{text} probe_epoch += 512u;" if part.call.name == "workgroupBarrier" else text

    def _WgslCall(self, part: s.WgslCall) -> str:
        text = self.inner(part)
        if part.name != "workgroupUniformLoad":
            return text
        type = self.types.of(part)
        name = "probe_synced_" + "".join(c if c.isalnum() else "_" for c in type)
        if f"fn {name}(" not in self.helpers:
            self.helpers += f"fn {name}(x: {type}) -> {type} {{\n  probe_epoch += 512u;\n  return x;\n}}\n"
        return f"{name}({text})"


def _is_in_a_head(parent: s.Piece | None, chain: s.Piece, outer: list[s.Piece]) -> bool:
    """Whether an access is written in the head of a `for`, where no statement can follow."""
    is_written = isinstance(parent, s.Assign) and parent.to is chain
    return is_written and (len(outer) < 2 or not isinstance(outer[-2], s.Statements))


def _with_parents(part: s.Piece, above: tuple[s.Piece, ...] = ()) -> Iterator[tuple[s.Piece, list[s.Piece]]]:
    """(part, its ancestors) for everything inside a piece."""
    for p in part.parts():
        yield p, [*above, part]
        yield from _with_parents(p, (*above, part))
