"""Generates text token by token: a step is recorded once and replayed, and writes into one cache."""

from collections import deque
from collections.abc import Callable, Iterator
from collections.abc import Generator as Rows
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..capture.jit import jit
from ..core import dtype as dt
from ..core.modes import no_grad
from ..core.node import describe
from ..core.tree import is_sequence
from ..device import DeviceLike
from ..functions import Reading, read
from ..ops.join import cat
from ..ops.random import Generator
from ..ops.random import generator as default_generator
from ..runtime.run import realize
from ..tensor import HostScalar, Tensor, tensor
from .past import Past

LAG = 2  # steps that are submitted before the first one is read, so that the device never waits for the host
ROUND = 64  # cache lengths are rounded up to a multiple, so that later texts can reuse the cache
KEPT = 2  # caches that a decoder keeps
# The longest prompt that the recorded step processes token by token on a GPU: building a prompt's own graph
# takes the host as long as 30 replays, and planning and compiling the first one as long as 1,000.
ONE_BY_ONE = 32
CONFIG = "config"  # instead of a token: use the one in the model's files


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen: the most likely one, or a sample with do_sample.

    temperature: below 1 likely tokens are chosen more often. top_k: sample from the k best. top_p: sample
    from the smallest set of best tokens with this total probability. seed: makes draws reproducible.
    eos_token_id: a token, or several, that end a row, None for none; pad_token_id: the token after the end,
    by default the first eos.
    """

    do_sample: bool = False
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None
    eos_token_id: Any = None
    pad_token_id: int | None = None

    def __post_init__(self):
        names = ("temperature", "top_k", "top_p", "seed")
        options = [f"{name}={getattr(self, name)}" for name in names if getattr(self, name) is not None]
        if options and not self.do_sample:
            raise ValueError(
                f"generate({', '.join(options)}): it applies only to sampling: pass do_sample=True as well"
            )
        rules: dict[str, tuple[str, Callable[[float], bool]]] = {
            "temperature": ("a number above 0", lambda v: v > 0),
            "top_k": ("a number of tokens, 1 or more", lambda v: v == int(v) and v >= 1),
            "top_p": ("a probability above 0, 1 at most", lambda v: 0 < v <= 1),
        }
        for name, (rule, holds) in rules.items():
            value = getattr(self, name)
            if value is not None and not holds(value):
                raise ValueError(f"generate({name}={value!r}): pass {rule}")

    @property
    def ends(self) -> tuple[int, ...]:
        """The tokens that end a row."""
        ids = self.eos_token_id
        return () if ids is None else tuple(ids) if is_sequence(ids) else (ids,)

    @property
    def pad(self) -> int:
        """The token after the end of a row."""
        return self.pad_token_id if self.pad_token_id is not None else (self.ends or (0,))[0]


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


DrawRule = tuple[bool, int | None, bool]  # (has a temperature, top_k, has top_p)
StepRule = tuple[DrawRule | None, tuple[int, ...], int]  # how to draw, the tokens that end a row, the padding


class Step:
    """Computes the next token from the last one and the cache; recorded once, then replayed."""

    def __init__(self, model: Any, past: Past):
        self.model, self.past, self.generator = model, past, Generator()
        self.seed = 0  # of the present text
        # HostScalars: a replayed step reads their current values, so one recording serves all temperatures.
        self.inverse, self.top_p = HostScalar(1.0), HostScalar(1.0)
        device = past.padding.device
        # done is a tensor of the step: a recorded step updates it without a readback.
        self.done = Tensor.zeros(past.size.batch, 1, dtype=dt.bool_, device=device)
        self.replayed = jit(self.next)

    def begin(self, sampling: Sampling, padding: Tensor | None) -> None:
        """Empty the cache."""
        self.past.begin(padding)
        self.inverse.value = 1 / (sampling.temperature or 1.0)
        self.top_p.value = sampling.top_p or 1.0
        self._reset(_draw_seed() if sampling.seed is None else sampling.seed)

    def _reset(self, seed: int) -> None:
        """Begin the draws, and the rows, none of which has ended."""
        self.seed = seed
        self.generator.manual_seed(seed)
        self.done.assign_(self.done & False)

    def first(self, ids: Tensor, rule: StepRule) -> Tensor:
        """Return the first token of each row, after the prompt. [b, n] -> [b, 1]"""
        device, n = ids.device, ids.shape[1]
        if n > ONE_BY_ONE or device.kind == "cpu" or device.limits.software:
            return self.next(ids, rule)
        *columns, last = (tensor(c, device=device) for c in np.split(ids.numpy(), n, 1))
        for column in columns:
            self.replayed(column, rule)
        if columns:  # choices inside the prompt end no row, and their draws are not counted
            self._reset(self.seed)
        return self.replayed(last, rule)

    def next(self, ids: Tensor, rule: StepRule) -> Tensor:
        """Return the next token of each row; `pad` if the row has ended. [b, n] -> [b, 1]

        rule: the result of `rule_of`, on which a recorded step depends.
        """
        # Only the last position's scores are needed; the head is the largest product of a small model.
        x = self.model.hidden(ids, self.past)[:, -1:]
        draw, ends, pad = rule
        token = self.choose(self.model.head(x)[:, 0].float(), draw)
        if ends:
            # rows that have ended get padding until all have ended
            token = self.done.where(pad, token)
            ended = token == ends[0]
            for end in ends[1:]:
                ended = ended | (token == end)
            self.done.assign_(self.done | ended)
        return token.to(ids.dtype)

    def choose(self, logits: Tensor, draw: DrawRule | None) -> Tensor:
        """Choose a token for each row by its scores. [b, vocabulary] -> [b, 1]"""
        if draw is None:
            return logits.argmax(-1, keepdim=True)
        is_heated, top_k, is_cut = draw
        # the order of transformers' logits processors: temperature, top_k, top_p
        if is_heated:
            logits = logits * self.inverse
        if top_k is not None:
            logits = top_k_of(logits, top_k)
        if is_cut:
            logits = top_p_of(logits, self.top_p)
        return logits.softmax(-1).multinomial(1, generator=self.generator)


def rule_of(s: Sampling) -> StepRule:
    """Return the sampling options that a step's kernels depend on; numbers that kernels read, such as the
    temperature, are left out."""
    draw = (s.temperature is not None, s.top_k, s.top_p is not None) if s.do_sample else None
    return draw, s.ends, s.pad


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
    T5ForConditionalGeneration.
    """

    def __init__(self, model: Any):
        self.model = model
        self.steps: dict[tuple[Any, ...], Step] = {}  # by cache sizes, the most recent last

    @no_grad()
    def generate(
        self,
        input_ids: Any,
        max_new_tokens: int = 20,
        *,
        attention_mask: Any = None,
        streamer: Callable[[list[int]], Any] | None = None,
        do_sample: bool = False,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        eos_token_id: Any = CONFIG,
        pad_token_id: Any = CONFIG,
    ) -> Tensor:
        """As `generate` of the model, with its errors. [b, n] -> [b, n + max_new_tokens at most]"""
        ends = {"eos_token_id": eos_token_id, "pad_token_id": pad_token_id}
        how = Sampling(do_sample, temperature, top_k, top_p, seed, **self._ends(ends))
        ids, rows = self._start(input_ids, max_new_tokens, attention_mask, how, 0)
        written: list[list[int]] = []
        for row in rows:
            if streamer is not None:
                streamer(row)
            written.append(row)
        new = tensor(written, dtype=dt.int32, device=ids.device).to(ids.dtype)
        return cat([ids, new.transpose(0, 1)], 1)

    def stream(
        self,
        input_ids: Any,
        max_new_tokens: int = 20,
        *,
        attention_mask: Any = None,
        positions: int = 0,
        eos_token_id: Any = CONFIG,
        pad_token_id: Any = CONFIG,
        **sampling: Any,
    ) -> Rows[list[int]]:
        """Yield the new token of each row as it is written, with the errors of `generate`. Closing it ends
        the text.

        positions: a cache of this length at least, so that texts of several lengths share a recorded step.
        sampling: options of `Sampling`.
        """
        ends = {"eos_token_id": eos_token_id, "pad_token_id": pad_token_id}
        how = Sampling(**sampling, **self._ends(ends))
        with no_grad():
            _, rows = self._start(input_ids, max_new_tokens, attention_mask, how, positions)
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
        self, input_ids: Any, new: int, attention_mask: Any, how: Sampling, positions: int
    ) -> tuple[Tensor, Iterator[list[int]]]:
        """Return the first input of the decoder, and the rows of new tokens as they are written."""
        if type(new) is not int or new < 1:
            raise ValueError(f"generate(max_new_tokens={new!r}): pass a number of tokens, 1 or more")
        device = next(self.model.parameters()).device
        prompt = prompt_of(input_ids, attention_mask, how.pad, device)
        ids, step = self._begin(prompt, new, how, positions)
        return ids, _write(step, ids, new, how)

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
    model: Any,
    input_ids: Any,
    max_new_tokens: int = 20,
    *,
    attention_mask: Any = None,
    streamer: Callable[[list[int]], Any] | None = None,
    do_sample: bool = False,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | None = None,
    eos_token_id: Any = CONFIG,
    pad_token_id: Any = CONFIG,
) -> Tensor:
    """Continue rows of tokens by the model. [b, n] -> [b, n + max_new_tokens at most]

    It ends when each row has an end token. Use one Decoder for several texts.

    input_ids: a tensor, an array or lists of tokens. A model with an encoder encodes them, and the result is
    the decoder's
    attention_mask: 0 for padding; lists of several lengths are padded. [b, n]
    streamer: called with the new token of each row
    do_sample: sample the tokens; else take the one with the best score
    temperature: below 1 likely tokens are drawn more often
    top_k: draw one of the k best tokens
    top_p: draw one of the best tokens that have this probability together
    seed: of the draws; None: a new one each time
    eos_token_id: the token, or tokens, that end a row; None: none; "config": those of generation_config.json
        or config.json
    pad_token_id: the token after the end of a row; None: the first end token; "config": as above
    ValueError for invalid tokens, masks and numbers.
    """
    return Decoder(model).generate(
        input_ids,
        max_new_tokens,
        attention_mask=attention_mask,
        streamer=streamer,
        do_sample=do_sample,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
        eos_token_id=eos_token_id,
        pad_token_id=pad_token_id,
    )


