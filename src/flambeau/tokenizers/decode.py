"""Joins the texts of tokens, as the `decoder` of a tokenizer.json says."""

import re
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

from .characters import compile_pattern
from .normalize import pattern_of
from .split import BYTE_OF

Row = Mapping[str, Any]
Decode = Callable[[list[str]], list[str]]
BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
# spaces of a text that BERT's words were split at
CLEAN = ((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m"),
         (" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"))  # fmt: skip


def _byte_level(_: Row) -> Decode:
    def decode(texts: list[str]) -> list[str]:
        raw = bytearray()
        for text in texts:
            # a token that was added has a text of its own
            is_bytes = all(c in BYTE_OF for c in text)
            raw += bytes(BYTE_OF[c] for c in text) if is_bytes else text.encode("utf-8", "replace")
        return [raw.decode("utf-8", "replace")]

    return decode


def _metaspace(row: Row) -> Decode:
    mark, scheme = row.get("replacement", "▁"), row.get("prepend_scheme", "always")

    def decode(texts: list[str]) -> list[str]:
        spaced = [text.replace(mark, " ") for text in texts]
        if scheme != "never" and spaced:
            spaced[0] = spaced[0].removeprefix(" ")
        return spaced

    return decode


def _byte_fallback(_: Row) -> Decode:
    def decode(texts: list[str]) -> list[str]:
        out: list[str] = []
        for is_bytes, group in groupby(texts, lambda text: bool(BYTE.fullmatch(text))):
            if not is_bytes:
                out += group
                continue
            raw = bytes(int(text[3:5], 16) for text in group)
            try:
                out.append(raw.decode())
            except UnicodeDecodeError:
                out += ["\ufffd"] * len(raw)
        return out

    return decode


def _replace(row: Row) -> Decode:
    pattern, content = compile_pattern(pattern_of(row)), row["content"]
    return lambda texts: [pattern.sub(lambda _: content, text) for text in texts]


def _strip(row: Row) -> Decode:
    content, start, stop = row["content"], int(row.get("start", 0)), int(row.get("stop", 0))

    def strip(text: str) -> str:
        for _ in range(start):
            text = text.removeprefix(content)
        for _ in range(stop):
            text = text.removesuffix(content)
        return text

    return lambda texts: [strip(text) for text in texts]


def _clean(text: str) -> str:
    for old, new in CLEAN:
        text = text.replace(old, new)
    return text


def _word_piece(row: Row) -> Decode:
    prefix, cleans = row.get("prefix", "##"), row.get("cleanup", True)

    def decode(texts: list[str]) -> list[str]:
        joined = [
            text.replace(prefix, "", 1) if i and text.startswith(prefix) else (" " * (i > 0)) + text
            for i, text in enumerate(texts)
        ]
        return [_clean(text) for text in joined] if cleans else joined

    return decode


def _bpe(row: Row) -> Decode:
    suffix = row.get("suffix", "</w>")

    def decode(texts: list[str]) -> list[str]:
        suffixes = [" "] * (len(texts) - 1) + [""]
        return [text.replace(suffix, end) for text, end in zip(texts, suffixes, strict=True)]

    return decode


def _sequence(row: Row) -> Decode:
    steps = [decoder(r) for r in row["decoders"]]

    def decode(texts: list[str]) -> list[str]:
        for step in steps:
            texts = step(texts)
        return texts

    return decode


KINDS: dict[str, Callable[[Row], Decode]] = {
    "BPEDecoder": _bpe,
    "ByteFallback": _byte_fallback,
    "ByteLevel": _byte_level,
    "Fuse": lambda _: lambda texts: ["".join(texts)],
    "Metaspace": _metaspace,
    "Replace": _replace,
    "Sequence": _sequence,
    "Strip": _strip,
    "WordPiece": _word_piece,
}


def decoder(row: Row | None) -> Decode:
    """Return the function of a `decoder`. ValueError for an unknown kind."""
    if not row:
        return lambda texts: [" ".join(texts)]
    kind = row.get("type")
    if kind not in KINDS:
        raise ValueError(f"decoder {kind!r}: unknown: one of {', '.join(KINDS)}")
    return KINDS[kind](row)
