"""Tabs that join a training, played by threads: honest ones, and all that others may send."""

import json
import socket
import ssl
import struct
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress

import numpy as np
import pytest
from helpers.draws import TURN

import flambeau as fb
from flambeau import metrics, nn
from flambeau.learner import Learner
from flambeau.remote.websocket import CLOSE, connect
from flambeau.tabs import TabWorkers
from flambeau.tabs.messages import FORMAT, HEAD, encode

TOKEN = "a token of sixteen"
X, Y = np.random.default_rng(1).standard_normal((8, 3)).astype("f"), np.arange(8) % 2
loss_of = nn.functional.cross_entropy


@pytest.fixture(autouse=True)
def on_the_cpu():
    with fb.device("cpu"):
        yield


def network():
    fb.manual_seed(2)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


@pytest.fixture
def training():
    """Make TabWorkers of the network; all are closed at the end."""
    opened = []

    def make(model=None, example=(X, Y), **options):
        options = {"shards": 4, "token": TOKEN, "limit": 5.0, **options}
        opened.append(TabWorkers(model or network(), options.pop("loss", loss_of), example, **options))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


class FakeTab(threading.Thread):
    """A tab that computes with flambeau. wrong: (vector, number of the shard) -> what it sends instead; "" to
    send nothing, None to close. code, closed: of the close that it gets."""

    def __init__(self, tabs, wrong=lambda vector, number: vector, hello=None):
        super().__init__(daemon=True)
        self.wrong, self.done, self.closed, self.code = wrong, 0, "", 0
        raw = socket.create_connection(("127.0.0.1", tabs._server.port), timeout=20)
        self.raw = raw
        self.ws = connect(raw, f"localhost:{tabs._server.port}", "/join/socket")
        self.model = network()
        head = {"kind": "hello", "token": TOKEN, "format": FORMAT, "adapter": "fake"} | (hello or {})
        self.ws.send(*encode(**head))
        self.start()

    def run(self):
        heads, read_head, read = [0], self.ws._read_head, self.ws._payload

        def note_head():
            heads.append(read_head())
            return heads[-1]

        def note_close(n):
            data = read(n)
            if heads[-1] == CLOSE:
                self.code, self.closed = struct.unpack(">H", data[:2])[0], data[2:].decode()
            return data

        self.ws._read_head, self.ws._payload = note_head, note_close
        with suppress(OSError):
            while (raw := self.ws.receive()) is not None:
                self.answer(raw)

    def answer(self, raw):
        (size,) = struct.unpack_from("<I", raw)
        head, data = json.loads(raw[4 : 4 + size]), raw[4 + size :]
        if head["kind"] == "weights":
            self.vector = np.frombuffer(data, np.float32)
        if head["kind"] != "shard":
            return
        x = np.frombuffer(data, np.float32, 6).reshape(2, 3)
        y = np.frombuffer(data, np.int64, 2, offset=head["sizes"][0])
        with fb.device("cpu"):
            at = 0
            for p in self.model.parameters():
                p.data = fb.tensor(self.vector[at : at + p.numel()].reshape(p.shape))
                at += p.numel()
            loss = loss_of(self.model(fb.tensor(x)), fb.tensor(y))
            grads = loss.backward()
            parts = [loss.numpy(), *(grads[p].numpy() for p in self.model.parameters())]
        sent = self.wrong(np.concatenate([p.ravel() for p in parts]), self.done)
        self.done += 1
        if sent is None:
            self.raw.close()
        elif not isinstance(sent, str):
            head = {"step": head["step"], "shard": head["shard"]}
            message = (
                sent if isinstance(sent, list) else encode("result", [sent.astype("f").tobytes()], **head)
            )
            self.ws.send(*message)


def joined(tabs, count=1):
    """Wait until so many tabs take part."""
    end = time.monotonic() + 120
    while len(tabs.tabs) < count:
        assert time.monotonic() < end, "no tab came"
        time.sleep(0.01)


