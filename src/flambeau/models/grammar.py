"""Constrains the tokens of a text to a regular expression or a JSON schema."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..tokenizers import Tokenizer
from ..tokenizers.decode import BYTE
from ..tokenizers.split import BYTE_OF
from .automaton import DEAD, ROOT, START, Automaton, ByteProgram
from .expressions import Expression, regular
from .schema import schema_rules

KEPT_MASKS = 1024  # states of which the allowed tokens are kept: 19 KB each for 150,000 tokens
KEPT_STATES = 10_000  # of an automaton that a new text goes on with


class Grammar:
    """The texts that a model may write: the `grammar` of `generate`.

    rules: expressions of bytes by name; `root` is the whole text. name: what an error calls it.
    ValueError if no text satisfies them, or they are too large.
    """

    def __init__(self, rules: Mapping[str, Expression], name: str = "grammar"):
        self.name = name
        try:
            self.program = ByteProgram(rules)
        except (ValueError, RecursionError) as e:
            raise ValueError(f"{name}: {e}") from None
        self.automaton = Automaton(self.program)
        self.masks: dict[tuple[int, int], np.ndarray] = {}

    @classmethod
    def from_regex(cls, pattern: str) -> "Grammar":
        """Return the texts that a regular expression matches as a whole. ValueError for a wrong one, or one
        with assertions, references or flags."""
        name = f"regex={_short(pattern)}"
        try:
            return cls({ROOT: regular(pattern)}, name)
        except ValueError as e:
            text = str(e)
            raise ValueError(text if text.startswith(name) else f"{name}: {text}") from None

    @classmethod
    def from_json_schema(cls, schema: Mapping[str, Any] | bool | str) -> "Grammar":
        """Return the JSON texts that a schema allows, as text or as the object. ValueError names a keyword
        that is not supported, or says that no text satisfies it."""
        name = "json_schema"
        try:
            parsed: Any = json.loads(schema) if isinstance(schema, str) else schema
        except (ValueError, RecursionError):
            raise ValueError(f"{name}={_short(str(schema))}: is not JSON") from None
        try:
            rules = schema_rules(parsed)
        except RecursionError:
            raise ValueError(f"{name}: is nested too deeply") from None
        except ValueError as e:
            raise ValueError(f"{name}: {e}") from None
        return cls(rules, name)

    def begin(self) -> Automaton:
        """Return the automaton of a new text."""
        if len(self.automaton) > KEPT_STATES:  # deep texts; texts that are being written keep theirs
            self.automaton, self.masks = Automaton(self.program), {}
        return self.automaton

    def matches(self, text: str | bytes) -> bool:
        """Return whether it allows a whole text."""
        automaton, state = self.begin(), START
        for byte in text.encode() if isinstance(text, str) else text:
            state = automaton.step(state, byte)
        return automaton.accepts[state]


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


class TrieLevel(NamedTuple):
    """The nodes of a trie at one depth: each one's parent in the level above and its byte; and the tokens
    that end at this depth, with their nodes."""

    parents: np.ndarray
    values: np.ndarray
    tokens: np.ndarray
    nodes: np.ndarray


class TokenTrie:
    """The bytes of tokens as a trie, level by level.

    texts: of each token; None for a token that no grammar writes.
    """

    def __init__(self, texts: Sequence[bytes | None]):
        self.texts = list(texts)
        self.levels: list[TrieLevel] = []
        ids = np.array([i for i, text in enumerate(texts) if text], np.int64)
        used = [text for text in texts if text]
        sizes = np.array([len(text) for text in used], np.int64)
        flat = np.frombuffer(b"".join(used), np.uint8)
        begins = np.concatenate([[0], np.cumsum(sizes)])[:-1] if len(used) else sizes
        nodes, depth = np.zeros(len(ids), np.int64), 0
        while len(ids):
            keys, nodes = np.unique(nodes * 256 + flat[begins + depth], return_inverse=True)
            depth += 1
            ends = sizes == depth
            self.levels.append(TrieLevel(keys // 256, keys % 256, ids[ends], nodes[ends]))
            ids, nodes, sizes, begins = ids[~ends], nodes[~ends], sizes[~ends], begins[~ends]

    def allowed(self, automaton: Automaton, state: int, size: int) -> np.ndarray:
        """Return which tokens continue a text at a state. -> bool [size]"""
        allowed = np.zeros(max(size, len(self.texts)), np.bool_)
        states = np.array([state], np.int32)
        for level in self.levels:
            states = automaton.steps(states[level.parents], level.values)
            allowed[level.tokens] = states[level.nodes] != DEAD
            if not states.any():
                break
        return allowed[:size]


def token_bytes(tokenizer: Tokenizer) -> list[bytes | None]:
    """Return the bytes that each token writes; None for special tokens and unused numbers. ValueError for
    word pieces, whose texts depend on their neighbours."""
    kinds: set[str] = set()
    mark = " "
    todo: list[Any] = [tokenizer.rules.get("decoder")]
    while todo:
        row: Any = todo.pop()
        if not row:
            continue
        kinds.add(row["type"])
        todo += row.get("decoders", [])
        if row["type"] == "Metaspace":
            mark = row.get("replacement", "▁")
        elif row["type"] == "Replace" and row.get("content") == " ":
            mark = row.get("pattern", {}).get("String", mark)
    if not kinds & {"ByteLevel", "Metaspace", "Replace"} or kinds & {"WordPiece", "BPEDecoder"}:
        raise ValueError("the tokenizer's tokens have no bytes of their own: a grammar needs one that has")
    added = {a.id for a in tokenizer.added}
    texts: list[bytes | None] = [None] * len(tokenizer)
    for i, text in tokenizer.texts.items():
        if i in tokenizer.special_ids:
            continue
        if "ByteLevel" in kinds:
            is_bytes = i not in added and all(c in BYTE_OF for c in text)
            texts[i] = bytes(BYTE_OF[c] for c in text) if is_bytes else text.encode("utf-8", "replace")
        elif "ByteFallback" in kinds and (byte := BYTE.fullmatch(text)):
            texts[i] = bytes([int(byte[1], 16)])
        else:
            texts[i] = text.replace(mark, " ").encode("utf-8", "replace")
    return texts


_vocabularies: WeakKeyDictionary[Tokenizer, TokenTrie] = WeakKeyDictionary()


def vocabulary_of(tokenizer: Any) -> TokenTrie:
    """Return the vocabulary of a tokenizer. ValueError for one of another library."""
    if not isinstance(tokenizer, Tokenizer):
        rule = "pass tokenizer= with the flambeau.tokenizers.Tokenizer of the model"
        raise ValueError(f"a grammar needs the bytes of tokens: {rule}")
    if tokenizer not in _vocabularies:
        _vocabularies[tokenizer] = TokenTrie(token_bytes(tokenizer))
    return _vocabularies[tokenizer]


class Guide:
    """Follows the text of one row, and says which tokens may come next.

    grammar: of the text. vocabulary: of the tokens. ends: tokens that end a row. size: the number of tokens
    that the model has scores for.
    """

    def __init__(self, grammar: Grammar, vocabulary: TokenTrie, ends: Sequence[int], size: int):
        self.grammar, self.vocabulary, self.ends, self.size = grammar, vocabulary, ends, size
        self.automaton, self.masks = grammar.begin(), grammar.masks
        self.state, self.is_over = START, False

    def mask(self) -> np.ndarray:
        """Return the tokens that may come next, a bit each, the lowest first; all after the end.
        -> int32 [size / 32, rounded up]. ValueError if the vocabulary cannot write the grammar's texts."""
        if self.is_over:
            return np.full(-(-self.size // 32), -1, np.int32)
        key = (id(self.vocabulary), self.state)
        mask = self.masks.get(key)
        if mask is None:
            if len(self.masks) >= KEPT_MASKS:
                self.masks.clear()
            mask = self.masks[key] = self._find()
        return mask

    def _find(self) -> np.ndarray:
        try:
            allowed = self.vocabulary.allowed(self.automaton, self.state, self.size)
        except ValueError as e:
            raise ValueError(f"{self.grammar.name}: {e}") from None
        ends = [end for end in self.ends if 0 <= end < self.size]
        allowed[ends] = self.automaton.accepts[self.state]
        if not allowed.any() and not self.automaton.accepts[self.state]:
            raise ValueError(f"{self.grammar.name}: no token of the vocabulary continues the text")
        bits = np.packbits(allowed, bitorder="little")
        return np.pad(bits, (0, -len(bits) % 4)).view("<i4").astype(np.int32)

    def push(self, token: int) -> bool:
        """Take the token that was written. Return whether the row has ended."""
        if self.is_over or token in self.ends:
            self.is_over = True
            return True
        for byte in self.vocabulary.texts[token] or b"":
            self.state = self.automaton.step(self.state, byte)
        # without an end token, a text is over where nothing can follow
        self.is_over = not self.ends and not self.mask().any()
        return self.is_over


GRAMMARS = ("regex", "json_schema", "grammar")  # options of `generate`


def grammar_of(options: dict[str, Any]) -> Grammar | None:
    """Take `regex`, `json_schema` and `grammar` out of the options of a text. ValueError for several of them,
    or a wrong one."""
    sources = {name: options.pop(name, None) for name in GRAMMARS}
    sources = {name: value for name, value in sources.items() if value is not None}
    if len(sources) > 1:
        raise ValueError(f"generate({'=..., '.join(sources)}=...): do not go together: pass one of them")
    for name, value in sources.items():
        if name == "grammar" and isinstance(value, Grammar):
            return value
        if name == "regex" and isinstance(value, str):
            return Grammar.from_regex(value)
        if name == "json_schema" and isinstance(value, Mapping | str | bool):
            return Grammar.from_json_schema(value)  # pyright: ignore[reportUnknownArgumentType]
        rules = {"regex": "a text", "json_schema": "a dict or a text", "grammar": "a models.Grammar"}
        raise ValueError(f"generate({name}={type(value).__name__}): pass {rules[name]}")
    return None
