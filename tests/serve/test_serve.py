"""A model over HTTP, as OpenAI's clients ask: answers, streams, errors, limits, hang-ups, the end."""

import base64
import http.client
import json
import socket
import struct
import threading
import time

import numpy as np
import pytest
from helpers.gguf_models import tiny_chat

from flambeau.models.opened import open_model
from flambeau.serve import Engine, ModelServer, batching
from flambeau.tokenizers import ChatTemplate

HELLO = [{"role": "user", "content": "hello the world"}]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server of a small model."""
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    tiny_chat(path)
    running = ModelServer(Engine(open_model(path, "cpu"), "tiny"), port=0)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield running
    running.stop()


def ask(served, path, body=None, **headers):
    """(status, content) of a request."""
    connection = http.client.HTTPConnection(*served.server_address[:2], timeout=30)
    raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
    connection.request("GET" if body is None else "POST", path, raw, headers)
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    return answer.status, json.loads(content) if content.startswith("{") else content


def chat(served, **body):
    return ask(served, "/v1/chat/completions", {"messages": HELLO, "temperature": 0, "max_tokens": 6} | body)


def events(text: str) -> list:
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_a_reply_and_its_stream(served):
    status, answer = chat(served)
    assert status == 200 and answer["object"] == "chat.completion" and answer["model"] == "tiny"
    (choice,) = answer["choices"]
    text = choice["message"]["content"]
    assert choice["finish_reason"] == "length" and text and choice["message"]["role"] == "assistant"
    usage = answer["usage"]
    assert usage["completion_tokens"] == 6 and usage["total_tokens"] == usage["prompt_tokens"] + 6
    status, raw = chat(served, stream=True, stream_options={"include_usage": True})
    parts = events(raw)
    assert parts[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    deltas = [p["choices"][0]["delta"].get("content", "") for p in parts if p["choices"]]
    assert "".join(deltas) == text and parts[-2]["choices"][0]["finish_reason"] == "length"
    cached = parts[-1]["usage"].pop("prompt_tokens_details")["cached_tokens"]
    assert usage.pop("prompt_tokens_details")["cached_tokens"] <= cached == usage["prompt_tokens"] - 1
    assert parts[-1]["usage"] == usage and len({p["id"] for p in parts}) == 1
    stopped = chat(served, stop=[text[2:4]])[1]["choices"][0]
    assert (
        stopped["message"]["content"] == text[: text.index(text[2:4])] and stopped["finish_reason"] == "stop"
    )


@pytest.mark.share(2)
def test_draws_choices_and_logarithms(served):
    same = [chat(served, temperature=1.5, seed=7, n=2)[1]["choices"] for _ in range(2)]
    assert [c["message"] for c in same[0]] == [c["message"] for c in same[1]]
    assert [c["index"] for c in same[0]] == [0, 1] and same[0][0]["message"] != same[0][1]["message"]
    choice = chat(served, logprobs=True, top_logprobs=2)[1]["choices"][0]
    rows = choice["logprobs"]["content"]
    assert len(rows) == 6 and all(r["token"] == r["top_logprobs"][0]["token"] for r in rows)
    assert all(r["top_logprobs"][0]["logprob"] >= r["top_logprobs"][1]["logprob"] for r in rows)
    body = {"prompt": ["hello", "the world"], "max_tokens": 3, "temperature": 0, "logprobs": 1}
    status, answer = ask(served, "/v1/completions", body)
    assert status == 200 and [c["index"] for c in answer["choices"]] == [0, 1]
    tokens = [t for c in answer["choices"] for t in c["logprobs"]["tokens"]]
    assert len(tokens) == answer["usage"]["completion_tokens"] > 0
    assert answer["choices"][0]["text"] != answer["choices"][1]["text"]
    assert ask(served, "/v1/models")[1]["data"][0]["id"] == "tiny" and ask(served, "/health")[0] == 200


def test_a_json_schema(served):
    """The reply is JSON of the schema; schemas that cannot be written are refused."""
    schema = {"type": "object", "properties": {"size": {"type": "integer", "minimum": 3, "maximum": 40}},
              "required": ["size"], "additionalProperties": False}  # fmt: skip
    form = {"type": "json_schema", "json_schema": {"name": "size", "strict": True, "schema": schema}}
    choice = chat(served, response_format=form, max_tokens=40)[1]["choices"][0]
    assert choice["finish_reason"] == "stop" and 3 <= json.loads(choice["message"]["content"])["size"] <= 40
    raw = chat(served, response_format=form, max_tokens=40, stream=True, temperature=1.5, seed=2)[1]
    text = "".join(p["choices"][0]["delta"].get("content", "") for p in events(raw))
    assert 3 <= json.loads(text)["size"] <= 40
    assert (
        chat(served, response_format={"type": "json_object"})[1]["choices"][0]["message"]["content"][0] == "{"
    )
    for bad, message in (
        ({"enum": []}, "no text satisfies it"),
        ({"not": {}}, "#: 'not' is not supported: leave it out"),
    ):
        form["json_schema"]["schema"] = bad
        status, error = chat(served, response_format=form)
        assert status == 400 and error["error"]["message"] == f"response_format: json_schema: {message}"


def test_embeddings(served):
    status, answer = ask(served, "/v1/embeddings", {"input": ["hello", "the world"]})
    vectors = np.array([row["embedding"] for row in answer["data"]])
    assert status == 200 and vectors.shape == (2, 32) and np.allclose(np.linalg.norm(vectors, axis=1), 1)
    coded = ask(served, "/v1/embeddings", {"input": "hello", "encoding_format": "base64"})[1]["data"][0]
    assert np.allclose(struct.unpack("<32f", base64.b64decode(coded["embedding"])), vectors[0], atol=1e-6)


BAD = {  # a body: status, param, what the message says
    b"{": (400, None, "not JSON"),
    b"[]": (400, None, "not a JSON object"),
    b"{}": (400, "messages", "messages: is missing"),
    b'{"messages": []}': (400, "messages", "is empty"),
    b'{"messages": [{"role": "king", "content": ""}]}': (400, "messages", "takes 'role'"),
    b'{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}': (
        400,
        "messages[0].content",
        "parts of type 'text'",
    ),
}
FIELDS = {
    "temperature": (3, "from 0 to 2"),
    "top_p": ("a", "from 0 to 1"),
    "n": (99, "from 1 to 8"),
    "max_tokens": (0, "from 1 to"),
    "stop": ([1], "takes a text"),
    "seed": (0.5, "whole number"),
    "stream": (1, "is int, not bool"),
    "top_k": (0, "from 1 to"),
    "temprature": (1, "is not a field of this request"),
    "tool_choice": ("required", "the request has no tools: pass at least one"),
    "tools": ([{}], "tools[0]: takes"),
    "response_format": ({"type": "json_schema"}, "json_schema needs an object 'schema'"),
}


def test_wrong_requests(served):
    for raw, (status, param, message) in BAD.items():
        found = ask(served, "/v1/chat/completions", raw)
        error = found[1]["error"]
        assert (found[0], error["param"]) == (status, param) and message in error["message"], raw
    for name, (value, message) in FIELDS.items():
        status, answer = chat(served, **{name: value})
        assert status == 400 and message in answer["error"]["message"], name
        assert answer["error"]["param"] == name and answer["error"]["type"] == "invalid_request_error"
    long = [{"role": "user", "content": "hello " * 999}]
    status, answer = chat(served, messages=long, stream=True)
    assert status == 400 and "the context has 256" in answer["error"]["message"]
    many = served.engine.vocabulary
    for path, field in (("/v1/completions", "prompt"), ("/v1/embeddings", "input")):
        for token in (10**9, many, -1):
            status, answer = ask(served, path, {field: [3, token]})
            told = f"{field}: has the token {token}: pass tokens from 0 to {many - 1:,}"
            assert (status, answer["error"]["message"]) == (400, told)
    assert ask(served, "/v1/other", {})[0] == 404 and ask(served, "/v1/completions")[0] == 405
    assert ask(served, "/v1/completions", {}, Content_Type="text/plain")[0] == 415
    assert ask(served, "/v1/models", None, Host="example.com:80")[0] == 403
    assert ask(served, "/v1/completions", b"", Content_Length=str(1 << 40))[0] == 413
    assert chat(served)[0] == 200  # it goes on


def test_a_token(served, monkeypatch):
    monkeypatch.setattr(served, "token", "secret")
    assert ask(served, "/v1/models")[0] == 401
    assert ask(served, "/v1/models", None, Authorization="Bearer other")[0] == 401
    assert ask(served, "/v1/models", None, Authorization="Bearer secret", Host="other")[0] == 200
    with pytest.raises(ValueError, match="other machines reach it: pass a token"):
        ModelServer(served.engine, "0.0.0.0", 0)


@pytest.mark.share(2)
def test_clients_that_hang_up(served):
    """A reply ends when its client has gone, and the next one gets its turn."""
    body = json.dumps({"messages": HELLO, "max_tokens": 200, "stream": True, "temperature": 0}).encode()
    head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for stream in (b"true", b"false"):
        raw = body.replace(b"true", stream)
        with socket.create_connection(served.server_address[:2]) as client:
            client.sendall(head.encode() + f"Content-Length: {len(raw)}\r\n\r\n".encode() + raw)
            time.sleep(0.1)
    with socket.create_connection(served.server_address[:2]) as client:
        client.sendall(head.encode() + b"Content-Length: 50\r\n\r\n{")  # less than it says
    begin = time.monotonic()
    assert chat(served)[0] == 200 and time.monotonic() - begin < 5
    while any(slot.text is not None for slot in served.engine.batcher.slots):  # all slots are freed
        assert time.monotonic() - begin < 20
        time.sleep(0.05)
    assert served.engine.batcher.decoder.steps < 400


def test_too_many_connections(served, monkeypatch):
    monkeypatch.setattr(served, "open", threading.BoundedSemaphore(1))
    with socket.create_connection(served.server_address[:2]):
        time.sleep(0.1)
        status, answer = ask(served, "/health")
        assert status == 503 and answer["error"]["message"] == "128 connections are open: try again later"
    monkeypatch.undo()
    assert ask(served, "/health")[0] == 200


TEMPLATES = {  # a chat template that does harm: what the error says
    "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}": "loops take more than",
    "{{ messages.__class__.__mro__ }}": "reaches for '__class__' of 'list'",
    "{{ 'a' * 99999999 }}": "builds a text of more than",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}": "it calls itself",
}


def test_templates_that_do_harm(served, monkeypatch):
    """One error each, and the server goes on."""
    opened = served.engine.opened
    for source, message in TEMPLATES.items():
        harmful = opened._replace(template=ChatTemplate(source, opened.names))
        monkeypatch.setattr(served.engine, "opened", harmful)
        status, answer = chat(served)
        assert status == 400 and message in answer["error"]["message"], source
        assert answer["error"]["message"].startswith("the chat template is refused: ")
    monkeypatch.undo()
    assert chat(served)[0] == 200


@pytest.mark.share(2)
def test_many_requests(served, monkeypatch):
    """Several wait for one another; more than may wait are refused."""
    found = []
    threads = [threading.Thread(target=lambda: found.append(chat(served, max_tokens=2))) for _ in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert [status for status, _ in found] == [200] * 6
    assert len({a["choices"][0]["message"]["content"] for _, a in found}) == 1
    monkeypatch.setattr(batching, "WAITING", 0)
    status, answer = chat(served, n=8)  # of two slots
    assert status == 429 and answer["error"]["type"] == "rate_limit_error"
    assert answer["error"]["message"] == "32 texts wait for the model: try again later"
    status, answer = chat(served, stream=True, n=8)
    assert status == 429 and "wait for the model" in str(answer)
    assert chat(served)[0] == 200


@pytest.mark.share(2)
def test_the_end_stops_replies(served, tmp_path):
    path = tmp_path / "tiny.gguf"
    tiny_chat(path)
    running = ModelServer(Engine(open_model(path, "cpu"), "tiny"), port=0)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    found = []
    thread = threading.Thread(target=lambda: found.append(chat(running, max_tokens=200)))
    thread.start()
    time.sleep(0.2)
    running.stop()
    thread.join(10)
    assert found[0][0] in (200, 503) and not thread.is_alive()
    with pytest.raises(OSError):
        ask(running, "/health")
