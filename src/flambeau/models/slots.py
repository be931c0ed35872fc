"""Texts of several requests that advance together: a fixed number of slots, each with a length, rows of the
cache and sampling options of its own, in one recorded step."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..capture.jit import jit
from ..core import dtype as dt
from ..core.modes import no_grad
from ..functions import Reading, read
from ..ops.attention.attention import scaled_dot_product_attention
from ..runtime.run import realize
from ..tensor import Tensor, tensor
from .past import Past
from .sampling import Sampling, best_of, constrain

CHUNKS = (16, 128)  # tokens of a prompt that a recorded call takes
IDLE = -1  # the place of a slot without a text: nothing is written, and it sees no keys
# options of a slot as columns of one array: their values for a slot without the option change nothing
COLUMNS = ("inverse_temperature", "top_k", "top_p", "min_p", "repetition_penalty", "frequency_penalty",
           "presence_penalty", "uniform")  # fmt: skip
NEUTRAL = (1.0, float(1 << 23), 2.0, 0.0, 1.0, 0.0, 0.0, -1.0)
COLUMN = {name: i for i, name in enumerate(COLUMNS)}
PENALTIES = ("repetition_penalty", "frequency_penalty", "presence_penalty")
LIMITS = ("top_k", "top_p", "min_p")
BEST = 20  # tokens whose logarithms are reported, of which a text takes as many as it asks for


class SlotRows:
    """The cache of slots in one call, with the interface of `Past`: rows have places of their own.

    past: the cache. positions: where each slot's new tokens are written, past the end or -1 for none. [slots]
    slot: the only one that the call computes; None for all. [1]
    """

    def __init__(self, past: Past, positions: Tensor, slot: Tensor | None = None):
        self.past, self.at, self.slot = past, positions, slot
        self.start = positions if slot is None else positions.gather(0, slot.long())

    def count(self) -> Tensor:
        """Return the number of tokens before the new ones. -> [rows]"""
        return self.start

    def places(self, n: int) -> Tensor:
        """Return the positions of the next n tokens. -> [rows, n]"""
        positions = Tensor.arange(n, dtype=dt.int32, device=self.at.device) + self.start.unsqueeze(1)
        return positions.clamp(0, self.past.size.length - 1)  # idle slots and the end of a chunk are not read

    def mask(self, n: int, window: int | None = None) -> Tensor | None:
        """Return the keys that the next n tokens may attend to, apart from causality; None for all.
        -> [rows, 1, n, length]"""
        length = self.past.size.length
        if window is None or window >= length:
            return None
        keys = Tensor.arange(length, dtype=dt.int32, device=self.at.device)
        rows = Tensor.arange(n, dtype=dt.int32, device=keys.device) + self.start.unsqueeze(1)
        return (keys > rows.unsqueeze(-1) - window).unsqueeze(1)

    def append(self, index: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Write the keys and values of layer `index`. [rows, heads, n, features] twice -> all keys, all
        values, and the position of each row's first new one, [rows, 1, 1, 1]"""
        layer: Any = self.past.layers[index]
        slots = self.past.size.batch
        # a chunk is written by the slot whose place is within the cache
        rows = (t.expand(slots, *t.shape[1:]) for t in (key, value))
        layer.write(*rows, self.at)
        keys, values = layer.keys, layer.values
        if self.slot is not None:
            keys, values = (t.index_select(0, self.slot) for t in (keys, values))
        return keys, values, self.start.reshape(-1, 1, 1, 1)

    def attend(
        self,
        index: int,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        scale: float | None = None,
    ) -> Tensor:
        """Write the keys and values of layer `index`, and attend to all tokens so far.
        [rows, g, n, features], [rows, heads, n, features] twice -> [rows, g, n, features]"""
        keys, values, start = self.append(index, key, value)
        grouped = query.shape[1] != keys.shape[1]
        return scaled_dot_product_attention(
            query, keys, values, mask, is_causal=True, scale=scale, enable_gqa=grouped, start=start.flatten()
        )


class SlotState(NamedTuple):
    """What recorded calls read and write: the model, its cache, the last token of each slot, whether a token
    is in the text, and how often it was written."""

    model: Any
    past: Past
    last: Tensor
    seen: Tensor
    counts: Tensor

    def buffers(self) -> list[Tensor]:
        """Return its tensors."""
        return [self.last, self.seen, self.counts, *self.past.buffers()]


