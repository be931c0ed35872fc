"""Texts to tokens and back, by the rules of a tokenizer.json or a GGUF file."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from ..core.tree import is_dict, is_list, is_mapping
from ..errors import FlambeauError
from .characters import WHITESPACE
from .decode import decoder
from .files import RULES, named_in, read_json
from .gguf import json_of
from .normalize import normalizer
from .pieces import KINDS, kind_of
from .split import TextPiece, matches, splitter

UNFINISHED = "\ufffd"  # the end of a text: the next token has more bytes of its last character
INNER = re.compile(r"<0x[89AB][0-9A-F]>")  # a token of a byte within a character
GUARDS = [chr(c) for c in range(0xFDD0, 0xFDF0)]  # code points that never are characters
HELD = 16  # tokens of an unfinished character, at most


class Added(NamedTuple):
    """A token that is matched in the text before words are: its number, text, and how it is matched."""

    id: int
    content: str
    special: bool = False
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = False


class Tokenizer:
    """Converts texts to tokens and back.

    rules: the content of a tokenizer.json. ValueError for rules that are not supported or that lack a part.
    """

    def __init__(self, rules: Mapping[str, Any]):
        try:
            self._build(rules)
        except (KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as e:
            problem = f"{type(e).__name__}: {e}"
            raise ValueError(f"Tokenizer: its rules are damaged ({problem}): get a complete copy") from None

    def _build(self, rules: Mapping[str, Any]) -> None:
        self.rules = rules
        model = rules["model"]
        kind, rows = kind_of(model), model["vocab"]
        self.vocab: dict[str, int] = (
            dict(rows) if is_mapping(rows) else {text: i for i, (text, _) in enumerate(rows)}
        )
        self.added = [_added(row) for row in rules.get("added_tokens") or ()]
        specials = {a.id for a in self.added if a.special}
        self.look_up = KINDS[kind](model, self.vocab, specials)
        self.texts: dict[int, str] = {number: text for text, number in self.vocab.items()}
        for a in self.added:
            self.vocab[a.content] = a.id
            self.texts[a.id] = a.content
        self.special_ids = frozenset(specials)
        self.normalize = normalizer(rules.get("normalizer"))
        self.split = splitter(rules.get("pre_tokenizer"))
        self.join = decoder(rules.get("decoder"))
        self.before, self.after = _ends(rules.get("post_processor"), self.vocab)
        # by "bos", "eos" and so on: the tokens that the file names
        self.named: dict[str, int] = dict(rules.get("named_tokens") or {})

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> "Tokenizer":
        """Read a tokenizer.json, or the one of a folder with its tokenizer_config.json. FlambeauError names a
        file that is missing or damaged, or rules that are not supported."""
        place, call = Path(path), f"Tokenizer.from_file({str(path)!r})"
        rules = read_json(place / RULES if place.is_dir() else place, call)
        if place.is_dir():
            rules["named_tokens"] = named_in(place, rules, call)
        try:
            return cls(rules)
        except ValueError as e:
            raise FlambeauError(f"{call}: {e}") from None

    @classmethod
    def from_gguf(cls, metadata: Mapping[str, Any]) -> "Tokenizer":
        """Build the tokenizer that a GGUF file's metadata describe. ValueError names an entry that is missing
        or damaged, or an unknown kind of tokenizer."""
        return cls(json_of(metadata))

    def special_texts(self) -> dict[str, str]:
        """Return the texts of special tokens under the names that chat templates have: bos_token, ..."""
        short = {"unknown": "unk", "padding": "pad", "separator": "sep"}
        return {f"{short.get(name, name)}_token": self.texts[i] for name, i in self.named.items()}

    def __len__(self) -> int:
        return max(self.texts, default=-1) + 1

    def encode(
        self,
        text: str,
        *,
        add_special_tokens: bool = True,
        allow_special: bool = False,
        guard: str = "",
    ) -> list[int]:
        """Return the tokens of a text.

        add_special_tokens: begin and end with the tokens that the model expects there. allow_special: texts
        of special tokens, such as "<|im_end|>", become these; by default they are plain text, so that a
        user's text cannot end a message. guard: a character to drop, which keeps a text from being a special
        token, see `protect`.
        """
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"encode({type(text).__name__}): takes a text: pass a str")
        tokens: list[int] = []
        for part, added in self._parts(text, allow_special):
            if added is not None:
                tokens.append(added)
            else:
                part = part.replace(guard, "") if guard else part
                tokens += self._words(TextPiece(part, not tokens))
        return [*self.before, *tokens, *self.after] if add_special_tokens else tokens

    def _words(self, piece: TextPiece) -> list[int]:
        return [token for word in self.split(piece) if word.text for token in self.look_up(word.text)]

    def _parts(self, text: str, allow_special: bool) -> Iterable[tuple[str, int | None]]:
        """Yield (normalised text, None) and ("", added token) in order."""
        raw, normalized = self._patterns[allow_special]
        for part, is_added in _added_in(raw, text):
            if is_added is not None:
                yield "", is_added.id
                continue
            for inner, added in _added_in(normalized, self.normalize(part)):
                yield inner, None if added is None else added.id

    @cached_property
    def _patterns(self) -> dict[bool, tuple["_Matcher", "_Matcher"]]:
        """Return the matchers of added tokens in a raw and in a normalised text, with special ones or not."""
        return {
            allow: tuple(
                _Matcher([a for a in self.added if (allow or not a.special) and a.normalized == where])
                for where in (False, True)
            )
            for allow in (False, True)
        }  # type: ignore[return-value]

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = True) -> str:
        """Return the text of tokens. ValueError for a number that is no token."""
        texts: list[str] = []
        for number in ids:
            number = int(number)
            if number not in self.texts:
                raise ValueError(f"decode({number}): is not a token: there are {len(self):,}, from 0 on")
            if not (skip_special_tokens and number in self.special_ids):
                texts.append(self.texts[number])
        return "".join(self.join(texts)) if texts else ""

    def protect(self, value: Any) -> tuple[Any, str]:
        """Return a copy of nested lists and dicts whose texts hold no special token, and the guard character
        that their special tokens' texts got after their first character."""
        texts = [a.content for a in self.added if a.special and a.content]
        if not texts:
            return value, ""
        guard = next(c for c in GUARDS if c not in json.dumps(value, ensure_ascii=False, default=str))
        pattern = re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True))))
        return _guarded(value, pattern, guard), guard

    def stream(self, *, skip_special_tokens: bool = True) -> "TextStream":
        """Return a decoder of tokens that come one by one."""
        return TextStream(self, skip_special_tokens)


