"""A conversation with a language model: its history, replies as they are written, and when one ends."""

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from ..core.dtype import DTypeLike
from ..core.tree import is_mapping
from ..device import DeviceLike
from ..errors import FlambeauError
from ..tokenizers import ChatTemplate, Tokenizer
from .generation import Decoder, NewTokens
from .grammar import GRAMMARS
from .opened import open_model

MOST = 512  # new tokens of a reply, by default
LEAST = 512  # positions of a cache: longer conversations get twice as many, so that few steps are recorded
Message = Mapping[str, Any]


@dataclass
class ReplyStats:
    """The cost of a reply. finish: "stop" at an end token or a stop text, "length" at the limit, "cancel"
    where
    it was stopped.

    text: without special tokens. ids: its tokens. logprobs: with that option,
    what `sampling.best_of` returns for each. prompt: the tokens of the conversation before it. seconds:
    from the call to the last token. first: from the call to the first token.
    """

    text: str = ""
    ids: list[int] = field(default_factory=lambda: [])
    logprobs: list[list[float]] = field(default_factory=lambda: [])
    prompt: int = 0
    finish: str = "cancel"
    seconds: float = 0.0
    first: float = 0.0

    @property
    def speed(self) -> float:
        """Tokens a second, after the first one."""
        return (len(self.ids) - 1) / max(self.seconds - self.first, 1e-9) if len(self.ids) > 1 else 0.0


class StopTexts:
    """Cuts a text that comes in parts at the first of several texts.

    stops: the texts. A part that may be the beginning of one is held back.
    """

    def __init__(self, stops: Sequence[str]):
        self.stops = [s for s in stops if s]
        self.held, self.is_over = "", False

    def push(self, text: str) -> str:
        """Return what is certain not to belong to a stop text."""
        self.held += text
        places = [place for s in self.stops if (place := self.held.find(s)) >= 0]
        if places:
            self.is_over = True
            shown, self.held = self.held[: min(places)], ""
            return shown
        keep = max((_overlap(self.held, s) for s in self.stops), default=0)
        shown, self.held = self.held[: len(self.held) - keep], self.held[len(self.held) - keep :]
        return shown

    def end(self) -> str:
        """Return what was held back."""
        shown, self.held = self.held, ""
        return shown


def _overlap(text: str, stop: str) -> int:
    """Return how many characters at the end of a text begin a stop text."""
    sizes = range(min(len(text), len(stop) - 1), 0, -1)
    return next((n for n in sizes if text.endswith(stop[:n])), 0)


