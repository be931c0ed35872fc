"""Probes of floats: the statement that produces the first NaN or infinity from finite values, and values
beyond float16's range when they are packed.

A value is born in a statement if all that the statement read was finite. Values that a select discards, or
that a maximum starts with, do no harm: of each thread the last birth is recorded, and a thread that stores
such a value takes precedence.
"""

from ..wgsl_reader import syntax as s
from ..wgsl_reader.types import is_float, of_width, width_of
from .probes import HEADER, RECORD, ProbeWriter

STORED, HIDDEN = "stored", "left out"
BAD = {"nan": ">", "inf": ">="}  # how a bad float's bits compare with those of infinity
HALF = ("pack_f16", "settle_f16", "pack2x16float", "quantizeToF16")
LIBRARY = (
    "pack_",
    "unpack_",
    "settle_",
    "half_bits",
    "upper_half",
)  # functions that move bits and compute nothing
HELPERS = """var<private> probe_seen: u32;
var<private> probe_leaf: u32;
var<private> probe_born: u32;
var<private> probe_bits: u32;
var<private> probe_from: u32;
var<private> probe_stored: bool;
fn probe_begin() -> u32 {{
  return probe_seen;
}}
fn probe_birth(site: u32, bits: u32) {{
  probe_born = site;
  probe_bits = bits;
  probe_from = probe_leaf;
}}
"""
# For each vector width n. in: a value that is read. call: a function's result, which counts as one read
# value. out: a statement's value, born there if it is bad and nothing bad was read since `mark`. put: a
# stored value. half: a value that is converted to float16.
EACH = """fn probe_is_bad_{n}(x: {T}) -> {B} {{
  return (bitcast<{U}>(x) & {U}(0x7fffffffu)) {bad} {U}(0x7f800000u);
}}
fn probe_in_{n}(x: {T}) -> {T} {{
  probe_seen += u32({any}(probe_is_bad_{n}(x)));
  probe_leaf = bitcast<u32>(x{first});
  return x;
}}
fn probe_call_{n}(mark: u32, x: {T}) -> {T} {{
  probe_seen = mark;
  return probe_in_{n}(x);
}}
fn probe_out_{n}(mark: u32, x: {T}, site: u32) -> {T} {{
  let bad = probe_is_bad_{n}(x);
  if ({any}(bad) & (probe_seen == mark)) {{
    probe_birth(site, {worst});
  }}
  return x;
}}
fn probe_put_{n}(x: {T}) -> {T} {{
  probe_stored = probe_stored | {any}(probe_is_bad_{n}(x));
  return x;
}}
fn probe_half_{n}(x: {T}, site: u32) -> {T} {{
  let bad = (abs(x) >= {T}(65520.0)) & ((bitcast<{U}>(x) & {U}(0x7fffffffu)) < {U}(0x7f800000u));
  if ({any}(bad)) {{
    probe_birth(site, {worst});
    probe_from = probe_bits;
    probe_stored = true;
  }}
  return x;
}}
"""


def _helpers(bad: str) -> str:
    """The WGSL functions for each vector width."""
    text = HELPERS.format()
    for n in (1, 2, 3, 4):
        worst = f"bitcast<u32>(x{'' if n == 1 else '.x'})"
        for c in "yzw"[: n - 1]:
            worst = f"select({worst}, bitcast<u32>(x.{c}), bad.{c})"
        text += EACH.format(
            n=n,
            T=of_width("f32", n),
            U=of_width("u32", n),
            B=of_width("bool", n),
            bad=bad,
            any="" if n == 1 else "any",
            first="" if n == 1 else ".x",
            worst=worst,
        )
    return text


