"""Runs a tuning command in child processes. The next child skips a candidate that crashed or hung the
last one."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

import click

from ..errors import FlambeauError
from ..tune.autotune import LEFT_OUT, TOGETHER, TRIAL

SECONDS = 60.0  # limit for compiling, running and timing one candidate
MOST = 16  # lost candidates after which the adapter counts as broken


def run_in_child(arguments: Sequence[str], seconds: float = SECONDS) -> None:
    """Run `flambeau tune` with these arguments in a child. Start it again without the candidate after
    each crash.

    FlambeauError if the child fails in another way; the child prints the reason.
    """
    lost: list[list[Any]] = []
    while len(lost) < MOST:
        culprit, code = _child(arguments, lost, seconds)
        if code == 0:
            return
        # It failed outside of a trial, as by a wrong option: repeating it would fail again.
        if culprit is None:
            raise SystemExit(max(code or 1, 1))  # the child has printed its message
        lost.append(culprit)
        family, bucket, name = culprit
        if name == TOGETHER:
            continue  # one of the candidates: the next child compiles them one by one
        reason = f"it hung for {seconds:g} s" if code is None else f"it ended the process (code {code})"
        click.echo(f"flambeau: tune: {family} {bucket}: {name} is dropped: {reason}", err=True)
    raise FlambeauError(f"tune: {MOST} candidates crashed: see 'flambeau doctor'")


def _child(
    arguments: Sequence[str], lost: list[list[Any]], seconds: float
) -> tuple[list[Any] | None, int | None]:
    """Run one child: (the candidate it was running at its end, its exit code, or None if it hung)."""
    env = {**os.environ, LEFT_OUT: json.dumps(lost), "PYTHONUNBUFFERED": "1"}
    env["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    command = [sys.executable, "-m", "flambeau", "tune", "--here", *arguments]
    child = subprocess.Popen[str](command, stdout=subprocess.PIPE, text=True, env=env)
    lines = _lines_of(child)
    candidate = None
    try:
        # The limit holds only during a trial: planning between trials may take longer.
        while (line := lines.get(timeout=seconds if candidate else None)) is not None:
            if line.startswith(TRIAL):
                candidate = json.loads(line.removeprefix(TRIAL))
            else:
                click.echo(line)
    except queue.Empty:
        return candidate, None
    finally:
        child.kill()
        code = child.wait()
    return candidate, code


def _lines_of(child: subprocess.Popen[str]) -> "queue.Queue[str | None]":
    """Queue the lines that a child prints, as they arrive, then None when it ends."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert child.stdout is not None
        for line in child.stdout:
            lines.put(line.rstrip("\n"))
        child.wait()
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines
