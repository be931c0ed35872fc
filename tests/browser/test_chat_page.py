"""The page of `flambeau export --chat`: the desktop's tokens, Stop, a download that broke off."""

import json
import shutil
import threading

import pytest
from helpers.gguf_models import tiny_chat

from flambeau import models
from flambeau.site import chat as site_chat
from flambeau.site import serve
from flambeau.site.chat import ChatOptions, write_chat
from flambeau.site.server import address

from .paper import READY, expect, overflow, shot, until

pytestmark = pytest.mark.share(3, first=2)
HELLO, AGAIN = "Hello <|im_end|> wörld 😀", "and the cat"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder of a small model in many parts, and what NumPy replies to two messages."""
    folder = tmp_path_factory.mktemp("chats")
    tiny_chat(folder / "m.gguf", "Q8_0")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site_chat, "PART", 4096)
        patch.setattr(site_chat, "CHUNK", 4)  # few kernels to compile
        write_chat(folder / "m.gguf", folder / "chat", ChatOptions(context=256, title="A small model"))
    desktop = models.chat(folder / "m.gguf", "cpu", context=256)
    replies = []
    for text in (HELLO, AGAIN):
        desktop.reply(text, max_new_tokens=12)
        replies.append((desktop.last.ids, desktop.last.text, desktop.last.prompt))
    shutil.copytree(folder / "chat", folder / "chooser", ignore=shutil.ignore_patterns("*.bin", "*.txt"))
    (folder / "chooser" / "chat.json").write_text('{"chooser": true}')
    return folder, replies


@pytest.fixture(scope="module")
def home(written):
    server = serve(written[0], port=0, quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield address(server)
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 390, "height": 844})
    opened, wrong = context.new_page(), []
    opened.on("pageerror", lambda e: wrong.append(str(e)))
    opened.on("console", lambda m: wrong.append(m.text) if "Content Security" in m.text else None)
    yield opened
    context.close()
    assert not wrong


def send(page, text):
    page.fill("#message", text)
    page.press("#message", "Enter")


def done(page):
    until(page, "document.querySelector('#stop').hidden")
    return page.evaluate("flambeau.writer.last")


def begin(page):
    page.click("#begin")
    expect(page, "#status").to_have_text(READY)


def test_a_conversation(page, home, written):
    """The desktop's tokens twice; a stopped reply, which stays in the history; a drawn one."""
    _, replies = written
    page.goto(f"{home}chat/")
    expect(page, "h1").to_have_text("A small model")
    expect(page, "#adapter").to_contain_text("swiftshader", ignore_case=True)
    expect(page, "#memory").to_contain_text("MB of weights")
    assert not overflow(page)
    begin(page)
    page.fill("#most", "12")
    for i, (text, (ids, reply, prompt)) in enumerate(zip((HELLO, AGAIN), replies, strict=True)):
        send(page, text)
        last = done(page)
        assert (last["ids"], last["prompt"]) == (ids, prompt)
        assert page.locator("article p").nth(2 * i).inner_text() == text
        assert page.locator("article p").nth(2 * i + 1).text_content() == reply
    assert len({*replies[0][0]}) > 3
    expect(page, "#cost").to_contain_text("tokens a second")
    # what was written stays in the cache: of the second prompt only the rest was computed
    assert page.evaluate("flambeau.writer.cached.length") == replies[1][2] + len(replies[1][0]) - 1

    page.fill("#most", "200")
    page.evaluate("""() => {
        const { writer } = flambeau, feed = writer.feed.bind(writer);
        writer.feed = async (...given) => {
            if (writer.last.ids.length === 3) document.querySelector("#stop").click();
            return feed(...given);
        };
    }""")
    send(page, "Go on")
    last = done(page)
    assert last["finish"] == "cancel" and len(last["ids"]) <= 4
    expect(page, "#cost").to_contain_text("stopped")
    assert page.evaluate("flambeau.messages.length") == 6
    shot(page, "chat")
    assert not overflow(page)

    page.click("#reset")
    assert page.locator("article").count() == 0
    page.fill("#temperature", "0.7")
    page.fill("#most", "3")
    send(page, AGAIN)
    assert len(done(page)["ids"]) <= 3
    send(page, "word " * 300)
    expect(page, "#wrong").to_contain_text("The message is too long:")
    assert page.input_value("#message").startswith("word word")


