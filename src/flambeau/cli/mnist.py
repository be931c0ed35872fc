"""`flambeau mnist`: trains a convolutional network on handwritten digits, saves it and plots the results."""

import shutil
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

import flambeau as fb

from .. import nn, optim
from ..data import DataLoader, collate
from ..data import mnist as digits
from ..device import get_device
from ..errors import FlambeauError
from ..learner import Callback, Event, Learner, NotFinite, Values
from ..learner.renderers import default_renderers
from ..learner.runs import EVENTS, read_events
from ..metrics import Accuracy
from ..models.digits import BETAS, LR, MEAN, network, rate
from ..vision.transforms import Compose, Normalize, RandomAffine, ToDtype
from .progress import ProgressLine

TEST_BATCH = 500
EPOCHS, EPOCHS_OF_FEW, FEW = 6, 10, 20_000  # a training set of up to FEW digits gets more epochs
BATCH, BATCH_OF_FEW = 128, 64
NEEDED = 2_000_000  # bytes of disk space for both files and the checkpoints
CHECKPOINT_EVERY = 500  # steps
RUN = "mnist.run"  # the folder of an unfinished run
# Augmentation: rotations, shifts and zooms within the variation of handwriting.
DEGREES, SHIFT, ZOOM = 8.0, 0.06, (0.94, 1.06)


@dataclass(frozen=True)
class MnistOptions:
    """The options of the command line."""

    epochs: int
    batch_size: int | None
    lr: float
    device: str | None
    seed: int
    out: Path
    data: str | None
    steps: int | None
    augment: bool
    width: int
    resume: bool

    def with_defaults(self, count: int) -> "MnistOptions":
        """Fill in the defaults for `count` digits. ValueError if the batch is larger than that."""
        epochs, batch = (EPOCHS, BATCH) if count > FEW else (EPOCHS_OF_FEW, BATCH_OF_FEW)
        batch = batch if self.batch_size is None else self.batch_size
        if not 1 <= batch <= count:
            rule = f"batch_size must be 1 to {count}: pass another"
            raise ValueError(f"mnist(--batch-size {batch}): {rule}")
        return replace(self, epochs=self.epochs or epochs, batch_size=batch)


class StopsAfter(Callback):
    """Ends a run after `steps` steps."""

    def __init__(self, steps: int):
        self.steps = steps

    def after_step(self, learner: Learner) -> None:
        if learner.step >= self.steps:
            learner.stop("done")


class LossCurve:
    """A renderer that keeps the losses of all steps, for the picture."""

    def __init__(self) -> None:
        self.by_step: dict[int, float] = {}  # a resumed run repeats the steps after its checkpoint

    def __call__(self, event: Event) -> None:
        if isinstance(event, Values):
            self.by_step.update(zip(event.steps, event.values["loss"], strict=True))

    @property
    def losses(self) -> list[float]:
        return [self.by_step[step] for step in sorted(self.by_step)]


def images(pixels: np.ndarray, device: Any) -> fb.Tensor:
    """Scale pixels to floats around 0. uint8 [n, 28, 28] -> float32 [n, 1, 28, 28]"""
    # The mean of MNIST's pixels, 0.1307; their standard deviation is left to the weights.
    return fb.tensor(pixels[:, None].astype("float32") / 255 - MEAN, device=device)


def make_prepare(model: nn.Module, device: Any, augment: bool) -> Any:
    """Return the function that converts a batch's pixels to the network's input; it augments in training."""
    plain = [ToDtype(fb.float32, scale=True), Normalize([MEAN], [1.0])]
    augmented = Compose([RandomAffine(DEGREES, (SHIFT, SHIFT), ZOOM, interpolation="bilinear"), *plain])
    unchanged = Compose(plain)

    def prepare(batch: Any) -> tuple[Any, ...]:
        pixels, labels = batch
        # Pixels are uploaded as bytes, a quarter of float32; the GPU converts and augments them.
        transform = augmented if augment and model.training else unchanged
        return transform(fb.tensor(pixels[:, None], device=device)), labels

    return prepare


