"""One network in one browser: an exported program, onnxruntime-web and TensorFlow.js, all on WebGPU.

    python bench/web_peers.py [--only flambeau tensorflow] [--rounds 5] [--seconds 2] [--hardware]
    python bench/web_peers.py --network efficientnet_lite0  # or resnet18, mobilenet_v2, vit

npm gets the peers once, into the cache; one that can't be had is reported and left out. Of the network of
`flambeau mnist`: latency at batch 1, images a second at batch 32, training steps a second at batch 64 (the
package under Pyodide beside TensorFlow.js), and the time from an empty page to the first prediction. Of
EfficientNet-Lite0, which the page of images runs, and of networks with random weights and images of 64 x 64:
the first and the latency, without TensorFlow.js.
"""

import argparse
import json
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from _measure import number, show_table
from _onnx import digits

import flambeau as fb
from flambeau.cli.mnist import network
from flambeau.core.files import cache_folder
from flambeau.errors import FlambeauError
from flambeau.models.imagenet import efficientnet_lite0
from flambeau.models.mobilenet import mobilenet_v2
from flambeau.models.resnet import resnet18
from flambeau.models.vit import VisionTransformer, VitConfig
from flambeau.site import build, node, serve
from flambeau.site.server import address

PEERS = {  # contestant: the npm packages that it needs
    "flambeau": [],
    "onnxruntime": ["onnxruntime-web@1.30.0"],
    "tensorflow": ["@tensorflow/tfjs@4.22.0", "@tensorflow/tfjs-backend-webgpu@4.22.0"],
}
FLAGS = ["--no-sandbox", "--enable-unsafe-webgpu", "--disable-quic", "--disable-background-networking"]
HERE = Path(__file__).resolve().parent
BATCH, TRAINING = 32, 64


class Contested(NamedTuple):
    """A network of the contest: how it is made, its images' shape, its .onnx file, and who has it."""

    make: Callable[[], Any]
    image: tuple[int, ...]
    onnx: Callable[[Any], bytes]
    batch: int
    peers: tuple[str, ...]


VIT = VitConfig(img_size=64, embed_dim=192, depth=12, num_heads=3)  # ViT-Ti of smaller images


def of_images(make: Callable[[], Any], size: int) -> Contested:
    """A network of square images, whose .onnx file is our export of it."""
    shape = (3, size, size)
    peers = ("flambeau", "onnxruntime")
    return Contested(make, shape, lambda m: fb.onnx.export(m, fb.zeros(1, *shape, device="cpu")), 1, peers)


def drawn(make: Callable[[], Any]) -> Callable[[], Any]:
    """A network with random weights on NumPy's device, as it predicts."""

    def network() -> Any:
        with fb.device("cpu"):
            return make().eval()

    return network


NETWORKS = {
    "mnist": Contested(
        network,
        (1, 28, 28),
        lambda model: digits({k: t.numpy() for k, t in model.state_dict().items()}),
        BATCH,
        tuple(PEERS),
    ),
    "efficientnet_lite0": of_images(lambda: efficientnet_lite0("cpu"), 224),
    "resnet18": of_images(drawn(resnet18), 64),
    "mobilenet_v2": of_images(drawn(mobilenet_v2), 64),
    "vit": of_images(drawn(lambda: VisionTransformer(VIT)), 64),
}

