"""JSON schemas as rules of expressions: the JSON texts that a schema allows."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core.tree import is_dict, is_list
from .expressions import (
    EMPTY,
    LAST,
    Alt,
    Bytes,
    Expression,
    Ranges,
    Repeat,
    RuleCall,
    alt,
    characters,
    complement,
    literal,
    optional,
    regular,
    seq,
    union,
    without,
)
from .numerals import integers_between, numbers_between

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
NOTES = {"title", "description", "default", "examples", "$schema", "$id", "$comment", "$defs", "definitions",
         "deprecated", "readOnly", "writeOnly", "strict", "name", "discriminator", "format"}  # fmt: skip
KEYWORDS: dict[str, set[str]] = {  # what each type may have
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "prefixItems", "minItems", "maxItems", "uniqueItems"},
    "string": {"minLength", "maxLength", "pattern"},
    "integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    "boolean": set(),
    "null": set(),
}
ALL_KEYWORDS = {"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"}.union(*KEYWORDS.values())
MOST_DEPTH = 100
FORMATS = {
    "date": r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])",  # days that each month has
    "time": r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])",
    "uuid": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
}
FORMATS["date-time"] = f"{FORMATS['date']}T{FORMATS['time']}"

# A space may follow a colon and a comma; there is no other space between parts.
COLON, COMMA = seq(literal(":"), optional(literal(" "))), seq(literal(","), optional(literal(" ")))
ESCAPED = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
RAW = without(((0x20, LAST),), [(34, 34), (92, 92)])
HEX = Bytes(((48, 57), (65, 70), (97, 102)))
# \u and four digits, but no half of a pair
CODE = alt(
    [
        seq(Bytes(((48, 57), (65, 67), (69, 70), (97, 99), (101, 102))), HEX, HEX, HEX),
        seq(Bytes(((68, 68), (100, 100))), Bytes(((48, 55),)), HEX, HEX),
    ]
)
ESCAPE = seq(
    literal("\\"), alt([Bytes(union((ord(c), ord(c)) for c in '"\\/bfnrt')), seq(literal("u"), CODE)])
)
VALUE, CHARACTER, STRING, NUMBER = "any value", "character", "string", "number"


def quoted(ranges: Ranges) -> Expression:
    """Return one character out of ranges, as the text of a JSON string has it."""
    rest = without(ranges, complement(RAW))
    parts = [characters(rest)] if rest else []
    for low, high in ranges:
        for c in [*range(low, min(high, 31) + 1), *(c for c in (34, 92) if low <= c <= high)]:
            parts.append(literal(ESCAPED.get(c, f"\\u{c:04x}")))
    return alt(parts)


def _in_quotes(inner: Expression) -> Expression:
    return seq(literal('"'), inner, literal('"'))


def _enclosed(begin: str, inner: Expression, end: str) -> Expression:
    return seq(literal(begin), inner, literal(end))


def _after(comma: Expression, part: Expression, least: int, most: int | None) -> Expression:
    """Return parts with a comma before each; no text where the bounds allow no number."""
    return Alt(()) if most is not None and most < least else Repeat(seq(comma, part), least, most)


def shared_rules() -> dict[str, Expression]:
    """Return the rules of any JSON value."""
    pair = seq(RuleCall(STRING), COLON, RuleCall(VALUE))
    scalars = [RuleCall(STRING), RuleCall(NUMBER), *map(literal, ("true", "false", "null"))]
    values = [_enclosed("{", _listed(pair), "}"), _enclosed("[", _listed(RuleCall(VALUE)), "]")]
    return {
        VALUE: alt([*values, *scalars]),
        CHARACTER: alt([characters(RAW), ESCAPE]),
        STRING: _in_quotes(Repeat(RuleCall(CHARACTER), 0, None)),
        NUMBER: numbers_between(),
    }


def _listed(part: Expression, least: int = 0, most: int | None = None) -> Expression:
    """Return parts with commas between."""
    if most == 0:
        return EMPTY if least == 0 else Alt(())
    if most is not None and least > most:
        return Alt(())
    rest = Repeat(seq(COMMA, part), max(least - 1, 0), None if most is None else most - 1)
    return seq(part, rest) if least else optional(seq(part, rest))


def schema_rules(schema: Any) -> dict[str, Expression]:
    """Return the rules of a schema's JSON texts. ValueError names a keyword that is not supported."""
    return _Schema(schema).rules


class _Schema:
    """Converts a schema, and those that it refers to."""

    def __init__(self, schema: Any):
        self.schema, self.rules, self.count = schema, shared_rules(), 0
        self.names: dict[str, str] = {}  # the rule of each reference
        self.rules["root"] = RuleCall(self.named("#"))

    def named(self, reference: str) -> str:
        """Return the rule of a reference."""
        if reference not in self.names:
            self.names[reference] = f"schema {reference}"
            target = self.find(reference)
            self.rules[self.names[reference]] = self.value(target, reference, 0)
        return self.names[reference]

    def find(self, reference: str) -> Any:
        """Return the schema of a reference."""
        node: Any = self.schema
        if not reference.startswith("#"):
            raise ValueError(f"$ref {reference!r}: only references within the schema are supported")
        for part in reference[1:].split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if is_list(node) and part.isdecimal() and int(part) < len(node):
                node = node[int(part)]
            elif is_dict(node) and part in node:
                node = node[part]
            else:
                raise ValueError(f"$ref {reference!r}: the schema has no such part")
        return node

    def value(self, schema: Any, place: str, depth: int) -> Expression:
        """Return the texts of a schema's values."""
        if depth > MOST_DEPTH:
            raise ValueError(f"is nested more than {MOST_DEPTH} deep")
        if schema is True or schema == {}:
            return RuleCall(VALUE)
        if schema is False:
            return Alt(())
        if not is_dict(schema):
            raise ValueError(f"{place}: is {type(schema).__name__}: a schema is an object or a bool")
        rules: dict[str, Any] = {k: v for k, v in schema.items() if k not in NOTES or k == "format"}
        for name in rules:
            if name not in ALL_KEYWORDS and name != "format":
                raise ValueError(f"{place}: {name!r} is not supported: leave it out")
        return self.checked(rules, place, depth)

    def checked(self, rules: dict[str, Any], place: str, depth: int) -> Expression:
        """Return the texts of a schema whose keywords are known."""
        if "$ref" in rules:
            rest = {k: v for k, v in rules.items() if k not in ("$ref", "format")}
            if not rest:
                return RuleCall(self.named(_text(rules["$ref"], "$ref", place)))
            return self.value(merged(rest, self.find(rules["$ref"]), place), place, depth + 1)
        if "allOf" in rules:
            joined: Any = {k: v for k, v in rules.items() if k != "allOf"}
            for part in _schemas(rules["allOf"], "allOf", place):
                joined = merged(joined, self.resolved(part), place)
            return self.value(joined, place, depth + 1)
        for name in ("anyOf", "oneOf"):
            if name in rules:
                rest = {k: v for k, v in rules.items() if k != name}
                parts = [merged(rest, self.resolved(p) if rest else p, place) if rest else p
                         for p in _schemas(rules[name], name, place)]  # fmt: skip
                if name == "oneOf":
                    _check_apart([self.resolved(p) for p in parts], place)
                return alt(self.value(p, f"{place}/{name}/{i}", depth + 1) for i, p in enumerate(parts))
        if "enum" in rules or "const" in rules:
            return _constants(rules, place)
        kinds = _types(rules, place)
        return alt(self.typed(kind, rules, place, depth) for kind in kinds)

    def resolved(self, schema: Any) -> Any:
        """Return a schema, or what it refers to if it is only a reference."""
        seen = 0
        while is_dict(schema) and "$ref" in schema and not schema.keys() - NOTES - {"$ref"} and seen < 100:
            schema, seen = self.find(_text(schema["$ref"], "$ref", "$ref")), seen + 1
        return schema

    def typed(self, kind: str, rules: dict[str, Any], place: str, depth: int) -> Expression:
        """Return the texts of a type's values."""
        if kind == "object":
            return self.object(rules, place, depth)
        if kind == "array":
            return self.array(rules, place, depth)
        if kind == "string":
            return _string(rules, place)
        if kind in ("integer", "number"):
            return _number(kind, rules, place)
        return alt(map(literal, ("true", "false") if kind == "boolean" else ("null",)))

    def array(self, rules: dict[str, Any], place: str, depth: int) -> Expression:
        """Return the texts of arrays."""
        least, most = _count(rules, "minItems", place) or 0, _count(rules, "maxItems", place)
        if rules.get("uniqueItems"):
            raise ValueError(f"{place}: 'uniqueItems' is not supported: leave it out")
        heads = _schemas(rules.get("prefixItems", []), "prefixItems", place)
        first = [self.rule(s, f"{place}/prefixItems/{i}", depth) for i, s in enumerate(heads)]
        items = self.rule(rules.get("items", True), f"{place}/items", depth)
        if not first:
            return _enclosed("[", _listed(items, least, most), "]")
        tail = _after(COMMA, items, max(least - len(first), 0), None if most is None else most - len(first))
        for i in reversed(range(len(first))):
            part = seq(COMMA, first[i], tail) if i else seq(first[0], tail)
            goes = most is None or i < most
            # the text may end before item i
            tail = alt([EMPTY] * (least <= i) + [part] * goes)
        return _enclosed("[", tail, "]")

    def rule(self, schema: Any, place: str, depth: int) -> Expression:
        """Return a call of a schema's rule, so that repetitions stay small."""
        inner = self.value(schema, place, depth + 1)
        if isinstance(inner, RuleCall | Bytes):
            return inner
        self.count += 1
        self.rules[f"part {self.count}"] = inner
        return RuleCall(f"part {self.count}")

    def object(self, rules: dict[str, Any], place: str, depth: int) -> Expression:
        """Return the texts of objects: the schema's properties in order, then others if asked for."""
        properties: Any = rules.get("properties", {})
        required: Any = rules.get("required", [])
        if not is_dict(properties) or not is_list(required) or not all(isinstance(r, str) for r in required):
            raise ValueError(f"{place}: 'properties' is an object and 'required' is a list of names")
        more: Any = rules.get("additionalProperties", not properties)
        names: list[str] = [*properties, *(r for r in dict.fromkeys(required) if r not in properties)]
        pairs: list[tuple[Expression, bool]] = []
        for name in names:
            inner: Any = properties.get(name, rules.get("additionalProperties", True))
            value = self.rule(inner, f"{place}/properties/{name}", depth)
            pairs.append((seq(literal(json.dumps(name, ensure_ascii=False)), COLON, value), name in required))
        others: Expression = EMPTY
        if more is not False:
            value = self.rule(more, f"{place}/additionalProperties", depth)
            pair = seq(_other_key(names), COLON, value)
            others = Repeat(seq(COMMA, self.rule_of(pair)), 0, None)
            alone = _listed(self.rule_of(pair))
        else:
            alone = EMPTY
        return _enclosed("{", self.pairs(pairs, others, alone), "}")

    def rule_of(self, e: Expression) -> RuleCall:
        """Return a call of a new rule."""
        self.count += 1
        self.rules[f"part {self.count}"] = e
        return RuleCall(f"part {self.count}")

    def pairs(
        self, pairs: Sequence[tuple[Expression, bool]], others: Expression, alone: Expression
    ) -> Expression:
        """Return pairs in order with commas between. others: what may follow a pair; alone: what may stand
        without one."""
        # `following`: what comes after a pair; `first`: what comes where no pair was written before
        following, first = others, alone
        for pair, is_needed in reversed(pairs):
            after = self.rule_of(following)
            now = self.rule_of(seq(pair, after))
            following = seq(COMMA, now) if is_needed else alt([seq(COMMA, now), after])
            first = now if is_needed else alt([now, first])
        return first


def _other_key(names: Sequence[str]) -> Expression:
    """Return the keys that are none of the names, without escapes, so that no name hides in one."""
    return _in_quotes(_unlike("", names))


def _unlike(prefix: str, names: Sequence[str]) -> Expression:
    """Return what may follow a prefix of all names so that none of them is written."""
    following = {n[len(prefix)] for n in names if len(n) > len(prefix)}
    free = without(RAW, ((ord(c), ord(c)) for c in following))
    parts: list[Expression] = [seq(characters(free), Repeat(characters(RAW), 0, None))]
    for c in sorted(following):
        if any(low <= ord(c) <= high for low, high in RAW):
            inner = _unlike(prefix + c, [n for n in names if n.startswith(prefix + c)])
            parts.append(seq(literal(c), inner))
    return alt(parts if prefix in names else [EMPTY, *parts])


def _schemas(value: Any, name: str, place: str) -> list[Any]:
    if not is_list(value):
        raise ValueError(f"{place}: {name!r} is a list of schemas")
    return value


def _text(value: Any, name: str, place: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{place}: {name!r} is a text")
    return value


def _count(rules: Mapping[str, Any], name: str, place: str) -> int | None:
    value = rules.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or value < 0:
        raise ValueError(f"{place}: {name!r} is a number, 0 or more")
    return int(value)


def _types(rules: Mapping[str, Any], place: str) -> list[str]:
    """Return the types that a schema allows; those of its other keywords if it has none."""
    kinds: Any = rules.get("type")
    if kinds is None:
        types = [t for t in TYPES if KEYWORDS[t] & rules.keys()]
        # a schema without a type allows the values of all others too: those that its keywords are about
        return [t for t in types if t != "integer" or "number" not in types] or list(TYPES)
    kinds = kinds if is_list(kinds) else [kinds]
    if not kinds or any(k not in TYPES for k in kinds):
        raise ValueError(f"{place}: 'type' is one of {', '.join(TYPES)}, or a list of these")
    return [k for k in dict.fromkeys(kinds) if k != "integer" or "number" not in kinds]


def _constants(rules: Mapping[str, Any], place: str) -> Expression:
    """Return the texts of an enumeration."""
    if rest := rules.keys() - {"enum", "const", "type", "format"}:
        raise ValueError(f"{place}: {min(rest)!r} next to 'enum' or 'const' is not supported: leave it out")
    values: list[Any] = _schemas(rules["enum"], "enum", place) if "enum" in rules else [rules["const"]]
    if "enum" in rules and "const" in rules:
        values = [v for v in values if json.dumps(v) == json.dumps(rules["const"])]
    if "type" in rules:
        kinds = _types(rules, place)
        values = [v for v in values if any(_is(v, k) for k in kinds)]
    return alt(literal(json.dumps(v, ensure_ascii=False)) for v in values)


CHECKS: dict[str, Callable[[Any], bool]] = {
    "object": is_dict,
    "array": is_list,
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int | float) and not isinstance(v, bool) and v == int(v),
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
}


