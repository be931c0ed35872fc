"""The page of digits: drawing, training, saving, its kernels, in a browser: one page for all tests."""

import re
import threading
import zipfile
from pathlib import Path

import pytest
from helpers.draws import in_turn

import flambeau as fb
from flambeau.io import load_file, save_file
from flambeau.models.digits import network
from flambeau.site import serve
from flambeau.site.server import address

from .paper import DIGITS, READY, draw, expect, shot, until

pytestmark = pytest.mark.share(6, first=0)
IN_HALF = pytest.mark.share(4, first=0)  # of the turns of this file, which are even


def probabilities(page) -> list[float]:
    return [
        float(v) for v in page.eval_on_selector_all("#bars li", "all => all.map((one) => one.dataset.value)")
    ]


@pytest.fixture(scope="module")
def mnist(browser, site):
    """The page, with a digit that was drawn before there was a network to read it."""
    context = browser.new_context(viewport={"width": 1100, "height": 830})
    page, asked, thrown = context.new_page(), [], []
    context.on("request", lambda r: asked.append(r.url))
    page.on("pageerror", lambda e: thrown.append(str(e)))
    page.goto(f"{site}mnist/index.html")
    page.wait_for_selector("#bars li", state="attached")
    draw(page, 7)
    expect(page, "#hint").to_have_text("Waiting for the network; your digit is kept.")
    expect(page, "#status").to_have_text(READY)
    expect(page, "#prediction").to_have_text("7")
    yield page
    context.close()
    assert not [url for url in asked if not url.startswith((site, "blob:", "data:"))]
    assert not thrown, f"errors in the page: {thrown}"


@pytest.mark.parametrize("digit", in_turn(DIGITS, 3))
def test_digits_drawn_with_the_mouse_are_read(mnist, digit):
    draw(mnist, digit)
    expect(mnist, "#prediction").to_have_text(str(digit))
    expect(mnist, "#hint").to_contain_text("% sure")
    found = probabilities(mnist)
    assert abs(sum(found) - 1) < 1e-4
    assert found[digit] == max(found)


def test_a_software_adapter_is_named(mnist):
    expect(mnist, "#notices").to_contain_text("Only a software adapter is there: it works, but slowly.")
    mnist.click(".notice button")


