"""Workers that are processes: the same batches as without, and a clear word where one dies.

Most start from a server that has imported us already, in hundredths of a second; `spawn` takes a half.
"""

import multiprocessing
import os
import pickle
import queue
import signal
import sqlite3
import subprocess
import sys
import time
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from helpers import worker_sets as sets
from helpers.paths import ROOT

import flambeau as fb
from flambeau import data
from flambeau.data import DataLoader, processes
from flambeau.data.files import TextLines, memory_map
from flambeau.data.processes import TracebackOfWorker, WorkerProcess, _listen
from flambeau.data.serialization import pack, reduce_for_worker, reduce_result
from flambeau.data.sqlite import SQLiteDataset


@pytest.fixture(scope="module")
def server():
    """A context whose processes are forks of one that has no device and no thread."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no forkserver")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["flambeau.data.processes", "flambeau.device.cpu", "numpy.random"])
    return context


@pytest.fixture(autouse=True)
def _on_numpy():
    """Nothing here is about kernels; and no test leaves a process behind."""
    fb.set_default_device("cpu")  # threads, too
    yield
    fb.set_default_device(None)
    assert not ours()


def ours():
    return [p for p in multiprocessing.active_children() if p.name.startswith("flambeau-data")]


def plain(batch):
    """A batch as something that == compares, dtypes and bits with it."""
    if isinstance(batch, dict):
        return {key: plain(value) for key, value in batch.items()}
    if isinstance(batch, tuple | list):
        return type(batch)(map(plain, batch))
    if isinstance(batch, fb.Tensor):
        return str(batch.dtype), str(batch.device), batch.numpy().shape, batch.numpy().tobytes()
    return (batch.dtype, batch.shape, batch.tobytes()) if isinstance(batch, np.ndarray) else batch


def test_batches_are_those_of_threads(server):
    def loader(workers, context=None):
        return DataLoader(
            sets.Drawn(), 3, True, seed=4, num_workers=workers, multiprocessing_context=context,
            persistent_workers=workers > 0,
        )  # fmt: skip

    alone, threads, processes = loader(0), loader(2), loader(2, server)
    epochs = [[[*map(plain, one)] for _ in range(2)] for one in (alone, threads, processes)]
    assert epochs[0] == epochs[1] == epochs[2]
    assert len(epochs[0][0]) == 7 and epochs[0][0] != epochs[0][1]
    first = epochs[2][0][0]
    assert first["x"][0] == "flambeau.float32" and first["tensor"][0] == "flambeau.bfloat16"
    assert len(ours()) == 2  # kept
    batches = iter(processes)
    seen = [plain(next(batches)) for _ in range(3)]
    state = processes.state_dict()
    batches.close()
    assert not ours()  # an epoch that is broken off ends them
    assert state == {"seed": [4, 0], "epoch": 2, "batch": 3, "batch_size": 3, "items": 20}
    other = loader(3, server)
    other.load_state_dict(state)
    rest = [*map(plain, other)]
    third = [*map(plain, alone)]
    assert seen + rest == third
    assert [*map(plain, other)] == [*map(plain, alone)]  # the fourth
    fb.set_default_integer(fb.int32)
    try:
        found = next(iter(DataLoader(sets.Held(), 2, num_workers=1, multiprocessing_context=server)))
    finally:
        fb.set_default_integer(fb.int64)
    assert found.dtype is fb.int32


def test_who_makes_a_batch(server):
    def loader(workers, **more):
        return DataLoader(sets.Where(), 2, num_workers=workers, multiprocessing_context=server, **more)

    found = list(loader(2))
    assert [b["i"].tolist() for b in found] == [[2 * k, 2 * k + 1] for k in range(6)]
    assert [b["worker"].tolist() for b in found] == [[k % 2] * 2 for k in range(6)]
    assert [b["seed"].tolist() for b in found] == [b["worker"].tolist() for b in found]
    assert len({p for b in found for p in b["pid"].tolist()} - {os.getpid()}) == 2
    assert not any(b["gpu"].tolist() != [0, 0] or b["own"].tolist() != [1, 1] for b in found)
    assert found[1]["name"] == ["flambeau-data-1"] * 2
    drawn = [[*map(fb.Tensor.tolist, b["drawn"])] for b in found]
    assert len({str(d) for d in drawn}) == 6
    other = loader(1)
    other.load_state_dict({"seed": [], "epoch": 0, "batch": 4, "batch_size": 2})
    assert [[*map(fb.Tensor.tolist, b["drawn"])] for b in other] == drawn[4:]
    second = [[*map(fb.Tensor.tolist, b["drawn"])] for b in other]
    assert len(second) == 6 and second[0] != drawn[0]  # another epoch


def test_datasets_that_are_iterated(server):
    loader = DataLoader(
        sets.Numbers(), 3, num_workers=2, multiprocessing_context=server, persistent_workers=True
    )
    for _ in range(2):
        assert [b.tolist() for b in loader] == [[0, 2, 4], [1, 3, 5], [6, 8], [7, 9]]
        assert len(ours()) == 2
    del loader  # they go with it
    assert not ours()


def test_a_stream_has_the_same_batches_with_any_number(server):
    """Also one that draws its order, with as many workers as there are: it gave each item once a worker."""

    def batches(workers, **more):
        context = {"multiprocessing_context": server} if workers else {}
        return DataLoader(sets.Stream(), 4, num_workers=workers, seed=5, **context, **more)

    loaders = [batches(1, persistent_workers=True), batches(3, persistent_workers=True)]
    epochs = [
        [[[part.tolist() for part in batch] for batch in loader] for _ in range(2)] for loader in loaders
    ]
    assert epochs[0] == epochs[1] and epochs[0][0] != epochs[0][1]
    for epoch in epochs[0]:
        assert sorted(i for items, _ in epoch for i in items) == list(range(23))
        assert [len(items) for items, _ in epoch] == [4] * 5 + [3]
    own = batches(2, worker_init_fn=sets.take_half)
    assert sorted(i for items, _ in own for i in items.tolist()) == [0, 0, 1, 1, 2, 2, 3]
    del loaders


def test_what_goes_along(server, tmp_path):
    """Shared values as themselves, mapped files by their names, files and connections opened anew."""
    shared = server.Value("i", 5)
    (tmp_path / "lines.txt").write_text("one\ntwo\n")
    np.save(tmp_path / "rows.npy", np.arange(12.0).reshape(6, 2))
    lines, rows = TextLines(tmp_path / "lines.txt"), memory_map(tmp_path / "rows.npy")
    assert lines[0] == "one"  # its file is open
    side = data.StackDataset(lines, data.Subset(rows, [4, 1]), sets.Counted(shared))
    ((texts, (found,), _),) = DataLoader(side, 2, num_workers=1, multiprocessing_context=server)
    assert texts == ["one", "two"] and found.tolist() == [[8, 9], [2, 3]] and shared.value == 7
    assert len(pack(rows, reduce_for_worker)) < 1000
    with sqlite3.connect(tmp_path / "a.db") as opened:
        opened.execute("CREATE TABLE t (a)")
        opened.execute("INSERT INTO t VALUES (3)")
    table = SQLiteDataset(tmp_path / "a.db", "t")
    assert table[0] == (3,) == pickle.loads(pack(table, reduce_for_worker))[0]
    arrays = DataLoader(
        data.TensorDataset(np.zeros(4)), 4, num_workers=1, multiprocessing_context=server,
        collate_fn=data.collate,
    )  # fmt: skip
    ((found,),) = arrays
    found += 1  # it may be written to
    assert type(found) is np.ndarray and found.dtype == np.float64


KILL = "if you did not stop it, it probably ran out of memory: use fewer workers or smaller batches"
LEAVE = "its dataset exited: see its output, or find the item with num_workers=0"


@pytest.mark.parametrize(
    "how, told", [("kill", f"was killed by SIGKILL: {KILL}"), ("leave", f"ended with exit code 3: {LEAVE}")]
)
def test_a_worker_that_dies(server, how, told):
    loader = DataLoader(
        sets.Ends(how), 2, num_workers=2, timeout=60, multiprocessing_context=server, collate_fn=sets.signed
    )
    batches = iter(loader)
    items, pid = next(batches)  # it may be dead by now: who asks for children no longer finds it
    assert items == [0, 1]
    with pytest.raises(RuntimeError) as e:
        list(batches)
    assert str(e.value) == f"DataLoader: worker 0 (process {pid}) {told}"


def test_one_that_is_killed_while_it_waits(server):
    """Between two epochs; the other one goes, too."""
    loader = DataLoader(
        sets.Held(), num_workers=2, multiprocessing_context=server, timeout=60, persistent_workers=True
    )
    assert len(list(loader)) == 2
    victim = next(p for p in ours() if p.name == "flambeau-data-1")
    os.kill(victim.pid, signal.SIGTERM)
    victim.join(30)
    with pytest.raises(fb.FlambeauError) as e:
        list(loader)
    told = f"DataLoader: worker 1 (process {victim.pid}) was killed by SIGTERM: {LEAVE}"
    assert str(e.value) == told
    assert len(list(loader)) == 2  # with new ones
    del loader, e  # what it raised knows the loader


def test_a_loop_that_is_left_while_an_item_hangs(server, monkeypatch):
    monkeypatch.setattr("flambeau.data.processes.GRACE", 0.1)
    sampler = [0, 5, 1]
    batches = iter(
        DataLoader(sets.Ends("hang"), sampler=sampler, num_workers=1, multiprocessing_context=server)
    )
    assert next(batches).tolist() == [0]
    (pid,) = [p.pid for p in ours()]
    time.sleep(0.2)  # it is at item 5
    since = time.monotonic()
    del batches
    assert not ours() and time.monotonic() - since < 30  # the item takes 60 s
    gone(pid)


def test_what_an_item_raises(server):
    loaders = {
        how: DataLoader(sets.Ends(how), 2, num_workers=1, multiprocessing_context=server)
        for how in ("raise_key", "raise_odd", "stop")
    }
    stop = (
        "DataLoader: a worker has stopped: it exited with SystemExit(4): raise an ordinary exception instead"
    )
    cases = [("raise_key", KeyError, "'label'"), ("raise_odd", fb.FlambeauError, "Odd: 1 and 2")]
    for how, kind, text in [*cases, ("stop", fb.FlambeauError, stop)]:
        with pytest.raises(kind) as e:
            list(loaders[how])
        assert str(e.value) == text and isinstance(e.value.__cause__, TracebackOfWorker)
        assert f"in {how}" in str(e.value.__cause__) and "worker_sets.py" in str(e.value.__cause__)
        if how != "stop":
            assert e.value.__notes__ == ["Ends: raised by item 5"]


def test_a_worker_imports_in_one_thread(server):
    """An index is unpickled, which may import anything, by the thread that opens the dataset. One that can't
    be is an error of its batch. (The thread that listens died of such an import: no batch ever came.)"""
    batches = [[sets.Index(0), sets.Index(1)], [sets.Index(-2)], [sets.Index(7)]]
    loader = DataLoader(
        sets.Ends("kill"), batch_sampler=batches, num_workers=1, timeout=20, multiprocessing_context=server
    )
    found = iter(loader)
    assert next(found).tolist() == [0, 1]
    with pytest.raises(ImportError) as e:
        next(found)
    assert str(e.value) == "no module for -2" and "opened_index" in str(e.value.__cause__)


@pytest.mark.parametrize("raised", [ImportError("half of it"), MemoryError(), pickle.UnpicklingError()])
def test_a_thread_that_dies_ends_the_wait(raised, monkeypatch):
    """Whatever it dies of: the thread of a worker ends the process, that of the loader reports an end."""

    class Ended(Exception):
        pass

    def read(*_):
        raise raised

    def leave(code):
        raise Ended(code)

    pipe = SimpleNamespace(recv=read, recv_bytes=read)
    arrived = queue.SimpleQueue()
    member = SimpleNamespace(pipe=pipe)
    with pytest.raises(type(raised)):  # which threading prints
        WorkerProcess._read(member, arrived)
    assert arrived.get(timeout=1) == (None, member)
    monkeypatch.setattr(os, "_exit", leave)
    with pytest.raises(Ended, match="1"):
        _listen(pipe, queue.SimpleQueue())
    monkeypatch.setattr(processes, "_serve", read)
    with pytest.raises(Ended, match="1"):
        processes.serve(pipe, None)


def one(dataset, context, **more):
    return list(DataLoader(dataset, 2, num_workers=1, multiprocessing_context=context, **more))


def test_errors_of_workers(server):
    cases = [
        (sets.Held(item=sets.generator), {"collate_fn": tuple},
         "DataLoader: a batch can't be pickled: cannot pickle 'generator' object: return"
         " arrays, numbers and strings, or leave multiprocessing_context out"),
        (sets.Held(), {"worker_init_fn": sets.fail},
         "DataLoader: worker_init_fn(0) raised OSError: no disk for 0: the worker has"
         " stopped: fix this error"),
        (sets.Ends("hang"), {"timeout": 0.2, "sampler": [4, 5]},
         "DataLoader: items [4, 5] took more than 0.2 s: increase timeout, or check these items"),
    ]  # fmt: skip
    for dataset, more, text in cases:
        with pytest.raises(fb.FlambeauError) as e:
            one(dataset, server, **more)
        assert str(e.value) == text


def test_what_can_not_be_sent():
    """Said before a process is started."""
    cure = "define it at module level, or use threads: leave multiprocessing_context out"
    local = "local object 'test_what_can_not_be_sent.<locals>.<lambda>'"
    cases = [
        (data.Mapped([1], lambda i: i), {}, "the dataset (Mapped)", local),
        ([1], {"collate_fn": lambda items: items}, "collate_fn", local),
        ([1], {"worker_init_fn": lambda i: None}, "worker_init_fn", local),
        (data.TensorDataset(fb.ones(3, 2)), {}, "the dataset (TensorDataset)",
         "it holds a tensor [3, 2], and workers have no device: use .numpy()"),
    ]  # fmt: skip
    for dataset, more, name, why in cases:
        with pytest.raises(fb.FlambeauError) as e:
            one(dataset, "spawn", **more)
        found = str(e.value)
        start = f"DataLoader(multiprocessing_context='spawn'): {name} can't be pickled: "
        assert found.startswith(start) and why in found and found.endswith(f": {cure}")
        assert not ours()


def test_an_item_on_a_gpu():
    """Only what a tensor says of its device is asked: a worker opens none here either."""

    class OnGpu(fb.Tensor):
        device = SimpleNamespace(kind="gpu", name="gpu:Some")  # type: ignore[assignment]

    x = object.__new__(OnGpu)
    with pytest.raises(fb.FlambeauError) as e:
        reduce_result(x)
    rule = "workers have no GPU: return arrays, or don't choose a device"
    assert str(e.value) == f"DataLoader: an item is a tensor on gpu:Some: {rule}"


NO_FORK = (
    "DataLoader(multiprocessing_context='fork'): an open GPU and threads do not survive a fork:"
    " use 'spawn' or 'forkserver'"
)
WRONG = [
    ("fork", 1, NO_FORK),
    (multiprocessing.get_context("fork"), 1, NO_FORK),
    ("spwan", 1, "DataLoader(multiprocessing_context='spwan'): it is not a start method of this system:"
     " use 'spawn', or a context of multiprocessing"),
    ("spawn", 0, "DataLoader(num_workers=0): timeout, prefetch_factor, persistent_workers and"
     " multiprocessing_context need workers: pass num_workers=1 or more"),
]  # fmt: skip


@pytest.mark.parametrize("context, workers, text", WRONG, ids=range(len(WRONG)))
def test_contexts_that_can_not_be(context, workers, text):
    with pytest.raises(ValueError) as e:
        DataLoader([1], num_workers=workers, multiprocessing_context=context)
    assert str(e.value) == text


def test_where_there_can_be_none(monkeypatch):
    with_state = sets.Held()
    with_state.state_dict = dict
    with pytest.raises(ValueError) as e:
        DataLoader(with_state, num_workers=1, multiprocessing_context="spawn")
    rule = "the dataset keeps its position, and workers prefetch past the loop: pass 0"
    assert str(e.value) == f"DataLoader(num_workers=1): {rule}"
    monkeypatch.setattr("flambeau.data.loader.THREADS", False)
    with pytest.raises(fb.FlambeauError) as e:
        DataLoader([1], num_workers=1, multiprocessing_context="spawn")
    rule = "a browser has no processes: leave it out"
    assert str(e.value) == f"DataLoader(multiprocessing_context='spawn'): {rule}"


SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has its background jobs ignore it
sys.path.insert(0, {tests!r})
from helpers import worker_sets as sets
from flambeau.data import DataLoader, collate

if __name__ == "__main__" or {unguarded}:
    loader = DataLoader(
        sets.Where(), 4, num_workers=1, multiprocessing_context="spawn", persistent_workers=True,
        collate_fn=collate,
    )
    list(loader)
    batches = iter(loader)  # is left as it is
    batch = next(batches)
    print(*batch["pid"], *batch["gpu"], flush=True)
    sys.stdin.read()
"""


