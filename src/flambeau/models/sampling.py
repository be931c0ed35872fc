"""How the next token is chosen from scores: penalties, limits of the draw, and what ends a text.

The functions of scores are those of transformers' logits processors, for tensors of a recorded step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from ..core import dtype as dt
from ..core.tree import is_sequence
from ..ops.join import cat
from ..tensor import HostScalar, Tensor

Processor = Callable[[Tensor, Tensor], Tensor]
MOST_LOGPROBS = 64


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen: the most likely one, or a sample with do_sample.

    temperature: below 1 likely tokens are chosen more often. top_k: sample from the k best. top_p: sample
    from the smallest set of best tokens with this total probability. seed: makes draws reproducible.
    eos_token_id: a token, or several, that end a row, None for none; pad_token_id: the token after the end,
    by default the first eos. min_p: sample from tokens with this share of the best one's probability.
    typical_p: sample from the most typical tokens that have this probability together. repetition_penalty:
    above 1 tokens of the text are less likely. frequency_penalty, presence_penalty: lower the score of a new
    token by this number for each time that it was written, and once if it was. no_repeat_ngram_size: no
    sequence of this many tokens occurs twice. logits_processor: functions (tokens so far, scores) -> scores.
    logprobs: report the logarithms of probabilities of the chosen token and of this many best ones.
    """

    do_sample: bool = False
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None
    eos_token_id: Any = None
    pad_token_id: int | None = None
    min_p: float | None = None
    typical_p: float | None = None
    repetition_penalty: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    no_repeat_ngram_size: int | None = None
    logits_processor: Sequence[Processor] | None = None
    logprobs: int | None = None

    def __post_init__(self):
        names = ("temperature", "top_k", "top_p", "min_p", "typical_p", "seed")
        options = [f"{name}={getattr(self, name)}" for name in names if getattr(self, name) is not None]
        if options and not self.do_sample:
            raise ValueError(
                f"generate({', '.join(options)}): it applies only to sampling: pass do_sample=True as well"
            )
        for name, (rule, holds) in RULES.items():
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and holds(value)):
                raise ValueError(f"generate({name}={value!r}): pass {rule}")
        if not all(callable(f) for f in self.logits_processor or ()):
            raise ValueError("generate(logits_processor=...): pass functions (tokens, scores) -> scores")

    @property
    def ends(self) -> tuple[int, ...]:
        """The tokens that end a row."""
        ids = self.eos_token_id
        return () if ids is None else tuple(ids) if is_sequence(ids) else (ids,)

    @property
    def pad(self) -> int:
        """The token after the end of a row."""
        return self.pad_token_id if self.pad_token_id is not None else (self.ends or (0,))[0]


OPTIONS = tuple(f.name for f in fields(Sampling))
RULES: dict[str, tuple[str, Callable[[float], bool]]] = {
    "temperature": ("a number above 0", lambda v: v > 0),
    "top_k": ("a number of tokens, 1 or more", lambda v: v == int(v) and v >= 1),
    "top_p": ("a probability above 0, 1 at most", lambda v: 0 < v <= 1),
    "min_p": ("a share from 0 to 1", lambda v: 0 <= v <= 1),
    "typical_p": ("a probability above 0, 1 at most", lambda v: 0 < v <= 1),
    "repetition_penalty": ("a number above 0", lambda v: v > 0),
    "frequency_penalty": ("a number", lambda v: v == v and abs(v) < 1e30),
    "presence_penalty": ("a number", lambda v: v == v and abs(v) < 1e30),
    "no_repeat_ngram_size": ("a number of tokens, 1 or more", lambda v: v == int(v) and v >= 1),
    "logprobs": (f"a number from 0 to {MOST_LOGPROBS}", lambda v: v == int(v) and 0 <= v <= MOST_LOGPROBS),
}
PENALTIES = ("repetition_penalty", "frequency_penalty", "presence_penalty")
NUMBERS = ("temperature", "top_p", "min_p", "typical_p", *PENALTIES)  # that kernels read


class StepRule(NamedTuple):
    """The sampling options that a step's kernels depend on; of numbers that kernels read, whether they apply.

    top_k, ngram and logprobs: 0, 0 and -1 for none. needs_history: whether scores depend on the tokens so
    far.
    """

    draws: bool
    applies: tuple[str, ...]
    top_k: int
    ngram: int
    logprobs: int
    ends: tuple[int, ...]
    pad: int
    needs_history: bool


