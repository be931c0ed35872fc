"""Turns the page's calls into predictions, training and lists of kernels; it runs in the worker."""

import asyncio
import gzip
import io
import math
import random
import struct
import time
import zipfile
from array import array

from flambeau_page import emit  # type: ignore[import-not-found]

import flambeau as fb
from flambeau import optim
from flambeau.io import load_bytes, save_bytes
from flambeau.models.digits import BETAS, MEAN, network, rate, train_step

BATCH, TEST_BATCH, TEST_EVERY = 64, 500, 100  # digits a step and a test's part; steps between two tests
GLANCE = 0.2  # seconds of steps between two reads: a stroke's prediction waits behind them


class Net:
    """A network, its recorded prediction, and its weights as a file (None: new ones), to be had again after a
    loss."""

    def __init__(self, weights: bytes | None = None):
        self.weights = weights
        self.open()

    def open(self) -> None:
        self.model = model = network()
        if self.weights is not None:
            self.model.load_state_dict(load_bytes(self.weights))
        # not of self: who is part of a cycle keeps its memory until Python looks for cycles
        self.scores = fb.jit(lambda x: model(x).softmax(1))

    async def keep(self) -> bytes:
        self.weights = bytes(await save_bytes(self.model.state_dict(), {"format": "flambeau digits 1"}))
        return self.weights


nets: dict[str, Net] = {}
gpu = fb.get_default_device()  # the worker opened it


async def again(work):
    """What `work` gives; if the GPU is lost on the way it is opened again, and the work done anew."""
    mine = gpu  # another call may be quicker to open a new one
    if not mine.lost:
        try:
            return await work()
        except Exception:
            await asyncio.sleep(0.05)  # a failed read may come before the word that the GPU is gone
            if not mine.lost:
                raise
    await recover()
    return await work()


recovering = asyncio.Lock()


async def recover() -> None:
    """Open the GPU again and put back what was on it: networks, and the training as it was last kept."""
    global gpu
    async with recovering:
        if not gpu.lost:  # another call was quicker
            return
        lost = gpu.lost
        try:
            gpu = await fb.open_device()
        except fb.FlambeauError as e:
            emit("gone", f"The GPU was lost ({lost}) and does not open again ({e}): try again")
            raise
        for net in nets.values():
            net.open()
        if training:
            training.open()
        emit("recovered", lost)


async def use(name: str, weights) -> None:
    """Load a network's file: "shipped", or "trained" in the page. FlambeauError when it is no such file, and
    then the network is the one that it was."""
    data = bytes(weights)

    async def loaded() -> Net:
        for name, t in load_bytes(data).items():
            if not all(map(math.isfinite, (await t.read()).flat)):
                raise fb.FlambeauError(f"it holds NaN or infinite numbers in {name!r}: choose another file")
        return Net(data)

    try:
        found = await again(loaded)
    except (ValueError, TypeError) as e:
        rule = str(e).partition("): ")[2].rpartition(": ")[0]
        told = f"it holds another network, or one of another version ({rule})"
        raise fb.FlambeauError(f"{told}: choose one that this page or `flambeau mnist` saved") from None
    except fb.FlambeauError as e:
        raise fb.FlambeauError(str(e).removeprefix("load_bytes(...): ")) from None
    if name == "trained" and training:
        training.replace(found)
    nets[name] = found


async def predict(pixels, name: str) -> list[float]:
    """Probabilities of the ten digits. 784 numbers in 0 to 1 -> [10]"""

    async def scores():
        net = nets[name]
        return (await net.scores(fb.tensor(pixels).reshape(1, 1, 28, 28) - MEAN).read()).flat.tolist()

    return await again(scores)


RUNS = 5  # of a call that is timed


def kernels() -> list[dict]:
    """The kernels that ran on the GPU since it was opened."""
    return fb.debug.kernels(gpu)


