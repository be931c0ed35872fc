"""A server on this machine breaks off and lies: what comes is whole and checked, or one line says why not."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import flambeau as fb
from flambeau import hub
from flambeau.hub import address
from flambeau.io import save_file

DATA = bytes(range(256)) * 400
SHA = hashlib.sha256(DATA).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """What the server does with each request is the next of `server.tricks`, or an honest answer."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        server.asked.append((self.path, self.headers.get("Range"), self.headers.get("Authorization")))
        trick = server.tricks.pop(0) if server.tricks else honest
        trick(self)

    do_HEAD = do_GET

    def answer(self, code=200, body=b"", length=None, **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
        if length is not None:
            self.close_connection = True


def honest(h, etag='"one"', data=DATA):
    given = h.headers.get("Range")
    begin = int(given[6:-1]) if given and h.headers.get("If-Range") == etag else 0
    if not begin:
        return h.answer(200, data, ETag=etag)
    whole = len(data)
    return h.answer(206, data[begin:], ETag=etag, Content_Range=f"bytes {begin}-{whole - 1}/{whole}")


def broken(at, etag='"one"'):
    return lambda h: h.answer(200, DATA[:at], length=len(DATA), ETag=etag)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(address, "PAUSE", 0.001)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.tricks = [], []
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def told(*args, **kw) -> str:
    with pytest.raises(fb.FlambeauError) as e:
        hub.download(*args, **kw)
    text = str(e.value)
    assert "\n" not in text
    return text.partition("): ")[2]


def test_a_file_comes_once(server, tmp_path):
    url, seen = f"{server.url}/a/model%20x.bin?download=1", []
    path = hub.download(
        url, folder=tmp_path, sha256=SHA.upper(), token="t", progress=lambda *p: seen.append(p)
    )
    assert path.read_bytes() == DATA and path.name == "model_x.bin"
    assert seen[-1] == ("model_x.bin", len(DATA), len(DATA))
    assert hub.download(url, folder=tmp_path) == hub.download(url, folder=tmp_path, offline=True) == path
    assert server.asked == [("/a/model%20x.bin?download=1", None, "Bearer t")]
    assert sorted(p.name for p in path.parent.iterdir()) == ["model_x.bin", "model_x.bin.part.lock"]
    assert hub.download(f"{server.url}/modèle 1.bin", folder=tmp_path).name == "modèle_1.bin"
    assert server.asked[-1][0] == "/mod%C3%A8le%201.bin"


def test_what_breaks_off_goes_on(server, tmp_path):
    server.tricks = [broken(30_000), broken(10)]
    server.tricks[1] = lambda h: h.answer(500)
    path = hub.download(f"{server.url}/x", folder=tmp_path, sha256=SHA)
    assert path.read_bytes() == DATA
    assert [r for _, r, _ in server.asked] == [None, "bytes=30000-", "bytes=30000-"]


def test_a_later_call_goes_on_too(server, tmp_path, monkeypatch):
    server.tricks = [broken(50_000)]
    monkeypatch.setattr(address, "ATTEMPTS", 1)
    text = told(f"{server.url}/x", folder=tmp_path)
    why = "the connection ended after 50,000 of 102,400 bytes"
    again = "check the network, then call it again: the download resumes after 50,000 bytes"
    assert text == f"no answer, and no copy in the cache ({why}): {again}"
    assert hub.download(f"{server.url}/x", folder=tmp_path).read_bytes() == DATA
    assert server.asked[1][1] == "bytes=50000-"


def test_another_file_by_now_begins_anew(server, tmp_path):
    server.tricks = [broken(50_000, '"old"')]
    assert hub.download(f"{server.url}/x", folder=tmp_path, sha256=SHA).read_bytes() == DATA
    server.tricks = [broken(50_000, 'W/"weak"')]
    assert hub.download(f"{server.url}/y", folder=tmp_path, sha256=SHA).read_bytes() == DATA
    assert server.asked[-1][1] is None  # a weak mark says nothing of single bytes
    server.tricks = [broken(50_000), lambda h: h.answer(416)]
    assert hub.download(f"{server.url}/z", folder=tmp_path, sha256=SHA).read_bytes() == DATA


def test_lies_are_told(server, tmp_path):
    url, other = f"{server.url}/x", "0" * 64
    assert told(url, folder=tmp_path, sha256=other) == (
        f"its SHA-256 is {SHA[:16]}... and not {'0' * 16}...: call it again"
    )
    assert not [p for p in tmp_path.rglob("x*") if p.name in ("x", "x.part")]
    for header in ("bytes 7-102399/102400", "bytes 50000-60000/102400", "chunks", ""):
        server.tricks = [broken(50_000), lambda h, r=header: h.answer(206, DATA[50_000:], Content_Range=r)]
        text = told(url, folder=tmp_path)
        rule = "the request was for bytes from 50,000, but the server sent others"
        assert text == f"{rule}: call it again: the download resumes after 50,000 bytes"
    server.tricks = [lambda h: h.answer(200, DATA, Content_Encoding="gzip")]
    rule = "the server sent it compressed (gzip), which was not requested: call it again"
    assert told(f"{server.url}/p", folder=tmp_path) == rule
    server.tricks = [lambda h: h.answer(302, Location="file:///etc/passwd")]
    assert told(f"{server.url}/y", folder=tmp_path) == (
        "the server responded 302 Found - Redirection to url 'file:///etc/passwd' is not"
        " allowed: call it again"
    )
    server.tricks = [lambda h: h.answer(404)]
    assert told(f"{server.url}/z", folder=tmp_path) == "the server responded 404 Not Found: check the URL"
    server.tricks = [lambda h: h.answer(403)]
    assert told(f"{server.url}/z", folder=tmp_path) == "the server responded 403 Forbidden: pass token="


def test_a_token_stays_with_its_server(server, tmp_path):
    server.tricks = [lambda h: h.answer(302, Location=f"http://localhost:{server.server_port}/b")]
    assert hub.download(f"{server.url}/a", folder=tmp_path, token="secret").read_bytes() == DATA
    assert [(p, t) for p, _, t in server.asked] == [("/a", "Bearer secret"), ("/b", None)]


def test_no_network_is_told(server, tmp_path, monkeypatch):
    url = f"{server.url}/x"
    rule = "it is not in the cache, and offline=True contacts no server: download it while online"
    assert told(url, folder=tmp_path, offline=True) == rule
    closed = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    closed.server_close()
    text = told(f"http://127.0.0.1:{closed.server_port}/x", folder=tmp_path)
    assert text.startswith(
        "no answer, and no copy in the cache ([Errno 111] Connection refused): check the network"
    )
    (tmp_path / "file").write_bytes(b"")
    assert told(url, folder=tmp_path / "file") == "the cache can't be written: Not a directory: pass folder="


@pytest.mark.parametrize(
    "args, options, text",
    [
        (("ftp://x/y",), {}, "hub.download('ftp://x/y'): the URL must begin with https:// or http://"),
        (
            ("https://x/y",),
            {"sha256": "abc"},
            "hub.download('https://x/y'): sha256='abc' is not a hash: pass 64 hexadecimal digits",
        ),
        (
            ("https://x/y", "z"),
            {},
            "hub.download('https://x/y'): file= applies to repositories: a URL is one file",
        ),
        (
            ("a/b",),
            {"sha256": "0" * 64},
            "hub.download('a/b'): sha256= is the hash of one file: pass file=",
        ),
    ],
)
def test_arguments_that_make_no_sense(args, options, text):
    with pytest.raises(ValueError) as e:
        hub.download(*args, **options)
    assert str(e.value) == text
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'fodler'"):
        hub.download("a/b", fodler=1)


def test_tensors_come_at_once(server, tmp_path):
    save_file({"w": fb.ones(2, device="cpu")}, tmp_path / "m.safetensors")
    data = (tmp_path / "m.safetensors").read_bytes()
    server.tricks = [lambda h: honest(h, data=data)]
    found = hub.load(f"{server.url}/m.safetensors", device="cpu", folder=tmp_path)
    assert found["w"].tolist() == [1, 1]


# --- a hub ---

COMMIT = "a" * 40


def hub_of(files: dict[str, bytes], tricks=None):
    """A handler that answers as a hub with one repository does."""
    tricks = tricks if tricks is not None else []

    def answer(h):
        if h.path.startswith("/api/models/"):
            if "owner/name" not in h.path:
                return h.answer(404, b"{}", X_Error_Code="RepoNotFound")
            rows = [
                {"rfilename": n, "size": len(d), "path": n, "type": "file", "oid": "0"}
                for n, d in files.items()
            ]
            body = rows if "/tree/" in h.path else {"sha": COMMIT, "id": "owner/name", "siblings": rows}
            return h.answer(200, json.dumps(body).encode(), Content_Type="application/json")
        name = h.path.split("?")[0].partition(f"/resolve/{COMMIT}/")[2] or h.path.rpartition("/")[2]
        if name not in files:
            return h.answer(404, X_Error_Code="EntryNotFound", X_Repo_Commit=COMMIT)
        data, etag = files[name], f'"{hashlib.sha256(files[name]).hexdigest()}"'
        headers = {
            "ETag": etag,
            "X_Repo_Commit": COMMIT,
            "X_Linked_Etag": etag,
            "X_Linked_Size": str(len(data)),
        }
        if h.command == "GET" and tricks:
            return tricks.pop(0)(h, data, headers)
        given = h.headers.get("Range")
        begin = int(given[6:-1]) if given and given != "bytes=0-0" else 0
        if begin:
            headers["Content_Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
        return h.answer(206 if begin else 200, data[begin:], **headers)

    return answer


@pytest.fixture
def model(tmp_path):
    save_file({"w": fb.ones(300, device="cpu")}, tmp_path / "m.safetensors")
    return {
        "model.safetensors": (tmp_path / "m.safetensors").read_bytes(),
        "config.json": b"{}",
        "big.zip": b"x",
    }


@pytest.fixture
def served(server, monkeypatch, tmp_path):
    """A function that sets what the server has, and gives the options that lead to it."""
    pytest.importorskip("huggingface_hub")
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path / "own"))
    monkeypatch.setattr("time.sleep", lambda _: None)

    def serve(files, tricks=None):
        monkeypatch.setattr(Handler, "do_GET", hub_of(files, tricks))
        monkeypatch.setattr(Handler, "do_HEAD", hub_of(files, tricks))
        return {"endpoint": server.url, "folder": tmp_path / "cache"}

    return serve


