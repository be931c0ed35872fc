"""Texts of several requests in the slots of a model: who comes in, who leaves, and what of a prompt is in a
cache already. One thread works with the device."""

import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from secrets import randbits
from typing import Any, TypeVar

from ..core.modes import no_grad
from ..functions import Reading
from ..models.generation import LAG, NewTokens
from ..models.sampling import Sampling
from ..models.slots import SlotDecoder, SlotRequest, SlotRow

WAITING = 32  # texts that may wait for a slot
LEAST_SHARED = 8  # tokens at the beginning of a prompt that are worth a copy of a slot's cache
POLL = 0.2  # seconds between two looks at a client that waits
R = TypeVar("R")


class QueueFull(Exception):
    """Too many texts wait for a slot."""


class Closing(Exception):
    """The server ends."""


@dataclass(eq=False)
class Text:
    """A text that is being written.

    ids: its prompt. new: the most tokens that follow. ends: tokens that end it. reused, prefilled: tokens of
    the prompt that were in a cache already, and others.
    """

    ids: list[int]
    new: int
    how: Sampling
    request: SlotRequest
    ends: frozenset[int]
    out: "SimpleQueue[NewTokens | Exception | None]" = field(default_factory=lambda: SimpleQueue())
    submitted: int = 0
    written: list[int] = field(default_factory=lambda: [])
    reused: int = 0
    prefilled: int = 0
    is_over: bool = False

    def cancel(self) -> None:
        """End it; from another thread too."""
        self.is_over = True

    def tokens(self, is_stopped: Callable[[], bool]) -> Generator[NewTokens]:
        """Yield the tokens as they come. is_stopped: asked while it waits; True ends it."""
        try:
            while (item := self._next(is_stopped)) is not None:
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.cancel()

    def _next(self, is_stopped: Callable[[], bool]) -> NewTokens | Exception | None:
        """Return what comes next, None at the end."""
        while True:
            try:
                return self.out.get(timeout=POLL)
            except Empty:
                if is_stopped():
                    return None


@dataclass(eq=False)
class Slot:
    """A slot: its text, None if it is free, and the tokens whose keys and values its cache has.

    number: of its row. used: when it was taken last.
    """

    number: int
    text: Text | None = None
    held: list[int] = field(default_factory=lambda: [])
    used: int = 0

    @property
    def rest(self) -> list[int]:
        """The tokens of the prompt that the cache lacks, without the last one, which a step takes."""
        return [] if self.text is None else self.text.ids[len(self.held) : -1]


