"""Trains an agent as a run of the Learner's dashboard: the same screen, files and keys."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from ..device import get_device
from ..functions import memory
from ..learner.events import (
    EpochEnded,
    EpochStarted,
    EventEmitter,
    Message,
    Progress,
    Reason,
    Renderer,
    RunEnded,
    RunStarted,
    Values,
)
from ..learner.interrupt import Signals
from ..learner.renderers import default_renderers
from .dqn import DQN
from .off_policy import LearningProgress
from .ppo import PPO, Iteration
from .sac import SAC

Report = Iteration | LearningProgress


def train(
    agent: PPO | DQN | SAC,
    total_steps: int,
    *,
    until: float | None = None,
    directory: str | Path | None = None,
    renderers: Sequence[Renderer] | None = None,
) -> list[Report]:
    """Train an agent with the Learner's dashboard, and return its reports.

    total_steps: environment steps of all copies, at least. until: the training ends when the mean return of
    a report's episodes reaches it; the dashboard's stop key and Ctrl-C end it after an iteration. directory:
    a folder for events.jsonl, which `flambeau runs` shows. renderers: callables that accept events, by
    default a dashboard on a terminal, a widget in a notebook, else lines.
    """
    folder = None if directory is None else Path(directory)
    run = _Run(agent, total_steps, folder, renderers)
    reports: list[Report] = []
    with run:
        for report in agent.learn(total_steps):
            reports.append(report)
            run.show(report)
            if until is not None and report.episode_return >= until:
                run.stop("early")
            if run.reason is not None:
                break
    return reports


class _Run:
    """The events of one training. A renderer with a stop key calls `stop`."""

    def __init__(
        self,
        agent: PPO | DQN | SAC,
        total_steps: int,
        folder: Path | None,
        renderers: Sequence[Renderer] | None,
    ):
        self.agent, self.total_steps, self.folder = agent, total_steps, folder
        shown = default_renderers(folder) if renderers is None else list(renderers)
        for renderer in shown:
            if hasattr(renderer, "learner"):
                setattr(renderer, "learner", self)  # noqa: B010 - callables have no such attribute by type
        self.emit = EventEmitter(shown)
        self.device = get_device(agent.env.device)
        self.reason: Reason | None = None
        self.step, self.values = 0, dict[str, float]()
        self.begin = time.perf_counter()
        self.signals = Signals(self.stop)

    def stop(self, reason: Reason = "stopped") -> None:
        """End the run after the iteration."""
        self.reason = reason

    def __enter__(self) -> None:
        name, directory = ("run", "") if self.folder is None else (self.folder.name, str(self.folder))
        count = sum(p.numel() for p in self.agent.parameters())
        env = self.agent.env
        config = {"agent": type(self.agent).__name__, "environment": type(env).__name__, "copies": env.n}
        self.emit(RunStarted(name, directory, str(self.device), 1, count, 0, False, config))
        self.emit(EpochStarted("train", 0, 1, self.total_steps))
        self.signals.__enter__()

    def show(self, report: Report) -> None:
        """Emit the numbers of a report. Those that no episode ended for are left out."""
        numbers = {
            "episode_return": report.episode_return,
            "episode_length": report.episode_length,
            "loss": report.loss,
        }
        self.step = report.steps
        recent = {name: number for name, number in numbers.items() if isfinite(number)}
        self.values |= recent
        self.emit(Values("train", 0, [self.step], {name: [number] for name, number in recent.items()}))
        seconds, live = time.perf_counter() - self.begin, memory(self.device)["live"]
        of = max(self.total_steps, self.step)
        self.emit(Progress("train", 0, self.step, of, self.step, self.step, seconds, {}, live))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> None:
        self.signals.__exit__()
        if self.signals.received:
            self.emit(Message("warning", f"stopped by {self.signals.name} after {self.step:,} steps"))
        if error is None:
            self.emit(EpochEnded("train", 0, self.step, self.values, time.perf_counter() - self.begin))
        reason: Reason = "error" if error is not None else self.reason or "done"
        self.emit(RunEnded(reason, self.step, "" if error is None else f"{type(error).__name__}: {error}"))
        if error is None:
            self.signals.act()
