"""`flambeau mnist`: trains a convolutional network on digits, saves it and draws what came out."""

import time
from pathlib import Path
from typing import Any, NamedTuple

import click

from .. import nn, optim
from ..errors import FlambeauError

READ_EVERY = 20  # steps between two reads of losses: no step waits for the GPU
TEST_BATCH = 500
EPOCHS, EPOCHS_OF_FEW, FEW = 3, 10, 20_000  # fewer digits are gone through more often
LAST_LR = 0.05  # the learning rate falls in a line to this part of itself


class History(NamedTuple):
    """What was seen on the way: the loss of every step, the accuracy after every epoch."""

    losses: list[float]
    accuracies: list[float]


def network() -> nn.Sequential:
    """Two convolutions and a linear layer, 8,458 numbers. [n, 1, 28, 28] -> [n, 10]"""
    return nn.Sequential(
        nn.Conv2d(1, 8, 5),  # [n, 8, 24, 24]
        nn.ReLU(),
        nn.MaxPool2d(2),  # [n, 8, 12, 12]
        nn.Conv2d(8, 16, 5),  # [n, 16, 8, 8]
        nn.ReLU(),
        nn.MaxPool2d(2),  # [n, 16, 4, 4]
        nn.Flatten(),
        nn.Linear(256, 10),
    )


class Training:
    """The network, its optimiser, and one recorded step of both."""

    def __init__(self, lr: float, device: Any):
        import flambeau as fb

        self.fb, self.device, self.lr = fb, device, lr
        self.model = network().to(device)
        self.optimizer = optim.Adam(self.model.parameters(), lr=lr)
        self.step = fb.jit(self._step)
        self.predict = fb.jit(self._predict)

    def images(self, pixels) -> Any:
        """Bytes to floats around 0. uint8 [n, 28, 28] -> [n, 1, 28, 28]"""
        return self.fb.tensor(pixels[:, None].astype("float32") / 255 - 0.1307, device=self.device)

    def loss(self, x, y):
        """The cross entropy of a batch, and how many of its digits are told right."""
        logits = self.model(x)
        with self.fb.no_grad():
            right = (logits.argmax(1) == y).sum()
        return nn.functional.cross_entropy(logits, y), right

    def _step(self, x, y):
        loss, right = self.loss(x, y)
        grads = loss.backward()
        self.fb.realize(right)
        self.optimizer.step(grads)
        return loss, right

    def _predict(self, x):
        return self.model(x)

    def logits(self, images) -> Any:
        """Test images through the network, in batches. uint8 [n, 28, 28] -> float32 [n, 10]"""
        import numpy as np

        parts = [
            self.predict(self.images(images[i : i + TEST_BATCH])) for i in range(0, len(images), TEST_BATCH)
        ]
        return np.concatenate([p.numpy() for p in parts])


def train(
    t: Training, train_set, test_set, epochs: int, batch_size: int, steps: int | None, seed: int
) -> History:
    """Run the epochs (or `steps` of them); losses are read together, some steps later."""
    from ..data import DataLoader
    from .progress import Progress

    loader = DataLoader(train_set, batch_size=batch_size, shuffle=True, seed=seed, drop_last=True)
    total = min(steps or epochs * len(loader), epochs * len(loader))
    history, waiting, accuracy = History([], []), [], 0.0
    with Progress(total) as progress:
        try:
            for _ in range(epochs):
                for pixels, labels in loader:
                    if (done := len(history.losses) + len(waiting)) >= total:
                        break
                    t.optimizer.lr = t.lr * (1 - (1 - LAST_LR) * done / total)
                    x, y = t.images(pixels), t.fb.tensor(labels, device=t.device)
                    waiting.append((*t.step(x, y), x, y))
                    if len(waiting) == READ_EVERY or done + 1 == total:
                        accuracy = collect(t, history, waiting, batch_size)
                        progress.update(done + 1, history.losses[-1], accuracy, t.fb.memory(t.device)["live"])
                history.accuracies.append(
                    float((t.logits(test_set.images).argmax(1) == test_set.labels).mean())
                )
        except KeyboardInterrupt:
            click.echo("stopped by Ctrl-C: saving what was learned")
    return history


