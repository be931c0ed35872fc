"""Looks up the tokens of a word: byte pairs, SentencePiece's merges and unigrams, and word pieces."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any

Lookup = Callable[[str], list[int]]
Row = Mapping[str, Any]
CACHED = 100_000  # words that a model remembers
CACHED_LENGTH = 64  # characters of a word that is remembered


class Pairs:
    """Byte-pair encoding (Sennrich et al., 2016): joins the pair of neighbours with the lowest rank first.

    row: the `model` of a tokenizer.json, of type "BPE"; or of type "SPM", whose `scores` rank pairs by the
    token that they form. vocab: tokens by text. hidden: tokens that no text forms. ValueError for a merge of
    unknown tokens.
    """

    def __init__(self, row: Row, vocab: Mapping[str, int], hidden: Collection[int] = ()):
        self.vocab = vocab
        self.prefix: str = row.get("continuing_subword_prefix") or ""
        self.suffix: str = row.get("end_of_word_suffix") or ""
        unknown = row.get("unk_token")
        self.unknown = None if unknown is None else vocab.get(unknown)
        self.fuses, self.takes_whole = bool(row.get("fuse_unk")), bool(row.get("ignore_merges"))
        names = [f"<0x{b:02X}>" for b in range(256)] if row.get("byte_fallback") else []
        self.bytes = [vocab[name] for name in names] if names and all(n in vocab for n in names) else None
        self.known: dict[str, list[int]] = {}
        self.scores: Sequence[float] | None = row.get("scores")
        self.hidden = {*hidden}
        if self.scores is not None:
            self.texts = {number: text for text, number in vocab.items()}
        else:
            self.ranks = _ranks(row["merges"], vocab, len(self.prefix))

    def rank(self, a: int, b: int) -> tuple[float, int] | None:
        """Return (rank, token) of a pair, None if it is not joined."""
        if self.scores is None:
            return self.ranks.get((a, b))
        token = self.vocab.get(self.texts[a] + self.texts[b])
        return None if token is None or token in self.hidden else (-self.scores[token], token)

    def __call__(self, word: str) -> list[int]:
        """Return the tokens of a word."""
        if word not in self.known:
            if self.takes_whole and word in self.vocab and self.vocab[word] not in self.hidden:
                return [self.vocab[word]]
            tokens = self.join(self.characters(word))
            if len(word) > CACHED_LENGTH:
                return tokens
            if len(self.known) >= CACHED:
                self.known.clear()
            self.known[word] = tokens
        return [*self.known[word]]

    def characters(self, word: str) -> list[int]:
        """Return the token of each character; those of its bytes, or the unknown token, without one."""
        tokens: list[int] = []
        for i, c in enumerate(word):
            text = (self.prefix if i else "") + c + (self.suffix if i == len(word) - 1 else "")
            token = self.vocab.get(text)
            if token is not None and token not in self.hidden:
                tokens.append(token)
            elif self.bytes is not None:
                tokens += [self.bytes[b] for b in text.encode("utf-8", "replace")]
            elif self.unknown is not None and not (self.fuses and tokens[-1:] == [self.unknown]):
                tokens.append(self.unknown)
        return tokens

    def join(self, tokens: list[int]) -> list[int]:
        """Join pairs until none has a rank, in n log n steps."""
        count = len(tokens)
        after = [*range(1, count + 1)]  # of each place, the next one that is still there
        before = [*range(-1, count - 1)]
        queue: list[tuple[float, int, int, int, int]] = []  # rank, place, and the tokens: left, right, joined
        for left_piece in range(count - 1):
            if (pair := self.rank(tokens[left_piece], tokens[left_piece + 1])) is not None:
                queue.append((pair[0], left_piece, tokens[left_piece], tokens[left_piece + 1], pair[1]))
        heapify(queue)
        while queue:
            _, left_piece, left, right, joined = heappop(queue)
            other = after[left_piece]
            # a pair of which one was joined since is out of date
            if tokens[left_piece] != left or other >= count or tokens[other] != right:
                continue
            tokens[left_piece], tokens[other] = joined, -1
            after[left_piece] = after[other]
            if after[left_piece] < count:
                before[after[left_piece]] = left_piece
            for first in (before[left_piece], left_piece):
                second = after[first] if first >= 0 else count
                if second < count and (pair := self.rank(tokens[first], tokens[second])) is not None:
                    heappush(queue, (pair[0], first, tokens[first], tokens[second], pair[1]))
        return [token for token in tokens if token >= 0]


def _ranks(
    merges: Sequence[Any], vocab: Mapping[str, int], skipped: int
) -> dict[tuple[int, int], tuple[float, int]]:
    """Return (rank, token) by pairs of tokens."""
    ranks: dict[tuple[int, int], tuple[float, int]] = {}
    for rank, merge in enumerate(merges):
        left, right = _pair(merge)
        joined = left + right[skipped:]
        if left not in vocab or right not in vocab or joined not in vocab:
            raise ValueError(f"merge {rank:,}, {left!r} {right!r}: is of a token that the vocabulary lacks")
        ranks.setdefault((vocab[left], vocab[right]), (rank, vocab[joined]))
    return ranks


def _pair(merge: Any) -> tuple[str, str]:
    """Return the texts of a merge, which older files write as "a b"."""
    if not isinstance(merge, str):
        return merge[0], merge[1]
    # the first text has one character at least, which may be a space
    left, _, right = merge[1:].partition(" ")
    return merge[:1] + left, right


class Unigram:
    """SentencePiece's unigram model (Kudo, 2018): the tokens of a text with the largest sum of scores."""

    def __init__(self, row: Row, vocab: Mapping[str, int], hidden: Collection[int] = ()):
        rows: Sequence[Sequence[Any]] = row["vocab"]
        self.scores: list[float] = [score for _, score in rows]
        self.vocab = {text: number for text, number in vocab.items() if number not in hidden}
        self.longest = max((len(text) for text in self.vocab), default=0)
        # beginnings of tokens: where none fits, longer ones are not tried
        self.begins = {text[:i] for text in self.vocab for i in range(1, len(text) + 1)}
        self.unknown: int | None = row.get("unk_id")
        self.penalty = min(self.scores, default=0.0) - 10.0
        names = [f"<0x{b:02X}>" for b in range(256)] if row.get("byte_fallback") else []
        self.bytes = [vocab[name] for name in names] if names and all(n in vocab for n in names) else None

    def __call__(self, word: str) -> list[int]:
        """Return the tokens of a word. ValueError for an unknown character without an unknown token."""
        count = len(word)
        # the best way to each place: score, where its last token begins, and that token; -1 for unknown
        best: list[tuple[float, int, int]] = [(0.0, 0, -1)] + [(-inf, -1, -1)] * count
        for offset in range(count):
            score_so_far, has_single = best[offset][0], False
            for end, token in self._tokens_from(word, offset):
                has_single = has_single or end == offset + 1
                score = score_so_far + self.scores[token]
                if best[end][1] < 0 or score > best[end][0]:
                    best[end] = score, offset, token
            if not has_single and (
                best[offset + 1][1] < 0 or score_so_far + self.penalty > best[offset + 1][0]
            ):
                best[offset + 1] = score_so_far + self.penalty, offset, -1
        parts: list[tuple[int, int, int]] = []
        end = count
        while end > 0:
            _, offset, token = best[end]
            if token < 0 and parts and parts[-1][2] < 0:  # unknown neighbours are one
                parts[-1] = offset, parts[-1][1], -1
            else:
                parts.append((offset, end, token))
            end = offset
        return [t for offset, end, token in reversed(parts) for t in self._tokens(word[offset:end], token)]

    def _tokens_from(self, word: str, offset: int) -> Iterator[tuple[int, int]]:
        """Yield (end, token) for each token that the word has at a place."""
        for end in range(offset + 1, min(len(word), offset + self.longest) + 1):
            text = word[offset:end]
            if text not in self.begins:
                return
            if (token := self.vocab.get(text)) is not None:
                yield end, token

    def _tokens(self, text: str, token: int) -> list[int]:
        if token >= 0:
            return [token]
        if self.bytes is not None:
            return [self.bytes[b] for b in text.encode("utf-8", "replace")]
        if self.unknown is None:
            raise ValueError(f"{text[:20]!r}: is in no token, and the tokenizer has none for unknown texts")
        return [self.unknown]


