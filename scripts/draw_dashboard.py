"""Turns three trainings into docs/images/dashboard.png: what the dashboard shows of the third on its way.

python scripts/draw_dashboard.py [FOLDER]

Three optimisers train a network on the digits that Flambeau carries, in a minute on two cores; the first nine
tenths of the third one's events are then given to the dashboard as they came, with the times that they have.
With FOLDER the runs are kept there, and those that are there are not trained again. Needs the system's
Chromium, which draws textual's SVG.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import flambeau as fb
from flambeau import data, metrics, nn, optim
from flambeau.data.mnist import SUBSET
from flambeau.learner import JSONL, Learner, read_events
from flambeau.learner.events import Event
from flambeau.learner.run_view import RunState
from flambeau.learner.runs import EVENTS
from flambeau.learner.tui import DashboardApp

OUT = Path(__file__).parents[1] / "docs/images/dashboard.png"
OPTIMIZERS = {  # by the name of the run; the last one's is the dashboard
    "sgd": lambda parameters: optim.SGD(parameters, lr=0.02),
    "rmsprop": lambda parameters: optim.RMSprop(parameters, lr=5e-4),
    "adam": lambda parameters: optim.Adam(parameters, lr=2e-3),
}
B, EPOCHS = 100, 5  # B digits a step
SHOWN = 0.9  # of the run
SIZE = 110, 32  # columns and lines
WIDTH = 1000  # pixels


def network() -> nn.Module:
    return nn.Sequential(  # (B, 1, 28, 28)
        nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2),  # (B, 8, 12, 12)
        nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2),  # (B, 16, 4, 4)
        nn.Flatten(), nn.Dropout(0.2), nn.Linear(256, 10),  # (B, 10)
    )  # fmt: skip


def tensors(batch: Any) -> tuple[fb.Tensor, fb.Tensor]:
    """uint8 (B, 28, 28) and labels as a step takes them."""
    images, labels = batch
    return fb.tensor(images[:, None].astype(np.float32) / 255), fb.tensor(labels)


def train(name: str, folder: Path) -> None:
    """A run, whose events are in the folder at the end."""
    fb.manual_seed(0)
    model = network()
    optimizer = OPTIMIZERS[name](model.parameters())
    loader = data.DataLoader(data.mnist(True, root=SUBSET), B, shuffle=True, seed=0, collate_fn=data.collate)
    valid = data.DataLoader(data.mnist(False, root=SUBSET), 500, collate_fn=data.collate)
    Learner(
        model,
        optimizer,
        nn.CrossEntropyLoss(),
        metrics={"accuracy": metrics.Accuracy(task="multiclass", num_classes=10)},
        scheduler=optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * len(loader)),
        prepare=tensors,
        directory=folder / name,
        renderers=[JSONL()],
    ).fit(loader, valid, epochs=EPOCHS)


def so_far(folder: Path) -> Iterator[Event]:
    """The events of a run, up to where the dashboard is looked at."""
    state = RunState()
    for event in read_events(folder / EVENTS):
        state.take(event)
        yield event
        if state.done >= SHOWN:
            return


async def svg(folder: Path) -> str:
    """The dashboard of a run with those of the folders beside it, on a log scale (key l)."""
    app = DashboardApp(stay=True)
    async with app.run_test(size=SIZE) as pilot:
        app.inbox.extend(so_far(folder))
        app.tick()
        await app.workers.wait_for_complete()
        await pilot.press("l")
        await pilot.pause()
        return app.export_screenshot()


def draw(picture: str) -> None:
    """An SVG into the PNG."""
    from playwright.sync_api import sync_playwright  # a browser; the tests want none

    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 700})
        page.set_content(f"<style>body{{margin:0}}svg{{width:{WIDTH}px;display:block}}</style>{picture}")
        page.locator("svg").first.screenshot(path=OUT)
        browser.close()
    print(f"drew {OUT}, {OUT.stat().st_size / 1000:.0f} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="where the runs are kept")
    with tempfile.TemporaryDirectory() as passing:
        folder = parser.parse_args().folder or Path(passing)
        for name in OPTIMIZERS:
            if not (folder / name).exists():
                train(name, folder)
        draw(asyncio.run(svg(folder / name)))


if __name__ == "__main__":
    main()
