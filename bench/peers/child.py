"""Turns a side's file into a process that answers the protocol of `peers.protocol`, seen from the parent."""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

from _measure import Timing

BENCH = Path(__file__).resolve().parents[1]
ANSWER_SECONDS = 120.0  # the first step may compile for long; a round adds its own length


class PeerError(Exception):
    """A child stopped or did not answer; the text says why."""


class NoAnswer(PeerError):
    """A child said nothing in time."""


def peers_python() -> str:
    """The peers' interpreter: FLAMBEAU_PYTHON_PEERS, else the checkout's .venv-peers, else this."""
    local = BENCH.parent / ".venv-peers" / "bin" / "python"
    return os.environ.get("FLAMBEAU_PYTHON_PEERS") or (str(local) if local.exists() else sys.executable)


def is_one_adapter(one: str, other: str) -> bool:
    """Two names mean one adapter if either holds the other: "gpu:0 (llvmpipe)" and "llvmpipe"."""
    return bool(one and other) and (one in other or other in one)


class Child:
    """One contestant's process; `ready` is its first line (see `peers.protocol`)."""

    def __init__(self, command: list[str], patience: float = ANSWER_SECONDS) -> None:
        """Starts a contestant by its command, in this folder; PeerError where that cannot run. An answer may
        take `patience` seconds."""
        self.patience = patience
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115, closed by __exit__
        self.lines: queue.Queue[str] = queue.Queue()
        # silences Mesa where it is unset
        environment = {"XDG_RUNTIME_DIR": tempfile.gettempdir(), **os.environ}
        try:
            self.process = subprocess.Popen(
                command, cwd=BENCH, env=environment, text=True, stdin=-1, stdout=-1, stderr=self.errors
            )
        except OSError as error:
            raise PeerError(f"{command[0]}: {error.strerror}") from error
        # a thread, since a pipe has no timeout on every system
        threading.Thread(target=self.collect, daemon=True).start()

    def collect(self) -> None:
        """Moves the process's lines to the queue; an empty one marks the end."""
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def ready(self) -> dict:
        """The first line: name, version, adapter, times; or {"unavailable": why}."""
        return self.answer(self.patience)

    def losses(self, steps: int) -> list[float]:
        """The first `steps` losses."""
        return self.ask({"cmd": "losses", "steps": steps})["losses"]

    def round(self, seconds: float) -> Timing:
        """Trains for at least `seconds` after one step that does not count."""
        return Timing(**self.ask({"cmd": "round", "seconds": seconds}, seconds))

    def ask(self, message: dict, seconds: float = 0.0) -> dict:
        """Sends a command that takes `seconds` and waits for its answer; PeerError where none comes."""
        assert self.process.stdin
        with suppress(OSError):  # it has stopped: reading says why
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        return self.answer(self.patience + seconds)

    def answer(self, timeout: float) -> dict:
        """The next line, as a dict; PeerError where the process stopped or said nothing in time."""
        try:
            line = self.lines.get(timeout=timeout)
        except queue.Empty:
            raise NoAnswer(f"no answer in {timeout:.0f} s") from None
        if not line:
            raise PeerError(f"stopped: {self.last_words()}")
        return json.loads(line)

    def last_words(self) -> str:
        """The last line that the process wrote to stderr, else its exit code."""
        code = self.process.wait(timeout=10)
        self.errors.seek(0)
        lines = self.errors.read().strip().splitlines()
        return lines[-1] if lines and code > 0 else f"exit code {code}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        """Ends the process: by closing its stdin, and after 5 seconds by killing it."""
        assert self.process.stdin
        with suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.errors.close()
