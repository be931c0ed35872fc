"""Infers the type of each expression of a module, and resolves each name to its declaration."""

import re
from functools import cache

from . import syntax as s

ABSTRACT = {"int": "i32", "float": "f32"}  # a literal's type where no other operand determines it
RANKS = ("int", "float")
SHORT = re.compile(r"vec([234])([fiuh])$")
SCALARS = {"f": "f32", "i": "i32", "u": "u32", "h": "f16"}
VECTOR = re.compile(r"vec([234])<(.+)>$")
TO_BOOL = {"all", "any", "subgroupElect", "subgroupAll", "subgroupAny"}
TO_ELEMENT = {"dot", "length", "distance", "determinant"}
FIXED = {
    "arrayLength": "u32", "pack4x8snorm": "u32", "pack4x8unorm": "u32", "pack2x16float": "u32",
    "pack2x16snorm": "u32", "pack2x16unorm": "u32", "unpack2x16float": "vec2<f32>",
    "unpack2x16snorm": "vec2<f32>", "unpack2x16unorm": "vec2<f32>", "unpack4x8snorm": "vec4<f32>",
    "unpack4x8unorm": "vec4<f32>", "subgroupBallot": "vec4<u32>", "unpack4xI8": "vec4<i32>",
    "unpack4xU8": "vec4<u32>", "pack4xI8": "u32", "pack4xU8": "u32", "dot4I8Packed": "i32",
    "dot4U8Packed": "u32",
}  # fmt: skip
ALIKE = """abs acos acosh asin asinh atan atanh atan2 ceil clamp cos cosh countLeadingZeros countOneBits
countTrailingZeros cross degrees exp exp2 extractBits faceForward firstLeadingBit firstTrailingBit floor fma
fract insertBits inverseSqrt ldexp log log2 max min mix normalize pow quantizeToF16 radians reflect refract
reverseBits round saturate sign sin sinh smoothstep sqrt step tan tanh transpose trunc subgroupAdd subgroupMul
subgroupMin subgroupMax subgroupBroadcast subgroupBroadcastFirst subgroupShuffle subgroupShuffleXor
subgroupShuffleUp subgroupShuffleDown subgroupExclusiveAdd subgroupInclusiveAdd subgroupAnd subgroupOr
subgroupXor"""
SAME = frozenset(ALIKE.split())  # functions whose result has their arguments' type
COMPARES = {"==", "!=", "<", ">", "<=", ">="}


@cache
def arguments_of(type: str) -> tuple[str, ...]:
    """The arguments of a type: `array<vec4<f32>,8>` has `vec4<f32>` and `8`."""
    inner = type[type.find("<") + 1 : -1] if "<" in type else ""
    arguments, depth, start = list[str](), 0, 0
    for i, c in enumerate(inner):
        depth += {"<": 1, ">": -1}.get(c, 0)
        if c == "," and not depth:
            arguments.append(inner[start:i])
            start = i + 1
    return (*arguments, inner[start:]) if inner[start:] else tuple(arguments)


def element_of(type: str) -> str:
    """The element type of a vector or array; another type itself."""
    if type.startswith("mat"):
        rows = type[5]  # `mat4x3` has columns of 3 rows
        return f"vec{rows}<{arguments_of(type)[0]}>" if "<" in type else ""
    return arguments_of(type)[0] if VECTOR.match(type) or type.startswith("array<") else type


def width_of(type: str) -> int:
    """The elements of a vector; 1 for a scalar."""
    vector = VECTOR.match(type)
    return int(vector[1]) if vector else 1


def of_width(scalar: str, width: int) -> str:
    """The vector of `width` scalars, or the scalar itself for 1."""
    return scalar if width == 1 or not scalar else f"vec{width}<{scalar}>"


def concrete(type: str) -> str:
    """A type as a variable has it: that of a literal becomes i32 or f32."""
    width, element = width_of(type), element_of(type) if VECTOR.match(type) else type
    return of_width(ABSTRACT.get(element, element), width)


def is_float(type: str) -> bool:
    """Whether it is a float of 32 or 16 bits, or a vector of them."""
    return concrete(type) in {of_width(t, n) for t in ("f32", "f16") for n in (1, 2, 3, 4)}


def combine(*types: str) -> str:
    """The type of an operation on operands of these types; "" if one is unknown."""
    if not all(types):
        return ""
    elements = [element_of(t) if VECTOR.match(t) else t for t in types]
    # An abstract literal takes the type of the other operand; among literals, a float wins.
    concrete = [e for e in elements if e not in RANKS]
    element = concrete[0] if concrete else max(elements, key=RANKS.index)
    return of_width(element, max(map(width_of, types)))


