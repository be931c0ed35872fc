"""Events into what is seen of a run: plain lines, where nothing else is asked for."""

from __future__ import annotations

import sys
from typing import Any

from .events import EpochEnded, Event, Message, Progress, Renderer, RunEnded, RunStarted, Values

PLAIN_EVERY = 5.0  # seconds between plain lines inside of an epoch


def default_renderers() -> list[Renderer]:
    """What shows a run whose `renderers` were not given."""
    return [PlainLines()]


class PlainLines:
    """A line for the run, for each epoch and for what is told; `stream` is where to, sys.stdout for None."""

    def __init__(self, stream: Any = None):
        self.stream = stream

        self.last, self.loss = 0.0, ""

    def __call__(self, event: Event) -> None:
        if isinstance(event, Values):
            self.loss = f"  loss {event.values['loss'][-1]:.4f}"
        if isinstance(event, Progress) and event.at - self.last >= PLAIN_EVERY:
            self.last, of = event.at, event.of or "?"
            speed = event.items / max(event.seconds, 1e-9)
            self.print(
                f"{event.split} {event.epoch + 1}  {event.index}/{of}  {speed:,.0f} items/s{self.loss}"
            )
        elif text := line_of(event):
            self.last = event.at
            self.print(text)

    def print(self, text: str) -> None:
        """Write a line."""
        print(text, file=self.stream or sys.stdout, flush=True)


def line_of(event: Event) -> str:
    """What is said of an event; "" where nothing is."""
    if isinstance(event, RunStarted):
        there = f", from step {event.step:,} on" if event.resumed else ""
        return f"{event.run}: {event.parameters:,} parameters on {event.device}, {event.epochs} epochs{there}"
    if isinstance(event, EpochEnded):
        numbers = "  ".join(f"{name} {value:.4f}" for name, value in event.metrics.items())
        return f"{event.split} epoch {event.epoch + 1}  step {event.step}  {numbers}  {event.seconds:.1f} s"
    if isinstance(event, Message):
        return f"{event.level}: {event.text}"
    return (
        f"{event.reason} at step {event.step:,}: {event.text}".rstrip(": ")
        if isinstance(event, RunEnded)
        else ""
    )
