"""The inspector's page in Chromium: a kernel found, opened, edited and timed; many kernels; a phone."""

import threading
from dataclasses import replace

import pytest

import flambeau as fb
from flambeau import nn
from flambeau.inspector import report
from flambeau.inspector.serve import serve
from flambeau.profiling.roofline import Ceilings

pytestmark = pytest.mark.share(6, first=1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x):
        return self.down(self.up(x).relu()).sigmoid()


@pytest.fixture(scope="module")
def made(gpu):
    before, gpu.ceilings = gpu.ceilings, Ceilings(1e10, 1e11)
    with gpu:
        found = fb.inspect(Net(), fb.ones(3, 8), keep=True, target="net <b>bold</b>")
    gpu.ceilings = before
    yield found
    found.session.close()


# what a server would answer, with the times of a quiet machine
ANSWER = "(told) => { globalThis.asked ??= ask; ask = async () => ({ error: '', outputs: [], ...told }); }"
IN_SIGHT = """(line) => {
  const text = document.getElementById("wgsl-edit"), high = parseFloat(getComputedStyle(text).lineHeight);
  const [top, bottom] = [text.scrollTop, text.scrollTop + text.clientHeight];
  return top > 0 && top < (line - 1) * high && line * high < bottom;
}"""


@pytest.fixture
def shown(browser):
    """show(address) opens a page; what it throws, or asks of other hosts, fails the test."""
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    wrong = []

    def show(address):
        page = context.new_page()
        page.on("pageerror", lambda e: wrong.append(str(e)))
        page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
        page.on("request", lambda r: wrong.append(r.url) if not r.url.startswith(allowed) else None)
        allowed = (address.partition("?")[0], "blob:", "data:")
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        return page

    yield show
    context.close()
    assert not wrong


def test_a_kernel_is_found_opened_edited_and_timed(made, shown):
    server = serve(made)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = shown(server.url)
    assert page.text_content("#target") == "net <b>bold</b>"
    page.keyboard.press("/")
    page.keyboard.type("Net.down")
    page.wait_for_selector("text=1 of 2 kernels")
    page.click("tr[data-kernel]")
    assert page.text_content("#detail h2").split()[0] == page.get_attribute("tr.now", "data-kernel")
    assert page.locator("tr.now td").first.is_visible()  # its number, also beside an open kernel
    assert page.text_content("tr.now td") == page.text_content("#detail h2").split()[0]
    assert "Net.down" in page.text_content("#detail") and "sigmoid" in page.text_content("#detail h2")
    line = page.locator("#wgsl tr", has_text="let t3").first
    line.click()
    told = page.text_content("#origin")
    assert "lib/elementwise.wgsl" in told and "op sigmoid f32[3, 4]" in told
    assert "return self.down(self.up(x).relu()).sigmoid()" in told
    page.click("#edit")
    text = page.input_value("#wgsl-edit")
    end = next(line for line in text.splitlines() if line.lstrip().startswith("return t"))
    page.fill("#wgsl-edit", text.replace(end, end.replace(";", " * 4.0;"), 1))
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#edit-time")
    assert page.text_content("#edit-time").split()[1] in ("µs", "ms")
    assert "12 of 12 elements differ" in page.text_content("#told")
    told = page.text_content("#told")
    assert "at most (relative 3); the first at 0: expected 0." in told and ", got " in told
    assert page.text_content("#keep-note") == " its results are not the kernel's"
    page.evaluate(ANSWER, {"is_equal": True, "seconds": 0.7, "original": 1, "ratio": [0.9, 1.6]})
    page.click("#run")
    page.wait_for_selector("#edit-ratio:text('equally')")
    assert page.get_attribute("#edit-ratio", "class") == "" and page.locator("#keep-note").count() == 0
    assert "as fast: no difference in the noise, 0.900 to 1.60 ×" in page.text_content("#told")
    page.evaluate(ANSWER, {"is_equal": False, "seconds": 0.5, "original": 1, "ratio": [1.8, 2.1]})
    page.click("#run")
    page.wait_for_selector("#edit-ratio.good:text('2.00 ×')")
    page.evaluate("() => { ask = asked; }")
    page.set_viewport_size({"width": 1200, "height": 500})
    page.fill("#wgsl-edit", text.replace(end, end.replace(";", " * ;"), 1))
    page.evaluate("document.getElementById('wgsl-edit').scrollTop = 0")
    page.click("#run")
    page.wait_for_selector("#told .wrong button")
    wanted = text.splitlines().index(end) + 1
    assert page.text_content("#told .wrong button") == f"line {wanted}"
    assert page.text_content("#told .wrong span") == 'expected expression, found ";"'
    assert page.evaluate(IN_SIGHT, wanted)
    assert page.evaluate("getSelection().toString()") == end.replace(";", " * ;")
    page.select_option("#edit-of", "lib/elementwise.wgsl")
    template = page.input_value("#wgsl-edit")
    macro = next(line for line in template.splitlines() if line.startswith("{% macro sigmoid(T"))
    page.fill("#wgsl-edit", template.replace(macro, macro.replace("%}", "%}3 * ", 1)))
    page.click("#run")
    page.wait_for_selector("#told >> text=Keep as patch")
    assert "12 of 12 elements differ" in page.text_content("#told")
    with page.expect_download() as download:
        page.click("#told >> text=Keep as patch")
    assert "+++ b/wgsl/lib/elementwise.wgsl" in download.value.path().read_text()
    page.fill("#wgsl-edit", template.replace(macro, f"{macro}{{{{ none_such }}}}"))
    page.click("#run")
    place = f"lib/elementwise.wgsl line {template.splitlines().index(macro) + 1}"
    page.wait_for_selector(f"#told .wrong button >> text={place}")
    with page.expect_download() as download:
        page.locator("#detail >> text=As a script").click()
    assert "import wgpu" in download.value.path().read_text()
    server.shutdown()
    server.server_close()


