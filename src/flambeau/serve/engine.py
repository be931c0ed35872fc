"""Answers requests of OpenAI's interface with a model."""

import base64
import json
import struct
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from ..core import dtype as dt
from ..core.modes import no_grad
from ..core.tree import is_dict, is_list
from ..models.conversation import ReplyStats, Writer, prompt_of
from ..models.grammar import Grammar, Guide, vocabulary_of
from ..models.opened import OpenedModel
from ..models.sampling import Sampling
from ..tensor import tensor
from .batching import WAITING, Batcher, Closing, QueueFull, Text, text_of
from .requests import (
    CHAT,
    COMPLETION,
    EMBEDDING,
    MOST_CHOICES,
    MOST_LOGPROBS,
    BadRequest,
    count_of,
    messages_of,
    read_body,
    sampling_of,
    stops_of,
    take,
    tools_of,
)
from .tools import ToolForm, ToolText, forced_schema, form_of

SLOTS, SLOTS_OF_CPU = 8, 2  # texts at once; each step computes all slots, which takes a CPU longer
CONTEXT = 4096  # tokens of a slot by default, at most
MOST_INPUTS = 256  # texts of a request for embeddings
Event = dict[str, Any]
IsGone = Callable[[], bool]


class ReplyTools(NamedTuple):
    """The functions that a reply may call. choice: "auto"; "required" if it must call one, or the name of the
    one that it must call."""

    form: ToolForm
    names: tuple[str, ...]
    choice: str

    def text(self) -> ToolText:
        """Return what separates a reply's text from its calls."""
        return ToolText(self.form, self.names, self.choice != "auto")

    def finish(self) -> str:
        """Return why a reply with calls ended: as with OpenAI, "stop" if the function was named."""
        return "tool_calls" if self.choice in ("auto", "required") else "stop"


class ReplyPlan(NamedTuple):
    """A request that was read: the tokens of its prompt, and how it is continued and written.

    kind: "chat.completion" or "text_completion". choices: how many replies. top: best tokens whose logarithms
    are written, None for no logarithms.
    """

    kind: str
    model: str
    prompts: list[list[int]]
    new: int | None
    stops: list[str]
    sampling: dict[str, Any]
    choices: int
    streams: bool
    usage: bool
    top: int | None
    tools: "ReplyTools | None" = None


class SlotReply(NamedTuple):
    """A text that is being written, and what was read of it."""

    text: Text
    stats: ReplyStats


