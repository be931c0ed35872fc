"""Writes the states of a run to files in a thread. Each file is complete and verified, or absent."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import isfinite
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from ..core.dtype import DType
from ..core.files import map_file, part_of, read
from ..errors import FlambeauError, MissingFile
from ..io.checkpoint import load_checkpoint, metadata_of, split_tensors
from ..io.checksum import add_checksum, damage
from ..io.safetensors import check_tensors
from ..runtime.run import Readback
from ..tensor import Tensor
from .events import Event, Message, Saved

THREADS = sys.platform != "emscripten"  # a browser's Python starts no threads
# The fewest digits; `place_in` compares numbers, because the text order ends at step 10^9.
NAME = re.compile(r"epoch-(\d{4,})-step-(\d{9,})\.safetensors")
BEST = "best.safetensors"


class TensorSpec(NamedTuple):
    """A tensor's entry in a file's header. Holding the tensor would keep its old values on the device."""

    dtype: DType
    shape: tuple[int, ...]


class CheckpointJob(NamedTuple):
    """A checkpoint that is being written."""

    path: Path
    step: int
    specs: dict[str, TensorSpec]  # of its tensors, by name
    tree: Any
    values: Readback
    losses: int  # number of unread losses at the end of `values`
    is_best: bool
    begin: float  # time.perf_counter() at the start of the write
    waited: float  # seconds for which the training waited


class Checkpoints:
    """The checkpoints of a folder: the last `keep` and the best.

    `new_events` returns the events of finished writes in the caller's thread. FlambeauError if the folder
    can't be written to.
    """

    def __init__(self, folder: Path, keep: int):
        self.folder, self.keep = folder, keep
        self.last: str | None = None  # the name of the newest checkpoint, complete or not
        self.failed: OSError | None = None  # why the newest could not be written
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._thread: threading.Thread | None = None
        probe(folder)

    @property
    def is_busy(self) -> bool:
        """Whether a checkpoint is being written."""
        return self._thread is not None and self._thread.is_alive()

    def new_events(self) -> Iterator[Event]:
        """Return the events since the last call."""
        while not self._events.empty():
            yield self._events.get()

    def begin(self, place: tuple[int, int], state: Any, losses: list[Tensor], is_best: bool = False) -> None:
        """Begin to write a state, after the previous write has ended. `place` is (epoch, step). If a loss or
        a weight is not finite, a warning is emitted and nothing is written."""
        # The position is the identity: two states of one step are equal, except that one may be the best.
        name = f"epoch-{place[0]:04}-step-{place[1]:09}.safetensors"
        if name == self.last and self.failed is None and not is_best:
            return
        self.wait()
        begin = time.perf_counter()
        tensors, tree = split_tensors(state)
        check_tensors(tensors, f"checkpoint {name}")
        # One readback of all tensors: the copies are submitted here, between two steps, and the thread
        # waits for them. The values are those of this step even if the next steps run first.
        specs = {n: TensorSpec(t.dtype, t.shape) for n, t in tensors.items()}
        values = Readback([*tensors.values(), *(v.float() for v in losses)])
        waited = time.perf_counter() - begin
        self.last, self.failed = name, None
        job = CheckpointJob(
            self.folder / name, place[1], specs, tree, values, len(losses), is_best, begin, waited
        )
        if not THREADS:
            return self._write(job)
        self._thread = threading.Thread(target=self._write, args=(job,), name="flambeau-checkpoint")
        self._thread.start()

    def wait(self) -> None:
        """Wait until nothing is being written."""
        if self._thread is not None:
            self._thread.join()

    def finish(self) -> None:
        """Wait; FlambeauError if the newest checkpoint could not be written."""
        self.wait()
        if self.failed is not None:
            raise FlambeauError(self._describe(self.failed))

    def _write(self, job: CheckpointJob) -> None:
        try:
            raw = job.values.wait()
            if bad := not_finite(job, raw):
                # The previous, finite checkpoint must stay the newest, so that a resumed run does not start
                # from NaN.
                text = f"step {job.step}: {bad} is not finite: this step gets no checkpoint"
                return self._events.put(Message("warning", text))
            write_verified(job.path, add_checksum(job.specs, raw[: len(job.specs)], metadata_of(job.tree)))
            if job.is_best:
                link(job.path, self.folder / BEST)
            self._events.put(Saved(str(job.path), job.step, time.perf_counter() - job.begin, job.waited))
            # Old files go only after the new one is verified. Later damaged ones don't count towards
            # `keep`.
            later = self.later(place_in(job.path.name) or (0, 0))  # damaged files, which were skipped
            for old in self.paths()[len(later) + self.keep :]:
                old.unlink()
        except OSError as e:
            self.failed = e
            self._events.put(Message("error", self._describe(e)))
        # An exception would end only the thread: keep it for `finish`.
        except Exception as e:
            self.failed = OSError(errno.EIO, f"{type(e).__name__}: {e}")
            self._events.put(Message("error", self._describe(self.failed)))

    def _describe(self, e: OSError) -> str:
        paths = self.paths()
        before = f"{paths[0].name} still exists" if paths else "no earlier one exists"
        is_gone = not self.folder.exists()
        cure = "create the directory again" if is_gone else "free some space, or choose another directory"
        name = self.folder / (self.last or "")
        return f"checkpoint {name}: can't be written: {e.strerror or e}: {before}: {cure}"

    def paths(self) -> list[Path]:
        """List the checkpoints of the folder, newest first."""
        with suppress(OSError):
            entries = [(place_in(entry.name), entry.path) for entry in os.scandir(self.folder)]
            places = [(place, path) for place, path in entries if place is not None]
            return [Path(path) for _, path in sorted(places, reverse=True)]
        return []

    def later(self, place: tuple[int, int]) -> list[Path]:
        """Return the checkpoints after (epoch, step), newest first."""
        return [path for path in self.paths() if (place_in(path.name) or place) > place]

    def newest(self, emit: Callable[[Event], Any]) -> tuple[Path, Any] | None:
        """Load the newest undamaged state, and report damaged ones. None without checkpoints, FlambeauError
        if all are damaged."""
        paths = self.paths()
        problems: list[str] = []
        for i, path in enumerate(paths):
            try:
                return path, load_state(path)
            except FlambeauError as e:
                problems.append(str(e))
                if i + 1 < len(paths):
                    emit(Message("warning", f"{e}: using {paths[i + 1].name}"))
        if problems:
            raise FlambeauError(
                f"{'; '.join(problems)}: no other checkpoint exists: pass resume=False and another directory"
            )
        return None


def place_in(name: str) -> tuple[int, int] | None:
    """Parse (epoch, step) from the name of a checkpoint; None for other names."""
    match = NAME.fullmatch(name)
    return None if match is None else (int(match[1]), int(match[2]))


def load_state(path: Path) -> Any:
    """Load the state of a checkpoint, with its tensors on the CPU; FlambeauError if it is damaged."""
    call = f"checkpoint {path}"
    try:
        data = memoryview(read(path))
    except FileNotFoundError:
        raise MissingFile(f"{call}: no such file: check the path") from None
    except OSError as e:
        raise FlambeauError(f"{call}: can't be read: {e.strerror or e}") from None
    if problem := damage(data):
        raise FlambeauError(f"{call}: is damaged ({problem})")
    return load_checkpoint(data, "cpu", call)


def save_state(path: Path, state: Any) -> None:
    """Write a state to a file; FlambeauError if that fails."""
    tensors, tree = split_tensors(state)
    check_tensors(tensors, f"save({str(path)!r})")
    try:
        write_verified(
            path, add_checksum(tensors, Readback(list(tensors.values())).wait(), metadata_of(tree))
        )
    except OSError as e:
        rule = f"can't be written: {e.strerror or e}: choose another path or free some space"
        raise FlambeauError(f"save({str(path)!r}): {rule}") from None


def write_verified(path: Path, data: list[Any]) -> None:
    """Write a file's parts and checksum to a temporary file, verify it, and rename it to `path`; OSError if
    that fails."""
    with part_of(path) as part:
        write_through(part, data)
        with map_file(part) as written:
            problem = damage(written)
        if problem:
            raise OSError(errno.EIO, f"verification after writing failed: {problem}")
        os.replace(part, path)
    # The rename itself must reach the disk, else a power failure can lose the new name.
    sync_folder(path.parent)


def write_through(part: Path, data: list[Any]) -> None:
    """Write parts to a file, and return when they are on the disk (fsync)."""
    with open(part, "wb") as f:
        f.writelines(data)
        f.flush()
        os.fsync(f.fileno())


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk. Systems that can't open folders need no flush."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def link(path: Path, other: Path) -> None:
    """Link `other` to the file `path`, replacing an existing file."""
    with part_of(other) as part:
        # `part_of` has created the file, but os.link needs a free name. The rename then replaces `other`
        # atomically.
        part.unlink()
        try:
            os.link(path, part)
        except OSError:  # a file system without hard links
            shutil.copyfile(path, part)
        os.replace(part, other)
    sync_folder(other.parent)


def probe(folder: Path) -> None:
    """Create a folder and a test file in it; FlambeauError if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with part_of(folder / "probe") as part:
            part.write_bytes(b"")
    except OSError as e:
        rule = f"can't write there: {e.strerror or e}: choose another folder"
        raise FlambeauError(f"Learner(directory={str(folder)!r}): {rule}") from None


def not_finite(job: CheckpointJob, raw: list[Any]) -> str:
    """Name the first loss that is not finite or weight that is NaN; "" without one."""
    # The losses are float32 scalars, after the tensors.
    for part in raw[len(job.specs) :]:
        if not isfinite(memoryview(part).cast("B").cast("f")[0]):
            return "a loss"
    for (name, spec), part in zip(job.specs.items(), raw, strict=False):
        if name.startswith("model.") and has_nan(part, spec.dtype):
            return name.removeprefix("model.")
    return ""


def has_nan(raw: Any, dtype: DType) -> bool:
    """Whether one of the floats is NaN; False if NumPy is not installed."""
    np = sys.modules.get("numpy")
    # bfloat16 has no NumPy dtype.
    if np is None or dtype.name not in ("float16", "float32", "float64"):
        return False
    return bool(np.isnan(np.frombuffer(raw, dtype.name)).any())
