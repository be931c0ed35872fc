"""Answers requests of OpenAI's interface with a model, one after another."""

import base64
import json
import re
import struct
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..core import dtype as dt
from ..core.modes import no_grad
from ..core.tree import is_dict, is_list
from ..models.conversation import ReplyStats, Writer, prompt_of
from ..models.grammar import Grammar
from ..models.opened import OpenedModel
from ..tensor import tensor
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

WAITING = 32  # requests that may wait for the model
MOST_INPUTS = 256  # texts of a request for embeddings
# calls of functions as Hermes, Qwen and SmolLM write them
CALL = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|$)", re.DOTALL)
CALL_BEGIN = "<tool_call>"
Event = dict[str, Any]
IsGone = Callable[[], bool]


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
    has_tools: bool


class Engine:
    """Answers requests with a model: chat, completions and embeddings. One request runs at a time, and the
    others wait.

    opened: the model with its tokenizer and template. name: of the model, in answers. context: the most
    tokens of a text.
    """

    def __init__(self, opened: OpenedModel, name: str, context: int | None = None):
        self.opened, self.name = opened, name
        self.writer = Writer(opened.model, opened.tokenizer, context)
        self.created = int(time.time())
        self.turn, self.waiting, self.count = threading.Lock(), 0, threading.Lock()
        self.is_closing = False

    def models(self) -> Event:
        """Return the list of models, which has one."""
        row = {"id": self.name, "object": "model", "created": self.created, "owned_by": "flambeau"}
        return {"object": "list", "data": [row]}

    @contextmanager
    def alone(self) -> Generator[None]:
        """Wait until the model is free. BadRequest with status 429 if too many wait."""
        with self.count:
            if self.waiting >= WAITING:
                raise BadRequest(
                    f"{WAITING} requests wait for the model: try again later", None, 429, "rate_limit_error"
                )
            self.waiting += 1
        try:
            with self.turn:
                if self.is_closing:
                    raise BadRequest("the server is shutting down", None, 503, "server_error")
                yield
        finally:
            with self.count:
                self.waiting -= 1

    # --- requests ---

    def plan_chat(self, raw: bytes) -> ReplyPlan:
        """Read a request for a reply in a conversation. BadRequest for a wrong one."""
        body = read_body(raw, CHAT)
        messages, tools = messages_of(body), tools_of(body)
        grammar = grammar_of(body)
        template = self.opened.template
        if template is None:
            raise BadRequest("messages: the model has no chat template: use /v1/completions", "messages")
        try:
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
        plan = self._plan("chat.completion", body, [ids], new, top)
        if grammar is not None:
            plan.sampling["grammar"] = grammar
        return plan._replace(has_tools=tools is not None and grammar is None)

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
        return ReplyPlan(
            kind, name, prompts, new, stops_of(body), sampling, choices, streams, usage, top, False
        )

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
            elif is_list(row) and _are_tokens(row) and all(0 <= t < len(tokenizer) for t in row):
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
        prompt = written = 0
        for index, ids, sampling in self._choices(plan):
            if plan.kind == "chat.completion":
                yield head | {"choices": [_delta(index, {"role": "assistant", "content": ""})]}
            reply, logs = ReplyStats(), 0
            tools = ToolText() if plan.has_tools else None
            for part in self._write(plan, ids, reply, sampling, is_gone):
                shown = part if tools is None else tools.push(part)
                lines = self._logprobs(plan, reply, logs)
                logs = len(reply.logprobs)
                if shown:
                    yield head | {"choices": [self._part(plan, index, shown, lines)]}
            calls = tools.calls() if tools is not None else []
            if tools is not None and (rest := tools.rest(calls)):
                yield head | {"choices": [self._part(plan, index, rest, None)]}
            if calls:
                yield head | {"choices": [_delta(index, {"tool_calls": calls})]}
            finish = "tool_calls" if calls else _finish(reply)
            last: Event = {"index": index, "finish_reason": finish, "logprobs": None}
            last |= {"delta": {}} if plan.kind == "chat.completion" else {"text": ""}
            yield head | {"choices": [last]}
            prompt, written = prompt + len(ids) * (index % plan.choices == 0), written + len(reply.ids)
        if plan.usage:
            yield head | {"choices": [], "usage": _usage(prompt, written)}

    def answer(self, plan: ReplyPlan, is_gone: IsGone) -> Event:
        """Return a whole answer."""
        choices: list[Event] = []
        prompt = written = 0
        for index, ids, sampling in self._choices(plan):
            reply = ReplyStats()
            for _ in self._write(plan, ids, reply, sampling, is_gone):
                pass
            choice: Event = {"index": index, "finish_reason": _finish(reply)}
            choice["logprobs"] = self._logprobs(plan, reply, 0)
            if plan.kind == "chat.completion":
                message: Event = {"role": "assistant", "content": reply.text}
                if plan.has_tools and (calls := (tools := ToolText(reply.text)).calls()):
                    named = [{k: v for k, v in call.items() if k != "index"} for call in calls]
                    message |= {"content": tools.before.strip() or None, "tool_calls": named}
                    choice["finish_reason"] = "tool_calls"
                choice["message"] = message
            else:
                choice["text"] = reply.text
            choices.append(choice)
            prompt, written = prompt + len(ids) * (index % plan.choices == 0), written + len(reply.ids)
        return self._head(plan, plan.kind) | {"choices": choices, "usage": _usage(prompt, written)}

    def embeddings(self, raw: bytes) -> Event:
        """Answer a request for vectors of texts: the mean of the last layer's features, of length 1."""
        body = read_body(raw, EMBEDDING)
        form = take(body, "encoding_format", str, "float")
        if form not in ("float", "base64"):
            raise BadRequest("encoding_format: pass 'float' or 'base64'", "encoding_format")
        inputs, rows = self._inputs(body, "input", MOST_INPUTS), list[Event]()
        device = next(self.opened.model.parameters()).device
        for i, ids in enumerate(inputs):
            if len(ids) > self.writer.context:
                most = self.writer.context
                raise BadRequest(f"input: has {len(ids):,} tokens: the context has {most:,}", "input")
            with self.alone(), no_grad():
                x = self.opened.model.hidden(tensor([ids], dtype=dt.int32, device=device))
                mean = x.float().numpy()[0].mean(0)
            vector = mean / max(float(np.linalg.norm(mean)), 1e-12)
            numbers: Any = [float(v) for v in vector]
            if form == "base64":
                numbers = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
            rows.append({"object": "embedding", "index": i, "embedding": numbers})
        count = sum(map(len, inputs))
        usage = {"prompt_tokens": count, "total_tokens": count}
        return {"object": "list", "data": rows, "model": self.name, "usage": usage}

    # --- parts of answers ---

    def _choices(self, plan: ReplyPlan) -> Iterator[tuple[int, list[int], dict[str, Any]]]:
        """Yield (number, prompt, options) of each reply; each has draws of its own."""
        for i, ids in enumerate(plan.prompts):
            for j in range(plan.choices):
                sampling = dict(plan.sampling)
                if "seed" in sampling:
                    sampling["seed"] += j
                yield i * plan.choices + j, ids, sampling

    def _write(
        self,
        plan: ReplyPlan,
        ids: list[int],
        reply: ReplyStats,
        sampling: dict[str, Any],
        is_gone: IsGone,
    ) -> Iterator[str]:
        if plan.top is not None:
            sampling = sampling | {"logprobs": plan.top}

        def is_stopped() -> bool:
            return self.is_closing or is_gone()

        with self.alone():
            try:
                yield from self.writer.write(ids, reply, plan.new, plan.stops, is_stopped, **sampling)
            except ValueError as e:
                raise BadRequest(str(e)) from None

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