class Engine:
    """Answers requests with a model: chat, completions and embeddings. Several texts advance together, and
    others wait.

    opened: the model with its tokenizer and template. name: of the model, in answers. context: the most
    tokens of a text, by default 4,096 or fewer. slots: texts at once, by default 8, on a CPU 2.
    """

    def __init__(self, opened: OpenedModel, name: str, context: int | None = None, slots: int | None = None):
        self.opened, self.name = opened, name
        self.writer = Writer(opened.model, opened.tokenizer, context or CONTEXT)
        self.created = int(time.time())
        self.device = next(opened.model.parameters()).device
        slots = slots or slots_of(self.device)
        self.batcher = Batcher(opened.model, slots, self.writer.context)
        self.vocabulary = min(len(opened.tokenizer), int(opened.model.config.vocab_size))
        self.is_closing, self.rendering = False, Lock()

    def close(self) -> None:
        """End the texts that are being written."""
        self.is_closing = True
        self.batcher.close()

    def models(self) -> Event:
        """Return the list of models, which has one."""
        row = {"id": self.name, "object": "model", "created": self.created, "owned_by": "flambeau"}
        return {"object": "list", "data": [row]}

    # --- requests ---

    def plan_chat(self, raw: bytes) -> ReplyPlan:
        """Read a request for a reply in a conversation. BadRequest for a wrong one."""
        body = read_body(raw, CHAT)
        messages, (tools, choice) = messages_of(body), tools_of(body)
        grammar = grammar_of(body)
        template = self.opened.template
        if template is None:
            raise BadRequest("messages: the model has no chat template: use /v1/completions", "messages")
        try:
            with self.rendering:  # a template counts its steps
                ids = prompt_of(self.opened.tokenizer, template, messages, tools=tools)
        except ValueError as e:
            raise BadRequest(str(e), "messages") from None
        top = None
        if take(body, "logprobs", bool, False):
            top = body.get("top_logprobs", 0)
            if type(top) is not int or not 0 <= top <= MOST_LOGPROBS:
                raise BadRequest(f"top_logprobs: pass a number from 0 to {MOST_LOGPROBS}", "top_logprobs")
        limit = "max_completion_tokens" if "max_completion_tokens" in body else "max_tokens"
        new = count_of(body, limit) if limit in body else None
        form = form_of(template.source)
        if tools is not None and choice != "auto":
            if grammar is not None:
                rule = "tool_choice and response_format do not go together: pass one of them"
                raise BadRequest(rule, "response_format")
            ids, grammar = [*ids, *self._begin_call(form)], call_grammar(form, tools, choice)
        plan = self._plan("chat.completion", body, [ids], new, top)
        if grammar is not None:
            plan.sampling["grammar"] = grammar
        if tools is None or (grammar is not None and choice == "auto"):
            return plan
        names = tuple(tool["function"]["name"] for tool in tools)
        return plan._replace(tools=ReplyTools(form, names, choice))

    def _begin_call(self, form: ToolForm) -> list[int]:
        """Return the tokens of the text that a call begins with."""
        if not form.begin:
            return []
        return self.opened.tokenizer.encode(form.begin, add_special_tokens=False, allow_special=True)

    def plan_completion(self, raw: bytes) -> ReplyPlan:
        """Read a request for the continuation of texts. BadRequest for a wrong one."""
        body = read_body(raw, COMPLETION)
        prompts = self._inputs(body, "prompt", MOST_CHOICES)
        top = body.get("logprobs")
        if top is not None and (type(top) is not int or not 0 <= top <= MOST_LOGPROBS):
            raise BadRequest(f"logprobs: pass a number from 0 to {MOST_LOGPROBS}", "logprobs")
        new = count_of(body, "max_tokens") if "max_tokens" in body else 16
        return self._plan("text_completion", body, prompts, new, top)

    def _plan(
        self, kind: str, body: dict[str, Any], prompts: list[list[int]], new: int | None, top: int | None
    ) -> ReplyPlan:
        options = take(body, "stream_options", dict, {})
        streams, usage = take(body, "stream", bool, False), bool(options.get("include_usage"))
        for ids in prompts:
            try:
                self.writer.check(ids, new)
            except ValueError as e:
                raise BadRequest(str(e), "messages" if kind == "chat.completion" else "prompt") from None
        name = take(body, "model", str, self.name)
        sampling, choices = sampling_of(body), count_of(body, "n")
        return ReplyPlan(kind, name, prompts, new, stops_of(body), sampling, choices, streams, usage, top)

    def _inputs(self, body: dict[str, Any], name: str, most: int) -> list[list[int]]:
        """Return the tokens of a text, of several, or of lists of tokens."""
        value: Any = body.get(name)
        tokenizer = self.opened.tokenizer
        rows: list[Any] = value if is_list(value) and not _are_tokens(value) else [value]
        if not 1 <= len(rows) <= most:
            raise BadRequest(f"{name}: pass 1 to {most} texts", name)
        prompts: list[list[int]] = []
        for row in rows:
            if isinstance(row, str):
                prompts.append(tokenizer.encode(row))
            elif is_list(row) and _are_tokens(row):
                if wrong := [t for t in row if not 0 <= t < self.vocabulary]:
                    rule = f"pass tokens from 0 to {self.vocabulary - 1:,}"
                    raise BadRequest(f"{name}: has the token {wrong[0]}: {rule}", name)
                prompts.append(row)
            else:
                raise BadRequest(f"{name}: takes a text, tokens, or lists of these", name)
        if not all(prompts):
            raise BadRequest(f"{name}: has a text without tokens", name)
        return prompts

    # --- answers ---

    def events(self, plan: ReplyPlan, is_gone: IsGone) -> Iterator[Event]:
        """Yield the parts of a streamed answer. is_gone: asked after each token; True ends it."""
        head = self._head(plan, "chat.completion.chunk" if plan.kind == "chat.completion" else plan.kind)
        with self._writing(plan) as texts:
            for index, reply in enumerate(texts):
                for choice in self._parts(plan, index, reply, is_gone):
                    yield head | {"choices": [choice]}
            if plan.usage:
                yield head | {"choices": [], "usage": _usage(plan, texts)}

    def _parts(self, plan: ReplyPlan, index: int, reply: SlotReply, is_gone: IsGone) -> Iterator[Event]:
        """Yield the parts of one of several replies."""
        is_chat = plan.kind == "chat.completion"
        if is_chat:
            yield _delta(index, {"role": "assistant", "content": ""})
        logs = 0
        tools = None if plan.tools is None else plan.tools.text()
        for part in self._write(plan, reply, is_gone):
            shown = part if tools is None else tools.push(part)
            lines = self._logprobs(plan, reply.stats, logs)
            logs = len(reply.stats.logprobs)
            if shown:
                yield self._part(plan, index, shown, lines)
        calls = tools.calls() if tools is not None else []
        if tools is not None and (rest := tools.rest(calls)):
            yield self._part(plan, index, rest, None)
        if calls:
            yield _delta(index, {"tool_calls": calls})
        finish = plan.tools.finish() if plan.tools and calls else _finish(reply.stats)
        last: Event = {"index": index, "finish_reason": finish, "logprobs": None}
        yield last | ({"delta": {}} if is_chat else {"text": ""})

    def answer(self, plan: ReplyPlan, is_gone: IsGone) -> Event:
        """Return a whole answer."""
        with self._writing(plan) as texts:
            choices = [self._choice(plan, i, reply, is_gone) for i, reply in enumerate(texts)]
            return self._head(plan, plan.kind) | {"choices": choices, "usage": _usage(plan, texts)}

    def _choice(self, plan: ReplyPlan, index: int, written: SlotReply, is_gone: IsGone) -> Event:
        """Return one of several replies."""
        for _ in self._write(plan, written, is_gone):
            pass
        reply = written.stats
        choice: Event = {"index": index, "finish_reason": _finish(reply)}
        choice["logprobs"] = self._logprobs(plan, reply, 0)
        if plan.kind != "chat.completion":
            return choice | {"text": reply.text}
        message: Event = {"role": "assistant", "content": reply.text}
        if plan.tools is None:
            return choice | {"message": message}
        tools = plan.tools.text()
        tools.push(reply.text)
        if calls := tools.calls():
            named = [{k: v for k, v in call.items() if k != "index"} for call in calls]
            message |= {"content": tools.before.strip() or None, "tool_calls": named}
            choice["finish_reason"] = plan.tools.finish()
        return choice | {"message": message}

    def embeddings(self, raw: bytes) -> Event:
        """Answer a request for vectors of texts: the mean of the last layer's features, of length 1."""
        body = read_body(raw, EMBEDDING)
        form = take(body, "encoding_format", str, "float")
        if form not in ("float", "base64"):
            raise BadRequest("encoding_format: pass 'float' or 'base64'", "encoding_format")
        inputs, rows = self._inputs(body, "input", MOST_INPUTS), list[Event]()
        for i, ids in enumerate(inputs):
            if len(ids) > self.writer.context:
                most = self.writer.context
                raise BadRequest(f"input: has {len(ids):,} tokens: the context has {most:,}", "input")
            with refusals():
                mean = self.batcher.call(lambda ids=ids: self._mean(ids))
            vector = mean / max(float(np.linalg.norm(mean)), 1e-12)
            numbers: Any = [float(v) for v in vector]
            if form == "base64":
                numbers = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
            rows.append({"object": "embedding", "index": i, "embedding": numbers})
        count = sum(map(len, inputs))
        usage = {"prompt_tokens": count, "total_tokens": count}
        return {"object": "list", "data": rows, "model": self.name, "usage": usage}

    def _mean(self, ids: list[int]) -> np.ndarray:
        """Return the mean of the last layer's features. -> [d]"""
        with no_grad():
            x = self.opened.model.hidden(tensor([ids], dtype=dt.int32, device=self.device))
            return x.float().numpy()[0].mean(0)

    # --- parts of answers ---

    @contextmanager
    def _writing(self, plan: ReplyPlan) -> Generator[list[SlotReply]]:
        """Begin to write the texts of a request; end them when the request ends."""
        texts = self._texts(plan)
        try:
            yield [SlotReply(text, ReplyStats()) for text in texts]
        finally:
            for text in texts:
                text.cancel()

    def _texts(self, plan: ReplyPlan) -> list[Text]:
        """Return the texts of a request, which begin to be written. BadRequest with status 429 if too many
        wait."""
        with refusals():
            texts = [self._text(plan, ids, j) for ids in plan.prompts for j in range(plan.choices)]
            self.batcher.add(texts)
        return texts

    def _text(self, plan: ReplyPlan, ids: list[int], choice: int) -> Text:
        """Return a text to write. choice: its number among those of the same prompt."""
        options, ends, guide = dict(plan.sampling), self.writer.decoder.ends(), None
        if (grammar := options.pop("grammar", None)) is not None:
            trie = vocabulary_of(self.opened.tokenizer)
            guide = Guide(grammar, trie, ends, self.opened.model.config.vocab_size)
        if "seed" in options:  # each choice has draws of its own
            options["seed"] += choice
        how = Sampling(**options, eos_token_id=ends, logprobs=plan.top)
        return text_of(ids, self.writer.check(ids, plan.new), how, guide)

    def _write(self, plan: ReplyPlan, reply: SlotReply, is_gone: IsGone) -> Iterator[str]:
        def is_stopped() -> bool:
            return self.is_closing or is_gone()

        with refusals():
            tokens, ends = reply.text.tokens(is_stopped), reply.text.how.ends
            yield from self.writer.texts(tokens, reply.stats, ends, plan.stops, is_stopped)

    def _head(self, plan: ReplyPlan, kind: str) -> Event:
        prefix = "chatcmpl" if plan.kind == "chat.completion" else "cmpl"
        number = f"{prefix}-{uuid.uuid4().hex}"
        return {"id": number, "object": kind, "created": int(time.time()), "model": self.name}

    def _part(self, plan: ReplyPlan, index: int, text: str, logprobs: Event | None) -> Event:
        if plan.kind == "chat.completion":
            return _delta(index, {"content": text}) | {"logprobs": logprobs}
        return {"index": index, "text": text, "finish_reason": None, "logprobs": logprobs}

    def _logprobs(self, plan: ReplyPlan, reply: ReplyStats, begin: int) -> Event | None:
        """Return the logarithms of probabilities of tokens from one on, None unless they were asked for."""
        if plan.top is None:
            return None
        rows: list[Event] = []
        for token, numbers in zip(reply.ids[begin:], reply.logprobs[begin:], strict=True):
            k = (len(numbers) - 1) // 2
            best = [
                self._log(int(i), log) for i, log in zip(numbers[1 : 1 + k], numbers[1 + k :], strict=True)
            ]
            rows.append(self._log(token, numbers[0]) | {"top_logprobs": best})
        if plan.kind == "chat.completion":
            return {"content": rows, "refusal": None}
        return {
            "tokens": [row["token"] for row in rows],
            "token_logprobs": [row["logprob"] for row in rows],
            "top_logprobs": [{b["token"]: b["logprob"] for b in row["top_logprobs"]} for row in rows],
        }

    def _log(self, token: int, log: float) -> Event:
        text = self.opened.tokenizer.decode([token], skip_special_tokens=False)
        return {"token": text, "logprob": max(log, -9999.0), "bytes": [*text.encode("utf-8", "replace")]}


