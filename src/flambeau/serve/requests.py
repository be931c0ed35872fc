"""Reads requests of OpenAI's interface: fields with their types and limits, one error for each fault."""

import json
from collections.abc import Mapping
from typing import Any

from ..core.tree import is_dict, is_list
from ..errors import suggest

MOST_CHOICES, MOST_STOPS, MOST_LOGPROBS = 8, 16, 20
Body = Mapping[str, Any]

NUMBERS: dict[str, tuple[float, float]] = {  # fields of sampling: least and most
    "temperature": (0, 2),
    "top_p": (0, 1),
    "min_p": (0, 1),
    "repetition_penalty": (0.01, 10),
    "frequency_penalty": (-2, 2),
    "presence_penalty": (-2, 2),
}
COUNTS = {"top_k": 1 << 20, "max_tokens": 1 << 30, "max_completion_tokens": 1 << 30, "n": MOST_CHOICES}
SAMPLING = {*NUMBERS, "top_k", "seed"}
SHARED = SAMPLING | {"model", "n", "stop", "stream", "stream_options", "user", "max_tokens", "logprobs"}
# fields that change nothing here, as clients send them
IGNORED = {"store", "metadata", "service_tier", "parallel_tool_calls", "reasoning_effort"}
CHAT = SHARED | {
    *("messages", "max_completion_tokens", "top_logprobs", "tools", "tool_choice", "response_format"),
}
COMPLETION = SHARED | {"prompt"}
EMBEDDING = {"input", "model", "encoding_format", "user"}


class BadRequest(Exception):
    """A request that cannot be answered. status: of HTTP; param: the field; kind: OpenAI's type of error."""

    def __init__(
        self, message: str, param: str | None = None, status: int = 400, kind: str = "invalid_request_error"
    ):
        super().__init__(message)
        self.message, self.param, self.status, self.kind = message, param, status, kind

    def body(self) -> dict[str, Any]:
        """Return the error as OpenAI's interface writes it."""
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": None}}


def read_body(raw: bytes, known: set[str]) -> dict[str, Any]:
    """Return the object of a request. BadRequest if it is not JSON, or has a field that is not known."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise BadRequest("the body is not JSON") from None
    if not is_dict(body):
        raise BadRequest("the body is not a JSON object")
    for name in body:
        if name not in known and name not in IGNORED and body[name] is not None:
            raise BadRequest(
                f"{name}: is not a field of this request{suggest(str(name), sorted(known))}", name
            )
    return {name: value for name, value in body.items() if value is not None and name not in IGNORED}


def take(body: Body, name: str, kind: type, default: Any = None) -> Any:
    """Return a field. BadRequest for a value of another type, or a missing field without a default."""
    value = body.get(name, default)
    if value is None and name not in body and default is None:
        raise BadRequest(f"{name}: is missing", name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise BadRequest(f"{name}: is {type(value).__name__}, not {kind.__name__}", name)
    return value


def sampling_of(body: Body) -> dict[str, Any]:
    """Return the options of `generate`. As with OpenAI, tokens are drawn unless the temperature is 0."""
    options: dict[str, Any] = {}
    for name, (least, most) in NUMBERS.items():
        value: Any = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise BadRequest(f"{name}: is {value!r}: pass a number from {least:g} to {most:g}", name)
        options[name] = float(value)
    if "top_k" in body:
        options["top_k"] = count_of(body, "top_k")
    seed = body.get("seed")
    if seed is not None:
        if type(seed) is not int or abs(seed) >= 1 << 63:
            raise BadRequest(f"seed: is {seed!r}: pass a whole number", "seed")
        options["seed"] = seed % (1 << 63)
    if options.get("temperature", 1.0) == 0 or options.get("top_p", 1.0) == 0:
        kept = ("repetition_penalty", "frequency_penalty", "presence_penalty")
        return {name: options[name] for name in kept if name in options}
    return {"do_sample": True, **options}


def count_of(body: Body, name: str, default: int = 1) -> int:
    """Return a field that is a number of things, 1 or more."""
    value = body.get(name, default)
    if type(value) is not int or not 1 <= value <= COUNTS[name]:
        raise BadRequest(f"{name}: is {value!r}: pass a number from 1 to {COUNTS[name]:,}", name)
    return value


def stops_of(body: Body) -> list[str]:
    """Return the texts that end a reply."""
    value = body.get("stop", [])
    stops: list[Any] = [value] if isinstance(value, str) else value if is_list(value) else [None]
    if len(stops) > MOST_STOPS or not all(isinstance(s, str) and s for s in stops):
        raise BadRequest(f"stop: takes a text, or a list of up to {MOST_STOPS} texts", "stop")
    return stops


def text_of(content: Any, param: str) -> str:
    """Return the text of a message's content, which may be in parts."""
    if content is None or isinstance(content, str):
        return content or ""
    if is_list(content) and all(is_dict(p) and p.get("type") in ("text", "refusal") for p in content):
        return "".join(str(p.get("text", "")) for p in content)
    raise BadRequest(f"{param}: takes a text, or parts of type 'text'", param)


ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def messages_of(body: Body) -> list[dict[str, Any]]:
    """Return the messages of a conversation, each with a role and a text."""
    rows: list[Any] = take(body, "messages", list)
    if not rows:
        raise BadRequest("messages: is empty: pass at least one message", "messages")
    messages: list[dict[str, Any]] = []
    for i, row in enumerate(rows):
        if not is_dict(row) or row.get("role") not in ROLES:
            raise BadRequest(
                f"messages[{i}]: takes 'role', one of {', '.join(ROLES)}, and 'content'", "messages"
            )
        role = "system" if row["role"] == "developer" else row["role"]
        message = {**row, "role": role, "content": text_of(row.get("content"), f"messages[{i}].content")}
        if calls := row.get("tool_calls"):
            message["tool_calls"] = [_with_arguments(call, i) for call in calls] if is_list(calls) else calls
        messages.append(message)
    return messages