class Types:
    """The types of all expressions of a module; "" for an unknown one."""

    def __init__(self, module: s.WgslModule):
        self.module = module
        self.structs = {x.name: x.members for x in module.structs}
        self.functions = {f.name: f for f in module.functions}
        self._of: dict[int, str] = {}
        self.declared: dict[int, s.Declare | s.WgslParameter] = {}  # by the id of a Name
        self.inside: dict[int, s.Routine] = {}  # by the id of a declaration: its function
        self._scopes: list[dict[str, tuple[s.Declare | s.WgslParameter, str]]] = [{}]
        for v in module.variables:
            self._declare(v)
        for f in module.functions:
            self._scopes.append({p.name: (p, self.plain(p.type)) for p in f.parameters})
            self._function = f
            self._visit(f.body)
            self._scopes.pop()

    def of(self, part: s.Piece) -> str:
        """An expression's type, or a declaration's."""
        return self._of.get(id(part), "")

    def plain(self, type: str) -> str:
        """A type without aliases, neither the module's nor predeclared ones."""
        type = self.module.aliases.get(type, type)
        if short := SHORT.match(type):
            return f"vec{short[1]}<{SCALARS[short[2]]}>"
        if "<" not in type:
            return type
        return f"{type[: type.index('<')]}<{','.join(map(self.plain, arguments_of(type)))}>"

    def _declare(self, d: s.Declare) -> None:
        if d.value is not None:
            self._visit(d.value)
        type = self.plain(d.type) if d.type else concrete(self.of(d.value)) if d.value is not None else ""
        self._of[id(d)] = type
        if len(self._scopes) > 1:
            self.inside[id(d)] = self._function
        self._scopes[-1][d.name] = d, type

    def _visit(self, part: s.Piece) -> None:
        if isinstance(part, s.Declare):
            return self._declare(part)
        # The variable of a `for` lives until its body ends.
        scoped = isinstance(part, s.Statements | s.For)
        if scoped:
            self._scopes.append({})
        # Parts first: a rule reads the types of its parts.
        for inner in part.parts():
            self._visit(inner)
        if scoped:
            self._scopes.pop()
        rule = getattr(self, f"_{type(part).__name__}", None)
        if rule is not None:
            self._of[id(part)] = rule(part)

    def _Literal(self, x: s.Literal) -> str:
        text = x.text.lower()
        if text in ("true", "false"):
            return "bool"
        if not text.startswith("0x") and text[-1] in SCALARS:
            return SCALARS[text[-1]]
        if text.startswith("0x"):
            return SCALARS[text[-1]] if text[-1] in "iu" else "float" if "p" in text else "int"
        return "float" if "." in text or "e" in text else "int"

    def _Name(self, x: s.Name) -> str:
        for scope in reversed(self._scopes):
            if x.name in scope:
                self.declared[id(x)], type = scope[x.name]
                return type
        return ""

    def _Bracketed(self, x: s.Bracketed) -> str:
        return self.of(x.x)

    def _Unary(self, x: s.Unary) -> str:
        type = self.of(x.x)
        if x.op == "&":
            return f"ptr<,{type}>"  # no address space: nothing asks for it
        if x.op == "*":
            return arguments_of(type)[1] if type.startswith("ptr<") else ""
        return type

    def _Infix(self, x: s.Infix) -> str:
        a, b = self.of(x.a), self.of(x.b)
        if x.op in ("&&", "||"):
            return "bool"
        if x.op in COMPARES:
            return of_width("bool", max(width_of(a), width_of(b)))
        if x.op in ("<<", ">>"):  # the shift count has another type
            return a
        return "" if "mat" in a[:3] + b[:3] else combine(a, b)  # matrix products are not followed

    def _Indexed(self, x: s.Indexed) -> str:
        return element_of(self._pointee(self.of(x.of)))

    def _pointee(self, type: str) -> str:
        """The type that a pointer refers to; another type itself."""
        return arguments_of(type)[1] if type.startswith("ptr<") else type

    def _Selected(self, x: s.Selected) -> str:
        type = self._pointee(self.of(x.of))
        if type in self.structs:
            return self.plain(self.structs[type].get(x.name, ""))
        return of_width(element_of(type), len(x.name)) if VECTOR.match(type) else ""

    def _WgslCall(self, x: s.WgslCall) -> str:
        arguments = [self.of(g) for g in x.arguments]
        if x.name in self.functions:
            return self.plain(self.functions[x.name].result)
        if x.name == "bitcast":
            return self.plain(x.template)
        if x.name in FIXED:
            return FIXED[x.name]
        if x.name in TO_BOOL:
            return "bool"
        if x.name in TO_ELEMENT:
            return element_of(arguments[0])
        if x.name in SAME:
            # The first argument alone: offsets, exponents and lanes have other types.
            return combine(*arguments[: 1 if x.name in ("extractBits", "ldexp", "subgroupShuffle") else 3])
        if x.name == "select":
            return combine(*arguments[:2])
        if x.name.startswith("atomic"):
            # The argument is &x with x: atomic<T>; the result is T.
            inner = arguments_of(arguments[0])[1] if arguments and arguments[0].startswith("ptr<") else ""
            return arguments_of(inner)[0] if inner.startswith("atomic<") else ""
        if x.name == "workgroupUniformLoad":
            return self._pointee(arguments[0])
        return self._constructor_type(x, arguments)

    def _constructor_type(self, x: s.WgslCall, arguments: list[str]) -> str:
        """The type of `vec3(a, b, c)`, `Struct(...)`, `f32(a)`."""
        type = self.plain(f"{x.name}<{x.template}>" if x.template else x.name)
        if x.name in ("vec2", "vec3", "vec4") and not x.template:
            return of_width(element_of(combine(*arguments)) if arguments else "", int(x.name[-1]))
        is_type = type in self.structs or "<" in type or type in ("f32", "f16", "i32", "u32", "bool")
        return type if is_type else ""