def rule_of(s: Sampling) -> StepRule:
    """Return the part of sampling options that a recorded step depends on."""
    names = tuple(name for name in NUMBERS if getattr(s, name) is not None)
    history = bool({*PENALTIES} & {*names} or s.no_repeat_ngram_size or s.logits_processor)
    logprobs = -1 if s.logprobs is None else s.logprobs
    ngram = s.no_repeat_ngram_size or 0
    return StepRule(s.do_sample, names, s.top_k or 0, ngram, logprobs, s.ends, s.pad, history)


class Numbers:
    """The numbers that kernels read: a replayed step takes their current values, so that one recording serves
    all temperatures."""

    def __init__(self) -> None:
        self.by_name = {name: HostScalar(1.0) for name in NUMBERS}

    def begin(self, s: Sampling) -> None:
        """Take the numbers of a text."""
        for name, scalar in self.by_name.items():
            value = getattr(s, name)
            value = 1.0 if value is None else float(value)
            scalar.value = 1 / value if name == "temperature" else value

    def __getitem__(self, name: str) -> HostScalar:
        return self.by_name[name]


class TokenHistory:
    """The tokens of each row so far, on the device, where recorded steps read and extend them.

    rows, length: of the texts. vocabulary: the number of tokens.
    """

    def __init__(self, rows: int, length: int, vocabulary: int, device: Any):
        self.ids = Tensor.full((rows, length), -1, dtype=dt.int32, device=device)
        self.seen = Tensor.zeros(rows, vocabulary, dtype=dt.bool_, device=device)  # in the whole text
        self.counts = Tensor.zeros(rows, vocabulary, device=device)  # of new tokens
        self.places = Tensor.arange(length, dtype=dt.int32, device=device)
        self.tokens = Tensor.arange(vocabulary, dtype=dt.int32, device=device)

    def buffers(self) -> list[Tensor]:
        """Return its tensors."""
        return [self.ids, self.seen, self.counts, self.places, self.tokens]

    def begin(self, ids: Tensor) -> None:
        """Take the tokens of a prompt. [b, n]"""
        ids = ids.to(dt.int32)
        rest = self.ids[:, ids.shape[1] :] * 0 - 1
        self.ids.assign_(cat([ids, rest], 1))
        zeros = Tensor.zeros(*self.seen.shape, device=ids.device)
        self.seen.assign_(zeros.scatter(1, ids, 1.0) > 0)
        self.counts.assign_(self.counts * 0)

    def add(self, token: Tensor, place: Tensor) -> None:
        """Append a token to each row, at a place. [b, 1], [1]"""
        token = token.to(dt.int32)
        self.ids.assign_((self.places == place).where(token, self.ids))
        hot = self.tokens == token
        self.seen.assign_(self.seen | hot)
        self.counts.assign_(self.counts + hot.float())


def penalize(
    logits: Tensor, rule: StepRule, numbers: Numbers, history: TokenHistory, count: Tensor
) -> Tensor:
    """Lower the scores of tokens that the text has. [b, vocabulary], count: the tokens so far, [1] -> [b,
    vocabulary]"""
    if "repetition_penalty" in rule.applies:
        penalty = numbers["repetition_penalty"]
        logits = history.seen.where((logits < 0).where(logits * penalty, logits / penalty), logits)
    if rule.ngram:
        logits = _repeated(history, rule.ngram, count).where(float("-inf"), logits)
    if "frequency_penalty" in rule.applies:
        logits = logits - history.counts * numbers["frequency_penalty"]
    if "presence_penalty" in rule.applies:
        logits = logits - (history.counts > 0).float() * numbers["presence_penalty"]
    return logits


