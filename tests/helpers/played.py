"""A made-up run: the events of a training that goes as trainings go, without one."""

from collections.abc import Iterator
from math import exp, sin

from flambeau.learner.events import (
    EpochEnded,
    EpochStarted,
    Event,
    Message,
    Progress,
    RunEnded,
    RunStarted,
    Saved,
    Values,
)

STEPS = 100  # an epoch
A_STEP = 0.01  # seconds


def loss(step: int, shift: float = 0.0) -> float:
    return 2.3 * exp(-step / 150) + 0.08 + shift + 0.05 * sin(step * 1.7)


def run(
    name: str = "mnist",
    directory: str = "",
    *,
    epochs: int = 4,
    waits: str = "data",
    shift: float = 0.0,
    reason: str = "done",
) -> Iterator[Event]:
    """Epochs of a hundred steps, with validation, a checkpoint and a warning; 70% waits for one cause."""
    at, step = 1_000_000.0, 0
    config = {"lr": 0.1, "batch_size": 64}
    yield RunStarted(name, directory, "llvmpipe", epochs, 1_200_000, 0, False, config, at=at)
    for epoch in range(epochs):
        yield EpochStarted("train", epoch, epochs, STEPS, at=at)
        for index in range(10, STEPS + 1, 10):
            at, step = at + 10 * A_STEP, step + 10
            steps, seconds = list(range(step - 9, step + 1)), index * A_STEP
            values = {"loss": [loss(s, shift) for s in steps], "lr": [0.1 / (1 + s / 100) for s in steps]}
            yield Values("train", epoch, steps, values, at=at)
            parts = {waits: 0.7 * seconds, "host": 0.1 * seconds} if waits else {}
            yield Progress(
                "train", epoch, index, STEPS, step, index * 64, seconds, parts, 300_000_000 + step, at=at
            )
        yield EpochEnded("train", epoch, step, {"loss": loss(step, shift), "accuracy": 0.9}, 1.0, at=at)
        yield EpochStarted("valid", epoch, epochs, 10, at=at)
        metrics = {"loss": loss(step, shift) + 0.1, "accuracy": 1 - 0.5 * exp(-step / 150)}
        yield EpochEnded("valid", epoch, step, metrics, 0.1, at=at + 0.1)
        at += 0.1
        yield Saved(f"{directory}/step-{step}.ckpt", step, 0.02, 0.001, at=at)
    yield Message("warning", "the last batch of [3] was left out", at=at)
    yield RunEnded(reason, step, "", at=at)  # pyright: ignore[reportArgumentType]
