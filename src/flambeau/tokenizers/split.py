"""Splits texts into words before tokens are looked up, as the `pre_tokenizer` of a tokenizer.json says."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from .characters import SPACES, WHITESPACE, compile_pattern, is_punctuation
from .normalize import pattern_of

Row = Mapping[str, Any]


class TextPiece(NamedTuple):
    """A part of a text, and whether the text begins with it."""

    text: str
    is_first: bool = False


Split = Callable[[TextPiece], list[TextPiece]]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

WORDS = r"[\p{L}\p{M}\p{Nd}\p{Pc}]+|[^\p{L}\p{M}\p{Nd}\p{Pc}\s]+"


def _byte_characters() -> list[str]:
    """Return GPT-2's character for each byte: visible ones for themselves, others from U+0100 on."""
    shown = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(b if b in shown else next(others)) for b in range(256)]


BYTES = _byte_characters()
BYTE_OF = {c: b for b, c in enumerate(BYTES)}


def matches(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, bool]]:
    """Yield (part, whether the pattern matches it) for all of a text, in order."""
    offset = 0
    for match in pattern.finditer(text):
        start, end = match.span()
        if offset < start:
            yield text[offset:start], False
        if start < end:
            yield text[start:end], True
        offset = max(offset, end)
    if offset < len(text):
        yield text[offset:], False


def _join(parts: list[tuple[str, bool]], behavior: str) -> list[str]:
    """Return the pieces of a text, with matches kept as specified."""
    if behavior == "Isolated":
        return [text for text, _ in parts]
    if behavior == "Removed":
        return [text for text, is_match in parts if not is_match]
    pieces: list[str] = []
    was = None  # whether the previous part is a match
    for text, is_match in parts:
        joins = {
            "Contiguous": was is is_match,
            "MergedWithPrevious": is_match and was is False,
            "MergedWithNext": was is True and not is_match,
        }[behavior]
        if joins and pieces:
            pieces[-1] += text
        else:
            pieces.append(text)
        was = is_match
    return pieces


BEHAVIORS = ("Isolated", "Removed", "Contiguous", "MergedWithPrevious", "MergedWithNext")


def _pieces(piece: TextPiece, texts: list[str]) -> list[TextPiece]:
    return [TextPiece(text, piece.is_first and i == 0) for i, text in enumerate(texts)]


def _by_pattern(pattern: re.Pattern[str], behavior: str, inverts: bool = False) -> Split:
    if behavior not in BEHAVIORS:
        raise ValueError(f"behavior {behavior!r}: unknown: one of {', '.join(BEHAVIORS)}")

    def split(piece: TextPiece) -> list[TextPiece]:
        parts = [(text, is_match != inverts) for text, is_match in matches(pattern, piece.text)]
        # characters removed at the start of a text move its start
        return _pieces(piece, _join(parts, behavior))

    return split


def _split(row: Row) -> Split:
    return _by_pattern(
        compile_pattern(pattern_of(row)), row.get("behavior", "Isolated"), bool(row.get("invert"))
    )


def _byte_level(row: Row) -> Split:
    pattern = compile_pattern(GPT2) if row.get("use_regex", True) else None
    adds_space = row.get("add_prefix_space", True)

    def split(piece: TextPiece) -> list[TextPiece]:
        text = piece.text
        if adds_space and not text.startswith(" "):
            text = " " + text
        texts = [text] if pattern is None else [part for part, _ in matches(pattern, text)]
        return _pieces(piece, ["".join(BYTES[b] for b in t.encode("utf-8", "replace")) for t in texts])

    return split


def _metaspace(row: Row) -> Split:
    mark, scheme = row.get("replacement", "▁"), row.get("prepend_scheme", "always")
    splits = row.get("split", True)
    pattern = re.compile(f"{re.escape(mark)}")

    def split(piece: TextPiece) -> list[TextPiece]:
        text = piece.text.replace(" ", mark)
        prepends = scheme == "always" or (scheme == "first" and piece.is_first)
        if prepends and not text.startswith(mark):
            text = mark + text
        if not splits:
            return [TextPiece(text, piece.is_first)]
        return _pieces(piece, _join(list(matches(pattern, text)), "MergedWithNext"))

    return split


def _digits(row: Row) -> Split:
    return _by_pattern(
        compile_pattern(r"\p{N}"), "Isolated" if row.get("individual_digits") else "Contiguous"
    )


def _punctuation(row: Row) -> Split:
    behavior = row.get("behavior", "Isolated")

    def split(piece: TextPiece) -> list[TextPiece]:
        return _pieces(piece, _join([(c, is_punctuation(c)) for c in piece.text], behavior))

    return split


def _bert(_: Row) -> Split:
    def split(piece: TextPiece) -> list[TextPiece]:
        words: list[str] = [""]
        for c in piece.text:
            if c in WHITESPACE:
                words.append("")
            elif is_punctuation(c):
                words += [c, ""]
            else:
                words[-1] += c
        return _pieces(piece, [word for word in words if word])

    return split


def _sequence(row: Row) -> Split:
    steps = [splitter(r) for r in row["pretokenizers"]]

    def split(piece: TextPiece) -> list[TextPiece]:
        pieces = [piece]
        for step in steps:
            pieces = [part for p in pieces for part in step(p)]
        return pieces

    return split


KINDS: dict[str, Callable[[Row], Split]] = {
    "BertPreTokenizer": _bert,
    "ByteLevel": _byte_level,
    "Digits": _digits,
    "Metaspace": _metaspace,
    "Punctuation": _punctuation,
    "Sequence": _sequence,
    "Split": _split,
    "Whitespace": lambda _: _by_pattern(compile_pattern(WORDS), "Removed", True),
    "WhitespaceSplit": lambda _: _by_pattern(re.compile(f"[{SPACES}]"), "Removed"),
}  # fmt: skip


def splitter(row: Row | None) -> Split:
    """Return the function of a `pre_tokenizer`. ValueError for an unknown kind."""
    if not row:
        return lambda piece: [piece]
    kind = row.get("type")
    if kind not in KINDS:
        raise ValueError(f"pre_tokenizer {kind!r}: unknown: one of {', '.join(KINDS)}")
    return KINDS[kind](row)