class SlotStages:
    """The recorded calls. Each gives the same bits for a slot whatever the others have: stages that a slot
    does not need leave its scores as they are, and stages that no slot needs are left out.

    state: of the slots.
    """

    def __init__(self, state: SlotState):
        self.state = state
        names = ("chunk", "copy", "scores", "remember", "penalize", "constrain", "limit", "best",
                 "draws", "greedy", "count")  # fmt: skip
        functions = {name: getattr(self, f"_{name}") for name in names}
        self.calls = {name: jit(function) for name, function in functions.items()}

    def recordings(self) -> int:
        """Return how many recordings the calls have."""
        return sum(len(row) for call in self.calls.values() for row in call.programs.values())  # type: ignore[attr-defined]

    def _chunk(self, ids: Tensor, positions: Tensor, slot: Tensor) -> Tensor:
        """Write the keys and values of a part of a prompt. [1, n], [slots], [1] -> its place, [1]"""
        rows = SlotRows(self.state.past, positions, slot)
        self.state.model.hidden(ids, rows)
        return rows.start + 0

    def _copy(self, source: Tensor, positions: Tensor) -> Tensor:
        """Write a slot's keys and values to the slots whose place is 0. [1], [slots] -> [slots]"""
        slots = self.state.past.size.batch
        for layer in self.state.past.layers:
            held: Any = layer
            rows = (t.index_select(0, source) for t in (held.keys, held.values))
            held.write(*(t.expand(slots, *t.shape[1:]) for t in rows), positions)
        return positions + 0

    def _scores(self, fresh: Tensor, positions: Tensor) -> Tensor:
        """Return the scores of each slot's next token. fresh: the token that a text begins with, -1 to go on
        with the last one. [slots, 1], [slots] -> [slots, vocabulary]"""
        ids = (fresh >= 0).where(fresh, self.state.last)
        x = self.state.model.hidden(ids, SlotRows(self.state.past, positions))
        return self.state.model.head(x)[:, 0].float()

    def _remember(self, slot: Tensor, seen: Tensor) -> Tensor:
        """Begin a slot's history with the tokens of its prompt. [slots, 1], [1, vocabulary] -> [slots, 1]"""
        state = self.state
        state.seen.assign_((slot & seen) | (~slot & state.seen))
        state.counts.assign_(slot.where(0.0, state.counts))
        return slot & True

    def _penalize(self, logits: Tensor, numbers: Tensor) -> Tensor:
        """Lower the scores of tokens that the texts have. [slots, vocabulary], [slots, columns] -> [slots,
        vocabulary]"""
        seen, counts = self.state.seen, self.state.counts
        repeated, often, once = (_column(numbers, name) for name in PENALTIES)
        lower = (logits < 0).where(logits * repeated, logits / repeated)
        logits = (seen & (repeated != 1)).where(lower, logits)
        lower = logits - counts * often - (counts > 0).float() * once
        return ((often != 0) | (once != 0)).where(lower, logits)

    def _constrain(self, logits: Tensor, mask: Tensor) -> Tensor:
        return constrain(logits, mask)

    def _limit(self, logits: Tensor, numbers: Tensor) -> Tensor:
        return limit_rows(logits, numbers)

    def _best(self, logits: Tensor, token: Tensor) -> Tensor:
        return best_of(logits, token, min(BEST, logits.shape[-1]))

    def _draws(self, logits: Tensor, numbers: Tensor) -> Tensor:
        """Draw the token of each slot that draws; of others the best one. -> [slots, 1]"""
        uniform = _column(numbers, "uniform")
        best = logits.argmax(-1, keepdim=True).int()
        drawn = draw_rows(logits * _column(numbers, "inverse_temperature"), uniform)
        return self._keep((uniform >= 0).where(drawn, best))

    def _greedy(self, logits: Tensor) -> Tensor:
        """Return the best token of each slot. -> [slots, 1]"""
        return self._keep(logits.argmax(-1, keepdim=True).int())

    def _keep(self, token: Tensor) -> Tensor:
        """Keep the tokens for the next step."""
        self.state.last.assign_(token)
        return token + 0

    def _count(self, token: Tensor, positions: Tensor) -> Tensor:
        """Take the new tokens to the histories, but those of idle slots. [slots, 1], [slots] -> [slots, 1]"""
        state = self.state
        hot = Tensor.arange(state.seen.shape[1], dtype=dt.int32, device=token.device) == token
        hot = hot & (positions >= 0).unsqueeze(1)
        state.seen.assign_(state.seen | hot)
        state.counts.assign_(state.counts + hot.float())
        return token + 0