def test_every_view_and_the_keyboard(made, shown, tmp_path):
    busy = [replace(call, alone=0.25) for call in made.calls]
    replace(made, calls=tuple(busy)).html(tmp_path / "net.html")
    page = shown((tmp_path / "net.html").as_uri())
    assert "; each kernel timed by itself: 250 ms in all)" in page.text_content("#view .parts")
    page.keyboard.press("2")
    assert page.locator("#view .name").first.text_content() == "Net"
    assert page.get_by_text("Net.up", exact=True).is_visible()
    page.focus("canvas.graph")
    heard = []
    for key in ["ArrowDown", "Enter", "+", "-", "0", "Enter"]:
        page.keyboard.press(key)
        heard.append(page.text_content("#view [role=status]"))
    assert heard[0].startswith("up (Linear): ") or "kernel" in heard[0], heard
    assert page.locator("#detail h2").is_visible() and page.evaluate("graph.now.kernel === state.kernel")
    page.locator("#detail .soft .link").first.click()  # its line of Python, with all that is computed of it
    assert "return self.down" in page.locator("#view li.now .name").first.text_content()
    assert page.locator("#view li.now ul .link").count() == len(made.kernels)
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    page.locator("#view .fold").first.click()
    assert page.locator("#view ul ul .link").count() == len(made.kernels)
    for key in "45":
        page.keyboard.press(key)
        drawn = "(c) => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v)"
        assert page.locator("#view canvas").evaluate(drawn)
    page.keyboard.press("1")
    page.keyboard.press("j")
    assert page.locator("tr.now").count() == 1 and "kernel=" in page.url
    page.keyboard.press("Escape")
    assert page.locator("#detail").is_hidden() and page.locator("#edit").count() == 0


