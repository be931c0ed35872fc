"""Two tabs of a browser take part in a training by its link, and one is closed in the middle."""

import threading
import time

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn, optim
from flambeau.tabs import TabWorkers

from .paper import READY, expect, overflow, shot

pytestmark = pytest.mark.share(8, first=2)
SIZE, CLASSES, ITEMS, STEPS = 10, 4, 32, 40


def pictures(count, seed):
    """Noisy pictures of a bar at one of four places, and the place. -> [n, 1, 10, 10], [n]"""
    rng = np.random.default_rng(seed)
    places = rng.integers(0, CLASSES, count)
    images = 0.3 * rng.standard_normal((count, 1, SIZE, SIZE)).astype("f")
    for image, place in zip(images, places, strict=True):
        image[0, 2 * place + 1 : 2 * place + 3] += 1
    return images, places


def network():
    fb.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, CLASSES))


class Training(threading.Thread):
    """Trains from `go` on, and waits in the middle for `rest`. Its own shards are slow: tabs take part."""

    def __init__(self):
        super().__init__(daemon=True)
        self.model, self.error = network(), None
        x, y = pictures(ITEMS, 0)
        self.tabs = TabWorkers(self.model, nn.functional.cross_entropy, (x, y), shards=8, limit=20.0)
        self.go, self.half, self.rest = threading.Event(), threading.Event(), threading.Event()
        compute = self.tabs.program.compute
        self.tabs.program.compute = lambda *args: (time.sleep(0.02), compute(*args))[1]

    def run(self):
        try:
            self.go.wait()
            optimizer = optim.Adam(self.model.parameters(), lr=0.02)
            for step in range(STEPS):
                if step == STEPS // 2:
                    self.half.set()
                    self.rest.wait()
                optimizer.step(self.tabs.backward(*pictures(ITEMS, step)))
        except BaseException as e:
            self.error = e
        finally:
            self.half.set()

    def accuracy(self):
        x, y = pictures(400, 10**6)
        with fb.no_grad():
            return (self.model(fb.tensor(x)).argmax(1).numpy() == y).mean()


@pytest.fixture
def training():
    made = Training()
    made.start()
    yield made
    made.tabs.close()


def joins(browser, link):
    context = browser.new_context(viewport={"width": 900, "height": 640})
    page, thrown, asked = context.new_page(), [], []
    page.on("pageerror", lambda e: thrown.append(str(e)))
    page.on("request", lambda r: asked.append(r.url))
    page.goto(link)
    return page, thrown, asked


def test_two_tabs_train_and_one_is_closed(browser, training):
    link = training.tabs.link
    first, second = (joins(browser, link) for _ in range(2))
    for page, *_ in (first, second):
        expect(page, "#status").to_have_text(READY)
        expect(page, "#connection").to_have_text("connected")
        assert "swiftshader" in page.inner_text("#adapter") and page.inner_text("#size") == "300"
    training.go.set()
    training.half.wait()
    assert training.error is None
    helpers = training.tabs.tabs
    assert len(helpers) == 2 and all(t.is_checked and t.shards > 2 for t in helpers), helpers
    expect(first[0], "#shards").to_have_text(str(helpers[0].shards))
    assert not overflow(first[0])
    shot(first[0], "join")
    second[0].close()
    training.rest.set()
    training.join(120)
    assert training.error is None and not training.is_alive()
    assert len(training.tabs.tabs) == 1 and training.accuracy() > 0.95
    training.tabs.close()
    expect(first[0], "#status").to_have_text("ended: the training has ended")
    expect(first[0], "#stop").to_be_disabled()
    for page, thrown, asked in (first, second):
        base = link.partition("join/")[0]
        assert not thrown and not [url for url in asked if not url.startswith((base, "ws", "blob:"))]
        page.context.close()


def test_a_tab_says_why_it_takes_no_part(browser, training):
    page, thrown, _ = joins(browser, training.tabs.link.partition("#")[0])
    expect(page, "#status").to_contain_text("The link has no token behind its #")
    page.goto(f"{training.tabs.link}x")
    page.reload()
    text = "This tab takes no part: the link's token is wrong: open the link that the training printed."
    expect(page, "#status").to_have_text(text)
    page.goto(training.tabs.link)
    page.reload()
    expect(page, "#connection").to_have_text("connected")
    page.click("#stop")
    expect(page, "#status").to_have_text("stopped: this tab computes nothing any more")
    for _ in range(100):
        if not training.tabs.tabs:
            break
        page.wait_for_timeout(50)
    assert not training.tabs.tabs and not thrown
    page.context.close()
