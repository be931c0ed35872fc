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
# words of a question that say nothing about its subject
ASKING = "how do does did my me we am was want would could should get please"
FILLERS = sorted(COMMON | set(ASKING.split()))
IN_TITLE = 8  # the weight of a word in a title, relative to one in the text
IN_PAGE_TITLE = 3  # for the sections below the title
# Weights of folders and pages: readers want to do something before they change Flambeau.
WEIGHTS = {
    "howto/": 2.0,
    "internals/": 0.3,
    "contributing": 0.3,
    "performance": 0.3,
    "coverage": 0.3,
    "book/": 0.8,
    "examples/": 0.6,
}
# Pages by address, and words for them that they do not have, or not in their titles.
SUBJECTS = {
    "book/gpt.html#a-gpt-from-nothing": "train gpt transformer language llm",
    "fine_tuning.html#fine-tuning": "transfer learning pretrained freeze finetune head",
    "recording.html#memory": "out memory oom",
    "learner.html#learner": "train confusion matrix early stopping best curves",
    "howto/training_loop.html#write-your-own-training-loop": "gradient accumulation accumulate clip",
    "howto/metrics.html#measure-what-you-train": "confusion matrix imbalanced classes f1",
    "install.html#install": "docker container wsl driver drivers gpu found",
    "models.html#ready-made-networks-and-text-generation": "huggingface hub transformers timm pretrained",
    "examples.html#examples": "vae autoencoder gan lstm dqn reinforcement learning diffusion scripts",
    "nn.html#recurrent-layers": "lstm gru rnn",
    "tables.html#tables": "csv pandas dataframe tabular excel",
    "data.html#data": "custom dataset class weights imbalanced oversampling",
    "howto/arrays.html#convert-numpy-arrays-and-tensors": "array from_numpy asarray convert cpu",
    "howto/sequences.html#train-on-sequences-of-different-lengths": "variable length ragged padded padding",
}
# The words of the pages, as readers type them.
SYNONYMS = {
    "clipping": ["clip_grad_norm", "clip"],
    "export": ["page", "save_program"],
    "finder": ["lr_find"],
    "fp16": ["float16", "bits"],
    "gpu": ["devices", "device"],
    "gpus": ["devices"],
    "model": ["weights"],
    "multiple": ["several"],
    "oom": ["memory"],
    "resume": ["checkpoint", "checkpoints"],
    "two": ["several"],
}


class Found(NamedTuple):
    """A search result: the titles of its page and section, its address, and its text."""

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
    """Return the index as JSON: `places` [page, title, url, weight], `words` {word: [place, score, ...]}, and
    `fillers` and `synonyms` for the words of a query."""
    rows: list[list[str | float]] = []
    words: dict[str, list[int]] = {}
    for number, place in enumerate(places):
        rows.append([place.page, place.title, place.url, weight_of(place.url)])
        counts: dict[str, int] = {}
        for word in words_of(place.text):
            counts[word] = min(counts.get(word, 0) + 1, IN_TITLE // 2)
        for word in words_of(place.title):
            counts[word] = counts.get(word, 0) + IN_TITLE
        for word in SUBJECTS.get(place.url, "").split():
            counts[word] = counts.get(word, 0) + IN_TITLE
        if place.page != place.title:
            for word in words_of(place.page):
                counts[word] = counts.get(word, 0) + IN_PAGE_TITLE
        for word, weight in counts.items():
            words.setdefault(word, []).extend((number, weight))
    facts = {"places": rows, "words": words, "fillers": FILLERS, "synonyms": SYNONYMS}
    return json.dumps(facts, separators=(",", ":"))


def weight_of(url: str) -> float:
    """Return how much a page counts in the order of results."""
    return next((weight for start, weight in WEIGHTS.items() if url.startswith(start)), 1.0)


def name_index(names: Iterable[tuple[str, str, str]]) -> str:
    """Return the names of functions as JSON: [[name, url, first sentence], ...]."""
    return json.dumps([list(row) for row in names], separators=(",", ":"))