def shared(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many tokens at the beginning two texts share."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


class Batcher:
    """Advances texts together, in a thread of its own.

    model: a decoder. slots: texts at once. length: the most tokens of each. `prefilled` and `reused` count
    tokens of prompts.
    """

    def __init__(self, model: Any, slots: int, length: int):
        self.model, self.count, self.length = model, slots, length
        self.slots = [Slot(i) for i in range(slots)]
        self.waiting: deque[Text] = deque()
        self.tasks: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self.pending: deque[tuple[Reading, list[tuple[int, Text]]]] = deque()
        self.changed = threading.Condition()
        self.is_closing, self.thread = False, None
        self.prefilled = self.reused = self.clock = 0
        self._decoder: SlotDecoder | None = None

    @property
    def decoder(self) -> SlotDecoder:
        """The slots' cache and recorded steps, made when a text first needs them."""
        if self._decoder is None:
            self._decoder = SlotDecoder(self.model, self.count, self.length)
        return self._decoder

    # --- from any thread ---

    def add(self, texts: Sequence[Text]) -> None:
        """Take texts in. QueueFull if too many wait, Closing at the end."""
        with self.changed:
            free = sum(s.text is None for s in self.slots)
            if len(self.waiting) + len(self.tasks) + len(texts) > WAITING + free:
                raise QueueFull
            self._start()
            self.waiting.extend(texts)

    def call(self, task: Callable[[], R]) -> R:
        """Return what a function returns that works with the device, between two steps. QueueFull, Closing as
        of `add`."""
        future: Future[R] = Future()
        with self.changed:
            if len(self.waiting) + len(self.tasks) >= WAITING:
                raise QueueFull
            self._start()
            self.tasks.append((future, task))
        return future.result()

    def _start(self) -> None:
        """Start the thread, or wake it up."""
        if self.is_closing:
            raise Closing
        if self.thread is None:
            self.thread = threading.Thread(target=self._work, daemon=True, name="flambeau-serve")
            self.thread.start()
        self.changed.notify()

    def close(self) -> None:
        """End all texts after the step that is being computed, and the thread."""
        with self.changed:
            self.is_closing = True
            self.changed.notify()
        if self.thread is not None:
            self.thread.join()

    # --- in its own thread ---

    def _work(self) -> None:
        while True:
            with self.changed:
                while not (self.is_closing or self.waiting or self.tasks or self._is_busy()):
                    self.changed.wait()
                if self.is_closing:
                    self._fail(Closing())
                    return
            try:
                with no_grad():
                    self.advance()
            except Exception as e:  # the device failed: the texts end, the server goes on
                self._fail(e)

    def _is_busy(self) -> bool:
        return bool(self.pending) or any(s.text is not None for s in self.slots)

    def _fail(self, error: Exception) -> None:
        """End all texts by an error, and forget the caches."""
        self.pending.clear()
        texts = [s.text for s in self.slots if s.text is not None] + list(self.waiting)
        self.slots = [Slot(i) for i in range(self.count)]
        self.waiting.clear()
        self._decoder = None
        for text in texts:
            text.is_over = True
            text.out.put(error)
        while self.tasks:
            self.tasks.popleft()[0].set_exception(error)

    def advance(self) -> None:
        """Take texts in, prefill a chunk of each prompt, compute a step, and give out tokens."""
        while self.tasks:
            future, task = self.tasks.popleft()
            try:
                future.set_result(task())
            except Exception as e:
                future.set_exception(e)
        self._leave()
        self._join()
        for slot in self.slots:
            if rest := slot.rest:
                self._prefill(slot, rest)
        rows = self._rows()
        # NumPy has computed a step when it returns; a grammar allows tokens by those before them
        guided = any(s.text is not None and s.text.request.guide is not None for s in self.slots)
        lag = 0 if guided or self.decoder.device.kind == "cpu" else LAG
        if rows and not (guided and self.pending):
            texts = [(s.number, s.text) for s in self.slots if rows.get(s.number) and s.text is not None]
            self.pending.append((self.decoder.step([rows.get(i) for i in range(self.count)]), texts))
        while self.pending and (len(self.pending) > lag or not rows or guided):
            self._give(*self.pending.popleft())

    def _leave(self) -> None:
        """Free the slots of texts that are over, and forget those that wait no longer."""
        for slot in self.slots:
            if slot.text is not None and slot.text.is_over:
                slot.text.out.put(None)
                slot.text = None
        with self.changed:
            ended = [t for t in self.waiting if t.is_over]
            for text in ended:
                self.waiting.remove(text)
                text.out.put(None)

    def _join(self) -> None:
        """Give free slots to texts that wait, oldest first."""
        while self.waiting and any(s.text is None for s in self.slots):
            with self.changed:
                text = self.waiting.popleft()
            slot = self._slot_for(text)
            self.clock += 1
            slot.text, slot.used, text.reused = text, self.clock, len(slot.held)
            self.reused += text.reused
            self.decoder.begin(slot.number, text.ids, text.request)

    def _slot_for(self, text: Text) -> Slot:
        """Return a free slot whose cache has as much of a prompt's beginning as any: the one that has it, or
        the one that was used longest ago, which gets a copy."""
        head = text.ids[:-1]
        best = max(self.slots, key=lambda s: (shared(s.held, head), s.text is None))
        oldest = min((s for s in self.slots if s.text is None), key=lambda s: s.used)
        common = shared(best.held, head)
        # a slot that has much more is left to other texts
        is_own = best.text is None and (best is oldest or 2 * common >= len(best.held))
        if is_own or common < LEAST_SHARED:
            slot = best if is_own and common else oldest
            slot.held = slot.held[: shared(slot.held, head)]
            return slot
        self.decoder.copy(best.number, oldest.number)
        oldest.held = best.held[:common]
        return oldest

    def _prefill(self, slot: Slot, rest: list[int]) -> None:
        taken = self.decoder.prefill(slot.number, rest, len(slot.held))
        slot.held = slot.held + rest[:taken]
        self.prefilled += taken
        if slot.text is not None:
            slot.text.prefilled += taken

    def _rows(self) -> dict[int, SlotRow]:
        """Return the rows of the next step, by slot."""
        rows: dict[int, SlotRow] = {}
        for slot in self.slots:
            text = slot.text
            if text is None or slot.rest or text.submitted >= text.new:
                continue
            try:
                if text.request.guide is not None:
                    text.request.guide.mask()
            except ValueError as e:  # a grammar that the vocabulary cannot write
                text.is_over = True
                text.out.put(e)
                continue
            first = text.submitted == 0
            rows[slot.number] = SlotRow(
                text.request, len(text.ids) - 1 + text.submitted, text.ids[-1] if first else -1
            )
            text.submitted += 1
        return rows

    def _give(self, reading: Reading, texts: list[tuple[int, Text]]) -> None:
        """Give the tokens of a step to their texts."""
        values: list[Any] = list(reading)
        for number, text in texts:
            if text.is_over:
                continue
            token, guide, k = int(values[0][number][0]), text.request.guide, text.how.logprobs
            best = None if k is None else _first(values[1][number], k)
            # the step has written the token before this one
            self.slots[number].held.append([*text.ids[-1:], *text.written][-1])
            text.written.append(token)
            text.out.put(NewTokens([token], None if best is None else [best]))
            is_done = guide is not None and guide.push(token)
            if is_done or token in text.ends or len(text.written) >= text.new:
                text.is_over = True


def _first(numbers: list[float], k: int) -> list[float]:
    """Return what `best_of` returns for fewer tokens."""
    most = (len(numbers) - 1) // 2
    k = min(k, most)
    return [*numbers[: 1 + k], *numbers[1 + most : 1 + most + k]]


def text_of(
    ids: Sequence[int], new: int, how: Sampling, guide: Any = None, ends: Sequence[int] | None = None
) -> Text:
    """Return a text to write. ends: in place of those of `how`. ValueError for options that slots lack."""
    seed = randbits(63) if how.seed is None else how.seed
    request = SlotRequest(how, seed, guide)
    return Text(list(ids), new, how, request, frozenset(how.ends if ends is None else ends))
