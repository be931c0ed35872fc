"""Metrics of text: perplexity of logits, edit distances of words and characters, and n-gram scores."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from math import exp, log
from typing import Any

from ..core.dtype import float32
from ..core.node import describe
from ..device import DeviceLike
from ..functions import stack
from ..tensor import Tensor
from .inputs import check_count, check_labels, check_option, refuse, split
from .metric import Metric
from .states import counts, mean_of, plus, precise


class Perplexity(Metric):
    """exp of the mean of -log p over tokens: the effective number of tokens that the model chooses from.

    ignore_index: a target that is ignored
    update raises ValueError if predictions and targets do not fit together.
    """

    higher_is_better = False

    def __init__(self, ignore_index: int | None = None, device: DeviceLike | None = None):
        super().__init__(device)
        self.ignore_index = ignore_index
        self.add_state("sums", precise(2, device=self.device), "precise")
        self.add_state("strange", counts(device=self.device), "sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count logits. [n, steps, tokens] and [n, steps]; ValueError for other shapes, or targets that
        are floats."""
        if preds.ndim != 3 or preds.shape[:2] != target.shape or not preds.dtype.is_float:
            refuse(
                self, preds, target, "takes logits and tokens: pass floats [n, steps, tokens] and [n, steps]"
            )
        check_labels(self, preds, target)
        size = preds.shape[2]
        target, ok, wrong = split(target, size, self.ignore_index)
        logits = preds.to(float32).log_softmax(-1)
        # ignored and invalid targets are clamped to an index that exists, and masked below
        scores = logits.take_along_dim(target.clamp(0, size - 1).unsqueeze(-1), -1).squeeze(-1)
        sums = stack([-ok.where(scores, 0.0).sum(), ok.sum().to(float32)])
        self.states["sums"].replace_(plus(self.states["sums"], sums))
        self.states["strange"].replace_(self.states["strange"] + wrong.sum())

    def compute(self) -> Any:
        """Return the perplexity, at least 1; NaN without tokens."""
        return mean_of(self.states["sums"]).exp()

    def wrong(self) -> Any:
        return (self.states["strange"],)

    def check(self, counts: Sequence[int]) -> None:
        if any(counts):
            cure = "use those, or pass ignore_index for positions without a token"
            raise ValueError(
                f"{self.name}.compute(): {counts[0]} targets were not tokens of the logits: {cure}"
            )


# --- strings, which are counted on the host ---


def texts(metric: Metric, preds: Any, target: Any) -> list[tuple[str, str]]:
    """Pair predictions with targets. TypeError for values other than strings, ValueError for unequal
    lengths."""
    first, second = ([x] if isinstance(x, str) else list(x) for x in (preds, target))
    others = [x for x in (*first, *second) if not isinstance(x, str)]
    if others:
        raise TypeError(f"{metric.name}({describe(others[0])}): takes strings: decode tokens first")
    check_pairs(metric, first, second)
    return list(zip(first, second, strict=True))


def check_pairs(metric: Metric, preds: Sequence[Any], target: Sequence[Any]) -> None:
    if len(preds) != len(target):
        call = f"{metric.name}({len(preds)} predictions, {len(target)} targets)"
        raise ValueError(f"{call}: numbers differ: pass a target for each prediction")


def edits(a: Sequence[Any], b: Sequence[Any], substitution: int = 1) -> int:
    """Return the least cost of insertions, deletions and substitutions from a to b (Levenshtein, 1966)."""
    # Wagner and Fischer's table, row by row: `before` has the costs from a[:i - 1] to each prefix of b.
    before = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            # delete x, insert y, or replace x by y (free if equal)
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y and substitution)))
        before = row
    return before[-1]


class ErrorRate(Metric):
    """The number of edits divided by the length of the reference."""

    higher_is_better = False

    def __init__(self):
        super().__init__("cpu")
        # Python ints: strings are counted on the host, without a tensor.
        self.add_state("errors", 0, "sum")
        self.add_state("total", 0, "sum")

    def parts(self, text: str) -> Sequence[str]:
        """Split a text into the units that are compared."""
        return text.split()

    def length(self, pred: Sequence[str], target: Sequence[str]) -> int:
        """Return the divisor of the number of edits."""
        return len(target)

    def update(self, preds: str | Iterable[str], target: str | Iterable[str]) -> None:
        """Count strings, one or several; TypeError for others, ValueError for unequal numbers."""
        for one, other in texts(self, preds, target):
            a, b = self.parts(one), self.parts(other)
            self.states["errors"] += edits(a, b)
            self.states["total"] += self.length(a, b)

    def compute(self) -> float:
        """Return the rate, at least 0. It may exceed 1, and is NaN without words."""
        return self.states["errors"] / self.states["total"] if self.states["total"] else float("nan")