def test_gradients_and_boxes_from_afar(gpu, shown, tmp_path):
    """A kernel of backward shows the line of its op, and counts for that; titles never cover each other, and
    no letter is too small to be read."""
    model = nn.Sequential(nn.Sequential(nn.Sequential(Net())))

    def step(x):
        made = model(x)
        return made.sum().backward()

    with gpu:
        made = fb.inspect(step, fb.ones(3, 8))
    made.html(tmp_path / "step.html")
    page = shown((tmp_path / "step.html").as_uri())
    n = next(
        i for i, k in enumerate(made.kernels) if "up" in report.layer_of(made, k) and is_gradient(made, k)
    )
    page.locator(f"tr[data-kernel='{n}']").click()
    op = made.ops[made.ops[made.kernels[n].head].gradient_of]
    told = f"gradient of {op.name}, {__file__.rpartition('/')[2]}:{made.sites[op.site].line}"
    assert (
        page.locator("#detail td", has_text=told).count() and page.locator("#detail p", has_text=told).count()
    )
    page.locator("#detail td", has_text=told).first.locator(".link").first.click()
    line = page.locator("#view ul.tree > li.now > .row")
    assert (
        "return self.down(self.up(x)" in line.text_content() and "forward (gradient " in line.text_content()
    )
    assert page.locator(f"#view li.now ul .row:has-text('kernel {n}')").count() == 1
    page.keyboard.press("2")
    drawn = []
    for _ in range(12):
        page.focus("canvas.graph")
        page.keyboard.press("-")
        drawn.append(page.evaluate(DRAWN))
    assert all(letters >= 8.5 for _, _, letters, _ in drawn), drawn
    assert not any(covered for _, covered, _, _ in drawn), drawn
    assert any(0 < titles < boxes for titles, _, _, boxes in drawn), drawn


def is_gradient(made, k):
    return k.head >= 0 and made.ops[k.head].gradient_of >= 0


# of the picture of the model as it is now: how many titles it has, whether two of them cover each other, how
# large its smallest letters are, and how many boxes are open
DRAWN = """() => {
  const picture = document.querySelector("canvas.graph"), g = picture.getContext("2d");
  const own = g.fillText.bind(g);
  let least = Infinity;
  const titles = [];
  g.fillText = (text, x, y) => {
    const size = parseFloat(g.font.match(/([\\d.]+)px/)[1]);
    least = Math.min(least, size * graph.view.k);
    if (text.startsWith("▾")) titles.push([x, y - size, g.measureText(text).width, size]);
    own(text, x, y);
  };
  picture.paint();
  delete g.fillText;
  const cover = ([a, b, w, h], [x, y, wide, high]) => a < x + wide && x < a + w && b < y + high && y < b + h;
  const boxes = graph.shown.filter((box) => box.isOpen && box.above).length;
  const covered = titles.some((a, n) => titles.slice(n + 1).some((b) => cover(a, b)));
  return [titles.length, covered, Math.min(least, 99), boxes];
}"""


def test_thousands_of_kernels(made, shown, tmp_path):
    """Rows are drawn when they are asked for; two clicks to the dearest and what it computes."""
    many = [replace(k, name=f"{k.name} {i}", seconds=i * 1e-6) for i in range(2500) for k in made.kernels]
    replace(made, kernels=tuple(many)).html(tmp_path / "many.html")
    page = shown((tmp_path / "many.html").as_uri())
    assert page.locator("tr[data-kernel]").count() == 300
    page.locator("tr[data-kernel]").first.click()
    assert page.text_content("#detail h2").endswith(" 2499") and page.locator("#wgsl tr").count() > 10
    page.locator("text=Show all 5000").click()
    assert page.locator("tr[data-kernel]").count() == 5000


def test_on_a_phone(made, shown, tmp_path):
    made.html(tmp_path / "net.html")
    page = shown((tmp_path / "net.html").as_uri())
    page.set_viewport_size({"width": 390, "height": 640})
    for key in "12345":
        page.keyboard.press(key)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate("document.getElementById('view').scrollWidth") <= 390  # all columns fit
    page.keyboard.press("1")
    assert "test_inspector_page.py:" in page.locator("tr[data-kernel]").first.inner_text()  # below the layer
    page.locator("tr[data-kernel]").first.click()
    assert page.locator("#view").is_hidden() and page.locator("#detail h2").is_visible()
    page.evaluate("document.getElementById('detail').scrollTop = 400")
    close = page.locator("[aria-label=Close]")
    box = close.bounding_box()  # stays in view, and is as large as a finger
    assert 0 <= box["y"] < 200 and box["width"] >= 44 and box["height"] >= 44
    close.click()
    assert page.locator("#view").is_visible() and page.locator("#detail").is_hidden()
    page.locator("tr[data-kernel]").first.click()
    page.keyboard.press("2")  # another view closes the kernel, which would cover it
    assert page.locator("#view").is_visible() and page.locator("#detail").is_hidden()