def _with_arguments(call: Any, i: int) -> Any:
    """Return a tool call with its arguments as an object, which templates take; clients send them as JSON."""
    function: Any = call.get("function") if is_dict(call) else None
    if not is_dict(function) or not isinstance(function.get("name"), str):
        raise BadRequest(f"messages[{i}].tool_calls: takes calls with a function that has a name", "messages")
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            raise BadRequest(f"messages[{i}].tool_calls: the arguments are not JSON", "messages") from None
    return {**call, "function": {**function, "arguments": arguments}}


CHOICES = "takes 'auto', 'none', 'required', or {'type': 'function', 'function': {'name': ...}}"


def tools_of(body: Body) -> tuple[list[dict[str, Any]] | None, str]:
    """Return the functions that the model may call, None for none, and "auto", "required" or the name of the
    one that it must call."""
    tools: Any = body.get("tools")
    rows: list[Any] = [] if tools is None else tools if is_list(tools) else [None]
    for i, tool in enumerate(rows):
        function: Any = tool.get("function") if is_dict(tool) else None
        if not is_dict(function) or not isinstance(function.get("name"), str):
            raise BadRequest(
                f"tools[{i}]: takes {{'type': 'function', 'function': {{'name': ...}}}}", "tools"
            )
        if not is_dict(function.get("parameters", {})):
            raise BadRequest(f"tools[{i}]: parameters is no object: pass a JSON schema", "tools")
    choice = _choice_of(body.get("tool_choice", "auto"), tools or [])
    return (None, "auto") if choice == "none" or not tools else (tools, choice)


def _choice_of(choice: Any, tools: list[dict[str, Any]]) -> str:
    """Return "auto", "none", "required" or the name of a function. BadRequest for another choice."""
    function: Any = choice.get("function") if is_dict(choice) else None
    name: Any = function.get("name") if is_dict(function) else choice
    if choice in ("auto", "none"):
        return str(choice)
    if not isinstance(name, str) or (name != "required" and not is_dict(choice)):
        raise BadRequest(f"tool_choice: {CHOICES}", "tool_choice")
    names = [tool["function"]["name"] for tool in tools]
    if not names:
        raise BadRequest("tool_choice: the request has no tools: pass at least one", "tool_choice")
    if name != "required" and name not in names:
        raise BadRequest(f"tool_choice: no tool is named {name!r}: one of {', '.join(names)}", "tool_choice")
    return name
