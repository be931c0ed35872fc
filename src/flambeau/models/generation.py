"""Generates text token by token: a step is recorded once and replayed, and writes into one cache."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Generator as Rows
from typing import Any, NamedTuple

import numpy as np

from ..capture.jit import jit
from ..core import dtype as dt
from ..core.modes import no_grad
from ..core.node import describe
from ..core.tree import is_sequence
from ..device import DeviceLike
from ..errors import suggest
from ..functions import Reading, read
from ..nn.module import Module
from ..ops.join import cat
from ..ops.random import Generator
from ..ops.random import generator as default_generator
from ..runtime.run import realize
from ..tensor import Tensor, tensor
from .beams import Search, beam_search
from .grammar import Grammar, Guide, grammar_of, vocabulary_of
from .past import Past
from .sampling import (
    OPTIONS,
    Numbers,
    Processor,
    Sampling,
    StepRule,
    TokenHistory,
    best_of,
    constrain,
    limit,
    penalize,
    rule_of,
)
from .speculation import NAMES as AHEAD
from .speculation import (
    GuessCheck,
    Speculation,
    SpeculativeWriter,
    check_speculation,
    seeded_apart,
    speculation_of,
)

LAG = 2  # steps that are submitted before the first one is read, so that the device never waits for the host
ROUND = 64  # cache lengths are rounded up to a multiple, so that later texts can reuse the cache
KEPT = 2  # caches that a decoder keeps
# The longest prompt that the recorded step processes token by token on a GPU: building a prompt's own graph
# takes the host as long as 30 replays, and planning and compiling the first one as long as 1,000.
ONE_BY_ONE = 32
# The tokens of a longer prompt that a recorded step processes at once on a GPU: the largest number that the
# prompt has. Every length of a prompt shares these recordings.
CHUNKS = (256, ONE_BY_ONE)
NEW = 20  # new tokens, by default
CONFIG = "config"  # instead of a token: use the one in the model's files


class Step:
    """Computes the next token from the last one and the cache; recorded once, then replayed."""

    def __init__(self, model: Any, past: Past):
        self.model, self.past, self.generator = model, past, Generator()
        self.seed = 0  # of the present text
        self.numbers = Numbers()
        self.history: TokenHistory | None = None  # of rules that depend on it
        device = past.padding.device
        # done is a tensor of the step: a recorded step updates it without a readback.
        self.done = Tensor.zeros(past.size.batch, 1, dtype=dt.bool_, device=device)
        self.replayed = jit(self.next)
        self.check: GuessCheck | None = None  # of speculative writing

    def begin(self, sampling: Sampling, padding: Tensor | None) -> None:
        """Empty the cache."""
        self.past.begin(padding)
        self.numbers.begin(sampling)
        self._reset(_draw_seed() if sampling.seed is None else sampling.seed)

    def _reset(self, seed: int) -> None:
        """Begin the draws, and the rows, none of which has ended."""
        self.seed = seed
        self.generator.manual_seed(seed)
        self.done.assign_(self.done & False)

    def first(
        self, ids: Tensor, rule: StepRule, processors: Sequence[Processor] = (), mask: Tensor | None = None
    ) -> Any:
        """Return what `next` does for the first token of each row, after the prompt. [b, n] -> [b, 1]"""
        device, n = ids.device, ids.shape[1]
        if rule.needs_history:
            self._remember(ids)
        if processors:
            return self.next_by(processors, ids, rule, n, mask)
        if device.kind == "cpu" or device.limits.software:
            return self.next(ids, tuple(rule), mask)
        tokens, (*chunks, last) = ids.numpy(), _chunks(n)
        for chunk in chunks:
            self.replayed(tensor(tokens[:, chunk], device=device), tuple(rule), mask)
        if chunks:  # choices inside the prompt end no row, and their draws are not counted
            self._reset(self.seed)
            if self.history is not None:
                self.history.begin(ids)
            if last.start < chunks[-1].stop:
                self.past.rewind(last.start)
        return self.replayed(tensor(tokens[:, last], device=device), tuple(rule), mask)

    def _remember(self, ids: Tensor) -> None:
        """Begin the history with a prompt."""
        if self.history is None:
            rows, length, vocabulary = ids.shape[0], self.past.size.length, self.model.config.vocab_size
            self.history = TokenHistory(rows, length, vocabulary, ids.device)
            realize(*self.history.buffers())
        self.history.begin(ids)

    def next(self, ids: Tensor, rule: tuple[Any, ...], mask: Tensor | None = None) -> Any:
        """Return the next token of each row; `pad` if the row has ended; with logprobs also what `best_of`
        returns. [b, n] -> [b, 1]

        rule: the fields of what `rule_of` returns. A recorded step depends on them, and a plain tuple is
        compared by value. mask: the tokens that a grammar allows, as `constrain` takes them; an input of the
        recorded step.
        """
        rule = StepRule(*rule)
        return self._finish(self._scores(ids, rule), rule, ids.dtype, mask)

    def next_by(
        self,
        processors: Sequence[Processor],
        ids: Tensor,
        rule: StepRule,
        length: int,
        mask: Tensor | None = None,
    ) -> Any:
        """Return what `next` does, of scores that a user's functions change. length: the tokens so far."""
        logits = self._scores(ids, rule)
        assert self.history is not None
        for process in processors:
            logits = process(self.history.ids[:, :length], logits)
        return self._finish(logits, rule, ids.dtype, mask)

    def _scores(self, ids: Tensor, rule: StepRule) -> Tensor:
        """Return the scores of the next token, with penalties. [b, n] -> [b, vocabulary]"""
        # Only the last position's scores are needed; the head is the largest product of a small model.
        x = self.model.hidden(ids, self.past)[:, -1:]
        logits = self.model.head(x)[:, 0].float()
        if self.history is not None and rule.needs_history:
            logits = penalize(logits, rule, self.numbers, self.history, self.past.count())
        return logits

    def _finish(self, logits: Tensor, rule: StepRule, dtype: Any, mask: Tensor | None) -> Any:
        if mask is not None:
            logits = constrain(logits, mask)
        token, ends = self.choose(logits, rule), rule.ends
        best = best_of(logits, token, rule.logprobs) if rule.logprobs >= 0 else None
        if ends:
            # rows that have ended get padding until all have ended
            token = self.done.where(rule.pad, token)
            ended = token == ends[0]
            for end in ends[1:]:
                ended = ended | (token == end)
            self.done.assign_(self.done | ended)
        if self.history is not None and rule.needs_history:
            self.history.add(token, self.past.count())
        token = token.to(dtype)
        return token if best is None else (token, best)

    def choose(self, logits: Tensor, rule: StepRule) -> Tensor:
        """Choose a token for each row by its scores. [b, vocabulary] -> [b, 1]"""
        if not rule.draws:
            return logits.argmax(-1, keepdim=True)
        return limit(logits, rule, self.numbers).softmax(-1).multinomial(1, generator=self.generator)


