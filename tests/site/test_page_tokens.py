"""Tokens and templates in a page: what Python gives, or an error at export."""

import json
import random
import subprocess

import pytest
from helpers.chat_templates import MESSAGES, NAMES, TEMPLATES, TOOLS
from helpers.drawn_texts import SEED, texts
from helpers.paths import ROOT
from helpers.vocabularies import GGUF, byte_pairs

from flambeau.site import node
from flambeau.site.page_pattern import page_pattern
from flambeau.site.page_rules import page_rules
from flambeau.site.page_template import FILTERS, METHODS, TESTS, page_template
from flambeau.tokenizers import ChatTemplate, Tokenizer
from flambeau.tokenizers.characters import compile_pattern

CHAT = ROOT / "web" / "chat"


def in_node(script: str, given) -> list:
    """The JSON that a module prints which has `given`."""
    program = node.program("node")
    if not program:
        pytest.skip("Node.js is not installed")
    source = f"""
import {{ readFileSync }} from "node:fs";
const {{ Tokenizer }} = await import({json.dumps((CHAT / "tokenizer.js").as_uri())});
const {{ render }} = await import({json.dumps((CHAT / "template.js").as_uri())});
const given = JSON.parse(readFileSync(0, "utf8"));
{script}
"""
    call = [program, "--input-type=module", "-e", source]
    done = subprocess.run(call, input=json.dumps(given), capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


CODES = """
const { rules, drawn, ids, all } = given, tokenizer = new Tokenizer(rules);
const streamed = (tokens) => {
  const stream = tokenizer.stream();
  return [...tokens.map((id) => stream.push(id)), stream.end()].join("");
};
console.log(JSON.stringify([
  [false, true].map((special) => drawn.map((text) => tokenizer.encode(text, { special, ends: special }))),
  ids.map((row) => [true, false].map((skips) => tokenizer.decode(row, { skips }))),
  ids.map(streamed),
]));
"""


def streamed(tokenizer, ids) -> str:
    stream = tokenizer.stream()
    return "".join([*map(stream.push, ids), stream.end()])


def compare(metadata: dict, count: int) -> None:
    """The same tokens, with special tokens as plain text and as themselves, and the same texts of tokens."""
    tokenizer, rng, drawn = Tokenizer.from_gguf(metadata), random.Random(SEED), texts(count)
    encoded = [
        [tokenizer.encode(t, allow_special=allow, add_special_tokens=allow) for t in drawn]
        for allow in (False, True)
    ]
    ids = [*encoded[1], *([rng.choice([*tokenizer.texts]) for _ in range(8)] for _ in range(count // 4))]
    wanted = [[tokenizer.decode(row, skip_special_tokens=skips) for skips in (True, False)] for row in ids]
    found = in_node(CODES, {"rules": page_rules(tokenizer), "drawn": drawn, "ids": ids})
    for rows, there in zip(encoded, found[0], strict=True):
        for text, ours, page in zip(drawn, rows, there, strict=True):
            assert page == ours, ascii(text)
    assert found[1] == wanted
    assert found[2] == [streamed(tokenizer, row) for row in ids]


PAGE = ("gpt2", "llama", "gemma", "t5")


@pytest.mark.parametrize("name", PAGE)
def test_tokens_are_those_of_python(name):
    compare(GGUF[name](), 60)


@pytest.mark.share(5)
@pytest.mark.parametrize("name", PAGE)
def test_ten_thousand_texts(torch, name):
    compare(GGUF[name](), 10_000)


@pytest.mark.share(3)
@pytest.mark.parametrize("pre", ["default", "llama-bpe", "qwen2", "smollm", "falcon", "deepseek-coder",
                                 "deepseek-v3", "bloom", "tekken", "gpt-4o"])  # fmt: skip
def test_every_split_of_llama_cpp(pre):
    compare(byte_pairs(pre), 60)


WRONG_PATTERNS = {
    r"a++": "a possessive quantifier",
    r"\bword": r"\b",
    r"(?>a)": "'(?>a'",
    r"[a-z&&[^b]]": "an intersection of classes (&&)",
    r"(?i:[a])": "a class that ignores case",
    r"a$": "$",
    "a\\": "a backslash at the end",
}


@pytest.mark.parametrize("pattern", WRONG_PATTERNS)
def test_patterns_that_pages_lack(pattern):
    with pytest.raises(ValueError) as e:
        page_pattern(pattern)
    assert str(e.value) == f"pattern {pattern!r}: {WRONG_PATTERNS[pattern]} is not possible in a page"


def test_patterns_as_pythons():
    """Literal braces and brackets, escapes, classes that begin with a bracket, quantifiers."""
    cases = [
        (r"[]a]+|\]|x{2}|x{,3}y|{|}", "a]]bx{,3}xx{}xyy"),
        (r"[^]a]+", "ba]c"),
        (r".+", "ab\r\u2028c\nd"),
        (r"\d+|\S|\h+?", "12\u0664x \x1c"),
        (r"(?i:'s|KE)", "'ſ'S\u212ae'T"),
        (r"(?<=a)b|a(?=c)|[\-\[/]", "abac-[/"),
        (r"\x{1F600}|\!|\"", 'a\U0001f600!"'),
    ]
    found = in_node(
        "const all = ([pattern, text]) => [...text.matchAll(new RegExp(pattern, 'gu'))].map(String);"
        "console.log(JSON.stringify(given.map(all)));",
        [[page_pattern(pattern), text] for pattern, text in cases],
    )
    assert found == [[m[0] for m in compile_pattern(p).finditer(text)] for p, text in cases]


def test_rules_that_pages_lack():
    for part, row in (
        ("normalizer", {"type": "BertNormalizer"}),
        ("pre_tokenizer", {"type": "BertPreTokenizer"}),
        ("decoder", {"type": "WordPiece"}),
    ):
        rules = {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, part: row}
        with pytest.raises(ValueError) as e:
            page_rules(Tokenizer(rules))
        told = f"the tokenizer has the {part} {row['type']!r}, which is not possible in a page"
        assert str(e.value) == told
    with pytest.raises(ValueError, match="has the model 'WordPiece'"):
        page_rules(Tokenizer({"model": {"type": "WordPiece", "vocab": {"a": 0}}}))


MORE = {
    "values": """{{ none }}|{{ true }}|{{ [1, 'a\\'b', none, {'k': false}] }}|{{ missing }}|{{ 7 // -2 }}
|{{ -7 % 3 }}
{{ 3 - 5 }}|{{ 'ab' * 2 }}|{{ [1] * 2 + [3] }}|{{ 1 < 2 <= 2 != 3 }}|{{ 'a' < 'b' }}|{{ true + 1 }}
|{{ not '' }}""",
    "slices": """{{ 'añ😀bc'[1:3] }}{{ 'añ😀bc'[::-1] }}{{ 'añ😀bc'[-1] }}{{ 'añ😀bc' | length }}
{{ [1, 2, 3][5:] }}
{{ [1, 2, 3, 4][-3:-1] }}{{ [1, 2, 3, 4][3:0:-2] }}{{ messages[-1].role }}{{ messages[9] is defined }}
{{ 'a😀b'.find('b') }}""",
    "filters": """{{ ' x '|trim }}{{ 'xax'|trim('x') }}{{ 'hello wORLD-x'|title }}{{ 'hELLO'|capitalize }}
{{ -3|abs }}
{{ [1,2,2,'A','a']|unique|list }}{{ 'a'|default('b') }}{{ q|default('b') }}{{ ''|d('c', true) }}
{{ '5'|int + 1 }}{{ 'x'|int(9) }}
{{ [3,1]|first }}{{ [3,1]|last }}{{ [3,1]|reverse|list }}{{ 'ab'|reverse }}{{ {'a': 1}|items|list }}
{{ [1,2]|join('-') }}
{{ messages|map(attribute='role')|join(',') }}{{ ['a','b']|map('upper')|join }}{{ [0,1,2]|select|list }}
{{ [1,2]|reject('odd')|list }}
{{ messages|rejectattr('role','equalto','user')|list|length }}
{{ messages|selectattr('reasoning_content')|list|length }}
{{ 'a\nb\n\nc'|indent(2) }}{{ 'a\nb'|indent(3, true) }}{{ 'abab'|replace('a','x',1) }}
{{ 12|string + 's' }}{{ 'x'|safe|lower|upper }}
{{ [1,'é',none,true,{'a':[]}]|tojson }}{{ {'a':[1,{}]}|tojson(indent=2) }}{{ 'abc'|list|count }}""",
    "tests": """{% for x in [none, true, 0, 1, 'a', 'A', '', [1], {'k': 1}] %}{{ x is none }}
,{{ x is true }},{{ x is false }},
{{ x is boolean }},{{ x is number }},{{ x is integer }},{{ x is string }},{{ x is mapping }}
,{{ x is iterable }},
{{ x is sequence }},{{ x is lower }},{{ x is upper }},{{ x is defined }},{{ x is in [1, 'a'] }}
,{{ x is eq 1 }};
{% endfor %}{{ 4 is even }}{{ 3 is odd }}{{ 6 is divisibleby 4 }}{{ 1 is lt 2 }}{{ 1 is ge 2 }}
{{ 'b' is ne 'b' }}{{ u is undefined }}""",
    "methods": """{{ ' a b  c '.split() }}{{ 'a-b-c'.split('-', 1) }}{{ 'a b c'.split(none, 1) }}
{{ ' x\t'.strip() + 'xyx'.strip('x') }}
{{ 'xa'.lstrip('x') }}{{ 'ax'.rstrip('x') }}{{ 'abc'.startswith('ab') }}{{ 'abc'.endswith(('x', 'bc')) }}
{{ 'aXb c'.title() }}
{{ 'aB'.upper() + 'aB'.lower() + 'aB'.capitalize() }}{{ ','.join(['a', 'b']) }}
{{ 'prefix'.removeprefix('pre') }}
{{ 'name.py'.removesuffix('.py') }}{{ 'aaa'.replace('a', 'b', 2) }}{{ {'a': 1}.get('a') }}
{{ {'a': 1}.get('b') }}
{{ {'a': 1}.get('b', 7) }}{{ {'a': 1}.items() | list }}{{ {'a': 1}.keys() | list }}
{{ {'a': 1}.values() | list }}{{ 'a' in {'a': 1} }}""",
    "loops": """{% for m in messages if m.role != 'system' %}{{ loop.index }}/{{ loop.length }}
{{ loop.first }}{{ loop.last }}
{{ loop.revindex0 }}{{ loop.previtem.role if loop.previtem }}{{ loop.nextitem.role if not loop.last }}
{% if loop.index0 == 1 %}
{% break %}{% endif %}{% else %}none{% endfor %}{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}{{ v }}
{% endfor %}
{% for x in [] %}{% else %}empty{% endfor %}{% for c in 'añ' %}{{ c }}.{% endfor %}{% for k in {'q': 1} %}
{{ k }}{% endfor %}
{% for x in nothing %}x{% endfor %}{% set x = 1 %}{% for i in range(1, 6, 2) %}{% set x = i %}{{ x }}
{% endfor %}{{ x }}""",
    "scopes": """{% set a, b = 1, 'z' %}{{ a }}{{ b }}{% set c %}[{{ a }}]{% endset %}{{ c }}
{% with d = a + 1 %}{{ d }}{% endwith %}{{ d }}
{% macro f(x, y=a, z='q') -%}<{{ x }}{{ y }}{{ z }}{{ a }}>{%- endmacro %}{{ f(1) }}{{ f(1, z=2) }}
{{ f() ~ f(3, 4, 5) }}
{% if a == 2 %}x{% elif b %}{% set a = 9 %}y{% else %}z{% endif %}{{ a }}{{ f(0) }}
{{ 'p' if a > 3 else 'q' }}{{ ('r' if a > 99) }}
{% set ns = namespace(k='v', n=1) %}{% for i in [1, 2] %}{% set ns.n = ns.n * 3 %}{% endfor %}
{{ ns.n ~ ns.k ~ dict(a=1).a }}""",
}
RENDERS = "console.log(JSON.stringify(given.map(([tree, names]) => render(tree, names))));"
RENDERED = {**{name: text for name, text in TEMPLATES.items() if name != "filters"}, **MORE}


def test_texts_of_templates_are_those_of_python():
    given, wanted = [], []
    for name in RENDERED:
        template = ChatTemplate(RENDERED[name], NAMES)
        for tools in (None, TOOLS):
            more = {"tools": tools, "add_generation_prompt": bool(tools)}
            wanted.append(template.render(MESSAGES, **more))
            rows = [{**m, "reasoning_content": m["reasoning"], "thinking": m["reasoning"]}
                    if "reasoning" in m else m for m in MESSAGES]  # fmt: skip
            given.append([page_template(template), {"messages": rows, "documents": None, **more, **NAMES}])
    for found, text, names in zip(in_node(RENDERS, given), wanted, [n for n in RENDERED for _ in range(2)]):
        assert found == text, names


def test_every_filter_test_and_method_is_compared():
    """Each name that a page has is in a template above."""
    trees = json.dumps([page_template(ChatTemplate(text)) for text in RENDERED.values()])
    lacks = [name for name in (*FILTERS, *METHODS) if f'"{name}"' not in trees]
    assert not lacks
    same = {
        "equalto",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "greaterthan",
        "lessthan",
        "gt",
        "le",
    }  # of eq, ne, ...
    assert not [name for name in TESTS if f'["test", "{name}"' not in trees and name not in same]