def timed() -> list[dict]:
    """How long the kernels of a prediction take, and those of a training step once there is a training, of a
    copy of its network. FlambeauError where the browser can't wait for the GPU inside a call."""
    if not gpu.can_wait:
        raise fb.FlambeauError("this browser can't wait for the GPU inside Python: take a newer one")
    if training and training.running:
        raise fb.FlambeauError("the training runs: pause or stop it first")
    net, blank = nets.get("trained") or nets["shipped"], fb.zeros(1, 1, 28, 28)
    found = [("Reading a digit", spans(lambda: net.model(blank).softmax(1)))]
    if training:
        copy = network()
        copy.load_state_dict(training.net.model.state_dict())
        step = stepping(training.digits, copy, optim.Adam(copy.parameters(), betas=BETAS))
        places = training.batch(0)
        found.append((f"Learning from {BATCH} digits", spans(lambda: step(places)[0])))
    return [{"title": title, "runs": RUNS, "kernels": rows} for title, rows in found]


def spans(call) -> list[dict]:
    """The kernels of a call in their order, with the mean time of RUNS calls; one before them compiles."""
    call().tolist()
    texts = {fact_of(row): row["wgsl"] for row in kernels()}
    with fb.profile() as p:
        for _ in range(RUNS):
            call().tolist()
    rows, size = [], len(p.kernels) // RUNS
    for i, first in enumerate(p.kernels[:size]):
        work = first.work
        seconds = sum(span.seconds for span in p.kernels[i::size]) / RUNS
        row = {"name": work.name, "template": work.template, "seconds": seconds}
        row |= {"reads": work.reads, "writes": work.writes, "flops": work.flops}
        rows.append(row | {"wgsl": texts.get(fact_of(row), "")})
    return rows


def fact_of(row: dict) -> tuple:
    """What tells one kernel from another of the same name."""
    return tuple(row[name] for name in ("name", "template", "reads", "writes", "flops"))


# --- training ---


class Digits:
    """MNIST's files on the GPU as bytes: images [n, 1, 28, 28], labels [n]."""

    def __init__(self, archive: bytes):
        self.archive = archive
        self.open()

    def open(self) -> None:
        with zipfile.ZipFile(io.BytesIO(self.archive)) as files:
            names = ("train-images", "train-labels", "test-images", "test-labels")
            read = [idx(gzip.decompress(files.read(name))) for name in names]
        self.train, self.train_labels, self.test, self.test_labels = read
        self.pairs = fb.arange(100)  # of what a digit is, and what it is read as


def idx(data: bytes) -> fb.Tensor:
    """A file of MNIST's form as a tensor: images uint8 [n, 1, 28, 28], or labels int32 [n]."""
    dims = data[3]
    n, *size = struct.unpack_from(f">{dims}i", data, 4)
    flat = fb.tensor(memoryview(data)[4 + 4 * dims :])
    return flat.reshape(n, 1, *size) if size else flat.int()


def stepping(digits: Digits, model, optimizer):
    """A training step on digits by their places: it depends on nothing that counts steps, so it replays."""

    def step(places):
        x, y = digits.train[places].float() / 255 - MEAN, digits.train_labels[places]
        return train_step(model, optimizer, x, y)

    return step


def testing(digits: Digits, model):
    """How often test digits, by their places, are read as what: ten counts for each digit in turn."""

    def counts(places):
        x, y = digits.test[places].float() / 255 - MEAN, digits.test_labels[places]
        return (y * 10 + model(x).argmax(1)).unsqueeze(1).eq(digits.pairs).sum(0)

    return counts