def ends_of(model: Any) -> dict[str, Any]:
    """Return the eos and pad tokens of the model's files: those of generation_config.json, which
    from_pretrained keeps as `model.generation`, else those of its config."""
    own = getattr(getattr(model, "config", None), "eos_token_id", None)
    return {"eos_token_id": own, **getattr(model, "generation", {})}


def _write(step: Step, ids: Tensor, new: int, how: Sampling) -> Iterator[list[int]]:
    """Generate the tokens of each row until all rows have ended. A token is read a few steps after its
    submission, so the last steps may be computed in vain."""
    pending: deque[Reading] = deque()
    rule, ended = rule_of(how), [False] * ids.shape[0]
    # A longer prompt runs eagerly, since its length differs from text to text; steps are replayed.
    token, steps = step.first(ids, rule), 1
    pending.append(read(token))
    lag = 0 if ids.device.kind == "cpu" else LAG  # NumPy has computed a step when it returns
    while True:
        while steps < new and len(pending) <= lag:
            token, steps = step.replayed(token, rule), steps + 1
            pending.append(read(token))
        if not pending:
            return
        tokens: list[int] = [row[0] for row in pending.popleft()[0]]
        yield tokens
        ended = [was or token in how.ends for was, token in zip(ended, tokens, strict=True)]
        if all(ended):
            return