def _are_tokens(values: list[Any]) -> bool:
    return bool(values) and all(type(v) is int for v in values)


def _delta(index: int, delta: Event) -> Event:
    return {"index": index, "delta": delta, "finish_reason": None, "logprobs": None}


def _finish(reply: ReplyStats) -> str:
    return "stop" if reply.finish == "stop" else "length"


def _usage(plan: ReplyPlan, replies: list[SlotReply]) -> Event:
    prompt, written = sum(map(len, plan.prompts)), sum(len(r.stats.ids) for r in replies)
    details = {"cached_tokens": sum(r.text.reused for r in replies)}
    counts = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
    return {**counts, "prompt_tokens_details": details}


def slots_of(device: Any) -> int:
    """Return how many texts advance together on a device, by default."""
    is_slow = device.kind == "cpu" or (device.kind == "gpu" and device.limits.software)
    return SLOTS_OF_CPU if is_slow else SLOTS


@contextmanager
def refusals() -> Generator[None]:
    """Answer errors of the slots as OpenAI's interface does."""
    try:
        yield
    except QueueFull:
        message = f"{WAITING} texts wait for the model: try again later"
        raise BadRequest(message, None, 429, "rate_limit_error") from None
    except Closing:
        raise BadRequest("the server is shutting down", None, 503, "server_error") from None
    except ValueError as e:
        raise BadRequest(str(e)) from None


