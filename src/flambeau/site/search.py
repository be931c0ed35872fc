"""Builds the index that a page searches: names of functions first, then the words of all sections."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import NamedTuple

WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]+|\d+[a-z]+")
# words that almost every section has
USUAL = (
    "the a an of and or in on at to for is are be with as by it its that this from not no one each all can"
    " has have if into than which what when where you your their they them also only other same"
)
COMMON = set(USUAL.split())
IN_TITLE = 8  # how much more a word of a title counts than one of the text


class Found(NamedTuple):
    """A place that a search finds: the titles of its page and section, its address, and its text."""

    page: str
    title: str
    url: str
    text: str


def words_of(text: str) -> list[str]:
    """Split a text into lower-case words; names with dots and underscores also in their parts."""
    words: list[str] = []
    for word in WORD.findall(text):
        lower = word.lower()
        words += [lower, *(part for part in lower.split("_") if len(part) > 1 and part != lower)]
    return [word for word in words if word not in COMMON and len(word) > 1]


def index(places: Iterable[Found]) -> str:
    """Return the index as JSON: `places` [page, title, url], and `words` {word: [place, weight, ...]}."""
    rows: list[list[str]] = []
    words: dict[str, list[int]] = {}
    for number, place in enumerate(places):
        rows.append([place.page, place.title, place.url])
        counts: dict[str, int] = {}
        for word in words_of(place.text):
            counts[word] = min(counts.get(word, 0) + 1, IN_TITLE // 2)
        for word in words_of(f"{place.title}"):
            counts[word] = counts.get(word, 0) + IN_TITLE
        for word, weight in counts.items():
            words.setdefault(word, []).extend((number, weight))
    return json.dumps({"places": rows, "words": words}, separators=(",", ":"))


def name_index(names: Iterable[tuple[str, str, str]]) -> str:
    """Return the names of functions as JSON: [[name, url, first sentence], ...]."""
    return json.dumps([list(row) for row in names], separators=(",", ":"))