class WordErrorRate(ErrorRate):
    """Word edits divided by the number of words of the reference.

    update raises ValueError if predictions and targets do not fit together.
    """


class CharErrorRate(ErrorRate):
    """Character edits divided by the number of characters of the reference.

    update raises ValueError if predictions and targets do not fit together.
    """

    def parts(self, text: str) -> Sequence[str]:
        return text


class MatchErrorRate(ErrorRate):
    """Word edits divided by the number of words of the longer text.

    update raises ValueError if predictions and targets do not fit together.
    """

    def length(self, pred: Sequence[str], target: Sequence[str]) -> int:
        return max(len(pred), len(target))


class EditDistance(Metric):
    """Character edits: their mean, sum, or each. substitution_cost: the cost of a substitution; reduction:
    "mean", "sum" or "none".

    Raises ValueError if an argument is not valid.
    """

    higher_is_better = False

    def __init__(self, substitution_cost: int = 1, reduction: str | None = "mean"):
        super().__init__("cpu")
        check_count(self.name, "substitution_cost", substitution_cost, 0)
        check_option(self.name, "reduction", reduction, ("mean", "sum", "none", None))
        self.substitution_cost, self.reduction = substitution_cost, reduction
        self.add_state("each", (), "sum")

    def update(self, preds: str | Iterable[str], target: str | Iterable[str]) -> None:
        """Count strings, one or several; TypeError for others, ValueError for unequal numbers."""
        distances = [edits(a, b, self.substitution_cost) for a, b in texts(self, preds, target)]
        self.states["each"] += tuple(distances)

    def compute(self) -> Any:
        """Return the mean or sum, or one per pair."""
        each = self.states["each"]
        if self.reduction in ("none", None):
            return list(each)
        return sum(each) if self.reduction == "sum" else sum(each) / len(each) if each else float("nan")


def runs(words: Sequence[str], longest: int) -> Counter[tuple[str, ...]]:
    """Count the n-grams of 1 to `longest` words."""
    return Counter(tuple(words[i : i + n]) for n in range(1, longest + 1) for i in range(len(words) - n + 1))


SMOOTHINGS = (False, True, "epsilon", "exponential")


