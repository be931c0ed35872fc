"""Speculative writing: a step of the model checks several guessed tokens at once (Leviathan et al., 2023).
The guesses continue an earlier occurrence of the last tokens, or a smaller model writes them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..capture.jit import jit
from ..core import dtype as dt
from ..core.modes import no_grad
from ..functions import rand, read
from ..ops.join import cat
from ..tensor import Tensor, tensor
from .past import Past
from .sampling import Numbers, Sampling, StepRule, limit, rule_of

NAMES = ("prompt_lookup_num_tokens", "max_matching_ngram_size", "assistant_model", "num_assistant_tokens")
MATCHES = 2  # tokens at the end that are looked up, at most, as in transformers
GUESSES = 5  # tokens that a draft model writes ahead
MOST = 64  # guesses of a step
APART = 0x5851F42D4C957F2D  # between the seeds of the draft's draws and the model's


class Speculation(NamedTuple):
    """The number of guessed tokens, the longest sequence that is looked up, and the model that guesses; None
    if guesses are looked up."""

    guesses: int
    ngram: int
    draft: Any


def speculation_of(options: dict[str, Any]) -> Speculation | None:
    """Take the options of speculative writing; None without them. ValueError for invalid numbers, or options
    that do not go together."""
    settings = {name: options.pop(name) for name in NAMES if name in options}
    lookup, draft = settings.get("prompt_lookup_num_tokens"), settings.get("assistant_model")
    ngram, ahead = settings.get("max_matching_ngram_size"), settings.get("num_assistant_tokens")
    for name, value in (("prompt_lookup_num_tokens", lookup), ("max_matching_ngram_size", ngram),
                        ("num_assistant_tokens", ahead)):  # fmt: skip
        if value is not None and (type(value) is not int or not 1 <= value <= MOST):
            raise ValueError(f"generate({name}={value!r}): pass a number of tokens from 1 to {MOST}")
    if lookup is None and draft is None:
        return None
    if lookup is not None and draft is not None:
        _refuse("prompt_lookup_num_tokens", "assistant_model")
    if draft is not None and (not hasattr(draft, "new_past") or hasattr(draft, "read")):
        kind = type(draft).__name__
        raise ValueError(f"generate(assistant_model={kind}): writes no texts: pass a decoder")
    return Speculation(lookup or ahead or GUESSES, ngram or MATCHES, draft)


def check_speculation(s: Speculation, how: Sampling, rows: int, model: Any) -> None:
    """ValueError for options, rows or a model that speculative writing does not support."""
    name = "prompt_lookup_num_tokens" if s.draft is None else "assistant_model"
    rule = rule_of(how)
    if rule.needs_history or rule.logprobs >= 0:
        used = ("repetition_penalty", "frequency_penalty", "presence_penalty", "no_repeat_ngram_size",
                "logits_processor", "logprobs")  # fmt: skip
        _refuse(name, next(option for option in used if getattr(how, option) is not None))
    if rows != 1:
        raise ValueError(f"generate({name}=...): writes one row at a time, not {rows}: pass one")
    if s.draft is None:
        return
    sizes = [m.config.vocab_size for m in (s.draft, model)]
    if sizes[0] != sizes[1]:
        rule_text = f"it has {sizes[0]:,} tokens, the model {sizes[1]:,}: pass one with the same tokenizer"
        raise ValueError(f"generate(assistant_model={type(s.draft).__name__}): {rule_text}")
    if hasattr(model, "read"):
        raise ValueError("generate(assistant_model=...): the model has an encoder, which the draft lacks: "
                         "pass prompt_lookup_num_tokens")  # fmt: skip


def _refuse(first: str, second: str) -> None:
    raise ValueError(f"generate({first}=..., {second}=...): do not go together: pass one of them")


class Lookup:
    """Guesses the tokens that followed the first occurrence of a text's last tokens.

    ngram: the longest sequence that is looked up; shorter ones follow. guesses: the number of tokens.
    """

    def __init__(self, ids: Sequence[int], ngram: int, guesses: int):
        self.ngram, self.guesses = ngram, guesses
        self.ids: list[int] = []
        self.after: dict[tuple[int, ...], int] = {}  # where the first occurrence of a sequence ends
        for token in ids:
            self.add(token)

    def add(self, token: int) -> None:
        """Append a token to the text."""
        # sequences that end before the new token: so the end of the text does not find itself
        for n in range(1, min(self.ngram, len(self.ids)) + 1):
            self.after.setdefault(tuple(self.ids[-n:]), len(self.ids))
        self.ids.append(token)

    def guess(self) -> list[int]:
        """Return the guessed tokens, [] without an earlier occurrence."""
        for n in range(min(self.ngram, len(self.ids)), 0, -1):
            place = self.after.get(tuple(self.ids[-n:]))
            if place is not None:
                return self.ids[place : place + self.guesses]
        return []


class Player(NamedTuple):
    """The parts of a Step that recorded calls read: its model and cache, numbers and draws."""

    model: Any
    past: Past
    numbers: Numbers
    generator: Any

    @classmethod
    def of(cls, step: Any) -> "Player":
        """Return the parts of a step."""
        return cls(step.model, step.past, step.numbers, step.generator)


class GuessCheck:
    """The recorded step that checks guesses, and the draft's recorded step.

    step: of the model. draft: of the model that guesses, None if guesses are looked up.
    """

    def __init__(self, step: Any, draft: Any):
        # not the steps: recorded calls depend on all that they can reach, and the seed changes
        self.step, self.draft = Player.of(step), None if draft is None else Player.of(draft)
        self.check, self.propose = jit(self._check), jit(self._propose)

    def is_of(self, draft: Any) -> bool:
        """Whether it has this step of a draft."""
        return (None if draft is None else draft.past) is (None if self.draft is None else self.draft.past)

    def _check(self, ids: Tensor, guessed: Tensor | None, rule: tuple[Any, ...]) -> Tensor:
        """Return the number of right guesses, and the tokens up to the one behind them. [1, 1 + guesses],
        [guesses, vocabulary] -> [2 + guesses]

        ids: the last token of the text and the guesses. guessed: the probabilities by which the draft drew
        them, None if they were not drawn.
        """
        fields, step = StepRule(*rule), self.step
        start = step.past.count()
        logits = step.model.head(step.model.hidden(ids, step.past))[0].float()
        guesses = ids[0, 1:].unsqueeze(1).to(dt.int32)
        if fields.draws:
            shares = limit(logits, fields, step.numbers).softmax(-1)
            is_right, tokens = accept(shares, guesses, guessed, step.generator)
        else:
            tokens = logits.argmax(-1, keepdim=True).to(dt.int32)
            is_right = tokens[:-1] == guesses
        right = is_right.to(dt.int32).cumprod(0).sum().to(dt.int32).reshape(1)
        # keys and values of wrong guesses are overwritten by the next step
        for past in (step.past, *([] if self.draft is None else [self.draft.past])):
            past.layers[0].count.assign_(start + right + 1)
        return cat([right, tokens.reshape(-1)], 0)

    def _propose(self, ids: Tensor, rule: tuple[Any, ...]) -> Any:
        """Return the draft's next token; if it is drawn, also the probabilities of all. [1, 1] -> [1, 1], [1,
        vocabulary]"""
        fields, draft = StepRule(*rule), self.draft
        assert draft is not None
        logits = draft.model.head(draft.model.hidden(ids, draft.past))[:, 0].float()
        if not fields.draws:
            return logits.argmax(-1, keepdim=True).to(ids.dtype)
        shares = limit(logits, fields, draft.numbers).softmax(-1)
        return shares.multinomial(1, generator=draft.generator).to(ids.dtype), shares

    def guess(self, token: Tensor, guesses: int, rule: tuple[Any, ...]) -> tuple[Tensor, Tensor | None]:
        """Return a token and the draft's guesses behind it, and their probabilities if they are drawn. [1, 1]
        -> [1, 1 + guesses], [guesses, vocabulary]"""
        ids, shares = [token], list[Tensor]()
        for _ in range(guesses):
            proposal = self.propose(ids[-1], rule)
            ids.append(proposal[0] if rule[0] else proposal)
            if rule[0]:
                shares.append(proposal[1])
        self.propose(ids[-1], rule)  # so that the draft's cache has the last guess too
        return cat(ids, 1), cat(shares, 0) if shares else None


def accept(shares: Tensor, guesses: Tensor, guessed: Tensor | None, generator: Any) -> tuple[Tensor, Tensor]:
    """Return which guesses are right, and a token for each place: the guess, or one drawn so that tokens have
    the model's probabilities. [g + 1, vocabulary], [g, 1], [g, vocabulary] -> bool [g, 1], int32 [g + 1, 1]

    A guess x of probability q(x) is right with probability min(1, p(x) / q(x)); else the token is drawn by
    max(p - q, 0), normalised. guessed: q, None if a guess was certain.
    """
    wanted, most = shares[:-1], shares.shape[1]
    if guessed is None:
        places = Tensor.arange(most, dtype=dt.int32, device=shares.device)
        guessed = (places == guesses).float()
    u = rand(guesses.shape[0], 1, generator=generator, device=shares.device)
    is_right = u * guessed.gather(1, guesses) < wanted.gather(1, guesses)
    rest = (wanted - guessed).clamp(min=0)
    # equal probabilities leave nothing, and no guess is wrong then but by rounding
    rest = (rest.sum(-1, keepdim=True) > 0).where(rest, wanted)
    drawn = cat([rest, shares[-1:]], 0).multinomial(1, generator=generator).to(dt.int32)
    return is_right, cat([is_right.where(guesses, drawn[:-1]), drawn[-1:]], 0)


def seeded_apart(how: Sampling) -> Sampling:
    """Return the draft's options: other draws than the model's, on which they must not depend."""
    return how if how.seed is None else replace(how, seed=how.seed ^ APART)


class SpeculativeWriter(NamedTuple):
    """What writes a text speculatively: the options, the recorded steps, and those of the two models."""

    options: Speculation
    check: GuessCheck
    step: Any
    draft: Any

    def tokens(self, ids: Tensor, how: Sampling) -> Iterator[list[int]]:
        """Yield the tokens that each step of the model gives, without end. [1, n]"""
        whole, device, step = rule_of(how), ids.device, self.step
        rule = tuple(whole)
        guesses = self.options.guesses
        with no_grad():
            steps = [step] if self.draft is None else [step, self.draft]
            # read together, so that both caches have their values before a step is recorded
            token = read(*(s.first(ids, whole) for s in steps))[0][0][0]
        count = ids.shape[1]  # of the cache, without the last token
        text = Lookup([*ids[0].tolist(), token], self.options.ngram, guesses)
        yield [token]
        while True:
            proposal = text.guess() if self.draft is None else [0]
            last = tensor([[token]], dtype=ids.dtype, device=device)
            with no_grad():
                if not proposal or count + guesses + 1 > step.past.size.length:
                    new = [int(step.replayed(last, rule).item())]
                else:
                    # guesses that are missing are filled up: a wrong one costs nothing more
                    row = [token, *proposal, *[0] * (guesses - len(proposal))]
                    row = tensor([row], dtype=ids.dtype, device=device), None
                    row = row if self.draft is None else self.check.guess(last, guesses, rule)
                    (right, *tokens) = read(self.check.check(*row, rule))[0]
                    new = tokens[: right + 1]
            count += len(new)
            for token in new:
                text.add(token)
            yield new