def check(tabs, steps=1):
    """Gradients of some steps are those of the plain backward."""
    model = tabs.program.model
    for _ in range(steps):
        expected = loss_of(model(fb.tensor(X)), fb.tensor(Y))
        plain, got = expected.backward(), tabs.backward(X, Y)
        assert abs(got.loss.item() - expected.item()) < 1e-6
        for p in model.parameters():
            np.testing.assert_allclose(got[p].numpy(), plain[p].numpy(), rtol=1e-5, atol=1e-7)
        fb.optim.SGD(model.parameters(), lr=0.1).step(got)


def slowly(tabs):
    """Let the training's own thread be slow, so that tabs get shards."""
    compute = tabs.program.compute

    def slow(*args):
        time.sleep(0.03)
        return compute(*args)

    tabs.program.compute = slow
    return tabs


def test_alone_and_with_two_tabs_gradients_are_the_same(training):
    tabs = training()
    check(tabs)
    helpers = [FakeTab(tabs) for _ in range(2)]
    joined(tabs, 2)
    check(slowly(tabs), 4)
    assert [t.adapter for t in tabs.tabs] == ["fake", "fake"] and all(t.is_checked for t in tabs.tabs)
    assert sum(t.shards for t in tabs.tabs) >= 4 and all(t.seconds > 0 for t in tabs.tabs)
    few = tabs.backward(X[:3], Y[:3])  # of another size: computed here
    expected = loss_of(tabs.program.model(fb.tensor(X[:3])), fb.tensor(Y[:3]))
    assert abs(few.loss.item() - expected.item()) < 1e-6
    tabs.close()
    for helper in helpers:
        helper.join(60)
        assert (helper.code, helper.closed) == (4000, "the training has ended")


def learner_of(model, **options):
    return Learner(model, fb.optim.SGD(model.parameters(), lr=0.1), loss_of, renderers=[], **options)


def test_a_learner_whose_batches_tabs_share(training):
    """Its history and weights are those of a plain one, metrics and a last batch of another size too."""
    batches = [(X, Y), (X[::-1].copy(), Y[::-1].copy()), (X[:5], Y[:5])]
    options = {"metrics": [metrics.MulticlassAccuracy(2)], "clip": 0.5}
    plain, model = network(), network()
    expected = learner_of(plain, **options).fit(batches, [(X, Y)], epochs=2)
    tabs = slowly(training(model))
    fake = FakeTab(tabs)
    joined(tabs)
    learner = learner_of(model, **options)
    history = learner.fit(batches, [(X, Y)], epochs=2, engine=tabs)
    assert fake.done > 1, "the tab had no shards"
    for row, other in zip(history, expected, strict=True):
        assert row.keys() == other.keys()
        assert all(abs(row[name] - other[name]) < 1e-5 for name in row if "time" not in name), (row, other)
    for p, q in zip(model.parameters(), plain.parameters(), strict=True):
        np.testing.assert_allclose(p.numpy(), q.numpy(), atol=1e-6)
    assert len(learner.fit(batches, epochs=3)) == 3  # goes on without tabs
    for wrong, text in (
        (learner_of(plain), "another model"),
        (learner_of(model, accumulate=2), "leave scaler and accumulate out"),
    ):
        with pytest.raises(ValueError, match=text):
            wrong.fit(batches, engine=tabs)
    with pytest.raises(ValueError, match="tabs join a training of one process"):
        learner_of(model).fit(batches, engine=tabs, devices=2)


def test_a_tab_that_computes_what_it_should_not_is_dismissed_at_its_first_shard(training):
    tabs = slowly(training())
    liar = FakeTab(tabs, lambda vector, _: vector * 1.05)
    joined(tabs)
    check(tabs, 2)
    liar.join(60)
    assert liar.code == 4004 and liar.done == 1 and not tabs.tabs
    assert liar.closed.startswith("its result is wrong: the loss differs by 0.05 of its norm")


def test_a_tab_that_lies_later_is_found_by_samples(training):
    tabs = slowly(training(sample=1.0))
    liar = FakeTab(tabs, lambda vector, number: vector if number < 2 else np.flip(vector))
    joined(tabs)
    check(tabs, 4)
    liar.join(60)
    assert liar.code == 4004 and liar.done == 3


