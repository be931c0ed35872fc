"""Runs a tuning command in child processes: a candidate that crashes or hangs one is left out of the next."""

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

SECONDS = 60.0  # that a candidate may take to compile, run and be timed
MOST = 16  # candidates that may be lost before it is the adapter that is broken


def run_apart(arguments: Sequence[str], seconds: float = SECONDS) -> None:
    """Run `flambeau tune` with these arguments in a child, and again without each candidate that it died of.

    FlambeauError if the child fails in another way: what it printed says why.
    """
    lost: list[list[Any]] = []
    while len(lost) < MOST:
        culprit, code = _child(arguments, lost, seconds)
        if code == 0:
            return
        if culprit is None:
            raise SystemExit(max(code or 1, 1))  # its own message was shown
        lost.append(culprit)
        family, bucket, name = culprit
        if name == TOGETHER:
            continue  # one of the candidates: the next child compiles them one by one
        why = f"it hung for {seconds:g} s" if code is None else f"it ended the process (code {code})"
        click.echo(f"flambeau: tune: {family} {bucket}: {name} is dropped: {why}", err=True)
    raise FlambeauError(f"tune: {MOST} candidates crashed: see 'flambeau doctor'")


def _child(
    arguments: Sequence[str], lost: list[list[Any]], seconds: float
) -> tuple[list[Any] | None, int | None]:
    """(the candidate that was being tried when it ended, its exit code, None where it hung)."""
    env = {**os.environ, LEFT_OUT: json.dumps(lost), "PYTHONUNBUFFERED": "1"}
    env["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    command = [sys.executable, "-m", "flambeau", "tune", "--here", *arguments]
    child = subprocess.Popen[str](command, stdout=subprocess.PIPE, text=True, env=env)
    said = _lines_of(child)
    trying = None
    try:
        while (line := said.get(timeout=seconds if trying else None)) is not None:
            if line.startswith(TRIAL):
                trying = json.loads(line.removeprefix(TRIAL))
            else:
                click.echo(line)
    except queue.Empty:
        return trying, None
    finally:
        child.kill()
        code = child.wait()
    return trying, code


def _lines_of(child: subprocess.Popen[str]) -> "queue.Queue[str | None]":
    """The lines that a child prints, as they come, and None where it has ended."""
    said: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert child.stdout is not None
        for line in child.stdout:
            said.put(line.rstrip("\n"))
        child.wait()
        said.put(None)

    threading.Thread(target=read, daemon=True).start()
    return said