def _is(value: Any, kind: str) -> bool:
    return CHECKS[kind](value)


def _string(rules: Mapping[str, Any], place: str) -> Expression:
    least, most = _count(rules, "minLength", place), _count(rules, "maxLength", place)
    has_length = least is not None or most is not None
    pattern = rules.get("pattern")
    if pattern is None and not has_length:
        pattern = FORMATS.get(str(rules.get("format")))
        if pattern is not None:
            return _in_quotes(regular(pattern, quoted))
    if pattern is not None:
        if has_length:
            raise ValueError(f"{place}: 'pattern' with a length is not supported: write it in the pattern")
        try:
            return _in_quotes(regular(_text(pattern, "pattern", place), quoted, searches=True))
        except ValueError as e:
            raise ValueError(f"{place}: pattern {pattern!r}: {e}") from None
    if not has_length:
        return RuleCall(STRING)
    if most is not None and (least or 0) > most:
        return Alt(())
    return _in_quotes(Repeat(RuleCall(CHARACTER), least or 0, most))


def _number(kind: str, rules: Mapping[str, Any], place: str) -> Expression:
    names = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    for name in names:
        value = rules.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"{place}: {name!r} is a number")
        if value is not None and not -1e300 < value < 1e300:
            raise ValueError(f"{place}: {name!r} is not finite")
    bounds = [rules.get(name) for name in names]
    between = integers_between if kind == "integer" else numbers_between
    if kind == "number" and bounds == [None] * 4:
        return RuleCall(NUMBER)
    return between(*bounds)