def _chunks(n: int) -> list[slice]:
    """Return the parts of a prompt of n tokens that the recorded step takes: equal ones, of which the last
    may begin with tokens of the one before it."""
    size = next((size for size in CHUNKS if n > ONE_BY_ONE and size <= n), 1)
    begins = [*range(0, n - size, size), n - size]
    return [slice(begin, begin + size) for begin in begins]


def _draw_seed() -> int:
    """Return a new seed from the default generator, which fb.manual_seed sets."""
    # The multiplier is 2^64 divided by the golden ratio (Weyl sequence): neighbouring blocks get distant
    # seeds.
    place = default_generator.take(4)
    return default_generator.initial_seed() ^ (place.block + 1) * 0x9E3779B97F4A7C15


class Prompt(NamedTuple):
    """Rows of tokens, and the number of padding tokens at the start of each row; None without padding."""

    ids: Tensor
    mask: Tensor | None
    padding: list[int] | None


def prompt_of(input_ids: Any, attention_mask: Any, pad: int, device: DeviceLike | None) -> Prompt:
    """Tokens as rows on a device; a list's rows may differ in length and get padding in front.
    ValueError for invalid tokens, or a mask of another shape."""
    if is_sequence(input_ids):
        rows: list[list[int]] = [list(row) for row in input_ids]
        longest = max(map(len, rows), default=0)
        if attention_mask is None and any(len(row) < longest for row in rows):
            # Padding on the left: the last column has the last token of every row.
            attention_mask = [[0] * (longest - len(row)) + [1] * len(row) for row in rows]
        input_ids = tensor([[pad] * (longest - len(row)) + row for row in rows], dtype=dt.int32)
    ids = tensor(input_ids) if not isinstance(input_ids, Tensor) else input_ids
    if ids.ndim != 2 or not ids.dtype.is_int or 0 in ids.shape:
        raise ValueError(
            f"generate({describe(ids)}): takes rows of tokens, int [b, n]: pass at least one token"
        )
    if attention_mask is None:
        return Prompt(ids.to(device), None, None)
    mask = attention_mask if isinstance(attention_mask, Tensor) else tensor(attention_mask)
    if mask.shape != ids.shape:
        call = f"generate({describe(ids)}, attention_mask={describe(mask)})"
        raise ValueError(f"{call}: the mask needs an element for each token: make the shapes equal")
    values = [[bool(v) for v in row] for row in mask.tolist()]
    return Prompt(
        ids.to(device), mask.to(device), [row.index(True) if True in row else len(row) for row in values]
    )


