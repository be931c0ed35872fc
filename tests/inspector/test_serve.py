"""Requests into answers, or refusals: of another host or page, without the token, too large, no JSON."""

import http.client
import json
import threading

import pytest

from flambeau.inspector.emitted import SUFFIXES
from flambeau.inspector.serve import MOST, serve


@pytest.fixture(scope="module")
def server(product):
    made, _ = product
    server = serve(made)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def asked(server, method, path, body=None, **headers):
    """Status, headers, body."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, named)
    reply = connection.getresponse()
    found = reply.status, reply.headers, reply.read().decode()
    connection.close()
    return found


def post(server, path, data, **headers):
    body = data if isinstance(data, str) else json.dumps(data)
    status, _, text = asked(server, "POST", path, body, **{"X_Flambeau_Token": server.token} | headers)
    return status, json.loads(text)


def test_the_page_needs_the_token(server):
    status, headers, text = asked(server, "GET", server.url.partition("/?")[2].join(["/?", ""]))
    assert status == 200 and "connect-src 'self'" in text and server.token in text
    assert headers["Cache-Control"] == "no-store" and headers["X-Frame-Options"] == "DENY"
    for path in ("/", "/?token=", "/?token=%C3%A4"):
        status, _, text = asked(server, "GET", path)
        assert (
            status == 403
            and json.loads(text)["error"] == "the token is missing: use the complete address that was printed"
        )
    assert asked(server, "GET", "/etc/passwd")[0] == 404
    assert server.server_address[0] == "127.0.0.1"


def test_an_edit_is_run(server):
    wgsl = server.inspection.shaders[0].wgsl
    status, found = post(server, "/run", {"kernel": 0, "wgsl": wgsl})
    assert status == 200 and found["seconds"] > 0 and found["outputs"][0]["different"] == 0
    status, found = post(server, "/run", {"kernel": 0, "wgsl": wgsl.replace("acc + t1", "acc +")})
    assert status == 200 and found["error"] and found["line"] > 1
    status, found = post(server, "/export", {"kernel": 0, "wgsl": wgsl, "what": "custom_op"})
    assert status == 200 and "fb.custom_op(" in found["text"]


def test_a_template_is_edited(server):
    status, found = post(server, "/templates", {"kernel": 0})
    texts = found["templates"]
    assert status == 200 and next(iter(texts)) == "contract/registers.wgsl"
    file = "lib/math.wgsl"
    own = texts[file]
    assert "rectified(T)" in own
    status, found = post(server, "/run", {"kernel": 0, "templates": {file: own}})
    assert status == 200 and found["outputs"][0]["different"] == 0
    status, found = post(server, "/run", {"kernel": 0, "templates": {file: own + "//% if\n"}})
    assert status == 200 and (found["file"], found["line"]) == (file, own.count("\n") + 1)
    edit = {"kernel": 0, "templates": {file: f"//# mine\n{own}"}}
    status, found = post(server, "/export", edit | {"what": "patch"})
    assert status == 200 and f"+++ b/wgsl/{file}\n@@ -1,3 +1,4 @@\n+//# mine\n" in found["text"]
    status, found = post(server, "/export", edit | {"what": "custom_op"})
    assert status == 200 and "fb.custom_op(" in found["text"]


def test_what_the_driver_is_given(server):
    pytest.importorskip("wgpudawn")
    status, found = post(server, "/emit", {"kernel": 0})
    assert status == 200 and found["language"] in SUFFIXES.values() and len(found["text"]) > 1000
    assert post(server, "/emit", {"kernel": 0, "what": "Latin"})[1]["error"] == (
        f"inspect --emit: the driver provides no Latin: Dawn writes {found['language']} here"
    )


HOSTS = [
    {"Host": "evil.example"},
    {"Host": "127.0.0.1:1"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
]


@pytest.mark.parametrize("headers", HOSTS, ids=str)
def test_other_hosts_are_refused(server, headers):
    assert post(server, "/run", {}, **headers) == (403, {"error": "the request comes from another host"})


def test_a_page_of_another_name_is_refused(server):
    status, _, text = asked(server, "GET", f"/?token={server.token}", Host="rebound.example")
    assert (status, json.loads(text)["error"]) == (403, "the request is for another host")


WRONG = {
    "token": ({}, {"X_Flambeau_Token": "guessed"}, 403, "the token is missing or wrong"),
    "JSON": (
        "{",
        {},
        400,
        "the request is not JSON: Expecting property name enclosed in double quotes: line 1",
    ),
    "list": ("[]", {}, 400, "the request is not JSON: it is not an object"),
    "kernel": (
        {"kernel": "0", "wgsl": ""},
        {},
        400,
        "inspect: a request's kernel must be a number: got '0'",
    ),
    "wgsl": ({"kernel": 0, "wgsl": 3}, {}, 400, "inspect: a request's wgsl must be a text: got 3"),
    "templates": (
        {"kernel": 0, "templates": {"a": 1}},
        {},
        400,
        "inspect: a request's templates must be texts by name: got {'a': 1}",
    ),
    "template": (
        {"kernel": 0, "templates": {"../a": ""}},
        {},
        400,
        "inspect: matmul+add+relu: '../a' is not a template of it: its templates are contract/registers.wgsl",
    ),
    "number": ({"kernel": 4, "wgsl": ""}, {}, 400, "inspect: kernel 4 does not exist: pass 0"),
    "size": ({}, {"Content_Length": str(MOST + 1)}, 413, "a request has at most 1,048,576 bytes"),
    "length": ({}, {"Content_Length": "-1"}, 413, "a request has at most 1,048,576 bytes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_else_is_refused(server, name):
    data, headers, status, told = WRONG[name]
    found, reply = post(server, "/run", data, **headers)
    assert found == status and reply["error"].startswith(told)


def test_what_nobody_foresaw_is_told(server, monkeypatch):
    def broken(*_):
        raise OSError("the driver is gone")

    monkeypatch.setattr(server.inspection.session, "run", broken, raising=True)
    told = {"error": "OSError: the driver is gone"}
    assert post(server, "/run", {"kernel": 0, "wgsl": ""}) == (500, told)


def test_unknown_requests(server):
    assert post(server, "/stop", {}) == (404, {"error": "known paths are /run, /templates, /export, /emit"})
    given = {"kernel": 0, "wgsl": "", "what": "virus"}
    told = {"error": "inspect: export as one of script, page, custom_op, patch"}
    assert post(server, "/export", given) == (400, told)