def test_a_download_that_broke_off(page, home, written):
    """A damaged part is told; another visit fetches what is missing, and a third one nothing."""
    folder, _ = written
    facts = json.loads((folder / "chat" / "chat.json").read_text("utf-8"))
    parts, asked = facts["weights"], []
    assert len(parts) > 8
    damaged, data = parts[-1], bytearray((folder / "chat" / parts[-1]).read_bytes())
    data[-1] ^= 1
    page.on("request", lambda r: asked.append(r.url.partition("/chat/")[2]))
    page.route(f"**/{damaged}", lambda route: route.fulfill(body=bytes(data)))
    page.goto(f"{home}chat/")
    page.click("#begin")
    told = f"{damaged} is damaged: {len(data)} of {len(data)} bytes came, with another checksum."
    expect(page, "#status").to_have_text(f"{told} Put the exported folder on the server again.")
    assert asked.count(damaged) == 2  # anew, past the HTTP cache

    page.unroute(f"**/{damaged}")
    kept = page.evaluate("""async () => {
        const [name] = await caches.keys(), cache = await caches.open(name);
        return (await cache.keys()).map(({ url }) => url.split("/chat/")[1]);
    }""")
    assert {*parts[:4]} <= {*kept} and damaged not in kept
    asked.clear()
    page.click("#again")
    expect(page, "#download").to_contain_text("the rest is kept in this browser")
    begin(page)
    wanted = {name for name in asked if name in facts["files"]}
    assert wanted == {*facts["files"]} - {*kept}

    # a kept copy that was damaged is fetched again
    asked.clear()
    came = page.evaluate("""async (name) => {
        const [key] = await caches.keys(), cache = await caches.open(key), came = {};
        const { files } = flambeau;
        await cache.put(new URL(name, location.href), new Response("damaged"));
        const { signal } = new AbortController();
        const ondone = (one, data) => (came[one] = data.length);
        await files.fetch(Object.keys(files.list), signal, () => {}, ondone);
        return came;
    }""", parts[0])  # fmt: skip
    assert came == {name: file["bytes"] for name, file in facts["files"].items()}
    assert [name for name in asked if name in facts["files"]] == [parts[0]]
    page.reload()
    expect(page, "#download").to_contain_text("0.0 MB of")
    page.click("#forget")
    expect(page, "#forget").to_be_hidden()
    left = "caches.open('flambeau-chat:/chat/').then((cache) => cache.keys()).then((all) => all.length)"
    assert page.evaluate(left) == 0


def test_a_chosen_folder(page, home, written):
    """Of the site's page without a model: an exported folder is read here, another one is told."""
    folder, _ = written
    page.goto(f"{home}chooser/")
    expect(page, "#status").to_contain_text("adapter")
    (folder / "other").mkdir(exist_ok=True)
    shutil.copy(folder / "m.gguf", folder / "other" / "m.gguf")
    page.set_input_files("#folder", folder / "other")
    told = "m.gguf is a GGUF file: export it first: flambeau export m.gguf --chat --out folder. "
    expect(page, "#obstacle").to_have_text(f"{told}Then choose the folder.")
    page.set_input_files("#folder", folder / "chat")
    expect(page, "#download").to_contain_text("none: ")
    begin(page)
    expect(page, "h1").to_have_text("A small model")


def test_what_a_browser_lacks(browser, home):
    context = browser.new_context()
    page, asked = context.new_page(), []
    page.on("request", lambda r: asked.append(r.url))
    page.add_init_script("delete Navigator.prototype.gpu")
    page.goto(f"{home}chat/")
    expect(page, "#status").to_contain_text("This browser has no WebGPU.")
    context.close()
    assert not [url for url in asked if "/model/" in url and not url.endswith(".js")]
