"""The page of digits where something is missing or damaged: each test has a page of its own."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import flambeau as fb
from flambeau.cli import main
from flambeau.io import save_file
from flambeau.models.digits import network

from .paper import READY, draw, expect


@pytest.mark.share(6)
@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("delete Navigator.prototype.gpu", "This browser has no WebGPU. In Chrome and Edge, update to 121"),
        ("navigator.gpu.requestAdapter = async () => null", "WebGPU is available, but finds no GPU. In"),
        (
            """const given = navigator.gpu.requestAdapter.bind(navigator.gpu);
            navigator.gpu.requestAdapter = async () => {
                const { info } = await given();
                return { info, limits: new Proxy({}, { get: () => 4 }) };
            };""",
            "below WebGPU's own limits: maxStorageBuffersPerShaderStage is 4 and not 8,",
        ),
        ("globalThis.Worker = undefined", "This browser runs no workers"),
        (
            "globalThis.Worker = class { constructor() { throw new Error('no workers here'); } }",
            "no workers here",
        ),
    ],
    ids=["no WebGPU", "no adapter", "small limits", "no workers", "blocked worker"],
)
def test_a_page_that_cannot_run_says_why_and_can_be_drawn_on(page, site, script, said):
    asked = []
    page.on("request", lambda r: asked.append(r.url))
    page.add_init_script(script)
    page.goto(f"{site}mnist/")
    expect(page, "#status").to_contain_text(said)
    expect(page, "#again").to_be_visible()
    draw(page, 1)
    expect(page, "#hint").to_have_text("There is no network to read it.")
    assert not [url for url in asked if "pyodide" in url or url.endswith(".zip")]


def test_a_page_opened_from_a_file_says_how_to_serve_it(browser, site_folder):
    page = browser.new_page()
    page.goto((site_folder / "mnist" / "index.html").as_uri())
    expect(page, "#status").to_contain_text("`flambeau web serve FOLDER`")
    page.close()


@pytest.mark.share(6, first=1)
def test_a_damaged_cache_is_mended_and_a_full_one_is_told(page, site):
    """The service worker alone, on an empty page of the site; then the page of digits through it."""
    page.goto(f"{site}client.js")
    page.evaluate("""async () => {
        await navigator.serviceWorker.register("/sw.js");
        if (!navigator.serviceWorker.controller)
            await new Promise((resolve) => (navigator.serviceWorker.oncontrollerchange = resolve));
    }""")
    kept, again, mended = page.evaluate("""async () => {
        const wait = () => new Promise((resolve) => setTimeout(resolve, 50));
        const { packages } = await (await fetch("/manifest.json")).json();
        const url = new URL("/" + packages.find((name) => name.startsWith("flambeau")), location).href;
        const bytes = async () => new Uint8Array(await (await fetch(url)).arrayBuffer());
        const whole = await bytes(), cache = await caches.open("flambeau-1");
        while (!(await cache.match(url))) await wait();
        const { headers } = await cache.match(url), damaged = whole.slice(0, 1000);
        await cache.put(url, new Response(damaged, { headers }));
        const size = async () => (await (await cache.match(url))?.arrayBuffer())?.byteLength;
        const kept = await size(), again = (await bytes()).length;
        while (await size() !== whole.length) await wait();
        return [kept, again === whole.length, true];
    }""")
    assert (kept, again, mended) == (1000, True, True)
    session = page.context.new_cdp_session(page)
    session.send("Storage.overrideQuotaForOrigin", {"origin": site.rstrip("/"), "quotaSize": 1})
    page.goto(f"{site}mnist/")
    expect(page, "#notices").to_contain_text("gives this site no more room")
    expect(page, "#status").to_have_text(READY)


@pytest.mark.share(6, first=2)
def test_without_its_network_the_page_takes_another(browser, site, tmp_path):
    """Its file arrives damaged, and again when asked for past all caches; no service worker is there."""
    context = browser.new_context(service_workers="block")
    page = context.new_page()
    page.route("**/mnist.safetensors", lambda route: route.fulfill(body=b"half of it"))
    page.goto(f"{site}mnist/")
    expect(page, "#status").to_have_text(READY)
    expect(page, "#notices").to_contain_text("mnist.safetensors arrives damaged: try again")
    draw(page, 2)
    expect(page, "#hint").to_contain_text("Waiting for the network")
    page.set_input_files("#file", build_model(tmp_path))
    expect(page, "#prediction").to_have_text(re.compile(r"\d"))
    context.close()


def build_model(folder: Path) -> Path:
    path = folder / "fresh.safetensors"
    network().save(path)
    return path


@pytest.mark.share(4)
def test_a_model_for_the_site_is_checked(tmp_path):
    save_file(fb.nn.Linear(3, 4).state_dict(), tmp_path / "other.safetensors")
    out = tmp_path / "site"
    refused = CliRunner().invoke(
        main, ["web", "build", "--out", str(out), "--model", str(tmp_path / "other.safetensors")]
    )
    assert refused.exit_code == 1 and "load_state_dict(2 tensors): 6 missing: '0.weight'" in refused.output
    quick = ["--sources", "--no-brotli", "--no-docs"]
    made = CliRunner().invoke(
        main, ["web", "build", *quick, "--out", str(out), "--model", str(build_model(tmp_path))]
    )
    assert made.exit_code == 0, made.output
    (shown,) = out.glob("mnist/model-*/mnist.safetensors")
    assert shown.read_bytes() == (tmp_path / "fresh.safetensors").read_bytes()
    both = CliRunner().invoke(main, ["web", "serve", str(out), "--model", str(shown)])
    assert "--model applies to a site built by this call: leave FOLDER out" in both.output