def grammar_of(body: dict[str, Any]) -> Grammar | None:
    """Return the grammar of a response_format, None for any text. BadRequest for a wrong or unknown one."""
    form: Any = body.get("response_format", {"type": "text"})
    kind = form.get("type") if is_dict(form) else None
    if kind == "text":
        return None
    if kind == "json_object":
        return _grammar('{"type": "object"}')
    if kind != "json_schema":
        rule = "takes {'type': 'text'}, 'json_object', or 'json_schema' with a schema"
        raise BadRequest(f"response_format: {rule}", "response_format")
    named: Any = form.get("json_schema")
    schema: Any = named.get("schema") if is_dict(named) else None
    if not is_dict(schema):
        raise BadRequest("response_format: json_schema needs an object 'schema'", "response_format")
    try:
        return _grammar(json.dumps(schema))
    except (ValueError, RecursionError) as e:
        raise BadRequest(f"response_format: {e}", "response_format") from None


def call_grammar(form: ToolForm, tools: list[Event], choice: str) -> Grammar:
    """Return the grammar of a call of one of the functions, or of the named one. BadRequest for parameters
    that it cannot have."""
    named = [tool for tool in tools if choice in ("required", tool["function"]["name"])]
    try:
        return _grammar(json.dumps(forced_schema(form, named)))
    except (ValueError, RecursionError) as e:
        raise BadRequest(f"tools: parameters: {e}", "tools") from None


@lru_cache(16)
def _grammar(schema: str) -> Grammar:
    """Return the grammar of a schema; requests often repeat it."""
    return Grammar.from_json_schema(schema)
