"""Calls of functions: the forms of model families, replies that must be calls, and OpenAI's own client."""

import json
import threading

import pytest
from helpers.gguf_models import tiny_chat

from flambeau.models.opened import open_model
from flambeau.serve import Engine, ModelServer
from flambeau.serve.requests import BadRequest
from flambeau.serve.tools import FORMS, ToolText, forced_schema, form_of

HERMES, MISTRAL, LLAMA = FORMS[:3]
ADD = '{"name": "add", "arguments": {"a": 1}}'
MARKED = f'Sure. <tool_call>\n{ADD}\n</tool_call><tool_call>{{"name": "é"}}</tool_call>'
TAGGED = '<|python_tag|>{"name": "add", "parameters": {"a": 1}}; {"name": "é", "parameters": {}}'
LISTED = f'[TOOL_CALLS][{ADD}, {{"name": "é", "arguments": {{}}}}]'
ONE = [{"name": "add", "arguments": '{"a": 1}'}]
TWO = [*ONE, {"name": "é", "arguments": "{}"}]
CASES = {  # a text: its form, the text before the calls, the calls
    MARKED: (HERMES, "Sure. ", TWO),
    '<tool_call>{"name": "add", "arguments": {"a": 1}}': (HERMES, "", ONE),  # without an end
    '<tool_call>{"name": "add", "arguments": "{\\"a\\": 1}"}</tool_call>': (HERMES, "", ONE),  # JSON in JSON
    "a <tool_call>no": (HERMES, "a <tool_call>no", []),
    '<tool_call>{"name": 3}</tool_call>': (HERMES, '<tool_call>{"name": 3}</tool_call>', []),
    "1 < 2 <tool": (HERMES, "1 < 2 <tool", []),
    '{"name": "add", "parameters": {"a": 1}}': (LLAMA, "", ONE),
    TAGGED: (LLAMA, "", TWO),
    '{"size": 3}': (LLAMA, '{"size": 3}', []),
    ' {"name": "add"': (LLAMA, ' {"name": "add"', []),
    "Hello {": (LLAMA, "Hello {", []),
    LISTED: (MISTRAL, "", TWO),
    '[{"name": "add", "arguments": {"a": 1}}]': (MISTRAL, "", ONE),  # the mark is a token without a text
    '[TOOL_CALLS]add[ARGS]{"a": 1}[TOOL_CALLS]é[CALL_ID]x1[ARGS]{}': (MISTRAL, "", TWO),
    'add{"a": 1}': (MISTRAL, "", ONE),
    "address": (MISTRAL, "address", []),
    "[1, 2]": (MISTRAL, "[1, 2]", []),
}  # fmt: skip


@pytest.mark.parametrize("text", CASES)
def test_calls_in_each_form(text):
    """Also by characters and by threes, as a stream brings them: nothing of a call is shown."""
    form, before, calls = CASES[text]
    for step in (len(text), 1, 3):
        tools = ToolText(form, ["add", "é"])
        shown = "".join(tools.push(text[i : i + step]) for i in range(0, len(text), step))
        found = tools.calls()
        assert [c["function"] for c in found] == calls and shown + tools.rest(found) == before
        assert [c["index"] for c in found] == [*range(len(calls))]
        assert all(len(c["id"]) == (9 if form is MISTRAL else 29) for c in found)


def test_the_form_is_that_of_the_template():
    for source, form in (
        ("{{ '<tool_call>' }}", HERMES),
        ("{{ '[TOOL_CALLS]' }}", MISTRAL),
        ("{{ '<|python_tag|>' }}", LLAMA),
        ('Respond in the format {"name": function name, "parameters": dictionary', FORMS[3]),
        ("{{ messages }}", HERMES),
    ):
        assert form_of(source) is form


def test_definitions_of_parameters_come_to_the_root():
    def tool(name, size):
        parameters = {
            "properties": {"n": {"$ref": "#/$defs/n"}},
            "$defs": {"n": {"type": "integer", "maximum": size}},
        }
        return {"function": {"name": name, "parameters": parameters}}

    schema = forced_schema(LLAMA, [tool("a", 3), tool("b", 3)])
    assert schema["$defs"] == {"n": {"type": "integer", "maximum": 3}} and len(schema["anyOf"]) == 2
    assert schema["anyOf"][0]["required"] == ["name", "parameters"]
    with pytest.raises(ValueError, match="n differs between functions: rename one"):
        forced_schema(LLAMA, [tool("a", 3), tool("b", 4)])


SIZE = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3, "maximum": 40}},
        "required": ["n"], "additionalProperties": False}  # fmt: skip
