"""Calls of functions in the forms in which chat templates have models write them, and texts that must be
calls."""

import json
import re
import uuid
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.tree import is_dict, is_list

Call = tuple[str, str]  # the name of a function, and its arguments as JSON
Event = dict[str, Any]
HERMES_CALL = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|$)", re.DOTALL)
NAMED_CALL = re.compile(r"\s*(?:\[TOOL_CALLS\])?\s*([\w.-]+)(?:\[CALL_ID\]\w*)?(?:\[ARGS\])?\s*(?=\{)")


class ToolForm(NamedTuple):
    """How models of a family write calls.

    sign: in their chat templates. begin: the text that a call begins with; "" if a reply that is a call is
    nothing else. bare: characters with which such a reply begins. parse: (text, names of functions) -> calls,
    [] if it has none. id_length: of the numbers of calls, whose template may refuse others. arguments: the
    name of the arguments. is_list: whether calls are a list.
    """

    name: str
    sign: str
    begin: str
    bare: str
    parse: Callable[[str, Sequence[str]], list[Call]]
    id_length: int = 0
    arguments: str = "arguments"
    is_list: bool = False


def call_of(value: Any) -> Call | None:
    """Return a call that is an object with a name, and arguments or parameters; None for another value."""
    if not is_dict(value) or not isinstance(value.get("name"), str):
        return None
    arguments: Any = value.get("arguments", value.get("parameters", {}))
    if isinstance(arguments, str):  # JSON in JSON
        return value["name"], arguments
    return (value["name"], json.dumps(arguments, ensure_ascii=False)) if is_dict(arguments) else None


def _json_values(text: str) -> list[Any] | None:
    """Return the JSON values of a text, separated by ; or nothing; None if it has another text."""
    decoder, values, offset = json.JSONDecoder(), list[Any](), 0
    while offset < len(text):
        if text[offset] in " \t\r\n;":
            offset += 1
            continue
        try:
            value, offset = decoder.raw_decode(text, offset)
        except (ValueError, RecursionError):
            return None
        values += value if is_list(value) else [value]
    return values


def _calls_of(values: list[Any] | None) -> list[Call]:
    """Return the calls, [] if one value is none."""
    calls = [call_of(v) for v in values or ()]
    return [c for c in calls if c is not None] if None not in calls else []


def _hermes(text: str, names: Sequence[str]) -> list[Call]:
    calls: list[Call] = []
    for match in HERMES_CALL.finditer(text):
        one = _calls_of(_json_values(match[1]))
        if not one:
            return []
        calls += one
    return calls


def _llama(text: str, names: Sequence[str]) -> list[Call]:
    return _calls_of(_json_values(text.strip().removeprefix("<|python_tag|>")))


def _mistral(text: str, names: Sequence[str]) -> list[Call]:
    """Calls as a list of objects, or each as a name and an object."""
    text = text.strip()
    plain = text.removeprefix("[TOOL_CALLS]").strip()
    if plain.startswith(("[", "{")):
        return _calls_of(_json_values(plain))
    decoder, calls, offset = json.JSONDecoder(), list[Call](), 0
    while offset < len(text):
        match = NAMED_CALL.match(text, offset)
        if match is None or not (match[1] in names or "[TOOL_CALLS]" in text):
            return []
        try:
            value, offset = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            return []
        calls.append((match[1], json.dumps(value, ensure_ascii=False)))
    return calls


FORMS = (  # the first whose sign a template has
    ToolForm("hermes", "<tool_call>", "<tool_call>", "", _hermes),
    ToolForm("mistral", "[TOOL_CALLS]", "[TOOL_CALLS]", "[{", _mistral, id_length=9, is_list=True),
    ToolForm("llama", "<|python_tag|>", "", "{", _llama, arguments="parameters"),
    ToolForm("llama", '"parameters":', "", "{", _llama, arguments="parameters"),
)


def form_of(template: str) -> ToolForm:
    """Return the form of calls of a chat template; that of Hermes, which most models know, if it shows
    none."""
    return next((form for form in FORMS if form.sign in template), FORMS[0])


class ToolText:
    """Separates a reply's text from the calls of functions in it.

    form: of the calls. names: of the functions. is_forced: whether the whole text is calls.
    """

    def __init__(self, form: ToolForm, names: Sequence[str] = (), is_forced: bool = False):
        self.form, self.names, self.is_forced = form, tuple(names), is_forced
        self.text, self.before, self.shown = "", "", 0

    def push(self, part: str) -> str:
        """Return the text that certainly is no call."""
        self.text += part
        place = self._begin()
        self.before = self.text if place is None else self.text[:place]
        end = len(self.before)
        if place is None and (mark := self.form.begin):  # the end may be the beginning of a call
            end -= next((n for n in range(len(mark) - 1, 0, -1) if self.before.endswith(mark[:n])), 0)
        shown, self.shown = self.before[self.shown : end], max(self.shown, end)
        return shown

    def _begin(self) -> int | None:
        """Return where calls begin, or may begin; None for nowhere."""
        head = self.text.lstrip()
        if self.is_forced or (self.form.bare and self._may_be_bare(head)):
            return 0
        place = self.text.find(self.form.begin) if self.form.begin else -1
        return place if place >= 0 else None

    def _may_be_bare(self, head: str) -> bool:
        """Whether a reply may be nothing but calls."""
        if not head or head[0] in self.form.bare or "<|python_tag|>".startswith(head[:14]):
            return True
        # a name and an object, whose mark is a token without a text
        return self.form.name == "mistral" and any(
            name.startswith(head) or head.startswith((f"{name}{{", f"{name}[ARGS]")) for name in self.names
        )

    def calls(self) -> list[Event]:
        """Return the calls, as OpenAI's interface writes them; [] if one is not valid."""
        parse = _llama if self.is_forced else self.form.parse
        parsed = parse(self.text[len(self.before) :], self.names)
        return [
            {"index": i, "id": self._number(), "type": "function",
             "function": {"name": name, "arguments": arguments}}
            for i, (name, arguments) in enumerate(parsed)
        ]  # fmt: skip

    def _number(self) -> str:
        text = uuid.uuid4().hex
        return text[: self.form.id_length] if self.form.id_length else f"call_{text[:24]}"

    def rest(self, calls: list[Event]) -> str:
        """Return the text that was held back; with calls, only what is before them."""
        return (self.before if calls else self.text)[self.shown :]


def forced_schema(form: ToolForm, tools: Sequence[Event]) -> Event:
    """Return the JSON schema of a text that is a call of one of the functions. ValueError for definitions of
    the same name that differ."""
    options, shared = list[Event](), dict[str, Any]()
    for tool in tools:
        function: Event = tool["function"]
        schema: Event = dict(function.get("parameters") or {"type": "object"})
        for word in ("$defs", "definitions"):  # references look for them at the root
            _join(shared, word, schema.pop(word, None) or {})
        parts = {"name": {"const": function["name"]}, form.arguments: schema}
        options.append(
            {"type": "object", "properties": parts, "required": [*parts], "additionalProperties": False}
        )
    one: Event = {"anyOf": options}
    whole = {"type": "array", "items": one, "minItems": 1, "maxItems": 1} if form.is_list else one
    return {**whole, **shared}


def _join(shared: dict[str, Any], word: str, arguments: dict[str, Any]) -> None:
    """Add definitions to those of other functions."""
    for name, value in arguments.items():
        if shared.setdefault(word, {}).setdefault(name, value) != value:
            raise ValueError(f"{word}/{name} differs between functions: rename one")
