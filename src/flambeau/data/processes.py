"""Workers that are processes: they fetch and collate batches, which come back through pipes."""

from __future__ import annotations

import os
import pickle
import random
import signal
import threading
import time
import traceback
import weakref
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.reduction import ForkingPickler
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np  # here, before a worker has a second thread: see `_listen`

from flambeau.core.dtype import set_default_integer
from flambeau.data.fetch import BatchRequest, ByIndex, ByTurn
from flambeau.data.serialization import Parcel, Setup, pack, reduce_result
from flambeau.data.workers import (
    Begin,
    WorkerInfo,
    Workers,
    enter_worker,
    exit_error,
    fetch_in_worker,
    too_long,
)
from flambeau.device import set_default_device, set_default_dtype
from flambeau.errors import FlambeauError

START = 60.0  # seconds for starting a process, not counted against its first batch
GRACE = 2.0  # seconds for a worker's current item after its loop has ended


class TracebackOfWorker(Exception):
    """The traceback of a worker's error. It is the cause of the error that the loop raises."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def context_of(context: Any) -> Any:
    """Return the multiprocessing context; ValueError if it can't be used."""
    method = context.get_start_method() if hasattr(context, "get_start_method") else context
    call = f"DataLoader(multiprocessing_context={method!r})"
    if method == "fork":
        rule = "an open GPU and threads do not survive a fork"
        raise ValueError(f"{call}: {rule}: use 'spawn' or 'forkserver'")
    if method not in get_all_start_methods():
        rule = "it is not a start method of this system: use 'spawn', or a context of multiprocessing"
        raise ValueError(f"{call}: {rule}")
    return get_context(context) if isinstance(context, str) else context


class Processes(Workers):
    """Workers that are processes, started by a multiprocessing context.

    Each has a pipe, and in this process a thread that empties it, so that neither side waits for the other to
    read. They share no lock: a killed worker can't leave one locked.
    """

    def __init__(
        self, fetch: ByIndex | ByTurn, infos: list[WorkerInfo], begin: Begin, timeout: float, context: Any
    ):
        super().__init__(len(infos), timeout)
        self.numbers = count()
        self.arrived: SimpleQueue[Any] = SimpleQueue()
        self.early: dict[int, Any] = {}  # batches that arrived before they were requested
        self.team: list[WorkerProcess] = []
        self.end = weakref.finalize(self, _end, self.team, self.process)  # at exit, too
        method = context.get_start_method()
        try:
            for info in infos:
                self.team.append(
                    WorkerProcess(Parcel(fetch, info, begin, method), info.id, context, self.arrived)
                )
        except BaseException:
            self.end()
            raise

    def submit(self, worker: int, request: BatchRequest) -> tuple[WorkerProcess, int]:
        number, member = next(self.numbers), self.team[worker]
        # pickled twice: the listening thread reads the number only, and leaves the request as bytes (see
        # _listen)
        member.send(pickle.dumps((number, bytes(ForkingPickler.dumps(request)))))
        return member, number

    def result(self, request: BatchRequest, handle: tuple[WorkerProcess, int]) -> Any:
        member, number = handle
        requested = time.monotonic()
        while number not in self.early:
            limit = max(requested, member.started) + self.timeout
            left = max(0.0, limit - time.monotonic()) if self.timeout else None
            try:
                number_arrived, content = self.arrived.get(timeout=left)
            except Empty:
                member.process.kill()  # otherwise joining it would never end
                raise too_long(request, self.timeout) from None
            if number_arrived is None:
                raise content.death()
            self.early[number_arrived] = content
        return _load_result(self.early.pop(number))


class WorkerProcess:
    """One worker as the loader sees it."""

    def __init__(self, parcel: Parcel, number: int, context: Any, arrived: SimpleQueue[Any]):
        self.number, self.has_started = number, False
        self.started = time.monotonic() + START  # or earlier, when it reports an error
        self.pipe, worker_end = context.Pipe()
        name = f"flambeau-data-{number}"
        self.process = context.Process(target=serve, args=(worker_end, parcel), name=name, daemon=True)
        # `theirs` is closed here once the child has its copy: then the pipe ends when the child does
        with worker_end, _block_interrupts(parcel.method):
            self.process.start()
        self.reader = threading.Thread(target=self._read, args=(arrived,), name=name, daemon=True)
        self.reader.start()

    def send(self, message: bytes) -> None:
        with suppress(OSError):  # the process is dead, which the reading thread reports
            self.pipe.send_bytes(message)

    def _read(self, arrived: SimpleQueue[Any]) -> None:
        try:
            hello = self.pipe.recv()
            self.has_started, self.started = True, time.monotonic()
            arrived.put((hello, b""))
            while True:
                arrived.put((self.pipe.recv(), self.pipe.recv_bytes()))
        except (EOFError, OSError):
            pass
        finally:  # after any error: else the loop would wait forever
            arrived.put((None, self))

    def death(self) -> FlambeauError:
        """Return the error to raise after the process ended."""
        self.process.join(GRACE)
        code = self.process.exitcode
        if code is None:
            self.process.kill()  # nobody reads its results
            how = "closed its pipe or sent something other than a batch"
        else:
            how = f"ended with exit code {code}" if code >= 0 else f"was killed by {_name(-code)}"
        if not self.has_started:
            rule = "before it started: see its output for the reason"
            cure = 'a script that starts workers needs its loop under `if __name__ == "__main__":`'
        elif how.endswith("SIGKILL"):
            rule = "if you did not stop it, it probably ran out of memory"
            cure = "use fewer workers or smaller batches"
        else:
            rule = "its dataset exited"
            cure = "see its output, or find the item with num_workers=0"
        who = f"worker {self.number} (process {self.process.pid})"
        return FlambeauError(f"DataLoader: {who} {how}: {rule}: {cure}")


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _load_result(content: bytes) -> Any:
    """Unpickle a batch, or raise the error of fetching it."""
    text, value = pickle.loads(content)
    if text is None:
        return value
    if isinstance(value, SystemExit):
        raise exit_error(value) from TracebackOfWorker(text)
    raise value from TracebackOfWorker(text)


