"""Texts by a grammar: regular expressions, JSON schemas, the tokens that a state allows, errors."""

import json
import math
import random
import re

import numpy as np
import pytest
from helpers.gguf_models import tiny_chat
from helpers.vocabularies import byte_pairs, sentence_pieces

import flambeau as fb
from flambeau import models
from flambeau.models.automaton import DEAD, START
from flambeau.models.expressions import characters
from flambeau.models.grammar import Grammar, Guide, TokenTrie, token_bytes, vocabulary_of
from flambeau.models.numerals import integers_between, numbers_between
from flambeau.models.opened import open_model
from flambeau.tokenizers import Tokenizer

TREE = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 5},
        "kind": {"enum": ["leaf", 'é"\\', 3, None]},
        "size": {"type": "number", "exclusiveMinimum": 0, "maximum": 2.5},
        "parts": {"type": "array", "items": {"$ref": "#"}, "maxItems": 2},
        "code": {"type": "string", "pattern": "^[A-F]{2}[0-9\n]+$"},
    },
    "required": ["name", "size"],
    "additionalProperties": False,
}
PAIR = {
    "$defs": {"small": {"type": "integer", "minimum": -12, "maximum": 105}},
    "anyOf": [
        {"type": "array", "prefixItems": [{"$ref": "#/$defs/small"}, {"type": "boolean"}],
         "items": {"type": "null"}, "minItems": 1, "maxItems": 4},
        {"type": "object", "properties": {"a": {"const": 1}},
         "additionalProperties": {"$ref": "#/$defs/small"}},
    ],
}  # fmt: skip
SCHEMAS = {"tree": TREE, "pair": PAIR, "any": {"type": ["array", "object"]}}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A small model with its tokenizer."""
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    tiny_chat(path)
    return open_model(path, "cpu")


def is_valid(value, schema, root):
    """Whether a value is one of a schema with the keywords of this file."""
    if "$ref" in schema:
        at = root
        for part in schema["$ref"].split("/")[1:]:
            at = at[part]
        return is_valid(value, at, root)
    if "anyOf" in schema:
        return any(is_valid(value, s, root) for s in schema["anyOf"])
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    kinds = {"object": isinstance(value, dict), "array": isinstance(value, list),
             "boolean": isinstance(value, bool), "string": isinstance(value, str),
             "number": is_number, "null": value is None,
             "integer": is_number and value == int(value)}  # fmt: skip
    kind = schema.get("type", [])
    if kind and not any(kinds[k] for k in ([kind] if isinstance(kind, str) else kind)):
        return False
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        return False
    if is_number:
        low, high = schema.get("minimum", value), schema.get("maximum", value)
        return low <= value <= high and value > schema.get("exclusiveMinimum", -math.inf)
    if isinstance(value, str):
        return len(value) <= schema.get("maxLength", 1 << 30) and bool(
            re.search(schema.get("pattern", ""), value)
        )
    if isinstance(value, list):
        heads = schema.get("prefixItems", [])
        parts = [*heads, *[schema.get("items", {})] * len(value)]
        size = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        return size and all(is_valid(v, s, root) for v, s in zip(value, parts, strict=False))
    if isinstance(value, dict):
        known, more = schema.get("properties", {}), schema.get("additionalProperties", {})
        return {*schema.get("required", [])} <= value.keys() and all(
            is_valid(v, known[k], root) if k in known else more is not False and is_valid(v, more, root)
            for k, v in value.items()
        )
    return True


def drawn_text(grammar, draws, longest=300):
    """A text that a grammar allows, drawn byte by byte; None for one that grows too long."""
    automaton, state, text = grammar.begin(), START, bytearray()
    while len(text) < longest:
        after = [b for b in range(256) if automaton.step(state, b) != DEAD]
        if automaton.accepts[state] and (not after or draws.random() < 0.2):
            return text.decode()
        # ends of strings, lists and objects more often, so that texts end
        ends = [b for b in after if chr(b) in '"]}']
        text.append(draws.choice(ends if ends and draws.random() < 0.3 else after))
        state = automaton.step(state, text[-1])
    return None


PATTERNS = [r"[a-c]{2,4}x?", r"(yes|no) é.\d+", r"[^a]\w*", "^(ab|b)$", "", r"a*?b+|\S", r"[\w.]+@[^\W\d]{2}",
            r"(a|ab)(c|bcd)(d*)", "[à-ÿ\u4e00-\u9fff\U0001f600-\U0001f64f]{1,2}", r"(a{0,2}b){2,3}",
            r"\\\"[\n-]"]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_texts_of_a_regular_expression(pattern):
    """Drawn texts match for Python too; of short texts the same ones match."""
    grammar, draws = Grammar.from_regex(pattern), random.Random(1)
    for _ in range(60):
        text = drawn_text(grammar, draws)
        assert text is None or re.fullmatch(pattern, text)
    for _ in range(300):
        text = "".join(draws.choices('aabbccdx1é@. yesno日\n\\"-', k=draws.randrange(6)))
        assert grammar.matches(text) == bool(re.fullmatch(pattern, text, re.ASCII)), text


def test_characters_are_those_of_utf_8():
    draws = random.Random(0)
    for _ in range(20):
        low, high = sorted(
            draws.choice([draws.randrange(0x300), draws.randrange(0x110000)]) for _ in range(2)
        )
        grammar = (
            Grammar({"root": characters(((low, high),))}) if not 0xD800 <= low <= high < 0xE000 else None
        )
        for c in {
            low,
            high,
            low - 1,
            high + 1,
            (low + high) // 2,
            *(draws.randrange(0x110000) for _ in range(20)),
        }:
            if grammar and 0 <= c < 0x110000 and not 0xD800 <= c < 0xE000:
                assert grammar.matches(chr(c)) == (low <= c <= high), (low, high, c)


BOUNDS = [
    (0, 1),
    (-3, 17),
    (5, None),
    (None, -2),
    (0.1, 0.35),
    (-0.25, -0.125),
    (2.5, 1000.25),
    (-99, 100),
    (7, 7),
]


@pytest.mark.parametrize("low, high", BOUNDS)
def test_numbers_between_bounds(low, high):
    draws = random.Random(2)
    for make, is_open in [(numbers_between, False), (numbers_between, True), (integers_between, False)]:
        try:
            grammar = Grammar({"root": make(None, None, low, high) if is_open else make(low, high)})
        except ValueError:
            assert low == high or make is integers_between
            continue
        inside = (lambda x: (low is None or x > low) and (high is None or x < high)) if is_open else (
            lambda x: (low is None or x >= low) and (high is None or x <= high))  # fmt: skip
        for _ in range(60):
            text = drawn_text(grammar, draws)
            assert text is not None and inside(json.loads(text)), text
        for x in range(-300, 1100):
            assert grammar.matches(str(x)) == inside(x), x


@pytest.mark.parametrize("name", SCHEMAS)
def test_drawn_texts_of_a_schema_are_valid(name):
    grammar, draws, schema = Grammar.from_json_schema(SCHEMAS[name]), random.Random(3), SCHEMAS[name]
    texts = [t for t in (drawn_text(grammar, draws) for _ in range(80)) if t is not None]
    assert len(texts) > 20 and all(is_valid(json.loads(t), schema, schema) for t in texts)


def test_known_texts_of_a_schema():
    grammar = Grammar.from_json_schema(json.dumps(TREE))
    head = '{"name":"a","size":1'
    good = ['{"name": "a", "size":1.5}', '{"name":"\\u00e9\\"","kind":"é\\"\\\\", "size":0.1}',
            '{"name":"", "size":1, "parts":[{"name":"b","size":2}], "code":"AF1\\n2"}']  # fmt: skip
    bad = ["{}", '{"size":1,"name":"a"}', '{"name":"123456","size":1}', '{"name":"a","size":0}',
           '{"name":"a","size":2.51}', head + ',"x":1}', head + ",}", '{"name":"a\n","size":1}',
           '{"name":"\\ud800","size":1}', head + ',"parts":[1]}', '{"name":"a","size":01}']  # fmt: skip
    assert all(map(grammar.matches, good)) and not any(map(grammar.matches, bad))
    other = Grammar.from_json_schema(PAIR)
    assert all(map(other.matches, ["[5]", "[-12, true,null, null]", '{"a":1,"b":2}', '{"ab":7}', "{}"]))
    assert not any(map(other.matches, ["[]", "[106]", "[5,true,null,null,null]", '{"a":2}', '{"b":1,"a":1}']))


@pytest.mark.parametrize("kind", ["bytes", "pieces"])
def test_allowed_tokens_are_those_whose_bytes_go_on(kind):
    """Each token at drawn states, walked byte by byte: parts of characters, special tokens, ends."""
    words = Tokenizer.from_gguf(byte_pairs() if kind == "bytes" else sentence_pieces())
    texts, draws = token_bytes(words), random.Random(4)
    assert sum(t is None for t in texts) == len(words.special_ids) and b"\xc3" in texts
    extra = [
        bytes(draws.choices(b'"{}:, a1\xc3\xa9\xe6\x97\xa5\\', k=n)) for n in (1, 2, 3, 7) for _ in range(40)
    ]
    vocabulary, ends = TokenTrie([*texts, *extra]), (2,)
    size = len(texts) + len(extra) + 3  # the model has scores of tokens that do not exist
    for grammar in (Grammar.from_json_schema(TREE), Grammar.from_regex("(é|日本|a){2,}[^x]")):
        guide = Guide(grammar, vocabulary, ends, size)
        for _ in range(25):
            bits = np.unpackbits(guide.mask().view(np.uint8), bitorder="little")
            found, automaton = bits[:size].astype(bool), guide.automaton
            assert not bits[size:].any()
            for i in range(size):
                state, text = guide.state, vocabulary.texts[i] if i < len(vocabulary.texts) else None
                for byte in text or b"":
                    state = automaton.step(state, byte)
                want = automaton.accepts[guide.state] if i in ends else bool(text) and state != DEAD
                assert found[i] == want, (i, text)
            if guide.push(draws.choice(np.flatnonzero(found).tolist())):
                break
    assert (guide.is_over and (guide.mask() == -1).all()) or not guide.is_over


def test_a_model_writes_texts_of_a_schema(tiny):
    """Whole texts, drawn and best, of two rows at once; without an end token too."""
    decoder, words = models.Decoder(tiny.model), tiny.tokenizer
    small = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 4},
             "b": {"type": "boolean"}}, "required": ["b"], "additionalProperties": False}  # fmt: skip
    grammar = Grammar.from_json_schema(small)
    for options in ({}, {"do_sample": True, "seed": 2, "eos_token_id": None}):
        rows = decoder.generate([[5, 6, 7], [8, 9]], 60, grammar=grammar, tokenizer=words, **options)
        for row in rows.tolist():
            value = json.JSONDecoder().raw_decode(words.decode(row[3:]))[0]
            assert is_valid(value, small, small)
    text = words.decode(decoder.generate([[5]], 30, regex="(ab|é){3}!", tokenizer=words)[0, 1:].tolist())
    assert re.fullmatch("(ab|é){3}!", text)
    stopped = decoder.generate([[5], [6]], 12, regex="[ab]{6}", tokenizer=words, stop_strings=["aa", "b"])
    assert stopped.shape[1] <= 13


@pytest.mark.share(5)
def test_the_step_stays_recorded(gpu, tiny):
    """Texts of two grammars replay one recording; the tokens are those of NumPy."""
    want = [
        models.generate(tiny.model, [[5, 6]], 14, regex=r, tokenizer=tiny.tokenizer).tolist()
        for r in PATTERNS[:2]
    ]
    decoder = models.Decoder(tiny.model.to(gpu))
    found = [decoder.generate([[5, 6]], 14, regex=r, tokenizer=tiny.tokenizer).tolist() for r in PATTERNS[:2]]
    tiny.model.to("cpu")
    assert found == want
    (step,) = decoder.steps.values()
    assert [len(p) for p in step.replayed.programs.values()] == [1]


ERRORS = {
    "json_schema: no text satisfies it": [
        False, {"enum": []}, {"$ref": "#"}, {"type": "integer", "minimum": 5, "maximum": 3},
        {"type": "array", "minItems": 3, "maxItems": 2},
        {"properties": {"a": {"$ref": "#"}}, "required": ["a"]}],
    "json_schema: a rule refers to itself with nothing before it: no text can be told from it": [
        {"anyOf": [{"$ref": "#"}, {"type": "string"}]}],
    "json_schema: #: 'not' is not supported: leave it out": [{"not": {}}],
    "json_schema: #/properties/a: 'type' is one of object, array, string, integer, number, boolean, null, "
    "or a list of these": [
        {"properties": {"a": {"type": "text"}}}],
    "json_schema: $ref '#/$defs/x': the schema has no such part": [{"$ref": "#/$defs/x"}],
    "json_schema: #: pattern '(?=a)': has a look ahead or behind: leave it out": [
        {"type": "string", "pattern": "(?=a)"}],
    "json_schema: #: alternatives of 'oneOf' may overlap: use 'anyOf'": [
        {"oneOf": [{"type": "number"}, {"type": "integer"}]}],
    "json_schema: is too large: it has more than 200,000 parts: lower its bounds": [
        {"type": "string", "maxLength": 10**6}],
    "json_schema='{': is not JSON": ["{"],
}  # fmt: skip


@pytest.mark.parametrize("message", ERRORS)
def test_schemas_that_are_refused(message):
    for schema in ERRORS[message]:
        with pytest.raises(ValueError) as e:
            Grammar.from_json_schema(schema)
        assert str(e.value) == message


def test_wrong_options(tiny):
    for options, message in (
        ({"regex": "a", "json_schema": {}},
         "generate(regex=..., json_schema=...): do not go together: pass one of them"),
        ({"regex": 3}, "generate(regex=int): pass a text"),
        ({"regex": "(a"},
         "regex='(a': is no regular expression: missing ), unterminated subpattern at position 0"),
        ({"regex": "a", "num_beams": 2},
         "generate(num_beams=..., grammar): do not go together: pass one of them"),
        ({"regex": "a"}, "generate(regex='a'): a grammar needs the bytes of tokens: pass tokenizer= with the "
                         "flambeau.tokenizers.Tokenizer of the model"),
    ):  # fmt: skip
        with pytest.raises(ValueError) as e:
            models.generate(tiny.model, [[5]], 4, **options)
        assert str(e.value) == message
    guide = Guide(Grammar.from_regex("q"), TokenTrie([b"a", None]), (1,), 2)
    with pytest.raises(ValueError, match="no token of the vocabulary continues the text"):
        guide.mask()
    assert vocabulary_of(tiny.tokenizer) is vocabulary_of(tiny.tokenizer)
    assert fb.models.Grammar is Grammar