def collect(t: Training, history: History, waiting: list, batch_size: int) -> float:
    """Read the losses that wait, with one wait for all; a loss that is not a number ends the training."""
    values = t.fb.read(*(v for w in waiting for v in w[:2]))
    losses, right = values[0::2], values[1::2]
    for loss, (_, _, x, y) in zip(losses, waiting, strict=True):
        if loss != loss or loss in (float("inf"), float("-inf")):
            raise FlambeauError(f"mnist: step {len(history.losses)}: the loss is {loss}: {blame(t, x, y)}")
        history.losses.append(loss)
    found = sum(right) / (batch_size * len(waiting))
    waiting.clear()
    return found


def blame(t: Training, x, y) -> str:
    """Name the first op of the forward pass whose result is not finite."""
    from ..debug import first_bad

    found = first_bad(t.loss(x, y)[0]) or "the forward pass is finite now"
    return f"{found}: use a smaller --lr"


def check_out(out: Path) -> None:
    """Fail before training if nothing can be written there."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".flambeau-write-test"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as e:
        raise FlambeauError(
            f"mnist(--out {out}): can't write there: {e.strerror or e}: choose another folder"
        ) from e


def reload_and_check(t: Training, path: Path, images) -> None:
    """Load the file into a fresh network and compare its logits with the trained one's."""
    import numpy as np

    ours, fresh = t.model, network().to(t.device)
    fresh.load(path)
    x = t.images(images[:64])
    difference = float(np.abs(fresh(x).numpy() - ours(x).numpy()).max())
    if difference > 1e-5:
        raise FlambeauError(
            f"mnist({path}): the reloaded network differs by {difference:.1e}: the file is not to be used"
        )
    click.echo(f"saved {path}; reloaded, its logits agree")


def picture(path: Path, history: History, test_set, predictions) -> None:
    from .picture import draw_mnist

    try:
        draw_mnist(path, history.losses, history.accuracies, test_set.images, test_set.labels, predictions)
        click.echo(f"drew {path}")
    except FlambeauError as e:
        click.echo(f"no picture: {e}")


@click.command()
@click.option(
    "--epochs", type=click.IntRange(1), help="Times through the digits  [default: 3, or 10 of few digits]"
)
@click.option("--batch-size", default=64, show_default=True, help="Digits a step.")
@click.option(
    "--lr", default=3e-3, show_default=True, help="Learning rate of Adam at the start; it falls in a line."
)
@click.option("--device", default=None, help="gpu, gpu:1, gpu:NAME or cpu; the best adapter without it.")
@click.option(
    "--seed", default=0, show_default=True, help="Of the first weights and the order of the digits."
)
@click.option(
    "--out", default=".", show_default=True, type=click.Path(path_type=Path), help="Folder for the files."
)
@click.option(
    "--data", default=None, help="Folder with MNIST's four files; else cache, network, shipped subset."
)
@click.option("--steps", default=None, type=click.IntRange(1), help="Stop after so many steps.")
def mnist(epochs, batch_size, lr, device, seed, out, data, steps):
    """Train a small convolutional network on MNIST and save mnist.safetensors and mnist.png.

    Example: flambeau mnist --epochs 2 --out runs
    """
    import flambeau as fb

    from ..data import mnist as digits
    from ..device import get_device

    begin = time.perf_counter()
    check_out(out)
    train_set, test_set = digits(True, data), digits(False, data)
    epochs = epochs or (EPOCHS if len(train_set) > FEW else EPOCHS_OF_FEW)
    if not 1 <= batch_size <= len(train_set):
        raise ValueError(
            f"mnist(--batch-size {batch_size}): batch_size must be 1 to {len(train_set)}: pass another"
        )
    click.echo(f"digits: {train_set.source}")
    where = get_device(device)
    fb.manual_seed(seed)
    t = Training(lr, where)
    click.echo(f"device: {where}")
    history = train(t, train_set, test_set, epochs, batch_size, steps, seed)
    path = out / "mnist.safetensors"
    t.model.save(path)
    reload_and_check(t, path, test_set.images)
    predictions = t.logits(test_set.images).argmax(1)
    accuracy = float((predictions == test_set.labels).mean())
    picture(out / "mnist.png", history, test_set, predictions)
    click.echo(f"{len(history.losses)} steps in {time.perf_counter() - begin:.1f} s")
    click.echo(f"test accuracy {accuracy:.4f}")