def _repeated(history: TokenHistory, n: int, count: Tensor) -> Tensor:
    """Return which tokens would write a sequence of n tokens again. -> bool [b, vocabulary]"""
    ids, (rows, vocabulary) = history.ids, history.seen.shape
    width = ids.shape[1] - n + 1  # places where a sequence may begin
    if width < 1:
        return history.seen & False
    # sequences that the text has in full
    fits = (history.places[:width] < count - (n - 1)).unsqueeze(0)
    for i in range(n - 1):
        positions = (count - (n - 1) + i).clamp(min=0).reshape(1, 1).expand(rows, 1)
        fits = fits & (ids[:, i : i + width] == ids.gather(1, positions))
    # one token more, for places that don't fit
    last = fits.where(ids[:, n - 1 : n - 1 + width], vocabulary).expand(rows, width)
    zeros = Tensor.zeros(rows, vocabulary + 1, device=ids.device)
    return zeros.scatter(1, last, 1.0)[:, :vocabulary] > 0


def constrain(logits: Tensor, mask: Tensor) -> Tensor:
    """Set the scores of tokens to -inf that a grammar does not allow.

    [b, n], mask: a bit for each token, the lowest first, int32 [b, n / 32, rounded up] -> [b, n]
    """
    bits = (mask.unsqueeze(-1) >> Tensor.arange(32, dtype=dt.int32, device=mask.device)) & 1
    allowed = bits.reshape(mask.shape[0], -1)[:, : logits.shape[-1]] != 0
    return allowed.where(logits, float("-inf"))


def limit(logits: Tensor, rule: StepRule, numbers: Numbers) -> Tensor:
    """Set the scores of tokens that a draw leaves out to -inf, in the order of transformers. [b, vocabulary]
    -> [b, vocabulary]"""
    if "temperature" in rule.applies:
        logits = logits * numbers["temperature"]
    if rule.top_k:
        logits = top_k_of(logits, rule.top_k)
    for name, function in (("top_p", top_p_of), ("min_p", min_p_of), ("typical_p", typical_p_of)):
        if name in rule.applies:
            logits = function(logits, numbers[name])
    return logits


def top_k_of(logits: Tensor, k: int) -> Tensor:
    """Set all scores but the k best of each row to -inf (Fan et al., 2018). [b, n] -> [b, n]"""
    # The k-th best score is the threshold, so ties with it are kept too.
    least = logits.topk(min(k, logits.shape[-1]), -1)[0][:, -1:]
    return (logits >= least).where(logits, float("-inf"))


def top_p_of(logits: Tensor, p: Any) -> Tensor:
    """Set all scores to -inf but the best of each row that together have probability p, at least one
    (Holtzman et al., 2019). [b, n] -> [b, n]"""
    # By a threshold, like top_k: no indices need to be scattered back.
    best = logits.sort(-1, descending=True)[0]
    shares = best.softmax(-1)
    # A token is kept if those before it have less than p together: the first one always is.
    kept = shares.cumsum(-1) - shares < p
    least = kept.where(best, float("inf")).amin(-1, keepdim=True)
    return (logits >= least).where(logits, float("-inf"))


def min_p_of(logits: Tensor, p: Any) -> Tensor:
    """Set all scores to -inf whose probability is less than p times the best one's (Nguyen et al., 2024).
    [b, n] -> [b, n]"""
    shares = logits.softmax(-1)
    return (shares >= shares.amax(-1, keepdim=True) * p).where(logits, float("-inf"))


def typical_p_of(logits: Tensor, p: Any) -> Tensor:
    """Set all scores to -inf but those of the most typical tokens that together have probability p (Meister
    et al., 2022): tokens whose information is nearest to the expected one. [b, n] -> [b, n]"""
    information = -logits.log_softmax(-1)
    shares = (-information).exp()
    # a token that an earlier limit left out has no share in the expectation
    expected = (shares > 0).where(information * shares, 0.0).sum(-1, keepdim=True)
    distance = (information - expected).abs()
    near, order = distance.sort(-1)
    sums = logits.gather(-1, order).softmax(-1).cumsum(-1)
    last = (sums < p).to(dt.int32).sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)
    return (distance <= near.gather(-1, last)).where(logits, float("-inf"))


def best_of(logits: Tensor, token: Tensor, k: int) -> Tensor:
    """Return the logarithm of the probability of a token and, for the k best tokens, their numbers and
    logarithms of probabilities. [b, n], [b, 1] -> float32 [b, 1 + 2 k]"""
    logs = logits.log_softmax(-1)
    chosen = logs.gather(-1, token)
    if not k:
        return chosen
    values, order = logs.topk(min(k, logs.shape[-1]), -1)
    return cat([chosen, order.float(), values], 1)  # numbers of tokens are exact in float32