class TextStream:
    """Decodes tokens one by one; a character with bytes in several tokens is returned with the last one.

    tokenizer: of the tokens. skip_special_tokens: leave out special tokens.
    """

    def __init__(self, tokenizer: Tokenizer, skip_special_tokens: bool = True):
        self.tokenizer, self.skips = tokenizer, skip_special_tokens
        self.ids: list[int] = []  # the last tokens, on which the text of the next one depends
        self.shown = ""  # the text of `ids` that was returned

    def push(self, token: int) -> str:
        """Return the text that a token completes, "" if none."""
        if self.skips and token in self.tokenizer.special_ids:
            return ""
        self.ids.append(token)
        text = self._text(self.ids)
        if text.endswith(UNFINISHED) and len(self.ids) <= HELD:
            return ""
        return self._take(text)

    def end(self) -> str:
        """Return the rest of the text, whose last character may be incomplete."""
        return self._take(self._text(self.ids))

    def _text(self, ids: list[int]) -> str:
        return self.tokenizer.decode(ids, skip_special_tokens=False)

    def _take(self, text: str) -> str:
        new = text[len(self.shown) :]
        # A space between words depends on the last token. Of bytes, the last character's are kept.
        last = max(len(self.ids) - 1, 0)
        while last > 0 and INNER.fullmatch(self.tokenizer.texts[self.ids[last]]):
            last -= 1
        self.ids = self.ids[last:]
        self.shown = self._text(self.ids)
        return new