def learner_of(
    model: nn.Module, settings: MnistOptions, most: int, curve: LossCurve, folder: Path
) -> Learner:
    """Build the Learner that trains the network for at most `most` steps, with checkpoints in `folder`."""
    device, steps = next(iter(model.parameters())).device, min(settings.steps or most, most)
    optimizer = optim.Adam(model.parameters(), lr=settings.lr, betas=BETAS)
    return Learner(
        model,
        optimizer,
        nn.CrossEntropyLoss(),
        metrics={"accuracy": Accuracy("multiclass", num_classes=10)},
        # The schedule ends with --steps too; a resumed run must pass the same options to get the same
        # rates.
        scheduler=optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate(1.0, min(step, steps - 1), steps)),
        prepare=make_prepare(model, device, settings.augment),
        callbacks=[StopsAfter(steps)] if steps < most else [],  # otherwise the run ends with its last epoch
        renderers=[curve, *default_renderers(folder)],
        directory=folder,
        checkpoint_every=CHECKPOINT_EVERY,
        device=device,
    )


def train(learner: Learner, train_loader: DataLoader, test_loader: DataLoader, epochs: int) -> int:
    """Train for `epochs` epochs, or until the learner's limit of steps. Returns the exit code, not 0
    after a signal.

    An unfinished run keeps its checkpoints for --resume.
    """
    folder: Any = learner.directory
    try:
        learner.fit(train_loader, test_loader, epochs, resume=True)
    except NotFinite as e:
        shutil.rmtree(folder)
        problem = f"mnist: step {e.step}: the loss is {e.loss}: {e.cause}: use a smaller --lr"
        raise FlambeauError(problem) from None
    except KeyboardInterrupt:
        click.echo("stopped by Ctrl-C: saving the model; --resume continues")
        return 130
    except SystemExit as e:
        click.echo("stopped by SIGTERM: saving the model; --resume continues")
        return int(e.code or 0)
    # Only an unfinished run needs its checkpoints.
    if learner.position.reason == "stopped":
        click.echo("stopped: saving the model; --resume continues")
    else:
        shutil.rmtree(folder)
        click.echo(f"done: the checkpoints of {folder} are removed")
    return 0


def load_earlier_losses(folder: Path, resume: bool, curve: LossCurve) -> None:
    """Load the losses of an unfinished run; FlambeauError if such a run exists and `resume` is not set."""
    if not folder.exists():
        return
    if not resume:
        rule = f"its {folder.name} holds an unfinished run: continue it with --resume, or remove it"
        raise FlambeauError(f"mnist(--out {folder.parent}): {rule}")
    if (folder / EVENTS).exists():
        for event in read_events(folder / EVENTS):
            curve(event)


