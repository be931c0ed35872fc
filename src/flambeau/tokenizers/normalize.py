"""Normalises texts before they are split, as the `normalizer` of a tokenizer.json says."""

import base64
import re
import struct
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from .characters import WHITESPACE, category, compile_pattern

Change = Callable[[str], str]
Row = Mapping[str, Any]
FORMS = ("NFC", "NFD", "NFKC", "NFKD")


def pattern_of(row: Row) -> str:
    """Return the regular expression of a row's `pattern`, which may be a plain string."""
    pattern = row["pattern"]
    return re.escape(pattern["String"]) if "String" in pattern else pattern["Regex"]


def _form(name: str) -> Callable[[Row], Change]:
    return lambda _: lambda text: unicodedata.normalize(name, text)  # type: ignore[arg-type]


def _sequence(row: Row) -> Change:
    steps = [normalizer(r) for r in row["normalizers"]]

    def change(text: str) -> str:
        for step in steps:
            text = step(text)
        return text

    return change


def _lower(text: str) -> str:
    # character by character: str.lower has a rule for a sigma at the end of a word
    return "".join(c.lower() for c in text)


def _replace(row: Row) -> Change:
    compiled, content = compile_pattern(pattern_of(row)), row["content"]
    return lambda text: compiled.sub(lambda _: content, text)


def _prepend(row: Row) -> Change:
    return lambda text: row["prepend"] + text if text else text


def _strip(row: Row) -> Change:
    spaces = "".join(WHITESPACE)

    def change(text: str) -> str:
        text = text.lstrip(spaces) if row.get("strip_left") else text
        return text.rstrip(spaces) if row.get("strip_right") else text

    return change


def _without(kind: str) -> Change:
    """Drop the characters of a general category."""
    return lambda text: "".join(c for c in text if not category(c).startswith(kind))


def _bert(row: Row) -> Change:
    lower = row.get("lowercase", True)
    strips = lower if row.get("strip_accents") is None else row["strip_accents"]
    strip = _without("Mn")

    def change(text: str) -> str:
        if row.get("clean_text", True):
            text = "".join(" " if c in WHITESPACE else c for c in text if not _is_removed(c))
        if row.get("handle_chinese_chars", True):
            text = "".join(f" {c} " if _is_chinese(ord(c)) else c for c in text)
        if strips:
            text = strip(unicodedata.normalize("NFD", text))
        return _lower(text) if lower else text

    return change


def _is_removed(c: str) -> bool:
    """Whether BERT drops a character: control characters but for tabs and ends of lines."""
    return c in "\0\ufffd" or (c not in "\t\n\r" and category(c) in ("Cc", "Cf", "Co", "Cs"))


CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def _is_chinese(code: int) -> bool:
    return code >= 0x3400 and any(a <= code <= b for a, b in CHINESE)


class CharacterMap:
    """SentencePiece's precompiled map of characters: a double-array trie and the texts that replace its keys.

    blob: 4 bytes with the size of the trie, its words, and the texts with a zero byte after each. ValueError
    for a damaged one.
    """

    def __init__(self, blob: bytes):
        size = int.from_bytes(blob[:4], "little")
        if len(blob) < 4 or size % 4 or size + 4 > len(blob):
            raise ValueError(f"precompiled_charsmap of {len(blob):,} bytes: is damaged: get a complete copy")
        self.units = struct.unpack(f"<{size // 4}I", blob[4 : 4 + size])
        self.texts = blob[4 + size :]
        self.known: dict[str, str] = {}

    def prefix(self, key: bytes) -> int | None:
        """Return the place of the text for the shortest prefix of `key` that has one."""
        units = self.units
        if not units:
            return None
        node = self._offset(units[0])
        for byte in key:
            node ^= byte
            if node >= len(units) or units[node] & 0x800000FF != byte:
                return None
            leaf = units[node] >> 8 & 1
            node ^= self._offset(units[node])
            if leaf:
                return units[node] & 0x7FFFFFFF if node < len(units) else None
        return None

    @staticmethod
    def _offset(unit: int) -> int:
        return unit >> 10 << ((unit & 1 << 9) >> 6)

    def of(self, grapheme: str) -> str:
        """Return the text that replaces a character, or the character."""
        if grapheme not in self.known:
            node = self.prefix(grapheme.encode())
            end = -1 if node is None else self.texts.find(b"\0", node)
            self.known[grapheme] = grapheme if end < 0 else str(self.texts[node:end], "utf-8", "replace")
        return self.known[grapheme]

    def __call__(self, text: str) -> str:
        return "".join(map(self.of, text))


def _precompiled(row: Row) -> Change:
    return CharacterMap(base64.b64decode(row["precompiled_charsmap"] or "AAAAAA=="))


KINDS: dict[str, Callable[[Row], Change]] = {
    **{name: _form(name) for name in FORMS},
    "Sequence": _sequence,
    "Lowercase": lambda _: _lower,
    "Replace": _replace,
    "Prepend": _prepend,
    "Strip": _strip,
    "StripAccents": lambda _: _without("M"),
    "BertNormalizer": _bert,
    "Precompiled": _precompiled,
}


def normalizer(row: Row | None) -> Change:
    """Return the function of a `normalizer`. ValueError for an unknown kind."""
    if not row:
        return lambda text: text
    kind = row.get("type")
    if kind not in KINDS:
        raise ValueError(f"normalizer {kind!r}: unknown: one of {', '.join(KINDS)}")
    return KINDS[kind](row)
