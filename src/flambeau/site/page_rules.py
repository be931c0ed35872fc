"""Rewrites the rules of a tokenizer as the steps that web/chat/tokenizer.js takes in a page."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..tokenizers.normalize import FORMS, pattern_of
from ..tokenizers.pieces import kind_of
from ..tokenizers.split import GPT2, WORDS
from ..tokenizers.tokenizer import Tokenizer
from .page_pattern import page_pattern

Row = Mapping[str, Any]
Step = dict[str, Any]


def page_rules(tokenizer: Tokenizer) -> Step:
    """Return the rules of a tokenizer for a page: JSON, with patterns for JavaScript. ValueError names a rule
    that pages do not have."""
    rules = tokenizer.rules
    if any(a.single_word for a in tokenizer.added):
        raise _refused("added token with", "single_word")
    texts = [tokenizer.texts.get(i) for i in range(len(tokenizer))]
    last = {text: i for i, text in enumerate(texts)}
    return {
        "normalize": _steps(NORMALIZERS, "normalizer", rules.get("normalizer")),
        "split": _steps(SPLITTERS, "pre_tokenizer", rules.get("pre_tokenizer")),
        "model": _model(tokenizer, rules["model"]),
        "join": _steps(DECODERS, "decoder", rules.get("decoder") or {"type": "Spaces"}),
        "tokens": texts,
        # texts of other tokens than the last one in `tokens` that has them
        "aliases": {text: i for text, i in tokenizer.vocab.items() if last.get(text) != i},
        "added": [
            {
                "id": a.id,
                "text": a.content,
                "special": a.special,
                "lstrip": a.lstrip,
                "rstrip": a.rstrip,
                "normalized": a.normalized,
            }
            for a in tokenizer.added
            if a.content
        ],
        "before": tokenizer.before,
        "after": tokenizer.after,
    }


def _refused(kind: str, name: Any) -> ValueError:
    return ValueError(f"the tokenizer has the {kind} {name!r}, which is not possible in a page")


def _steps(table: Mapping[str, Callable[[Row], list[Step]]], part: str, row: Row | None) -> list[Step]:
    """Return the steps of a part of the rules."""
    if not row:
        return []
    kind = row.get("type")
    if kind == "Sequence":
        rows: list[Row] = row.get("normalizers") or row.get("pretokenizers") or row.get("decoders") or []
        return [step for r in rows for step in _steps(table, part, r)]
    if kind not in table:
        raise _refused(part, kind)
    return table[str(kind)](row)


def _pattern(row: Row) -> str:
    pattern = row["pattern"]
    return _escaped(pattern["String"]) if "String" in pattern else page_pattern(pattern_of(row))


def _escaped(text: str) -> str:
    """Return a pattern that matches a text."""
    return re.sub(r"[\^$\\.*+?()\[\]{}|/]", r"\\\g<0>", text)


def _replace(row: Row) -> list[Step]:
    return [{"kind": "replace", "pattern": _pattern(row), "text": row["content"]}]


def _strip(row: Row) -> list[Step]:
    sides = [bool(row.get(name)) for name in ("strip_left", "strip_right")]
    return [{"kind": "strip", "left": sides[0], "right": sides[1]}]


NORMALIZERS: dict[str, Callable[[Row], list[Step]]] = {
    **{name: lambda row: [{"kind": "form", "form": row["type"]}] for name in FORMS},
    "Lowercase": lambda _: [{"kind": "lower"}],
    "Replace": _replace,
    "Prepend": lambda row: [{"kind": "prepend", "text": row["prepend"]}],
    "Strip": _strip,
    "StripAccents": lambda _: [{"kind": "replace", "pattern": page_pattern(r"\p{M}"), "text": ""}],
    "Precompiled": lambda row: [{"kind": "map", "map": row["precompiled_charsmap"] or "AAAAAA=="}],
}


def _by_pattern(pattern: str, behavior: str, inverts: bool = False) -> list[Step]:
    return [{"kind": "split", "pattern": pattern, "behavior": behavior, "inverts": inverts}]


def _byte_level(row: Row) -> list[Step]:
    space: list[Step] = [{"kind": "space"}] if row.get("add_prefix_space", True) else []
    split = _by_pattern(page_pattern(GPT2), "Isolated") if row.get("use_regex", True) else []
    return [*space, *split, {"kind": "bytes"}]


def _metaspace(row: Row) -> list[Step]:
    mark, scheme = row.get("replacement", "▁"), row.get("prepend_scheme", "always")
    step: Step = {"kind": "metaspace", "mark": mark, "scheme": scheme}
    return [step, *(_by_pattern(_escaped(mark), "MergedWithNext") if row.get("split", True) else [])]


def _digits(row: Row) -> list[Step]:
    return _by_pattern(page_pattern(r"\p{N}"), "Isolated" if row.get("individual_digits") else "Contiguous")


SPLITTERS: dict[str, Callable[[Row], list[Step]]] = {
    "ByteLevel": _byte_level,
    "Digits": _digits,
    "Metaspace": _metaspace,
    "Split": lambda row: _by_pattern(_pattern(row), row.get("behavior", "Isolated"), bool(row.get("invert"))),
    "Whitespace": lambda _: _by_pattern(page_pattern(WORDS), "Removed", True),
    "WhitespaceSplit": lambda _: _by_pattern(page_pattern(r"\s"), "Removed"),
}
DECODERS: dict[str, Callable[[Row], list[Step]]] = {
    "BPEDecoder": lambda row: [{"kind": "suffix", "suffix": row.get("suffix", "</w>")}],
    "ByteFallback": lambda _: [{"kind": "fallback"}],
    "ByteLevel": lambda _: [{"kind": "bytes"}],
    "Fuse": lambda _: [{"kind": "fuse"}],
    "Metaspace": lambda row: [
        {
            "kind": "metaspace",
            "mark": row.get("replacement", "▁"),
            "scheme": row.get("prepend_scheme", "always"),
        }
    ],
    "Replace": _replace,
    "Spaces": lambda _: [{"kind": "spaces"}],
    "Strip": lambda row: [
        {
            "kind": "strip",
            "text": row["content"],
            "start": int(row.get("start", 0)),
            "stop": int(row.get("stop", 0)),
        }
    ],
}


def _model(tokenizer: Tokenizer, row: Row) -> Step:
    """Return the model of a tokenizer, with tokens as numbers."""
    kind, vocab = kind_of(row), tokenizer.vocab
    names = [f"<0x{b:02X}>" for b in range(256)] if row.get("byte_fallback") else []
    fallback = [vocab[n] for n in names] if names and all(n in vocab for n in names) else None
    if kind == "Unigram":
        scores = [score for _, score in row["vocab"]]
        return {"kind": "unigram", "scores": scores, "unknown": row.get("unk_id"), "bytes": fallback}
    if kind not in ("BPE", "SPM"):
        raise _refused("model", kind)
    unknown = row.get("unk_token")
    step: Step = {
        "kind": "pairs",
        "prefix": row.get("continuing_subword_prefix") or "",
        "suffix": row.get("end_of_word_suffix") or "",
        "unknown": None if unknown is None else vocab.get(unknown),
        "fuses": bool(row.get("fuse_unk")),
        "whole": bool(row.get("ignore_merges")),
        "bytes": fallback,
    }
    if row.get("scores") is not None:
        return step | {"scores": row["scores"]}
    look_up: Any = tokenizer.look_up  # Pairs, whose ranks are in the order of the merges, without doubles
    merges = [
        number for (left, right), (_, joined) in look_up.ranks.items() for number in (left, right, joined)
    ]
    return step | {"merges": merges}