def check_out(out: Path) -> None:
    """Raise FlambeauError before training if the folder can't be written to."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        # Writing is the only reliable test: permission bits don't show read-only file systems.
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


def reload_and_check(learner: Learner, path: Path, pixels: np.ndarray) -> None:
    """Load the file into a new network and compare its logits with those of the trained network."""
    # [width, 1, 3, 3]: the first convolution's weight
    width = learner.model[0].weight.shape[0]
    with fb.device(learner.device):
        reloaded, x = network(width), images(pixels[:64], learner.device)
    reloaded.load(path)
    difference = float(np.abs(reloaded(x).numpy() - learner.model(x).numpy()).max())
    # Not `difference > 1e-5`, which is false for NaN. Equal weights on one device differ only by rounding.
    if not difference <= 1e-5:
        rule = f"the reloaded network differs by {difference:.1e}: do not use the file"
        raise FlambeauError(f"mnist({path}): {rule}")
    click.echo(f"saved {path}; reloaded, its logits agree")


def picture(
    path: Path, curve: LossCurve, accuracies: list[float], test_set: Any, predictions: np.ndarray
) -> None:
    """Plot the results, or print why that fails. The network is already saved."""
    from .plot import draw_mnist

    try:
        draw_mnist(path, curve.losses, accuracies, test_set.images, test_set.labels, predictions)
        click.echo(f"drew {path}")
    except FlambeauError as e:
        click.echo(f"no picture: {e}")


@click.command(short_help="Train a network on digits; save it and a picture.")
@click.option("--epochs", type=click.IntRange(1), help="Epochs.  [default: 6; 10 with the bundled digits]")
@click.option("--batch-size", type=int, help="Digits per step.  [default: 128; 64 with the bundled digits]")
@click.option(
    "--lr",
    default=LR,
    show_default=True,
    help="Adam's peak learning rate, reached after a fifth of the steps.",
)
@click.option("--device", help="gpu, gpu:1, gpu:NAME or cpu; default: the best adapter.")
@click.option("--seed", default=0, show_default=True, help="Seed of the initial weights and the data order.")
@click.option(
    "--out", default=".", show_default=True, type=click.Path(path_type=Path), help="Folder for both files."
)
@click.option("--data", help="Folder with MNIST's four files; default: cache, download, or bundled subset.")
@click.option("--steps", type=click.IntRange(1), help="Stop after this many steps.")
@click.option(
    "--augment/--no-augment",
    default=True,
    show_default=True,
    help="Rotate, shift and scale the digits slightly.",
)
@click.option(
    "--width", type=click.IntRange(1), default=8, show_default=True, help="Channels of the first convolution."
)
@click.option("--resume", is_flag=True, help="Resume a stopped run; pass the same options.")
def mnist(**options: Any):
    """Train a small convolutional network on MNIST and save mnist.safetensors and mnist.png.

    During the run, checkpoints are in the folder mnist.run next to them.

    Example: flambeau mnist --epochs 2 --out runs
    """
    begin = time.perf_counter()
    settings = MnistOptions(**options)
    check_out(settings.out)
    sets = load(settings.data)
    settings = settings.with_defaults(len(sets[0]))
    place, epochs = get_device(settings.device), settings.epochs
    click.echo(f"digits: {sets[0].source}\ndevice: {place}")
    fb.manual_seed(settings.seed)
    # Without the last, smaller batch, all steps replay one recording.
    order: Any = {"shuffle": True, "seed": settings.seed, "drop_last": True}
    loader = DataLoader(sets[0], settings.batch_size, num_workers=1, collate_fn=collate, **order)
    test_loader, most = DataLoader(sets[1], TEST_BATCH, collate_fn=collate), epochs * len(loader)
    curve, folder = LossCurve(), settings.out / RUN
    load_earlier_losses(folder, settings.resume, curve)
    with fb.device(place):  # open no other adapter
        learner = learner_of(network(settings.width), settings, most, curve, folder)
    code = train(learner, loader, test_loader, epochs)
    path = settings.out / "mnist.safetensors"
    learner.model.save(path)
    reload_and_check(learner, path, sets[1].images)
    predictions = learner.predict(test_loader).numpy().argmax(1)
    accuracy = float((predictions == sets[1].labels).mean())
    accuracies = [row["valid_accuracy"] for row in learner.history]
    # A stopped epoch had no validation: its point is the test below.
    accuracies += [accuracy] * (learner.epoch < epochs)  # the last epoch is incomplete
    picture(settings.out / "mnist.png", curve, accuracies, sets[1], predictions)
    click.echo(f"{learner.step} steps in {time.perf_counter() - begin:.1f} s on {place}")
    click.echo(f"test accuracy {accuracy:.4f}")
    sys.exit(code)


def load(data: str | None) -> tuple[Any, ...]:
    """Load the training and the test digits, and show the progress of a download."""
    with ProgressLine() as progress:

        def show(name: str, received: int, total: int) -> None:
            if not progress.name:
                progress.phase("download")
            # A file whose size is unknown (total 0) is never shown as done.
            done = int(0 < total <= received)
            progress.update(done, f"{name} {received / 2**20:.1f} of {total / 2**20:.1f} MB")

        return digits(True, data, progress=show), digits(False, data, progress=show)
