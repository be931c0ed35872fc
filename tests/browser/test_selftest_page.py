"""The self-test's page: the cases of a seed, a wrong kernel that it finds, and its file, in a browser."""

import re
from pathlib import Path

import pytest

from .paper import READY, expect, shot

pytestmark = pytest.mark.share(6, first=4)
FAMILIES = ["elementwise", "reductions"]
# `abs` by kernels that are one part in a thousand off
WRONG = """
from flambeau.runtime import pipeline
from flambeau.device import get_device
right = pipeline.render
pipeline.render = lambda shader: right(shader).replace("abs(", "1.001 * abs(")
get_device().pipelines.clear()
import page
page.SHRINKING = 5.0
"""


@pytest.fixture(scope="module")
def selftest(browser, site):
    """The page, opened by an address with a seed."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    page, asked, thrown = context.new_page(), [], []
    context.on("request", lambda r: asked.append(r.url))
    page.on("pageerror", lambda e: thrown.append(str(e)))
    given = "&".join(f"family={name}" for name in FAMILIES)
    page.goto(f"{site}selftest/?seed=7&minutes=0.1&{given}&family=nothing&minutes=2")
    expect(page, "#status").to_have_text(READY)
    yield page
    context.close()
    assert not [url for url in asked if not url.startswith((site, "blob:", "data:"))]
    assert not thrown, f"errors in the page: {thrown}"


def ran(page) -> dict[str, tuple[int, int]]:
    """Press Run, and wait for its end: cases and differences by family."""
    page.click("#run")
    return ended(page)


def ended(page) -> dict[str, tuple[int, int]]:
    """Wait for the end of what runs: cases and differences by family."""
    expect(page, "#told").to_contain_text(re.compile("Done|Stopped"))
    cells = page.eval_on_selector_all(
        "#rows tr", "all => all.map((one) => [...one.children].map((cell) => cell.textContent))"
    )
    return {name: (int(tried), int(differ)) for name, tried, differ, *_ in cells}


def steps(page, seed: int, count: int = 3) -> list:
    """The table after so many cases of a seed, without the page's clock."""
    return page.evaluate(
        """async ([seed, families, count]) => {
            await flambeau.call("page.begin", seed, families);
            for (let i = 1; i < count; i++) await flambeau.call("page.step");
            return (await flambeau.call("page.step")).rows;
        }""",
        [seed, ["elementwise", "products", "scans and sorts", "recorded programs"], count],
    )


def test_a_seed_in_the_address_is_run(selftest):
    assert selftest.input_value("#seed") == "7" and selftest.input_value("#minutes") == "0.1"
    expect(selftest, "#notices").to_contain_text("family=nothing in the address: unknown: use elementwise, ")
    found = ran(selftest)
    assert set(found) == {*FAMILIES, "all"} and found["all"][0] >= 1
    assert found["all"][1] == 0, selftest.inner_text("#differences")
    expect(selftest, "#told").to_have_text(
        re.compile(r"^\d+ cases, none wrong, on .*swiftshader.*, seed 7\. Done\.$")
    )
    expect(selftest, "#wrong").to_be_hidden()
    assert selftest.url.endswith("?seed=7&minutes=0.1&family=elementwise&family=reductions")
    shot(selftest, "selftest")


def test_a_seed_draws_the_same_cases_however_the_page_waits_for_the_gpu(selftest):
    found = steps(selftest, 5, 4)
    assert [tried for _, tried, *_ in found] == [1, 1, 1, 1] and not any(differ for _, _, differ, *_ in found)
    assert steps(selftest, 5, 4) == found
    selftest.evaluate(
        "flambeau.run('import page\\nbefore, page.can_run_sync = page.can_run_sync, lambda: False')"
    )
    assert steps(selftest, 5, 4) == found
    selftest.evaluate("flambeau.run('page.can_run_sync = before')")


def test_a_run_can_be_stopped(selftest):
    selftest.fill("#minutes", "30")
    selftest.click("#run")
    expect(selftest, "#rows tr.all").to_be_visible()
    selftest.click("#stop")
    expect(selftest, "#told").to_contain_text("Stopped: this is what was tried so far.")
    expect(selftest, "#run").to_be_enabled()


def test_a_wrong_kernel_is_found_and_its_file_is_offered(selftest):
    selftest.evaluate("(source) => flambeau.run(source)", f"{WRONG}None")
    selftest.fill("#minutes", "30")
    selftest.fill("#seed", "7")
    selftest.click("#run")
    expect(selftest, "#differences li").not_to_have_count(0)
    selftest.click("#stop")
    assert ended(selftest)["elementwise"][1] > 0
    assert "elementwise: " in selftest.inner_text("#differences")  # eager, as one graph or recorded
    shot(selftest, "selftest-differs")
    with selftest.expect_download() as saved:
        selftest.click("#save")
    assert saved.value.suggested_filename == "flambeau-selftest-7.txt"
    told = Path(saved.value.path()).read_text("utf-8")
    for part in ("browser   Mozilla/", "seed      7", "abs(", "fn main", "swiftshader"):
        assert part in told
    assert "Input(" not in told.partition("GIVEN")[2]  # NumPy would draw other numbers by its seed


def test_without_webgpu_nothing_is_loaded_or_run(page, site):
    asked = []
    page.on("request", lambda r: asked.append(r.url))
    page.add_init_script("delete Navigator.prototype.gpu")
    page.goto(f"{site}selftest/")
    expect(page, "#status").to_contain_text("This browser has no WebGPU. In Chrome and Edge")
    expect(page, "#run").to_be_disabled()
    assert not [url for url in asked if "pyodide" in url or url.endswith(".zip")]