class Writer:
    """Continues texts with a model; keeps the caches and recordings of earlier texts.

    model: a decoder. tokenizer: of its tokens. context: the most tokens of a text, by default what the model
    was trained with.
    """

    def __init__(self, model: Any, tokenizer: Tokenizer, context: int | None = None):
        self.model, self.tokenizer, self.decoder = model, tokenizer, Decoder(model)
        config = model.config
        trained = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", 2048)
        self.context = min(context or trained, trained)

    def check(self, ids: Sequence[int], new: int | None) -> int:
        """Return the number of tokens that may be written. ValueError if the prompt fills the context."""
        room = self.context - len(ids)
        if room < 1:
            rule = "pass a shorter text, or begin a new conversation"
            raise ValueError(f"a prompt of {len(ids):,} tokens: the context has {self.context:,}: {rule}")
        if new is not None and (type(new) is not int or new < 1):
            raise ValueError(f"max_new_tokens={new!r}: pass a number of tokens, 1 or more")
        return min(new or MOST, room)

    def write(
        self,
        ids: Sequence[int],
        reply: ReplyStats,
        max_new_tokens: int | None = None,
        stop: Sequence[str] = (),
        is_stopped: Callable[[], bool] = lambda: False,
        **sampling: Any,
    ) -> Iterator[str]:
        """Yield the text that continues tokens, part by part; `reply` has all of it afterwards.

        stop: texts that end it. is_stopped: asked after each token. sampling: options of `generate`.
        """
        new = self.check(ids, max_new_tokens)
        # a power of two, so that later turns replay the same step
        size = min(1 << (max(len(ids) + new, LEAST) - 1).bit_length(), self.context)
        if {*GRAMMARS} & {*sampling}:
            sampling = {"tokenizer": self.tokenizer} | sampling
        tokens = self.decoder.stream([list(ids)], new, positions=size, **sampling)
        ends = self.decoder.ends(sampling.get("eos_token_id", "config"))
        reply.prompt = len(ids)
        yield from self.texts(tokens, reply, ends, stop, is_stopped)

    def texts(
        self,
        tokens: Generator[NewTokens],
        reply: ReplyStats,
        ends: Sequence[int],
        stop: Sequence[str] = (),
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> Iterator[str]:
        """Yield the text of tokens, part by part, until one of `ends`; others are as of `write`."""
        begin, end_tokens = perf_counter(), {*ends}
        text, stops = self.tokenizer.stream(), StopTexts(stop)
        reply.finish = "length"
        try:
            for row in tokens:
                token = row.tokens[0]
                reply.seconds = perf_counter() - begin
                reply.first = reply.first or reply.seconds
                if token in end_tokens:
                    reply.finish = "stop"
                    break
                reply.ids.append(token)
                if row.best is not None:
                    reply.logprobs.append(row.best[0])
                yield from _shown(stops.push(text.push(token)), reply)
                if stops.is_over or is_stopped():
                    reply.finish = "stop" if stops.is_over else "cancel"
                    break
        finally:
            tokens.close()
        if not stops.is_over:
            yield from _shown(stops.push(text.end()), reply)
        if not stops.is_over:
            yield from _shown(stops.end(), reply)
        else:
            reply.finish = "stop"


def _shown(text: str, reply: ReplyStats) -> Iterator[str]:
    if text:
        reply.text += text
        yield text


class Chat:
    """A conversation with a model.

    model: a decoder. tokenizer, template: of its texts. system: what the model is told before the
    conversation. context: the most tokens of a conversation, by default what the model was trained with.
    shift: leave out the oldest messages of a conversation that is too long; else it is an error. options: of
    `generate`, for all replies: max_new_tokens, temperature, ...
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Tokenizer,
        template: ChatTemplate,
        *,
        system: str | None = None,
        context: int | None = None,
        shift: bool = False,
        **options: Any,
    ):
        self.writer, self.tokenizer, self.template = Writer(model, tokenizer, context), tokenizer, template
        self.model, self.system, self.shift, self.options = model, system, shift, options
        self.messages: list[dict[str, Any]] = []
        self.last = ReplyStats()
        self.is_stopped = False
        self.reset()

    def reset(self) -> None:
        """Begin a new conversation."""
        self.messages = [{"role": "system", "content": self.system}] if self.system else []

    def stop(self) -> None:
        """End the reply that is being written, after its next token; from another thread too."""
        self.is_stopped = True

    def prompt(self, messages: Sequence[Message], **names: Any) -> list[int]:
        """Return the tokens of a conversation and of the beginning of a reply. names: for the template;
        tools, for example. ValueError for a conversation that the template does not support."""
        return prompt_of(self.tokenizer, self.template, messages, **names)

    def reply(self, text: str, **options: Any) -> str:
        """Return the reply to a message; both join the history. options: as of `stream`."""
        for _ in self.stream(text, **options):
            pass
        return self.last.text

    def stream(self, text: str, **options: Any) -> Iterator[str]:
        """Yield the reply to a message, part by part; `last` has its cost.

        options: max_new_tokens, stop (texts that end it), and the options of `generate`. ValueError if the
        conversation fills the context. A reply that is stopped, or that nobody reads on, stays in the
        history as far as it was written.
        """
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"reply({type(text).__name__}): takes a text: pass a str")
        options = self.options | options
        new = options.pop("max_new_tokens", None)
        messages = [*self.messages, {"role": "user", "content": text}]
        ids = self._fit(messages, new)
        reply = self.last = ReplyStats()
        self.is_stopped = False
        self.messages = messages
        stop = options.pop("stop", ())
        stop = [stop] if isinstance(stop, str) else stop
        try:
            yield from self.writer.write(ids, reply, new, stop, lambda: self.is_stopped, **options)
        finally:
            self.messages = [*messages, {"role": "assistant", "content": reply.text}]

    def _fit(self, messages: list[dict[str, Any]], new: int | None) -> list[int]:
        """Return the tokens of a conversation; without its oldest messages where `shift` allows it."""
        first = 1 if self.system else 0
        while True:
            ids = self.prompt(messages)
            room = self.writer.context - len(ids)
            # a turn is a question and its reply; the last question stays
            if (
                not self.shift
                or room >= min(new or MOST, self.writer.context // 4)
                or len(messages) < first + 3
            ):
                self.writer.check(ids, new)
                return ids
            del messages[first : first + 2]


def prompt_of(
    tokenizer: Tokenizer, template: ChatTemplate, messages: Sequence[Message], **names: Any
) -> list[int]:
    """Return the tokens of a conversation and of the beginning of a reply. Texts of special tokens in the
    messages stay plain texts."""
    if not all(is_mapping(m) for m in messages):
        raise ValueError("messages: takes dicts with 'role' and 'content': pass a list of dicts")
    (rows, tools), guard = tokenizer.protect([list(map(dict, messages)), names.pop("tools", None)])
    text = template.render(rows, tools=tools, add_generation_prompt=True, **names)
    return tokenizer.encode(text, add_special_tokens=False, allow_special=True, guard=guard)


def chat(
    path: str | os.PathLike[str],
    device: DeviceLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    system: str | None = None,
    chat_template: str | None = None,
    context: int | None = None,
    shift: bool = False,
    **options: Any,
) -> Chat:
    """Return a conversation with the model of a file.

    path: a GGUF file, or a folder of a hub with a tokenizer.json. system: what the model is told before the
    conversation. chat_template: in place of the file's. context: the most tokens of a conversation. shift:
    leave out the oldest messages of one that is too long. options: of `generate`, for all replies.
    FlambeauError names a file that is missing or damaged, or that has no chat template.
    """
    opened = open_model(path, device, dtype)
    template = opened.template if chat_template is None else ChatTemplate(chat_template, opened.names)
    if template is None:
        raise FlambeauError(f"chat({str(path)!r}): the file has no chat template: pass chat_template")
    return Chat(
        opened.model, opened.tokenizer, template, system=system, context=context, shift=shift, **options
    )
