"""Texts of words, ASCII, and characters of all planes of Unicode, for tests of tokenizers."""

import os
import random
import unicodedata

from flambeau.tokenizers.characters import category

SEED = int(os.environ.get("FLAMBEAU_TURN", "0"))
WORDS = [
    *(
        "the",
        " and",
        "Hello",
        " world",
        "été",
        "straße",
        "日本語",
        "123",
        " 4567",
        "ΣΑΣ",
        "İ",
        "don't",
        "I'LL",
    ),
    *("'ſ", "<|im_end|>", "<s>", "</s>", "[CLS]", "<0x41>", " ", "  ", "\n", "\t", "\r\n", "\x1c", "\x85"),
    *("\u3000", "\u200b", "\0", "\ufffd", "▁", "Ġ", "##", "hello", " hello"),
]


def drawn_text(rng: random.Random) -> str:
    """Words, ASCII, the first planes, and any character that UTF-8 can write."""
    parts = []
    for _ in range(rng.randrange(1, 40)):
        kind = rng.random()
        code = rng.randrange(0x3000) if kind < 0.85 else rng.randrange(0x110000)
        is_surrogate = 0xD800 <= code < 0xE000
        ascii_ = chr(rng.randrange(32, 127))
        parts.append(
            rng.choice(WORDS) if kind < 0.45 else ascii_ if kind < 0.6 or is_surrogate else chr(code)
        )
    return "".join(parts)


def texts(count: int, known: unicodedata.UCD | None = None) -> list[str]:
    """Texts, of characters that have the same category in an older version of Unicode."""
    rng = random.Random(SEED)
    drawn = [drawn_text(rng) for _ in range(count)]
    if known is None:
        return drawn
    return ["".join(c for c in t if known.category(c) == category(c)) for t in drawn]
