"""`flambeau mnist`: trains a convolutional network on handwritten digits, saves it and draws the outcome."""

import shutil
import signal
import threading
import time
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

import flambeau as fb

from .. import optim
from ..data import DataLoader, collate
from ..data import mnist as digits
from ..debug import first_bad
from ..device import get_device
from ..errors import FlambeauError
from ..models.digits import BETAS, LR, MEAN, loss_and_right, network, rate, train_step
from .progress import ProgressLine

READ_EVERY = 20  # steps between two reads of losses: no step waits for the GPU
TEST_BATCH = 500
EPOCHS, EPOCHS_OF_FEW, FEW = 3, 10, 20_000  # fewer digits are gone through more often
NEEDED = 2_000_000  # bytes that both files fit into


class History(NamedTuple):
    """What was seen on the way: the loss of every step, the accuracy after every epoch."""

    losses: list[float]
    accuracies: list[float]


class Waiting(NamedTuple):
    """A step whose results have not been read yet, with all that repeating it takes."""

    loss: Any
    right: Any
    x: Any
    y: Any
    lr: float


def stepping(model: Any, optimizer: Any):
    """A step of both, which depends on nothing else: a recording notices whatever it could see change."""
    return lambda x, y: train_step(model, optimizer, x, y)


class Training:
    """The network, its optimiser, and one recorded step of both."""

    def __init__(self, lr: float, device: Any):
        self.device, self.lr = device, lr
        self.model = network().to(device)
        self.optimizer = optim.Adam(self.model.parameters(), lr=lr, betas=BETAS)
        self.step = fb.jit(stepping(self.model, self.optimizer))
        self.predict = fb.jit(self.model)
        self.keep()

    def images(self, pixels: np.ndarray) -> fb.Tensor:
        """Bytes to floats around 0. uint8 [n, 28, 28] -> [n, 1, 28, 28]"""
        return fb.tensor(pixels[:, None].astype("float32") / 255 - MEAN, device=self.device)

    def logits(self, images: np.ndarray, progress: ProgressLine) -> np.ndarray:
        """Test images through the network, in batches. uint8 [n, 28, 28] -> float32 [n, 10]"""
        starts, parts = range(0, len(images), TEST_BATCH), []
        progress.phase("test", len(starts))
        for i in starts:
            parts.append(self.predict(self.images(images[i : i + TEST_BATCH])).numpy())
            progress.update(len(parts))
        return np.concatenate(parts)

    # A loss is read some steps after it was made, when the network is beyond repair: `blame` goes back.

    def keep(self) -> None:
        """Remember the state before the steps that are read next."""
        self.kept = self.model.state_dict(), self.optimizer.state_dict()

    def blame(self, steps: list[Waiting]) -> str:
        """Repeat the steps since `keep`, unrecorded, and name the first op whose result is not finite."""
        self.model.load_state_dict(self.kept[0])
        self.optimizer.load_state_dict(self.kept[1])
        for s in steps:
            graph = lambda s=s: (loss := loss_and_right(self.model, s.x, s.y)[0], *loss.backward())  # noqa: E731
            if not all(np.isfinite(t.numpy()).all() for t in graph()):
                return first_bad(*graph()) or "no op by itself made the first value that is not finite"
            self.optimizer.lr = s.lr
            self.optimizer.step(loss_and_right(self.model, s.x, s.y)[0].backward())
        return "the optimiser's steps made the first value that is not finite"


class Interrupt:
    """Turns the first Ctrl-C into `asked`, so that a step is never cut in two; the second acts as usual."""

    asked = False

    def __enter__(self) -> "Interrupt":
        self.main = threading.current_thread() is threading.main_thread()
        if self.main:
            self.before = signal.signal(signal.SIGINT, self.ask)
        return self

    def ask(self, *_) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, self.before)

    def __exit__(self, *_):
        if self.main:
            signal.signal(signal.SIGINT, self.before)


def train(t: Training, sets, epochs: int, steps: int, loader: DataLoader, progress: ProgressLine) -> History:
    """Run the epochs, or `steps` steps of them if that is fewer; the accuracy is tested after each epoch."""
    history = History([], [])
    with Interrupt() as interrupt:
        try:
            for epoch in range(epochs):
                if interrupt.asked or len(history.losses) == steps:
                    break
                train_epoch(t, history, steps, loader, progress, interrupt, f"train {epoch + 1}/{epochs}")
                if not interrupt.asked:
                    predicted = t.logits(sets[1].images, progress).argmax(1)
                    history.accuracies.append(float((predicted == sets[1].labels).mean()))
        except KeyboardInterrupt:
            interrupt.asked = True
    if interrupt.asked:
        click.echo("stopped by Ctrl-C: saving what was learned")
    return history


def train_epoch(
    t: Training,
    history: History,
    steps: int,
    loader: DataLoader,
    progress: ProgressLine,
    interrupt,
    name: str,
) -> None:
    """Run one epoch; losses are read together, some steps later."""
    waiting: list[Waiting] = []
    before = len(history.losses)
    here = min(len(loader), steps - before)
    for i, (pixels, labels) in enumerate(loader if here else ()):
        t.optimizer.lr = lr = rate(t.lr, before + i, steps)
        x, y = t.images(pixels), fb.tensor(labels, device=t.device)
        is_first = not before and not i
        if i < 2:  # the very first step is spent on compiling
            progress.phase("compile" if is_first else name, 1 if is_first else here)
        loss, right = t.step(x, y)
        waiting.append(Waiting(loss, right, x, y, lr))
        last = i + 1 == here or interrupt.asked
        if is_first or last or len(waiting) == READ_EVERY:
            accuracy = collect(t, history, waiting, len(labels))
            memory = fb.memory(t.device)["live"] / 2**20
            progress.update(i + 1, f"loss {history.losses[-1]:.4f}  accuracy {accuracy:.4f}  {memory:.1f} MB")
        if last:
            return