START = """async (name) => {
    const begin = performance.now(), contest = await import("/contest.js");
    globalThis.contest = contest;
    globalThis.made = await contest[name]();
    const first = [...await made.run(1)];
    return { first, seconds: (performance.now() - begin) / 1000, adapter: made.adapter ?? "unknown" };
}"""
TIMES = "([n, seconds]) => made.run(n).then(() => contest.times(() => made.run(n), seconds))"
TRAIN = "([batch, steps]) => contest.times(() => made.train(batch, steps), 0)"
START_PYTHON = """async (source) => {
    globalThis.python = await (await import("/client.js")).start();
    await python.run(source);
}"""
PYTHON = """
import time
import flambeau as fb
from flambeau import nn

fb.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(256, 10),
)
optimizer = fb.optim.Adam(model.parameters(), lr=1e-3)

@fb.jit
def step(x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.step(loss.backward())
    return loss

async def train(batch, steps):
    x, y = fb.rand(batch, 1, 28, 28), fb.arange(batch) % 10
    begin = time.perf_counter()
    for _ in range(steps):
        loss = step(x, y)
    await loss.read()
    return time.perf_counter() - begin
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--browser", default=shutil.which("chromium"), help="the program to start")
    arguments.add_argument("--hardware", action="store_true", help="whatever adapter the browser takes")
    arguments.add_argument("--only", nargs="+", choices=PEERS, default=list(PEERS), help="who takes part")
    arguments.add_argument("--network", choices=NETWORKS, default="mnist")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=2.0, help="of each contestant in each round")
    arguments.add_argument("--steps", type=int, default=10, help="of training in each round; 0 for none")
    given = arguments.parse_args()
    from playwright.sync_api import sync_playwright

    given.network = NETWORKS[given.network]
    given.steps *= given.network.batch > 1
    here = contestants([name for name in given.only if name in given.network.peers])
    flags = FLAGS if given.hardware else [*FLAGS, "--use-webgpu-adapter=swiftshader"]
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as driver:
        made = site(Path(scratch) / "site", here, given)
        server = serve(made, port=0, quiet=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = driver.chromium.launch(executable_path=given.browser, args=flags)
        contest(browser, address(server), here, given)
        browser.close()
        server.shutdown()


def contestants(wanted: list[str]) -> list[str]:
    """Those whose packages are there, or can be had."""
    return [name for name in wanted if not PEERS[name] or installed(name)]


def installed(name: str) -> bool:
    folder = cache_folder("bench-web") / name
    if (folder / "node_modules").is_dir():
        return True
    npm = node.program("npm")
    if npm is None:
        print(f"{name} is left out: npm is not installed")
        return False
    folder.mkdir(parents=True, exist_ok=True)
    call = [
        npm,
        "install",
        "--prefix",
        str(folder),
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        *PEERS[name],
    ]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["npm said nothing"])[-1]
        print(f"{name} is left out: {why}")
        shutil.rmtree(folder)
    return not done.returncode


def site(out: Path, here: list[str], given) -> Path:
    """A folder with the exported network, the same as .onnx, the peers, and the package under Pyodide."""
    if given.steps and "flambeau" in here:
        build(out)
    out.mkdir(exist_ok=True)
    fb.manual_seed(0)
    model, image = given.network.make(), given.network.image
    shape = f"f32[N, {', '.join(map(str, image))}]"
    fb.save_program(model, {"x": shape}, out / "network", max_batch=given.network.batch, target="web")
    (out / "network.onnx").write_bytes(given.network.onnx(model))
    (out / "network.json").write_text(json.dumps({"image": image}))
    shutil.copy(HERE / "pages" / "contest.js", out / "contest.js")
    (out / "empty.html").write_text("<!doctype html><title>bench</title>")
    (out / "npm" / "@tensorflow").mkdir(parents=True)
    for name in here:
        for package in (re.sub(r"@[\d.]+$", "", p) for p in PEERS[name]):
            (out / "npm" / package).symlink_to(cache_folder("bench-web") / name / "node_modules" / package)
    return out


def contest(browser, home: str, here: list[str], given) -> None:
    pages, first, logits = {}, {}, {}
    for name in list(here):
        page = pages[name] = browser.new_context().new_page()
        page.goto(f"{home}empty.html")
        try:
            started = page.evaluate(START, name)
        except Exception as e:  # of Playwright, which is imported late
            print(f"{name} is left out: {str(e).splitlines()[0]}")
            here.remove(name)
            continue
        first[name], logits[name] = started["seconds"], np.array(started["first"])
        print(f"{name} runs on {started['adapter']}")
    for name in here:
        if not np.allclose(logits[name], logits[here[0]], rtol=1e-3, atol=1e-3):
            raise FlambeauError(f"{name} computes something else than {here[0]}: {logits[name]}")
    rows = [("to the first prediction, s", {name: first[name] for name in here}, False)]
    kinds = (("latency of 1, ms", 1, None), (f"images a second, by {BATCH}", BATCH, BATCH))
    for title, n, scale in kinds[: given.network.batch]:
        seconds = rounds(
            here, given.rounds, lambda name, n=n: pages[name].evaluate(TIMES, [n, given.seconds])
        )
        value = {k: scale / v if scale else 1000 * v for k, v in seconds.items()}
        rows.append((title, value, scale is not None))
    if given.steps:
        rows.append((f"training steps a second, by {TRAINING}", training(browser, home, pages, given), True))
    show(here, rows)


def rounds(names: list[str], count: int, measure) -> dict[str, float]:
    """The median over rounds of each contestant's median; every round begins with another one."""
    found: dict[str, list[float]] = {name: [] for name in names}
    for i in range(count):
        turn = i % max(len(names), 1)
        for name in names[turn:] + names[:turn]:
            found[name].append(median(measure(name)))
    return {name: median(values) for name, values in found.items()}


def training(browser, home: str, pages: dict, given) -> dict[str, float]:
    """Steps a second of those who can train, reading one loss a round; a round before all is not counted."""
    calls = {}
    if "flambeau" in pages:
        page = browser.new_context().new_page()
        page.goto(f"{home}client.js")
        page.evaluate(START_PYTHON, PYTHON)
        source = f"await train({TRAINING}, {given.steps})"
        calls["flambeau"] = lambda: [page.evaluate("(source) => python.run(source)", source)]
    if "tensorflow" in pages:
        calls["tensorflow"] = lambda: pages["tensorflow"].evaluate(TRAIN, [TRAINING, given.steps])
    for call in calls.values():
        call()
    return {
        k: given.steps / v for k, v in rounds(list(calls), given.rounds, lambda name: calls[name]()).items()
    }


def show(here: list[str], rows: list[tuple[str, dict[str, float], bool]]) -> None:
    """A column for each, and how many times as good Flambeau is as the better peer."""
    table = []
    for title, values, more_is_better in rows:
        peers = [v for k, v in values.items() if k != "flambeau"]
        ratio = "-"
        if peers and "flambeau" in values:
            best = max(peers) if more_is_better else min(peers)
            ratio = number(values["flambeau"] / best if more_is_better else best / values["flambeau"])
        table.append((title, *(number(values[k]) if k in values else "-" for k in here), ratio))
    show_table("a network in a page", ("what", *here, "times the better peer"), table)


if __name__ == "__main__":
    main()