def written(tmp_path, unguarded):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(tests=str(ROOT / "tests"), unguarded=unguarded))
    return script


def test_ctrl_c_ends_all(tmp_path):
    """Of a script whose workers are spawned; so does its end, which comes with a loop left open."""
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, written(tmp_path, False)]
    with subprocess.Popen(command, text=True, env=env, start_new_session=True, **pipes) as script:
        pid, *_, gpu = map(int, script.stdout.readline().split())
        os.kill(pid, 0)  # it is there
        assert gpu == 0
        os.killpg(script.pid, signal.SIGINT)  # as a terminal does: the worker gets it as well
        _, told = script.communicate(timeout=60)
    assert told.count("Traceback") == 1 and told.endswith("KeyboardInterrupt\n"), told
    gone(pid)


def test_a_script_without_a_guard(server, monkeypatch, tmp_path):
    """The worker runs it again, and dies of that."""
    script = ModuleType("__main__")
    script.__file__ = str(written(tmp_path, True))
    monkeypatch.setitem(sys.modules, "__main__", script)
    with pytest.raises(fb.FlambeauError) as e:
        one(sets.Held(), server)
    rule = (
        "ended with exit code 1: before it started: see its output for the reason: a script that"
        " starts workers"
    )
    assert str(e.value).endswith(f'{rule} needs its loop under `if __name__ == "__main__":`')


def gone(pid):
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    pytest.fail(f"{pid} is there")