def _end(team: list[WorkerProcess], owner: int) -> None:
    if os.getpid() != owner:  # a fork of it
        return
    limit = time.monotonic() + GRACE
    for member in team:
        member.send(b"")
    for member in team:
        member.process.join(max(0.0, limit - time.monotonic()))
        member.process.kill()
        member.process.join()
        if member.reader is not threading.current_thread():  # garbage is collected in any
            member.reader.join(GRACE)


@contextmanager
def _block_interrupts(method: str) -> Generator[None]:
    """Start with SIGINT ignored: Ctrl-C also reaches workers, and one that still imports would print a
    traceback."""
    if method != "spawn" or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # the mask is inherited by the new process, which unblocks the signal after it has set SIG_IGN
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- in the worker ---


def serve(pipe: Any, parcel: Parcel) -> None:
    """Run a worker: answer requests until an empty one arrives. An error here ends the process at once,
    even if the dataset has threads that would keep it alive, because the loop waits for its end."""
    try:
        _serve(pipe, parcel)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def _serve(pipe: Any, parcel: Parcel) -> None:
    # the main process gets the signal too, and stops the workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    pipe.send("begun")
    questions: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, questions), daemon=True).start()
    setup = _set_up(parcel)
    while question := questions.get():
        number, request = pickle.loads(question)
        answer = _answer(setup, request)
        with suppress(OSError):  # the loop has ended; the next request reports it
            pipe.send(number)
            pipe.send_bytes(answer)


def _listen(pipe: Any, questions: SimpleQueue[bytes]) -> None:
    """Receive requests at once, so that the requesting process never waits; exit when it is gone.

    Requests stay bytes in this thread. Unpickling would import their modules (NumPy, the user's) while
    the first thread opens the dataset and imports the same: circular imports then fail, or see modules
    half initialised. Whatever ends this thread ends the process.
    """
    try:
        with suppress(EOFError, OSError):
            while question := pipe.recv_bytes():
                questions.put(question)
        with suppress(Empty):
            while True:
                questions.get_nowait()
        questions.put(b"")
        time.sleep(GRACE)  # for the current item
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _set_up(parcel: Parcel) -> Setup | BaseException:
    """Open the worker's dataset. An error is returned, and is the answer to every request."""
    try:
        setup = parcel.open()
        set_default_device("cpu")  # NumPy's device: a dataset that creates tensors must not open a GPU
        set_default_dtype(setup.floats)
        set_default_integer(setup.integer)
    except BaseException as e:
        cure = "define it in a module that can be imported, or leave multiprocessing_context out"
        problem = f"a worker process can't open the dataset: {type(e).__name__}: {e}"
        return FlambeauError(f"DataLoader: {problem}: {cure}")
    _seed(setup, BatchRequest(0, 0, None))
    enter_worker(setup.info, setup.begin, setup.fetch, is_process=True)
    return setup


def _answer(setup: Setup | BaseException, question: bytes) -> bytes:
    try:
        if isinstance(setup, BaseException):
            raise setup
        request = pickle.loads(question)
        _seed(setup, request)
        if isinstance(setup.fetch, ByTurn):
            setup.fetch.seed = partial(_seed_batch, setup, request)
        return _pack_batch(fetch_in_worker(setup.fetch, setup.info.id, request))
    except BaseException as e:
        return pack((traceback.format_exc(), _picklable_error(e)), reduce_result)


def _pack_batch(batch: Any) -> bytes:
    try:
        return pack((None, batch), reduce_result)
    except FlambeauError:
        raise
    except Exception as e:
        cure = "return arrays, numbers and strings, or leave multiprocessing_context out"
        raise FlambeauError(f"DataLoader: a batch can't be pickled: {e}: {cure}") from e


def _seed(setup: Setup, request: BatchRequest) -> None:
    """Seed Python's and NumPy's generators for a batch: their numbers depend on the seed, the epoch and the
    batch, not on the worker."""
    # WorkerInfo's seed includes the worker's number: subtract it, since batches move between workers
    words = [setup.info.seed - setup.info.id, request.epoch, request.number]
    random.seed(repr(words))
    np.random.seed([word % 2**32 for word in words])


def _seed_batch(setup: Setup, request: BatchRequest, number: int | None) -> None:
    """Seed for a batch of this epoch, so that all workers that iterate a dataset draw the same items."""
    _seed(setup, request if number is None else request._replace(number=number))


def _picklable_error(error: BaseException) -> BaseException:
    """Return the error if it can be pickled, else a FlambeauError with its text."""
    try:
        # some exceptions pickle but fail to unpickle, as their __init__ takes other arguments
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:
        pass
    replacement = FlambeauError(f"{type(error).__name__}: {error}")
    replacement.__notes__ = getattr(error, "__notes__", [])
    return replacement
