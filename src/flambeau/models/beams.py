"""Beam search: the texts with the best scores among several that are continued at once, as transformers finds
them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..core import dtype as dt
from ..functions import read
from ..tensor import Tensor, tensor
from .past import Past

WORST = -1e9  # of a text that does not exist yet


class Search(NamedTuple):
    """The options of a search: the number of beams and of returned texts, the power of the length by which
    scores are divided, whether a row ends with its last beam, and the tokens that end a text."""

    beams: int
    copies: int
    length_penalty: float
    stops_early: bool
    ends: tuple[int, ...]

    @property
    def candidates(self) -> int:
        """Continuations of a row that are looked at: enough go on if the best ones all end."""
        return max(2, 1 + len(self.ends)) * self.beams


class Ended(NamedTuple):
    """A text that ended, with its score; `exists` is false for a place without one."""

    score: float
    tokens: list[int]
    exists: bool


@dataclass
class BeamRow:
    """The beams of a row of the prompt.

    scores, texts: of the beams that go on, the best first; ended: the best texts that have ended.
    """

    search: Search
    scores: list[float] = field(default_factory=lambda: [])
    texts: list[list[int]] = field(default_factory=lambda: [])
    ended: list[Ended] = field(default_factory=lambda: [])
    can_improve: bool = True

    def __post_init__(self):
        beams = self.search.beams
        # all beams begin equal: one alone counts
        self.scores = [0.0] + [WORST] * (beams - 1)
        self.texts, self.ended = [[] for _ in range(beams)], [Ended(WORST, [], False)] * beams

    def advance(self, candidates: Sequence[tuple[float, int, int]], is_last: bool) -> list[int]:
        """Take the best continuations of a row, (score, beam, token), and return the beam that each beam now
        continues. is_last: no token follows."""
        s, length = self.search, len(self.texts[0]) + 1
        ends = [is_last or token in s.ends for _, _, token in candidates]
        self._finish(candidates[: s.beams], ends, length)
        order = sorted(range(len(candidates)), key=lambda i: -(candidates[i][0] + WORST * ends[i]))[: s.beams]
        self.scores = [candidates[i][0] + WORST * ends[i] for i in order]
        self.texts = [[*self.texts[candidates[i][1]], candidates[i][2]] for i in order]
        best = self.scores[0] / length**s.length_penalty
        worst = min(e.score for e in self.ended)
        self.can_improve = self.can_improve and any(best > (worst if e.exists else WORST) for e in self.ended)
        return [candidates[i][1] for i in order]

    def _finish(self, candidates: Sequence[tuple[float, int, int]], ends: list[bool], length: int) -> None:
        """Keep texts that end with these continuations, if they are among the best."""
        s = self.search
        is_closed = not self.can_improve or (s.stops_early and all(e.exists for e in self.ended))
        new = [
            Ended(score / length**s.length_penalty + WORST * is_closed, [*self.texts[beam], token], True)
            for (score, beam, token), is_end in zip(candidates, ends, strict=False)
            if is_end
        ]
        self.ended = sorted([*self.ended, *new], key=lambda e: -e.score)[: s.beams]

    @property
    def is_done(self) -> bool:
        """Whether its texts are final."""
        return not self.can_improve or (self.search.stops_early and all(e.exists for e in self.ended))


def beam_search(
    model: Any, past: Past, ids: Tensor, new: int, search: Search, pad: int
) -> Iterator[list[int]]:
    """Yield the new token of each row of the best texts, once all are known.

    ids: the prompt, each row as often as there are beams. [b * beams, n]
    """
    rows = [BeamRow(search) for _ in range(ids.shape[0] // search.beams)]
    token = ids
    for step in range(new):
        scores = tensor([[s] for row in rows for s in row.scores], device=ids.device)
        values, places = _best(model, past, token, scores, search)
        vocabulary = model.config.vocab_size
        order: list[int] = []
        for i, row in enumerate(rows):
            candidates = [
                (v, p // vocabulary, p % vocabulary) for v, p in zip(values[i], places[i], strict=True)
            ]
            order += [i * search.beams + beam for beam in row.advance(candidates, step == new - 1)]
        if all(row.is_done for row in rows):
            break
        _reorder(past, order)
        token = tensor([[row[-1]] for r in rows for row in r.texts], dtype=dt.int32, device=ids.device)
        token = token.to(ids.dtype)
    texts = [e.tokens for row in rows for e in row.ended[: search.copies]]
    longest = max(map(len, texts))
    yield from ([text[i] if i < len(text) else pad for text in texts] for i in range(longest))


def _best(
    model: Any, past: Past, token: Tensor, scores: Tensor, search: Search
) -> tuple[list[list[float]], list[list[int]]]:
    """Return the best continuations of each row: their scores, and beam * vocabulary + token."""
    x = model.hidden(token, past)[:, -1:]
    logs = model.head(x)[:, 0].float().log_softmax(-1) + scores
    values, places = logs.reshape(logs.shape[0] // search.beams, -1).topk(search.candidates, -1)
    result = read(values, places)
    return result[0], result[1]


def _reorder(past: Past, order: list[int]) -> None:
    """Give each row of the caches the keys and values of another one."""
    if order == [*range(len(order))]:
        return
    rows = tensor(order, dtype=dt.int32, device=past.padding.device)
    for layer in past.layers:
        layer.keys.assign_(layer.keys[rows])  # type: ignore[attr-defined]
        layer.values.assign_(layer.values[rows])  # type: ignore[attr-defined]