class FloatProbes(ProbeWriter):
    """Writes a module with probes of its floats. kind: nan, or inf (which includes NaN)."""

    def __init__(self, text: str, bindings: int, kind: str):
        super().__init__(text, bindings)
        self.helpers = _helpers(BAD[kind])
        self.kind = kind

    def _Routine(self, f: s.Routine) -> str:
        return self.raw(f) if f.name.startswith(LIBRARY) else super()._Routine(f)

    # --- values that a statement reads ---

    def _is_float(self, part: s.Piece) -> bool:
        return is_float(self.types.of(part)) and "f16" not in self.types.of(part)

    def _width(self, part: s.Piece) -> int:
        return width_of(self.types.of(part))

    def _leaf(self, part: s.Piece, text: str) -> str:
        return f"probe_in_{self._width(part)}({text})" if self._is_float(part) else text

    def _Name(self, part: s.Name) -> str:
        return self._leaf(part, self.raw(part))

    def _Indexed(self, part: s.Indexed | s.Selected) -> str:
        return self._leaf(part, self._chain(part))

    _Selected = _Indexed

    def _chain(self, part: s.Piece) -> str:
        """An assignable expression, which is not itself a value that is read."""
        if isinstance(part, s.Selected):
            return self.splice(part, [(part.of, self._chain(part.of))])
        if isinstance(part, s.Indexed):
            return self.splice(part, [(part.of, self._chain(part.of)), (part.at, self.emit(part.at))])
        return self.raw(part) if isinstance(part, s.Name) else self.emit(part)

    def _Unary(self, part: s.Unary) -> str:
        if part.op == "&":
            return self.splice(part, [(part.x, self._chain(part.x))])
        return self.raw(part) if part.op == "*" else self.inner(part)

    def _WgslCall(self, part: s.WgslCall) -> str:
        if part.name == "bitcast" or part.name == "arrayLength":  # moves bits, or reads no float
            return self.raw(part)
        inside = [(g, self.emit(g)) for g in part.arguments]
        if part.name.startswith(HALF) or (part.name.endswith("f16") or part.template == "f16"):
            inside = [(g, self._half(g, text)) for g, text in inside]
        text = self.splice(part, inside)
        if part.name in self.types.functions and self._is_float(part):
            return f"probe_call_{self._width(part)}(probe_begin(), {text})"
        return text

    def _half(self, part: s.Piece, text: str) -> str:
        """A value that is converted to float16."""
        if not self._is_float(part) or self.kind == "nan":
            return text
        return (
            f"probe_half_{self._width(part)}({text}, {self.site('float16 overflow', self.raw(part), part)}u)"
        )

    # --- values that a statement computes ---

    def _probe_value(self, value: s.Piece, name: str, statement: s.Piece) -> str:
        """The value of a statement, with a probe."""
        text = self.emit(value)
        # Moved values were born elsewhere, and a bitcast builds an infinity on purpose.
        is_moved = isinstance(value, s.Name | s.Indexed | s.Selected | s.Literal)
        if is_moved or not self._is_float(value) or "bitcast<" in self.raw(value):
            return text
        site = self.site(self.kind, name, statement)
        return f"probe_out_{self._width(value)}(probe_begin(), {text}, {site}u)"

    def _Declare(self, part: s.Declare) -> str:
        if part.value is None or part.kind == "const" or id(part) not in self.types.inside:
            return self.raw(part)
        return self.splice(part, [(part.value, self._probe_value(part.value, part.name, part))])

    def _Return(self, part: s.Return) -> str:
        if part.value is None:
            return self.raw(part)
        return self.splice(part, [(part.value, self._probe_value(part.value, "the result", part))])

    def _Assign(self, part: s.Assign) -> str:
        to = (part.to, self._chain(part.to))
        if part.value is None:
            return self.splice(part, [to])
        name, width = self.raw(part.to), self._width(part.to)
        if part.op == "=" or not self._is_float(part.to) or self._width(part.value) != width:
            value = self._probe_value(part.value, name, part)
        else:  # a += b reads both
            site = self.site(self.kind, name, part)
            both = f"{self.emit(part.to)} {part.op[:-1]} ({self.emit(part.value)})"
            value = f"probe_out_{width}(probe_begin(), {both}, {site}u)"
            root = self._probe_store(part, value, width)
            return f"{to[1]} = {root};" if self.raw(part).endswith(";") else f"{to[1]} = {root}"
        return self.splice(part, [to, (part.value, self._probe_store(part, value, width))])

    def _probe_store(self, part: s.Assign, value: str, width: int) -> str:
        """A value that is stored in a buffer, with a probe."""
        root = s.root_of(part.to)
        is_out = isinstance(root, s.Name) and root.name in self.storage and self._is_float(part.to)
        return f"probe_put_{width}({value})" if is_out else value

    def finish(self) -> str:
        return (
            "  if (probe_born != 0u) {\n"
            f"    let at = {HEADER - RECORD}u + {RECORD}u * probe_born;\n"
            # 2 if the thread stored such a value, else 1: atomicMax keeps the record of the more severe one.
            "    let mine = select(1u, 2u, probe_stored);\n"
            "    if (atomicMax(&probe[at], mine) < mine) {\n"
            "      atomicStore(&probe[at + 1u], probe_group);\n"
            "      atomicStore(&probe[at + 2u], probe_thread);\n"
            "      atomicStore(&probe[at + 3u], probe_bits);\n"
            "      atomicStore(&probe[at + 4u], probe_from);\n"
            "    }\n  }\n"
        )