def test_a_tab_that_stalls_loses_its_shard_after_the_limit(training):
    tabs = slowly(training(limit=0.3))
    stalls, honest = FakeTab(tabs, lambda *_: ""), FakeTab(tabs)
    joined(tabs, 2)
    begin = time.monotonic()
    check(tabs)
    assert time.monotonic() - begin < 60
    stalls.join(60)
    assert stalls.code == 4004 and stalls.closed == "it took more than 1.8 s for a shard"
    assert [t for t in tabs.tabs if t.adapter == "fake"] and honest.is_alive()


def test_a_tab_that_closes_in_the_middle(training):
    tabs = slowly(training())
    FakeTab(tabs, lambda vector, number: vector if number < 1 else None)
    joined(tabs)
    check(tabs, 3)
    assert not tabs.tabs


ANSWERS = {  # what is sent in place of a result -> the reason
    "short": (lambda v: v[:-1], "tab: a result of 104 bytes, not 108"),
    "long": (lambda v: np.append(v, v), "tab: a result of 216 bytes, not 108"),
    "large": (lambda v: np.zeros(HEAD), "WebSocket: a message has more than"),
    "nan": (lambda v: v * np.nan, "its result is wrong: the loss differs by nan"),
    "failed": (lambda v: encode("failed", why="out of\nmemory"), "it failed: out of?memory"),
    "another": (
        lambda v: encode("result", [v.tobytes()], step=1, shard=99),
        "tab: a result for another shard",
    ),
    "hello": (lambda v: encode("hello"), "tab: a result for another shard"),
    "text": (lambda v: ["a text"], "tab: expected a message of bytes, got text"),
    "unknown": (lambda v: encode("weights", [v.tobytes()]), "tab: a message of an unknown kind"),
    "empty": (lambda v: [b""], "tab: a message of 0 bytes"),
    "head": (
        lambda v: [struct.pack("<I", 1 << 30), b"{}"],
        "tab: a header of 1073741824 bytes in a message of 6",
    ),
    "json": (lambda v: [struct.pack("<I", 4), b"[[[["], "tab: the header is not JSON"),
    "list": (lambda v: [struct.pack("<I", 2), b"[]"], "tab: a message of an unknown kind"),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", ANSWERS)
def test_bad_answers(training, name):
    answer, reason = ANSWERS[name]
    tabs = slowly(training())
    bad = FakeTab(tabs, lambda vector, _: answer(vector.astype("f")))
    joined(tabs)
    check(tabs)
    bad.join(60)
    assert bad.closed.startswith(reason) and not tabs.tabs


def test_drawn_bytes_end_a_connection_and_nothing_else(training):
    rng = np.random.default_rng(TURN)
    tabs = slowly(training())
    good = b"".join(bytes(p) for p in encode("result", [bytes(108)], step=1, shard=0))

    def broken(*_):
        data = bytearray(good)
        for at in rng.integers(0, len(data), rng.integers(1, 6)):
            data[at] = rng.integers(256)
        return [bytes(data[: rng.integers(0, len(data) + 1)])]

    for _ in range(4):
        FakeTab(tabs, broken)
    check(tabs, 3)
    for _ in range(6):  # before any WebSocket
        with socket.create_connection(("127.0.0.1", tabs._server.port), timeout=5) as raw, suppress(OSError):
            raw.sendall(rng.bytes(40) + b"\r\n\r\n")
            raw.recv(100)
    check(tabs)


HELLOS = {
    "token": (
        {"token": "another"},
        4001,
        "the link's token is wrong: open the link that the training printed",
    ),
    "none": ({"token": 7}, 4001, "tab: token must be a string"),
    "format": ({"format": FORMAT + 1}, 4002, f"the page speaks version {FORMAT + 1}, the training {FORMAT}"),
    "number": ({"format": "1"}, 4001, "tab: format must be an integer"),
    "bye": ({"kind": "bye"}, 4001, "tab: expected 'hello', got 'bye'"),
    "large": ({"adapter": "x" * 2 * HEAD}, 1009, "WebSocket: a message has more than"),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("name", HELLOS)
def test_who_may_join(training, name):
    hello, code, reason = HELLOS[name]
    tabs = training()
    tab = FakeTab(tabs, hello=hello)
    tab.join(60)
    assert tab.code == code and tab.closed.startswith(reason) and not tabs.tabs


def test_no_more_tabs_than_the_limit(training):
    tabs = training(most=1)
    FakeTab(tabs)
    joined(tabs)
    second = FakeTab(tabs)
    second.join(60)
    assert second.code == 4003 and second.closed == "1 tabs take part, which is the limit of this training"


def test_the_page_is_served_without_the_token(training):
    tabs = training()
    base, _, token = tabs.link.partition("#")
    assert base == f"http://localhost:{tabs._server.port}/join/" and token == TOKEN

    def get(path, **options):
        return urllib.request.urlopen(
            urllib.request.Request(f"http://127.0.0.1:{tabs._server.port}{path}", **options)
        )

    with get("/") as answer:  # follows the redirect
        text = answer.read().decode()
        assert answer.headers["Cache-Control"] == "no-store" and answer.url.endswith("/join/")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'self'; script-src 'self'" in text and "require-trusted-types-for" in text
    assert TOKEN not in text
    with get("/join/page.js") as answer:
        assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert f"const FORMAT = {FORMAT};" in answer.read().decode()
    for path, status in (("/sw.js", 404), ("/../pyproject.toml", 404), ("/join/../join/", 404)):
        with pytest.raises(urllib.error.HTTPError) as error:
            get(path)
        assert error.value.code == status
    with pytest.raises(urllib.error.HTTPError) as error:
        get("/join/", data=b"x")
    assert error.value.code == 400


ERRORS = {
    "shards": ({"shards": 3}, r"TabWorkers\(shards=3\): must divide the example's 8 items"),
    "limit": ({"limit": 0}, r"TabWorkers\(limit=0, sample=0.02, most=64\): limit must be positive"),
    "token": ({"token": "short"}, r"TabWorkers\(token=...\): it has 5 characters: use 16 or more, or None"),
    "parts": ({"example": (X,)}, r"TabWorkers: a batch is \(inputs..., target\)"),
    "sizes": ({"example": (X, Y[:3])}, r"with the items in their first dim: got first dims \[\[8\], \[3\]\]"),
    "half": (
        {"model": lambda: nn.Linear(3, 2).half()},
        r"TabWorkers\(Linear\): 'weight' is f16\[2, 3\]: tabs compute in",
    ),
    "none": ({"model": lambda: nn.Linear(3, 2).requires_grad_(False)}, "no parameter requires gradients"),
    "state": (
        {"model": lambda: nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))},
        r"TabWorkers\(Sequential\): .*is not in the program's state",
    ),
    "reads": (
        {"loss": lambda out, _: out.sum() * out.sum().item()},
        r"TabWorkers\(Sequential\): the function can't be saved: it reads values",
    ),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("name", ERRORS)
def test_options_and_models_that_do_not_fit(training, name):
    options, text = ERRORS[name]
    made = {"model": options["model"]()} if "model" in options else {}
    with pytest.raises((ValueError, TypeError, fb.FlambeauError), match=text):
        training(**{**options, **made})


def test_a_port_in_use(training):
    port = training()._server.port
    with pytest.raises(
        fb.FlambeauError, match=rf"TabWorkers\(host='127.0.0.1', port={port}\): Address already in"
    ):
        training(port=port)


def test_random_numbers_do_not_depend_on_who_computes(training):
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    tabs = training(model)
    shard = [fb.tensor(X[:2]), fb.tensor(Y[:2])]
    first, other, again = (tabs.program.compute(shard, seed) for seed in (5, 6, 5))
    assert (first == again).all() and not (first == other).all()


def test_other_hosts_get_an_https_link(training):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    assert training(context=context).link.startswith("https://localhost:")