def test_a_repository_comes_once(served, model, tmp_path):
    options, seen = served(model), []
    path = hub.download("owner/name", "model.safetensors", progress=lambda *p: seen.append(p), **options)
    assert path.read_bytes() == model["model.safetensors"] and seen[-1][1:] == (len(path.read_bytes()),) * 2
    folder = hub.download("owner/name", **options)
    assert sorted(p.name for p in folder.iterdir()) == ["config.json", "model.safetensors"]
    found = hub.load("owner/name", device="cpu", **options, offline=True)
    assert found["w"].shape == (300,)


def test_a_hub_that_breaks_off_or_lies(served, model):
    name = "model.safetensors"
    data = model[name]

    def breaks(h, data, headers):
        h.answer(200, data[:700], length=len(data), **headers)

    def flips(h, data, headers):
        h.answer(200, data[:-1] + b"!", **headers)

    path = hub.download("owner/name", name, **served(model, [breaks]))
    assert path.read_bytes() == data
    options = served({"other.bin": data + b"    "}, [flips])
    text = told("owner/name", "other.bin", **options)
    assert text.startswith("its SHA-256 is ") and text.endswith("...: call it again, or check sha256=")


def test_what_a_hub_has_not_is_told(served, model, server, tmp_path):
    options = served(model)
    assert told("owner/name", "gone.bin", **options) == "the repository has no such file: check its name"
    private = "no such repository, or it is private: check the name, or pass token="
    assert told("other/name", **options) == private
    assert told("a/b/c", "x", **options) == (
        "is not a repository name: pass 'owner/name', or a URL with https://"
    )
    rule = "no answer, and no copy in the cache: check the network, or offline="
    assert told("owner/name", "config.json", offline=True, **options) == rule