class BLEUScore(Metric):
    """The n-gram precision of translations against references, with a brevity penalty (Papineni et al.,
    2002).

    n_gram: the longest n-gram. weights: of each length, equal if None. smooth: True adds 1 to the counts of
    n-grams longer than a word (Lin and Och, 2004). For a length without matches, "epsilon" counts `epsilon`,
    "exponential" 1/2, 1/4, ... (methods 1 and 3 of Chen and Cherry, 2014), and False makes the score 0.
    Raises ValueError if an argument is not valid.
    """

    higher_is_better = True

    def __init__(
        self,
        n_gram: int = 4,
        smooth: bool | str = False,
        weights: Sequence[float] | None = None,
        epsilon: float = 0.1,
    ):
        super().__init__("cpu")
        check_count(self.name, "n_gram", n_gram, 1)
        check_option(self.name, "smooth", smooth, SMOOTHINGS)
        if weights is not None and len(weights) != n_gram:
            arguments = f"n_gram={n_gram}, weights of {len(weights)}"
            raise ValueError(f"{self.name}({arguments}): each n-gram length needs a weight: pass {n_gram}")
        self.n_gram, self.smooth, self.epsilon = n_gram, smooth, epsilon
        # found_n, total_n: matched and predicted n-grams over the corpus. BLEU sums counts before dividing,
        # unlike a mean of sentences.
        self.weights = list(weights or [1 / n_gram] * n_gram)
        for i in range(1, n_gram + 1):
            self.add_state(f"found_{i}", 0, "sum")
            self.add_state(f"total_{i}", 0, "sum")
        self.add_state("preds_len", 0, "sum")
        self.add_state("target_len", 0, "sum")

    def update(self, preds: str | Sequence[str], target: Sequence[Any]) -> None:
        """Count translations and the references of each, a string or several; ValueError for unequal
        numbers."""
        preds = [preds] if isinstance(preds, str) else list(preds)
        target = [[t] if isinstance(t, str) else list(t) for t in target]
        check_pairs(self, preds, target)
        states = self.states
        for text, references in zip(preds, target, strict=True):
            words, others = text.split(), [r.split() for r in references]
            states["preds_len"] += len(words)
            # the closest reference length; of two equally close ones the first
            states["target_len"] += min(map(len, others), key=lambda n: abs(len(words) - n))
            own_runs = runs(words, self.n_gram)
            reference_runs: Counter[Any] = Counter()
            for other in others:
                # | is the maximum of counts: an n-gram may match as often as in the reference with most of
                # it (clipping)
                reference_runs |= runs(other, self.n_gram)
            for run, n in own_runs.items():
                states[f"total_{len(run)}"] += n
                states[f"found_{len(run)}"] += min(n, reference_runs[run])

    def compute(self) -> float:
        """Return the score, from 0 to 1."""
        states, lengths = self.states, range(1, self.n_gram + 1)
        pairs = [(states[f"found_{i}"], states[f"total_{i}"]) for i in lengths]
        shares = self._shares(pairs)
        if not shares or not all(shares):
            return 0.0
        # the geometric mean of the precisions, times the brevity penalty exp(1 - b / a) if a <= b
        a, b = states["preds_len"], states["target_len"]
        mean = exp(sum(w * log(p) for w, p in zip(self.weights, shares, strict=True)))
        return mean * (1.0 if a > b else exp(1 - b / a))

    def _shares(self, pairs: list[tuple[int, int]]) -> list[float]:
        """Return the smoothed precision of each length; [] if the score is 0 without smoothing."""
        # no word in common is 0 with any smoothing
        if not pairs[0][0] or (not isinstance(self.smooth, str) and not all(hits for hits, _ in pairs)):
            return []
        if self.smooth is True:
            # add one to both counts, but not for single words
            return [pairs[0][0] / pairs[0][1], *((f + 1) / (n + 1) for f, n in pairs[1:])]
        shares: list[float] = []
        empty = 0
        for hits, total in pairs:
            empty += not hits
            instead = self.epsilon if self.smooth == "epsilon" else 0.5**empty
            shares.append((hits or instead) / max(total, 1))
        return shares


def common(a: Sequence[str], b: Sequence[str]) -> list[list[int]]:
    """Return the length of the longest common subsequence of each pair of prefixes. [len(a) + 1, len(b) +
    1]"""
    table = [[0] * (len(b) + 1)]
    for x in a:
        row = [0]
        for j, y in enumerate(b):
            # table[i][j]: the longest common subsequence of a[:i] and b[:j]
            row.append(table[-1][j] + 1 if x == y else max(row[-1], table[-1][j + 1]))
        table.append(row)
    return table