class ToolText:
    """Separates a reply's text from the calls of functions in it."""

    def __init__(self, text: str = ""):
        self.text, self.before, self.shown = "", "", 0
        self.push(text)

    def push(self, part: str) -> str:
        """Return the text that certainly is no call."""
        self.text += part
        at = self.text.find(CALL_BEGIN)
        self.before = self.text if at < 0 else self.text[:at]
        # the end may be the beginning of a call
        keep = next((n for n in range(len(CALL_BEGIN) - 1, 0, -1) if self.before.endswith(CALL_BEGIN[:n])), 0)
        end = len(self.before) - (keep if at < 0 else 0)
        shown, self.shown = self.before[self.shown : end], max(self.shown, end)
        return shown

    def rest(self, calls: list[Event]) -> str:
        """Return the text that was held back; with calls, only what is before them."""
        return (self.before if calls else self.text)[self.shown :]

    def calls(self) -> list[Event]:
        """Return the calls, as OpenAI's interface writes them; [] if one is not valid JSON."""
        calls: list[Event] = []
        for i, found in enumerate(CALL.finditer(self.text)):
            try:
                call = json.loads(found[1])
            except (ValueError, RecursionError):
                return []
            if not is_dict(call) or not isinstance(call.get("name"), str):
                return []
            arguments = json.dumps(call.get("arguments", call.get("parameters", {})), ensure_ascii=False)
            function = {"name": call["name"], "arguments": arguments}
            calls.append(
                {"index": i, "id": f"call_{uuid.uuid4().hex[:24]}", "type": "function", "function": function}
            )
        return calls


def _are_tokens(values: list[Any]) -> bool:
    return bool(values) and all(type(v) is int for v in values)


def _delta(index: int, delta: Event) -> Event:
    return {"index": index, "delta": delta, "finish_reason": None, "logprobs": None}


def _finish(reply: ReplyStats) -> str:
    return "stop" if reply.finish == "stop" else "length"


def _usage(prompt: int, written: int) -> Event:
    return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}


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


@lru_cache(16)
def _grammar(schema: str) -> Grammar:
    """Return the grammar of a schema; requests often repeat it."""
    return Grammar.from_json_schema(schema)