def _column(numbers: Tensor, name: str) -> Tensor:
    """Return an option of the slots. [slots, columns] -> [slots, 1]"""
    column = COLUMN[name]
    return numbers[:, column : column + 1]


def limit_rows(logits: Tensor, numbers: Tensor) -> Tensor:
    """Set the scores of tokens to -inf that the draws of each row leave out, as `sampling.limit`; other
    scores stay as they are. [slots, vocabulary], [slots, columns] -> [slots, vocabulary]"""
    scaled = logits * _column(numbers, "inverse_temperature")
    best = scaled.sort(-1, descending=True)[0]
    k = _column(numbers, "top_k").clamp(1, logits.shape[-1])
    least = best.gather(-1, k.long() - 1)
    shares = (best >= least).where(best, float("-inf")).softmax(-1)
    kept = shares.cumsum(-1) - shares < _column(numbers, "top_p")
    least = least.maximum(kept.where(best, float("inf")).amin(-1, keepdim=True))
    share = (scaled - best[:, :1]).exp()  # of the best one's probability
    return ((scaled >= least) & (share >= _column(numbers, "min_p"))).where(logits, float("-inf"))


def draw_rows(logits: Tensor, uniform: Tensor) -> Tensor:
    """Return the token of each row where the sum of probabilities exceeds a number from 0 to 1.
    [rows, n], [rows, 1] -> int32 [rows, 1]"""
    shares = logits.softmax(-1)
    sums = shares.cumsum(-1)
    n = logits.shape[-1]
    # a parallel sum may grow by rounding where a share is 0
    is_past = (sums > sums[:, -1:] * uniform) & (shares > 0)
    first = is_past.where(Tensor.arange(n, dtype=dt.int32, device=logits.device), n).amin(-1, keepdim=True)
    return (first < n).where(first, logits.argmax(-1, keepdim=True).int())


class SlotRequest:
    """The sampling of a slot's text. Its draws depend on the seed and the number of the token alone.

    how: the options. guide: the grammar that it follows, None for none. ValueError for options that slots
    lack.
    """

    def __init__(self, how: Sampling, seed: int, guide: Any = None):
        for name in ("typical_p", "no_repeat_ngram_size", "logits_processor"):
            if getattr(how, name):
                raise ValueError(f"slots: {name} is not supported: use generate")
        if how.logprobs is not None and how.logprobs > BEST:
            raise ValueError(f"slots: logprobs={how.logprobs}: pass a number from 0 to {BEST}")
        self.how, self.guide = how, guide
        numbers = dict(zip(COLUMNS, NEUTRAL, strict=True))
        for name in (*LIMITS, *PENALTIES):
            value = getattr(how, name)
            numbers[name] = numbers[name] if value is None else float(value)
        if how.temperature is not None:
            numbers["inverse_temperature"] = 1 / how.temperature
        self.numbers = np.array([numbers[name] for name in COLUMNS], np.float32)
        self.uniforms = np.random.Generator(np.random.Philox(seed % (1 << 64)))
        self.penalizes = any(getattr(how, name) is not None for name in PENALTIES)
        self.limits = how.do_sample and any(getattr(how, name) is not None for name in LIMITS)

    def next_numbers(self) -> np.ndarray:
        """Return the columns for the next token. -> [columns]"""
        if self.how.do_sample:
            self.numbers[COLUMN["uniform"]] = self.uniforms.random(dtype=np.float32)
        return self.numbers


class SlotRow(NamedTuple):
    """A slot in a step: its request, the place of the token that goes in, and that token, -1 for the one that
    the last step wrote."""

    request: SlotRequest
    place: int
    token: int