def in_common(a: Sequence[str], b: Sequence[str]) -> set[int]:
    """Return the positions in b of one longest common subsequence."""
    table, i, j = common(a, b), len(a), len(b)
    places: set[int] = set()
    # walk back from the end of both texts through the table
    while i and j:
        if a[i - 1] == b[j - 1]:
            i, j = i - 1, j - 1
            places.add(j)
        elif table[i - 1][j] > table[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return places


Scores = tuple[float, float, float]  # precision, recall, F1
KEYS = (*(f"rouge{i}" for i in range(1, 10)), "rougeL", "rougeLsum")
PARTS = ("precision", "recall", "fmeasure")


def scores(hits: int, predicted: int, wanted: int) -> Scores:
    if not hits:
        return 0.0, 0.0, 0.0
    precision, recall = hits / predicted, hits / wanted
    return precision, recall, 2 * precision * recall / (precision + recall)


class ROUGEScore(Metric):
    """The n-grams and the longest word sequence that a summary shares with its reference (Lin, 2004).

    use_stemmer: stem words with nltk. normalizer: a function of a text, which replaces the default of
    lower-case letters and digits; tokenizer: a function from a text to words. accumulate: "best" or "avg"
    of references. rouge_keys: "rouge1" to "rouge9", "rougeL", "rougeLsum" (by lines); one or several. The
    value is a dict with "rougeL_precision", "rougeL_recall", "rougeL_fmeasure" and so on.
    Raises ValueError if an argument is not valid.
    """

    higher_is_better = True

    def __init__(
        self,
        use_stemmer: bool = False,
        normalizer: Callable[[str], str] | None = None,
        tokenizer: Callable[[str], Sequence[str]] | None = None,
        accumulate: str = "best",
        rouge_keys: str | Sequence[str] = ("rouge1", "rouge2", "rougeL", "rougeLsum"),
    ):
        super().__init__("cpu")
        check_option(self.name, "accumulate", accumulate, ("best", "avg"))
        self.rouge_keys = [rouge_keys] if isinstance(rouge_keys, str) else list(rouge_keys)
        for key in self.rouge_keys:
            check_option(self.name, "rouge_keys", key, KEYS)
        self.normalizer, self.tokenizer, self.accumulate = normalizer, tokenizer, accumulate
        self.stem = stemmer(self.name) if use_stemmer else None
        for key in self.rouge_keys:
            for part in PARTS:
                self.add_state(f"{key}_{part}", 0.0, "sum")
        self.add_state("total", 0, "sum")

    def words(self, text: str) -> list[str]:
        """Split a text into normalised words."""
        # the default of Google's rouge_score
        plain = self.normalizer(text) if self.normalizer else re.sub("[^a-z0-9]+", " ", text.lower())
        words = self.tokenizer(plain) if self.tokenizer else re.split(r"\s+", plain)
        if self.stem:  # words of up to 3 letters are not stemmed, as in rouge_score
            words = [self.stem(w) if len(w) > 3 else w for w in words]
        return [w for w in words if w]

    def update(
        self, preds: str | Sequence[str], target: str | Sequence[str] | Sequence[Sequence[str]]
    ) -> None:
        """Count texts and the references of each, a string or several; ValueError for unequal numbers."""
        preds = [preds] if isinstance(preds, str) else list(preds)
        reference_texts: list[Any] = [target] if isinstance(target, str) else list(target)
        # one text and a list of strings: all are references of that text
        if len(preds) == 1 and len(reference_texts) > 1 and all(isinstance(t, str) for t in reference_texts):
            reference_texts = [reference_texts]
        reference_texts = [[t] if isinstance(t, str) else list(t) for t in reference_texts]
        check_pairs(self, preds, reference_texts)
        for text, references in zip(preds, reference_texts, strict=True):
            self.states["total"] += 1
            for key in self.rouge_keys:
                each = [self._score(key, text, r) for r in references]
                # by F1; the first of equal ones
                best = max(each, key=lambda s: s[2])
                mean = [sum(s) / len(each) for s in zip(*each, strict=True)]
                for part, value in zip(PARTS, best if self.accumulate == "best" else mean, strict=True):
                    self.states[f"{key}_{part}"] += value

    def _score(self, key: str, text: str, reference: str) -> Scores:
        if key == "rougeLsum":
            return self._by_lines(text.split("\n"), reference.split("\n"))
        a, b = self.words(text), self.words(reference)
        if key == "rougeL":
            return scores(common(a, b)[-1][-1], len(a), len(b))
        n = int(key[-1])
        own_runs, other = ({r: c for r, c in runs(w, n).items() if len(r) == n} for w in (a, b))
        hits = sum(min(c, other.get(r, 0)) for r, c in own_runs.items())
        return scores(hits, sum(own_runs.values()), sum(other.values()))

    def _by_lines(self, text: list[str], reference: list[str]) -> Scores:
        # rougeLsum: the union of the longest common subsequences of each reference line with all lines
        # (Lin, 2004)
        a, b = [self.words(t) for t in text], [self.words(t) for t in reference]
        # Each word counts as a hit at most as often as it occurs in both texts.
        left, other, hits = Counter(w for t in a for w in t), Counter(w for t in b for w in t), 0
        for sentence in b:
            for place in sorted({place for t in a for place in in_common(t, sentence)}):
                word = sentence[place]
                if left[word] > 0 and other[word] > 0:
                    hits += 1
                    left[word], other[word] = left[word] - 1, other[word] - 1
        return scores(hits, sum(map(len, a)), sum(map(len, b)))

    def compute(self) -> dict[str, float]:
        """Return the means over all texts, by name."""
        names = [f"{key}_{part}" for key in self.rouge_keys for part in ("fmeasure", "precision", "recall")]
        n = self.states["total"]
        return {name: self.states[name] / n if n else float("nan") for name in names}


def stemmer(name: str) -> Callable[[str], str]:
    """Return nltk's Porter stemmer; ImportError if nltk is missing."""
    try:
        porter: Any = import_module("nltk.stem.porter")
    except ImportError:
        raise ImportError(f"{name}(use_stemmer=True): the stemmer needs nltk: pip install nltk") from None
    return porter.PorterStemmer().stem
