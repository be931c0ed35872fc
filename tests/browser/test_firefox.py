"""The second engine: the same pages and numbers in Firefox, where it is installed: wgpu, not Dawn."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn

from .marionette import Firefox, MarionetteError
from .paper import DIGITS, SHOTS

pytestmark = pytest.mark.share(6, first=2)
PROGRAMS = ("firefox", "firefox-esr")
WEBGPU = {"dom.webgpu.enabled": True, "gfx.webgpu.ignore-blocklist": True}
ANSWER = "ready on|WebGPU|GPU"


def started(folder: Path, prefs: dict) -> Firefox:
    program = os.environ.get("FLAMBEAU_FIREFOX") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if not program:
        pytest.skip("no second browser: Firefox is not installed")
    try:
        return Firefox(program, folder, prefs)
    except (OSError, MarionetteError) as e:
        pytest.skip(f"no second browser: {program} does not start: {e}")


@pytest.fixture(scope="module")
def page(site, site_folder, gpu, tmp_path_factory):
    """The page of digits in Firefox, with an exported program beside it on the server."""
    fb.manual_seed(3)
    fb.save_program(exported(), {"x": "f32[N, 8]"}, site_folder / "exported", max_batch=4, target="web")
    firefox = started(tmp_path_factory.mktemp("firefox") / "profile", WEBGPU)
    firefox.goto(f"{site}mnist/")
    told = firefox.wait_for("#status", ANSWER)
    if "ready on" not in firefox.wait_for("#status", "ready on|In Firefox"):
        firefox.close()
        pytest.skip(f"Firefox has no adapter here, and the page says so: {told}")
    yield firefox
    firefox.close()


def exported():
    fb.manual_seed(3)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 3), nn.Softmax(1))


def draw(page: Firefox, digit: int, kind: str = "mouse") -> None:
    left, top, side = page.run("""async () => {
        document.querySelector("#tab-draw").click();
        document.querySelector("#clear").click();
        document.querySelector("#digit").scrollIntoView({ block: "center", behavior: "instant" });
        const { left, top, width } = document.querySelector("#digit").getBoundingClientRect();
        return [left, top, width];
    }""")
    for stroke in DIGITS[digit]:
        page.press([(left + x * side, top + y * side) for x, y in stroke], kind)


@pytest.mark.parametrize(("kind", "digit"), [("mouse", 3), ("mouse", 7), ("touch", 0), ("touch", 4)])
def test_digits_drawn_in_firefox_are_read(page, kind, digit):
    draw(page, digit, kind)
    page.wait_for("#prediction", f"^{digit}$")
    page.wait_for("#hint", "% sure")
    page.screenshot(SHOTS / "firefox-draw.png")


NUMBERS = """
fb.manual_seed(11)
x = fb.arange(-60, 60).float().reshape(8, 15) / 10
exact = [fb.randint(0, 2**31 - 1, (40,)), fb.rand(40), x.argsort(1), (x > 0).sum(0), x.int() // 7]
close = [x.exp().log1p().tanh(), x @ x.T, x.softmax(1), x.cumsum(1), x.var(0), x.erf(), fb.randn(40),
    fb.nn.functional.conv2d(x.reshape(1, 1, 8, 15), x[:3, :3].reshape(1, 1, 3, 3), padding=1)]
"""


def test_the_numbers_are_the_desktops(page, gpu):
    """Integers and uniforms bit for bit, the others to float32's rounding."""
    here: dict[str, Any] = {"fb": fb}
    exec(NUMBERS, here)
    source = f"import flambeau as fb{NUMBERS}\n[(await t.read()).flat.tolist() for t in (*exact, *close)]"
    there = page.run("(source) => flambeau.run(source)", source)
    wanted = [*here["exact"], *here["close"]]
    assert len(there) == len(wanted)
    for i, (found, tensor) in enumerate(zip(there, wanted, strict=True)):
        expected = tensor.numpy().ravel()
        if i < len(here["exact"]):
            np.testing.assert_array_equal(np.array(found, expected.dtype), expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)


def test_an_exported_program_gives_the_desktops_numbers(page, site_folder):
    x = np.linspace(-2, 2, 16, dtype="f4")
    found = page.run(
        """async (x) => {
            const model = await (await import("/exported/index.js")).load();
            return [...(await model.run({ x: new Float32Array(x) })).data];
        }""",
        x.tolist(),
    )
    wanted = fb.load_program(site_folder / "exported")(x=x.reshape(2, 8)).numpy()
    np.testing.assert_allclose(np.reshape(found, (2, 3)), wanted, rtol=1e-4, atol=1e-5)


def test_it_trains_in_firefox(page):
    page.run("""async () => {
        document.querySelector("#tab-train").click();
        document.querySelector("#steps").value = 20;
        document.querySelector("#train").click();
    }""")
    page.wait_for("#train-status", "^done at step 20: .* of the test digits", 120)
    page.screenshot(SHOTS / "firefox-train.png")
    first, last = page.run("""async () => {
        const cells = [...document.querySelectorAll("#numbers td:nth-child(2)")];
        const losses = cells.map((cell) => Number(cell.textContent)).filter(Number.isFinite);
        return [losses.at(-1), losses[0]];
    }""")
    assert 2 < first < 2.8 and last < first - 0.2


def test_what_was_loaded_is_kept(page, site_folder):
    others = ("image/", "onnx-", "selftest-", "inspector-", "timm-")  # what only other pages load
    files = json.loads((site_folder / "manifest.json").read_text())["files"]
    names = [name for name in files if not name.startswith(others)]
    missing = page.run(
        """async (names) => {
            for (let i = 0; ; i++) {
                const kept = (await (await caches.open("flambeau-1")).keys()).map((request) => request.url);
                const missing = names.filter((name) => !kept.some((url) => url.endsWith(name)));
                if (!missing.length || i > 100) return missing;
                await new Promise((resolve) => setTimeout(resolve, 100));
            }
        }""",
        [*names, "mnist/page.js", "worker.js"],
    )
    assert missing == []


@pytest.mark.parametrize(
    ("prefs", "said"),
    [
        ({"dom.webgpu.enabled": False}, "^This browser has no WebGPU. In Firefox, update to 141 or newer"),
        (WEBGPU | {"gfx.webgpu.ignore-blocklist": False}, "finds no GPU. In Firefox, turn on|^ready on"),
    ],
    ids=["off", "blocked"],  # on a machine whose GPU Firefox trusts, nothing is blocked
)
def test_a_firefox_without_webgpu_is_told_what_to_do(site, tmp_path, prefs, said):
    firefox = started(tmp_path / "profile", prefs)
    try:
        firefox.goto(f"{site}mnist/")
        firefox.wait_for("#status", said)
    finally:
        firefox.close()
