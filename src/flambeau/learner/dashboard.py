"""The renderer for terminals: sends events to a process that draws them (tui.py), and obeys its keys.

The training pays one append an event. A thread sends what came, five times a second; the other process does
all the rest. What the training prints in the meantime goes to that process as well, and stays in its log.
"""

import atexit
import os
import select
import signal
import subprocess
import sys
import threading
from collections import deque
from typing import Any

from .events import Event
from .renderers import PlainLines

PAUSE = 0.2  # seconds between two parcels of events: to wake costs as much as what it sends
MOST = 100_000  # events that wait at most, should the other process stand still
PATIENCE = 10.0  # seconds until a process that does not end is ended
# Leaves the other screen, shows the cursor, ends reports of mouse, focus, pastes and keys, wraps lines.
RESTORE = (
    "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[<u\x1b[?7h"
)


class Terminal:
    """The terminal's settings and this process's outputs, to be put back as they were."""

    def __init__(self):
        import termios

        self.settings = termios.tcgetattr(0)
        self.outputs = {fd: os.dup(fd) for fd in (1, 2) if os.isatty(fd)}
        self.out, self.into = os.pipe()

    def redirect(self) -> None:
        """What is printed goes into a pipe, whoever prints it: Python, a driver, a worker."""
        for fd in self.outputs:
            os.dup2(self.into, fd)

    def release(self) -> None:
        """What is printed goes to the terminal again."""
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        for fd, kept in self.outputs.items():
            os.dup2(kept, fd)
            os.close(kept)
        for fd in (self.out, self.into):
            os.close(fd)
        self.outputs = {}

    def restore(self) -> None:
        """Put right what a process that died left behind."""
        import termios

        os.write(1, RESTORE.encode())
        termios.tcsetattr(0, termios.TCSANOW, self.settings)


class Dashboard:
    """The live dashboard on a terminal.

    refresh: pictures a second, ten at most; fewer suit slow lines. stay: when the run has ended, keep the
    picture until `q` is pressed; its summary is left on the terminal either way. unicode: False draws in
    ASCII; without it the terminal's encoding decides. learner: what is asked to stop; a Learner sets it.
    """

    def __init__(self, *, refresh: float = 10.0, stay: bool = False, unicode: bool | None = None):
        self.learner: Any = None
        encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower()
        self.options = [
            str(refresh),
            str(int(stay)),
            str(int("utf" in encoding if unicode is None else unicode)),
        ]
        self.stay = stay
        self.waiting: deque[Event] = deque(maxlen=MOST)
        self.process: subprocess.Popen[bytes] | None = None
        self.thread: threading.Thread | None = None
        self.closing = threading.Event()
        self.kills = 0
        self.plain = PlainLines()  # of what happens outside of runs, and where the process died
        self.died = False

    def __call__(self, event: Event) -> None:
        if event.kind == "run_started" and self.process is None and not self.died:
            self.open()
        if self.process is None:
            self.plain(event)
            return
        self.waiting.append(event)
        if event.kind == "run_ended":
            self.close()

    def open(self) -> None:
        """Start the process, and send it what comes from now on."""
        from multiprocessing import Pipe

        self.closing.clear()
        self.kills = 0
        self.terminal = Terminal()
        self.pipe, theirs = Pipe()
        fds = theirs.fileno(), self.terminal.out
        command = [sys.executable, "-P", "-m", "flambeau.learner.tui", *map(str, fds), *self.options]
        screen = self.terminal.outputs.get(1)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
        try:  # with these blocked: a Ctrl-C while it starts must not end it
            self.process = subprocess.Popen(
                command, pass_fds=fds, stdout=screen, stderr=screen, env=environment()
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        theirs.close()
        self.terminal.redirect()
        os.register_at_fork(after_in_child=self.pipe.close)  # a worker must not keep it open
        atexit.register(self.close)
        self.thread = threading.Thread(target=self.send, name="flambeau-dashboard", daemon=True)
        self.thread.start()

    def send(self) -> None:
        """Until it is closed: events to the process, orders from it.

        It sleeps at the pipe itself: to wait for `closing` and then to ask the pipe costs twice as much.
        """
        orders = select.poll()
        orders.register(self.pipe.fileno(), select.POLLIN)
        try:
            while not self.closing.is_set():
                self.exchange(bool(orders.poll(PAUSE * 1000)))
            self.exchange(self.pipe.poll())
        except (OSError, EOFError):  # the process is gone: `close` or the next event finds out
            pass
        if not self.closing.is_set():
            self.take_over()

    def exchange(self, is_asked: bool) -> None:
        parcel = [self.waiting.popleft() for _ in range(len(self.waiting))]
        if parcel:
            self.pipe.send(parcel)
        while is_asked:
            self.obey(self.pipe.recv())
            is_asked = self.pipe.poll()

    def obey(self, order: str) -> None:
        """Do what a key asked for."""
        if order == "interrupt":
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        elif order == "kill" and (self.kills or self.learner is None):
            self.end_process(0.0)
            self.terminal.restore()
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.learner is not None:
            self.kills += order == "kill"
            self.learner.stop({"stop": "stopped", "kill": "killed"}[order])

    def close(self) -> None:
        """Send the rest, wait until the process has left its summary, and give the terminal back."""
        if self.process is None or self.closing.is_set():
            return
        self.closing.set()
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        if self.thread is not None:
            self.thread.join(PATIENCE)
        self.pipe.close()
        died = self.end_process(None if self.stay else PATIENCE)
        self.terminal.release()
        if died:
            self.terminal.restore()
        atexit.unregister(self.close)
        self.process = None

    def end_process(self, patience: float | None) -> bool:
        """Wait for the process, and end it where that takes too long; whether it ended badly."""
        assert self.process is not None
        try:
            return self.process.wait(patience) != 0
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return True

    def take_over(self) -> None:
        """The process died while the training continues: plain lines from here."""
        self.end_process(PATIENCE)
        self.terminal.release()
        self.terminal.restore()
        atexit.unregister(self.close)
        self.process, self.died = None, True
        self.plain.write("the dashboard's process ended: showing plain lines from here")
        while self.waiting:
            self.plain(self.waiting.popleft())


def environment() -> dict[str, str]:
    """This process's environment, with where it found its modules."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