class _Matcher:
    """Finds added tokens in a text: the leftmost, and of those the longest."""

    def __init__(self, tokens: Sequence[Added]):
        self.by_text = {a.content: a for a in tokens if a.content}
        longest_first = sorted(self.by_text, key=len, reverse=True)
        self.pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


def _added_in(matcher: _Matcher, text: str) -> Iterable[tuple[str, Added | None]]:
    """Yield (text between, None) and (text, added token), in order; empty texts are left out."""
    if matcher.pattern is None:
        if text:
            yield text, None
        return
    parts = [*matches(matcher.pattern, text)]
    strips = ""  # the characters that the previous token removes from the next text
    for i, (part, is_token) in enumerate(parts):
        added = matcher.by_text[part] if is_token else None
        if added is not None and added.single_word and _is_in_word(parts, i):
            added = None
        if added is not None:
            yield part, added
            strips = "".join(WHITESPACE) if added.rstrip else ""
            continue
        following = matcher.by_text.get(parts[i + 1][0]) if i + 1 < len(parts) else None
        part = part.lstrip(strips) if strips else part
        if following is not None and following.lstrip:
            part = part.rstrip("".join(WHITESPACE))
        strips = ""
        if part:
            yield part, None


def _is_in_word(parts: list[tuple[str, bool]], i: int) -> bool:
    """Whether a match has a letter or a digit beside it."""
    before = parts[i - 1][0][-1:] if i else ""
    after = parts[i + 1][0][:1] if i + 1 < len(parts) else ""
    return any(c.isalnum() or c == "_" for c in before + after)


def _guarded(value: Any, pattern: re.Pattern[str], guard: str) -> Any:
    if isinstance(value, str):
        return pattern.sub(lambda m: m[0][0] + guard + m[0][1:], value)
    if is_dict(value):
        return {_guarded(k, pattern, guard): _guarded(v, pattern, guard) for k, v in value.items()}
    return [_guarded(v, pattern, guard) for v in value] if is_list(value) else value


def _added(row: Mapping[str, Any]) -> Added:
    fields = {name: row[name] for name in Added._fields if name in row}
    added = Added(**fields)
    if type(added.id) is not int or added.id < 0 or type(added.content) is not str:
        raise ValueError(f"Tokenizer: the added token {added.content!r} has the number {added.id!r}")
    return added


def _ends(row: Mapping[str, Any] | None, vocab: Mapping[str, int]) -> tuple[list[int], list[int]]:
    """Return the tokens before and after a text, as a `post_processor` has them."""
    kind = (row or {}).get("type")
    if row is None or kind == "ByteLevel":
        return [], []
    if kind in ("BertProcessing", "RobertaProcessing"):
        return [row["cls"][1]], [row["sep"][1]]
    if kind == "Sequence":
        ends = [_ends(r, vocab) for r in row["processors"]]
        return [t for a, _ in reversed(ends) for t in a], [t for _, b in ends for t in b]
    if kind != "TemplateProcessing":
        raise ValueError(f"post_processor {kind!r}: unknown: one of TemplateProcessing, BertProcessing, "
                         "RobertaProcessing, ByteLevel, Sequence")  # fmt: skip
    out: tuple[list[int], list[int]] = [], []
    side = 0
    for item in row["single"]:
        if "Sequence" in item:
            side = 1
            continue
        name = item["SpecialToken"]["id"]
        ids: Any = row["special_tokens"].get(name, {}).get("ids") or [vocab[name]]
        out[side].extend(ids if is_list(ids) else [ids])
    return out