def _check_padding(prompt: Prompt) -> None:
    """ValueError if padding is not at the start of a row, or is the whole row."""
    if prompt.mask is None or prompt.padding is None:
        return
    n = prompt.ids.shape[1]
    for i, (row, front) in enumerate(zip(prompt.mask.tolist(), prompt.padding, strict=True)):
        if front == n or not all(row[front:]):
            rule = f"attention_mask of row {i} must have all padding before the tokens"
            raise ValueError(f"generate({describe(prompt.ids)}): {rule}: pad on the left")


class Decoder:
    """Generates texts with a model, and keeps caches and recordings from one text to the next.

    model: a network with hidden, head and new_past, such as GPT2LMHeadModel, LlamaForCausalLM and
    T5ForConditionalGeneration. `target_steps` has the steps of the model for the last speculatively written
    text, with that of the prompt.
    """

    def __init__(self, model: Module):
        self.model: Any = model
        self.drafts: Decoder | None = None  # of the last draft model
        self.target_steps = 0
        self.steps: dict[tuple[Any, ...], Step] = {}  # by cache sizes, the most recent last

    @no_grad()
    def generate(
        self,
        input_ids: Any,
        max_new_tokens: int | None = None,
        *,
        attention_mask: Tensor | Sequence[Sequence[int]] | None = None,
        streamer: Callable[[list[int]], Any] | None = None,
        **options: Any,
    ) -> Tensor:
        """As `generate` of the model, with its options and errors. [b, n] -> [b, n + max_new_tokens at
        most]"""
        ids, rows = self._start(input_ids, max_new_tokens, attention_mask, 0, options)
        written: list[list[int]] = []
        for row in rows:
            if streamer is not None:
                streamer(row.tokens)
            written.append(row.tokens)
        new = tensor(written, dtype=dt.int32, device=ids.device).to(ids.dtype)
        return cat([ids, new.transpose(0, 1)], 1)

    def stream(
        self,
        input_ids: Any,
        max_new_tokens: int | None = None,
        *,
        attention_mask: Tensor | None = None,
        positions: int = 0,
        **options: Any,
    ) -> Rows["NewTokens"]:
        """Yield the new token of each row as it is written, with the options and errors of `generate`.
        Closing it ends the text.

        positions: a cache of this length at least, so that texts of several lengths share a recorded step.
        """
        with no_grad():
            _, rows = self._start(input_ids, max_new_tokens, attention_mask, positions, options)
        while True:
            with no_grad():  # not while the caller runs
                row = next(rows, None)
            if row is None:
                return
            yield row

    def _ends(self, tokens: dict[str, Any]) -> dict[str, Any]:
        """Return the eos and pad tokens, those of the model's files for CONFIG."""
        return {**ends_of(self.model), **{n: token for n, token in tokens.items() if token != CONFIG}}

    def ends(self, eos_token_id: Any = CONFIG) -> tuple[int, ...]:
        """Return the tokens that end a row."""
        return Sampling(eos_token_id=self._ends({"eos_token_id": eos_token_id})["eos_token_id"]).ends

    def _start(
        self,
        input_ids: Any,
        new: int | None,
        attention_mask: Any,
        positions: int,
        options: dict[str, Any],
    ) -> tuple[Tensor, Iterator["NewTokens"]]:
        """Return the first input of the decoder, and the new tokens as they are written."""
        options = dict(options)
        longest, copies = options.pop("max_length", None), options.pop("num_return_sequences", 1)
        stops = options.pop("stop_strings", None), options.pop("tokenizer", None)
        beams, ahead = _beams_of(options), speculation_of(options)
        grammar = grammar_of(options)
        if unknown := options.keys() - {*OPTIONS}:
            name = sorted(unknown)[0]
            raise TypeError(f"generate({name}=...): is not an option{suggest(name, [*OPTIONS, *AHEAD])}")
        ends = {name: options.pop(name, CONFIG) for name in ("eos_token_id", "pad_token_id")}
        how = Sampling(**options, **self._ends(ends))
        device = next(self.model.parameters()).device
        prompt = prompt_of(input_ids, attention_mask, how.pad, device)
        new = _new_tokens(new, longest, prompt.ids.shape[1])
        if beams is not None:
            if ahead is not None:
                raise ValueError("generate(num_beams=..., prompt_lookup_num_tokens or assistant_model=...): "
                                 "do not go together: pass one of them")  # fmt: skip
            if grammar is not None:
                raise ValueError("generate(num_beams=..., grammar): do not go together: pass one of them")
            return self._search(prompt, new, how, beams(copies, how.ends))
        prompt = _copied(prompt, copies, how)
        if ahead is not None:
            if grammar is not None:
                raise ValueError("generate(prompt_lookup_num_tokens or assistant_model=..., grammar): "
                                 "do not go together: pass one of them")  # fmt: skip
            check_speculation(ahead, how, prompt.ids.shape[0], self.model)
            ids, writer = self._begin_ahead(prompt, new, how, ahead, positions)
            return ids, self._write_ahead(writer, ids, new, how, StopRows.of(stops, 1))
        ids, step = self._begin(prompt, new, how, positions)
        guides = self._guides(grammar, stops[1], how, ids.shape[0])
        return ids, _write(step, ids, new, how, StopRows.of(stops, ids.shape[0]), guides)

    def _guides(self, grammar: Grammar | None, tokenizer: Any, how: Sampling, rows: int) -> list[Guide]:
        """Return what follows a grammar in each row; [] without one."""
        if grammar is None:
            return []
        try:
            vocabulary = vocabulary_of(tokenizer)
        except ValueError as e:
            raise ValueError(f"generate({grammar.name}): {e}") from None
        return [Guide(grammar, vocabulary, how.ends, self.model.config.vocab_size) for _ in range(rows)]

    def _begin_ahead(
        self, prompt: Prompt, new: int, how: Sampling, ahead: Speculation, positions: int
    ) -> tuple[Tensor, SpeculativeWriter]:
        """Return the first input of the decoder, and what writes a text with guesses."""
        # guesses are checked behind the last token too, as far as the model has positions
        count = prompt.ids.shape[1] + new
        longest = max(getattr(self.model, "longest", count + ahead.guesses), count)
        positions = max(min(count + ahead.guesses, longest), positions)
        ids, step = self._begin(prompt, new, how, positions)
        draft = None
        if ahead.draft is not None:
            if self.drafts is None or self.drafts.model is not ahead.draft:
                self.drafts = Decoder(ahead.draft)
            draft = self.drafts._begin(prompt, new, seeded_apart(how), positions)[1]
        if step.check is None or not step.check.is_of(draft):
            step.check = GuessCheck(step, draft)
        return ids, SpeculativeWriter(ahead, step.check, step, draft)

    def _write_ahead(
        self, ahead: SpeculativeWriter, ids: Tensor, new: int, how: Sampling, stops: "StopRows | None"
    ) -> Iterator["NewTokens"]:
        """Yield the tokens of a row until it has ended."""
        self.target_steps, left = 0, new
        for tokens in ahead.tokens(ids, how):
            self.target_steps += 1
            for token in tokens[:left]:
                yield NewTokens([token])
                if token in how.ends or (stops is not None and stops.push([token])[0]):
                    return
            left -= len(tokens)
            if left <= 0:
                return

    def _search(
        self, prompt: Prompt, new: int, how: Sampling, search: Search
    ) -> tuple[Tensor, Iterator["NewTokens"]]:
        """Return what `_start` does, of a beam search."""
        ids, step = self._begin(_repeated(prompt, search.beams), new, how, 0)
        texts = beam_search(self.model, step.past, ids, new, search, how.pad)
        return ids[:: search.beams].repeat_interleave(search.copies, 0), map(NewTokens, texts)

    def _begin(self, prompt: Prompt, new: int, how: Sampling, positions: int) -> tuple[Tensor, Step]:
        """Return the first input of the decoder, and a step whose cache has the encoder's result, if any."""
        model, (batch, n) = self.model, prompt.ids.shape
        # an encoder-decoder: the prompt goes to the encoder, and the decoder begins with a start token
        if hasattr(model, "read"):
            step = self.step_of(batch, new + 1, prompt.mask is not None, n)
            step.begin(how, None)
            model.read(step.past, prompt.ids, prompt.mask)
            start = model.config.decoder_start_token_id
            return Tensor.full((batch, 1), start, dtype=prompt.ids.dtype, device=prompt.ids.device), step
        _check_padding(prompt)
        step = self.step_of(batch, max(n + new, positions), prompt.mask is not None, 0)
        device = prompt.ids.device
        padding = None if prompt.padding is None else tensor(prompt.padding, dtype=dt.int32, device=device)
        step.begin(how, padding)
        return prompt.ids, step

    def step_of(self, batch: int, length: int, is_padded: bool, memory: int) -> Step:
        """Return the step for texts of this size; one of an earlier text if it fits."""
        weight = next(self.model.parameters())
        longest = getattr(self.model, "longest", length + ROUND)
        # rounded up, but not beyond the positions that the model has
        length = max(length, min(-(-length // ROUND) * ROUND, longest))
        key = (batch, length, is_padded, memory, weight.device.name, weight.dtype.short)
        step = self.steps.pop(key, None)
        if step is None:
            # Dicts keep their order: the first key is the least recently used.
            while len(self.steps) >= KEPT:
                del self.steps[next(iter(self.steps))]
            more = {"memory": memory} if memory else {}
            step = Step(self.model, self.model.new_past(batch, length, is_padded, **more))
            # so that the first prompt has the same plan as later ones, whose caches already have values
            realize(step.done, *step.past.buffers())
        self.steps[key] = step
        return step


def generate(
    model: Module,
    input_ids: Any,
    max_new_tokens: int | None = None,
    *,
    attention_mask: Tensor | Sequence[Sequence[int]] | None = None,
    streamer: Callable[[list[int]], Any] | None = None,
    do_sample: bool = False,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    typical_p: float | None = None,
    seed: int | None = None,
    repetition_penalty: float | None = None,
    frequency_penalty: float | None = None,
    presence_penalty: float | None = None,
    no_repeat_ngram_size: int | None = None,
    num_return_sequences: int = 1,
    num_beams: int = 1,
    length_penalty: float = 1.0,
    early_stopping: bool = False,
    logits_processor: Sequence[Processor] | None = None,
    prompt_lookup_num_tokens: int | None = None,
    max_matching_ngram_size: int | None = None,
    assistant_model: Module | None = None,
    num_assistant_tokens: int | None = None,
    max_length: int | None = None,
    stop_strings: str | Sequence[str] | None = None,
    tokenizer: Any = None,
    regex: str | None = None,
    json_schema: Mapping[str, Any] | str | bool | None = None,
    grammar: Grammar | None = None,
    eos_token_id: Any = CONFIG,
    pad_token_id: Any = CONFIG,
) -> Tensor:
    """Continue rows of tokens by the model. [b, n] -> [b, n + max_new_tokens at most]

    It ends when each row has an end token. Use one Decoder for several texts.

    input_ids: a tensor, an array or lists of tokens. A model with an encoder encodes them, and the result is
    the decoder's
    max_new_tokens: by default 20
    attention_mask: 0 for padding; lists of several lengths are padded. [b, n]
    streamer: called with the new token of each row
    do_sample: sample the tokens; else take the one with the best score
    temperature: below 1 likely tokens are drawn more often
    top_k: draw one of the k best tokens
    top_p: draw one of the best tokens that have this probability together
    min_p: draw one of the tokens with at least this share of the best one's probability
    typical_p: draw one of the most typical tokens that have this probability together
    seed: of the draws; None: a new one each time
    repetition_penalty: above 1 tokens of the text, prompt included, become less likely
    frequency_penalty: lowers a token's score for each time that it was written
    presence_penalty: lowers a token's score once it was written
    no_repeat_ngram_size: no sequence of this many tokens occurs twice
    num_return_sequences: draws of each row, or texts of its beams
    num_beams: texts of each row that are continued at once, of which the best is returned; not recorded
    length_penalty: of beams: scores are divided by the length to this power
    early_stopping: of beams: end once as many texts as beams have ended
    logits_processor: functions (tokens so far, scores) -> scores, whose steps are not recorded
    prompt_lookup_num_tokens: guess this many tokens by looking up the last ones in the text; the tokens are
        the same, in fewer steps where texts repeat
    max_matching_ngram_size: tokens that are looked up at most, by default 2
    assistant_model: a smaller model with the same tokens, which writes guesses
    num_assistant_tokens: guesses of the assistant model in a step, by default 5
    max_length: tokens with the prompt, in place of max_new_tokens
    stop_strings: texts that end a row, read by `tokenizer`
    tokenizer: has `decode`, for stop_strings; for a grammar, a flambeau.tokenizers.Tokenizer
    regex: a regular expression that the new text matches as a whole
    json_schema: a schema whose JSON the new text is
    grammar: what the new text is, made by `models.Grammar`, which is compiled once for several texts
    eos_token_id: the token, or tokens, that end a row; None: none; "config": those of generation_config.json
        or config.json
    pad_token_id: the token after the end of a row; None: the first end token; "config": as above
    ValueError for invalid tokens, masks and numbers, and for a grammar that no text satisfies or that the
    vocabulary cannot write.
    """
    options = {name: value for name, value in locals().items() if name not in ("model", "input_ids")}
    return Decoder(model).generate(input_ids, **options)


def ends_of(model: Any) -> dict[str, Any]:
    """Return the eos and pad tokens of the model's files: those of generation_config.json, which
    from_pretrained keeps as `model.generation`, else those of its config."""
    own = getattr(getattr(model, "config", None), "eos_token_id", None)
    return {"eos_token_id": own, **getattr(model, "generation", {})}


class NewTokens(NamedTuple):
    """The new token of each row, and what `best_of` returns for each, None without logprobs."""

    tokens: list[int]
    best: list[list[float]] | None = None


def _new_tokens(new: int | None, longest: int | None, prompt: int) -> int:
    """Return the number of tokens to write."""
    if longest is not None and new is None:
        if type(longest) is not int or longest <= prompt:
            rule = f"the prompt has {prompt:,} tokens: pass a larger number"
            raise ValueError(f"generate(max_length={longest!r}): {rule}")
        return longest - prompt
    new = NEW if new is None else new
    if type(new) is not int or new < 1:
        raise ValueError(f"generate(max_new_tokens={new!r}): pass a number of tokens, 1 or more")
    return new


def _beams_of(options: dict[str, Any]) -> Callable[[Any, tuple[int, ...]], Search] | None:
    """Take the options of a beam search, and return what makes one of the number of returned texts and the
    end tokens; None for one beam. ValueError for options that do not go together."""
    beams = options.pop("num_beams", 1)
    penalty, early = options.pop("length_penalty", 1.0), options.pop("early_stopping", False)
    if type(beams) is not int or beams < 1:
        raise ValueError(f"generate(num_beams={beams!r}): pass a number of beams, 1 or more")
    if beams == 1:
        return None
    names = {*OPTIONS} - {"eos_token_id", "pad_token_id"}
    if used := sorted(name for name in names if options.get(name)):
        raise ValueError(f"generate(num_beams={beams}, {used[0]}=...): do not go together: pass one of them")

    def search(copies: Any, ends: tuple[int, ...]) -> Search:
        if type(copies) is not int or not 1 <= copies <= beams:
            rule = f"pass a number from 1 to num_beams, {beams}"
            raise ValueError(f"generate(num_return_sequences={copies!r}): {rule}")
        return Search(beams, copies, float(penalty), bool(early), ends)

    return search


def _copied(prompt: Prompt, copies: Any, how: Sampling) -> Prompt:
    """Return a prompt with several copies of each row."""
    if type(copies) is not int or copies < 1 or (copies > 1 and not how.do_sample):
        rule = "pass a number, 1 or more; above 1 with do_sample=True"
        raise ValueError(f"generate(num_return_sequences={copies!r}): {rule}")
    return _repeated(prompt, copies)


def _repeated(prompt: Prompt, copies: int) -> Prompt:
    """Return a prompt with each row several times."""
    if copies == 1:
        return prompt
    mask = None if prompt.mask is None else prompt.mask.repeat_interleave(copies, 0)
    padding = None if prompt.padding is None else [n for n in prompt.padding for _ in range(copies)]
    return Prompt(prompt.ids.repeat_interleave(copies, 0), mask, padding)


class StopRows:
    """Finds the rows whose new text has one of several texts.

    tokenizer: has `decode`, for tokens. stops: the texts. rows: their number.
    """

    def __init__(self, tokenizer: Any, stops: list[str], rows: int):
        self.tokenizer, self.stops = tokenizer, stops
        self.ids: list[list[int]] = [[] for _ in range(rows)]
        self.longest = max(map(len, stops), default=0)

    @classmethod
    def of(cls, options: tuple[Any, Any], rows: int) -> "StopRows | None":
        """Return the finder for stop_strings and a tokenizer; None without texts. ValueError for texts
        without a tokenizer."""
        stops, tokenizer = options
        if stops is None:
            return None
        stops = [stops] if isinstance(stops, str) else [*stops]
        if not hasattr(tokenizer, "decode") or not all(isinstance(s, str) and s for s in stops):
            rule = "pass texts, and tokenizer= with the tokenizer that reads them"
            raise ValueError(f"generate(stop_strings={stops!r}): {rule}")
        return cls(tokenizer, stops, rows)

    def push(self, tokens: list[int]) -> list[bool]:
        """Return whether each row's text has a stop text at its end, after a new token."""
        ended: list[bool] = []
        for ids, token in zip(self.ids, tokens, strict=True):
            ids.append(token)
            # a character has four tokens at most; the stop text may begin anywhere in the last ones
            before, text = (self.tokenizer.decode(part[-4 * self.longest - 8 :]) for part in (ids[:-1], ids))
            new = max(len(text) - len(before), 0)
            tail = text[max(len(text) - new - self.longest, 0) :]
            ended.append(any(s in tail for s in self.stops))
        return ended


def _write(
    step: Step, ids: Tensor, new: int, how: Sampling, stops: StopRows | None, guides: Sequence[Guide]
) -> Iterator[NewTokens]:
    """Generate the tokens of each row until all rows have ended. A token is read a few steps after its
    submission, so the last steps may be computed in vain."""
    pending: deque[Reading] = deque()
    rule, ended = rule_of(how), [False] * ids.shape[0]
    processors = tuple(how.logits_processor or ())
    token, steps = _submit(step.first(ids, rule, processors, _mask_of(guides, ids)), pending), 1
    # NumPy has computed a step when it returns; a grammar allows tokens by those before them
    lag = 0 if ids.device.kind == "cpu" or guides else LAG
    while True:
        while steps < new and len(pending) <= lag and not (guides and pending):
            mask = _mask_of(guides, ids)
            if processors:  # a user's functions are not recorded
                result = step.next_by(processors, token, rule, ids.shape[1] + steps, mask)
            else:
                result = step.replayed(token, tuple(rule), mask)
            token, steps = _submit(result, pending), steps + 1
        if not pending:
            return
        values = pending.popleft()
        # rows that a text has stopped get padding, as others do after an end token
        read_tokens: list[int] = [row[0] for row in values[0]]
        tokens = [how.pad if was else t for was, t in zip(ended, read_tokens, strict=True)]
        yield NewTokens(tokens, values[1] if rule.logprobs >= 0 else None)
        stopped = stops.push(tokens) if stops is not None else [False] * len(tokens)
        over = [g.push(t) for g, t in zip(guides, tokens, strict=True)] if guides else stopped
        rows = zip(ended, tokens, stopped, over, strict=True)
        ended = [was or token in how.ends or stop or end for was, token, stop, end in rows]
        for guide, end in zip(guides, ended, strict=bool(guides)):
            guide.is_over = guide.is_over or end
        if all(ended):
            return


def _mask_of(guides: Sequence[Guide], ids: Tensor) -> Tensor | None:
    """Return the tokens that may come next, as `constrain` takes them; None without a grammar."""
    return tensor(np.stack([g.mask() for g in guides]), device=ids.device) if guides else None


def _submit(result: Any, pending: "deque[Reading]") -> Tensor:
    """Queue the reading of a step's result, and return its tokens."""
    parts: Sequence[Tensor] = result if is_sequence(result) else (result,)
    pending.append(read(*parts))
    return parts[0]