class Training:
    """A network that learns, and all that it takes to stop, go on, or go back to where it was last kept."""

    def __init__(self, digits: Digits, net: Net):
        self.digits, self.net = digits, net
        self.asked, self.may_run = "", asyncio.Event()
        self.done, self.kept_at, self.running = 0, 0, False
        self.kept: bytes = b""
        self.ready()

    def ready(self) -> None:
        self.optimizer = optim.Adam(self.net.model.parameters(), betas=BETAS)
        self.step = fb.jit(stepping(self.digits, self.net.model, self.optimizer))
        self.counts = fb.jit(testing(self.digits, self.net.model))

    def replace(self, net: Net) -> None:
        """Go on from other weights, with a fresh optimiser."""
        self.net, self.kept, self.done, self.kept_at = net, b"", 0, 0
        self.ready()

    def open(self) -> None:
        """After a loss: the digits again, and the optimiser as it was when the weights were kept."""
        self.digits.open()
        self.ready()
        if self.kept:
            groups = self.optimizer.state_dict()["param_groups"]
            self.optimizer.load_state_dict(optim.nested_state(load_bytes(self.kept), groups))
        self.done = self.kept_at

    async def keep(self) -> None:
        await self.net.keep()
        self.kept = bytes(await save_bytes(optim.flat_state(self.optimizer.state_dict())))
        self.kept_at = self.done

    async def confusion(self) -> list[int]:
        """How often each test digit is read as what: ten counts for each digit in turn."""
        n = len(self.digits.test_labels)
        parts = [
            self.counts(fb.tensor(array("i", range(i, min(i + TEST_BATCH, n)))))
            for i in range(0, n, TEST_BATCH)
        ]
        return [sum(every) for every in zip(*await fb.read(*parts), strict=True)]

    def batch(self, step: int) -> fb.Tensor:
        """Which digits a step sees: an order of its own each time through, the same after every restart."""
        n = len(self.digits.train_labels)
        a_round = n // BATCH
        if getattr(self, "round", None) != step // a_round:
            self.round, self.order = step // a_round, list(range(n))
            random.Random(self.round).shuffle(self.order)
        at = step % a_round * BATCH
        return fb.tensor(array("i", self.order[at : at + BATCH]))

    async def some(self, steps: int, first: int, end: int, lr: float) -> None:
        """A few steps, one read for all their losses, and a message to the page."""
        waiting = []
        for _ in range(min(steps, end - self.done)):
            self.optimizer.lr = rate(lr, self.done - first, end - first)
            waiting += self.step(self.batch(self.done))
            self.done += 1
        at, values = self.done, await fb.read(*waiting)
        losses, right = values[0::2], sum(values[1::2])
        if not all(x < 1e30 for x in losses):  # NaN is not, either
            raise fb.FlambeauError(
                f"step {at}: the loss is no number any more: start over with a smaller rate"
            )
        seen = {"step": at, "loss": sum(losses) / len(losses), "right": right / (len(losses) * BATCH)}
        emit("step", seen | {"steps": len(losses), "end": end})

    async def run(self, steps: int, lr: float) -> str:
        """Train until done or stopped; returns "done" or "stopped"."""
        first, end, n = self.done, self.done + steps, 1
        if not first:
            await again(self.tested)  # what chance comes to
        while self.done < end and self.asked != "stop":
            await self.may_run.wait()
            begin, before = time.perf_counter(), self.done
            await again(lambda n=n: self.some(n, first, end, lr))
            spent = time.perf_counter() - begin
            n = max(1, min(20, round(n * min(2.0, GLANCE / spent)), TEST_EVERY - self.done % TEST_EVERY))
            if self.done // TEST_EVERY > before // TEST_EVERY or self.done >= end:
                await again(self.tested)
            await asyncio.sleep(0)
        if self.done < end:
            await again(self.keep)
        return "done" if self.done >= end else "stopped"

    async def tested(self) -> None:
        counts = await self.confusion()
        right = sum(counts[digit * 11] for digit in range(10))
        emit("tested", {"step": self.done, "accuracy": right / sum(counts), "counts": counts})
        await self.keep()


training: Training | None = None


async def prepare(archive) -> dict:
    """Take the digits in, and a fresh network to train unless one was loaded."""
    global training
    if training is None:
        nets.setdefault("trained", Net())
        training = Training(Digits(bytes(archive)), nets["trained"])
    return {"train": len(training.digits.train_labels), "test": len(training.digits.test_labels)}


async def train(steps: int, lr: float) -> str:
    """Train for so many steps more; "done" or "stopped"."""
    t = training
    if t.running:
        raise fb.FlambeauError("the training runs already: pause or stop it first")
    t.running, t.asked = True, ""
    t.may_run.set()
    try:
        return await t.run(steps, lr)
    finally:
        t.running = False


def ask(what: str) -> None:
    """Tell the training to "pause", "resume" or "stop"."""
    training.asked = what
    if what == "pause":
        training.may_run.clear()
    else:
        training.may_run.set()


def start_over() -> None:
    """A network with new weights in the place of the trained one."""
    nets["trained"] = Net()
    if training:
        training.replace(nets["trained"])


async def file() -> bytes:
    """The trained network as a .safetensors file."""
    return await again(nets["trained"].keep)


def packed(files: dict) -> bytes:
    """Files by name, text or bytes, as a zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            archive.writestr(f"digits/{name}", data if isinstance(data, str) else bytes(data))
    return out.getvalue()
