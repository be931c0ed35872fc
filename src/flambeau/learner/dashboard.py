"""The renderer for terminals: sends events to a process that draws them (tui.py), and obeys its keys.

An event costs the training one append. A thread sends the events five times a second. The training's printed
output also goes to the drawing process, which shows it in its log.
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

PAUSE = 0.2  # seconds between two messages: waking the thread costs as much as a message
MOST_WAITING = 100_000  # events kept while the other process does not read
PATIENCE = 10.0  # seconds until a process that does not end is killed
# Escape codes: leave the alternate screen, show the cursor, end reports of mouse, focus, pastes and keys,
# wrap lines.
RESTORE = (
    "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[<u\x1b[?7h"
)


class Terminal:
    """Saves the terminal's settings and this process's outputs, and restores them."""

    def __init__(self):
        import termios

        self.settings = termios.tcgetattr(0)
        self.outputs = {fd: os.dup(fd) for fd in (1, 2) if os.isatty(fd)}
        self.read_end, self.write_end = os.pipe()

    def redirect(self) -> None:
        """Redirect all printed output of Python, drivers and workers to a pipe."""
        for fd in self.outputs:
            os.dup2(self.write_end, fd)

    def release(self) -> None:
        """Let printed output go to the terminal again."""
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        for fd, saved in self.outputs.items():
            os.dup2(saved, fd)
            os.close(saved)
        for fd in (self.read_end, self.write_end):
            os.close(fd)
        self.outputs = {}

    def restore(self) -> None:
        """Reset the terminal after the drawing process died."""
        import termios

        os.write(1, RESTORE.encode())
        termios.tcsetattr(0, termios.TCSANOW, self.settings)


class Dashboard:
    """The live dashboard on a terminal.

    refresh: frames per second, at most ten; fewer suit slow connections. stay: keep the dashboard after the
    run until `q` is pressed; the summary stays on the terminal in either case. unicode: False draws in ASCII;
    None follows the terminal's encoding. learner: the Learner that `q` stops; it sets this attribute itself.
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
        self.waiting: deque[Event] = deque(maxlen=MOST_WAITING)
        self.process: subprocess.Popen[bytes] | None = None
        self.thread: threading.Thread | None = None
        self.closing = threading.Event()
        self.kills = 0  # how often the key for "kill" was pressed
        self.plain = PlainLines()  # plain lines for events outside of runs, and if the process died
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
        """Start the process and the thread that sends it events."""
        from multiprocessing import Pipe

        self.closing.clear()
        self.kills = 0
        self.terminal = Terminal()
        self.pipe, child_end = Pipe()
        fds = child_end.fileno(), self.terminal.read_end
        command = [sys.executable, "-P", "-m", "flambeau.learner.tui", *map(str, fds), *self.options]
        screen = self.terminal.outputs.get(1)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
        try:  # with these signals blocked: a Ctrl-C during its start must not end it
            self.process = subprocess.Popen(
                command, pass_fds=fds, stdout=screen, stderr=screen, env=environment()
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        child_end.close()  # so that the pipe ends with the process
        self.terminal.redirect()
        os.register_at_fork(after_in_child=self.pipe.close)  # else a forked worker keeps the pipe open
        atexit.register(self.close)
        self.thread = threading.Thread(target=self.send, name="flambeau-dashboard", daemon=True)
        self.thread.start()

    def send(self) -> None:
        """Send events to the process and receive its orders, until the dashboard is closed.

        It waits on the pipe itself: waiting on `closing` and then polling the pipe costs twice as much.
        """
        orders = select.poll()
        orders.register(self.pipe.fileno(), select.POLLIN)
        try:
            while not self.closing.is_set():
                self.exchange(bool(orders.poll(PAUSE * 1000)))
            self.exchange(self.pipe.poll())
        except (OSError, EOFError):  # the process has ended; `close` or the next event detects it
            pass
        if not self.closing.is_set():
            self.take_over()

    def exchange(self, has_order: bool) -> None:
        # popleft and append are atomic: the training may append meanwhile.
        parcel = [self.waiting.popleft() for _ in range(len(self.waiting))]
        if parcel:
            self.pipe.send(parcel)
        while has_order:
            self.obey(self.pipe.recv())
            has_order = self.pipe.poll()

    def obey(self, order: str) -> None:
        """Carry out the order of a key."""
        if order == "interrupt":
            # Ctrl-C is a key in the terminal's raw mode: it arrives here as an order, and becomes the
            # signal that Python would have received.
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        # The first "kill" ends the run after its step; a second one, or one without a Learner, ends the
        # process.
        elif order == "kill" and (self.kills or self.learner is None):
            self.end_process(0.0)
            self.terminal.restore()
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.learner is not None:
            self.kills += order == "kill"
            self.learner.stop({"stop": "stopped", "kill": "killed"}[order])

    def close(self) -> None:
        """Send the remaining events, wait until the process has printed its summary, and restore the
        terminal."""
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
        """Wait for the process, and kill it after `patience` seconds. Returns whether it failed."""
        assert self.process is not None
        try:
            return self.process.wait(patience) != 0
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return True

    def take_over(self) -> None:
        """Continue with plain lines after the process died."""
        self.end_process(PATIENCE)
        self.terminal.release()
        self.terminal.restore()
        atexit.unregister(self.close)
        self.process, self.died = None, True
        self.plain.write("the dashboard's process ended: showing plain lines from here")
        while self.waiting:
            self.plain(self.waiting.popleft())


def environment() -> dict[str, str]:
    """Return this process's environment, with its module path in PYTHONPATH."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