class SlotDecoder:
    """Computes the next tokens of several texts in recorded steps; which texts they are, records nothing.

    model: a network with hidden, head and new_past, such as LlamaForCausalLM. slots: texts at once. length:
    the most tokens of each. `steps`, `chunks` and `copies` count calls.
    """

    def __init__(self, model: Any, slots: int, length: int):
        weight = next(model.parameters())
        self.slots, self.length, self.device = slots, length, weight.device
        self.vocabulary: int = model.config.vocab_size
        past = model.new_past(slots, length)
        last = Tensor.zeros(slots, 1, dtype=dt.int32, device=self.device)
        seen = Tensor.zeros(slots, self.vocabulary, dtype=dt.bool_, device=self.device)
        counts = Tensor.zeros(slots, self.vocabulary, device=self.device)
        self.state = SlotState(model, past, last, seen, counts)
        realize(*self.state.buffers())
        self.stages = SlotStages(self.state)
        self.chunk_sizes = tuple(n for n in CHUNKS if n <= length) or (length,)
        self.steps = self.chunks = self.copies = 0

    def _ints(self, values: Any) -> Tensor:
        return tensor(np.array(values, np.int32), device=self.device)

    def _at(self, slot: int, place: int) -> Tensor:
        """Return places where one slot is written alone. -> [slots]"""
        return self._ints([place if i == slot else self.length for i in range(self.slots)])

    @no_grad()
    def prefill(self, slot: int, ids: Sequence[int], begin: int) -> int:
        """Write the keys and values of the first of a slot's tokens from position `begin` on. Return how many
        were written, a chunk at most."""
        size = next((n for n in self.chunk_sizes if 4 * n >= len(ids)), self.chunk_sizes[-1])
        taken = min(size, len(ids))
        padded = [*ids[:taken], *[0] * (size - taken)]  # which is overwritten before anything sees it
        self.stages.calls["chunk"](self._ints([padded]), self._at(slot, begin), self._ints([slot]))
        self.chunks += 1
        return taken

    @no_grad()
    def copy(self, source: int, target: int) -> None:
        """Copy the keys and values of a slot to another."""
        self.stages.calls["copy"](self._ints([source]), self._at(target, 0))
        self.copies += 1

    @no_grad()
    def begin(self, slot: int, ids: Sequence[int], request: SlotRequest) -> None:
        """Begin a slot's history, if the request's scores depend on it."""
        if not request.penalizes:
            return
        seen = np.zeros((1, self.vocabulary), bool)
        seen[0, [i for i in ids if 0 <= i < self.vocabulary]] = True
        chosen = np.arange(self.slots).reshape(-1, 1) == slot
        self.stages.calls["remember"](*(tensor(a, device=self.device) for a in (chosen, seen)))

    @no_grad()
    def step(self, rows: Sequence[SlotRow | None]) -> Reading:
        """Submit a step. rows: of each slot, None for one that waits. Return what reads the tokens,
        [slots, 1], and with logprobs the numbers of `best_of`."""
        calls, active = self.stages.calls, [row.request for row in rows if row is not None]
        fresh = self._ints([[-1 if row is None else row.token] for row in rows])
        positions = self._ints([IDLE if row is None else row.place for row in rows])
        logits = calls["scores"](fresh, positions)
        neutral = np.array(NEUTRAL, np.float32)
        columns = np.stack([neutral if row is None else row.request.next_numbers() for row in rows])
        numbers = tensor(columns, device=self.device)
        if any(r.penalizes for r in active):
            logits = calls["penalize"](logits, numbers)
        if any(r.guide is not None for r in active):
            free = np.full(-(-self.vocabulary // 32), -1, np.int32)
            guides = [None if row is None else row.request.guide for row in rows]
            masks = np.stack([free if guide is None else guide.mask() for guide in guides])
            logits = calls["constrain"](logits, tensor(masks, device=self.device))
        scores = calls["limit"](logits, numbers) if any(r.limits for r in active) else logits
        draws = any(r.how.do_sample for r in active)
        token = calls["draws"](scores, numbers) if draws else calls["greedy"](scores)
        if any(r.penalizes for r in active):
            calls["count"](token, positions)
        self.steps += 1
        if any(r.how.logprobs is not None for r in active):
            return read(token, calls["best"](logits, token.long()))
        return read(token)