def collect(t: Training, history: History, waiting: list[Waiting], batch_size: int) -> float:
    """Read the losses that wait, with one wait for all; a loss that is not finite ends the training."""
    values = fb.read(*(v for w in waiting for v in w[:2]))
    losses, right = values[0::2], values[1::2]
    for loss in losses:
        if not isfinite(loss):
            step = len(history.losses)
            raise FlambeauError(
                f"mnist: step {step}: the loss is {loss}: {t.blame(waiting)}: use a smaller --lr"
            )
        history.losses.append(loss)
    found = sum(right) / (batch_size * len(waiting))
    waiting.clear()
    t.keep()
    return found


def check_out(out: Path) -> None:
    """Fail before training if nothing can be written there."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".flambeau-write-test"
        probe.write_bytes(b"")
        probe.unlink()
        free = shutil.disk_usage(out).free
    except OSError as e:
        rule = f"can't write there: {e.strerror or e}: choose another folder"
        raise FlambeauError(f"mnist(--out {out}): {rule}") from e
    if free < NEEDED:
        rule = f"the disk is full: {free:,} bytes are free of {NEEDED:,} needed: choose another folder"
        raise FlambeauError(f"mnist(--out {out}): {rule}")


def reload_and_check(t: Training, path: Path, images: np.ndarray) -> None:
    """Load the file into a fresh network and compare its logits with the trained one's."""
    ours, fresh = t.model, network().to(t.device)
    fresh.load(path)
    x = t.images(images[:64])
    difference = float(np.abs(fresh(x).numpy() - ours(x).numpy()).max())
    if not difference <= 1e-5:
        rule = f"the reloaded network differs by {difference:.1e}: the file is not to be used"
        raise FlambeauError(f"mnist({path}): {rule}")
    click.echo(f"saved {path}; reloaded, its logits agree")


def picture(path: Path, history: History, test_set, predictions: np.ndarray) -> None:
    """Draw what came out, or say why that can't be done; the network is saved by then."""
    from .plot import draw_mnist

    try:
        draw_mnist(path, history.losses, history.accuracies, test_set.images, test_set.labels, predictions)
        click.echo(f"drew {path}")
    except FlambeauError as e:
        click.echo(f"no picture: {e}")


@click.command(short_help="Train a network on digits; save it and a picture.")
@click.option(
    "--epochs", type=click.IntRange(1), help="Times through the digits.  [default: 3; 10 of few digits]"
)
@click.option("--batch-size", default=64, show_default=True, help="Digits a step.")
@click.option(
    "--lr", default=LR, show_default=True, help="Learning rate of Adam at its height, after a fifth."
)
@click.option("--device", help="gpu, gpu:1, gpu:NAME or cpu; the best adapter without it.")
@click.option(
    "--seed", default=0, show_default=True, help="Of the first weights and the order of the digits."
)
@click.option(
    "--out", default=".", show_default=True, type=click.Path(path_type=Path), help="Folder for both files."
)
@click.option("--data", help="Folder with MNIST's four files; else cache, network, shipped subset.")
@click.option("--steps", type=click.IntRange(1), help="Stop after so many steps.")
def mnist(epochs, batch_size, lr, device, seed, out, data, steps):
    """Train a small convolutional network on MNIST and save mnist.safetensors and mnist.png.

    Example: flambeau mnist --epochs 2 --out runs
    """
    begin = time.perf_counter()
    check_out(out)
    with ProgressLine() as progress:
        progress.phase("load")
        sets = load(data, progress)
        epochs = epochs or (EPOCHS if len(sets[0]) > FEW else EPOCHS_OF_FEW)
        if not 1 <= batch_size <= len(sets[0]):
            rule = f"batch_size must be 1 to {len(sets[0])}: pass another"
            raise ValueError(f"mnist(--batch-size {batch_size}): {rule}")
        where = get_device(device)
        click.echo(f"digits: {sets[0].source}\ndevice: {where}")
        fb.manual_seed(seed)
        t = Training(lr, where)
        loader = DataLoader(
            sets[0], batch_size, shuffle=True, num_workers=1, seed=seed, drop_last=True, collate_fn=collate
        )
        most = epochs * len(loader)
        history = train(t, sets, epochs, min(steps or most, most), loader, progress)
        path = out / "mnist.safetensors"
        t.model.save(path)
        reload_and_check(t, path, sets[1].images)
        predictions = t.logits(sets[1].images, progress).argmax(1)
    accuracy = float((predictions == sets[1].labels).mean())
    picture(out / "mnist.png", history, sets[1], predictions)
    click.echo(f"{len(history.losses)} steps in {time.perf_counter() - begin:.1f} s on {where}")
    click.echo(f"test accuracy {accuracy:.4f}")


def load(data: str | None, progress: ProgressLine) -> tuple:
    """The training and the test digits; a download shows in the progress."""

    def show(name: str, received: int, total: int) -> None:
        progress.update(0, f"{name} {received / 2**20:.1f} of {total / 2**20:.1f} MB")

    sets = digits(True, data, progress=show), digits(False, data, progress=show)
    progress.update(1, " ")
    return sets