def test_the_page_sees_what_the_network_sees(mnist):
    """A digit in a corner of the pad is the same as a large one in its middle."""
    draw(mnist, 4)
    expect(mnist, "#prediction").to_have_text("4")
    shot(mnist, "draw")
    images = mnist.evaluate(
        """async (strokes) => {
            const { image } = await import("./preprocess.js");
            const small = strokes.map((stroke) => stroke.map(([x, y]) => [x / 3, y / 3]));
            return [strokes, small].map((given) => [...image(given)]).concat([image([])]);
        }""",
        [[list(map(lambda v: 280 * v, point)) for point in stroke] for stroke in DIGITS[4]],
    )
    assert images[0] == pytest.approx(images[1], abs=1e-5) and images[2] is None
    mass = sum(images[0])
    assert sum(v * (i % 28 + 0.5) for i, v in enumerate(images[0])) / mass == pytest.approx(14, abs=0.1)
    assert sum(v * (i // 28 + 0.5) for i, v in enumerate(images[0])) / mass == pytest.approx(14, abs=0.1)


def test_a_digit_drawn_with_the_keyboard(mnist):
    mnist.click("#clear")
    expect(mnist, "#prediction").to_have_text("–")
    mnist.focus("#digit")
    for key in ["ArrowUp"] * 9 + ["Space"] + ["ArrowDown"] * 18 + ["Space"] + ["ArrowRight"] * 4:
        mnist.keyboard.press(key)
    expect(mnist, "#prediction").to_have_text("1")
    mnist.keyboard.press("Delete")
    expect(mnist, "#prediction").to_have_text("–")


def test_tabs_by_keyboard_and_the_kernels_with_their_text(mnist):
    mnist.focus("#tab-draw")
    mnist.keyboard.press("End")
    expect(mnist, "#panel-kernels").to_be_visible()
    title = re.compile(r"^Reading a digit: (\d+) kernels, \d+\.\d\d ms, [\d.e-]+ GFLOP/s$")
    expect(mnist, "#kernels h2").to_have_text(title)
    count = int(title.match(mnist.inner_text("#kernels h2"))[1])
    how = mnist.inner_text("#kernels p")
    assert re.match("Warm calls on .+: the mean of 5, after one that compiled; each kernel timed", how)
    heads = mnist.locator("#kernels th").all_inner_texts()
    assert heads == ["#", "Kernel", "Time ▾", "Share", "GB/s", "GFLOP/s", "Template"]
    rows = mnist.locator("#kernels tr.pick")
    assert rows.count() == count > 3
    cells = [row.locator("td").all_inner_texts() for row in rows.all()]
    times = [float(t) * {"s": 1e3, "ms": 1, "µs": 1e-3}[unit] for t, unit in (c[2].split() for c in cells)]
    assert times == sorted(times, reverse=True) and times[0] > 0
    # a small kernel on a slow machine shows "< 0.001"
    assert all(float(c[4].removeprefix("< ")) > 0 for c in cells if c[1] != "copy buffers")
    products = [c for c in cells if c[1] == "conv2d+add+relu" and c[6].startswith("contract/")]
    assert any(float(c[5].removeprefix("< ")) > 0 for c in products)
    mnist.get_by_role("button", name="#", exact=True).click()  # in the order in which they run
    expect(mnist, "#kernels th[aria-sort]").to_have_text("# ▴")
    assert [r.get_attribute("data-kernel") for r in rows.all()] == [str(i) for i in range(count)]
    mnist.get_by_role("button", name="conv2d+add+relu").first.click()
    text = mnist.inner_text("#kernels pre")
    assert "@compute" in text and "fn main" in text
    mnist.context.grant_permissions(["clipboard-read", "clipboard-write"])
    mnist.locator("#kernels .text").get_by_role("button", name="Copy").click()
    expect(mnist, "#kernels .text button >> nth=0").to_have_text("Copied")
    assert mnist.evaluate("navigator.clipboard.readText()") == mnist.evaluate(
        "document.querySelector('#kernels pre').textContent"
    )
    shot(mnist, "kernels")
    mnist.locator("#kernels .text").get_by_role("button", name="Close").click()
    assert mnist.locator("#kernels pre").count() == 0
    mnist.fill("#kernel-search", "contract conv2d")
    assert 0 < rows.count() < count
    mnist.fill("#kernel-search", "")
    mnist.click("#time")
    expect(mnist, "#kernels th[aria-sort]").to_have_text("Time ▾")
    mnist.focus("#tab-kernels")
    mnist.keyboard.press("ArrowRight")  # round to the first
    expect(mnist, "#panel-draw").to_be_visible()


@pytest.fixture(scope="module")
def trained(mnist, tmp_path_factory):
    """30 steps in the page, and the file that it saves after them."""
    mnist.click("#tab-train")
    mnist.fill("#steps", "30")
    mnist.click("#train")
    expect(mnist, "#train-status").to_have_text(re.compile("^done at step 30: .* of the test digits"))
    shot(mnist, "train")
    path = tmp_path_factory.mktemp("saved") / "mine.safetensors"
    with mnist.expect_download() as saved:
        mnist.click("#save")
    saved.value.save_as(path)
    assert saved.value.suggested_filename == "mnist-trained.safetensors"
    return path


def numbers(page) -> list[list[str]]:
    """The table under the curves, the first step first: step, loss, accuracy, test accuracy."""
    rows = page.eval_on_selector_all(
        "#numbers tr", "all => all.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return rows[::-1]


@IN_HALF
def test_the_loss_falls_in_30_steps(mnist, trained):
    rows = numbers(mnist)
    assert rows[0][:3] == ["0", "–", "–"] and float(rows[0][3].removesuffix(" %")) < 40  # before it learned
    losses = [float(row[1]) for row in rows[1:]]
    assert [rows[1][0], rows[-1][0]] == ["1", "30"]
    assert 2 < losses[0] < 2.8 and losses[-1] < 0.85 * losses[0]
    assert float(rows[-1][3].removesuffix(" %")) > 40  # of the test digits; chance is 10
    shown = mnist.locator("#loss").inner_text()  # to three places what the table rounds to four
    assert re.fullmatch(r"\d\.\d{3}", shown) and abs(float(shown) - losses[-1]) < 5.6e-4


@IN_HALF
def test_saved_weights_are_those_of_the_desktop(mnist, trained):
    model = network()
    model.load_state_dict(load_file(trained))
    pixels = mnist.evaluate(
        """async (strokes) => [...(await import("./preprocess.js")).image(strokes)]""",
        [[list(point) for point in stroke] for stroke in DIGITS[0]],
    )
    there = mnist.evaluate(
        """async (pixels) => [...await flambeau.call("page.predict", new Float32Array(pixels), "trained")]""",
        pixels,
    )
    x = fb.tensor(pixels).reshape(1, 1, 28, 28) - 0.1307
    assert there == pytest.approx(model(x).softmax(1).tolist()[0], abs=1e-4)


def test_a_stroke_is_taken_back_and_samples_are_read(mnist):
    draw(mnist, 4)
    expect(mnist, "#prediction").to_have_text("4")
    before = probabilities(mnist)
    mnist.click("#undo")  # the second of its strokes
    changed = (
        "(before) => before.some((p, i) => p !== +document.querySelectorAll('#bars li')[i].dataset.value)"
    )
    until(mnist, changed, before)
    mnist.focus("#digit")
    mnist.keyboard.press("Backspace")
    expect(mnist, "#prediction").to_have_text("–")
    mnist.click("[aria-label='Draw a 9']")
    expect(mnist, "#prediction").to_have_text("9")
    assert float(mnist.inner_text("#speed")) > 0


@IN_HALF
def test_the_trained_network_is_looked_into_used_and_taken_home(browser, mnist, trained, tmp_path):
    """The grid of what is read as what; the tabs in the address; the folder, which is a page of its own."""
    mnist.click("#tab-train")
    numbers_of = "all => all.map((one) => Number(one.textContent))"
    cells = mnist.eval_on_selector_all("#confusion tr + tr td", numbers_of)
    assert (len(cells), sum(cells)) == (100, 2000)
    tested = [row[3] for row in numbers(mnist) if row[3]][-1]
    assert float(tested.removesuffix(" %")) == pytest.approx(sum(cells[::11]) / 20, abs=0.051)
    assert mnist.inner_text("#train-spoken").startswith("done at step")
    mnist.click("#use-it")
    assert mnist.url.endswith("#draw") and mnist.input_value("#network") == "trained"
    assert mnist.evaluate("document.activeElement.id") == "digit"
    mnist.select_option("#network", "shipped")
    mnist.go_back()
    expect(mnist, "#panel-train").to_be_visible()
    with mnist.expect_download() as saved:
        mnist.click("#folder")
    with zipfile.ZipFile(saved.value.path()) as archive:
        archive.extractall(tmp_path)
    assert (tmp_path / "digits" / "values.js").is_file()  # what the module imports, and when
    pixels = [1.0 if i % 28 == 14 else 0.0 for i in range(784)]
    found = fb.load_program(tmp_path / "digits")(pixels=fb.tensor(pixels).reshape(1, 784))
    assert found.tolist()[0] == pytest.approx(asked_of_trained(mnist), abs=1e-4)
    server = serve(tmp_path / "digits", port=0, quiet=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page, thrown = browser.new_page(), []
    page.on("pageerror", lambda e: thrown.append(str(e)))
    page.goto(address(server))
    expect(page, "#hint").to_contain_text("reads it.")
    draw(page, 1)
    expect(page, "#hint").to_contain_text("% sure, on ")
    assert not thrown
    page.close()
    server.shutdown()
    server.server_close()


def asked_of_trained(page) -> list[float]:
    """What the trained network makes of an upright line."""
    given = "Float32Array.from({ length: 784 }, (_, i) => (i % 28 === 14 ? 1 : 0))"
    return page.evaluate(f"async () => [...await flambeau.call('page.predict', {given}, 'trained')]")


def flawed(path: Path, name: str, at: int, value: float) -> None:
    """The file with another number at a place of one of its tensors."""
    tensors = {n: t.numpy().copy() for n, t in load_file(path.parent / "whole.safetensors").items()}
    tensors[name].reshape(-1)[at] = value
    save_file({n: fb.tensor(t) for n, t in tensors.items()}, path)


@IN_HALF
def test_bad_files_are_told_and_change_nothing(mnist, trained, tmp_path):
    linear, cut = tmp_path / "linear.safetensors", tmp_path / "cut.safetensors"
    save_file(fb.nn.Linear(3, 4).state_dict(), linear)
    cut.write_bytes(trained.read_bytes()[:1000])
    (tmp_path / "letter.safetensors").write_text("dear all, this is no file of weights")
    (tmp_path / "whole.safetensors").write_bytes(trained.read_bytes())
    flawed(tmp_path / "nan.safetensors", "0.weight", 7, float("nan"))
    flawed(tmp_path / "infinite.safetensors", "7.bias", 9, float("-inf"))
    (tmp_path / "empty.safetensors").write_bytes(b"")
    save_file({}, tmp_path / "nothing.safetensors")
    more = load_file(trained) | {"7.more": fb.zeros(3)}
    save_file(more, tmp_path / "more.safetensors")
    save_file({**load_file(trained), "7.bias": fb.zeros(11)}, tmp_path / "other.safetensors")
    save_file({"x": fb.zeros(300_000)}, tmp_path / "large.safetensors")
    told = {
        "empty": "it is truncated or not a .safetensors file (it ends before its header): get a",
        "nothing": "it holds another network, or one of another version (6 missing: '0.weight'",
        "more": "it holds another network, or one of another version (1 unexpected: '7.more'",
        "other": "it holds another network, or one of another version (1 of another shape: '7.bias'",
        "nan": "it holds NaN or infinite numbers in '0.weight': choose another file",
        "infinite": "it holds NaN or infinite numbers in '7.bias': choose another file",
        "large": "it holds another network, of 1.2 MB: this network's files have less than 1 MB",
        "letter": "it is truncated or not a .safetensors file (its header ends early): get a complete copy",
        "cut": "it is truncated or not a .safetensors file (",
        "linear": "it holds another network, or one of another version (6 missing: '0.weight'",
    }
    before = asked_of_trained(mnist)
    for name, text in told.items():
        mnist.set_input_files("#file", tmp_path / f"{name}.safetensors")
        expect(mnist, "#notices").to_contain_text(f"{name}.safetensors: {text}")
    mnist.evaluate("document.querySelectorAll('.notice button').forEach((button) => button.click())")
    assert asked_of_trained(mnist) == pytest.approx(before, abs=1e-6)
    draw(mnist, 3)
    expect(mnist, "#prediction").to_have_text("3")


@IN_HALF
def test_training_pauses_resumes_and_stops(mnist, trained):
    mnist.click("#tab-train")
    mnist.fill("#steps", "500")
    mnist.click("#train")
    expect(mnist, "#train-status").to_contain_text("of 530")
    mnist.evaluate("""() => {
        Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
        document.dispatchEvent(new Event("visibilitychange"));
    }""")
    expect(mnist, "#train-status").to_contain_text("paused while this tab is hidden, at step")
    done = "() => flambeau.run('import page; page.training.done')"
    before = mnist.evaluate(done)  # steps that are under way count already
    mnist.wait_for_timeout(700)
    assert mnist.evaluate(done) == before
    mnist.evaluate("delete document.hidden, document.dispatchEvent(new Event('visibilitychange'))")
    expect(mnist, "#train-status").to_contain_text("of 530")
    mnist.get_by_role("button", name="Pause").click()
    expect(mnist, "#train-status").to_contain_text("paused at step")
    mnist.get_by_role("button", name="Resume").click()
    expect(mnist, "#train-status").to_contain_text("of 530")
    mnist.click("#stop")
    expect(mnist, "#train-status").to_contain_text("stopped at step")
    assert 30 < int(numbers(mnist)[-1][0]) < 530


@IN_HALF
def test_a_gpu_lost_while_training_is_opened_again_and_training_goes_on_from_what_was_kept(mnist, trained):
    mnist.click("#tab-train")
    kept = int(numbers(mnist)[-1][0])
    mnist.fill("#steps", "20")
    mnist.click("#train")
    expect(mnist, "#train-status").to_contain_text(f"of {kept + 20}")
    mnist.evaluate("""() => flambeau.run("import page; page.gpu._executor.device.destroy()")""")
    draw(mnist, 5)
    expect(mnist, "#prediction").to_have_text("5")
    expect(mnist, "#notices").to_contain_text("The GPU was lost (")
    expect(mnist, "#notices").to_contain_text("is open again; what was on it was put back")
    expect(mnist, "#train-status").to_contain_text(f"done at step {kept + 20}")
    steps = [int(row[0]) for row in numbers(mnist)]
    assert steps == sorted(set(steps)) and steps[-1] == kept + 20


@IN_HALF
def test_saved_weights_load_into_a_new_page(browser, site, mnist, trained):
    mnist.set_input_files("#file", trained)  # other tests have trained further
    expect(mnist, "#train-status").to_contain_text("loaded mine.safetensors")
    before = asked_of_trained(mnist)
    mnist.reload()
    expect(mnist, "#status").to_have_text(READY)
    mnist.set_input_files("#file", trained)
    expect(mnist, "#train-status").to_contain_text("loaded mine.safetensors")
    assert asked_of_trained(mnist) == pytest.approx(before, abs=1e-6)


COUNTS = """
import gc, page
gc.collect()
e = page.gpu._executor
[e.buffers.size, e.users.size, e.prepared.size, e.pipelines.length, len(page.gpu.plans), page.gpu.pool.live]
"""


# a quarter of the digits that each training is tested with before and after
FEWER = """
import page
digits = page.training.digits
digits.test, digits.test_labels = digits.test[:500], digits.test_labels[:500]
None
"""


@pytest.mark.share(5)
def test_trainings_begun_anew_leave_nothing(mnist, trained):
    counts = []
    mnist.click("#tab-train")
    mnist.fill("#steps", "1")
    mnist.click("#train")  # Python has no training yet if another test has started it again
    expect(mnist, "#train-status").to_contain_text("done at step")
    mnist.evaluate("(source) => flambeau.run(source)", FEWER)
    for _ in range(11):  # the pool's buffers recur every fourth time, and are then prepared
        mnist.evaluate("""async () => {
            await flambeau.call("page.start_over");
            await flambeau.call("page.train", 2, 0.01);
        }""")
        counts.append(mnist.evaluate("(source) => flambeau.run(source)", COUNTS))
    assert counts[-1][1:] == counts[8][1:] and counts[-1][0] <= counts[8][0] + 2, counts