class WordPieces:
    """BERT's word pieces: the longest token that a word begins with, then the longest of the rest."""

    def __init__(self, row: Row, vocab: Mapping[str, int], hidden: Collection[int] = ()):
        self.unknown = vocab.get(row.get("unk_token", "[UNK]"))
        self.vocab = {text: number for text, number in vocab.items() if number not in hidden}
        self.prefix: str = row.get("continuing_subword_prefix", "##")
        self.longest = int(row.get("max_input_chars_per_word", 100))

    def __call__(self, word: str) -> list[int]:
        """Return the tokens of a word, the unknown one for a word that no tokens form."""
        unknown = [] if self.unknown is None else [self.unknown]
        if len(word) > self.longest:
            return unknown
        tokens: list[int] = []
        offset = 0
        while offset < len(word):
            prefix = self.prefix if offset else ""
            end_positions = range(len(word), offset, -1)
            end = next((e for e in end_positions if prefix + word[offset:e] in self.vocab), None)
            if end is None:
                return unknown
            tokens.append(self.vocab[prefix + word[offset:end]])
            offset = end
        return tokens


class WholeWords:
    """A token for each word."""

    def __init__(self, row: Row, vocab: Mapping[str, int], hidden: Collection[int] = ()):
        self.vocab = {text: number for text, number in vocab.items() if number not in hidden}
        self.unknown = vocab.get(row.get("unk_token", "<unk>"))

    def __call__(self, word: str) -> list[int]:
        """Return the token of a word, else the unknown one."""
        token = self.vocab.get(word, self.unknown)
        return [] if token is None else [token]


KINDS: dict[str, Callable[[Row, Mapping[str, int], Collection[int]], Lookup]] = {
    "BPE": Pairs,
    "SPM": Pairs,
    "Unigram": Unigram,
    "WordPiece": WordPieces,
    "WordLevel": WholeWords,
}


def kind_of(row: Row) -> str:
    """Return the type of a `model`; older files leave it out. ValueError for an unknown one."""
    vocab = row.get("vocab")
    guess = "BPE" if "merges" in row else "Unigram" if isinstance(vocab, list) else "WordPiece"
    kind = row.get("type", guess)
    if kind not in KINDS:
        raise ValueError(f"model {kind!r}: unknown: one of {', '.join(KINDS)}")
    return str(kind)