def merged(a: Any, b: Any, place: str) -> Any:
    """Return a schema of the values that two schemas allow. ValueError if it cannot be written as one."""
    if a is True or a == {} or b is False:
        return b
    if b is True or b == {} or a is False:
        return a
    if not is_dict(a) or not is_dict(b):
        raise ValueError(f"{place}: a schema is an object or a bool")
    joined: dict[str, Any] = dict(a)
    for name, value in b.items():
        if name not in a or name in NOTES or a[name] == value:
            joined[name] = value
        elif name == "properties":
            joined[name] = a[name] | {
                k: merged(a[name][k], v, f"{place}/{k}") if k in a[name] else v for k, v in value.items()
            }
        elif name == "required":
            joined[name] = [*dict.fromkeys([*a[name], *value])]
        elif name == "type":
            kinds = [k for k in _types(a, place) if k in _types(b, place)]
            if not kinds:
                return False
            joined[name] = kinds
        elif name in ("minimum", "exclusiveMinimum", "minLength", "minItems"):
            joined[name] = max(a[name], value)
        elif name in ("maximum", "exclusiveMaximum", "maxLength", "maxItems"):
            joined[name] = min(a[name], value)
        else:
            raise ValueError(f"{place}: two values of {name!r} in one schema are not supported: join them")
    closes = [s for s in (a, b) if s.get("additionalProperties", True) is not True]
    if closes and a.get("properties", {}).keys() != b.get("properties", {}).keys():
        raise ValueError(f"{place}: 'additionalProperties' in one of several joined schemas is not supported")
    return joined


def _check_apart(parts: list[Any], place: str) -> None:
    """ValueError for alternatives of oneOf that may have a value in common."""
    for i, a in enumerate(parts):
        for b in parts[:i]:
            if not _are_apart(a, b):
                raise ValueError(f"{place}: alternatives of 'oneOf' may overlap: use 'anyOf'")


def _are_apart(a: Any, b: Any) -> bool:
    if not is_dict(a) or not is_dict(b):
        return a is False or b is False
    values = [_values(s) for s in (a, b)]
    if values[0] is not None and values[1] is not None:
        return not {*values[0]} & {*values[1]}
    kinds = [_kinds(s) for s in (a, b)]
    if not kinds[0] & kinds[1]:
        return True
    if kinds[0] & kinds[1] != {"object"}:
        return False
    both = {*a.get("required", [])} & {*b.get("required", [])}
    parts = [s.get("properties", {}) for s in (a, b)]
    return any(_are_apart(parts[0].get(k, {}), parts[1].get(k, {})) for k in both)


def _values(schema: Mapping[str, Any]) -> list[str] | None:
    if "const" in schema:
        return [json.dumps(schema["const"], sort_keys=True)]
    return [json.dumps(v, sort_keys=True) for v in schema["enum"]] if "enum" in schema else None


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    """Return the types of a schema's values; an integer is a number."""
    if "type" not in schema:
        return set(TYPES)
    kinds = {*_types(schema, "oneOf")}
    return kinds | {"integer"} if "number" in kinds else kinds