TOOLS = [{"type": "function", "function": {"name": n, "parameters": SIZE}} for n in ("grow", "shrink")]
NAMED = {"type": "function", "function": {"name": "shrink"}}
HELLO = [{"role": "user", "content": "hello the world"}]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    tiny_chat(path)
    return path


def body(**fields) -> bytes:
    return json.dumps({"messages": HELLO, "max_tokens": 60, "temperature": 1.5, "seed": 3} | fields).encode()


def test_a_reply_must_be_a_call(path):
    """The reply is a call of one of the functions, or of the named one, with arguments of its schema."""
    engine = Engine(open_model(path, "cpu"), "tiny")
    for choice, names, finish in (
        ("required", ("grow", "shrink"), "tool_calls"),
        (NAMED, ("shrink",), "stop"),
    ):
        plan = engine.plan_chat(body(tools=TOOLS, tool_choice=choice))
        answer = engine.answer(plan, lambda: False)["choices"][0]
        assert answer["finish_reason"] == finish and answer["message"]["content"] is None
        (call,) = answer["message"]["tool_calls"]
        assert call["function"]["name"] in names and 3 <= json.loads(call["function"]["arguments"])["n"] <= 40
        *_, said, last = engine.events(plan, lambda: False)
        assert last["choices"][0]["finish_reason"] == finish
        (streamed,) = said["choices"][0]["delta"]["tool_calls"]
        assert streamed["function"] == call["function"] and streamed["index"] == 0
    free = engine.plan_chat(body(tools=TOOLS))
    assert free.tools.choice == "auto" and "grammar" not in free.sampling
    assert engine.plan_chat(body(tools=TOOLS, tool_choice="none")).tools is None
    engine.close()


def test_wrong_tools(path):
    engine = Engine(open_model(path, "cpu"), "tiny")
    form = {"type": "json_object"}
    broken = [{"type": "function", "function": {"name": "a", "parameters": {"not": {}}}}]
    for fields, message in (
        ({"tools": TOOLS, "tool_choice": "maybe"}, "tool_choice: takes 'auto', 'none', 'required', or {"),
        ({"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "x"}}},
         "tool_choice: no tool is named 'x': one of grow, shrink"),
        ({"tools": [{"function": {"name": "a", "parameters": 3}}]},
         "tools[0]: parameters is no object: pass a JSON schema"),
        ({"tools": TOOLS, "tool_choice": "required", "response_format": form},
         "tool_choice and response_format do not go together: pass one of them"),
        ({"tools": broken, "tool_choice": "required"}, "tools: parameters: json_schema: "),
    ):  # fmt: skip
        with pytest.raises(BadRequest) as e:
            engine.plan_chat(body(**fields))
        assert e.value.message.startswith(message) and e.value.status == 400
    engine.close()


def test_the_client_of_openai(path):
    """Streams of text and of a call, the answer to a call, several choices, embeddings and errors."""
    openai = pytest.importorskip("openai", reason="its client is not installed: pip install openai")
    server = ModelServer(Engine(open_model(path, "cpu"), "tiny"), port=0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = openai.OpenAI(base_url=server.url, api_key="none", max_retries=0)
    chat = client.chat.completions
    parts = [*chat.create(model="tiny", messages=HELLO, max_tokens=8, temperature=0, stream=True,
                          stream_options={"include_usage": True})]  # fmt: skip
    text = "".join(p.choices[0].delta.content or "" for p in parts if p.choices)
    whole = chat.create(model="tiny", messages=HELLO, max_tokens=8, temperature=0)
    assert text == whole.choices[0].message.content and parts[-1].usage.completion_tokens == 8
    assert whole.usage.prompt_tokens_details.cached_tokens == whole.usage.prompt_tokens - 1
    how = {"model": "tiny", "tools": TOOLS, "tool_choice": "required", "max_tokens": 60, "seed": 3}
    name, arguments, number = "", "", None
    for part in chat.create(messages=HELLO, stream=True, **how):
        for call in part.choices[0].delta.tool_calls or ():
            number = call.id or number
            name, arguments = name + (call.function.name or ""), arguments + (call.function.arguments or "")
    assert name in ("grow", "shrink") and 3 <= json.loads(arguments)["n"] <= 40
    call = {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}
    turn = [*HELLO, {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": number, "content": "7"}]  # fmt: skip
    assert len(chat.create(model="tiny", messages=turn, tools=TOOLS, max_tokens=4, n=2).choices) == 2
    assert len(client.embeddings.create(model="tiny", input=["hello", "world"]).data[0].embedding) == 32
    with pytest.raises(openai.BadRequestError, match="no tool is named"):
        chat.create(messages=HELLO, **how | {"tool_choice": {"type": "function", "function": {"name": "x"}}})
    server.stop()
